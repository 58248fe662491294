"""The loop of a site, in a thread of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from site_folders import Folders, generated_rows
from sklearn.datasets import load_wine

from widemargin.sites.control import ControlClosed, ControlServer, ask
from widemargin.sites.site import run_site
from widemargin.sites.status import MOST_POINTS, SiteHistory
from widemargin.sites.training import participant

ROWS = generated_rows(120, 4)


@contextmanager
def running(folders: Folders, k: int) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    events: list[tuple[str, dict[str, Any]]] = []
    thread = threading.Thread(
        target=run_site,
        args=(folders.config(k),),
        kwargs={"listener": lambda event, **fields: events.append((event, fields))},
    )
    thread.start()
    until(lambda: (folders.folder(k) / "control.sock").exists())
    try:
        yield events
    finally:
        ask(folders.folder(k), "stop", timeout=60)
        thread.join(60)
        assert not thread.is_alive()


def until(happens: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_cannot_be_saved_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=2)
    writing, full = participant.write_atomically, [False]

    def write(path: Any, data: bytes, **options: Any) -> None:
        if full[0] and Path(path).parent == folders.folder(0):
            raise OSError(28, "No space left on device")
        writing(path, data, **options)

    monkeypatch.setattr(participant, "write_atomically", write)
    with running(folders, 0) as events, running(folders, 1):

        def link_of_1() -> dict[str, Any]:
            return dict(ask(folders.folder(1), "status")["links"][0])

        until(lambda: link_of_1()["received"] > 3)
        full[0] = True
        until(lambda: "state_not_saved" in [event for event, _ in events])
        time.sleep(0.3)
        before, status = link_of_1()["received"], ask(folders.folder(0), "status")
        time.sleep(1.5)
        assert link_of_1()["received"] == before
        assert ask(folders.folder(0), "status")["steps"] > status["steps"]  # it lives
        full[0] = False
        until(lambda: link_of_1()["received"] > before + 3)
        assert [event for event, _ in events].count("state_not_saved") == 1
        assert "state_saved_again" in [event for event, _ in events]


def test_rows_of_another_length_are_told(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=2, settings={"row_square": 1e3})
    with running(folders, 0) as events:
        until(lambda: "row_square_unlike" in [event for event, _ in events])
    fields = dict(events)["row_square_unlike"]
    assert fields["here"] == pytest.approx((ROWS[0][::2] ** 2).sum(axis=1).mean() + 1)
    assert events[-1][0] == "stopped"


def test_unscaled_features_are_told(tmp_path: Path) -> None:
    """Of wine, unscaled, nothing was said, and the sites were far from the optimum for long."""
    wine = load_wine(as_frame=True)
    y = np.where(wine.target == 0, 1, -1)
    folders = Folders(tmp_path, wine.data.to_numpy(), y, n_sites=2)
    with running(folders, 0) as events:
        until(lambda: "features_unscaled" in [event for event, _ in events])
    fields = dict(events)["features_unscaled"]
    assert fields["columns"] == "'feature 13', 'feature 5'"  # proline and magnesium
    assert "schema" in fields["advice"]
    frame = wine.data.assign(label=y)
    frame.iloc[0::2].to_csv(folders.folder(1) / "rows.csv", index=False)
    folders.settings = {"data": "rows.csv"}
    folders.write(1)
    with running(folders, 1) as events:
        until(lambda: "features_unscaled" in [event for event, _ in events])
    assert dict(events)["features_unscaled"]["columns"] == "'proline', 'magnesium'"
    alike = Folders(tmp_path / "alike", *ROWS, n_sites=2)
    with running(alike, 0) as events:
        until(lambda: "started" in [event for event, _ in events])
    assert "features_unscaled" not in [event for event, _ in events]


def test_history_stays_short(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=2)
    from widemargin.sites.training.local_site import LocalSite, read_rows

    local = LocalSite(folders.config(0), read_rows(folders.config(0)))
    site, history = local.native(1), SiteHistory()
    site.step()
    for _ in range(3 * MOST_POINTS):
        history.note(site, local)
    assert MOST_POINTS / 2 <= len(history.points) <= MOST_POINTS
    times = [point[0] for point in history.points]
    assert times == sorted(times)
    assert history.accuracy is not None
    assert 0.5 < history.accuracy <= 1.0
    assert not history.due


def test_a_site_that_listens_anew_is_waited_for(tmp_path: Path) -> None:
    """Between two of its phases a site has no socket, or one that takes no more questions."""
    (tmp_path / "site.toml").touch()
    asked: list[str] = []

    def late(question: dict[str, Any]) -> dict[str, Any]:
        raise ControlClosed("the site is about to train: ask again.")

    def listens(question: dict[str, Any]) -> dict[str, Any]:
        asked.append(question["command"])
        return {}

    first = ControlServer(tmp_path, late)
    answers: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: answers.append(ask(tmp_path, "status")))
    asking.start()
    time.sleep(0.15)
    first.close()
    time.sleep(0.15)
    second = ControlServer(tmp_path, listens)
    asking.join(10)
    second.close()
    assert asked == ["status"]
    assert answers[0]["ok"]
