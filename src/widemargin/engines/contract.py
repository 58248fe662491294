"""The interface between algorithms and engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

Value = TypeVar("Value")
# Called in the main thread with the number of finished parts and of all parts.
Report: TypeAlias = Callable[[int, int], None]


class Share(NamedTuple):
    """Resources of one part while several are worked on.

    Attributes
    ----------
    sharers : int
        Number of parts that share the memory limit of one machine. It depends on the number of
        parts alone, so that results do not depend on threads.
    threads : int
        Threads of each part.
    """

    sharers: int
    threads: int


@dataclass(frozen=True)
class Cheap:
    """Function for ``map`` that costs next to nothing.

    Engines may call it whenever a part is read, and need not store what it returns.
    """

    fn: Callable[[Any], Any]

    def __call__(self, part: Any) -> Any:
        """Call the function."""
        return self.fn(part)


@runtime_checkable
class Engine(Protocol):
    """Keeper of parts that runs functions on them; see :mod:`widemargin.engines` for the verbs.

    ``parts`` is a collection of any type that the engine chooses.

    Attributes
    ----------
    in_process : bool
        Whether threads of this process do the work, and can therefore report progress and be
        stopped; functions are pickled otherwise.
    """

    in_process: bool

    def share(self, n_parts: int) -> Share:
        """Return the resources of each of ``n_parts`` parts."""
        ...

    def stopping(self) -> bool:
        """Return whether work in progress should stop."""
        ...

    def scatter(self, blocks: Sequence[Any]) -> Any:
        """Place the parts."""
        ...

    def release(self, parts: Any = None) -> None:
        """Free parts that are no longer needed; all parts of this engine if None."""
        ...

    def map(self, parts: Any, fn: Callable[[Any], Any], report: Report | None = None) -> Any:
        """Apply ``fn`` to every part; call ``report`` with the progress, where it is known."""
        ...

    def regroup(
        self,
        parts: Any,
        split: Callable[[int, Any], list[tuple[int, Any]]],
        combine: Callable[[list[Any]], Any],
        n_to: int,
    ) -> Any:
        """Redistribute: ``split(number, part)`` returns (new number, piece) pairs.

        New numbers are below ``n_to``. The pieces of a new part reach ``combine`` in the order of
        their sources; new parts are in the order of their numbers, and numbers without pieces make
        no part.
        """
        ...

    def reduce(
        self, parts: Any, fn: Callable[[Any], Value], combine: Callable[[Value, Value], Value]
    ) -> Value:
        """Combine ``fn(part)`` over all parts, in their order."""
        ...

    def visit(self, parts: Any, i: int, fn: Callable[[Any, Value], Value], value: Value) -> Value:
        """Run ``fn`` on part ``i`` with a value, and return the result."""
        ...

    def together(self, parts: Any, fn: Callable[[list[Any]], Value]) -> Value:
        """Run ``fn`` on all parts in one place, which must have the memory for them."""
        ...
