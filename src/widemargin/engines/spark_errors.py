"""Errors of Spark's workers, raised on the driver as errors of one line.

Spark hands an error of a Python worker on as text: its trace, among those of Java. Tasks therefore
add a note to their errors, a line of JSON with the kind of the error and its message. The driver
looks for that line and raises an error of the kind, with Spark's chained below it. The line is
data: kinds are looked up in a table, and nothing of it is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

PREFIX = "widemargin-error: "
KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (ValueError, TypeError, MemoryError, OSError, RuntimeError)
}
# Longer messages are cut.
MOST_CHARACTERS = 2000
ROOM = (
    "Give Python more memory (spark.executor.memoryOverhead), run fewer tasks at a time "
    "(spark.task.cpus), or make parts smaller by making them more"
)
# Deaths that leave no trace of Python: a part of Spark's text, and what to say.
DEATHS = {
    "Python worker exited unexpectedly": f"a Python worker of Spark died, which lack of memory "
    f"often causes. {ROOM}.",
    "ExecutorLostFailure": f"Spark lost an executor, which lack of memory often causes. {ROOM}.",
}
_LINE = re.compile(rf"^\s*{re.escape(PREFIX)}(\{{.*\}})\s*$", re.MULTILINE)

Task = Callable[[Iterable[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Noting:
    """Task of a worker whose errors have the note that the driver looks for."""

    task: Task

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Run the task on some batches."""
        try:
            yield from self.task(batches)
        except Exception as error:
            error.add_note(note_on(error))
            raise


def mapped(frame: Any, task: Task, schema: Any) -> Any:
    """Apply a task to the batches of a DataFrame; the driver can tell its errors."""
    return frame.mapInArrow(Noting(task), schema)


def note_on(error: Exception) -> str:
    """Return the line that tells the driver about an error."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind in KINDS.values()]
    message = " ".join(str(error).split())
    if not kinds:  # not one of those that are raised on purpose
        message = f"a task failed with {type(error).__name__}: {message}"
    kind = kinds[0] if kinds else "RuntimeError"
    return PREFIX + json.dumps({"kind": kind, "message": message[:MOST_CHARACTERS]})


@contextmanager
def errors_of_tasks() -> Iterator[None]:
    """Raise errors of workers as errors of one line, from those of Spark."""
    try:
        yield
    except Exception as error:
        told = _told(error)
        if told is None:
            raise
        raise told from error


def _told(error: Exception) -> Exception | None:
    """Return what a worker said; None if the error is another one."""
    if not _of_spark(error):
        return None
    try:
        text = str(error)
    except Exception:  # it asks the JVM, which may be gone
        return None
    found = _noted(text)
    if found is not None:
        return found
    return next((RuntimeError(what) for death, what in DEATHS.items() if death in text), None)


def _of_spark(error: Exception) -> bool:
    from pyspark.errors import PySparkException

    # The second is raised as it is by classic sessions only; clients of Connect may lack py4j.
    return isinstance(error, PySparkException) or type(error).__name__ == "Py4JJavaError"


def _noted(text: str) -> Exception | None:
    """Return the error of the first note in a text."""
    for line in _LINE.findall(text):
        try:
            note = json.loads(line)
        except (ValueError, RecursionError):  # cut off, or not ours
            continue
        kind, message = note.get("kind"), note.get("message")
        if not isinstance(kind, str) or kind not in KINDS or not isinstance(message, str):
            continue
        message = " ".join(message.split())[:MOST_CHARACTERS]
        if kind == "MemoryError":
            message = f"a task had too little memory ({message or 'no details'}). {ROOM}."
        return KINDS[kind](message)
    return None
