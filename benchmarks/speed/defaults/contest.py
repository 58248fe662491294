"""The contestants, the measurement of a set, and the tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from importlib.util import find_spec
from statistics import mean
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.race.processes import timed
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, seconds

from .sets import WIDE, NamedSet

# An accuracy that is this many points below SVC's on a set is shown in bold.
MOST_LOST = 2.0


@dataclass(frozen=True)
class Contestant:
    """A class, and what it is told about threads and messages."""

    title: str
    package: str
    module: str
    name: str
    settings: dict[str, Any]
    wide: bool = True  # whether it takes rows of many thousand features in acceptable time

    def make(self) -> Any:
        """Return a classifier with its defaults."""
        return getattr(import_module(self.module), self.name)(**self.settings)


_of = partial(Contestant, package="widemargin", module="widemargin", settings={"n_jobs": 1})
CONTESTANTS = {
    "svc": Contestant("SVC", "scikit-learn", "sklearn.svm", "SVC", {}),
    "svm": _of("SVMClassifier", name="SVMClassifier"),
    "odm": _of("ODMClassifier", name="ODMClassifier"),
    "intelex": Contestant(
        "intelex SVC", "scikit-learn-intelex", "sklearnex.svm", "SVC", {"n_jobs": 1}
    ),
    "lightgbm": Contestant(
        "LightGBM",
        "lightgbm",
        "lightgbm",
        "LGBMClassifier",
        {"n_jobs": 1, "verbose": -1},
        wide=False,
    ),
}


def check_libraries(without: Collection[str]) -> None:
    """Name the package to install where a contestant's is missing."""
    for name, each in CONTESTANTS.items():
        if name not in without and find_spec(each.module.partition(".")[0]) is None:
            raise SystemExit(
                f"{each.package} is measured beside ours and must be installed: pip install "
                f"{each.package}, or leave it out with --without {name}."
            )


def measure(
    store: Store, data: NamedSet, without: Collection[str], quick: bool, failures: list[str]
) -> None:
    """Measure the cells of a set that are missing; note the contestants that fail."""
    splits: list[Any] = []

    def all_splits() -> list[Any]:
        if not splits:
            splits.extend(data.splits(quick))
        return splits

    for name, contestant in CONTESTANTS.items():
        if name in without:
            continue
        try:
            store.cell(
                f"{data.name}/{name}",
                {"settings": contestant.settings, "quick": quick},
                lambda contestant=contestant: _measured(contestant, all_splits()),
            )
        except Exception as error:
            failures.append(f"{data.name}/{name}: {type(error).__name__}: {error}")
            print(failures[-1], flush=True)


def _measured(contestant: Contestant, splits: list[Any]) -> Cell:
    """Fit and score every split, on one thread."""
    first = splits[0]
    cell: Cell = {"rows": len(first.y), "features": int(first.X.shape[1])}
    cell |= {"test_rows": len(first.y_test), "classes": len(np.unique(first.y))}
    cell |= {"splits": len(splits)}
    cell["version"] = f"{contestant.package} {metadata.version(contestant.package)}"
    if not contestant.wide and first.X.shape[1] > WIDE:
        return {**cell, "skipped": True}
    fits: list[tuple[float, ...]] = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for split in splits:
            model = contestant.make()
            _, wall, cpu = timed(lambda: model.fit(split.X, split.y))  # noqa: B023
            found, _, later = timed(lambda: model.predict(split.X_test))  # noqa: B023
            fits.append((float(np.mean(found == split.y_test)), wall, cpu, later))
    names = ("accuracy", "fit_seconds", "cpu_seconds", "predict_cpu_seconds")
    means = map(mean, zip(*fits, strict=True))
    return cell | dict(zip(names, means, strict=True))


def tables(cells: Cells) -> Iterator[Table]:
    """Yield a summary over all sets, and a row for every set."""
    titles = [each.title for each in CONTESTANTS.values()]
    columns = ["", *titles]
    yield "defaults_summary", columns, _summary(cells)
    columns = ["Data set", "Training rows", "Features", "Classes", "Splits", *titles]
    yield "defaults", [*columns, "SVMClassifier − SVC"], _by_set(cells)


def _sets(cells: Cells) -> dict[str, dict[str, Cell]]:
    """Group cells by set; only sets on which SVC and the SVM were measured count."""
    found: dict[str, dict[str, Cell]] = {}
    for name, cell in cells.items():
        data, _, contestant = name.rpartition("/")
        if "accuracy" in cell:
            found.setdefault(data, {})[contestant] = cell
    return {name: each for name, each in found.items() if {"svc", "svm"} <= set(each)}


def _summary(cells: Cells) -> Rows:
    sets = list(_sets(cells).values())
    if not sets:
        return
    kinds: dict[str, Callable[[Cell], bool]] = {
        "all sets": lambda cell: True,
        "two classes": lambda cell: bool(cell["classes"] == 2),
        "several classes": lambda cell: bool(cell["classes"] > 2),
    }
    for title, belongs in kinds.items():
        chosen = [each for each in sets if belongs(each["svc"])]
        yield _row(f"mean accuracy, {title} ({len(chosen)})", chosen, "accuracy", mean, percent)
    yield _lost("mean difference from SVC, points", sets, mean)
    yield _lost("lowest difference, points", sets, min)
    yield _lost("highest difference, points", sets, max)
    yield _row("CPU seconds of training, sum", sets, "cpu_seconds", sum, seconds)
    yield _row("CPU seconds of prediction, sum", sets, "predict_cpu_seconds", sum, seconds)


def _row(
    title: str,
    sets: list[dict[str, Cell]],
    key: str,
    fold: Callable[[list[float]], float],
    text: Callable[[float], str],
) -> list[str]:
    row = [title]
    for name in CONTESTANTS:
        values = [each[name][key] for each in sets if name in each]
        few = f" ({len(values)})" if len(values) < len(sets) else ""
        row.append(text(fold(values)) + few if values else NONE)
    return row


def _lost(
    title: str, sets: list[dict[str, Cell]], fold: Callable[[list[float]], float]
) -> list[str]:
    row = [title]
    for name in CONTESTANTS:
        pairs = [(each[name], each["svc"]) for each in sets if name in each]
        points = [100 * (one["accuracy"] - svc["accuracy"]) for one, svc in pairs]
        row.append(f"{fold(points):+.2f}" if points and name != "svc" else NONE)
    return row


def _by_set(cells: Cells) -> Rows:
    for name, found in sorted(_sets(cells).items()):
        svc = found["svc"]
        shown = [
            percent(found[each]["accuracy"]) if each in found else NONE for each in CONTESTANTS
        ]
        points = 100 * (found["svm"]["accuracy"] - svc["accuracy"])
        difference = f"{points:+.2f}" if points >= -MOST_LOST else f"**{points:+.2f}**"
        facts = (f"{svc['rows']:,}", f"{svc['features']:,}", str(svc["classes"]))
        yield [name, *facts, str(svc["splits"]), *shown, difference]
