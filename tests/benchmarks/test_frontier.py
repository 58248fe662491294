"""Accuracy against seconds: rows, grids, who is on the frontier, and the cells of a run."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from benchmarks.race import processes
from benchmarks.race.store import Store
from benchmarks.speed.frontier import choice
from benchmarks.speed.frontier.__main__ import main
from benchmarks.speed.frontier.contestants import CONTESTANTS
from benchmarks.speed.frontier.grids import GRIDS, tried
from benchmarks.speed.frontier.page import Point, best_of_ours, frontier, marked, page, points
from benchmarks.speed.frontier.picture import draw
from benchmarks.speed.frontier.sets import KERNEL, SETS, TEXT, held_out, rows_of
from benchmarks.speed.frontier.worker import served
from sklearn.datasets import load_digits, make_classification


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with two small sets named as those of the benchmark."""
    X, y = make_classification(400, 6, n_informative=4, random_state=0)
    np.savez(tmp_path / "cod-rna.npz", X=X, y=np.where(y == 1, 1, -1))
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "letter.npz", X=X[:900], y=y[:900] + 3, X_test=X[900:], y_test=y[900:] + 3)
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    return tmp_path


def measured(accuracy: float, seconds: float, **more: object) -> dict[str, object]:
    cell = {"accuracy": accuracy, "fit_seconds": seconds, "predict_seconds": 0.1, "rows": 1_000}
    cell |= {"cpu_seconds": 2 * seconds, "peak_memory_mb": 1_234.0, "settings": {"C": 32.0}}
    return cell | {"features": 22, "test_rows": 500, "classes": 2, "limit": 300.0} | more


CELLS = {
    "ijcnn1/svm": measured(0.98, 2.0),
    "ijcnn1/odm": measured(0.985, 9.0),
    "ijcnn1/thunder": measured(0.98, 8.0),
    "ijcnn1/nystroem_300": measured(0.95, 1.0),
    "ijcnn1/lightgbm_tuned": measured(0.99, 20.0, predict_seconds=3.0),
    "ijcnn1/eigenpro": {"settings": {}, "out_of_time": True, "limit": 300.0},
}


def test_rows_are_split_and_scaled_and_classes_counted_from_zero(folder):
    data = rows_of("cod-rna")
    assert (len(data.y), len(data.y_test)) == (320, 80)
    assert data.X.min() == pytest.approx(0.0)
    assert data.X.max() == pytest.approx(1.0)
    assert set(data.y) == {0, 1}
    assert set(rows_of("letter").y_test) == set(range(10))


def test_settings_are_chosen_on_rows_that_are_not_trained_on():
    y = np.arange(400) // 2  # classes of two rows: some are in the validation rows alone
    fit, validation = held_out(None, y)
    assert len(validation) == 100
    assert set(y[fit]) == set(y)
    assert len(np.intersect1d(fit, validation)) < 20


def test_every_grid_is_tried_by_a_contestant_that_has_it():
    for grid, (who, _) in GRIDS.items():
        if grid != "none":
            assert CONTESTANTS[who].grid == grid
            kind = CONTESTANTS[who].kind
            name = next(name for name, each in SETS.items() if each.kind == kind)
            assert len(tried(grid, name)) > 1
    assert {each.grid for each in CONTESTANTS.values()} == set(GRIDS)


@pytest.mark.parametrize("kind", [KERNEL, TEXT])
def test_ours_and_peers_compete_on_every_kind(kind):
    names = [name for name, each in SETS.items() if each.kind == kind]
    for name in names:
        for classes in (2, 10) if kind == KERNEL else (10,):
            who = [each for each in CONTESTANTS.values() if each.competes(name, classes)]
            assert sum(each.ours for each in who) >= 3
            assert sum(not each.ours for each in who) >= 5


def test_the_frontier_is_what_nobody_faster_equals():
    found = points(CELLS, "ijcnn1")
    assert [each.name for each in frontier(found)] == [
        *("nystroem_300", "svm", "odm", "lightgbm_tuned")
    ]
    assert best_of_ours(found, 1.5) is None
    assert best_of_ours(found, 8.0) == Point("svm", 2.0, 0.98)
    assert best_of_ours(found, 20.0) == Point("odm", 9.0, 0.985)


def test_the_page_says_where_the_frontier_is_not_ours():
    tables = {name: list(rows) for name, _, rows in page(CELLS)}
    training, prediction = tables["frontier_verdict"]
    assert training[:4] == ["ijcnn1", "training", "4", "2"]
    assert "300 features, LinearSVC, 95.00 in 1 s (ours takes longer)" in training[4]
    assert "LightGBM, 1,000 × 255 leaves, 99.00 in 20 s (ours by then 98.50)" in training[4]
    assert "thundersvm" not in training[4]
    assert prediction[:4] == ["ijcnn1", "prediction", "2", "1"]
    steps = tables["frontier_steps"]
    assert [row[5] for row in steps] == ["–", "0", "0", "**0.50**"]
    shown = {row[1]: row for row in tables["frontier_kernel"]}
    assert shown["EigenPro"][3] == "more than 300 s"
    assert shown["thundersvm"][-1] == "–"
    assert shown["**SVM, exact**"][-1] == "training"


def test_seconds_of_a_busy_machine_are_marked(tmp_path):
    store = Store(tmp_path / "frontier.json")
    store.put("ijcnn1/svm", {}, measured(0.98, 2.0), {"quiet": False, "date": "", "commit": ""})
    store.put("ijcnn1/odm", {}, measured(0.99, 3.0), {"quiet": True, "date": "", "commit": ""})
    tables = {name: list(rows) for name, _, rows in page(marked(store))}
    assert [row[1] for row in tables["frontier_steps"]] == ["2°", "3"]
    assert [row[4] for row in tables["frontier_kernel"]] == ["2°", "3"]


def test_the_picture_is_drawn_from_what_was_measured(tmp_path):
    pytest.importorskip("matplotlib")
    draw(CELLS, tmp_path)
    first = (tmp_path / "frontier_kernel.svg").read_bytes()
    draw(CELLS, tmp_path)
    assert (tmp_path / "frontier_kernel.svg").read_bytes() == first
    draw({}, tmp_path)
    assert (tmp_path / "frontier_kernel.svg").read_bytes() != first


def test_a_run_chooses_then_fits_and_keeps_what_it_has(folder, tmp_path, capsys):
    results = tmp_path / "frontier.json"
    run = ["--set", "cod-rna", "--contestant", "svm", "--results", str(results)]
    main(run)
    cells = Store(results).cells
    assert set(cells) == {"cod-rna/choice/svm", "cod-rna/svm"}
    best = choice.best_of(cells["cod-rna/choice/svm"])
    assert len(cells["cod-rna/choice/svm"]["tried"]) == 6
    assert cells["cod-rna/svm"]["settings"] == best
    assert cells["cod-rna/svm"]["accuracy"] > 0.7
    capsys.readouterr()
    main(run)
    assert capsys.readouterr().out == ""
    main([*run, "--again"])  # the fits, not the choices
    assert "choice" not in capsys.readouterr().out
    main(["render", "--results", str(results), "--to", str(tmp_path)])
    with open(tmp_path / "frontier_steps.csv") as file:
        assert len(list(csv.reader(file))) > 1


def test_a_fit_beyond_the_limit_is_stored_as_such(folder, tmp_path, monkeypatch):
    given: list[float] = []

    def late(worker: str, job: dict[str, object], max_time: float) -> dict[str, object]:
        given.append(max_time)
        return {"out_of_time": True, "max_time": max_time}

    monkeypatch.setattr(processes, "measure", late)
    store = Store(tmp_path / "frontier.json")
    for limit in (5.0, 5.0, 50.0):
        choice.measure(store, "cod-rna", ["lightgbm"], limit, False, [])
    if CONTESTANTS["lightgbm"].installed:
        assert [each - choice.START_UP for each in given] == [5.0, 50.0]  # more time, another try
        assert store.cells["cod-rna/lightgbm"]["limit"] == 50.0


def test_a_missing_library_is_skipped_with_a_line(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.speed.frontier.contestants.find_spec", lambda name: None)
    store = Store(tmp_path / "frontier.json")
    choice.measure(store, "cod-rna", ["xrfm"], 5.0, False, [])
    assert capsys.readouterr().out == "cod-rna/xrfm: skipped, xrfm is not installed\n"
    assert not store.cells


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_a_fit_that_wants_too_much_memory_is_stored_as_such(folder, tmp_path, monkeypatch, error):
    def fails(*arguments: object) -> None:
        raise error

    monkeypatch.setattr("benchmarks.speed.frontier.worker.resource.setrlimit", lambda *_: None)
    monkeypatch.setattr("benchmarks.speed.frontier.worker._warm_up", fails)
    rows_of("cod-rna").save(tmp_path)
    job = {"contestant": "svm", "settings": {}, "grid": None, "folder": str(tmp_path)}
    (cell,) = served({**job, "form": "dense"})
    assert cell["out_of_memory"]
    cells = {"cod-rna/svm": {**cell, "limit": 300.0}}
    tables = {name: list(rows) for name, _, rows in page(cells)}
    assert tables["frontier_kernel"][0][3] == f"more than {cell['memory_gb']} GB"


INSTALLED = [name for name, each in CONTESTANTS.items() if each.installed]
# A few seconds each: imports, a thousand trees, thousands of features.
SLOW = ("xrfm", "lightgbm_tuned", "nystroem_sgd_3000", "fourier_sgd_3000")


@pytest.mark.parametrize("name", [name for name in INSTALLED if name not in SLOW])
def test_contestants_learn(folder, tmp_path, monkeypatch, name):
    """Each one fits, in this process, and predicts better than by chance."""
    monkeypatch.setattr("benchmarks.speed.frontier.worker.resource.setrlimit", lambda *_: None)
    contestant = CONTESTANTS[name]
    data = rows_of("cod-rna" if contestant.classes == "two" else "letter").scaled("[0, 1]")
    data.save(tmp_path)
    settings = tried(contestant.grid, "letter")[0]
    if "gamma" in settings:
        settings["gamma"] = 1.0 if contestant.classes == "two" else 0.05
    job = {"contestant": name, "settings": settings, "grid": None, "folder": str(tmp_path)}
    *_, cell = served({**job, "form": "csr" if contestant.kind == TEXT else "dense"})
    assert cell["accuracy"] > (0.7 if contestant.classes == "two" else 0.6)
    assert cell["version"].startswith(contestant.package)
