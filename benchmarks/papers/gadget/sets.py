"""Data sets of the gossip tables, divided among sites, and the optimum of all rows.

The published test part, or else a random 80/20 split. Numeric features are brought to mean zero and
unit variance on the training rows, without the shift where rows are sparse; indicators stay 0 and
1, and reuters_moneyfx keeps its rows of unit length. Missing values of secom become the median of
the training rows. Sites can compute all of these together: they are sums over rows, or nearly so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks.race.data import DataSet, load
from benchmarks.race.store import Cell, Store
from widemargin import LinearODMClassifier, LinearSVMClassifier
from widemargin.gossip import graph_of

from .problem import DividedProblem, Outcome, divided, even_sites, skewed_sites

SITES = 10
TOPOLOGY = "ring"
LAM = 1e-3
QUICK_ROWS = 1_500
AS_PUBLISHED = ("reuters_moneyfx",)
# Failures are few: both parts get their share of them.
STRATIFIED = ("secom", "sylva")
# 1,253 rows of 431 features need a larger one.
LAMS = {"secom": 0.1}


@lru_cache(maxsize=2)
def split_of(name: str, number: int = 0, quick: bool = False) -> DataSet:
    """Return the published split, or the random one of a number, scaled."""
    data = load(name)
    X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    if y_test is None:
        kept = {"test_size": 0.2, "random_state": number}
        by = y if name in STRATIFIED else None
        train, test = train_test_split(np.arange(len(y)), stratify=by, **kept)
        X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    if quick:
        X, y, X_test, y_test = vars(DataSet(X, y, X_test, y_test).few(QUICK_ROWS)).values()
    if not sp.issparse(X) and np.isnan(X).any():
        middle = np.nanmedian(X, axis=0)
        X, X_test = (np.where(np.isnan(each), middle, each) for each in (X, X_test))
    if name not in AS_PUBLISHED:
        X, X_test = _standardised(X, X_test)
    return DataSet(X, y, X_test, y_test)


@lru_cache(maxsize=2)
def problem_of(
    name: str,
    *,
    topology: Any = TOPOLOGY,
    n_sites: int = SITES,
    skewed: bool = False,
    balanced: bool = False,
    number: int = 0,
    quick: bool = False,
) -> DividedProblem:
    """Return a set divided among sites; options of a topology are given as pairs."""
    split = split_of(name, number, quick)
    if skewed:
        site = skewed_sites(split.y, n_sites, number)
    else:
        site = even_sites(len(split.y), n_sites, number)
    weight = compute_sample_weight("balanced", split.y) if balanced else None
    return divided(
        split.X,
        split.y,
        split.X_test,
        split.y_test,
        site=site,
        mixing=mixing_of(topology, n_sites),
        lam=LAMS.get(name, LAM),
        weight=weight,
    )


def mixing_of(topology: Any, n_sites: int) -> np.ndarray:
    """Return the Metropolis weights of a topology as a matrix."""
    graph = graph_of(asked(topology), n_sites, 0)
    link, own = graph.weights()
    mixing = np.diag(own)
    mixing[graph.site, graph.other] = link
    return mixing


def asked(topology: Any) -> Any:
    """Return a topology as the library takes it; here options are pairs, which can be hashed."""
    return topology if isinstance(topology, str) else (topology[0], dict(topology[1]))


def _standardised(X: Any, X_test: Any) -> tuple[Any, Any]:
    sparse = sp.issparse(X)
    mean = np.ravel(X.mean(axis=0, dtype=np.float64))
    square = X.multiply(X) if sparse else X.astype(np.float64) ** 2
    deviation = np.sqrt(np.maximum(np.ravel(square.mean(axis=0)) - mean**2, 0.0))
    # x² = x for all rows of an indicator only.
    furthest = abs(square - X).max(axis=0)
    differs = np.ravel(furthest.toarray() if sparse else furthest)
    numeric = (differs != 0) & (deviation > 1e-9 * np.abs(mean))
    scale = 1.0 / np.where(numeric, deviation, 1.0)
    if sparse:
        factors = sp.diags_array(scale)
        return (X @ factors).tocsr(), (X_test @ factors).tocsr()
    shift = np.where(numeric, mean, 0.0)
    return (X - shift) * scale, (X_test - shift) * scale


# --------------------------------------------------------------------------------- optimum, score

OPTIMUM_TOL = 1e-5


def optimum(problem: DividedProblem, loss: str = "hinge", max_time: float = 60.0) -> Cell:
    """Solve the problem of all rows by our exact linear solver."""
    C = 1.0 / (problem.lam * problem.weight.sum())
    settings: dict[str, Any] = {"C": C, "tol": OPTIMUM_TOL, "max_time": max_time}
    settings |= {"fit_intercept": False, "random_state": 0}
    if loss == "odm":
        machine = LinearODMClassifier(**settings)
    else:
        machine = LinearSVMClassifier(loss="hinge", **settings)
    machine.fit(problem.X, problem.y, sample_weight=problem.weight)
    model = machine.coef_[:1]
    right = np.where(problem.X_test @ model[0] > 0, 1.0, -1.0) == problem.y_test
    return {
        "objective": float(problem.objective(model, loss)[0]),
        "relative_gap": float(machine.relative_gap_),
        "accuracy": float(right.mean()),
        "fit_seconds": float(machine.history_["seconds"][-1]),
        "rows": len(problem.y),
        "test_rows": len(problem.y_test),
        "features": problem.size - 1,
        "positives": float(np.mean(problem.y > 0)),
    }


def cell_of(
    outcome: Outcome,
    problem: DividedProblem,
    best: float | None = None,
    loss: str = "hinge",
    columns: tuple[str, ...] = (),
) -> Cell:
    """Return the cell of a run.

    ``best`` is the objective of the optimum; ``columns`` are those of the history to keep.
    """
    accuracy = outcome.accuracy(problem)
    cell: Cell = {
        "accuracy": float(accuracy.mean()),
        "accuracy_of_sites": accuracy.tolist(),
        "rounds": outcome.rounds,
        "messages": outcome.messages,
        "bytes": outcome.bytes_sent,
        "fit_seconds": outcome.seconds,
        "out_of_time": not outcome.stopped,
        **{key: value for key, value in outcome.facts.items() if key != "history"},
    }
    if columns and "history" in outcome.facts:
        cell["history"] = {key: outcome.facts["history"][key] for key in columns}
    if best is not None and outcome.models is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of models that diverged
            excess = problem.objective(outcome.models, loss) / best - 1.0
        cell["excess"] = _finite(excess)
    return cell


def rare_cell(outcome: Outcome, problem: DividedProblem) -> Cell:
    """Add how well every site finds the rare class, which is the positive one."""
    cell = cell_of(outcome, problem)
    recall, balanced = outcome.recall(problem), outcome.balanced_accuracy(problem)
    return cell | {"recall": recall.tolist(), "balanced_accuracy": balanced.tolist()}


def _finite(values: np.ndarray) -> list[float | None]:
    return [float(each) if np.isfinite(each) else None for each in values]


OPTIMUM_TIME = 60.0


def reference(
    store: Store,
    name: str,
    problem: Callable[[], DividedProblem],
    quick: bool,
    loss: str = "hinge",
    number: int = 0,
) -> Cell:
    """Return the optimum of all rows of a run, measured if it is missing."""
    settings = {"quick": quick, "tol": OPTIMUM_TOL}
    return store.cell(
        optimum_cell(name, loss, number),
        settings,
        lambda: optimum(problem(), loss, OPTIMUM_TIME),
    )


def optimum_cell(name: str, loss: str = "hinge", number: int = 0) -> str:
    """Return the name of an optimum's cell; the first run's is that of tables with a single one."""
    return f"reference/{name}/{loss}" + (f"/{number}" if number else "")
