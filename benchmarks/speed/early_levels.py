"""Early levels against the exact solve of the same problem, in one run.

WIDEMARGIN_DATA=... python -m benchmarks.speed.early_levels [--only ijcnn1 ...] [--repeats 3]
python -m benchmarks.speed.early_levels render

SODM (mean of models on landmark strata) beside exact ODM, DC-SVM (nearest cluster) beside
exact SVM, all at tol=1e-3. ijcnn1 has its published test part, the others a random fifth.

Settings are chosen on training rows alone: each is fitted to four fifths of them and scored on the
last fifth. Of those at most 0.4 points below the exact model the fastest by processor time counts;
where there is none, the most accurate. Test rows are looked at once, at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.race.command import options_of, parser_of, write_page
from benchmarks.race.data import DataSet, load, published_split, random_split, whole_set
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import Cells, Rows, Table
from widemargin import Clustered, ODMClassifier, Stratified, SVMClassifier

NAME = "early_levels"
# C and gamma.
SETTINGS = {"ijcnn1": (32.0, 2.0), "cod-rna": (32.0, 4.0), "skin_nonskin": (8.0, 32.0)}
MACHINES: dict[str, Any] = {"ODM": ODMClassifier, "SVM": SVMClassifier}
METHODS = {"SODM": "ODM", "DC-SVM": "SVM"}
UNITS = {"SODM": "parts", "DC-SVM": "clusters"}
# Parts, and strata or rows that clusters are found on.
CANDIDATES = {
    "SODM": [(parts, 32) for parts in (8, 16, 24, 32, 48, 64, 96, 128, 192)],
    "DC-SVM": [(parts, sample) for parts in (16, 32, 64, 128) for sample in (256, 500)],
}
ROWS_OF_A_PART = 20
# An early level may be this much less accurate on held-out rows, as a share of them.
MARGIN = 0.004
QUICK_ROWS = 2_000
HELD_OUT = 0.2


def exact_machine(method: str, name: str) -> Any:
    """Make the exact machine that a method is compared with."""
    C, gamma = SETTINGS[name]
    return MACHINES[METHODS[method]](C=C, gamma=gamma, strategy="exact", random_state=0)


def early_machine(method: str, name: str, parts: int, groups: int) -> Any:
    """Make a machine that stops at its leaves."""
    if method == "SODM":
        strategy: Any = Stratified(1, parts, 1, n_strata=groups)
    else:
        strategy = Clustered(1, parts, 1, n_sample=groups)
    return exact_machine(method, name).set_params(strategy=strategy)


def data_of(name: str, quick: bool) -> DataSet:
    """Return training and test rows."""
    if name == "ijcnn1":  # as published, with its own scaling
        return published_split(load(name), QUICK_ROWS if quick else None)
    return random_split(*whole_set(name, QUICK_ROWS if quick else None), 0)


def choose(name: str, method: str, split: DataSet) -> Cell:
    """Choose the settings of a method on held-out training rows, scaled as all of them are."""
    order = np.random.default_rng(1).permutation(len(split.y))
    cut = int(HELD_OUT * len(order))
    held, rest = order[:cut], order[cut:]
    inner = DataSet(split.X[rest], split.y[rest], split.X[held], split.y[held])
    exact = fitted(exact_machine(method, name), inner)
    tried = [
        {"parts": parts, "groups": groups}
        | fitted(early_machine(method, name, parts, groups), inner)
        for parts, groups in CANDIDATES[method]
        if parts <= len(rest) // ROWS_OF_A_PART
    ]
    near = [each for each in tried if each["accuracy"] >= exact["accuracy"] - MARGIN]
    best = max(tried, key=lambda each: each["accuracy"])
    chosen = min(near, key=lambda each: each["cpu_seconds"]) if near else best
    return {"chosen": chosen, "near": len(near), "exact": exact, "tried": tried}


def fitted(model: Any, rows: DataSet) -> dict[str, float]:
    """Fit a model to rows and score it on the others."""
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(rows.X, rows.y)
    spent = {"fit_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {**spent, "accuracy": float(model.score(rows.X_test, rows.y_test))}


def race(name: str, method: str, chosen: Cell, split: DataSet, repeats: int) -> Cell:
    """Fit the exact and the early model in turns; the smallest times count."""
    cell: Cell = {"rows": len(split.y)}
    early = early_machine(method, name, chosen["parts"], chosen["groups"])
    for _ in range(repeats):
        for which, model in {"exact": exact_machine(method, name), "early": early}.items():
            found = fitted(model, split)
            cell[f"{which}_accuracy"] = found.pop("accuracy")
            for key, value in found.items():
                cell[f"{which}_{key}"] = min(cell.get(f"{which}_{key}", value), value)
    return cell


def run(store: Store, names: list[str], repeats: int, quick: bool) -> None:
    """Measure what is missing."""
    for name in names:
        split = cache(partial(data_of, name, quick))
        for method in METHODS:
            kept = {"settings": SETTINGS[name], "candidates": CANDIDATES[method]}
            kept |= {"margin": MARGIN, "quick": quick}
            choice = partial(_chosen, name, method, split)
            chosen = store.cell(f"{name}/{method}/choice", kept, choice)["chosen"]
            settings = {"settings": SETTINGS[name], "repeats": repeats, "quick": quick}
            settings |= {"parts": chosen["parts"], "groups": chosen["groups"]}
            measure = partial(_raced, name, method, chosen, split, repeats)
            cell = store.cell(f"{name}/{method}", settings, measure)
            faster = cell["exact_cpu_seconds"] / cell["early_cpu_seconds"]
            points = 100 * (cell["early_accuracy"] - cell["exact_accuracy"])
            label = f"{name}, {method}, {chosen['parts']} {UNITS[method]}"
            print(f"{label}: {faster:.1f}x by CPU, {points:+.2f} points", flush=True)


def _chosen(name: str, method: str, split: Callable[[], DataSet]) -> Cell:
    return choose(name, method, split())


def _raced(
    name: str, method: str, chosen: Cell, split: Callable[[], DataSet], repeats: int
) -> Cell:
    return race(name, method, chosen, split(), repeats)


# -------------------------------------------------------------------------------------- page

COLUMNS = ["Data", "Training rows", "Exact fit", "Exact: s", "Exact: accuracy"]
COLUMNS += ["Early level", "Early: s", "Early: accuracy", "Exact ÷ early", "by CPU time"]
COLUMNS += ["Points on held-out training rows"]


def tables_of(cells: Cells) -> Iterator[Table]:
    """Yield the one table."""
    yield NAME, COLUMNS, _rows(cells)


def _rows(cells: Cells) -> Rows:
    for name, (C, gamma) in SETTINGS.items():
        for method, label in METHODS.items():
            cell, choice = cells.get(f"{name}/{method}"), cells.get(f"{name}/{method}/choice")
            if cell is None or choice is None:
                continue
            chosen = choice["chosen"]
            points = 100 * (chosen["accuracy"] - choice["exact"]["accuracy"])
            yield [
                f"{name}, C={C:g}, γ={gamma:g}",
                f"{cell['rows']:,}",
                label,
                f"{cell['exact_fit_seconds']:.2g}",
                f"{cell['exact_accuracy']:.4f}",
                f"{method}, {chosen['parts']} {UNITS[method]}",
                f"{cell['early_fit_seconds']:.2g}",
                f"{cell['early_accuracy']:.4f}",
                f"{cell['exact_fit_seconds'] / cell['early_fit_seconds']:.1f}",
                f"{cell['exact_cpu_seconds'] / cell['early_cpu_seconds']:.1f}",
                f"{points:+.2f}",
            ]


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the table."""
    parser, _ = parser_of(NAME, str(__doc__), SETTINGS, "the smallest time")
    options = options_of(parser, NAME, arguments)
    store = Store(options.results, options.again)
    if options.command == "render":
        write_page(store, options.to, NAME, tables_of)
        return
    run(store, options.only, options.repeats, options.quick)


if __name__ == "__main__":
    main()
