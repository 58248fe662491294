"""Seconds of exact Shapley values, checked against other ways to compute them.

python -m benchmarks.speed.shapley [--only CASE ...] [--again]
python -m benchmarks.speed.shapley render

The machines are fitted to random labels, so that every training row is a support vector. Others
explain a few of the rows, one by one, and their seconds are those of a row:

* recursion: elementary symmetric polynomials of the other features for each feature, in NumPy, as
  arXiv 2505.16516 first computed the values;
* shapiq: what its ProductKernelExplainer computes (pip install shapiq);
* KernelSHAP: the sampling method of shap, against a background (pip install shap).

Those that are not installed are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from math import comb
from typing import Any

import numpy as np

from benchmarks.race.command import options_of, parser_of, write_page
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table
from widemargin import SVMClassifier
from widemargin.core.resources import thread_count
from widemargin.inspection import shapley_values

NAME = "shapley"
# Random labels at this weight leave every dual at its bound.
WEIGHT = 0.01
Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """Sizes of a measurement."""

    rows: int  # to explain
    vectors: int
    features: int
    background: int  # rows; 0 for the game without
    peer_rows: int  # that others explain

    def quick(self) -> Case:
        """Return a few rows of it."""
        background = min(self.background, 5)
        return Case(8, 60, 9, background, min(self.peer_rows, 2))


CASES = {
    "50 features": Case(1000, 10_000, 50, 0, 3),
    "784 features": Case(100, 10_000, 784, 0, 0),
    "20 features": Case(1000, 10_000, 20, 0, 5),
    "20 features, background": Case(100, 1000, 20, 100, 5),
}


@cache
def machine(case: Case) -> tuple[Any, Array, Array | None]:
    """Return a machine of that many vectors, rows to explain and background rows."""
    random = np.random.default_rng(0)
    X = random.random((case.vectors, case.features))
    y = random.permutation(np.arange(case.vectors) % 2)
    model = SVMClassifier(C=WEIGHT, strategy="exact", random_state=0).fit(X, y)
    assert len(model.support_) == case.vectors, len(model.support_)
    rows = random.random((case.rows, case.features))
    others = random.random((case.background, case.features)) if case.background else None
    return model, rows, others


def recursion(case: Case) -> tuple[Array, float]:
    """Explain rows by elementary symmetric polynomials, and return the seconds of a row."""
    model, rows, _ = machine(case)
    d = case.features
    # q! (d - q - 1)! / d!
    weights = np.array([1.0 / (d * comb(d - 1, q)) for q in range(d)])
    found = np.empty((case.peer_rows, d))
    start = time.perf_counter()
    for i in range(case.peer_rows):
        factors = np.exp(-model.gamma_ * np.square(rows[i] - model.support_vectors_)).T
        for j in range(d):
            symmetric = np.zeros((d, case.vectors))
            symmetric[0] = 1.0
            for count, k in enumerate(np.delete(factors, j, axis=0), start=1):
                symmetric[1 : count + 1] += k * symmetric[:count]
            found[i, j] = model.dual_coef_[0] @ ((factors[j] - 1.0) * (weights @ symmetric))
    return found, (time.perf_counter() - start) / case.peer_rows


def shapiq(case: Case) -> tuple[Array, float]:
    """Explain rows by shapiq, and return the seconds of a row."""
    from shapiq.explainer.product_kernel.base import ProductKernelModel
    from shapiq.explainer.product_kernel.product_kernel import ProductKernelComputer

    model, rows, _ = machine(case)
    same = ProductKernelModel(
        X_train=model.support_vectors_,
        alpha=model.dual_coef_[0],
        n=case.vectors,
        d=case.features,
        gamma=model.gamma_,
        intercept=float(model.intercept_[0]),
    )
    computer = ProductKernelComputer(same)
    found = np.empty((case.peer_rows, case.features))
    start = time.perf_counter()
    for i in range(case.peer_rows):
        factors = computer.compute_kernel_vectors(same.X_train, rows[i])
        for j in range(case.features):
            found[i, j] = computer.compute_shapley_value(factors, j)
    return found, (time.perf_counter() - start) / case.peer_rows


def kernel_shap(case: Case) -> tuple[Array, float]:
    """Explain rows by KernelSHAP, and return the seconds of a row."""
    import shap

    model, rows, background = machine(case)
    explainer = shap.KernelExplainer(model.decision_function, background)
    start = time.perf_counter()
    # All features: by default it keeps ten of them.
    found = explainer.shap_values(rows[: case.peer_rows], silent=True, l1_reg=False)
    return np.asarray(found), (time.perf_counter() - start) / case.peer_rows


# By name: a function, its package, and whether it explains against a background.
PEERS: dict[str, tuple[Callable[[Case], tuple[Array, float]], str, bool]] = {
    "recursion": (recursion, "numpy", False),
    "shapiq": (shapiq, "shapiq", False),
    "KernelSHAP": (kernel_shap, "shap", True),
}


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the table."""
    parser, _ = parser_of(NAME, str(__doc__), CASES, "the best")
    options = options_of(parser, NAME, arguments)
    if options.command == "render":
        write_page(Store(options.results), options.to, NAME, tables)
        return
    store = Store(options.results, options.again)
    for name in options.only:
        case = CASES[name].quick() if options.quick else CASES[name]
        settings = {**asdict(case), "rounds": options.repeats}
        found = store.cell(name, settings, partial(measure, case, options.repeats))
        print(
            f"{name}: {case.rows} rows in {found['seconds']:.2f} s, {found['cpu_seconds']:.2f} CPU "
            f"s; sums differ from decisions by {found['error']:.0e}",
            flush=True,
        )
        for peer, (explain, package, against) in PEERS.items():
            if case.peer_rows == 0 or against != bool(case.background):
                continue
            if find_spec(package) is None:
                print(f"  {peer}: left out, {package} is not installed")
                continue
            measured = partial(measure_peer, case, explain, package)
            cell = store.cell(f"{name}/{peer}", settings, measured)
            print(f"  {peer}: {cell['row_seconds']:.3g} s a row, differs by {cell['error']:.0e}")


def measure(case: Case, rounds: int) -> Cell:
    """Return the least seconds, and the error of the sum of the values."""
    model, rows, background = machine(case)
    seconds = cpu = np.inf
    for _ in range(rounds):
        start, cpu_start = time.perf_counter(), time.process_time()
        found = shapley_values(model, rows, background=background)
        seconds = min(seconds, time.perf_counter() - start)
        cpu = min(cpu, time.process_time() - cpu_start)
    total = found.base_values + found.values.sum(axis=1)
    error = np.abs(total - model.decision_function(rows)).max() / np.abs(model.dual_coef_).sum()
    return {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "threads": thread_count(None),
        "error": float(error),
    }


def measure_peer(case: Case, explain: Any, package: str) -> Cell:
    """Return the seconds of a row, and the largest difference relative to the largest value."""
    model, rows, background = machine(case)
    values, seconds = explain(case)
    ours = shapley_values(model, rows[: case.peer_rows], background=background).values
    error = np.abs(values - ours).max() / np.abs(ours).max()
    installed = f"{package} {version(package)}"
    return {"row_seconds": seconds, "error": float(error), "version": installed}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the table of all cases."""
    columns = ["Rows", "Support vectors", "Features", "Background rows", "Seconds", "CPU seconds"]
    yield NAME, [*columns, "Sum less decision"], _ours(cells)
    columns = ["Features", "Background rows", "Method", "Seconds a row", "widemargin", "Ratio"]
    yield f"{NAME}_peers", [*columns, "Largest difference"], _peers(cells)


def _ours(cells: Cells) -> Rows:
    for name, case in CASES.items():
        cell = cells.get(name)
        if cell is None:
            continue
        yield [
            f"{case.rows:,}",
            f"{case.vectors:,}",
            f"{case.features}",
            f"{case.background or NONE}",
            f"{cell['seconds']:.2f}",
            f"{cell['cpu_seconds']:.2f}",
            f"{cell['error']:.0e}",
        ]


def _peers(cells: Cells) -> Rows:
    for name, case in CASES.items():
        for peer in PEERS:
            cell, own = cells.get(f"{name}/{peer}"), cells.get(name)
            if cell is None or own is None:
                continue
            of_row = own["seconds"] / case.rows
            yield [
                f"{case.features}",
                f"{case.background or NONE}",
                peer,
                f"{cell['row_seconds']:.2g}",
                f"{of_row:.2g}",
                f"{cell['row_seconds'] / of_row:,.0f}",
                f"{cell['error']:.0e}",
            ]


if __name__ == "__main__":
    main()
