"""Ratios and peaks of memory as the tables of both benchmarks show them."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.figures import NONE, Rows

# Megabytes that a driver may take.
DRIVER_TARGET = 1500.0
MEMORY = ["Process", "Peak (MB)"]


def ratio_text(value: float | None, target: float = float("inf")) -> str:
    """Show a ratio, bold where it is above its target."""
    if value is None:
        return NONE
    return f"{value:.2f}" if value <= target else f"**{value:.2f}**"


def memory_rows(cell: dict[str, Any]) -> Rows:
    """List the peaks of a cluster's processes, and the driver's in all."""
    names = {
        "driver_python_mb": "driver, Python",
        "driver_java_mb": "driver, JVM",
        "executor_java_mb": "largest executor, JVM",
        "executor_python_mb": "largest executor, Python workers",
    }
    for key, title in names.items():
        if key in cell:
            yield [title, f"{cell[key]:,.0f}"]
    if "driver_java_mb" in cell:
        both = cell["driver_python_mb"] + cell["driver_java_mb"]
        yield ["driver in all", f"{both:,.0f}" if both <= DRIVER_TARGET else f"**{both:,.0f}**"]
