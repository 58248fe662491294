"""The tables of all classes in one problem on Spark."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.race.tables import NONE, Cells, Rows, Table, seconds

from .cases import CASES, SETS, solvers_of

WORKERS = 3
FORMULATIONS = {"cs": "CS", "ww": "WW", "llw": "LLW"}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield all tables; what was not measured is left out."""
    columns = ["Data set", "Formulation", "C", "Passes", "MB a pass", "CPU s", "Relative gap"]
    columns += ["One task: solver", "its CPU s", "its gap", "Objective ÷ its"]
    yield "spark_classes_passes", columns, _passes(cells)
    columns = ["Data set", "Formulation", "C", "Solver", "Epochs or passes", "Jobs", "Seconds"]
    columns += ["MB of weights and multipliers", "MB shuffled", "Driver, MB", "Relative gap"]
    yield "spark_classes_cluster", columns, _cluster(cells)


def _cases() -> Iterator[tuple[list[str], str, tuple[str, ...]]]:
    for name, title in SETS.items():
        for formulation, C in CASES:
            first = [title, FORMULATIONS[formulation], f"{C:g}"]
            yield first, f"{name}/{formulation}/{C:g}", solvers_of(formulation)


def _passes(cells: Cells) -> Rows:
    for first, key, _ in _cases():
        cell = cells.get(f"{key}/passes", {})
        if "one_task" in cell:
            ours, one = cell["passes"], cell["one_task"]
            yield [
                *first,
                str(ours["iterations"]),
                f"{ours['moved_mb'] / max(1, ours['iterations']):.1f}",
                seconds(ours["cpu_seconds"]),
                f"{ours['relative_gap']:.1e}",
                one["solver"],
                seconds(one["cpu_seconds"]),
                f"{one['relative_gap']:.1e}",
                f"{ours['objective'] / one['objective']:.4f}",
            ]


def _cluster(cells: Cells) -> Rows:
    for first, key, solvers in _cases():
        for solver in solvers:
            cell = cells.get(f"{key}/{solver}", {})
            if "seconds" in cell:
                driver = cell["driver_python_mb"] + cell["driver_java_mb"]
                shown = "one task" if solver == "auto" else f"``{solver}``"
                yield [
                    *first,
                    shown,
                    str(cell["iterations"]),
                    f"{cell['jobs']:.0f}",
                    seconds(cell["seconds"]),
                    f"{cell['moved_mb']:,.0f}" if cell["moved_mb"] else NONE,
                    f"{cell['shuffled_mb']:,.0f}",
                    f"{driver:,.0f}",
                    f"{cell['relative_gap']:.1e}",
                ]
