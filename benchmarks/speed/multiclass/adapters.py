"""How each library is called, so that all of one formulation solve the same problem.

Intercepts are penalised as the weights of a constant feature 1, as LIBLINEAR and snapml do. Rows
are brought into the form that a library wants before the clock starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import multiclass_machines
from benchmarks.speed.linear.adapters import ADAPTERS as LINEAR
from benchmarks.speed.linear.adapters import Adapter, Settings

CONSTANT = 1.0


def _linear_svc(data: Any, formulation: str, C: float, settings: Settings) -> Any:
    from sklearn.svm import LinearSVC

    kind = "crammer_singer" if formulation == "cs" else "ovr"
    model = LinearSVC(loss="hinge", multi_class=kind, C=C, max_iter=100_000, random_state=0)
    return model.set_params(**settings).fit(*data)


def _coef_and_intercept(model: Any) -> np.ndarray:
    return np.hstack([model.coef_, np.reshape(model.intercept_, (-1, 1))])


def _liblinear_weights(model: Any) -> np.ndarray:
    classes = model.nr_class
    w = np.ctypeslib.as_array(model.w, ((model.nr_feature + 1) * classes,))
    by_label = np.argsort([model.label[k] for k in range(classes)])  # they come as in the data
    return np.ascontiguousarray(w.reshape(-1, classes)[:, by_label].T)


def _snapml(data: Any, formulation: str, C: float, settings: Settings) -> Any:
    from snapml import SupportVectorMachine

    model = SupportVectorMachine("hinge", regularizer=1.0 / C, fit_intercept=True, random_state=0)
    return model.set_params(tol=1e-12, **settings).fit(*data)


def _widemargin(data: Any, formulation: str, C: float, settings: Settings) -> Any:
    X, codes = data
    classes = int(codes.max()) + 1
    return multiclass_machines.fit(X, codes, classes, formulation, C, constant=CONSTANT, **settings)


def _solution_weights(solution: Any) -> Any:
    return solution.weights


ADAPTERS = {
    "linear_svc": Adapter(
        *("scikit-learn", "sklearn", LINEAR["linear_svc"].prepare, _linear_svc),
        *(_coef_and_intercept, False),
    ),
    "liblinear": Adapter(
        *("liblinear-multicore", "liblinear", LINEAR["liblinear"].prepare),
        *(LINEAR["liblinear"].fit, _liblinear_weights, False),
    ),
    "snapml": Adapter("snapml", "snapml", LINEAR["snapml"].prepare, _snapml, _coef_and_intercept),
    "widemargin": Adapter(
        *("widemargin", "widemargin", LINEAR["widemargin"].prepare, _widemargin, _solution_weights)
    ),
}
