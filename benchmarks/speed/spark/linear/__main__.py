"""Measure linear training on Spark, or write the tables of it."""

from __future__ import annotations

from benchmarks.speed.spark.command import measure_or_render

from . import tables
from .parts import PARTS, run


def main(arguments: list[str] | None = None) -> None:
    measure_or_render("spark.linear", str(__doc__), PARTS, run, tables.write, arguments)


if __name__ == "__main__":
    main()
