"""Lines and rows of a CSV or TSV file, with their numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from widemargin.data.formats.table import DataFileError, Request, excerpt

__all__ = ["decoded_lines", "is_number", "label_fault", "split_rows"]


def split_rows(
    request: Request, stream: BinaryIO, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line number and the cells of each row; blank lines have no cells."""
    reader = csv.reader(decoded_lines(request, stream), delimiter=delimiter)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataFileError(
                request.path, f"not a CSV row: {error}. Is a quote not closed?", reader.line_num
            ) from error
        yield reader.line_num, row


def decoded_lines(request: Request, stream: BinaryIO) -> Iterator[str]:
    """Yield lines with their ends, refusing any that is not text in UTF-8."""
    # Surrogates stand in for bad bytes, so that the line with them can be named.
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        for number, line in enumerate(text, start=1):
            if not line.isascii():
                _check_utf8(request, line, number)
            if "\0" in line:  # pyarrow and the standard library part ways over it
                raise DataFileError(
                    request.path, "expected text, found a NUL byte. Is the file damaged?", number
                )
            yield line
    finally:
        # The stream belongs to the caller, who may want to read on, or has closed it.
        with suppress(ValueError):
            text.detach()


def _check_utf8(request: Request, line: str, number: int) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        raise DataFileError(
            request.path,
            "expected UTF-8 text, found other bytes. Convert the file to UTF-8.",
            number,
        ) from None


def is_number(text: str) -> bool:
    """Whether a cell is a number; Python's digit groups (``1_000``) are not."""
    if "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def label_fault(text: str) -> str | None:
    """Say what is wrong with a label, or return None."""
    if not text or text.lower() == "nan":
        return "the row has no label. Remove the row, or give its label."
    if "\0" in text:
        return f"the label {excerpt(text)} contains a NUL byte. Is the file damaged?"
    if "\n" in text or "\r" in text:
        return f"the label {excerpt(text)} contains a line break. Is a quote not closed?"
    return None
