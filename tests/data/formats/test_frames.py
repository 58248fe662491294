"""`read_frame`: tables with cells as they are."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pytest

from widemargin.data import CellError, DataFileError, read, read_frame

MESSY = 'id,age,job,label\n1,39,cook,yes\n2,?,,no\n3, 28 ,"a, b",yes\n'


@pytest.fixture
def frame(tmp_path):
    """Write text to a file and read it."""

    def read_text(text, name="data.csv", **options):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_frame(tmp_path / name, **options)

    return read_text


def test_cells_are_as_they_stand_in_the_file(frame):
    table = frame(MESSY)
    assert list(table.X.columns) == ["id", "age", "job"]
    assert table.X.job.tolist() == ["cook", "", "a, b"]
    assert table.X.age.tolist() == ["39", "?", " 28 "]
    assert table.y.tolist() == ["yes", "no", "yes"]
    assert table.notes == ("labels are taken from column 'label'",)


def test_the_reader_of_numbers_says_why_it_cannot(tmp_path):
    (tmp_path / "data.csv").write_text(MESSY)
    with pytest.raises(CellError, match="line 2: expected a number in column 'job', found 'cook'"):
        read(tmp_path / "data.csv")


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_packed_files_with_a_byte_order_mark(frame, suffix, pack):
    table = frame(pack(b"\xef\xbb\xbf" + MESSY.encode()), name=f"data.csv{suffix}")
    assert table.X.columns[0] == "id"


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_delimiters_beside_decimal_commas(frame, delimiter):
    text = "1,5;2,25;yes\n3,5;4;no\n".replace(";", delimiter)
    table = frame(text)
    assert table.X["column 1"].tolist() == ["1,5", "3,5"]
    assert table.y.tolist() == ["yes", "no"]


def test_the_index_of_a_data_frame_needs_no_name(frame):
    assert frame(",a,label\n0,1,x\n1,2,y\n").X.columns.tolist() == ["Unnamed: 0", "a"]


def test_rows_without_a_label_are_left_out(frame):
    table = frame("a,label\n1,0\n2,?\n3,\n4,1\n")
    assert table.X.a.tolist() == ["1", "4"]
    assert table.y.tolist() == [0, 1]
    assert "2 rows without a label are left out" in table.notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,label\n1,2,x\n1,2\n", "line 3: expected 3 columns, found 2"),
        ("a,label\n", "a header but no rows"),
        ("", "no rows"),
        ("a,label\n1,?\n", "no row has a label"),
        ("a,a,label\n1,2,x\n", "two columns are called 'a'"),
    ],
)
def test_faults(frame, text, message):
    with pytest.raises(DataFileError, match=message):
        frame(text)


def test_dropped_columns(frame):
    assert frame(MESSY, drop=["id", "job"]).X.columns.tolist() == ["age"]
    assert frame("1,a,x\n2,b,y\n", drop=["column 1"]).X.columns.tolist() == ["column 2"]
    with pytest.raises(DataFileError, match="no column is called 'foo'"):
        frame(MESSY, drop=["foo"])


def test_columns_of_a_model_are_taken_by_name(frame):
    table = frame(MESSY, feature_names=["job", "age"], labelled=False, drop=["gone"])
    assert table.X.columns.tolist() == ["job", "age"]
    with pytest.raises(DataFileError, match="missing: 'size'"):
        frame(MESSY, feature_names=["age", "size"])


def test_columns_of_a_model_without_a_header_are_taken_by_position(frame):
    table = frame("1,a,x\n2,b,y\n", feature_names=["column 1", "column 2"])
    assert table.X.columns.tolist() == ["column 1", "column 2"]
    assert table.y.tolist() == ["x", "y"]
    table = frame("1,a\n2,b\n", feature_names=["column 1", "column 2"], labelled=False)
    assert table.X["column 2"].tolist() == ["a", "b"]


def test_parquet_keeps_its_types(tmp_path):
    pytest.importorskip("pyarrow")
    written = pd.DataFrame(
        {
            "when": pd.date_range("2020-01-01", periods=3),
            "job": ["cook", None, "clerk"],
            "age": [1.5, np.nan, 2.0],
            "label": ["x", "y", None],
        }
    )
    written.to_parquet(tmp_path / "data.parquet")
    table = read_frame(tmp_path / "data.parquet")
    assert table.X.when.dtype.kind == "M"
    assert table.X.job.isna().tolist() == [False, True]
    assert table.y.tolist() == ["x", "y"]
    assert len(table.X) == 2


def test_other_formats_are_refused(frame):
    with pytest.raises(DataFileError, match="expected a CSV, TSV or Parquet file, found libsvm"):
        frame("1 1:2\n", name="data.svm")
