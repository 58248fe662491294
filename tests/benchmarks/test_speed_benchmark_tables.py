"""The tables and curves of the exact speed benchmark, from given cells."""

import csv
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.exact import curves, tables
from benchmarks.speed.exact.__main__ import main
from benchmarks.speed.exact.cases import CASES


def fit(seconds, gap=None, accuracy=0.9, **more):
    cell = {"fit_seconds": seconds, "fit_cpu_seconds": 2 * seconds, "predict_seconds": seconds / 10}
    cell |= {"accuracy": accuracy, "peak_memory_mb": 300.0, "fit_memory_mb": 100.4}
    cell |= {"rows": 49_990, "test_rows": 91_701, "features": 22, "version": "fake 1"}
    if gap is not None:
        cell |= {"relative_gap": gap, "support_vectors": 2_500}
    return cell | more


def choice(tol, form="dense", **more):
    return {"tol": tol, "gap": tol, "format": form, **more}


CELLS = {
    "ijcnn1/svc/choice": choice(0.01, reached=True),
    "ijcnn1/svc/fit/dense/0.01/0": fit(10.0, 9e-4, accuracy=0.987),
    "ijcnn1/intelex/choice": choice(0.003, reached=True),
    "ijcnn1/intelex/fit/dense/0.01/0": fit(4.3, 4e-3),  # looser, yet by chance not faster
    "ijcnn1/intelex/fit/dense/0.003/0": fit(4.2, 8e-4),
    "ijcnn1/intelex/fit/dense/0.003/1": fit(4.0),
    "ijcnn1/svm/choice": choice(8e-4),
    "ijcnn1/svm/fit/dense/0": fit(
        2.0, 7e-4, history={"seconds": [0.1, 1.9], "relative_gap": [1.0, 7e-4]}
    ),
    "ijcnn1/svm/fit/dense/1": fit(3.0),
    "ijcnn1/odm/choice": choice(1e-3),
    "ijcnn1/odm/fit/dense/0": fit(24.0, 7e-4, accuracy=0.985),
    "ijcnn1/odm/fit/dense/1": fit(25.0),
    "ijcnn1/lightgbm/choice": choice(None),
    "ijcnn1/lightgbm/fit/dense/0": {"out_of_time": True, "max_time": 3.0},
    "a9a/intelex/choice": choice(1e-4, "csr", reached=False),
    "a9a/intelex/fit/csr/0.0001/0": fit(5.0, 2e-3),
    "a9a/odm/choice": choice(1e-3, "csr"),
    "a9a/odm/fit/csr/0": fit(10.0, 9e-4),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("exact_speed")
    results = tmp_path / "exact.json"
    results.write_text(json.dumps({"machine": {"cores": 2}, "cells": CELLS}), encoding="utf-8")
    main(["render", "--results", str(results), "--to", str(tmp_path / "tables")])

    def rows_of(name):
        path = tmp_path / "tables" / f"exact_speed{name}.csv"
        with path.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    return rows_of


def test_contestants_show_their_best_round(written):
    rows = {(row["Data set"], row["Contestant"]): row for row in written("")}
    intelex = rows["ijcnn1", "intelex SVC"]
    assert (intelex["Train s"], intelex["CPU s"], intelex["Predict s"]) == ("4", "8", "0.4")
    assert (intelex["Relative gap"], intelex["tol"]) == ("8.0e-04", "0.003")
    assert (intelex["Support vectors"], intelex["Fit MB"]) == ("2,500", "100")
    assert rows["ijcnn1", "scikit-learn SVC"]["Train s"] == "10 (1)"
    assert rows["ijcnn1", "scikit-learn SVC"]["Accuracy"] == "98.70"
    assert rows["ijcnn1", "LightGBM, 300 trees†"]["Train s"] == "–"
    assert rows["a9a", "intelex SVC‡"]["Rows"] == "csr"
    assert rows["covtype, 50,000 rows", "scikit-learn SVC"]["Train s"] == "–"
    assert ("cod-rna", "intelex SVC") not in rows


def test_ratios_stand_beside_the_aims(written):
    rows = {row[""]: row for row in written("_targets")}
    assert rows["training, SVM ÷ intelex"]["ijcnn1"] == "0.50 (≤ 0.7)"
    assert rows["training, ODM ÷ intelex"]["ijcnn1"] == "**6.00** (≤ 5)"
    assert rows["prediction, SVM ÷ intelex"]["ijcnn1"] == "**0.50** (≤ 0.4)"
    assert rows["training, SVM ÷ intelex"]["cod-rna"] == "– (≤ 0.7)"
    # C is 1 on a9a anyway.
    assert rows["training, ODM ÷ intelex, C=1"]["a9a"] == "2.00 (≤ 3)"
    accuracy = rows["accuracy, ODM − scikit-learn SVC, points"]
    assert (accuracy["ijcnn1"], accuracy["a9a"]) == ("-0.20", "–")
    assert rows["accuracy, ODM − intelex SVC, points"]["ijcnn1"] == "+8.50"


def test_cases_and_machine(written):
    (ijcnn1,) = (row for row in written("_cases") if row["Data set"] == "ijcnn1")
    assert list(ijcnn1.values())[1:6] == ["49,990", "91,701", "22", "32", "2"]
    machine = {row[""]: row["Measured with"] for row in written("_machine")}
    assert (machine["cores"], machine["packages"]) == ("2", "fake 1")


def test_curves_are_those_of_the_rows_that_were_chosen():
    found = curves.curves_of(CELLS, "ijcnn1")
    assert found["intelex SVC"] == [(4.3, 4e-3), (4.2, 8e-4)]
    assert found["SVM (widemargin)"] == [(0.1, 1.0), (1.9, 7e-4)]
    assert curves.curves_of(CELLS, "a9a") == {"intelex SVC": [(5.0, 2e-3)]}
    assert curves.curves_of(CELLS, "cod-rna") == {}


@pytest.mark.parametrize("cells", [{}, CELLS])
def test_the_picture_is_the_same_for_the_same_cells(tmp_path, cells):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        curves.draw(cells, tmp_path / name)
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert picture == (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert "<svg" in picture


def test_nothing_measured_leaves_the_tables_open(tmp_path):
    tables.write(tmp_path / "none.json", tmp_path)
    text = (tmp_path / "exact_speed_cases.csv").read_text(encoding="utf-8")
    assert text.count("\n") == 1 + len(CASES)
