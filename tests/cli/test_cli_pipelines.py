"""Pipelines on the command line: described, and used for predictions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from test_cli import run  # noqa: F401

import widemargin


def test_info_shows_the_steps(run, tmp_path):  # noqa: F811
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :3].assign(kind=np.array(["a", "b"])[np.arange(len(X)) % 2])
    columns = make_column_transformer(
        (StandardScaler(with_mean=False), ["alcohol"]), (OneHotEncoder(), ["kind"])
    )
    model = make_pipeline(columns, "passthrough", widemargin.SVMClassifier(C=4.0)).fit(X, y)
    widemargin.save(model, tmp_path / "m.wm")
    code, out, _ = run("info", tmp_path / "m.wm")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    start = lines.index("steps columntransformer: ColumnTransformer")
    assert lines[start - 1] == "estimator Pipeline"
    assert lines[start + 1 : start + 6] == [
        "standardscaler: StandardScaler(with_mean=False)",
        "onehotencoder: OneHotEncoder",
        "remainder: drop",
        "passthrough: passthrough",
        "svmclassifier: SVMClassifier(C=4.0)",
    ]
    assert "features 4" in lines
    assert "classes 3: 0, 1, 2" in lines
    shown = json.loads(run("info", tmp_path / "m.wm", "--json")[1])
    assert [step["estimator"] for step in shown["steps"]] == [
        *("ColumnTransformer", "passthrough", "SVMClassifier")
    ]
    assert shown["feature_names"] == list(X.columns)
    assert shown["parameters"]["C"] == 4.0


def test_info_of_steps_alone(run, tmp_path):  # noqa: F811
    widemargin.save(StandardScaler().fit(np.eye(3)), tmp_path / "scaler.wm")
    code, out, _ = run("info", tmp_path / "scaler.wm")
    assert code == 0
    assert "steps      StandardScaler" in out


def test_predict_and_evaluate_scale_as_the_pipeline_does(run, tmp_path):  # noqa: F811
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), widemargin.SVMClassifier()).fit(X, y)
    widemargin.save(model, tmp_path / "m.wm")
    X.assign(label=y).to_csv(tmp_path / "wine.csv", index=False)
    code, out, _ = run("evaluate", tmp_path / "m.wm", tmp_path / "wine.csv", "--json")
    assert code == 0
    assert json.loads(out)["accuracy"] == model.score(X, y) == 1.0
    code, out, _ = run("predict", tmp_path / "m.wm", tmp_path / "wine.csv")
    assert code == 0
    predicted = pd.Series(out.split()[1:]).astype(int)
    assert predicted.tolist() == model.predict(X).tolist()
