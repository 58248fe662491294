"""Pipelines that begin with a TablePreprocessor are exported with it."""

import numpy as np
import pytest
import scipy.sparse as sp
from onnx_graphs import assert_same_predictions, run_graph
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline

from widemargin import ODMClassifier, SVMClassifier, TablePreprocessor, to_onnx

pandas = pytest.importorskip("pandas")
N = 400


def messy(seed):
    """Return a table as people have it: numbers as text, blanks, dates, a long tail, names."""
    rng = np.random.default_rng(seed)
    days = rng.integers(18000, 20000, N) + rng.random(N).round(3)
    wet = rng.random(N) < 0.5
    job = np.array(["cook", "clerk", "?", "nurse", "NA"], dtype=object)[rng.integers(0, 5, N)]
    if seed:
        job[:20] = "astronaut"
    age = np.where(rng.random(N) < 0.1, np.nan, rng.normal(40, 10, N).round(1))
    table = pandas.DataFrame(
        {
            "age": age,
            "income": np.exp(3.0 * rng.normal(size=N)),
            "height": [f"{value:.2f}".replace(".", ",") for value in rng.normal(1.7, 0.1, N)],
            "when": pandas.to_datetime(days, unit="D"),
            "wet": np.where(wet, "yes", "no"),
            "job": job,
            "id": np.arange(N),
            "constant": 1,
        }
    )
    when = (table["when"] - pandas.Timestamp(0)) / pandas.Timedelta(days=1)
    season = np.sin(2 * np.pi * when / 365.2425)
    y = (np.nan_to_num(age, nan=40) / 10 - 4 + season + wet + (job == "cook") > 0.7).astype(int)
    return table, y


def as_inputs(table, dtype):
    """Return what the graph takes: numbers, days, and text with "" for a missing one."""
    numbers = {
        "age": table["age"],
        "income": table["income"],
        "height": table["height"].str.replace(",", ".").astype(float),
        "wet": table["wet"] == "yes",
    }
    when = (table["when"] - pandas.Timestamp(0)) / pandas.Timedelta(days=1)
    return {
        **{name: column.to_numpy(dtype=dtype)[:, None] for name, column in numbers.items()},
        "when": when.to_numpy(dtype=np.float64)[:, None],
        "job": table["job"].to_numpy(dtype=object)[:, None],
    }


@pytest.mark.filterwarnings("ignore:Column")
@pytest.mark.parametrize("classifier", [ODMClassifier(), SVMClassifier("linear")], ids=str)
def test_messy_tables(classifier):
    table, y = messy(0)
    model = make_pipeline(TablePreprocessor(), classifier).fit(table, y)
    roles = {name: plan["role"] for name, plan in model[0].columns_.items()}
    assert {"number", "boolean", "date", "category", "dropped"} == set(roles.values())
    assert model[0].columns_["income"]["unit"] is not None
    fresh, _ = messy(1)
    proto = to_onnx(model, dtype="float64")
    outputs = run_graph(proto, as_inputs(fresh, np.float64))
    with pytest.warns(UserWarning, match="astronaut"):
        wanted = model.decision_function(fresh)
    np.testing.assert_allclose(outputs["decision"], wanted, rtol=1e-9, atol=1e-9)


def test_single_precision():
    table, y = messy(0)
    model = make_pipeline(TablePreprocessor(), ODMClassifier()).fit(table, y)
    outputs = run_graph(to_onnx(model), as_inputs(table, np.float32))
    wanted = model.decision_function(table)
    # The inputs themselves are rounded; days are not.
    np.testing.assert_allclose(outputs["decision"], wanted, rtol=1e-4, atol=1e-4)
    assert np.mean(outputs["label"] == model.predict(table)) > 0.99


def test_a_missing_category():
    jobs = np.array(["cook", "clerk", None, ""], dtype=object)
    table = pandas.DataFrame({"job": jobs[np.arange(80) % 4], "n": np.arange(80.0) % 7})
    model = make_pipeline(TablePreprocessor(), ODMClassifier()).fit(table, table["job"] == "cook")
    inputs = {
        "job": table["job"].fillna("").to_numpy(dtype=object)[:, None],
        "n": table["n"].to_numpy(dtype=np.float32)[:, None],
    }
    assert run_graph(to_onnx(model), inputs)["label"].tolist() == model.predict(table).tolist()


def test_arrays_and_sparse_matrices():
    X, y = make_classification(200, 6, n_informative=5, n_redundant=0, random_state=0)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    assert_same_predictions(
        make_pipeline(TablePreprocessor(), ODMClassifier()).fit(holes, y), holes
    )
    sparse = np.where(X > 0.5, X, 0.0) * [1.0, 1.0, 1.0, 1.0, 1.0, 1e4]
    model = make_pipeline(TablePreprocessor(), ODMClassifier()).fit(sp.csr_matrix(sparse), y)
    outputs = run_graph(to_onnx(model, dtype="float64"), sparse)
    wanted = model.decision_function(sp.csr_matrix(sparse))
    np.testing.assert_allclose(outputs["decision"], wanted, rtol=1e-9, atol=1e-12)
