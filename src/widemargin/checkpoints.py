"""Finished levels on disk, so that a killed fit goes on from the last one.

A fit's folder is named by a hash of its data and of the settings that shape its levels, inside the
folder the user named; a file in it holds one level of one binary problem. Files appear whole or
not at all, and one that is damaged is passed over. A folder that cannot be written to is reported
once, and the fit goes on without.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import __version__
from .divide_and_conquer import Level, collect
from .engines import Engine
from .kernels import Kernel
from .level_summary import LevelSummary
from .partition import NearestGroup
from .persistence.atomic_write import write_atomically
from .persistence.container import ModelFileError, pack, unpack
from .samples import Part, PartReport, Samples

_NAME = re.compile(r"problem-(\d+)-level-(\d+)\.wml")

Records = list[dict[str, float]]


class Checkpoints:
    """The folder of one fit.

    Parameters
    ----------
    folder : str or path-like
        What the user named; made if it is not there.
    identity : str
        Hash of data and settings.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: str) -> None:
        self.folder = Path(folder) / identity
        self._complained = False

    def for_problem(self, k: int) -> LevelStore:
        """Return the store of one binary problem."""
        return LevelStore(self, k)

    def write(self, name: str, data: bytes) -> None:
        """Write a file, or say once why that is not possible."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / name, data)
        except OSError as error:
            if not self._complained:
                self._complained = True
                warnings.warn(
                    f"The level could not be kept in {str(self.folder)!r} ({error.strerror}); the "
                    "fit goes on without. Free space or name another `checkpoint` folder.",
                    stacklevel=2,
                )

    def read(self, name: str) -> bytes | None:
        """Read a file; None if it cannot be read."""
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return None

    def names(self) -> list[str]:
        """Return the names of the files there are."""
        try:
            return sorted(entry.name for entry in self.folder.iterdir())
        except OSError:
            return []


class LevelStore:
    """The levels of one binary problem."""

    def __init__(self, checkpoints: Checkpoints, problem: int) -> None:
        self.checkpoints, self.problem = checkpoints, problem

    def save(self, level: Level, records: Records, engine: Engine) -> None:
        """Keep a level."""
        parts = collect(level, engine)
        arrays = {
            "rows": np.concatenate([part.rows for part in parts]),
            "net_dual": np.concatenate([part.net_dual for part in parts]),
            "size": np.array([part.n_rows for part in parts], dtype=np.int64),
            "mass": np.array([part.mass for part in parts]),
        }
        header: dict[str, Any] = {
            "kind": "level",
            "number": level.number,
            "records": [_json_numbers(record) for record in records],
            "summary": _json_numbers(asdict(level.summary)),
            "router": None,
        }
        if level.router is not None:
            header["router"] = asdict(level.router.kernel)
            for name in ("basis_rows", "coef", "group_start", "offset"):
                arrays[f"router.{name}"] = getattr(level.router, name)
        self.checkpoints.write(
            f"problem-{self.problem}-level-{level.number}.wml", pack(header, arrays)
        )

    def load(self, samples: Samples, stop_level: int) -> tuple[Level, Records] | None:
        """Return the last level kept, not above the one asked for."""
        found = (_NAME.fullmatch(name) for name in self.checkpoints.names())
        levels = sorted(int(match[2]) for match in found if match and int(match[1]) == self.problem)
        for number in levels:
            if number < stop_level:
                continue
            name = f"problem-{self.problem}-level-{number}.wml"
            try:
                return _level_of(self.checkpoints.read(name), samples)
            except (ModelFileError, KeyError, TypeError, ValueError, IndexError):
                warnings.warn(
                    f"{str(self.checkpoints.folder / name)!r} is damaged and is passed over.",
                    stacklevel=2,
                )
        return None


def _level_of(data: bytes | None, samples: Samples) -> tuple[Level, Records]:
    if data is None:
        raise ValueError("unreadable")
    header, arrays = unpack(data, __version__)
    rows, net_dual, size = arrays["rows"], arrays["net_dual"], arrays["size"]
    if not (rows.size == net_dual.size == size.sum() and 0 <= rows.min() <= rows.max()):
        raise ValueError("arrays differ in size")
    if rows.max() >= samples.n_rows:
        raise ValueError("rows beyond the training set")
    ends = np.cumsum(size)
    report = PartReport(0.0, 0.0, 0, "CONVERGED", "", 0.0, 0.0)
    parts = [
        Part(rows[end - n : end], net_dual[end - n : end], float(mass), samples, report)
        for n, end, mass in zip(size, ends, arrays["mass"], strict=True)
    ]
    router = None
    if header["router"] is not None:
        basis_rows = arrays["router.basis_rows"]
        router = NearestGroup(
            Kernel(**header["router"]),
            None if samples.pairwise else samples.X[basis_rows],
            basis_rows,
            arrays["router.coef"],
            arrays["router.group_start"],
            arrays["router.offset"],
        )
    summary = LevelSummary(**_numbers(header["summary"]))
    level = Level(int(header["number"]), parts, len(parts), router, summary)
    return level, [_numbers(record) for record in header["records"]]


def _json_numbers(record: dict[str, Any]) -> dict[str, Any]:
    """Write NaN as None, which JSON has."""
    return {
        key: None if isinstance(value, float) and np.isnan(value) else value
        for key, value in ((key, _plain(value)) for key, value in record.items())
    }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _numbers(record: dict[str, Any]) -> dict[str, Any]:
    return {key: np.nan if value is None else value for key, value in record.items()}


def identity_of(arrays: Iterable[Any], settings: dict[str, Any]) -> str:
    """Hash data and settings to a folder name."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=repr).encode())
    for array in arrays:
        parts = (array.data, array.indices, array.indptr) if sp.issparse(array) else (array,)
        for part in parts:
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            flat = np.ascontiguousarray(part)
            digest.update(flat.astype("U").tobytes() if part.dtype == object else flat.data)
    return digest.hexdigest()[:32]
