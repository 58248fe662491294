"""What an epoch of Weston and Watkins's formulation moves, where rows lie on other machines.

Counted, not timed, so no Spark is needed: an engine of this process weighs what an engine with
machines of its own would send. A worker.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import reduce as fold
from typing import Any

import numpy as np

from benchmarks.race.data import DataSet, load
from benchmarks.race.generated import topics
from benchmarks.race.processes import serve
from widemargin import MulticlassSVMClassifier
from widemargin.engines import LocalEngine

# Epochs of two fits; their difference leaves out what happens once.
FEW, MORE = 1, 4
TOPICS = 200
SETS = {"letter": "letter", "sector": "sector", "generated": f"generated, {TOPICS} classes"}


class WeighingEngine(LocalEngine):
    """An engine that works in this process and counts the bytes that would travel.

    Attributes
    ----------
    sent, returned, shuffled : int
        Bytes of questions, as one machine gets them; of the parts' answers; and of pieces of parts
        that go to new ones. Spark sends a question to every task, or once to an executor if it is
        larger than a megabyte.
    passes : int
        Passes over the parts.
    """

    in_process = False

    def __init__(self) -> None:
        super().__init__(2)
        self.sent = self.returned = self.shuffled = self.passes = 0

    def reduce(
        self,
        parts: list[Any],
        fn: Callable[[Any], Any],
        combine: Callable[[Any, Any], Any],
    ) -> Any:
        """Combine a value of every part, in their order."""
        values = super().map(parts, fn)
        self.passes += 1
        self.sent += _weight(fn)
        self.returned += sum(map(_weight, values))
        return fold(combine, values)

    def regroup(
        self,
        parts: list[Any],
        split: Callable[[int, Any], list[tuple[int, Any]]],
        combine: Callable[[list[Any]], Any],
        n_to: int,
    ) -> list[Any]:
        """Redistribute pieces of parts to new parts."""

        def weighed(number: int, part: Any) -> list[tuple[int, Any]]:
            pieces = split(number, part)
            self.shuffled += sum(_weight(piece) for _, piece in pieces)
            return pieces

        return super().regroup(parts, weighed, combine, n_to)

    def scatter(self, blocks: Sequence[Any]) -> list[Any]:
        """Place the parts; rows are there already."""
        return list(blocks)


def _weight(thing: Any) -> int:
    return len(pickle.dumps(thing, protocol=5))


def count(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what the rows of a job would move."""
    yield moved(data_of(job["set"], job["quick"]))


def data_of(name: str, quick: bool) -> DataSet:
    """Return the rows of a set."""
    if name == "generated":
        return topics(50, 500, 10, 400) if quick else topics(TOPICS)
    data = load(name)
    if quick:
        data.X, data.y = data.X[:500], data.y[:500]
    return data


def moved(data: DataSet) -> dict[str, Any]:
    """Return what an epoch moves, what happens once, and the sizes that it stands beside."""
    few, more = (_after(data, epochs) for epochs in (FEW, MORE))
    n_classes = len(np.unique(data.y))
    found = {
        f"{name}_mb": (getattr(more, name) - getattr(few, name)) / (MORE - FEW) / 1e6
        for name in ("sent", "returned")
    }
    X = data.X
    rows = X.data.nbytes + X.indices.nbytes if hasattr(X, "indices") else X.nbytes
    return found | {
        "passes": (more.passes - few.passes) / (MORE - FEW),
        "once_mb": few.shuffled / 1e6,
        "rows_mb": rows / 1e6,
        "weights_mb": 8e-6 * n_classes * (X.shape[1] + 1),
        "rows": X.shape[0],
        "features": X.shape[1],
        "classes": n_classes,
    }


def _after(data: DataSet, epochs: int) -> WeighingEngine:
    engine = WeighingEngine()
    machine = MulticlassSVMClassifier(
        "ww", solver="tournament", engine=engine, max_iter=epochs, tol=1e-9, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few epochs do not reach the tolerance
        machine.fit(data.X, data.y)
    return engine


if __name__ == "__main__":
    serve(count)
