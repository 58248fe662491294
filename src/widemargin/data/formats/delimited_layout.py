"""Rows of a CSV or TSV file as text, and its layout: delimiter, header and columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from .blocks import Request, excerpt
from .columns import LABEL_NAMES, ChosenColumns, check_names, choose_columns
from .streams import open_stream


@dataclass(frozen=True)
class DelimitedLayout:
    """The layout of a file, as its first row shows it."""

    delimiter: str
    names: tuple[str, ...] | None
    width: int
    columns: ChosenColumns
    #: Rows up to and including the header; blank lines count.
    rows_before_data: int

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the feature columns, in the order of the matrix."""
        return self.names and tuple(self.names[i] for i in self.columns.features)

    def describe(self, column: int) -> str:
        """Return the name of a column for messages."""
        return f"column {column + 1}" if self.names is None else f"column {self.names[column]!r}"


def examine(request: Request, delimiter: str | None) -> DelimitedLayout:
    """Find the layout of a file.

    Without a `delimiter`, it is the first of comma, semicolon and tab that the first line has.
    """
    with open_stream(request.path) as stream:
        written = (line for line in _decoded_lines(request, stream) if line.strip("\r\n"))
        first_line = next(written, None)
    if first_line is None:
        raise request.error("the file has no rows, only blank lines. Was it written completely?")
    if delimiter is None:
        delimiter = next((mark for mark in ",;\t" if mark in first_line), ",")

    with open_stream(request.path) as stream:
        rows = enumerate(split_rows(request, stream, delimiter))
        blank_rows, (line, row) = next((i, numbered) for i, numbered in rows if numbered[1])
    width = len(row)
    cells = tuple(cell.strip() for cell in row)
    if not _is_header(cells, request):
        columns = choose_columns(request, None, width)
        return DelimitedLayout(delimiter, None, width, columns, blank_rows)
    if any("\n" in cell or "\r" in cell for cell in cells):
        raise request.error("a column name contains a line break. Is a quote not closed?", line)
    check_names(request, cells, line)
    columns = choose_columns(request, cells, width)
    return DelimitedLayout(delimiter, cells, width, columns, blank_rows + 1)


def _is_header(cells: tuple[str, ...], request: Request) -> bool:
    """Whether the first row names the columns.

    It does if it holds no number at all, or the names that the caller expects, or columns
    numbered from 0 or 1 beside a label column, as data frames without names are written.
    """
    if isinstance(request.label, str) and request.label in cells:
        return True
    if request.feature_names is not None and set(request.feature_names) <= set(cells):
        return True
    numbers = [cell for cell in cells if is_number(cell)]
    if not numbers:
        return True
    rest = [cell.lower() for cell in cells if not is_number(cell)]
    numbered = [[str(i + base) for i in range(len(numbers))] for base in (0, 1)]
    # Not beside `y`: "1,2,y" may as well be data whose labels are y and n.
    return rest in [[name] for name in LABEL_NAMES[0]] and numbers in numbered


def split_rows(
    request: Request, stream: BinaryIO, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line number and the cells of each row; blank lines have no cells."""
    reader = csv.reader(_decoded_lines(request, stream), delimiter=delimiter)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise request.error(
                f"not a CSV row: {error}. Is a quote not closed?", reader.line_num
            ) from error
        yield reader.line_num, row


def _decoded_lines(request: Request, stream: BinaryIO) -> Iterator[str]:
    """Yield lines with their ends; raise a `DataFileError` at one that is not UTF-8 text."""
    # Surrogates stand in for bad bytes, so that the line with them can be named.
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        for number, line in enumerate(text, start=1):
            if not line.isascii():
                _check_utf8(request, line, number)
            if "\0" in line:  # pyarrow and the standard library read it differently.
                raise request.error("expected text, found a NUL byte. Is the file damaged?", number)
            yield line
    finally:
        # The stream belongs to the caller, who may read on or has closed it.
        with suppress(ValueError):
            text.detach()


def _check_utf8(request: Request, line: str, number: int) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        raise request.error(
            "expected UTF-8 text, found other bytes. Convert the file to UTF-8.", number
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
    """Return what is wrong with a label, or None."""
    if not text or text.lower() == "nan":
        return "the row has no label. Remove the row, or give its label."
    if "\0" in text:
        return f"the label {excerpt(text)} contains a NUL byte. Is the file damaged?"
    if "\n" in text or "\r" in text:
        return f"the label {excerpt(text)} contains a line break. Is a quote not closed?"
    return None
