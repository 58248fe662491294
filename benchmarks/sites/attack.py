"""What a listed neighbour recovers of a site's rows, without limits, with them, and with privacy.

    python -m benchmarks.sites.attack [--write]

Rows are generated, binary as in a9a; the attacker is the site's only neighbour, and all frames pass
the site's checks. *Looking on* keeps to the protocol. *Sweep* turns vectors as long as the limit
on their norm allows. *Patient* keeps within the limit on travel: the best of several strengths,
until the site reads no more of it, or for ten times as many exchanges. ``--write`` puts the table
into the documentation.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.race.store import stamp
from benchmarks.race.tables import FOLDER, write_csv

from .neighbour_attack import (
    Findings,
    Target,
    active_attack,
    attack_on_private,
    binary_rows,
    passive_attack,
    site_of,
)

ROWS = (1, 10, 100, 1_000)
EXCHANGES, PATIENT_EXCHANGES = 2_000, 20_000
STRENGTHS = (3.0, 5.0, 7.0, 10.0, 20.0, 40.0)
OTHERS = 2_000  # rows of the other site
UNLIMITED = {"max_travel": 1e12}
PRIVATE = {"solver": "private", "epsilon": 10.0, "row_norm": 4.0}
COLUMNS = [
    "Rows of the site",
    "Looking on",
    "Sweep, without limits",
    "Sweep, limits",
    "Patient, limits",
    "Private, ε = 10",
]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.attack")
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in ROWS:
            table.append([f"{n_rows:,}", *map(str, found(n_rows, Path(folder)))])
            print(*table[-1], sep=" | ", flush=True)
    if write:
        write_csv(FOLDER / "attack.csv", COLUMNS, table)
        here = stamp()
        write_csv(
            FOLDER / "attack_machine.csv",
            ["Commit", "Date", "CPU", "System"],
            [[str(here[key]) for key in ("commit", "date", "cpu", "system")]],
        )
    return 0


def found(n_rows: int, folder: Path) -> tuple[int, ...]:
    """Return the rows found by every attack on a site of so many rows."""
    X, y = binary_rows(n_rows)

    def site(name: str, **settings: Any) -> Target:
        return site_of(folder / f"{n_rows}-{name}", X, y, OTHERS + n_rows, **settings)

    def checked(findings: Findings) -> int:
        assert findings.wrong == 0
        return findings.found

    patient = max(
        checked(active_attack(site(f"patient-{s}"), exchanges=PATIENT_EXCHANGES, strength=s))
        for s in STRENGTHS
    )
    return (
        checked(passive_attack(site("passive"), exchanges=EXCHANGES)),
        checked(active_attack(site("sweep", **UNLIMITED), exchanges=EXCHANGES)),
        checked(active_attack(site("limits"), exchanges=EXCHANGES)),
        patient,
        attack_on_private(site("private", **PRIVATE), exchanges=EXCHANGES).found,
    )


if __name__ == "__main__":
    raise SystemExit(main())
