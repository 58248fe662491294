"""``widemargin train --linear``: rows that are read from disk block by block."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from widemargin.cli.messages import say, usage_error

if TYPE_CHECKING:
    from widemargin.data import SpooledRows

__all__ = ["spool_file"]


def spool_file(
    estimator: Any, path: Path, *, zero_based: bool | None, spool_dir: Path | None, **options: Any
) -> SpooledRows:
    """Turn a data file into arrays on disk, and say what the reader had to decide."""
    from widemargin.data import DataFileError
    from widemargin.estimators.linear_streaming import spooled

    if spool_dir is not None and not spool_dir.is_dir():
        raise usage_error(f"--spool-dir {spool_dir}: expected a folder that exists.")
    decided = "auto" if zero_based is None else zero_based
    try:
        rows = spooled(
            estimator, path, classes=None, zero_based=decided, spool_dir=spool_dir, **options
        )
    except DataFileError:
        raise
    except ValueError as error:  # The file may be fine; the options are not.
        raise usage_error(str(error)) from None
    for note in rows.notes:
        say(f"note: {note}")
    return rows
