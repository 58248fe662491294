"""Every level against a naive one: parts solved by Clarabel, models put together by hand."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from engines_under_test import ListeningEngine
from oracle import solve_with_clarabel
from parts_to_merge import two_clouds
from reference import kernels as naive
from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.estimators.kernel_machine import KernelMachine
from widemargin.kernel.divide import part_solver
from widemargin.kernel.samples import Part

STRATEGIES = (Stratified, Clustered, Cascade, Preserving)
strategies = pytest.mark.parametrize("kind", STRATEGIES)
MODELS: dict[str, KernelMachine] = {
    "hinge": SVMClassifier(C=2.0),
    "squared_hinge": SVMClassifier(C=2.0, loss="squared_hinge"),
    "odm": ODMClassifier(C=2.0),
}
losses = pytest.mark.parametrize("loss", MODELS)
GAMMA, N_ROWS = 0.3, 96


def fitted(
    kind: type, loss: str, fit_intercept: bool = False, **settings: Any
) -> tuple[KernelMachine, list[list[Part]], np.ndarray, np.ndarray, np.ndarray]:
    """Fit on 96 weighted rows; return the model, the parts of its levels, and the data."""
    X, label = two_clouds(N_ROWS)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=N_ROWS)
    engine = ListeningEngine()
    model = type(MODELS[loss])(**MODELS[loss].get_params(deep=False))
    model.set_params(
        strategy=kind(levels=2, fan_in=2, **settings),
        engine=engine,
        tol=1e-7,
        gamma=GAMMA,
        random_state=0,
        fit_intercept=fit_intercept,
        n_jobs=1,
    )
    return model.fit(X, label, weights), engine.levels, X, label, weights


def gram(X: np.ndarray, Z: np.ndarray, fit_intercept: bool) -> np.ndarray:
    return naive.rbf(X, Z, GAMMA) + (1.0 if fit_intercept else 0.0)


def local_objective(loss: str, part: Part, factor: float, fit_intercept: bool) -> float:
    """Solve a part's problem from scratch."""
    rows, set_ = part.rows, part.source
    X, y = set_.X[rows], set_.label[rows]
    K = gram(X, X, fit_intercept)
    return solve_with_clarabel(K, y, loss, 1.0, factor * set_.weight[rows]).objective


@strategies
@losses
def test_every_part_solves_its_problem(kind: type, loss: str) -> None:
    """Weights C·M/m where parts are small copies, C where they are blocks of the whole."""
    fit_intercept = kind in (Clustered, Cascade)
    _, levels, _, _, weights = fitted(kind, loss, fit_intercept)
    assert [len(parts) for parts in levels] == [4, 2, 1]
    total = 2.0 * weights.sum()
    for parts in levels:
        assert sum(part.mass for part in parts) == pytest.approx(total)
        for part in parts:
            factor = 1.0 if kind is Clustered else total / part.mass
            best = local_objective(loss, part, factor, fit_intercept)
            assert part.report is not None
            assert part.report.primal == pytest.approx(best, rel=1e-6)
            assert part.report.dual == pytest.approx(best, rel=1e-6)


@strategies
@losses
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("stop_level", [2, 1])
def test_model_of_a_level(kind: type, loss: str, fit_intercept: bool, stop_level: int) -> None:
    """The mean of the local models by what each stands for, or the model of the nearest cluster."""
    model, levels, X, label, weights = fitted(kind, loss, fit_intercept, stop_level=stop_level)
    parts = levels[-1]
    Z = two_clouds(150, seed=9)[0]
    local = np.array(
        [
            gram(Z, X[part.rows], fit_intercept) @ (part.net_dual * label[part.rows])
            for part in parts
        ]
    )
    if kind is Clustered:
        (routing,) = model.routing_
        nearest = nearest_cluster(Z, routing)
        assert len(np.unique(nearest)) == len(parts)
        expected = local[nearest, np.arange(150)]
    else:
        shares = np.array([part.mass for part in parts]) / (2.0 * weights.sum())
        expected = shares @ local
        assert model.routing_ is None
    np.testing.assert_allclose(model.decision_function(Z), expected, atol=1e-11)
    np.testing.assert_array_equal(model.predict(Z), np.where(expected > 0, 1.0, -1.0))
    assert model.level_ == stop_level
    for k, part in enumerate(parts):
        mine = np.isin(model.support_, part.rows)
        np.testing.assert_array_equal(model.support_part_[0, mine], k)


def nearest_cluster(Z: np.ndarray, routing: dict[str, Any]) -> np.ndarray:
    """Distances to the means of the clusters of the sample, in the kernel's space, written out."""
    starts = routing["group_start"]
    distances = []
    for g in range(len(starts) - 1):
        members = routing["basis"][starts[g] : starts[g + 1]]
        to_members = naive.rbf(Z, members, routing["gamma"])
        within = naive.rbf(members, members, routing["gamma"])
        distances.append(1.0 - 2.0 * to_members.mean(axis=1) + within.mean())
    return np.argmin(distances, axis=0)


@strategies
@losses
def test_history_counts_what_there_is(kind: type, loss: str) -> None:
    model, levels, _, _, weights = fitted(kind, loss)
    history = model.history_
    assert set(map(len, history.values())) == {3}
    np.testing.assert_array_equal(history["problem"], 0)
    np.testing.assert_array_equal(history["level"], [2, 1, 0])
    total = 2.0 * weights.sum()
    for k, parts in enumerate(levels):
        duals = np.concatenate([part.net_dual for part in parts])
        reports = [part.report for part in parts]
        share = [1.0 if kind is Clustered else part.mass / total for part in parts]
        primal = sum(s * r.primal for s, r in zip(share, reports, strict=True))
        dual = sum(s * r.dual for s, r in zip(share, reports, strict=True))
        assert history["parts"][k] == len(parts)
        assert history["rows"][k] == duals.size
        assert history["largest_part"][k] == max(part.n_rows for part in parts)
        assert history["support_vectors"][k] == np.count_nonzero(duals)
        assert history["objective"][k] == pytest.approx(primal)
        assert history["gap"][k] == pytest.approx(primal - dual, abs=1e-12 * primal)
        assert history["relative_gap"][k] == pytest.approx(history["gap"][k] / primal)
        assert history["worst_gap"][k] <= (1e-7 if k == 2 else 1e-6)  # the root, or above
        moved = sum(r.moved for r in reports) / np.abs(duals).sum()
        assert history["movement"][k] == pytest.approx(moved)
    assert np.all(np.diff(history["seconds"]) > 0)
    assert np.all(np.isnan(history["validation_score"]))


@losses
def test_only_support_vectors_go_up_a_cascade(loss: str) -> None:
    _, levels, _, _, _ = fitted(Cascade, loss)
    for below, above in pairwise(levels):
        for k, part in enumerate(above):
            pair = below[2 * k : 2 * k + 2]
            carried = np.concatenate([each.rows[each.net_dual != 0] for each in pair])
            np.testing.assert_array_equal(part.rows, np.sort(carried))
            assert part.mass == pytest.approx(sum(each.mass for each in pair))


def test_support_vectors_are_solved_alone_before_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refinement of the clustered method, once; no other method has it."""
    refined = part_solver._refined
    asked: list[int] = []

    def listening(problem: Any, carried: np.ndarray, *settings: Any) -> np.ndarray:
        result: np.ndarray = refined(problem, carried, *settings)
        asked.append(problem.n_rows)
        support, bound = np.flatnonzero(carried), problem.terms.bound
        assert 0 < support.size < carried.size
        np.testing.assert_array_equal(result[carried == 0], 0.0)
        margin = problem.dense_q()[support] @ result
        free = (result[support] > 1e-6) & (result[support] < bound[support] - 1e-6)
        np.testing.assert_allclose(margin[free], 1.0, atol=1e-3)  # solved, among themselves
        return result

    monkeypatch.setattr(part_solver, "_refined", listening)
    for kind in STRATEGIES:
        fitted(kind, "hinge")
        assert asked == ([N_ROWS] if kind is Clustered else [])
        asked.clear()
