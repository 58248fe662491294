"""Rows whose neighbours a part has lost: counted, and warned of at the first level."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from engines_under_test import CarryingEngine
from widemargin import Cascade, Clustered, ODMClassifier, Preserving, Stratified, SVMClassifier
from widemargin.core.losses import Hinge
from widemargin.engines import LocalEngine
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import lonely_rows, lonely_share
from widemargin.kernel.samples import Samples, whole_set


def rows_of(n: int, gamma: float, form: Any = np.asarray) -> tuple[Any, Kernel]:
    X = np.random.default_rng(0).uniform(size=(n, 2)).astype(np.float32)
    return form(X), Kernel("rbf", gamma)


def placed(X: Any, kernel: Kernel, engine: Any) -> Any:
    n = X.shape[0]
    return engine.scatter([whole_set(Samples(X, kernel, np.ones(n), np.ones(n), Hinge()))])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("gamma", [1.0, 200.0, 2000.0, 1e6])
def test_counts_as_the_definition_does(gamma: float, form: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(lonely_rows, "COLUMNS", 64)
    X, kernel = rows_of(200, gamma, form)
    values = rbf_kernel(X, gamma=gamma)
    wanted = float(np.mean(values.sum(axis=1) - 1.0 < 1.0))  # all rows are looked at
    for engine in (LocalEngine(1), CarryingEngine()):
        assert lonely_share(engine, placed(X, kernel, engine), 3) == pytest.approx(wanted)
    given = Kernel("precomputed")
    engine = LocalEngine(1)
    assert lonely_share(engine, placed(values, given, engine), 3) == pytest.approx(wanted)


def test_a_constant_is_no_neighbour() -> None:
    X, kernel = rows_of(100, 1e6)
    engine = LocalEngine(1)
    with_intercept = Kernel("rbf", kernel.gamma, constant=1.0)
    assert lonely_share(engine, placed(X, with_intercept, engine), 0) == 1.0


def checkered(n: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).uniform(size=(n, 3))
    return X, (np.floor(4 * X).sum(axis=1) % 2).astype(int)


@pytest.mark.parametrize("kind", [Stratified, Cascade, Preserving])
def test_small_copies_warn_of_a_narrow_kernel_once(kind: type) -> None:
    X, y = checkered()
    y[:400] = 2  # three binary problems
    model = ODMClassifier(gamma=1000.0, strategy=kind(levels=2, stop_level=2), random_state=0)
    with pytest.warns(UserWarning, match=r"blind with this kernel.*strategy='clustered'") as found:
        model.fit(X, y)
    assert sum("blind" in str(each.message) for each in found) == 1


@pytest.mark.parametrize("stop_level", [0, 2])
@pytest.mark.parametrize("model", [ODMClassifier(), SVMClassifier()])
def test_silent_with_a_wide_kernel(model: Any, stop_level: int) -> None:
    X, y = checkered()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strategy = Stratified(levels=2, stop_level=stop_level)
        model.set_params(gamma=20.0, strategy=strategy, random_state=0).fit(X, y)


def test_clusters_keep_neighbours_together_and_are_silent() -> None:
    X, y = checkered()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strategy = Clustered(levels=2, stop_level=2)
        SVMClassifier(gamma=1000.0, strategy=strategy, random_state=0).fit(X, y)
