"""Output of the commands: messages and warnings on standard error, results on standard output."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer

BAD_FILE, USAGE, INTERRUPTED = 1, 2, 130


def say(message: str) -> None:
    """Print a message on standard error."""
    typer.echo(message, err=True)


def fail(message: str, code: int) -> typer.Exit:
    """Print why the command ends, and return the exception that ends it."""
    say(f"error: {message}")
    return typer.Exit(code)


def usage_error(message: str) -> typer.Exit:
    """Print what is wrong with the command line, and return the exception that ends it."""
    say(f"error: {message}")
    # Options come after the command, whose name is one argument or, for groups, two.
    command = sys.argv[1 : 3 if sys.argv[1:2] in (["gossip"], ["site"], ["study"]) else 2]
    say(f"Try '{' '.join(['widemargin', *command])} --help'.")
    return typer.Exit(USAGE)


@contextmanager
def faults_reported(spelled: Callable[[str], str] = str) -> Iterator[None]:
    """Turn errors that the user can correct into a message and an exit code; let others pass.

    `spelled` renames settings in messages to the options of the command, where these differ.
    """
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # The reader of a pipe has left: typer ends quietly.
    except MemoryError:
        raise fail("not enough memory. Use fewer rows or features.", BAD_FILE) from None
    except OSError as error:
        raise fail(_described(error), BAD_FILE) from None
    except ValueError as error:
        # Data files, model files and estimators all report what is wrong as a ValueError.
        raise fail(spelled(str(error)), BAD_FILE) from None


@contextmanager
def warnings_shown(spelled: Callable[[str], str] = str) -> Iterator[list[str]]:
    """Print warnings as one-line messages when they occur; yield the list that collects them."""
    seen: list[str] = []

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        text = spelled(" ".join(str(message).split()))
        if text not in seen:
            seen.append(text)
            say(f"warning: {text}")

    with warnings.catch_warnings():
        # Columns are matched by name while reading; the matrix itself carries no names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.showwarning = show
        yield seen


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Print what a command did; it has not failed if the reader of a pipe has left by then."""
    try:
        yield
    except BrokenPipeError:
        # Whatever else is printed, and what Python flushes at the end, goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(result: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output, on one line."""
    typer.echo(json.dumps(plain(result), ensure_ascii=False))


def print_summary(
    summary: Mapping[str, Any], rows: Sequence[tuple[str, str]], as_json: bool
) -> None:
    """Print a summary as JSON, or names and values in two columns."""
    with reader_may_leave():
        if as_json:
            print_json(summary)
        else:
            typer.echo(aligned(rows))


def plain(value: Any) -> Any:
    """Convert arrays, scalars and dictionaries to what JSON has; numbers it lacks become null."""
    if hasattr(value, "tolist"):  # NumPy arrays and scalars, without importing NumPy.
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def aligned(rows: Sequence[tuple[str, str]]) -> str:
    """Lay out names and values in two columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _described(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}."
