"""Batches: a list, a function, a generator."""

import numpy as np
import pytest
from scipy import sparse
from spooled_contents import contents

from widemargin.data import spool

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)) * (RNG.random((90, 3)) < 0.6)
Y = RNG.integers(0, 4, 90)
W = RNG.random(90) + 0.1
CUTS = [slice(0, 20), slice(20, 70), slice(70, 90)]


def batches(matrix=np.asarray, weighted=False):
    for cut in CUTS:
        batch = (matrix(X[cut]), Y[cut])
        yield (*batch, W[cut]) if weighted else batch


@pytest.mark.parametrize(
    "source",
    [lambda: list(batches()), lambda: batches, batches, lambda: tuple(batches())],
    ids=["list", "function", "generator", "tuple"],
)
@pytest.mark.parametrize("block_bytes", [1, 200, 1 << 25])
def test_kinds_of_iterables(source, block_bytes):
    got, y, weights = contents(source(), block_bytes=block_bytes)
    np.testing.assert_array_equal(got, X)
    np.testing.assert_array_equal(y, Y)
    assert weights is None


@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_weighted_dense_and_sparse(matrix):
    got = contents(batches(matrix, weighted=True), block_bytes=100)
    for array, expected in zip(got, (X, Y, W), strict=True):
        np.testing.assert_array_equal(array, expected)


def test_two_batches_in_a_list_are_not_taken_for_a_pair_of_arrays():
    pair = [(X[:40], Y[:40]), (X[40:], Y[40:])]
    for source in (pair, tuple(pair)):
        np.testing.assert_array_equal(contents(source)[0], X)


def test_batches_of_two_types():
    with pytest.raises(ValueError, match=r"Batch 2: .* Convert all batches to one of them"):
        spool([(X, Y), (X.astype(np.float32), Y)])


def test_one_pair_of_lists():
    got, y, weights = contents(([[1, 2], [3, 4]], ["a", "b"], [1, 2]))
    np.testing.assert_array_equal(got, [[1, 2], [3, 4]])
    assert y.tolist() == ["a", "b"]
    assert weights.tolist() == [1, 2]
    batches = ([[[1, 2], [3, 4]], ["a", "b"]], [[[5, 6]], ["a"]])
    np.testing.assert_array_equal(contents(batches)[0], [[1, 2], [3, 4], [5, 6]])


def test_batches_of_lists():
    got, y, _ = contents([([[1, 2], [3, 4]], ["a", "b"])])
    np.testing.assert_array_equal(got, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(y, ["a", "b"])


def test_float32_is_kept():
    def single(rows):
        return np.asarray(rows, dtype=np.float32)

    assert contents(batches(single))[0].dtype == np.float32


def test_progress_counts_what_is_written():
    seen = []
    with spool(batches(), report=lambda *args: seen.append(args)) as rows:
        assert seen[-1] == (rows.nbytes, None, 90)
    assert [rows for _, _, rows in seen] == [20, 70, 90]


class TestLabels:
    def test_classes_come_in_order(self):
        with spool([(X[:2], ["b", "c"]), (X[:2], ["a", "ccc"])]) as rows:
            assert rows.classes.tolist() == ["a", "b", "c", "ccc"]
            assert rows.codes.tolist() == [1, 2, 0, 3]

    def test_given_classes_may_be_absent(self):
        with spool([(X[:2], [3, 1])], classes=[5, 3, 1]) as rows:
            assert rows.classes.tolist() == [1, 3, 5]
            assert rows.codes.tolist() == [1, 0]
            assert rows.class_totals.tolist() == [1, 1, 0]

    def test_integers_then_floats(self):
        with spool([(X[:2], [3, 1]), (X[:2], [0.0, 1.0])]) as rows:
            assert rows.classes.tolist() == [0.0, 1.0, 3.0]
            assert rows.codes.tolist() == [2, 1, 0, 1]

    @pytest.mark.parametrize("dtype", [np.int8, np.uint16, bool])
    def test_type_of_the_classes(self, dtype):
        with spool([(X[:2], np.array([0, 1], dtype=dtype))]) as rows:
            assert rows.classes.dtype == dtype

    def test_text_in_object_arrays(self):
        with spool([(X[:2], np.array(["u", "v"], dtype=object))], classes=["u", "v"]) as rows:
            assert rows.codes.tolist() == [0, 1]


def with_batch(number, batch):
    several = list(batches())
    several[number - 1] = batch
    return several


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        ((X[:5, :2], Y[:5]), "expected 3 features, as in the rows before; got 2"),
        ((X[:0], Y[:0]), "expected at least one row; got none"),
        ((X[0], Y[:1]), r"shape \(rows, features\); got shape \(3,\)"),
        ((np.where(np.arange(90)[:, None] == 4, np.nan, X), Y), r"row 5: expected a finite value"),
        ((X[:5], [0, 1, 9, 0, 1]), r"row 3: the label 9 is not in `classes`, \[0, 1, 2, 3\]"),
        ((X[:5], list("01234")), r"row 1: the label '0' is not in `classes`"),
        ((X[:5].astype(np.float32), Y[:5]), "features are float32, those before float64"),
        ((sparse.csr_matrix(X[:5]), Y[:5]), "the rows are sparse, those before dense"),
        ((X[:5], Y[:5], W[:5]), "has `sample_weight`, the rows before have none"),
        ((X[:5],), r"expected a tuple \(X, y\).*got tuple of length 1"),
        (X[:5], r"expected a tuple \(X, y\).*got ndarray"),
        ((X[:5], Y[:4]), "expected 5 labels"),
    ],
)
def test_wrong_batches_are_named(batch, problem):
    with pytest.raises(ValueError, match=rf"^Batch 2[,:].*{problem}"):
        spool(with_batch(2, batch), classes=[0, 1, 2, 3])


def test_weights_in_the_first_batch_only():
    source = [(X, Y, W), (X, Y)]
    with pytest.raises(ValueError, match=r"Batch 2: has no `sample_weight`, .* before have\."):
        spool(source)


def test_dense_after_sparse():
    with pytest.raises(ValueError, match="Batch 2: the rows are dense, those before sparse"):
        spool([(sparse.csr_matrix(X), Y), (X, Y)])


def test_other_kind_of_labels():
    with pytest.raises(ValueError, match="Batch 2: expected labels of one kind; got text after n"):
        spool([(X[:2], [0, 1]), (X[:2], ["0", "1"])])


def test_dtype_makes_types_equal():
    assert contents([(X, Y), (X.astype("f4"), Y)], dtype="f4")[0].dtype == np.float32


def test_no_batches():
    with pytest.raises(ValueError, match="Expected at least one batch; got none"):
        spool([])
    used = batches()
    list(used)
    with pytest.raises(ValueError, match="was it used before"):
        spool(used)


def test_one_class():
    with pytest.raises(ValueError, match=r"at least two classes .* got only one class, 7, in 4 r"):
        spool([(X[:2], [7, 7]), (X[:2], [7, 7])])


def test_numbers_to_be_predicted_are_no_classes():
    y = np.arange(40_000.0)
    with pytest.raises(ValueError, match=r"at most 32,767 classes; the label 32767.0 is one more"):
        spool([(y[:, None], y)])
    with pytest.raises(ValueError, match=r"Batch 1, row 3: unknown label type.* got 0\.5\."):
        spool([(X[:4], [2.0, 1.0, 0.5, 0.25])])
    with spool([(X[:2], [0.5, 1.0])], classes=[0.5, 1]) as rows:
        assert rows.classes.tolist() == [0.5, 1.0]
