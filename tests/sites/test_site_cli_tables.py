"""Statuses as tables for a terminal."""

import io

import pytest
from pretended import KEY, status
from rich.console import Console

from widemargin.cli.status_table import age, fleet_table, progress_of, site_view


def drawn(renderable, width=140):
    stream = io.StringIO()
    Console(file=stream, width=width).print(renderable)
    return stream.getvalue()


def test_a_site_with_its_neighbours():
    text = drawn(site_view(status(training_accuracy=None, neighbours=["plant-1", "[red]x[/red]"])))
    assert KEY in text
    assert "8,140 of 123 features" in text
    assert "1.2 MB sent" in text
    assert "– on its own rows" in text
    assert "1 connections of unknown keys" in text
    assert "[red]x[/red]" in text  # a name is no markup


def test_states_are_whole_in_a_narrow_terminal():
    text = drawn(site_view(status(neighbours=["plant-1"])), width=60)
    assert "connected" in text or "silent" in text


def test_a_fleet_with_a_site_that_is_down():
    text = drawn(fleet_table({"plant-1": status("plant-1"), "plant-2": None}))
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert lines["plant-1"][1:4] == ["content", "8,140", "1,234"]
    assert lines["plant-2"][1:] == ["down"] + ["–"] * 7


def test_words():
    assert progress_of(None) == "down"
    assert progress_of(status(content=False)) == "learning"
    assert progress_of(status(agreed=True)) == "agreed"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0.44, "0.4 s"), (61, "61 s"), (600, "10 min"), (9e4, "25 h")],
)
def test_time_spans(seconds, text):
    assert age(seconds) == text
