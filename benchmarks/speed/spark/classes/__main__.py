"""What is measured of all classes in one problem on Spark, a cell each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks.race import processes
from benchmarks.speed.spark import page as spark_page

from . import __doc__ as description
from .cases import CASES, SETS, TOL
from .page import WORKERS, tables

ON_CLUSTER, COUNTED = (f"benchmarks.speed.spark.classes.{name}" for name in ("fits", "passes"))
# Seconds after which a fit is given up.
MAX_TIME = 900.0


def plan(names: Sequence[str], repeats: int, quick: bool) -> Iterator[spark_page.Planned]:
    """Yield every cell, its settings and how it is measured."""
    for name in names:
        for formulation, C, solvers in CASES:
            job: dict[str, Any] = {"set": name, "formulation": formulation, "C": C, "tol": TOL}
            job["quick"] = quick
            key = f"{name}/{formulation}/{C:g}"
            yield f"{key}/passes", job, partial(processes.measure, COUNTED, job, MAX_TIME)
            for solver in (*solvers, "auto"):
                fit = {**job, "solver": solver, "workers": WORKERS}
                measure = partial(spark_page.on_cluster, ON_CLUSTER, fit, MAX_TIME, WORKERS)
                yield f"{key}/{solver}", fit, measure


def main(arguments: list[str] | None = None) -> None:
    spark_page.main("classes", str(description), tuple(SETS), plan, tables, arguments)


if __name__ == "__main__":
    main()
