"""Copies of rows are merged before a fit where they are many."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearODMClassifier, LinearSVMClassifier, MulticlassSVMClassifier
from widemargin.core import merging
from widemargin.core.merging import merged_if_many
from widemargin.core.training_set import TrainingSet, training_set
from widemargin.estimators import linear_fit, multiclass_machine

ROOM = 1 << 30


def coarse_rows(n: int = 12_000, features: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Rows of small whole numbers: most are there several times, of either class."""
    rng = np.random.default_rng(0)
    X = np.round(1.2 * rng.normal(size=(n, features)))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0).astype(np.int64)
    return X, y


def posed(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> TrainingSet:
    return training_set(X, y, weight, pairwise=False, estimator="test")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_merged_rows_are_distinct_and_weigh_as_much(form) -> None:
    X, y = coarse_rows()
    weight = 1.0 + np.arange(len(y)) % 3
    merged = merged_if_many(posed(form(X), y, weight), ROOM, threads=2)
    distinct, group = np.unique(np.column_stack([X, y]) + 0.0, axis=0, return_inverse=True)
    rows = merged.X.toarray() if sp.issparse(merged.X) else merged.X
    found = np.column_stack([rows, merged.codes]) + 0.0
    order = np.lexsort(found.T[::-1])
    np.testing.assert_array_equal(found[order], distinct)
    np.testing.assert_allclose(merged.weights[order], np.bincount(group.ravel(), weight))
    np.testing.assert_array_equal(X[merged.kept], rows)
    assert merged.n_given == len(y)


def test_stored_zeros_and_signs_of_zero_make_no_difference() -> None:
    X, y = coarse_rows()
    dense = merged_if_many(posed(X, y), ROOM)
    X[X == 0.0] = -0.0
    signed = merged_if_many(posed(X, y), ROOM)
    full = sp.csr_matrix(np.ones_like(X))
    full.data[:] = X.ravel()
    stored = merged_if_many(posed(full, y), ROOM)
    for other in (signed, stored):
        np.testing.assert_array_equal(other.kept, dense.kept)
        np.testing.assert_array_equal(other.weights, dense.weights)


def test_rows_are_left_alone_without_copies_or_memory_and_where_few() -> None:
    X, y = coarse_rows()
    unique = X + np.random.default_rng(1).normal(size=X.shape)
    training = posed(unique, y)
    assert merged_if_many(training, ROOM) is training
    few = posed(X[: merging.LEAST_ROWS - 1], y[: merging.LEAST_ROWS - 1])
    assert merged_if_many(few, ROOM) is few
    training = posed(X, y)
    assert merged_if_many(training, ROOM) is not training
    assert merged_if_many(training, 1000) is training


@pytest.mark.parametrize(("twice", "worth"), [(0.2, False), (0.6, True)])
def test_merging_must_save_enough(twice: float, worth: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    pairs = int(twice * len(X) / 2)
    X[:pairs] = X[-pairs:]
    training = posed(X, np.ones(len(X), dtype=int) * (X[:, 0] > 0))
    assert (merged_if_many(training, ROOM) is not training) == worth


@pytest.mark.parametrize(
    "model",
    [
        LinearSVMClassifier(tol=1e-6),
        LinearSVMClassifier(loss="squared_hinge", tol=1e-8, class_weight="balanced"),
        LinearSVMClassifier(C=1e-4, solver="dual", loss="squared_hinge", tol=1e-8, random_state=0),
        LinearODMClassifier(tol=1e-8),
        MulticlassSVMClassifier(tol=1e-5, random_state=0),
    ],
    ids=["hinge", "squared hinge", "dual", "odm", "multi-class"],
)
def test_fits_are_the_same_with_and_without_merging(model, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = coarse_rows()
    seen = []

    def watched(training: TrainingSet, memory: int, threads: int = 1) -> TrainingSet:
        seen.append(merged_if_many(training, memory, threads))
        return seen[-1]

    for module in (linear_fit, multiclass_machine):
        monkeypatch.setattr(module, "merged_if_many", watched)
    merged = model.fit(X, y)
    (training,) = seen
    assert len(training.codes) < 0.5 * len(y)
    coef, intercept, names = merged.coef_.copy(), merged.intercept_.copy(), set(vars(merged))
    monkeypatch.setattr(merging, "LEAST_ROWS", len(y) + 1)
    whole = model.fit(X, y)
    np.testing.assert_allclose(coef, whole.coef_, atol=2e-3)
    np.testing.assert_allclose(intercept, whole.intercept_, atol=2e-3)
    assert set(vars(whole)) == names


def test_merging_does_not_depend_on_threads() -> None:
    X, y = coarse_rows()
    one, two = (LinearSVMClassifier(n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64, np.int16])
def test_labels_are_numbered_as_by_sorting(dtype) -> None:
    y = np.random.default_rng(0).choice(np.array([100, 3, 77, 127]), 500).astype(dtype)
    if np.dtype(dtype).kind == "i":
        y[::7] = -128
    training = posed(np.zeros((len(y), 1)), y)
    classes, codes = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(training.classes, classes)
    np.testing.assert_array_equal(training.codes, codes)
    assert training.classes.dtype == y.dtype
