"""Vectors in Arrow arrays become rows; no Spark is started."""

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("pyspark")
import pyarrow as pa

from widemargin.spark.rows.batches import ColumnError, vectors_of

VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def dense(*values):
    return {"type": 1, "size": None, "indices": None, "values": list(values)}


def sparse(size, **entries):
    at = [int(name[1:]) for name in entries]
    return {"type": 0, "size": size, "indices": at, "values": list(entries.values())}


def read(*vectors, kind=VECTOR):
    return vectors_of(pa.array(vectors, kind), "features")


def test_dense_vectors_are_dense_rows():
    found = read(dense(1.0, 2.0), dense(3.0, 4.0))
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])
    assert found.valid.all()
    assert found.row_bytes.tolist() == [16, 16]


def test_sparse_vectors_are_csr_rows():
    found = read(sparse(4, _1=5.0, _3=6.0), sparse(4), sparse(4, _0=7.0))
    assert sp.issparse(found.X)
    np.testing.assert_array_equal(found.X.toarray(), [[0, 5, 0, 6], [0, 0, 0, 0], [7, 0, 0, 0]])
    assert found.row_bytes.tolist() == [24, 0, 12]


def test_a_mixed_batch_is_csr_without_the_zeros_of_dense_vectors():
    found = read(dense(0.0, 1.0, 0.0), sparse(3, _2=2.0), dense(3.0, 0.0, 4.0))
    assert sp.issparse(found.X)
    assert found.X.nnz == 4
    assert found.X.has_canonical_format
    np.testing.assert_array_equal(found.X.toarray(), [[0, 1, 0], [0, 0, 2], [3, 0, 4]])


def test_indices_out_of_order_are_sorted():
    X = read(sparse(3, _2=2.0, _0=1.0)).X
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 2]])


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_arrays_keep_their_precision(kind):
    found = read([1.0, 2.0], [3.0, 4.0], kind=pa.list_(kind))
    assert found.X.dtype == kind.to_pandas_dtype()
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])


@pytest.mark.parametrize("bad", [None, dense(1.0, np.nan), sparse(2, _0=np.inf)])
def test_invalid_vectors_are_left_out(bad):
    found = read(dense(1.0, 2.0), bad, dense(3.0, 4.0), bad)
    assert found.valid.tolist() == [True, False, True, False]
    np.testing.assert_array_equal(sp.csr_matrix(found.X).toarray(), [[1, 2], [3, 4]])


def test_a_null_inside_an_array_is_invalid():
    found = read([1.0, None], [3.0, 4.0], kind=pa.list_(pa.float64()))
    assert found.valid.tolist() == [False, True]


def test_slices_of_batches_are_read_from_their_start():
    column = pa.array([dense(9.0), sparse(1, _0=8.0), dense(7.0), None], VECTOR)[1:3]
    np.testing.assert_array_equal(vectors_of(column, "f").X.toarray(), [[8], [7]])


def test_no_vectors_are_no_rows():
    assert read().X.shape[0] == 0
    assert read(None, None).valid.tolist() == [False, False]


@pytest.mark.parametrize("other", [dense(1.0), sparse(3, _0=1.0)])
def test_sizes_that_differ_are_refused(other):
    with pytest.raises(ColumnError, match="column 'features' must hold vectors of one size; got"):
        read(dense(1.0, 2.0), other)


@pytest.mark.parametrize("at", [-1, 2])
def test_indices_beyond_the_size_are_refused(at):
    broken = {"type": 0, "size": 2, "indices": [at], "values": [1.0]}
    with pytest.raises(ColumnError, match="damaged sparse vector"):
        read(broken)
