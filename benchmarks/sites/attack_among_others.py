"""What a neighbour recovers of a site that has two honest neighbours as well.

    python -m benchmarks.sites.attack_among_others [--write]

A site with three neighbours bounds the pull of each of them by that of the others (``robust``), and
limits the way of their vectors (``max_travel``): the table has neither, one, and both. The attacker
is given more than it could have. The honest neighbours have trained with the site before it begins,
and are silent from then on, so that all that changes in the site's answers comes from the attacker
and from the site's rows. And it is told the site's z, which it could only guess once its pull is
bounded. Figures are those of the best of the sweep and of patient attacks of several strengths.
``--write`` puts the table into the documentation.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.tables import FOLDER, write_csv
from widemargin.sites.config import Neighbour, read_config, write_template
from widemargin.sites.network.keys import make_keys
from widemargin.sites.training.local_site import LocalSite, read_rows
from widemargin.sites.training.participant import Participant

from .neighbour_attack import Attacker, Target, active_attack, binary_rows

ROWS = (10, 100, 1_000)
EXCHANGES = 6_000
STRENGTHS = (2.0, 5.0, 10.0, 20.0)
HONEST, OTHERS = 2, 1_000  # neighbours, and rows of each
TRAINED = 100  # rounds before the attack
UNLIMITED = {"max_travel": 1e12}
DEFENCES: dict[str, dict[str, Any]] = {
    "Neither": {**UNLIMITED, "robust": "none"},
    "Limits": {"robust": "none"},
    "Robust": UNLIMITED,
    "Limits and robust": {},
}


class InformedAttacker(Attacker):
    """One of several neighbours, that is told the site's z after every exchange."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.kappa = len(target.config.neighbours) * self.rho + 1.0 / target.config.n_sites
        self._be_told(self._body(self._last))

    def set_z(self, z: Any) -> Any:
        """Send what would make z what is wanted, and return the site's q."""
        return self._be_told(super().set_z(z))

    def draw_z(self, z: Any) -> Any:
        """Do the same by sending z itself until the site has followed as far as it will."""
        return self._be_told(super().draw_z(z))

    def _be_told(self, q: Any) -> Any:
        if q is not None:
            self.z = 2.0 * self.rho * self.target.site.site.model() - q
        return q


def site_among_others(folder: Path, X: Any, y: Any, **settings: Any) -> Target:
    """Make a site with these rows, an attacker and honest neighbours, and train it with those."""
    names = ["victim", "attacker", *(f"honest-{k}" for k in range(HONEST))]
    X_others, y_others = binary_rows(HONEST * OTHERS + len(y), seed=0)
    listed = {}
    for number, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        key = make_keys(folder / name)
        listed[name] = Neighbour(name, f"tcp://127.0.0.1:{7001 + number}", key)
    rows = {"victim": (X, y)}
    for k in range(HONEST):
        own = slice(len(y) + k * OTHERS, len(y) + (k + 1) * OTHERS)
        rows[f"honest-{k}"] = (X_others[own], y_others[own])
    members = {}
    for name, (X_own, y_own) in rows.items():
        np.savez(folder / name / "rows.npz", X=X_own, y=y_own)
        near = names[1:] if name == "victim" else ["victim"]
        write_template(
            folder / name,
            name,
            neighbours=[listed[other] for other in near],
            listen=listed[name].address,
            data="rows.npz",
            n_sites=len(names),
            n_links=len(names) - 1,
            total_rows=len(y) + HONEST * OTHERS,
            n_features=X.shape[1],
            row_square=15.0,
            sync=False,
            min_rows=0,
            penalty=4.0,  # as in the attack on a site with one neighbour
            **settings,
        )
        if name != "victim":
            config = read_config(folder / name)
            public_key = listed[name].public_key
            members[public_key] = Participant(
                LocalSite(config, read_rows(config)), public_key, _ignore
            )
    target = Target(read_config(folder / "victim"), listed["attacker"].public_key)
    victim = listed["victim"].public_key
    for _ in range(TRAINED):
        for key, frame in target.site.round().items():
            if key in members:
                members[key].receive(victim, frame)
        for key, member in members.items():
            target.site.receive(key, member.round()[victim])
    return target


def _ignore(event: str, **fields: Any) -> None:
    """Take note of nothing that honest sites have to say."""


def found(n_rows: int, folder: Path, settings: dict[str, Any]) -> str:
    """Return the rows that the best of the attacks finds."""
    X, y = binary_rows(HONEST * OTHERS + n_rows)
    best = 0
    for number, strength in enumerate((None, *STRENGTHS)):
        target = site_among_others(folder / str(number), X[:n_rows], y[:n_rows], **settings)
        findings = active_attack(
            target, exchanges=EXCHANGES, strength=strength, kind=InformedAttacker
        )
        assert findings.wrong == 0, (strength, findings.wrong)
        best = max(best, findings.found)
    return str(best)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.attack_among_others")
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    table = []
    for n_rows in ROWS:
        row = [f"{n_rows:,}"]
        for defence, settings in DEFENCES.items():
            with tempfile.TemporaryDirectory() as folder:
                row.append(found(n_rows, Path(folder), settings))
            print(n_rows, defence, row[-1], sep=" | ", flush=True)
        table.append(row)
    if write:
        columns = ["Rows of the site", *DEFENCES]
        write_csv(FOLDER / "attack_among_others.csv", columns, table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
