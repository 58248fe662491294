"""Folders of sites that learn from generated rows, as `widemargin site init` would make them."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin import LinearSVMClassifier
from widemargin.sites.config import Neighbour, SiteConfig, read_config, write_template
from widemargin.sites.network.keys import make_keys
from widemargin.sites.training.participant import SavedState


def generated_rows(n_rows: int, n_features: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = np.where(X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows) > 0, 1, -1)
    return X, y


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def save_rows(path: Path, X: Any, y: Any) -> None:
    if not sp.issparse(X):
        return np.savez(path, X=X, y=y)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    return np.savez(path, y=y, **parts)


def on_the_way(states: list[SavedState]) -> list[float]:
    """Return the mass that is on its way, link by link, where both ends know each other."""
    ends = {}
    for each in states:
        masses = each.header["masses"]
        for link in each.header["links"]:
            slot = link["slot"]
            ends[each.header["public_key"], link["public_key"]] = (
                (masses["sent"][slot], masses["received"][slot]),
                (link["epoch"], link["their_epoch"]),
            )
    return [
        sent - ends[b, a][0][1]
        for (a, b), ((sent, _), epochs) in ends.items()
        if epochs == ends[b, a][1][::-1]
    ]


@dataclass
class Folders:
    """A network of sites on this machine; rows are dealt out in turn."""

    root: Path
    X: Any
    y: Any
    n_sites: int = 4
    settings: dict[str, Any] = field(default_factory=dict)
    links: tuple[tuple[int, int], ...] | None = None
    hosts: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.n_sites
        pairs = self.links or tuple((k, (k + 1) % n) for k in range(n if n > 2 else n - 1))
        self.ports = free_ports(n)
        self.keys = []
        for k in range(n):
            self.folder(k).mkdir(parents=True)
            self.keys.append(make_keys(self.folder(k)))
            save_rows(self.folder(k) / "rows.npz", self.X[k::n], self.y[k::n])
        self.neighbours = {
            k: [b if a == k else a for a, b in pairs if k in (a, b)] for k in range(n)
        }
        for k in range(n):
            self.write(k)

    def folder(self, k: int) -> Path:
        return self.root / f"site-{k}"

    def address(self, k: int) -> str:
        return f"tcp://{self.hosts.get(k, '127.0.0.1')}:{self.ports[k]}"

    def neighbour(self, k: int, address: str | None = None) -> Neighbour:
        return Neighbour(f"site-{k}", address or self.address(k), self.keys[k])

    def write(self, k: int, neighbours: list[Neighbour] | None = None) -> None:
        """Write the configuration of a site."""
        given = {
            "listen": self.address(k),
            "data": "rows.npz",
            "n_sites": self.n_sites,
            "total_rows": len(self.y),
            "n_features": self.X.shape[1],
            "row_square": float(self.X.shape[1] + 1),
            "C": 0.1,
            "sync": False,
            "min_rows": 1,
            "heartbeat": 0.3,
            **self.settings,
        }
        if neighbours is None:
            neighbours = [self.neighbour(j) for j in self.neighbours[k]]
        write_template(self.folder(k), f"site-{k}", neighbours=neighbours, **given)

    def config(self, k: int) -> SiteConfig:
        return read_config(self.folder(k))

    def objective(self, coef: Any, intercept: float) -> float:
        """Of all rows, hinge loss."""
        C = self.settings.get("C", 0.1)
        losses = np.maximum(0.0, 1.0 - self.y * (self.X @ coef + intercept))
        return float(0.5 * (coef @ coef + intercept**2) + C * losses.sum())

    @cached_property
    def best(self) -> float:
        """The objective of the pooled optimum."""
        C = self.settings.get("C", 0.1)
        pooled = LinearSVMClassifier(loss="hinge", C=C, tol=1e-6, max_iter=10_000)
        pooled.fit(self.X, self.y)
        return self.objective(pooled.coef_[0], float(pooled.intercept_[0]))

    def excess(self, w: Any) -> float:
        """By how much a model, its intercept last, is worse than the pooled optimum."""
        return self.objective(w[:-1], float(w[-1])) / self.best - 1.0
