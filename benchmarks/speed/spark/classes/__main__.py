"""What is measured of all classes in one problem on Spark, a cell each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks.race import processes
from benchmarks.speed.spark import page as spark_page

from . import __doc__ as description
from .cases import CASES, SETS, TOL, solvers_of
from .page import WORKERS, tables

ON_CLUSTER, COUNTED = (f"benchmarks.speed.spark.classes.{name}" for name in ("fits", "passes"))
# Seconds after which a fit is given up.
MAX_TIME = 900.0


def plan(names: Sequence[str], repeats: int, quick: bool) -> Iterator[spark_page.Planned]:
    """Yield every cell, its settings and how it is measured; those without a cluster first."""
    jobs: list[dict[str, Any]] = [
        {"set": name, "formulation": formulation, "C": C, "tol": TOL, "quick": quick}
        for name in names
        for formulation, C in CASES
    ]
    for job in jobs:
        measure = partial(processes.measure, COUNTED, job, MAX_TIME)
        yield f"{_key(job)}/passes", job, measure
    for job in jobs:
        for solver in solvers_of(job["formulation"]):
            fit = {**job, "solver": solver, "workers": WORKERS}
            on_cluster = partial(spark_page.on_cluster, ON_CLUSTER, fit, MAX_TIME, WORKERS)
            yield f"{_key(job)}/{solver}", fit, on_cluster


def _key(job: dict[str, Any]) -> str:
    return f"{job['set']}/{job['formulation']}/{job['C']:g}"


def main(arguments: list[str] | None = None) -> None:
    spark_page.main("classes", str(description), tuple(SETS), plan, tables, arguments)


if __name__ == "__main__":
    main()
