"""The store of measured cells: files, stamps, and what a page shows of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.race import store as stores
from benchmarks.race.store import UNKNOWN, OtherLoad, Store
from benchmarks.race.tables import oldest, stamp_rows

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_cells_are_measured_once_per_settings(tmp_path):
    calls = []

    def measure():
        calls.append(1)
        return {"value": len(calls)}

    for settings in ({"C": (1, 2)}, {"C": (1, 2)}, {"C": (1, 3)}):
        Store(tmp_path / "a.json").cell("set/fit", settings, measure)
    assert len(calls) == 2
    again = Store(tmp_path / "a.json", again=True)
    assert [again.cell("set/fit", {"C": (1, 3)}, measure)["value"] for _ in range(2)] == [3, 3]
    assert Store(tmp_path / "a.json").cells["set/fit"]["value"] == 3


def test_cells_come_back_but_for_rounding(tmp_path):
    third = 1.0 / 3.0
    cells = {
        "1": {"seconds": third, "objective": third, "rungs": [{"tol": 0.1}, {"tol": 0.2}]},
        "2": {"seconds": 2.0, "objective": 5, "rungs": [{"tol": 0.3, "gap": None}]},
        "3": {"history": {"seconds": [third], "primal": [third]}, "late": True, "empty": []},
    }
    path = tmp_path / "b.json"
    store = Store(path)
    for name, cell in cells.items():
        store.put(name, {"name": name, "tol": third}, cell, {"commit": "x", "date": "2026-01-01"})
    found = Store(path)
    assert found.cells["1"]["seconds"] == pytest.approx(third, rel=1e-7)
    assert found.cells["1"]["objective"] == third
    assert found.cells["1"]["rungs"] == cells["1"]["rungs"]
    assert found.cells["2"] == cells["2"]
    assert found.cells["3"]["late"] is True
    assert found.cells["3"]["history"]["primal"] == [third]
    assert found.settings == store.settings
    file = json.loads(path.read_text("utf-8"))
    assert (len(file["stamps"]), len(file["tables"]), len(file["shapes"])) == (1, 2, 2)


def test_an_old_cell_keeps_its_stamp(tmp_path, monkeypatch):
    now = {"commit": "old", "date": "2026-01-01"}
    monkeypatch.setattr(stores, "stamp", lambda: dict(now))
    path = tmp_path / "c.json"
    Store(path).cell("1", {}, lambda: {"value": 1})
    now |= {"commit": "new", "date": "2026-02-02"}
    store = Store(path)
    store.cell("1", {}, lambda: {"value": 2})
    store.cell("2", {}, lambda: {"value": 2})
    stamps = Store(path).stamps
    assert (stamps["1"]["commit"], stamps["2"]["commit"]) == ("old", "new")
    assert oldest(store)["date"] == "2026-01-01"
    assert oldest(Store(tmp_path / "none.json")) == {}


def test_a_machine_is_quiet_where_it_was_for_every_cell(tmp_path):
    store = Store(tmp_path / "c.json")
    assert dict(stamp_rows([store]))["quiet"] == "–"
    for name, quiet in (("1", True), ("2", True), ("3", False), ("4", "unknown")):
        shown = {"1": "yes", "2": "yes", "3": "no: 1, yes: 2", "4": "no: 1, yes: 2, unknown: 1"}
        stamp = {"date": "2026-01-0" + name, "quiet": quiet}
        store.put(name, {}, {"value": 1}, stamp)
        rows = dict(stamp_rows([store]))
        assert rows["quiet"] == shown[name]
        assert rows["oldest cell measured"] == "2026-01-01"


def test_a_stamp_names_commit_and_machine(monkeypatch):
    stores.stamp.cache_clear()
    found = stores.stamp()
    assert {"commit", "date", "cpu", "cores", "instruction_set"} < found.keys()
    assert found["cores"] >= 1

    def no_git(*arguments, **settings):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert stores._commit() == UNKNOWN
    stores.stamp.cache_clear()


@pytest.mark.parametrize(("busy", "quiet"), [(20.0, False), (10.5, True), (None, UNKNOWN)])
def test_a_machine_is_quiet_without_other_work(monkeypatch, busy, quiet):
    times = iter([0.0, 100.0])
    monkeypatch.setattr(stores.time, "monotonic", lambda: next(times))
    seconds = iter([0.0, busy])
    monkeypatch.setattr(stores, "_busy_seconds", lambda: next(seconds))
    own = iter([0.0, 10.0])
    monkeypatch.setattr(stores, "_own_seconds", lambda: next(own))
    monkeypatch.setattr(stores.os, "cpu_count", lambda: 1)
    assert OtherLoad().quiet() == quiet


def test_short_cells_are_judged_by_the_seconds_that_end_with_them(tmp_path, monkeypatch):
    clock = {"now": 0.0, "busy": 0.0}
    monkeypatch.setattr(stores.time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(stores, "_busy_seconds", lambda: clock["busy"])
    monkeypatch.setattr(stores, "_own_seconds", lambda: 0.0)
    store = Store(tmp_path / "c.json")

    def quiet(name, seconds, others):
        def measure():
            clock["now"] += seconds
            clock["busy"] += others
            return {"value": 1}

        store.cell(name, {}, measure)
        return store.stamps[name]["quiet"]

    assert quiet("first", 0.5, 0.0) == UNKNOWN  # nothing is known of the time before
    assert quiet("second", 0.6, 0.0) is True
    assert quiet("long", 10.0, 0.0) is True
    assert quiet("busy", 0.5, 5.0) is False
    for number in range(4):
        quiet(f"after {number}", 0.6, 0.0)
    assert quiet("last", 0.5, 0.0) is True


def test_results_in_the_repository_are_small_and_stamped():
    files = list(RESULTS.glob("*/results/*.json"))
    assert len(files) >= 12
    assert max(path.stat().st_size for path in files) < 500_000
    assert sum(path.stat().st_size for path in files) < 2_000_000
    for path in files:
        for stamp in json.loads(path.read_text("utf-8"))["stamps"]:
            assert {"commit", "date", "cpu", "cores", "instruction_set", "quiet"} < stamp.keys()
