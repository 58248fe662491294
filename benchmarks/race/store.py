"""Measured cells in a JSON file, each cell with the commit, date and machine of its measurement.

Cells with the same keys are a table with one row a line: name, place of the settings, place of the
stamp, values. Distinct settings, stamps and keys of nested rows are listed once. Numbers are
rounded: to sixteen digits where differences of them are shown, to eight otherwise.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import widemargin
from widemargin import _native
from widemargin.core.resources import thread_count

Cell = dict[str, Any]
Stamp = dict[str, Any]
UNKNOWN = "unknown"
DIGITS, PRECISE_DIGITS = 8, 16
PRECISE = ("objective", "bound", "primal", "optimum", "history", "value", "tol")
# The machine is quiet when other processes take less than this share of its cores.
QUIET = 0.05
# Seconds over which that share can be told; the system counts hundredths.
SHORTEST = 1.0


class Store:
    """A file of cells by name.

    A cell is measured once: it is taken from the file where the settings stored with it are the
    same, so that an interrupted run continues where it stopped.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    again : bool
        Measure every cell once more.
    """

    def __init__(self, path: Path, again: bool = False) -> None:
        self.path = path
        self.cells: dict[str, Cell] = {}
        self.settings: dict[str, Cell] = {}
        self.stamps: dict[str, Stamp] = {}
        if path.exists():
            for name, settings, stamp, cell in decoded(json.loads(path.read_text("utf-8"))):
                self.cells[name], self.settings[name], self.stamps[name] = cell, settings, stamp
        self._stale = set(self.cells) if again else set()
        self._earlier = self._later = OtherLoad()

    def cell(self, name: str, settings: Mapping[str, Any], measure: Callable[[], Cell]) -> Cell:
        """Return a cell, measured now if it is missing or has other settings."""
        settings = json.loads(json.dumps(settings))  # as they come back from the file
        if name in self.cells and name not in self._stale and self.settings[name] == settings:
            return self.cells[name]
        load = OtherLoad()
        cell = measure()
        quiet = load.quiet()
        self.put(name, settings, cell, {**stamp(), "quiet": self._lately(quiet)})
        self._stale.discard(name)
        if "accuracy" in cell:
            spent = cell.get("fit_seconds", float("nan"))
            late = " (out of time)" if cell.get("out_of_time") else ""
            print(f"{name}: {cell['accuracy']:.4f}, {spent:.1f} s{late}", flush=True)
        return cell

    def _lately(self, quiet: bool | str) -> bool | str:
        """Return whether the machine was quiet in the seconds that end with a short cell."""
        found = self._earlier.quiet() if quiet == UNKNOWN else quiet
        if self._later.seconds() >= SHORTEST:
            self._earlier, self._later = self._later, OtherLoad()
        return found

    def kept(self, name: str, settings: Mapping[str, Any]) -> Cell | None:
        """Return a cell with the same settings from the file, also where all are measured again."""
        same = self.settings.get(name) == json.loads(json.dumps(settings))
        return self.cells[name] if same else None

    def put(self, name: str, settings: Cell, cell: Cell, stamp: Stamp) -> None:
        """Store a cell and write the file."""
        self.cells[name], self.settings[name], self.stamps[name] = cell, settings, stamp
        self.write()

    def drop(self, name: str) -> None:
        """Remove a cell, so that it is measured again."""
        for kept in (self.cells, self.settings, self.stamps):
            kept.pop(name, None)

    def write(self) -> None:
        """Write the file; a reader never sees half of it."""
        names = sorted(self.cells)
        rows = ((name, self.settings[name], self.stamps[name], self.cells[name]) for name in names)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(encoded(rows), encoding="utf-8")
        os.replace(unfinished, self.path)


def encoded(cells: Iterable[tuple[str, Cell, Stamp, Cell]]) -> str:
    """Return the text of a file."""
    lists: dict[str, list[str]] = {"stamps": [], "settings": [], "shapes": []}
    tables: dict[tuple[str, ...], list[str]] = {}
    for name, settings, of_cell, cell in cells:
        row = [name, _place(lists["settings"], settings), _place(lists["stamps"], of_cell)]
        row += [_packed(value, key, lists["shapes"]) for key, value in sorted(cell.items())]
        tables.setdefault(tuple(sorted(cell)), []).append(_compact(row))
    lists["tables"] = [
        f'{{"columns":{_compact(columns)},"rows":[\n' + ",\n".join(rows) + "\n]}"
        for columns, rows in tables.items()
    ]
    parts = (f'"{key}":[\n' + ",\n".join(each) + "\n]" for key, each in lists.items())
    return "{" + ",\n".join(parts) + "}\n"


def decoded(file: Mapping[str, Any]) -> Iterable[tuple[str, Cell, Stamp, Cell]]:
    """Yield name, settings, stamp and values of every cell of a file."""
    for table in file["tables"]:
        for name, settings, of_cell, *values in table["rows"]:
            unpacked = (_unpacked(value, file["shapes"]) for value in values)
            cell = dict(zip(table["columns"], unpacked, strict=True))
            yield name, file["settings"][settings], file["stamps"][of_cell], cell


def _place(listed: list[str], value: Any) -> int:
    """Return the place of a value in a list, where it is added if it is new."""
    text = _compact(value)
    if text not in listed:
        listed.append(text)
    return listed.index(text)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _packed(value: Any, key: str, shapes: list[str]) -> Any:
    """Round numbers; turn a list of dictionaries with the same keys into rows of a shape."""
    if isinstance(value, float):
        digits = PRECISE_DIGITS if key in PRECISE else DIGITS
        rounded = float(f"{value:.{digits}g}")
        return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
    if isinstance(value, dict):
        return {name: _packed(each, name, shapes) for name, each in value.items()}
    if isinstance(value, list):
        keys = value[0].keys() if value and isinstance(value[0], dict) else ()
        if keys and all(isinstance(each, dict) and each.keys() == keys for each in value):
            rows = [[_packed(each[name], name, shapes) for name in keys] for each in value]
            return {"shape": _place(shapes, list(keys)), "rows": rows}
        return [_packed(each, key, shapes) for each in value]
    return value


def _unpacked(value: Any, shapes: list[list[str]]) -> Any:
    if isinstance(value, dict) and value.keys() == {"shape", "rows"}:
        rows = ([_unpacked(each, shapes) for each in row] for row in value["rows"])
        return [dict(zip(shapes[value["shape"]], row, strict=True)) for row in rows]
    if isinstance(value, dict):
        return {name: _unpacked(each, shapes) for name, each in value.items()}
    return [_unpacked(each, shapes) for each in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------------------- stamps


@cache
def stamp() -> Stamp:
    """Describe this commit, day and machine."""
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpu": _cpu(),
        "cores": thread_count(None),
        "instruction_set": _native.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "widemargin": widemargin.__version__,
    }


def _commit() -> str:
    """Return the commit, with a + where the library's files differ from it."""
    root = Path(__file__).parents[2]

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    try:
        found = git("rev-parse", "--short=7", "HEAD")
        changed = git("diff", "--quiet", "HEAD", "--", "src", "native").returncode == 1
    except OSError:
        return UNKNOWN
    return found.stdout.strip() + "+" * changed if found.returncode == 0 else UNKNOWN


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or UNKNOWN)


class OtherLoad:
    """The share of the cores that other processes took since this object was made."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), _busy_seconds(), _own_seconds()

    def seconds(self) -> float:
        """Return the seconds since then."""
        return time.monotonic() - self._began

    def quiet(self) -> bool | str:
        """Return whether that share is small; unknown where the system does not report it."""
        now, passed = _busy_seconds(), self.seconds()
        if now is None or self._busy is None or passed < SHORTEST:
            return UNKNOWN
        others = now - self._busy - (_own_seconds() - self._own)
        return others < QUIET * passed * (os.cpu_count() or 1)


def _busy_seconds() -> float | None:
    """Return the seconds that all cores worked since the machine started."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    ticks = [int(each) for each in path.read_text("ascii").split("\n", 1)[0].split()[1:]]
    return (sum(ticks[:3]) + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    return sum(os.times()[:4])
