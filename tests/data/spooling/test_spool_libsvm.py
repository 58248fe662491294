"""LIBSVM files, spooled by blocks."""

import gzip

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file
from spooled_contents import contents

from widemargin.data import DataFileError, read, spool

#: Some rows of a file, so that there are many blocks.
SMALL = 400


@pytest.fixture
def svm(tmp_path):
    def write(text, name="data.svm"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


@pytest.fixture(params=[False, True], ids=["from 1", "from 0"])
def random_file(request, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.3)
    X[-1, [0, -1]] = 1.0  # The base of the indices is certain in the last block only.
    X[:-1, 0] = 0.0
    path = tmp_path / "random.svm"
    dump_svmlight_file(X, rng.integers(-1, 3, 300), str(path), zero_based=request.param)
    return path


@pytest.mark.parametrize("block_bytes", [1, SMALL, 5000, 1 << 25])
def test_same_as_read_whole(random_file, block_bytes):
    table = read(random_file)
    X, y, weights = contents(random_file, block_bytes=block_bytes)
    np.testing.assert_array_equal(X, table.X.toarray())
    np.testing.assert_array_equal(y, table.y)
    assert y.dtype == table.y.dtype
    assert weights is None


def test_arrays_are_mapped_and_of_fixed_types(random_file):
    with spool(random_file, block_bytes=SMALL, dtype=np.float32) as rows:
        assert isinstance(rows.X, csr_matrix)
        for array, dtype in (
            (rows.X.data, np.float32),
            (rows.X.indices, np.int32),
            (rows.X.indptr, np.int64),
            (rows.codes, np.int16),
        ):
            assert isinstance(array, np.memmap)
            assert array.dtype == dtype
            assert not array.flags.writeable
        rows.X.check_format(full_check=True)
        w = np.arange(12.0)
        np.testing.assert_allclose(rows.X @ w, rows.X.toarray() @ w)


def test_note_about_the_base(svm):
    with spool(svm("1 1:1\n-1 0:1\n"), block_bytes=1) as rows:
        assert rows.notes == ("feature indices count from 0",)
    with spool(svm("1 1:1\n-1 2:1\n"), block_bytes=1) as rows:
        assert rows.notes == ()


def test_packed(random_file):
    packed = random_file.with_suffix(".svm.gz")
    packed.write_bytes(gzip.compress(random_file.read_bytes()))
    for got, expected in zip(
        contents(packed, block_bytes=SMALL), contents(random_file), strict=True
    ):
        np.testing.assert_array_equal(got, expected)


def test_last_line_without_an_end_comments_and_empty_lines(svm):
    X, y, _ = contents(svm("# first\n\n1 1:2 # x\n\n# more\n\n-1 3:4"), block_bytes=1)
    np.testing.assert_array_equal(X, [[2, 0, 0], [0, 0, 4]])
    np.testing.assert_array_equal(y, [1, -1])


def test_rows_without_values(svm):
    X, _, _ = contents(svm("1\n-1\n"), block_bytes=1)
    np.testing.assert_array_equal(X, [[0], [0]])


def test_labels_that_are_not_whole_must_be_named(svm):
    path = svm("1 1:1\n2 1:1\n0.5 1:1\n")
    with pytest.raises(ValueError, match=r"unknown label type: continuous.* got 0\.5\."):
        spool(path, block_bytes=1)
    _, y, _ = contents(path, block_bytes=1, classes=[0.5, 1, 2])
    np.testing.assert_array_equal(y, [1, 2, 0.5])


@pytest.mark.parametrize("block_bytes", [1, SMALL, 1 << 25])
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("1 12:", "expected `index:value`"),
        ("1 12", "expected `index:value`"),
        ("x 1:1", "expected a number as the label"),
        ("1 1:nan", "expected a finite value"),
        ("1 2:1 1:1", "must increase"),
        ("1 99999999999:1", "at most 2147483647"),
    ],
)
def test_a_bad_line_is_reported_with_its_number_in_the_file(svm, bad, problem, block_bytes):
    good = "".join(f"{(-1) ** i} 1:{i} 2:1\n" for i in range(100))
    with pytest.raises(DataFileError, match=problem) as caught:
        spool(svm(f"{good}# note\n\n{bad}"), block_bytes=block_bytes)
    assert caught.value.line == 103


def test_index_zero_where_indices_must_count_from_one(svm):
    with pytest.raises(DataFileError, match=r"line 2: feature indices count from 1; found 0"):
        spool(svm("1 1:1\n1 0:1\n"), block_bytes=1, zero_based=False)


def test_the_rows_say_what_indices_count_from(svm):
    with spool(svm("1 1:1\n-1 0:1\n"), block_bytes=1) as rows:
        assert rows.zero_based is True
    with spool(svm("1 1:1\n-1 2:1\n"), block_bytes=1) as rows:
        assert rows.zero_based is False


@pytest.mark.filterwarnings("ignore:.*may count from 0")
class TestNumberOfFeatures:
    def test_more_than_the_file_uses(self, svm):
        with spool(svm("1 1:1\n-1 2:1\n"), n_features=7) as rows:
            assert rows.n_features == 7

    def test_fewer(self, svm):
        with pytest.raises(DataFileError, match=r"line 2: expected 2 features.*found index 3"):
            spool(svm("1 1:1\n-1 3:1\n1 1:1\n"), n_features=2, block_bytes=1)

    def test_fewer_because_the_last_line_counts_from_zero(self, svm):
        with pytest.raises(DataFileError, match=r"line 1: expected 2 features \(indices up to 1\)"):
            spool(svm("1 2:1\n-1 1:1\n1 0:1\n"), n_features=2, block_bytes=1)


def test_packed_file_cut_off(random_file):
    # Text that packs badly, so that the cut lies far from the beginning.
    packed = random_file.with_suffix(".svm.gz")
    data = gzip.compress(random_file.read_bytes() * 20)
    packed.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataFileError, match=r"gzip data is cut short.* after [\d,]+ bytes") as got:
        spool(packed, block_bytes=SMALL)
    where = int(str(got.value).split(" after ")[1].split(" bytes")[0].replace(",", ""))
    assert 0 < where < 20 * random_file.stat().st_size


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_no_rows(svm, text):
    with pytest.raises(DataFileError, match="has no rows"):
        spool(svm(text))


def test_label_not_in_classes_is_named_with_its_row(svm):
    with pytest.raises(DataFileError, match=r"row 3: the label 5 is not in `classes`, \[-1, 1\]"):
        spool(svm("1 1:1\n-1 1:1\n5 1:1\n"), classes=[1, -1], block_bytes=1)


def test_label_column_makes_no_sense(svm):
    with pytest.raises(ValueError, match="the label begins each line"):
        spool(svm("1 1:1\n"), label="y")
