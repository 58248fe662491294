"""[DC] Table 5: seconds of clustering and of training, level by level."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.papers.sodm.tables import STRATEGIES
from benchmarks.race import objective
from benchmarks.race.store import Cell
from benchmarks.race.tables import NONE, Cells, Rows, Table, seconds
from widemargin.kernel.partition import Clusters

from . import published
from .comparison import LEVELS, classifier
from .sets import PaperSet

DATA_SET = "covtype_binary"


def measure(paper: PaperSet) -> None:
    """Measure what is missing."""
    if paper.name == DATA_SET:
        paper.cell("level_times", lambda: _timed(paper))


def _timed(paper: PaperSet) -> Cell:
    model = classifier(paper.settings, STRATEGIES["clustered"](levels=LEVELS))
    with clustering_times() as spent:
        facts = objective.fit(model, paper.split)
    level, ends = (model.history_[name].tolist() for name in ("level", "seconds"))
    whole = [end - begin for begin, end in zip([0.0, *ends], ends, strict=False)]
    rows = [
        {"level": int(number), "clustering": clustering, "training": both - clustering}
        for number, clustering, both in zip(level, spent, whole, strict=False)
    ]
    return {**facts, "levels": rows}


@contextmanager
def clustering_times() -> Iterator[list[float]]:
    """Record the seconds of every division into clusters, those of the root among them."""
    spent: list[float] = []
    divide = Clusters.__call__

    def timed(self: Clusters, *arguments: Any) -> Any:
        began = time.perf_counter()
        divided = divide(self, *arguments)
        spent.append(time.perf_counter() - began)
        return divided

    with patch.object(Clusters, "__call__", timed):
        yield spent


# -------------------------------------------------------------------------------------- page


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the table as file name, columns and rows."""
    columns = ["Level", "Clustering, published s", "Training, published s", "Clustering s"]
    columns += ["Training s", "Clustering, share of the level: published", "ours"]
    yield "dc_table_5", columns, _rows(cells)


def _rows(cells: Cells) -> Rows:
    cell = cells.get(f"{DATA_SET}/level_times", {"levels": []})
    ours = {each["level"]: each for each in cell["levels"]}
    for level, (clustering, training) in published.TABLE_5.items():
        row = [str(level), seconds(clustering), seconds(training)]
        each = ours.get(level)
        shares = [_share(clustering, training), NONE]
        if each is None:
            yield [*row, NONE, NONE, *shares]
            continue
        spent = each["clustering"], each["training"]
        yield [*row, *map(seconds, spent), shares[0], _share(*spent)]


def _share(clustering: float, training: float) -> str:
    return f"{100 * clustering / (clustering + training):.1f} %"
