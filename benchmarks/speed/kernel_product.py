"""RBF kernel values per second of one core, dense and sparse rows, checked against float64.

python -m benchmarks.speed.kernel_product [--only SET ...] [--again]
WIDEMARGIN_INSTRUCTION_SET=avx2 python -m benchmarks.speed.kernel_product
python -m benchmarks.speed.kernel_product render

The product of the kernel matrix of two sets of rows with one vector, on one thread. The best of all
rounds, in CPU seconds, counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.race.command import options_of, parser_of, write_page
from benchmarks.race.generated import indicators, words
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table
from widemargin import _native
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel

NAME = "kernel_product"
QUERIES, BASIS = 8_000, 6_000
QUICK_QUERIES, QUICK_BASIS = 300, 200
FEATURES = (8, 18, 22, 54, 123, 784)
INSTRUCTION_SETS = ("baseline", "avx2", "avx512")


def uniform(features: int, rows: int) -> np.ndarray:
    return np.random.default_rng(0).random((rows, features)).astype(np.float32)


# By name: a number of features, a way to draw rows.
SETS: dict[str, tuple[int, Callable[[int], Any]]] = {
    **{f"dense {features}": (features, partial(uniform, features)) for features in FEATURES},
    # Of the shapes of a9a and of the census.
    "14 categories": (123, lambda rows: indicators(rows, 14, 123)),
    "35 categories": (509, lambda rows: indicators(rows, 35, 509)),
    "text 8,000": (8_000, lambda rows: words(rows, 8_000)[0]),
    "text 60,000": (60_000, lambda rows: words(rows, 60_000)[0]),
}


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the table."""
    parser, _ = parser_of(NAME, str(__doc__), SETS, "the best")
    parser.set_defaults(repeats=7)
    options = options_of(parser, NAME, arguments)
    if options.command == "render":
        write_page(Store(options.results), options.to, NAME, tables)
        return
    store = Store(options.results, options.again)
    used = _native.instruction_set()
    print(f"instruction set: {used}; RBF, one thread, best of {options.repeats}")
    print(f"{'':>16}  stored in a row  float32 Gpair/s  float64 Gpair/s  float32 error")
    sizes = (QUICK_QUERIES, QUICK_BASIS) if options.quick else (QUERIES, BASIS)
    for name in options.only:
        settings = {"queries": sizes[0], "basis": sizes[1], "rounds": options.repeats}
        found = store.cell(f"{name}/{used}", settings, partial(measure, name, *sizes, options))
        print(
            f"{name:>16}  {found['stored']:>15.1f}  {found['float32']:>15.3f}  "
            f"{found['float64']:>15.3f}  {found['error']:>13.1e}",
            flush=True,
        )


def measure(name: str, n_queries: int, n_basis: int, options: Any) -> Cell:
    """Return billions of kernel values per second, and the error of float32."""
    features, draw = SETS[name]
    rows = draw(n_queries + n_basis)
    queries, basis = rows[:n_queries], rows[n_queries:]
    coef = np.random.default_rng(0).normal(size=(1, n_basis))
    norms = rows.power(2).sum(axis=1) if sp.issparse(rows) else np.square(rows).sum(axis=1)
    kernel = Kernel("rbf", 1.0 / float(np.mean(norms)))
    stored = basis.nnz / n_basis if sp.issparse(basis) else features
    cell: Cell = {"features": features, "stored": stored}
    values = {}
    # The same float32 rows in both, so that the difference is arithmetic and not rounding of input.
    for dtype in (np.float32, np.float64):
        key = np.dtype(dtype).name
        a, b = as_rows(queries.astype(dtype)), as_rows(basis.astype(dtype))
        least = np.inf
        for _ in range(options.repeats):
            start = time.process_time()
            values[key] = kernel.product(a, b, coef, threads=1)
            least = min(least, time.process_time() - start)
        cell[key] = n_queries * n_basis / least / 1e9
    difference = np.abs(values["float32"] - values["float64"]).max()
    return cell | {"error": float(difference / np.abs(coef).sum())}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the rates of every set and instruction set."""
    columns = ["Rows", "Features", "Stored in a row"]
    columns += [f"{used}, {kind}" for used in INSTRUCTION_SETS for kind in ("float32", "float64")]
    yield NAME, columns, _rates(cells)


def _rates(cells: Cells) -> Rows:
    for name in SETS:
        found = [cells.get(f"{name}/{used}") for used in INSTRUCTION_SETS]
        any_cell = next((cell for cell in found if cell is not None), None)
        if any_cell is None:
            continue
        yield [
            name,
            f"{any_cell['features']:,}",
            f"{any_cell['stored']:.0f}",
            *(
                NONE if cell is None else f"{cell[kind]:.3f}"
                for cell in found
                for kind in ("float32", "float64")
            ),
        ]


if __name__ == "__main__":
    main()
