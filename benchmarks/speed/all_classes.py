"""Kernel machines for all classes at once against one-vs-rest and pairs of classes.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.all_classes [--only SET ...] [--quick]
python -m benchmarks.speed.all_classes render

Accuracy on test rows, CPU seconds of a fit to the same relative gap (tol=1e-3), support vectors and
the certified gap. Every contestant has the C and gamma that are best for it on validation rows: a
third of at most 6,000 training rows, with C of 1, 4, 16 and gamma of 1/4, 1 and 4 times "scale".
Then it is fitted to all training rows, in turn with the others, in this process; the least CPU
seconds of all rounds count, after a warm-up on 200 rows and with one thread of BLAS.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.race.command import options_of, parser_of, write_page
from benchmarks.race.data import DataSet, load
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, seconds
from widemargin import SVMClassifier
from widemargin.kernel.kernels import resolve_gamma

NAME = "all_classes"
QUICK_ROWS, WARM_UP_ROWS, SEARCH_ROWS = 300, 200, 6000
# Most training rows of each set, from scikit-learn or the folder.
SETS = {"digits": None, "satimage": None, "usps": None, "letter": None, "mnist": 10_000}
# Pixels share a scale; other features are standardised.
PIXELS = ("digits", "usps", "mnist")
SETTINGS = tuple(product((1.0, 4.0, 16.0), (0.25, 1.0, 4.0)))
CONTESTANTS: dict[str, Callable[..., Any]] = {
    "SVM, one-vs-rest": partial(SVMClassifier, multi_class="ovr"),
    "SVM, pairs": partial(SVMClassifier, multi_class="ovo"),
    "SVM, Weston–Watkins": partial(SVMClassifier, multi_class="ww"),
    "SVM, Crammer–Singer": partial(SVMClassifier, multi_class="cs"),
}


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the tables."""
    parser, _ = parser_of(NAME, str(__doc__), SETS, "the least")
    options = options_of(parser, NAME, arguments)
    if options.command == "render":
        write_page(Store(options.results), options.to, NAME, tables)
        return
    store = Store(options.results, options.again)
    for name in options.only:
        data = rows_of(name, QUICK_ROWS if options.quick else SETS[name])
        for number in range(options.repeats):
            for contestant, make in CONTESTANTS.items():
                chosen = store.cell(
                    f"{name}/{contestant}/search",
                    {"rows": len(data.y), "settings": SETTINGS, "most": SEARCH_ROWS},
                    partial(search, make, data),
                )
                settings = {"rows": len(data.y), "C": chosen["C"], "gamma": chosen["gamma"]}
                model = partial(make, C=chosen["C"], gamma=chosen["gamma"], random_state=0)
                store.cell(
                    f"{name}/{contestant}/{number}",
                    settings,
                    partial(measure, model, data, warm_up=number == 0),
                )


def rows_of(name: str, most: int | None) -> DataSet:
    """Return scaled rows, dense in float32, with the published test part if there is one."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        parts = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
        data = DataSet(parts[0], parts[2], parts[1], parts[3])
    else:
        data = load(name)
    assert data.y_test is not None
    some = np.random.default_rng(0).permutation(len(data.y))[:most]
    X, X_test = data.X[np.sort(some)], data.X_test
    if most is not None and most <= QUICK_ROWS:
        X_test, data.y_test = X_test[:most], data.y_test[:most]
    dense = [each.toarray() if sp.issparse(each) else each for each in (X, X_test)]
    if name in PIXELS:
        largest = float(np.abs(dense[0]).max())
        dense = [each / largest for each in dense]
    else:
        scaler = StandardScaler().fit(dense[0].astype(np.float64))
        dense = [scaler.transform(each) for each in dense]
    X, X_test = (np.ascontiguousarray(each, dtype=np.float32) for each in dense)
    return DataSet(X, data.y[np.sort(some)], X_test, data.y_test)


def search(make: Callable[..., Any], data: DataSet) -> Cell:
    """Find the C and gamma of the best validation accuracy; the first of equals."""
    some = np.random.default_rng(1).permutation(len(data.y))[:SEARCH_ROWS]
    cut = 2 * len(some) // 3
    train, out = some[:cut], some[cut:]
    scale = resolve_gamma("scale", data.X, np.ones(len(data.y)))
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for C, factor in SETTINGS:
            model = make(C=C, gamma=factor * scale, random_state=0).fit(
                data.X[train], data.y[train]
            )
            scores.append(float(np.mean(model.predict(data.X[out]) == data.y[out])))
    C, factor = SETTINGS[int(np.argmax(scores))]
    return {"C": C, "gamma": factor * scale, "factor": factor, "validation_accuracy": max(scores)}


def measure(make: Callable[..., Any], data: DataSet, warm_up: bool) -> Cell:
    """Fit and score a model; count CPU seconds of all threads."""
    model = make()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if warm_up:
            make().fit(data.X[:WARM_UP_ROWS], data.y[:WARM_UP_ROWS])
        began, cpu = time.perf_counter(), time.process_time()
        model.fit(data.X, data.y)
        facts: Cell = {
            "fit_seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - cpu,
        }
        cpu = time.process_time()
        predicted = model.predict(data.X_test)
    facts |= {
        "predict_cpu_seconds": time.process_time() - cpu,
        "rows": len(data.y),
        "test_rows": len(data.y_test),
        "features": data.X.shape[1],
        "classes": len(model.classes_),
        "accuracy": float(np.mean(predicted == data.y_test)),
        "support_vectors": len(model.support_),
        "relative_gap": float(model.relative_gap_),
    }
    return facts


def best(cells: Cells, name: str, contestant: str) -> Cell | None:
    """Return the cell of the round with the least CPU seconds."""
    start = f"{name}/{contestant}/"
    found = [cell for key, cell in cells.items() if key.startswith(start) and "rows" in cell]
    return min(found, key=lambda cell: cell["cpu_seconds"], default=None)


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the sets, and the figures of all contestants."""
    columns = ["Data set", "Training rows", "Test rows", "Features", "Classes"]
    yield f"{NAME}_cases", columns, _cases(cells)
    columns = ["Data set", "Contestant", "C", "gamma / scale", "Accuracy, %", "CPU seconds"]
    columns += ["Support vectors", "CPU seconds to predict", "Relative gap"]
    yield NAME, columns, _figures(cells)


def _cases(cells: Cells) -> Rows:
    for name in SETS:
        cell = best(cells, name, next(iter(CONTESTANTS)))
        keys = ("rows", "test_rows", "features", "classes")
        yield [name, *(NONE if cell is None else f"{cell[key]:,}" for key in keys)]


def _figures(cells: Cells) -> Rows:
    for name in SETS:
        for contestant in CONTESTANTS:
            own, chosen = best(cells, name, contestant), cells.get(f"{name}/{contestant}/search")
            if own is None or chosen is None:
                continue
            yield [
                name,
                contestant,
                f"{chosen['C']:g}",
                f"{chosen['factor']:g}",
                percent(own["accuracy"]),
                seconds(own["cpu_seconds"]),
                f"{own['support_vectors']:,}",
                seconds(own["predict_cpu_seconds"]),
                f"{own['relative_gap']:.1e}",
            ]


if __name__ == "__main__":
    main()
