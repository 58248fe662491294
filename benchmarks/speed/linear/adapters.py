"""How each library is called, so that all of them solve the same problem.

The intercept is penalised as the weight of a constant feature 1. LIBLINEAR and snapml do that
themselves; others get the feature as a column, and are told not to have an intercept. Rows are
brought into the form that a library wants before the clock starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.speed.measuring import THREADS

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Adapter:
    """A library.

    Attributes
    ----------
    package, module : str
        Name on PyPI, and the module that must be there.
    prepare : callable
        Makes of rows and labels what ``fit`` takes; not timed.
    fit : callable
        Takes that, the loss, C and settings; returns a model.
    weights : callable
        Returns a model's weights, the last of them the intercept.
    dense : bool
        Whether it gains anything from dense rows: LIBLINEAR makes sparse ones of them.
    """

    package: str
    module: str
    prepare: Callable[[Any, np.ndarray], Any]
    fit: Callable[[Any, str, float, Settings], Any]
    weights: Callable[[Any], np.ndarray]
    dense: bool = True


def _as_they_are(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    return X, y


def _float64(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
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


def _linear_svc(data: Any, loss: str, C: float, settings: Settings) -> Any:
    from sklearn.svm import LinearSVC

    # The tolerance is never met: max_iter alone says where it stops.
    return LinearSVC(loss=loss, C=C, tol=1e-12, random_state=0, **settings).fit(*data)


def _liblinear_problem(X: Any, y: np.ndarray) -> Any:
    from liblinear.liblinear import problem

    return problem(y.astype(np.float64), X.astype(np.float64), 1.0)


def _liblinear(data: Any, loss: str, C: float, settings: Settings) -> Any:
    from liblinear.liblinearutil import parameter, train

    solver, threads, eps = (settings[name] for name in ("solver", "threads", "eps"))
    return train(data, parameter(f"-s {solver} -c {C} -B 1 -e {eps} -m {threads} -q"))


def _liblinear_weights(model: Any) -> np.ndarray:
    w = np.ctypeslib.as_array(model.w, (model.nr_feature + 1,))
    return model.label[0] * w  # positive for the label that comes first in the data


def _sgd_data(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray, float]:
    X, y = _with_constant(X, y)
    norms = X.multiply(X).sum(axis=1) if sp.issparse(X) else (X * X).sum(axis=1)
    return X, y, float(np.max(norms))


def _sgd(data: Any, loss: str, C: float, settings: Settings) -> Any:
    from sklearn.linear_model import SGDClassifier

    X, y, largest_norm = data
    if settings.get("learning_rate") == "invscaling":  # its first step is half the longest stable
        settings = {**settings, "eta0": 0.5 / largest_norm}
    alpha = 1.0 / (C * len(y))
    model = SGDClassifier(loss, alpha=alpha, fit_intercept=False, tol=None, random_state=0)
    return model.set_params(**settings).fit(X, y)


def _snapml(data: Any, loss: str, C: float, settings: Settings) -> Any:
    from snapml import SupportVectorMachine

    model = SupportVectorMachine(loss, regularizer=1.0 / C, fit_intercept=True, random_state=0)
    return model.set_params(tol=1e-12, **settings).fit(*data)


def _widemargin(data: Any, loss: str, C: float, settings: Settings) -> Any:
    import widemargin

    if loss == "odm":
        model = widemargin.LinearODMClassifier(C=C)
    else:
        model = widemargin.LinearSVMClassifier(C=C, loss=loss)
    return model.set_params(n_jobs=THREADS, random_state=0, **settings).fit(*data)


ADAPTERS = {
    "linear_svc": Adapter(
        *("scikit-learn", "sklearn", _float64, _linear_svc, _coef_and_intercept), dense=False
    ),
    "liblinear": Adapter(
        *("liblinear-multicore", "liblinear", _liblinear_problem, _liblinear, _liblinear_weights),
        dense=False,
    ),
    "sgd": Adapter("scikit-learn", "sklearn", _sgd_data, _sgd, _all_in_coef),
    "snapml": Adapter("snapml", "snapml", _as_they_are, _snapml, _coef_and_intercept),
    "widemargin": Adapter(
        "widemargin", "widemargin", _as_they_are, _widemargin, _coef_and_intercept
    ),
}
