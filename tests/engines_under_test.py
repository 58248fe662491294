"""Engines that show what algorithms do with them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

try:
    import cloudpickle
except ImportError:  # joblib before 1.6 has a copy of its own
    from joblib.externals import cloudpickle

from widemargin.engines import LocalEngine, Share
from widemargin.kernel.samples import Part


class ListeningEngine(LocalEngine):
    """Keeps the parts of every level once they are solved; may act before a level is.

    Parameters
    ----------
    before : callable, optional
        Called before each solve of a level, with the number of levels solved so far.
    gives_up_after : int, optional
        Tell solves to give up, as if time were over, once so many levels are solved.
    threads : int
        As in LocalEngine.
    """

    def __init__(
        self,
        before: Callable[[int], None] | None = None,
        *,
        gives_up_after: int | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(threads)
        self.before, self.gives_up_after = before, gives_up_after
        self.levels: list[list[Part]] = []

    def stopping(self) -> bool:
        return len(self.levels) == self.gives_up_after or super().stopping()

    def map(self, parts: list[Any], fn: Callable[[Any], Any], report: Any = None) -> list[Any]:
        solves = "solve_part" in str(fn)
        if solves and self.before is not None:
            self.before(len(self.levels))
        results = super().map(parts, fn, report)
        if solves:
            self.levels.append(results)
        return results


def carried(thing: Any) -> Any:
    """Send a thing away and unpack it where it arrives."""
    return cloudpickle.loads(cloudpickle.dumps(thing))


class CarryingEngine:
    """One worker that shares nothing: parts, functions and values travel to it as bytes.

    What algorithms do with it they could do on a cluster: they see no part but through a verb.
    """

    in_process = False

    def __init__(self) -> None:
        self.calls: list[str] = []

    def share(self, n_parts: int) -> Share:
        return Share(1, 1)

    def stopping(self) -> bool:
        return False

    def scatter(self, blocks: Sequence[Any]) -> list[bytes]:
        return [cloudpickle.dumps(block) for block in blocks]

    def release(self, parts: list[bytes] | None = None) -> None:
        self.calls.append("release")

    def map(self, parts: list[bytes], fn: Callable[[Any], Any], report: Any = None) -> list[bytes]:
        self.calls.append("map")
        return [self._run(fn, part) for part in parts]

    def regroup(
        self,
        parts: list[bytes],
        split: Callable[[int, Any], list[tuple[int, Any]]],
        combine: Callable[[list[Any]], Any],
        n_to: int,
    ) -> list[bytes]:
        self.calls.append("regroup")
        sent: dict[int, list[bytes]] = {}
        for number, part in enumerate(parts):
            for target, piece in carried(split)(number, cloudpickle.loads(part)):
                sent.setdefault(int(target), []).append(cloudpickle.dumps(piece))
        return [
            cloudpickle.dumps(
                carried(combine)([cloudpickle.loads(piece) for piece in sent[target]])
            )
            for target in sorted(sent)
        ]

    def reduce(
        self, parts: list[bytes], fn: Callable[[Any], Any], combine: Callable[[Any, Any], Any]
    ) -> Any:
        self.calls.append("reduce")
        values = [cloudpickle.loads(self._run(fn, part)) for part in parts]
        total = values[0]
        for value in values[1:]:
            total = carried(combine)(total, value)
        return total

    def visit(self, parts: list[bytes], i: int, fn: Callable[[Any, Any], Any], value: Any) -> Any:
        self.calls.append("visit")
        return carried(fn)(cloudpickle.loads(parts[i]), carried(value))

    def together(self, parts: list[bytes], fn: Callable[[list[Any]], Any]) -> Any:
        self.calls.append("together")
        return carried(fn)([cloudpickle.loads(part) for part in parts])

    def _run(self, fn: Callable[[Any], Any], part: bytes) -> bytes:
        return cloudpickle.dumps(carried(fn)(cloudpickle.loads(part)))


class OwningEngine(CarryingEngine):
    """A worker that looks whether parts hold their own rows alone."""

    def map(self, parts: list[bytes], fn: Callable[[Any], Any], report: Any = None) -> list[bytes]:
        results = super().map(parts, fn)
        for part in map(cloudpickle.loads, results):
            assert np.array_equal(part.source.numbers, part.rows)
        return results
