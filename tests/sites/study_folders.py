"""A study on this machine whose members take part without processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from site_folders import save_rows

from widemargin import LinearSVMClassifier
from widemargin.sites.config import read_config, write_template
from widemargin.sites.network.keys import make_keys
from widemargin.sites.studies.schema import Schema
from widemargin.sites.studies.study import Member, Study
from widemargin.sites.studies.study_owner import StudyOwner, create_study
from widemargin.sites.training.local_site import LocalSite, read_rows
from widemargin.sites.training.participant import Participant

DESK = "tcp://127.0.0.1:7000"


def made_study(folder: Path, *, least_sites: int | None = None, **changes: Any) -> StudyOwner:
    values: dict[str, Any] = {
        "name": "risk",
        "desk": DESK,
        "topology": "ring",
        "settings": {"total_rows": 240, "n_links": 8, "row_square": 6.0, "C": 0.1},
        "schema": Schema((), None, (-1, 1), n_features=5, scale="none"),
    }
    values |= changes
    if least_sites is not None:
        values["settings"] = {**values["settings"], "least_sites": least_sites}
    create_study(folder / "risk.study", **values)
    return StudyOwner(folder / "risk.study")


def pooled_objective(X: Any, y: Any, w: Any, C: float = 0.1) -> float:
    losses = np.maximum(0.0, 1.0 - y * (X @ w[:-1] + w[-1]))
    return float(0.5 * (w @ w) + C * losses.sum())


def pooled_best(X: Any, y: Any, C: float = 0.1) -> float:
    model = LinearSVMClassifier(loss="hinge", C=C, tol=1e-6, max_iter=10_000).fit(X, y)
    return pooled_objective(X, y, np.append(model.coef_[0], model.intercept_[0]), C)


class StudyNetwork:
    """Members of a study, and the frames between them."""

    def __init__(self, root: Path, X: Any, y: Any, n_parts: int, **changes: Any) -> None:
        root.mkdir(exist_ok=True)
        self.root, self.X, self.y, self.n_parts = root, X, y, n_parts
        self.owner = made_study(root, **changes)
        self.members: dict[str, Participant] = {}  # by public key
        self.parts: dict[str, int] = {}
        self.events: list[tuple[int, str, dict[str, Any]]] = []

    def enrol(self, k: int) -> Study:
        """Make a folder for a part of the rows, and have the owner sign a study with it."""
        folder = self.root / f"site-{k}"
        folder.mkdir(exist_ok=True)
        if not (folder / "secret.key").exists():
            make_keys(folder)
            save_rows(folder / "rows.npz", self.X[k :: self.n_parts], self.y[k :: self.n_parts])
        key = (folder / "public.key").read_text().strip()
        self.parts[key] = k
        study = self.owner.admit(Member(f"site-{k}", key, f"tcp://127.0.0.1:{7101 + k}"))
        study.save(folder / "risk.study")
        write_template(folder, f"site-{k}", study="risk.study", data="rows.npz", sync=False)
        return study

    def start(self, k: int) -> Participant:
        def listener(event: str, **fields: Any) -> None:
            self.events.append((k, event, fields))

        config = read_config(self.root / f"site-{k}")
        key = (config.folder / "public.key").read_text().strip()
        self.members[key] = Participant(LocalSite(config, read_rows(config)), key, listener)
        return self.members[key]

    def leave(self, k: int) -> None:
        """Have the owner sign a study without a site; one of the others is told of it."""
        key = next(key for key, part in self.parts.items() if part == k)
        study = self.owner.remove(f"site-{k}", public_key=key)
        del self.members[key], self.parts[key]
        next(iter(self.members.values())).membership.offer(study.to_bytes())

    def all_round(self, times: int = 1) -> None:
        for _ in range(times):
            frames: list[tuple[str, str, bytes]] = []
            for key, member in self.members.items():
                newer = member.membership.take()
                if newer is not None:
                    newer.save(member.config.folder / "risk.study")
                    member.set_neighbours(read_config(member.config.folder))
                frames += [(key, to, frame) for to, frame in member.round().items()]
                frames += [(key, to, frame) for to, frame in member.answers()]
            for sender, to, frame in frames:
                if to in self.members:
                    self.members[to].receive(sender, frame)

    def excess(self) -> float:
        """By how much the worst model exceeds the pooled optimum of the members' rows."""
        rows = np.concatenate(
            [np.arange(len(self.y))[k :: self.n_parts] for k in self.parts.values()]
        )
        X, y = self.X[rows], self.y[rows]
        best = pooled_best(X, y)
        return max(
            pooled_objective(X, y, each.site.model()) / best - 1.0 for each in self.members.values()
        )
