"""Tables of several sites, and a network without processes on which they agree."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.datasets import load_wine

from widemargin.sites.network.wire import FrameError
from widemargin.sites.preparation.preparation_phase import PreparationPhase
from widemargin.sites.preparation.site_table import read_table
from widemargin.sites.studies.schema import Schema

REGIONS = ("north", "east", "south")


def wine_frame(seed: int = 0) -> Any:
    """Wine with a column of text, some values missing, and two classes."""
    rng = np.random.default_rng(seed)
    wine = load_wine(as_frame=True).frame.rename(columns={"target": "class"})
    wine["class"] = np.where(wine["class"] == 0, "first", "other")
    wine["region"] = rng.choice(REGIONS, len(wine))
    wine.loc[rng.choice(len(wine), 12, replace=False), "ash"] = np.nan
    return wine.sample(frac=1.0, random_state=seed).reset_index(drop=True)


def dealt(frame: Any, n_sites: int) -> list[Any]:
    """Deal rows out; every site has its own order of columns."""
    parts = [frame.iloc[k::n_sites] for k in range(n_sites)]
    rng = np.random.default_rng(7)
    return [part[rng.permutation(part.columns)] for part in parts]


def write_tables(folder: Path, parts: list[Any]) -> list[Path]:
    paths = []
    for k, part in enumerate(parts):
        path = folder / f"site-{k}.csv"
        # The second site writes as it is done in much of Europe.
        options = {"sep": ";", "decimal": ","} if k == 1 else {}
        part.to_csv(path, index=False, quoting=csv.QUOTE_MINIMAL, **options)
        paths.append(path)
    return paths


def key_of(k: int) -> str:
    """A public key; that of site 1 is the smallest."""
    return "0123456789abcdefghij"[(k + 19) % 20] * 40


class PreparingNetwork:
    """Phases of several sites, and frames between them, to which anything may happen."""

    def __init__(
        self, paths: list[Path], schema: Schema, seed: int = 0, *, links: Any = None, **faults: Any
    ) -> None:
        n = len(paths)
        self.random, self.faults, self.paths, self.schema = (
            random.Random(seed),
            faults,
            paths,
            schema,
        )
        pairs = links or [(k, (k + 1) % n) for k in range(n if n > 2 else n - 1)]
        self.neighbours = {
            k: [b if a == k else a for a, b in pairs if k in (a, b)] for k in range(n)
        }
        self.keys = [key_of(k) for k in range(n)]
        self.disk: dict[int, Any] = {}
        self.events: list[tuple[int, str, dict[str, Any]]] = []
        self.on_the_way: list[tuple[int, int, bytes]] = []
        self.errors: list[str] = []
        self.phases = [self.start(k) for k in range(n)]
        self.bytes = 0

    def start(self, k: int) -> PreparationPhase:
        def listener(event: str, **fields: Any) -> None:
            self.events.append((k, event, fields))

        phase = PreparationPhase(
            read_table(self.paths[k], self.schema),
            public_key=self.keys[k],
            neighbours=[self.keys[j] for j in self.neighbours[k]],
            n_sites=len(self.paths),
            diameter=max(1, len(self.paths) - 1),
            agreement=7,
            listener=listener,
        )
        if k in self.disk:
            phase.restore(*self.disk[k])
        return phase

    def kill(self, k: int) -> None:
        """End a site, and start it again from what is on its disk."""
        self.phases[k] = self.start(k)

    def lose(self, k: int) -> None:
        """The same, and the state is lost."""
        self.disk.pop(k, None)
        self.kill(k)

    def round(self, k: int) -> None:
        frames = self.phases[k].frames()
        self.disk[k] = self.phases[k].saved()
        for key, frame in frames.items():
            self.bytes += len(frame)
            for _ in range(1 + (self.random.random() < self.faults.get("repeat", 0.0))):
                self.on_the_way.append((k, self.keys.index(key), frame))

    def deliver(self) -> None:
        self.random.shuffle(self.on_the_way)
        late = []
        for sender, to, frame in self.on_the_way:
            if self.random.random() < self.faults.get("loss", 0.0):
                continue
            if self.random.random() < self.faults.get("delay", 0.0):
                late.append((sender, to, frame))
                continue
            try:
                self.phases[to].receive(self.keys[sender], frame)
            except FrameError as error:
                self.errors.append(str(error))
        self.on_the_way = late

    def all_round(self, times: int = 1) -> None:
        for _ in range(times):
            for k in self.random.sample(range(len(self.phases)), len(self.phases)):
                self.round(k)
            self.deliver()

    def until_done(self, most: int = 2000) -> int:
        for k in range(most):
            if all(phase.done for phase in self.phases):
                return k
            self.all_round()
        raise AssertionError([(phase.stage, phase._counter) for phase in self.phases])


def pooled(paths: list[Path]) -> Any:
    frames = [
        pandas.read_csv(path, **({"sep": ";", "decimal": ","} if k == 1 else {}))
        for k, path in enumerate(paths)
    ]
    return pandas.concat(frames, ignore_index=True)
