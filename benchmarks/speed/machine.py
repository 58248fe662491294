"""What the figures were measured with, as a table."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.figures import NONE, Rows

MACHINE = ("system", "cores", "instruction_set", "python")


def machine_rows(kept: dict[str, Any]) -> Rows:
    """Name the machine and all packages of a results file."""
    for key in MACHINE:
        yield [key.replace("_", " "), str(kept["machine"].get(key, NONE))]
    versions = {cell["version"] for cell in kept["cells"].values() if "version" in cell}
    yield ["packages", ", ".join(sorted(versions)) or NONE]
