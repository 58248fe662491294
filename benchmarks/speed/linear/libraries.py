"""How each library is called, so that all of them solve the same problem.

The intercept is penalised as the weight of a constant feature 1. LIBLINEAR and snapml do that
themselves; others get the feature as a column and fit no intercept. Rows are brought into the form
that a library wants before the clock starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from benchmarks.race.plugin import Library
from benchmarks.race.processes import THREADS

Problem = Mapping[str, Any]
Settings = Mapping[str, Any]
# VW has two to this power weights, or more where there are more features.
VW_BITS = 18


def float64(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    return X.astype(np.float64), y


def _with_constant(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    ones = np.ones((len(y), 1))
    if sp.issparse(X):
        return sp.hstack([X.astype(np.float64), ones], format="csr"), y
    return np.hstack([X.astype(np.float64), ones]), y


def _coef_and_intercept(model: Any) -> np.ndarray:
    return np.append(np.ravel(model.coef_), np.ravel(model.intercept_))


def _all_in_coef(model: Any) -> np.ndarray:
    return np.ravel(model.coef_)


def linear_svc(data: Any, problem: Problem, settings: Settings) -> Any:
    from sklearn.svm import LinearSVC

    # The tolerance is never met: max_iter alone stops it.
    return LinearSVC(**problem, tol=1e-12, random_state=0, **settings).fit(*data)


def liblinear_problem(X: Any, y: np.ndarray) -> Any:
    from liblinear.liblinear import problem

    return problem(y.astype(np.float64), X.astype(np.float64), 1.0)


def liblinear(data: Any, problem: Problem, settings: Settings) -> Any:
    from liblinear.liblinearutil import parameter, train

    solver, threads, eps = (settings[name] for name in ("solver", "threads", "eps"))
    return train(data, parameter(f"-s {solver} -c {problem['C']} -B 1 -e {eps} -m {threads} -q"))


def _liblinear_weights(model: Any) -> np.ndarray:
    w = np.ctypeslib.as_array(model.w, (model.nr_feature + 1,))
    return model.label[0] * w  # positive for the label that comes first in the data


def _sgd_data(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray, float]:
    X, y = _with_constant(X, y)
    norms = X.multiply(X).sum(axis=1) if sp.issparse(X) else (X * X).sum(axis=1)
    return X, y, float(np.max(norms))


def _sgd(data: Any, problem: Problem, settings: Settings) -> Any:
    from sklearn.linear_model import SGDClassifier

    X, y, largest_norm = data
    if settings.get("learning_rate") == "invscaling":  # its first step is half the longest stable
        settings = {**settings, "eta0": 0.5 / largest_norm}
    alpha = 1.0 / (problem["C"] * len(y))
    model = SGDClassifier(
        problem["loss"], alpha=alpha, fit_intercept=False, tol=None, random_state=0
    )
    return model.set_params(**settings).fit(X, y)


def snapml(data: Any, problem: Problem, settings: Settings) -> Any:
    from snapml import SupportVectorMachine

    model = SupportVectorMachine(
        problem.get("loss", "hinge"),
        regularizer=1.0 / problem["C"],
        fit_intercept=True,
        random_state=0,
    )
    return model.set_params(tol=1e-12, **settings).fit(*data)


def _with_constant_float32(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    X, y = _with_constant(X, y)
    return X.astype(np.float32), y


def _cyanure(data: Any, problem: Problem, settings: Settings) -> Any:
    from cyanure.estimators import Classifier

    X, y = data
    # It minimises the mean of half the squared hinge; max_iter alone stops it.
    model = Classifier(
        loss="sqhinge",
        penalty="l2",
        lambda_1=1.0 / (2.0 * problem["C"] * len(y)),
        fit_intercept=False,
        tol=1e-12,
        duality_gap_interval=1_000_000,
        verbose=False,
        n_threads=THREADS,
    )
    return model.set_params(**settings).fit(X, y)


def _vw_rows(X: Any, y: np.ndarray) -> tuple[Any, int, int, int]:
    """Write rows as VW reads them, and its cache; the folder lives as long as the returned object.

    The number of a feature is its place among the weights; the constant comes last. Rows are in
    random order: it steps from one to the next, and files are often sorted by class.
    """
    order = np.random.default_rng(0).permutation(len(y))
    X, y = _with_constant(X[order], y[order])
    folder = TemporaryDirectory()
    plain, path = Path(folder.name) / "plain", Path(folder.name) / "rows"
    dump_svmlight_file(X, y, str(plain), zero_based=True)
    with plain.open("rb") as lines, path.open("wb") as rows:
        rows.writelines(line.replace(b" ", b" | ", 1) for line in lines)
    bits = max(VW_BITS, (X.shape[1] - 1).bit_length())
    _vw(f"-d {path} -c -b {bits}")
    return folder, len(y), X.shape[1], bits


def _vw(options: str) -> Any:
    from vowpalwabbit import Workspace

    return Workspace(f"--quiet --noconstant --holdout_off --loss_function hinge {options}")


def vowpal_wabbit(data: Any, problem: Problem, settings: Settings) -> Any:
    """Train on the cache; the weight of a row's loss is C, so that of the norm is 1 / (C rows)."""
    folder, rows, features, bits = data
    path = Path(folder.name) / "rows"
    options = " ".join(f"--{name} {value}" for name, value in settings.items())
    l2 = 1.0 / (problem["C"] * rows)
    return _vw(f"-d {path} -c -b {bits} --l2 {l2:.10g} {options}"), features


def _vw_weights(model: Any) -> np.ndarray:
    from vowpalwabbit import Workspace

    workspace, features = model
    with TemporaryDirectory() as folder:
        # In memory they lack the factor that the penalty has shrunk all of them by.
        workspace.save(f"{folder}/model")
        kept = Workspace(f"--quiet -t -i {folder}/model")
        return np.array([kept.get_weight(k) for k in range(features)])


def _widemargin(data: Any, problem: Problem, settings: Settings) -> Any:
    import widemargin

    if problem["loss"] == "odm":
        model = widemargin.LinearODMClassifier(C=problem["C"])
    else:
        model = widemargin.LinearSVMClassifier(**problem)
    return model.set_params(n_jobs=THREADS, random_state=0, **settings).fit(*data)


LIBRARIES = {
    "linear_svc": Library(
        "scikit-learn", "sklearn", linear_svc, _coef_and_intercept, float64, dense=False
    ),
    "liblinear": Library(
        *("liblinear-multicore", "liblinear", liblinear, _liblinear_weights, liblinear_problem),
        dense=False,
    ),
    "sgd": Library("scikit-learn", "sklearn", _sgd, _all_in_coef, _sgd_data),
    "snapml": Library("snapml", "snapml", snapml, _coef_and_intercept),
    "cyanure": Library(
        *("cyanure", "cyanure", _cyanure, _all_in_coef, _with_constant_float32), optional=True
    ),
    "vw": Library(
        *("vowpalwabbit", "vowpalwabbit", vowpal_wabbit, _vw_weights, _vw_rows),
        dense=False,
        optional=True,
    ),
    "widemargin": Library("widemargin", "widemargin", _widemargin, _coef_and_intercept),
}
