"""Sites with tables: they agree on a preparation, train, and export a model of raw tables."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prepared_tables import dealt, pooled, wine_frame, write_tables
from site_folders import free_ports
from sklearn.pipeline import make_pipeline
from test_site_loop import until
from typer.testing import CliRunner

from widemargin import LinearSVMClassifier, TablePreprocessor, load_model
from widemargin.cli import app
from widemargin.sites.config import Neighbour, read_config, write_template
from widemargin.sites.control import ask
from widemargin.sites.network.keys import make_keys
from widemargin.sites.settings import ConfigError
from widemargin.sites.site import run_site
from widemargin.sites.studies.enrolment import Desk
from widemargin.sites.studies.joining import join_study
from widemargin.sites.studies.schema import schema_of
from widemargin.sites.studies.study import read_study
from widemargin.sites.studies.study_owner import StudyOwner, create_study

FRAME = wine_frame()
C = 0.1


class TableFolders:
    """Folders of sites in a ring, each with a table and the same schema."""

    def __init__(self, root: Path, n_sites: int = 3) -> None:
        self.root, self.n_sites = root, n_sites
        self.paths = write_tables(root, dealt(FRAME, n_sites))
        self.schema = schema_of(self.paths[0])
        self.ports = free_ports(n_sites)
        self.keys = []
        for k in range(n_sites):
            self.folder(k).mkdir()
            self.keys.append(make_keys(self.folder(k)))
            (self.folder(k) / "schema.json").write_text(json.dumps(self.schema.to_dict()))
        for k in range(n_sites):
            self.write(k)

    def folder(self, k: int) -> Path:
        return self.root / f"folder-{k}"

    def write(self, k: int, **settings: Any) -> None:
        around = {(k + 1) % self.n_sites, (k - 1) % self.n_sites} - {k}
        neighbours = [
            Neighbour(f"site-{j}", f"tcp://127.0.0.1:{self.ports[j]}", self.keys[j])
            for j in sorted(around)
        ]
        given = {"n_sites": self.n_sites, "C": C, "heartbeat": 0.3, "sync": False, **settings}
        write_template(
            self.folder(k),
            f"site-{k}",
            neighbours=neighbours,
            listen=f"tcp://127.0.0.1:{self.ports[k]}",
            data=str(self.paths[k]),
            schema="schema.json",
            **given,
        )

    def running(self, k: int) -> Any:
        return running(self.folder(k), read_config(self.folder(k)))

    def trains(self, k: int) -> bool:
        return (self.folder(k) / "state.wms").exists()

    def agreed(self, k: int) -> bool:
        return self.trains(k) and bool(ask(self.folder(k), "status")["agreed"])


def test_sites_with_columns_in_different_orders_reach_the_pooled_pipeline(tmp_path: Path) -> None:
    """The same named columns in another order, decimal commas, text: still one problem."""
    folders = TableFolders(tmp_path)
    with ExitStack() as stack:
        events = [stack.enter_context(folders.running(k)) for k in range(2)]
        until(lambda: "preparing" in [event for event, _ in events[0]])
        status = ask(folders.folder(0), "status")
        assert status["preparing"] == "sums"
        shown = CliRunner().invoke(app, ["site", "status", "-f", str(folders.folder(0))])
        assert "preparing" in shown.output
        with pytest.raises(ValueError, match="agree on a preparation"):
            ask(folders.folder(0), "reload")
        assert not (folders.folder(0) / "preparation.json").exists()
        events.append(stack.enter_context(folders.running(2)))
        until(lambda: all(folders.trains(k) for k in range(3)))
        until(lambda: all(folders.agreed(k) for k in range(3)))
        for k in range(3):
            ask(folders.folder(k), "model", path=str(tmp_path / f"model-{k}.wm"))
        # A site that lost everything adopts the preparation of the others.
        assert "prepared" in [event for event, _ in events[2]]
    kept = {(folders.folder(k) / "preparation.json").read_text() for k in range(3)}
    assert len(kept) == 1
    check_models(folders, tmp_path)
    check_lost_preparation(folders)


def check_models(folders: TableFolders, tmp_path: Path) -> None:
    frame = pooled(folders.paths)
    y = np.where(frame["class"] == "other", 1, -1)
    names = list(folders.schema.names)
    best = make_pipeline(
        TablePreprocessor(), LinearSVMClassifier(loss="hinge", C=C, tol=1e-6, max_iter=100_000)
    ).fit(frame[names], y)
    least = objective(best, frame[names], y)
    for k in range(3):
        model = load_model(tmp_path / f"model-{k}.wm")
        assert list(model.classes_) == ["first", "other"]
        assert objective(model, frame[names], y) < 1.01 * least
        assert np.mean(model.predict(frame) == frame["class"]) > 0.97
    # The command line predicts from the table as it is, in its own order and way of writing.
    run = CliRunner().invoke(
        app, ["predict", str(tmp_path / "model-1.wm"), str(folders.paths[1]), "--label", "class"]
    )
    assert run.exit_code == 0, run.output
    said = [line for line in run.output.splitlines() if line in ("first", "other")]
    expected = pooled(folders.paths).iloc[len(FRAME.iloc[0::3]) :][: len(FRAME.iloc[1::3])]["class"]
    assert np.mean(np.array(said) == expected.to_numpy()) > 0.97


def objective(model: Any, X: Any, y: Any) -> float:
    machine = model[-1]
    w = np.append(machine.coef_.ravel(), machine.intercept_)
    return float(0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * model.decision_function(X)).sum())


def check_lost_preparation(folders: TableFolders) -> None:
    """A site that has lost its preparation asks the others, which train."""
    before = (folders.folder(0) / "preparation.json").read_text()
    (folders.folder(0) / "preparation.json").unlink()
    with folders.running(1), folders.running(0) as events:
        until(lambda: (folders.folder(0) / "preparation.json").exists())
        until(lambda: "state_restored" in [event for event, _ in events])
    assert (folders.folder(0) / "preparation.json").read_text() == before


def test_a_schema_replaces_what_sites_agree_on(tmp_path: Path) -> None:
    folders = TableFolders(tmp_path, 1)
    config = read_config(folders.folder(0))
    assert config.classes == ("first", "other")
    folders.write(0, n_features=7)
    with pytest.raises(ConfigError, match=r"network.n_features. must be left out"):
        read_config(folders.folder(0))
    folders.write(0, classes=["first", "second"])
    with pytest.raises(ConfigError, match="must be those of the schema"):
        read_config(folders.folder(0))
    folders.write(0)
    (folders.folder(0) / "schema.json").write_text('{"classes": [1, 2], "columns": []}')
    with pytest.raises(ConfigError, match=r"schema\.json: `schema\.columns` must be"):
        read_config(folders.folder(0))


def test_the_schema_and_the_preparation_are_part_of_the_agreement(tmp_path: Path) -> None:
    folders = TableFolders(tmp_path, 2)
    one, other = (read_config(folders.folder(k)) for k in range(2))
    assert one.agreement == other.agreement
    assert one.preparing_agreement == other.preparing_agreement
    values = folders.schema.to_dict()
    values["columns"] = values["columns"][::-1]
    (folders.folder(1) / "schema.json").write_text(json.dumps(values))
    assert read_config(folders.folder(1)).preparing_agreement != one.preparing_agreement


def test_a_damaged_preparation_is_named(tmp_path: Path) -> None:
    folders = TableFolders(tmp_path, 1)
    (folders.folder(0) / "preparation.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"preparation\.json cannot be used"):
        run_site(read_config(folders.folder(0)))


def test_members_of_a_study_agree_once_enough_have_joined(tmp_path: Path) -> None:
    """Three prepare and train; the fourth joins while they do, and adopts the preparation."""
    paths = write_tables(tmp_path, dealt(FRAME, 4))
    study = tmp_path / "wine.study"
    create_study(
        study,
        name="wine",
        desk=f"tcp://127.0.0.1:{free_ports(1)[0]}",
        topology="complete",
        settings={"C": C, "least_sites": 3, "total_rows": 100, "min_rows": 40},
        schema=schema_of(paths[0]),
    )
    with ExitStack() as stack:
        desk = Desk(StudyOwner(study), read_study(study).desk.address, lambda *_, **__: None)
        stack.callback(desk.close)
        events: list[list[tuple[str, dict[str, Any]]]] = []
        folders = [tmp_path / f"member-{k}" for k in range(4)]

        def join(k: int) -> None:
            config = join_study(
                study,
                folders[k],
                name=f"site-{k}",
                invitation=study.with_suffix(".invitation"),
                data=str(paths[k]),
                sync=False,
                heartbeat=0.3,
                study_interval=0.2,
            )
            events.append(stack.enter_context(running(folders[k], config)))

        join(0)
        until(lambda: "waiting_for_members" in [event for event, _ in events[0]])
        join(1)
        join(2)
        until(lambda: all((folders[k] / "preparation.json").exists() for k in range(3)))
        join(3)
        until(lambda: all((folder / "state.wms").exists() for folder in folders))
        kept = {(folder / "preparation.json").read_text() for folder in folders}
        assert len(kept) == 1
        rows = json.loads(kept.pop())["agreed"]["sums"]["rows"]
        assert rows == sum(len(FRAME.iloc[k::4]) for k in range(3))
        until(lambda: all(ask(folder, "status").get("agreed") for folder in folders))
        for k, folder in enumerate(folders):
            ask(folder, "model", path=str(tmp_path / f"model-{k}.wm"))
    frame = pooled(paths)
    for k in range(4):
        model = load_model(tmp_path / f"model-{k}.wm")
        assert np.mean(model.predict(frame) == frame["class"]) > 0.97


@contextmanager
def running(folder: Path, config: Any) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    events: list[tuple[str, dict[str, Any]]] = []
    thread = threading.Thread(
        target=run_site,
        args=(config,),
        kwargs={"listener": lambda event, **fields: events.append((event, fields))},
    )
    thread.start()
    until(lambda: (folder / "control.sock").exists())
    try:
        yield events
    finally:
        ask(folder, "stop", timeout=60)
        thread.join(60)
        assert not thread.is_alive()
