"""What is reproduced of [DC], item by item, with the state that follows from the measured cells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from benchmarks.race.tables import NONE, Cells, Rows, Table

from . import approximations, bound, comparison, convergence, grids, level_times, published, support

REPRODUCED, SUBSTITUTES = "reproduced", "reproduced on substitutes"
MISSING, NOT_YET = "not reproducible here", "not measured yet"


class Item(NamedTuple):
    """A table or figure of the paper.

    ``units`` are groups of cells, each of which counts once all of its cells are measured; an item
    without any does not depend on cells.
    """

    title: str
    state: str  # once something is measured
    where: str
    remark: str
    units: list[list[str]]
    unit: str = "results"


def items() -> Iterator[Item]:
    """Yield the items in the order of the paper."""
    yield Item(
        "Table 1", SUBSTITUTES, ":ref:`Ways to predict <dc-table-1>`",
        "covtype; webspam is not at hand; our seconds are of another machine",
        _each(f"{level_times.DATA_SET}/combined/{k}" for k in published.TABLE_1),
    )  # fmt: skip
    yield Item(
        "Table 2", SUBSTITUTES, ":ref:`Methods <dc-table-2>`",
        "ijcnn1, census and covtype; not LaSVM and SpSVM, whose code is not at hand, nor cifar, "
        "webspam, kddcup99 and mnist8m; LIBSVM on all rows of ijcnn1 alone; approximations of "
        "census and covtype from 20,000 rows; γ of census searched",
        _each(_table_2()),
    )  # fmt: skip
    yield Item(
        "Table 3", SUBSTITUTES, ":ref:`Data <dc-data>`",
        "three of seven sets; census coded with 509 columns instead of 409", [],
    )  # fmt: skip
    yield Item(
        "Table 4", SUBSTITUTES, ":ref:`Grids <dc-grids>`",
        "sums of the grids; exact fits in the place of LIBSVM; 20,000 rows of covtype and census; "
        "not webspam",
        [list(_grid(data_set)) for data_set in grids.TABLES], "data sets",
    )  # fmt: skip
    yield Item(
        "Table 5", REPRODUCED, ":ref:`Clustering and training <dc-table-5>`",
        "covtype; clusters are ours, not those as printed",
        [[f"{level_times.DATA_SET}/level_times"]],
    )  # fmt: skip
    yield Item(
        "Table 6", SUBSTITUTES, ":ref:`Bagging <dc-table-6>`",
        "ijcnn1 and covtype; webspam is not at hand; clusters are ours, not those as printed",
        _each(
            f"{data_set}/{method}/{k}"
            for data_set, printed in published.TABLE_6.items()
            for method, k in product(("clusters", "bagging"), printed)
        ),
    )  # fmt: skip
    yield Item(
        "Tables 7, 9, 10", SUBSTITUTES, ":ref:`Grids <dc-grids>`",
        "all rows of ijcnn1, 20,000 of covtype and census; exact fits in the place of LIBSVM; not "
        "LaSVM of Table 7",
        _each(name for data_set in grids.TABLES for name in _grid(data_set)),
    )  # fmt: skip
    yield Item("Table 8", MISSING, NONE, "webspam is not at hand", [])
    yield Item(
        "Figure 1", SUBSTITUTES, ":ref:`Theorem 1 <dc-figure-1>`",
        f"{bound.ROWS:,} rows of covtype instead of 10,000; the paper names neither C nor γ",
        _each(_bounds()),
    )  # fmt: skip
    yield Item(
        "Figure 2", SUBSTITUTES, ":ref:`Support vectors <dc-figure-2>`",
        "ijcnn1 and 20,000 rows of covtype; our copy does not name the sets of the print; panels "
        "over time are in Figures 3 and 4",
        _each(
            f"{data_set}/support/{kernel}/{method}"
            for data_set, kernel in (
                *((each, "rbf") for each in support.ROWS),
                *((each, "poly") for each in published.POLYNOMIAL),
            )
            for method in support.METHODS
        ),
    )  # fmt: skip
    yield Item(
        "Figure 3", SUBSTITUTES, ":ref:`Over time <dc-figure-3>`",
        "20,000 rows of ijcnn1, covtype and census; not LaSVM and SpSVM; of the sets of the print "
        "our copy names covtype alone",
        _each(name for each in convergence.DATA_SETS for name in _convergence(each, "rbf")),
    )  # fmt: skip
    yield Item(
        "Figure 4", SUBSTITUTES, ":ref:`Polynomial kernel <dc-figure-4>`",
        "20,000 rows of covtype; not LaSVM; webspam is not at hand",
        _each(name for each in published.POLYNOMIAL for name in _convergence(each, "poly")),
    )  # fmt: skip
    yield Item(
        "Figure 5", MISSING, NONE,
        "cifar is not at hand, of kddcup99 only the tenth that is published beside the whole", [],
    )  # fmt: skip
    yield Item(
        "Figures 6, 7, 9", SUBSTITUTES, ":ref:`Grids <dc-grids>`",
        "not drawn: they show what is in Tables 7, 9 and 10",
        _each(name for data_set in grids.TABLES for name in _grid(data_set)),
    )  # fmt: skip
    yield Item("Figure 8", MISSING, NONE, "webspam is not at hand", [])
    yield Item(
        "Lemma 1, Theorems 1 to 3", SUBSTITUTES, ":ref:`Theorem 1 <dc-figure-1>`",
        f"both sides of the first inequality of Theorems 1 and 3, and what Theorem 2 asks for, on "
        f"{bound.ROWS:,} rows of covtype; distances to the solution only by "
        ":func:`~widemargin.inspection.theorem1_bounds`",
        _each(_bounds()),
    )  # fmt: skip
    yield Item(
        "Algorithm 1", REPRODUCED, ":doc:`/user_guide/divide_and_conquer`",
        "``Clustered(4, 4, n_sample=1000, printed=True)``; rows “as printed” of Table 2, ijcnn1",
        _each(("ijcnn1/printed", "ijcnn1/printed/early")),
    )  # fmt: skip


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the record as file name, columns and rows."""
    yield "record_dc_svm", ["Paper item", "State", "Where", "Remark"], _rows(cells)


def _rows(cells: Cells) -> Rows:
    for title, state, where, remark, units, unit in items():
        done = sum(all(name in cells for name in names) for names in units)
        if units and done == 0:
            state = NOT_YET
        elif done < len(units):
            remark = f"In part ({done} of {len(units)} {unit}): {remark}"
        yield [f"DC-SVM, {title}", state, where, remark]


def _each(names: Iterator[str] | tuple[str, ...]) -> list[list[str]]:
    return [[name] for name in names]


def _table_2() -> Iterator[str]:
    for data_set in published.TABLE_2:
        names = ["clusters/64", "clusters/1", "cascade"]
        names += [f"svc/{rows}" for rows in comparison.SVC_ROWS.get(data_set, ())]
        names += [f"approximate/{method}" for method in approximations.FEATURE_MAPS]
        if data_set in comparison.EXACT:
            names += ["exact", "exact/intercept", "printed", "printed/early"]
        yield from (f"{data_set}/{name}" for name in names)


def _grid(data_set: str) -> Iterator[str]:
    for method, power, width in product(grids.METHODS, grids.POWERS, grids.POWERS):
        yield f"{data_set}/grid/{method}/{power}/{width}"


def _bounds() -> Iterator[str]:
    for data_set, partition, k in product(bound.DATA_SETS, bound.PARTITIONS, bound.CLUSTERS):
        yield f"{data_set}/bound/{partition}/{k}"


def _convergence(data_set: str, kernel: str) -> Iterator[str]:
    start = f"{data_set}/convergence/{kernel}"
    yield f"{start}/levels"
    for method, values in convergence.LADDERS.items():
        if kernel == "rbf" or method not in approximations.FEATURE_MAPS:
            yield from (f"{start}/{method}/{value:g}" for value in values)
