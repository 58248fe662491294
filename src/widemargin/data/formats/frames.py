"""Read tables as they are: cells of text, blanks and all, into a data frame."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from ...core.missing_marks import lowered
from .blocks import Request, Table, numbers_or_text
from .columns import ChosenColumns, check_names, choose_columns
from .delimited_layout import find_header, label_fault, split_rows
from .parquet import read_parquet
from .reading import checked_request
from .streams import open_stream


def read_frame(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    label: str | int | None = None,
    labelled: bool = True,
    feature_names: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    text_labels: bool = False,
) -> Table:
    """Read a CSV, TSV or Parquet file into a data frame, with its cells as they are.

    Parameters
    ----------
    path : path-like
        The file. CSV and TSV may be packed (``.gz``, ``.bz2``, ``.xz``).
    format : {"csv", "tsv", "parquet"}, default=None
        None finds it from the name, or from the first lines.
    label, labelled, feature_names, text_labels
        As for :func:`read`.
    drop : sequence of str, default=()
        Names of columns to leave out; ``column 1``, ``column 2``, … in a file without a header.

    Returns
    -------
    Table
        Its ``X`` is a :class:`pandas.DataFrame`: text as it stands in a CSV or TSV file, the types
        that a Parquet file declares. Rows without a label are left out, with a note.

    Raises
    ------
    DataFileError
        If the file is missing, damaged or malformed, with the line where there is one.
    """
    request, name = checked_request(
        path,
        format=format,
        label=label,
        labelled=labelled,
        n_features=None,
        feature_names=feature_names,
        zero_based="auto",
        text_labels=text_labels,
        dtype=None,
    )
    if name == "parquet":
        return _read_parquet(request, drop)
    if name not in ("csv", "tsv"):
        raise request.error(f"expected a CSV, TSV or Parquet file, found {name}.")
    return _read_delimited(request, "\t" if name == "tsv" else None, drop)


def _read_delimited(request: Request, delimiter: str | None, drop: Sequence[str]) -> Table:
    header = find_header(request, delimiter)
    names = [f"column {i + 1}" for i in range(header.width)]
    if header.names is not None:
        # The row index of a data frame has no name; pandas calls it so when it reads one.
        names = [name or f"Unnamed: {i}" for i, name in enumerate(header.names)]
        check_names(request, names, header.line)
    columns = _chosen(request, names, drop, headed=header.names is not None)
    rows: list[list[str]] = []
    with open_stream(request.path) as stream:
        numbered = split_rows(request, stream, header.delimiter)
        for line, row in itertools.islice(numbered, header.rows_before_data, None):
            if not row:
                continue
            if len(row) != header.width:
                raise request.error(
                    f"expected {header.width} columns, found {len(row)}. Give every line as many "
                    "cells as the first, or quote cells that hold the delimiter.",
                    line,
                )
            rows.append(row)
    if not rows:
        raise request.error("the file has a header but no rows of data.")
    labels = None
    if columns.label is not None:
        labels = np.array([row[columns.label].strip() for row in rows], dtype=object)
    cells = {names[i]: _objects([row[i] for row in rows]) for i in columns.features}
    return _table(request, cells, labels, columns, names)


def _read_parquet(request: Request, drop: Sequence[str]) -> Table:
    frame = read_parquet(request)
    names = list(frame.columns)
    check_names(request, names)
    if frame.empty:
        raise request.error("the file has no rows. Was it written completely?")
    columns = _chosen(request, names, drop, headed=True)
    labels = None
    if columns.label is not None:
        found = frame[names[columns.label]]
        kind = found.dtype.kind if isinstance(found.dtype, np.dtype) else "O"
        if kind in "iub":
            labels = found.to_numpy()
        else:
            labels = _objects(["" if blank else str(x).strip() for x, blank in _cells(found)])
    cells = {names[i]: frame[names[i]] for i in columns.features}
    return _table(request, cells, labels, columns, names)


def _cells(column: Any) -> Any:
    return zip(column.tolist(), column.isna().tolist(), strict=True)


def _chosen(
    request: Request, names: list[str], drop: Sequence[str], *, headed: bool
) -> ChosenColumns:
    """Choose features and label among the columns that are not dropped."""
    unknown = [name for name in drop if name not in names]
    # A second file may lack what was dropped from the first.
    if unknown and request.feature_names is None:
        raise request.error(f"no column is called {unknown[0]!r}, so it cannot be dropped.")
    kept = [i for i, name in enumerate(names) if name not in set(drop)]
    if not headed and request.feature_names is not None:
        # By position: the names are those of the model.
        chosen = choose_columns(replace(request, feature_names=None), None, len(kept))
    else:
        chosen = choose_columns(request, [names[i] for i in kept] if headed else None, len(kept))
    return ChosenColumns(
        tuple(kept[i] for i in chosen.features),
        None if chosen.label is None else kept[chosen.label],
        chosen.notes,
    )


def _table(
    request: Request,
    cells: dict[str, Any],
    labels: Any,
    columns: ChosenColumns,
    names: Sequence[str],
) -> Table:
    import pandas

    frame = pandas.DataFrame(cells)
    if request.feature_names is not None and len(request.feature_names) == frame.shape[1]:
        frame.columns = list(request.feature_names)
    notes = list(columns.notes)
    if labels is not None and labels.dtype == object:
        frame, labels = _labelled_rows(request, frame, labels, notes)
    label_name = None if columns.label is None else names[columns.label]
    return Table(frame, labels, tuple(frame.columns), tuple(notes), label_name=label_name)


def _labelled_rows(request: Request, frame: Any, labels: Any, notes: list[str]) -> tuple[Any, Any]:
    """Leave out rows without a label, and turn the others' to numbers where all are numbers."""
    import pandas

    codes, distinct = pandas.factorize(labels)
    marks = lowered()
    blank = np.array([text.lower() in marks for text in distinct], dtype=bool)
    for text in distinct[~blank]:
        if fault := label_fault(text):
            raise request.error(fault)
    keep = ~blank[codes]
    if not keep.any():
        raise request.error("no row has a label. Check the label column.")
    if not keep.all():
        notes.append(f"rows without a label, {np.count_nonzero(~keep):,}, are left out")
        frame, codes = frame[keep].reset_index(drop=True), codes[keep]
    order = np.cumsum(~blank) - 1
    texts = [str(text) for text in distinct[~blank]]
    values = np.array(texts, dtype=str) if request.text_labels else numbers_or_text(texts)
    return frame, values[order[codes]]


def _objects(cells: list[Any]) -> Any:
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    return values
