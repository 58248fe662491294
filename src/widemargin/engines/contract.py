"""What an engine offers to algorithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

Value = TypeVar("Value")
# Called in the main thread with the number of parts that are done, and of all parts.
Report: TypeAlias = Callable[[int, int], None]


class Share(NamedTuple):
    """What one part may use while a number of parts are worked on.

    Attributes
    ----------
    sharers : int
        Parts that share the memory limit of one machine; a matter of the parts alone, so that
        results do not depend on threads.
    threads : int
        Threads for each.
    """

    sharers: int
    threads: int


@runtime_checkable
class Engine(Protocol):
    """Where parts live and work is done. ``Parts`` is whatever an engine keeps them in.

    Attributes
    ----------
    in_process : bool
        Whether work is done by threads of this process, which can report progress and be told to
        stop; otherwise nothing of this process goes along with the work.
    """

    in_process: bool

    def share(self, n_parts: int) -> Share:
        """Tell what each of some parts may use."""
        ...

    def stopping(self) -> bool:
        """Tell work in progress whether to give up."""
        ...

    def scatter(self, blocks: Sequence[Any]) -> Any:
        """Place the parts."""
        ...

    def release(self, parts: Any = None) -> None:
        """Free what parts take that nobody will ask for again; all that it keeps if None."""
        ...

    def map(self, parts: Any, fn: Callable[[Any], Any], report: Report | None = None) -> Any:
        """Apply ``fn`` to every part; ``report`` hears how many are done, where that is known."""
        ...

    def regroup(
        self,
        parts: Any,
        split: Callable[[int, Any], list[tuple[int, Any]]],
        combine: Callable[[list[Any]], Any],
        n_to: int,
    ) -> Any:
        """Redistribute: ``split(number, part)`` gives (new number, piece) pairs.

        New numbers are below ``n_to``. The pieces of a new part reach ``combine`` in the order of
        the parts they came from; new parts are in the order of their numbers, and numbers nobody
        addressed make no part.
        """
        ...

    def reduce(
        self,
        parts: Any,
        fn: Callable[[Any], Value],
        combine: Callable[[Value, Value], Value],
    ) -> Value:
        """Combine ``fn(part)`` over all parts, in their order."""
        ...

    def visit(self, parts: Any, i: int, fn: Callable[[Any, Value], Value], value: Value) -> Value:
        """Run ``fn`` on part ``i`` with a value, and return what it makes of the value."""
        ...

    def together(self, parts: Any, fn: Callable[[list[Any]], Value]) -> Value:
        """Run ``fn`` on all parts in one place, which must have room for them."""
        ...
