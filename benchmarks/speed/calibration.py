"""Calibrated probabilities against CalibratedClassifierCV(SVC()): log loss and CPU seconds.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.calibration [--only SET ...] [--quick]
python -m benchmarks.speed.calibration render

All have their default parameters, and pairs of classes as SVC has, on the same standardised rows:
at most 5,000 to train on and 5,000 to test on. Each fits in turn in this process, after a warm-up
on 200 rows; BLAS has one thread, as waiting threads of it would count. The least CPU seconds of all
rounds count.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.race.command import options_of, parser_of, write_page
from benchmarks.race.data import DataSet, load
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, ratio_text, seconds
from widemargin import ODMClassifier, SVMClassifier

NAME = "calibration"
ROWS, QUICK_ROWS, WARM_UP_ROWS = 5000, 300, 200
# Name in scikit-learn or in the folder, by title.
BUNDLED: dict[str, Callable[..., Any]] = {
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
SETS = (
    *BUNDLED,
    *("splice", "svmguide1", "a9a", "cod-rna", "covtype_binary", "dna", "satimage", "letter"),
)
METHODS = ("sigmoid", "isotonic")
PEER = "CalibratedClassifierCV(SVC())"
CONTESTANTS: dict[str, Callable[[str], Any]] = {
    PEER: lambda method: CalibratedClassifierCV(SVC(), method=method),
    "SVMClassifier": lambda method: SVMClassifier(
        multi_class="ovo", calibrate=method, random_state=0
    ),
    "ODMClassifier": lambda method: ODMClassifier(
        multi_class="ovo", calibrate=method, random_state=0
    ),
}
# What is aimed at: log loss and CPU seconds, relative to the peer's.
MOST_LOSS, MOST_TIME = 1.01, 0.5


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the tables."""
    parser, _ = parser_of(NAME, str(__doc__), SETS, "the least")
    options = options_of(parser, NAME, arguments)
    if options.command == "render":
        write_page(Store(options.results), options.to, NAME, tables)
        return
    store = Store(options.results, options.again)
    for name in options.only:
        data = rows_of(name, QUICK_ROWS if options.quick else ROWS)
        few = np.random.default_rng(0).permutation(len(data.y))[:WARM_UP_ROWS]
        for number in range(options.repeats):
            for method in METHODS:
                for contestant, made in CONTESTANTS.items():
                    if number == 0:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")  # that a class has few rows
                            made(method).fit(data.X[few], data.y[few])
                    settings = {"rows": len(data.y), "method": method}
                    cell = f"{name}/{method}/{contestant}/{number}"
                    store.cell(cell, settings, partial(measure, made(method), data))
        show(name, store.cells)


def rows_of(name: str, most: int) -> DataSet:
    """Return standardised rows, dense, of classes from 0; with the published test part, if any."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        X_test = y_test = None
    else:
        data = load(name)
        X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    y = np.unique(y if y_test is None else np.concatenate([y, y_test]), return_inverse=True)[1]
    if y_test is not None:
        y, y_test = y[: X.shape[0]], y[X.shape[0] :]
        some, others = _few(y, most, X), _few(y_test, most, X_test)
        X, y, X_test, y_test = X[some], y[some], X_test[others], y_test[others]
    else:
        some = _few(y, 2 * most, X)
        train, test = train_test_split(some, test_size=0.5, random_state=0, stratify=y[some])
        X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    dense = [each.toarray() if sp.issparse(each) else each for each in (X, X_test)]
    scaler = StandardScaler().fit(dense[0].astype(np.float64))
    X, X_test = (scaler.transform(each.astype(np.float64)) for each in dense)
    return DataSet(X, y, X_test, y_test)


def _few(y: np.ndarray, most: int, X: Any) -> np.ndarray:
    if len(y) <= most:
        return np.arange(len(y))
    return np.sort(np.random.default_rng(0).permutation(len(y))[:most])


def measure(model: Any, data: DataSet) -> Cell:
    """Fit and score a model; count CPU seconds of all threads."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        began, cpu = time.perf_counter(), time.process_time()
        model.fit(data.X, data.y)
        facts: Cell = {
            "fit_seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - cpu,
        }
    cpu = time.process_time()
    probability = model.predict_proba(data.X_test)
    facts["predict_cpu_seconds"] = time.process_time() - cpu
    predicted = model.predict(data.X_test)
    facts |= {
        "rows": len(data.y),
        "features": data.X.shape[1],
        "classes": len(model.classes_),
        "test_rows": len(data.y_test),
        "log_loss": float(log_loss(data.y_test, probability, labels=model.classes_)),
        "accuracy": float(np.mean(predicted == data.y_test)),
        # CalibratedClassifierCV predicts by its probabilities, and so not always what SVC does.
        "argmax_is_prediction": bool(
            np.array_equal(model.classes_[probability.argmax(axis=1)], predicted)
        ),
    }
    return facts


def best(cells: Cells, name: str, method: str, contestant: str) -> Cell | None:
    """Return the cell of the round with the least CPU seconds."""
    start = f"{name}/{method}/{contestant}/"
    found = [cell for key, cell in cells.items() if key.startswith(start)]
    return min(found, key=lambda cell: cell["cpu_seconds"], default=None)


def show(name: str, cells: Cells) -> None:
    """Print ratios to the peer."""
    for method in METHODS:
        peer = best(cells, name, method, PEER)
        for contestant in CONTESTANTS:
            own = best(cells, name, method, contestant)
            if peer is not None and own is not None:
                loss = own["log_loss"] / peer["log_loss"]
                spent = own["cpu_seconds"] / peer["cpu_seconds"]
                print(
                    f"{name}, {method}, {contestant}: log loss {own['log_loss']:.4f} (ratio "
                    f"{loss:.3f}), CPU {own['cpu_seconds']:.3f} s (ratio {spent:.3f})",
                    flush=True,
                )


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the sets, and the figures of each method."""
    columns = ["Data set", "Training rows", "Test rows", "Features", "Classes"]
    yield f"{NAME}_cases", columns, _cases(cells)
    columns = ["Data set", "Contestant", "Log loss", "Relative", "CPU seconds", "Relative CPU"]
    columns += ["CPU seconds to predict", "Accuracy, %"]
    for method in METHODS:
        yield f"{NAME}_{method}", columns, _figures(cells, method)


def _cases(cells: Cells) -> Rows:
    for name in SETS:
        cell = best(cells, name, METHODS[0], PEER)
        keys = ("rows", "test_rows", "features", "classes")
        yield [name, *(NONE if cell is None else f"{cell[key]:,}" for key in keys)]


def _figures(cells: Cells, method: str) -> Rows:
    for name in SETS:
        peer = best(cells, name, method, PEER)
        for contestant in CONTESTANTS:
            own = best(cells, name, method, contestant)
            if own is None or peer is None:
                continue
            yield [
                name,
                contestant,
                f"{own['log_loss']:.4f}",
                ratio_text(own["log_loss"] / peer["log_loss"], MOST_LOSS),
                seconds(own["cpu_seconds"]),
                ratio_text(
                    own["cpu_seconds"] / peer["cpu_seconds"],
                    1.0 if contestant == PEER else MOST_TIME,
                ),
                seconds(own["predict_cpu_seconds"]),
                f"{100 * own['accuracy']:.2f}",
            ]


if __name__ == "__main__":
    main()
