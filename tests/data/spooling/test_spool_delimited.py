"""CSV and TSV files, spooled by blocks; each test reads with pyarrow and the standard library."""

import gzip
import sys

import numpy as np
import pytest
from spooled_contents import contents

from widemargin.data import DataFileError, read, spool

ARROW_MODULE = "widemargin.data.formats.delimited_arrow"
HEADER = "a,b,label\n"


@pytest.fixture(params=["pyarrow", "standard library"])
def csv(request, tmp_path, monkeypatch):
    """Write text to a CSV file."""
    if request.param == "standard library":
        monkeypatch.setitem(sys.modules, ARROW_MODULE, None)

    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def lines(n_rows):
    """Rows enough for several of pyarrow's blocks of 64 KiB."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n_rows, 2))
    labels = rng.choice(["x", "y", "z"], n_rows)
    return [f"{u:.17g},{v:.17g},{z}\n" for (u, v), z in zip(values, labels, strict=True)]


@pytest.mark.parametrize("block_bytes", [4000, 1 << 25])
def test_same_as_read_whole(csv, block_bytes):
    path = csv(HEADER + "".join(lines(6000)))
    table = read(path)
    blocks = []
    X, y, _ = contents(
        path, block_bytes=block_bytes, report=lambda *progress: blocks.append(progress)
    )
    np.testing.assert_array_equal(X, table.X)
    np.testing.assert_array_equal(y, table.y)
    assert (len(blocks) > 1) == (block_bytes < 1 << 25)


def test_names_and_notes(csv):
    with spool(csv("label,u,v\n0,1,2\n1,3,4\n")) as rows:
        assert rows.feature_names == ("u", "v")
        assert rows.notes == ("labels are taken from column 'label'",)
    with spool(csv("0,1,2\n1,3,4\n"), label=0) as rows:
        np.testing.assert_array_equal(rows.X, [[1, 2], [3, 4]])
        assert rows.feature_names is None


def test_single_precision(csv):
    X, _, _ = contents(csv(HEADER + "0.1,1,0\n2,3,1\n"), dtype=np.float32)
    assert X.dtype == np.float32


def test_tabs(csv):
    X, y, _ = contents(csv("1\t2\t0\n3\t4\t1\n", "data.tsv"))
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(y, [0, 1])


@pytest.mark.parametrize("labels", [("1", "1.0", "2"), ("1", "-1.0", "1"), ("1", "2", "x")])
@pytest.mark.parametrize("text_labels", [False, True])
def test_labels_are_numbers_if_all_are(csv, labels, text_labels):
    path = csv(HEADER + "".join(f"0,0,{label}\n" for label in labels))
    expected = read(path, text_labels=text_labels).y
    _, y, _ = contents(path, block_bytes=1, text_labels=text_labels)
    np.testing.assert_array_equal(y, expected)
    assert y.dtype.kind == expected.dtype.kind


def test_classes_may_be_numbers_or_text(csv):
    path = csv(HEADER + "0,0,1\n0,0,2.0\n0,0,2\n")
    np.testing.assert_array_equal(contents(path, classes=[1, 2])[1], [1, 2, 2])
    np.testing.assert_array_equal(contents(path, classes=["1", "2", "2.0"])[1], ["1", "2.0", "2"])
    with pytest.raises(DataFileError, match=r"row 2: the label '2.0' is not in `classes`"):
        spool(path, classes=["1", "2"])


def test_what_pyarrow_refuses_and_the_standard_library_accepts(csv):
    text = lines(6000)
    text[4000] = "+1,2,x\n"
    path = csv(HEADER + "".join(text))
    X, y, _ = contents(path, block_bytes=4000)
    table = read(path)
    np.testing.assert_array_equal(X, table.X)
    np.testing.assert_array_equal(y, table.y)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("1,2\n", "expected 3 columns, found 2"),
        ("1,,x\n", "column 'b' has no value"),
        ("1,nan,x\n", "expected a finite value"),
        ("1,2,\n", "the row has no label"),
        ("1,\0,x\n", "found a NUL byte"),
    ],
)
@pytest.mark.parametrize("block_bytes", [4000, 1 << 25])
def test_a_bad_line_is_reported_with_its_number_in_the_file(csv, bad, problem, block_bytes):
    text = lines(6000)
    text[5000] = bad
    with pytest.raises(DataFileError, match=problem) as caught:
        spool(csv(HEADER + "".join(text)), block_bytes=block_bytes)
    assert caught.value.line == 5002


def test_cut_off_in_a_line(csv):
    text = HEADER + "".join(lines(100))
    with pytest.raises(DataFileError, match="expected 3 columns, found 1") as caught:
        spool(csv(text[: text.rindex("\n", 0, -1) + 5]))
    assert caught.value.line == 101


def test_packed_file_cut_off(csv):
    data = gzip.compress((HEADER + "".join(lines(6000))).encode())
    path = csv("", "data.csv.gz")
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataFileError, match=r"gzip data is cut short.* after [1-9][\d,]+ bytes"):
        spool(path, block_bytes=4000)


def test_header_alone(csv):
    with pytest.raises(DataFileError, match="a header but no rows"):
        spool(csv(HEADER))


def test_number_of_features(csv):
    with pytest.raises(DataFileError, match="expected 3 feature columns and a label column"):
        spool(csv(HEADER + "0,1,2\n"), n_features=3)
