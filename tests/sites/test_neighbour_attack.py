"""What a listed neighbour learns of a site's rows, by the attack and by looking on."""

from __future__ import annotations

from pathlib import Path

from benchmarks.sites.neighbour_attack import (
    active_attack,
    binary_rows,
    passive_attack,
    site_of,
)

ROWS = 40


def test_without_limits_a_neighbour_takes_every_row(tmp_path: Path) -> None:
    X, y = binary_rows(ROWS)
    target = site_of(tmp_path / "site", X, y, 2000)
    findings = active_attack(target, exchanges=800)
    assert findings.found == ROWS
    assert findings.wrong == 0


def test_one_row_shows_without_any_attack(tmp_path: Path) -> None:
    X, y = binary_rows(1)
    findings = passive_attack(site_of(tmp_path / "site", X, y, 2000), exchanges=30)
    assert findings.found == 1
