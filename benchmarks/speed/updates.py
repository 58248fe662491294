"""Rows added to and removed from fitted kernel machines, against fits from scratch: CPU seconds.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.updates [--only SET ...] [--quick]
python -m benchmarks.speed.updates render

A model of the first rows is fitted with ``keep_rows=True``. Rows are then added to copies of it, or
removed, and a new model is fitted to the same rows with the same width of the kernel, in turn in
this process and on one thread. "waves" is generated and needs no folder. The least CPU seconds of
all rounds count.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.race.command import options_of, parser_of, write_page
from benchmarks.race.data import UNIT, DataSet, load
from benchmarks.race.generated import waves
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, ratio_text, seconds
from widemargin import ODMClassifier, SVMClassifier

NAME = "updates"
# Rows of the first fit, C and gamma.
SETS: dict[str, tuple[int, float, float]] = {
    "waves": (20_000, 8.0, 0.05),
    "ijcnn1": (45_000, 32.0, 2.0),
    "cod-rna": (50_000, 32.0, 4.0),
    "covtype_binary": (50_000, 32.0, 32.0),
    "letter": (13_000, 8.0, 8.0),
}
QUICK_ROWS, WARM_UP_ROWS, COMPARED_ROWS = 3_000, 500, 2_000
LARGEST_SHARE = 0.1
MACHINES: dict[str, type[Any]] = {"SVMClassifier": SVMClassifier, "ODMClassifier": ODMClassifier}
# What is added to the model, and the rows of it, as a number or a share.
CHANGES: dict[str, float] = {"1 row": 1, "10 rows": 10, "1 %": 0.01, "10 %": LARGEST_SHARE}
KINDS = ("add", "remove")
# What is aimed at: CPU seconds of an update of 1 %, relative to a fit.
MOST_TIME = 0.5


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the tables."""
    parser, _ = parser_of(NAME, str(__doc__), SETS, "the least")
    options = options_of(parser, NAME, arguments)
    if options.command == "render":
        write_page(Store(options.results), options.to, NAME, tables)
        return
    store = Store(options.results, options.again)
    for name in options.only:
        rows, C, gamma = SETS[name]
        rows = QUICK_ROWS if options.quick else rows
        data = rows_of(name, rows)
        for machine, kind in MACHINES.items():
            # What 'auto' means for the intercept depends on the rows; an update keeps what it was.
            fixed = {"strategy": "exact", "fit_intercept": False, "n_jobs": 1, "random_state": 0}
            model = kind(C=C, gamma=gamma, **fixed)
            settings = {"rows": rows, "C": C, "gamma": gamma}
            few = min(WARM_UP_ROWS, rows)
            clone(model).fit(data.X[:few], data.y[:few])
            for number in range(options.repeats):
                _measure_all(store, f"{name}/{machine}/{number}", settings, model, data, rows)
            show(name, machine, store.cells)


def rows_of(name: str, rows: int) -> DataSet:
    """Return the rows to fit and to add, and others to compare decisions on."""
    wanted = int((1 + LARGEST_SHARE) * rows) + COMPARED_ROWS + 1
    if name == "waves":
        X, y = waves(wanted, 0)
    else:
        data = load(name)
        X, y = data.X, data.y
        if data.y_test is not None:
            join = sp.vstack if sp.issparse(X) else np.concatenate
            X, y = join([X, data.X_test]), np.concatenate([y, data.y_test])
    chosen = np.random.default_rng(0).permutation(len(y))[:wanted]
    X = X.tocsr()[chosen].toarray() if sp.issparse(X) else X[chosen]
    scaled = DataSet(X, y[chosen]).scaled(UNIT)
    return DataSet(
        scaled.X[:-COMPARED_ROWS],
        scaled.y[:-COMPARED_ROWS],
        scaled.X[-COMPARED_ROWS:],
        scaled.y[-COMPARED_ROWS:],
    )


def _measure_all(
    store: Store, key: str, settings: Cell, model: Any, data: DataSet, rows: int
) -> None:
    """Measure every change of a model of the first rows, which is fitted only if one is missing."""
    fitted: list[Any] = []

    def base() -> Any:
        if not fitted:
            fitted.append(clone(model).set_params(keep_rows=True))
            fitted[0].fit(data.X[:rows], data.y[:rows])
        return fitted[0]

    for change, count in CHANGES.items():
        count = max(1, int(count if count >= 1 else count * rows))
        for kind in KINDS:
            work = partial(measure, base, model, data, rows, kind, count)
            store.cell(f"{key}/{kind} {change}", {**settings, "count": count}, work)


def measure(
    base: Callable[[], Any], model: Any, data: DataSet, rows: int, kind: str, count: int
) -> Cell:
    """Change a copy of the fitted model, and fit another to the same rows."""
    updated = copy.copy(base())
    if kind == "add":
        now = np.arange(rows + count)
        change = partial(updated.add_rows, data.X[rows : rows + count], data.y[rows : rows + count])
        counted = 0
    else:
        gone = np.random.default_rng(1).choice(rows, count, replace=False)
        now = np.delete(np.arange(rows), gone)
        change = partial(updated.remove_rows, gone)
        # What correcting the margins takes, which the history of the descent does not know.
        counted = int(np.isin(updated.support_, gone).sum()) * len(now)
    scratch = clone(model)
    X, y = data.X[now], data.y[now]
    facts: Cell = {"rows": rows, "features": data.X.shape[1], "count": count}
    facts["classes"] = len(updated.classes_)
    facts["cpu_seconds"], facts["seconds"] = timed(change)
    facts["fit_cpu_seconds"], facts["fit_seconds"] = timed(partial(scratch.fit, X, y))
    if len(updated.dual_coef_) == 1:
        facts["passes"] = float(updated.history_["passes"][-1] + counted / len(now) ** 2)
        facts["fit_passes"] = float(scratch.history_["passes"][-1])
    ours, theirs = (each.decision_function(data.X_test) for each in (updated, scratch))
    labels = updated.predict(data.X_test), scratch.predict(data.X_test)
    facts |= {
        "gap": updated.relative_gap_,
        "fit_gap": scratch.relative_gap_,
        "difference": float(np.sqrt(np.mean((ours - theirs) ** 2))),
        "same_labels": float(np.mean(labels[0] == labels[1])),
        "support": len(scratch.support_),
    }
    return facts


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Return CPU and wall-clock seconds of some work."""
    with threadpool_limits(1):
        began, cpu = time.perf_counter(), time.process_time()
        work()
        return time.process_time() - cpu, time.perf_counter() - began


def best(cells: Cells, name: str, machine: str, change: str) -> Cell | None:
    """Return the facts of a change, with the least seconds of all rounds."""
    found = [
        cell
        for key, cell in cells.items()
        if key.startswith(f"{name}/{machine}/") and key.endswith(f"/{change}")
    ]
    if not found:
        return None
    least = {key: min(cell[key] for cell in found) for key in ("cpu_seconds", "fit_cpu_seconds")}
    return found[0] | least


def show(name: str, machine: str, cells: Cells) -> None:
    """Print ratios to a fit."""
    for change in (f"{kind} {each}" for each in CHANGES for kind in KINDS):
        cell = best(cells, name, machine, change)
        if cell is not None:
            print(
                f"{name}, {machine}, {change}: {cell['cpu_seconds']:.3f} s, "
                f"{cell['cpu_seconds'] / cell['fit_cpu_seconds']:.3f} of a fit, gap "
                f"{cell['gap']:.2g}, decisions differ by {cell['difference']:.2g}",
                flush=True,
            )


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the sets, and the figures of each machine."""
    columns = ["Data set", "Rows", "Features", "Classes", "C", "gamma"]
    yield f"{NAME}_cases", columns, _cases(cells)
    columns = ["Data set", "Change", "CPU seconds", "of a fit", "Share", "Kernel values"]
    columns += ["of a fit", "Gap", "of a fit", "Decisions differ by", "Same labels, %"]
    for machine in MACHINES:
        yield f"{NAME}_{machine}", columns, _figures(cells, machine)


def _cases(cells: Cells) -> Rows:
    for name, (_, C, gamma) in SETS.items():
        cell = best(cells, name, "SVMClassifier", "add 1 row")
        keys = ("rows", "features", "classes")
        shape = [NONE if cell is None else f"{cell[key]:,}" for key in keys]
        yield [name, *shape, f"{C:g}", f"{gamma:g}"]


def _figures(cells: Cells, machine: str) -> Rows:
    for name in SETS:
        for kind in KINDS:
            for change in CHANGES:
                cell = best(cells, name, machine, f"{kind} {change}")
                if cell is None:
                    continue
                aim = MOST_TIME if change == "1 %" else 1.0
                passes = [cell.get("passes"), cell.get("fit_passes")]
                yield [
                    name,
                    f"{kind} {change}",
                    seconds(cell["cpu_seconds"]),
                    seconds(cell["fit_cpu_seconds"]),
                    ratio_text(cell["cpu_seconds"] / cell["fit_cpu_seconds"], aim),
                    *(NONE if each is None else f"{each:.3f}" for each in passes),
                    f"{cell['gap']:.1e}",
                    f"{cell['fit_gap']:.1e}",
                    f"{cell['difference']:.1e}",
                    f"{100 * cell['same_labels']:.2f}",
                ]


if __name__ == "__main__":
    main()
