"""One matrix in memory or mapped: checked, and copied only if it must be."""

import numpy as np
import pytest
from scipy import sparse
from spooled_contents import contents

from widemargin.data import spool

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5)) * (RNG.random((200, 5)) < 0.5)
Y = RNG.choice(["no", "yes"], 200)


def mapped(tmp_path, array):
    np.save(tmp_path / "X.npy", array)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mapped_matrix_is_not_copied(tmp_path, dtype):
    given = mapped(tmp_path, X.astype(dtype))
    with spool((given, Y), block_bytes=300) as rows:
        assert rows.X is given
        assert rows.nbytes == 2 * len(Y)  # The codes of the labels.
        np.testing.assert_array_equal(rows.classes[rows.codes], Y)


def test_matrices_in_memory_are_not_copied():
    for given in (X, sparse.csr_matrix(X)):
        with spool((given, Y), block_bytes=300) as rows:
            assert rows.X is given


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (X.astype(">f8"), np.float64),
        (np.asfortranarray(X), np.float64),
        (X[:, ::-1], np.float64),
        ((X * 9).astype(np.int16), np.float64),
        (X > 0, np.float64),
        (X.astype(np.float16), np.float32),
        (sparse.csc_matrix(X), np.float64),
        (sparse.csr_array(X), np.float64),
        (sparse.csr_matrix(X > 0), np.float64),
    ],
)
def test_other_matrices_are_converted_by_blocks(given, dtype):
    got, y, _ = contents((given, Y), block_bytes=300)
    dense = given.toarray() if sparse.issparse(given) else given
    np.testing.assert_array_equal(got, dense)
    assert got.dtype == dtype
    np.testing.assert_array_equal(y, Y)


def test_type_asked_for():
    with spool((X, Y), dtype=np.float32) as rows:
        assert isinstance(rows.X, np.memmap)
        np.testing.assert_array_equal(rows.X, X.astype(np.float32))


def test_repeated_and_unsorted_entries():
    given = sparse.csr_matrix(([1.0, 2, 4, 8], [1, 0, 1, 0], [0, 3, 4]), shape=(2, 2))
    got, _, _ = contents((given, [0, 1]))
    np.testing.assert_array_equal(got, [[2, 5], [8, 0]])
    assert given.nnz == 4


def test_wide_indices_become_narrow():
    given = sparse.csr_matrix(X)
    given.indices = given.indices.astype(np.int64)
    with spool((given, Y), block_bytes=100) as rows:
        assert rows.X.indices.dtype == np.int32
        np.testing.assert_array_equal(rows.X.toarray(), X)


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    got, y, _ = contents((frame, pandas.Series(Y)))
    np.testing.assert_array_equal(got, X)
    np.testing.assert_array_equal(y, Y)


class TestWeights:
    def test_are_kept(self):
        weights = RNG.random(200) + 0.1
        got = contents((X, Y, weights), block_bytes=300)
        np.testing.assert_array_equal(got[2], weights)

    def test_rows_of_weight_zero_are_left_out(self):
        weights = (np.arange(200) % 3).astype(float)
        got, y, kept = contents((X, Y, weights), block_bytes=300)
        np.testing.assert_array_equal(got, X[weights > 0])
        np.testing.assert_array_equal(y, Y[weights > 0])
        np.testing.assert_array_equal(kept, weights[weights > 0])

    @pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
    def test_of_no_use(self, bad):
        weights = np.ones(200)
        weights[7] = bad
        with pytest.raises(ValueError, match=rf"Row 8: `sample_weight` must be finite.*got {bad}"):
            spool((X, Y, weights))

    def test_all_zero(self):
        with pytest.raises(ValueError, match="At least one `sample_weight` must be positive"):
            spool((X, Y, np.zeros(200)))

    def test_leave_one_class(self):
        with pytest.raises(ValueError, match="two classes with a positive weight"):
            spool((X, Y, (Y == "no").astype(float)))

    def test_wrong_number(self):
        with pytest.raises(ValueError, match=r"must hold 200 weights.*got shape \(3,\)"):
            spool((X, Y, np.ones(3)))


@pytest.mark.parametrize("matrix", [np.array, sparse.csr_matrix])
def test_not_finite(matrix):
    bad = X.copy()
    bad[150, 3] = np.nan
    with pytest.raises(ValueError, match=r"Row 151: expected a finite value \(as float64\).*re 3"):
        spool((matrix(bad), Y), block_bytes=300)


def test_too_large_for_single_precision():
    with pytest.raises(ValueError, match=r"Row 2: expected a finite value \(as float32\)"):
        spool((np.array([[1.0], [1e39]]), [0, 1]), dtype="float32")


def test_index_out_of_range():
    given = sparse.csr_matrix(X)
    given.indices[-1] = 5
    with pytest.raises(ValueError, match="not a CSR matrix"):
        spool((given, Y))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ((X[0], Y), r"shape \(rows, features\); got shape \(5,\)"),
        ((X[:0], Y[:0]), "Expected at least one row; got none"),
        ((X[:, :0], Y), r"got shape \(200, 0\)"),
        ((X.astype(str), Y), "Expected numbers as features"),
        ((X, Y[:3]), r"Expected 200 labels, one a row; got shape \(3,\)"),
        ((X, np.full(200, np.nan)), "Row 1: the label is NaN"),
        ((X, Y.astype(bytes)), "Expected numbers, booleans or text as labels"),
        ((X, np.ones(200)), r"at least two classes are needed; got only one class, 1\.0, in 200"),
    ],
)
def test_nothing_to_learn_from(source, problem):
    with pytest.raises(ValueError, match=problem):
        spool(source)


def test_number_of_features():
    with pytest.raises(ValueError, match="Expected 6 features, as required; got 5"):
        spool((X, Y), n_features=6)


@pytest.mark.parametrize("source", [X, 3, None])
def test_not_a_source(source):
    with pytest.raises(TypeError, match="Rows must come as the path of a file, a tuple"):
        spool(source)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"block_bytes": 0}, "`block_bytes` must be at least 1; got 0"),
        ({"dtype": "int8"}, "`dtype` must be float32 or float64; got int8"),
        ({"format": "csv"}, "`format` applies to files only"),
        ({"label": 0}, "`label` applies to files only"),
        ({"zero_based": True}, "`zero_based` applies to files only"),
        ({"zero_based": False}, "`zero_based` applies to files only"),
        ({"text_labels": True}, "`text_labels` applies to files only"),
        ({"n_features": 0}, "`n_features` must be at least 1; got 0"),
        ({"classes": [1]}, "`classes` must list 2 to 32,767 distinct"),
        ({"classes": [[1, 2]]}, "`classes` must list 2 to 32,767 distinct"),
        ({"classes": [1, None]}, "`classes` must list 2 to 32,767 distinct"),
    ],
)
def test_wrong_options(options, problem):
    with pytest.raises(ValueError, match=problem):
        spool((X, Y), **options)


def test_progress():
    seen = []
    with spool((X, Y), block_bytes=4000, report=lambda *args: seen.append(args)):
        pass
    assert seen == [(4000, 8000, 100), (8000, 8000, 200)]
