"""Files of sites, read by a schema: columns by name, in any order and any way of writing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin.data import DataFileError
from widemargin.sites.preparation.site_table import read_table
from widemargin.sites.studies.schema import Schema, SchemaColumn

SCHEMA = Schema(
    (
        SchemaColumn("height", "number"),
        SchemaColumn("job", "category"),
        SchemaColumn("member", "boolean", words=("no", "yes")),
        SchemaColumn("since", "date"),
    ),
    "class",
    ("a", "b"),
    ignored=("id",),
)
LINES = (
    "height,job,member,since,class",
    "1.5,cook,yes,2024-01-02,a",
    "2.5,,no,2024-02-03,b",
    "?,smith,no,,a",
)


def table(tmp_path: Any, *lines: str, schema: Schema = SCHEMA, **options: Any) -> Any:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_table(path, schema, **options)


def test_columns_are_matched_by_name_in_any_order(tmp_path: Any) -> None:
    one = table(tmp_path, *LINES)
    other = table(
        tmp_path,
        "class;since;colour;id;job;height;member",
        "a;02.01.2024;red;1;cook;1,5;ja",
        "b;03.02.2024;red;2;NA;2,5;nein",
        "a;;blue;3; smith;;nein",
    )
    np.testing.assert_array_equal(one.cleaned.number_matrix, other.cleaned.number_matrix)
    np.testing.assert_array_equal(one.cleaned.category_matrix, other.cleaned.category_matrix)
    np.testing.assert_array_equal(one.codes, [0, 1, 0])
    np.testing.assert_array_equal(other.codes, [0, 1, 0])
    assert one.number_names == ["height", "member", "since"]
    assert one.class_counts == {"a": 2, "b": 1}
    assert other.notes == ("columns that the study does not have are ignored: 'colour'",)
    assert one.notes == ()


def test_missing_columns_are_named(tmp_path: Any) -> None:
    with pytest.raises(DataFileError, match=r"missing: 'job', 'since'\. Found 'height', 'member'"):
        table(tmp_path, "height,member,class", "1,yes,a")
    with pytest.raises(DataFileError, match="no column is called 'class'"):
        table(tmp_path, "height,job,member,since", "1,x,yes,2024-01-02")
    renamed = table(tmp_path, LINES[0].replace("class", "result"), *LINES[1:], label="result")
    assert renamed.n_rows == 3


def test_cells_that_cannot_be_read_are_named_by_row(tmp_path: Any) -> None:
    rows = [f"{k},cook,yes,2024-01-02,{'ab'[k % 2]}" for k in range(60)]
    rows[41] = "tall,cook,yes,2024-01-02,a"
    few = table(tmp_path, LINES[0], *rows)
    assert few.notes == (
        "1 cells of 'height' are no numbers and count as missing: 'tall' in row 42",
    )
    assert np.isnan(few.cleaned.number_matrix[41, 0])
    rows[:30] = [row.replace("2024-01-02", f"day {k}") for k, row in enumerate(rows[:30])]
    with pytest.raises(DataFileError, match=r"'since' must hold dates.*30 of 60.*'day 0' in row 1"):
        table(tmp_path, LINES[0], *rows)


def test_labels_must_be_classes(tmp_path: Any) -> None:
    with pytest.raises(DataFileError, match="expected the classes 'a', 'b', found 'c' in row 4"):
        table(tmp_path, *LINES, "1,cook,yes,2024-01-02,c")
    numbers = Schema(SCHEMA.columns, "class", (0, 1))
    with pytest.raises(DataFileError, match="found text such as 'a'"):
        table(tmp_path, *LINES, schema=numbers)
    rows = [line[:-1] + "01"[k % 2] for k, line in enumerate(LINES[1:])]
    np.testing.assert_array_equal(table(tmp_path, LINES[0], *rows, schema=numbers).codes, [0, 1, 0])


def test_rows_without_names_are_read_by_position(tmp_path: Any) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("+1 1:0.5 7:1\n-1 2:3\n")
    rows = read_table(path, Schema((), None, (-1, 1), n_features=9), zero_based=False)
    assert rows.X.shape == (2, 9)
    np.testing.assert_array_equal(rows.codes, [1, 0])
    with pytest.raises(DataFileError, match="found libsvm, which has no names"):
        read_table(path, SCHEMA)


def test_a_file_without_header_is_matched_if_the_example_had_none(tmp_path: Any) -> None:
    columns = (SchemaColumn("column 1", "number"), SchemaColumn("column 2", "number"))
    schema = Schema(columns, "column 3", (0, 1))
    assert table(tmp_path, "1.5,2,0", "3,4,1", schema=schema).n_rows == 2
    with pytest.raises(DataFileError, match="missing"):
        table(tmp_path, "1.5,2,a,x,a", "3,4,b,y,b", label=-1)
