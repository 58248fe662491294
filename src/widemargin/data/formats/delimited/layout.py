"""Delimiter, header and columns of a CSV or TSV file, from its first row."""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.data.formats.columns import LABEL_NAMES, Columns, check_names, choose_columns
from widemargin.data.formats.delimited.rows import decoded_lines, is_number, split_rows
from widemargin.data.formats.streams import open_stream
from widemargin.data.formats.table import DataFileError, Request

__all__ = ["Layout", "examine"]


@dataclass(frozen=True)
class Layout:
    """What the first row says about a file."""

    delimiter: str
    names: tuple[str, ...] | None
    width: int
    columns: Columns
    #: Rows up to and including the header; blank lines count.
    rows_before_data: int

    def describe(self, column: int) -> str:
        """Return how a message refers to a column."""
        return f"column {column + 1}" if self.names is None else f"column {self.names[column]!r}"


def examine(request: Request, delimiter: str | None) -> Layout:
    """Find out how a file is laid out.

    Parameters
    ----------
    request : Request
        What the caller asked for.
    delimiter : str or None
        None takes the first of comma, semicolon and tab that the first line has.

    Returns
    -------
    Layout
        Delimiter, names and columns.
    """
    with open_stream(request.path) as stream:
        written = (line for line in decoded_lines(request, stream) if line.strip("\r\n"))
        first_line = next(written, None)
    if first_line is None:
        raise DataFileError(request.path, "the file has no rows. Was it written completely?")
    if delimiter is None:
        delimiter = next((mark for mark in ",;\t" if mark in first_line), ",")

    with open_stream(request.path) as stream:
        rows = enumerate(split_rows(request, stream, delimiter))
        blank_rows, (line, row) = next((i, numbered) for i, numbered in rows if numbered[1])
    width = len(row)
    cells = tuple(cell.strip() for cell in row)
    if not _is_header(cells, request):
        columns = choose_columns(request, None, width)
        return Layout(delimiter, None, width, columns, blank_rows)
    if any("\n" in cell or "\r" in cell for cell in cells):
        raise DataFileError(
            request.path, "a column name contains a line break. Is a quote not closed?", line
        )
    check_names(request, cells, line)
    columns = choose_columns(request, cells, width)
    return Layout(delimiter, cells, width, columns, blank_rows + 1)


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
