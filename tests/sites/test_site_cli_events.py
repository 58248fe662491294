"""The structured log: lines for programs, and lines for people."""

import io
import json
import math

from widemargin.sites.events import EventLog


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_json_lines_unless_a_terminal_watches():
    stream = io.StringIO()
    log = EventLog("plant-3", stream=stream)
    log("refused", address="10.0.0.9", gap=math.inf)
    line = json.loads(stream.getvalue(), parse_constant=lambda word: 1 / 0)  # strict JSON
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "warning",
        "site": "plant-3",
        "event": "refused",
        "address": "10.0.0.9",
        "gap": "inf",
    }


def test_lines_for_people_hold_nothing_that_a_terminal_obeys():
    stream = Terminal()
    log = EventLog("plant-3", stream=stream)
    log("state_set_aside", path="a b", name="\x1b[2J\nplant-9", gap=0.123456789)
    line = stream.getvalue()
    assert "plant-3: WARNING state set aside" in line
    assert 'path="a b"' in line
    assert "gap=0.1235" in line
    assert line.count("\n") == 1
    assert "\x1b" not in line


def test_a_file_is_appended_to_and_begun_anew_when_moved(tmp_path):
    path = tmp_path / "site.log"
    path.write_text("before\n")
    log = EventLog("plant-3", path)
    log("one")
    path.rename(tmp_path / "site.log.1")
    log("two")
    log("three")
    log.close()
    before, one = (tmp_path / "site.log.1").read_text().splitlines()
    assert (before, json.loads(one)["event"]) == ("before", "one")
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["two", "three"]


def test_a_closed_stream_does_not_stop_the_site():
    stream = io.StringIO()
    log = EventLog("plant-3", stream=stream)
    stream.close()
    log("still_running")
