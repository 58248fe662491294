"""The sets, the contestants, and the process that measures one of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from benchmarks.race.data import load
from benchmarks.race.processes import serve, timed
from benchmarks.race.store import Cell

CLASSES, ROWS, FEATURES, INFORMATIVE = (2, 3, 10, 20), (100, 300, 1000, 2000), 20, 10
# Of scikit-learn.
OWN = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
# Of the folder, with so many rows of their training part.
FROM_FOLDER = {
    f"{name}, {rows:,} rows": (name, rows)
    for name in ("satimage", "usps", "letter")
    for rows in (500, 2000)
}
# Fits of a set: at least so many, and more until the seconds are over; slow ones are not repeated.
FEWEST_FITS, SECONDS = 5, 0.5


def generated_name(classes: int, rows: int) -> str:
    """Return the name of a generated set."""
    return f"{classes} x {rows}"


GENERATED = {generated_name(k, n): (k, n) for k in CLASSES for n in ROWS}
SETS = (*GENERATED, *OWN, *FROM_FOLDER)


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of mean 0 and variance 1, in float64, and labels."""
    if name in GENERATED:
        classes, rows = GENERATED[name]
        X, y = make_classification(
            rows, FEATURES, n_informative=INFORMATIVE, n_classes=classes, random_state=0
        )
    elif name in OWN:
        X, y = OWN[name](return_X_y=True)
    else:
        source, rows = FROM_FOLDER[name]
        data = load(source).few(rows)
        X, y = data.X.toarray() if hasattr(data.X, "toarray") else data.X, data.y
    return StandardScaler().fit_transform(X.astype(np.float64)), y


def _svc() -> Any:
    from sklearn.svm import SVC

    return SVC()


def _intelex() -> Any:
    from sklearnex.svm import SVC

    return SVC()


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1)


def _ours(name: str, multi_class: str) -> Any:
    import widemargin

    return getattr(widemargin, name)(multi_class=multi_class)


# Title, package and maker of every contestant.
CONTESTANTS: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "svc": ("SVC", "scikit-learn", _svc),
    "intelex": ("intelex SVC", "scikit-learn-intelex", _intelex),
    "lightgbm": ("LightGBM", "lightgbm", _lightgbm),
    "svm_ovo": ("SVM, pairs", "widemargin", partial(_ours, "SVMClassifier", "ovo")),
    "svm_ovr": ("SVM, one against the rest", "widemargin", partial(_ours, "SVMClassifier", "ovr")),
    "odm_ovo": ("ODM, pairs", "widemargin", partial(_ours, "ODMClassifier", "ovo")),
    "odm_ovr": ("ODM, one against the rest", "widemargin", partial(_ours, "ODMClassifier", "ovr")),
}
MODULES = {"intelex": "sklearnex", "lightgbm": "lightgbm"}


def installed(contestant: str) -> bool:
    """Whether a contestant can be measured here."""
    return contestant not in MODULES or find_spec(MODULES[contestant]) is not None


def measure(job: Cell) -> Iterator[Cell]:
    """Yield what has been measured so far, after every set."""
    warnings.simplefilter("ignore")
    _, package, make = CONTESTANTS[job["contestant"]]
    result: Cell = {"version": f"{package} {metadata.version(package)}", "sets": []}
    for name in job["sets"]:
        X, y = rows_of(name)
        best, model = fastest(make, X, y, job["seconds"])
        result["sets"].append(
            {
                "set": name,
                "rows": len(y),
                "features": X.shape[1],
                "classes": len(np.unique(y)),
                "cpu_ms": 1e3 * best,
                "gap": getattr(model, "relative_gap_", None),
            }
        )
        yield result


def fastest(
    make: Callable[[], Any], X: np.ndarray, y: np.ndarray, seconds: float
) -> tuple[float, Any]:
    """Fit several times; return the least CPU seconds of a fit, and a model."""
    make().fit(X, y)
    end, best, fits, model = time.perf_counter() + seconds, np.inf, 0, None
    while time.perf_counter() < end or (fits < FEWEST_FITS and (fits == 0 or best < SECONDS)):
        model, _, cpu = timed(partial(make().fit, X, y))
        best, fits = min(best, cpu), fits + 1
    return float(best), model


if __name__ == "__main__":
    serve(measure)
