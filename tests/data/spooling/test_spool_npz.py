"""NPZ archives, spooled by blocks."""

import numpy as np
import pytest
from scipy import sparse
from spooled_contents import contents

from widemargin.data import DataFileError, read, spool

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * (RNG.random((300, 4)) < 0.5)
Y = RNG.integers(0, 3, 300)


def csr_parts(matrix):
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": np.array(matrix.shape),
    }


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("block_bytes", [100, 1 << 25])
@pytest.mark.parametrize(
    "arrays",
    [
        {"X": X, "y": Y},
        {"X": X.astype(np.float32), "y": Y.astype(float)},
        {"X": np.asfortranarray(X), "y": Y.astype(str)},
        {"X": X.astype(np.int8), "y": Y == 0, "feature_names": np.array(list("abcd"))},
        {**csr_parts(sparse.csr_matrix(X)), "y": Y},
    ],
)
def test_same_as_read_whole(tmp_path, save, block_bytes, arrays):
    path = tmp_path / "data.npz"
    save(path, **arrays)
    table = read(path)
    got, y, _ = contents(path, block_bytes=block_bytes)
    expected = table.X.toarray() if sparse.issparse(table.X) else table.X
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(y, table.y)
    assert y.dtype.kind == table.y.dtype.kind
    with spool(path) as rows:
        assert rows.feature_names == table.feature_names


def test_wide_indices(tmp_path):
    matrix = sparse.csr_matrix(X)
    parts = {**csr_parts(matrix), "indices": matrix.indices.astype(np.int64)}
    np.savez(tmp_path / "data.npz", **parts, y=Y)
    with spool(tmp_path / "data.npz", block_bytes=500) as rows:
        assert rows.X.indices.dtype == np.int32
        np.testing.assert_array_equal(rows.X.toarray(), X)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("indices", np.full(sparse.csr_matrix(X).nnz, 9, dtype=np.int32)),
        ("indices", np.zeros(2, dtype=np.int32)),
        ("indices", np.full(sparse.csr_matrix(X).nnz, 0.5)),
        ("indptr", np.arange(5)),
        ("indptr", np.r_[0, np.full(300, 10**6)]),
        ("indptr", np.r_[0, 9, np.full(299, 5)]),
        ("shape", np.array([300])),
    ],
)
def test_inconsistent_parts(tmp_path, key, value):
    np.savez(tmp_path / "data.npz", **{**csr_parts(sparse.csr_matrix(X)), key: value}, y=Y)
    with pytest.raises(DataFileError, match=r"CSR matrix|matrix of shape"):
        spool(tmp_path / "data.npz")


def test_cut_off_and_damaged(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=X, y=Y)
    data = bytearray(path.read_bytes())
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataFileError, match=rf"cut short; it ends after {len(data) // 2:,} bytes"):
        spool(path)
    data[5000] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DataFileError, match="damaged"):
        spool(path)


@pytest.mark.parametrize("arrays", [{"X": X}, {"y": Y}, {"X": X[:0], "y": Y[:0]}])
def test_nothing_to_learn_from(tmp_path, arrays):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(DataFileError, match=r"expected arrays X and y|at least one row"):
        spool(tmp_path / "data.npz")


def test_pickled_objects_are_refused(tmp_path):
    np.savez(tmp_path / "data.npz", X=X.astype(object), y=Y)
    with pytest.raises(DataFileError, match=r"X holds Python objects.*numbers"):
        spool(tmp_path / "data.npz")


def test_one_array_alone(tmp_path):
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(DataFileError, match=r"no labels\. Map it, and pass the tuple"):
        spool(tmp_path / "X.npy")
