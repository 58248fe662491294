"""Rows of a CSV or TSV file as text, and its layout: delimiter, header and columns."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from .blocks import Request, excerpt
from .columns import LABEL_NAMES, ChosenColumns, check_names, choose_columns
from .streams import open_stream

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
DELIMITERS = (";", "\t", ",", "|")
#: Lines that show which delimiter a file has.
SNIFFED_LINES = 20


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


@dataclass(frozen=True)
class Header:
    """What the first rows of a file show: how cells are delimited, and the columns' names."""

    delimiter: str
    names: tuple[str, ...] | None
    width: int
    #: Rows up to and including the header; blank lines count.
    rows_before_data: int
    #: Line of the first row.
    line: int


def examine(request: Request, delimiter: str | None) -> DelimitedLayout:
    """Find the layout of a file; without a `delimiter`, its first lines show it."""
    header = find_header(request, delimiter)
    if header.names is not None:
        check_names(request, header.names, header.line)
    columns = choose_columns(request, header.names, header.width)
    return DelimitedLayout(
        header.delimiter, header.names, header.width, columns, header.rows_before_data
    )


def find_header(request: Request, delimiter: str | None) -> Header:
    """Find the delimiter of a file and its header, if it has one."""
    with open_stream(request.path) as stream:
        written = (line for line in _decoded_lines(request, stream) if line.strip("\r\n"))
        lines = list(itertools.islice(written, 1 if delimiter else SNIFFED_LINES))
    if not lines:
        raise request.error("the file has no rows, only blank lines. Was it written completely?")
    if delimiter is None:
        # Where no delimiter suits all lines, the fault will be named with the first that occurs.
        delimiter = sniffed_delimiter(lines) or next((d for d in DELIMITERS if d in lines[0]), ",")

    with open_stream(request.path) as stream:
        rows = enumerate(split_rows(request, stream, delimiter))
        blank_rows, (line, row) = next((i, numbered) for i, numbered in rows if numbered[1])
    cells = tuple(cell.strip() for cell in row)
    if not _is_header(cells, request):
        return Header(delimiter, None, len(row), blank_rows, line)
    if any("\n" in cell or "\r" in cell for cell in cells):
        raise request.error("a column name contains a line break. Is a quote not closed?", line)
    return Header(delimiter, cells, len(row), blank_rows + 1, line)


def sniffed_delimiter(lines: list[str]) -> str | None:
    """Return the delimiter that splits all lines into the same number of cells, at least two.

    Of several, the one with most cells; semicolons before commas where both give as many, because
    commas may be decimal ones. None if there is none.
    """
    best, widest = None, 1
    for delimiter in DELIMITERS:
        try:
            widths = {len(row) for row in csv.reader(lines, delimiter=delimiter) if row}
        except csv.Error:
            continue
        if len(widths) == 1 and (width := widths.pop()) > widest:
            best, widest = delimiter, width
    return best


def _is_header(cells: tuple[str, ...], request: Request) -> bool:
    """Whether the first row names the columns.

    It does if it holds no number at all, or the names that the caller expects, or columns
    numbered from 0 or 1 beside a label column, as data frames without names are written.
    """
    if isinstance(request.label, str) and request.label in cells:
        return True
    if request.feature_names is not None and set(request.feature_names) <= set(cells):
        return True
    if any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells):
        return False
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
    """Yield the first line number and the cells of each row; blank lines have no cells."""
    reader = csv.reader(_decoded_lines(request, stream), delimiter=delimiter)
    while True:
        number = reader.line_num + 1  # a cell in quotes may have several lines
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise request.error(
                f"not a CSV row: {error}. Is a quote not closed?", reader.line_num
            ) from error
        yield number, row


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
            "expected UTF-8 text, found other bytes. Convert the file to UTF-8, from "
            "Latin-1, for example: iconv -f latin1 -t utf-8 old.csv > new.csv",
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
    """Return what is wrong with a label, or None."""
    if not text or text.lower() == "nan":
        return "the row has no label. Remove the row, or give its label."
    if "\0" in text:
        return f"the label {excerpt(text)} contains a NUL byte. Is the file damaged?"
    if "\n" in text or "\r" in text:
        return f"the label {excerpt(text)} contains a line break. Is a quote not closed?"
    return None
