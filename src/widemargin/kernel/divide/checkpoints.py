"""Finished levels on disk, so that a killed fit goes on from the last one.

A fit's folder is named by a hash of its data and of the settings that shape its levels, inside the
folder the user named; a file in it holds one level of one binary problem. Files appear whole or
not at all, and a damaged one is skipped. A folder that cannot be written to is reported once, and
the fit goes on without it. Fits that share a folder write the same levels, each whole.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import __version__
from ...core.arrays import Array
from ...core.fit import warn
from ...engines import Engine
from ...persistence.atomic_write import write_atomically
from ...persistence.container import pack, unpack
from ...persistence.decoding import decode_value
from ...persistence.encoding import encode_value
from ..kernels import Kernel
from ..partition import ClusterTree, NearestGroup, fetch
from ..samples import Part, PartReport, join
from .levels import Level, LevelSummary, Whole, collect
from .strategies import Strategy

# A temporary file older than this is what a killed write left; a younger one may be at work.
SECONDS_OF_A_WRITE = 3600.0

# Settings that change how a fit runs, but not what its levels are.
NOT_SHAPING = ("n_jobs", "verbose", "max_time", "checkpoint", "engine", "warm_start")

_NAME = re.compile(r"problem-(\d+)-level-(\d+)\.wml")
_ROUTER_ARRAYS = ("basis_rows", "coef", "group_start", "offset")

Records = list[dict[str, float]]


class Folder(Protocol):
    """A folder of files, on any file system."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all; one that cannot be written is reported."""
        ...

    def names(self) -> list[str]:
        """Return the names of the files."""
        ...

    def read(self, name: str) -> bytes:
        """Return the contents of a file; OSError if it cannot be read."""
        ...

    def __str__(self) -> str:
        """Return its name, for messages."""
        ...


class Checkpoints:
    """The folder of one fit, on a disk of this machine.

    Parameters
    ----------
    folder : str or path-like
        Folder that the user named; made if it does not exist, in a folder that does.
    identity : str
        Hash of data and settings.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: str) -> None:
        if not os.fspath(folder):
            raise ValueError("`checkpoint` must name a folder; got an empty name.")
        named = Path(folder).expanduser()
        if not named.parent.is_dir():
            # A misspelt path should not become a tree of folders, or levels go where nobody looks.
            raise FileNotFoundError(
                f"`checkpoint` must name a folder, or a new one in a folder that exists; got "
                f"{str(folder)!r}, but there is no folder {str(named.parent)!r}. Create it first, "
                "or name another."
            )
        self.folder = named / identity
        self._complained = False
        try:  # before the first level, which may take hours
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._complain(error)

    def __str__(self) -> str:
        return str(self.folder)

    def read(self, name: str) -> bytes:
        """Return the contents of a file."""
        return (self.folder / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Write a file, or say once why that is not possible."""
        path = self.folder / name
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
            self._remove_leftovers(path.stat().st_mtime)
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            warn(
                f"A level could not be kept in {str(self.folder)!r} ({error.strerror or error}); "
                "the fit goes on without. Make room there, or name another `checkpoint` folder."
            )

    def names(self) -> list[str]:
        """Return the names of the files."""
        try:
            return sorted(entry.name for entry in self.folder.iterdir())
        except OSError:
            return []

    def _remove_leftovers(self, now: float) -> None:
        """Remove what killed writes left; ``now`` by the clock that stamps these files."""
        for path in self.folder.glob(".*.wm.tmp"):
            with suppress(OSError):
                if now - path.stat().st_mtime > SECONDS_OF_A_WRITE:
                    path.unlink()


class LevelStore:
    """The levels of one binary problem."""

    def __init__(self, folder: Folder, problem: int) -> None:
        self.folder, self.problem = folder, problem

    def save(self, level: Level, records: Records, engine: Engine) -> None:
        """Keep a level, with the records up to it."""
        name = f"problem-{self.problem}-level-{level.number}.wml"
        self.folder.write(name, _packed(level, records, collect(level, engine)))

    def load(self, whole: Whole, engine: Engine, stop_level: int) -> tuple[Level, Records] | None:
        """Return the kept level nearest to the root, not beyond ``stop_level``, and its records."""
        found = (_NAME.fullmatch(name) for name in self.folder.names())
        levels = sorted(int(match[2]) for match in found if match and int(match[1]) == self.problem)
        for number in levels:
            if number < stop_level:
                continue
            name = f"problem-{self.problem}-level-{number}.wml"
            try:
                level, records = _unpacked(self.folder.read(name), whole, engine)
            # A checksum guards the contents: what gets past it was written by something else.
            except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
                path = f"{self.folder}/{name}"
                warn(f"{path!r} cannot be used and is passed over: {error}.")
            else:
                return level, [record for record in records if record["level"] >= stop_level]
        return None


def _packed(level: Level, records: Records, parts: list[Part]) -> bytes:
    router = None
    if level.router is not None:
        router = {name: getattr(level.router, name) for name in _ROUTER_ARRAYS}
        router["kernel"] = asdict(level.router.kernel)
        if isinstance(level.router, ClusterTree):
            router["nodes"] = [level.router.node_start, level.router.child]
    content = {
        "number": level.number,
        "n_parts": level.n_parts,
        "summary": asdict(level.summary),
        "records": records,
        "router": router,
        "rows": np.concatenate([part.rows for part in parts]),
        "net_dual": np.concatenate([part.net_dual for part in parts]),
        "size": np.array([part.n_rows for part in parts], dtype=np.int64),
        "mass": np.array([part.mass for part in parts]),
    }
    arrays: dict[str, Any] = {}
    return pack({"kind": "level", "level": encode_value(content, "level", arrays)}, arrays)


def _unpacked(data: bytes, whole: Whole, engine: Engine) -> tuple[Level, Records]:
    header, arrays = unpack(data, __version__)
    content = decode_value(header["level"], arrays)
    rows, net_dual, size = content["rows"], content["net_dual"], content["size"]
    if not rows.size == net_dual.size == size.sum():
        raise ValueError("its arrays differ in size")
    if not 0 <= rows.min() <= rows.max() < whole.n_rows:
        raise ValueError("it has rows that the training set lacks")
    restored = _Restored(
        np.full(whole.n_rows, -1, dtype=np.int32), np.zeros(whole.n_rows), content["mass"], size
    )
    restored.part[rows] = np.repeat(np.arange(size.size), size)
    restored.net_dual[rows] = net_dual
    parts = engine.regroup(whole.parts, restored, _joined, int(size.size))
    router = None
    if content["router"] is not None:
        router = _router(content["router"], whole, engine)
    summary = LevelSummary(**content["summary"])
    level = Level(content["number"], parts, content["n_parts"], router, summary)
    return level, content["records"]


@dataclass(frozen=True)
class _Restored:
    """Sends rows to the parts they were in, with the duals they had; by their numbers."""

    part: NDArray[np.int32]
    net_dual: Array
    mass: Array
    size: NDArray[np.int64]

    def __call__(self, number: int, whole: Part) -> list[tuple[int, Part]]:
        kept = whole.keep(self.part[whole.rows] >= 0)
        kept = replace(kept, net_dual=self.net_dual[kept.rows])
        pieces = kept.pieces(self.part[kept.rows].astype(np.int64))
        return [
            (k, replace(piece, mass=float(self.mass[k] * piece.n_rows / self.size[k])))
            for k, piece in pieces
        ]


def _joined(pieces: list[Part]) -> Part:
    # The next level uses rows, duals and masses only; the reports are in the summary.
    return replace(join(pieces), report=PartReport(0.0, 0.0, 0, "CONVERGED", "", 0.0, 0.0))


def _router(kept: dict[str, Any], whole: Whole, engine: Engine) -> NearestGroup:
    drawn, kernel = fetch(engine, whole.parts, np.unique(kept["basis_rows"]))
    basis = None
    if kernel.name != "precomputed":
        basis = drawn.X[np.searchsorted(drawn.rows, kept["basis_rows"])]
    arrays = {name: kept[name] for name in _ROUTER_ARRAYS}
    groups = NearestGroup(kernel=Kernel(**kept["kernel"]), basis=basis, **arrays)
    return ClusterTree.with_nodes(groups, *kept["nodes"]) if "nodes" in kept else groups


def identity_of(arrays: Iterable[Any], settings: dict[str, Any]) -> str:
    """Hash data and settings to a folder name.

    Parameters
    ----------
    arrays : iterable
        Arrays and CSR matrices of numbers, or None; their order matters.
    settings : dict
        Values that differ if their ``repr`` does.
    """
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    for array in arrays:
        parts = [] if array is None else [array]
        if sp.issparse(array):
            digest.update(f"sparse{array.shape}".encode())
            parts = [array.data, array.indices, array.indptr]
        digest.update(f"{len(parts)}".encode())
        for part in parts:
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()[:32]


def shaping_settings(estimator: Any, strategy: Strategy, seed: int) -> dict[str, Any]:
    """Return the settings that shape the levels of a fit."""
    settings = estimator.get_params(deep=False)
    for name in NOT_SHAPING:
        settings.pop(name, None)  # regressors have fewer
    levels = strategy.get_params()
    del levels["stop_level"]  # the same levels, stopped elsewhere
    settings["strategy"] = [type(strategy).__name__, levels]
    settings["random_state"] = seed
    if callable(estimator.kernel):
        settings["kernel"] = "function"  # what it computes is among the data
    return {**settings, "estimator": type(estimator).__name__, "version": __version__}
