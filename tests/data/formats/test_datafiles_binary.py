"""NPZ archives and Parquet files."""

import sys

import numpy as np
import pytest
from scipy import sparse

from widemargin.data import DataFileError, read

X = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 5.0]])
Y = np.array([1, -1, 1])


@pytest.fixture
def npz(tmp_path):
    def read_arrays(options=None, **arrays):
        path = tmp_path / "data.npz"
        np.savez(path, **arrays)
        return read(path, **(options or {}))

    return read_arrays


def csr_parts(matrix):
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": np.array(matrix.shape),
    }


class TestDenseNpz:
    @pytest.mark.parametrize(
        ("dtype", "read_as"),
        [("f8", "f8"), ("f4", "f4"), ("f2", "f4"), ("i1", "f8"), ("u8", "f8"), ("?", "f8")],
    )
    def test_values(self, npz, dtype, read_as):
        table = npz(X=X.astype(dtype), y=Y)
        assert table.X.dtype == read_as
        np.testing.assert_array_equal(table.X, X.astype(dtype).astype(read_as))
        np.testing.assert_array_equal(table.y, Y)

    @pytest.mark.parametrize(
        ("y", "kind"),
        [
            (["a", "b", "a"], "U"),
            ([True, False, True], "b"),
            ([1.0, 2, 1], "i"),
            ([0.5, 1, 1], "f"),
        ],
    )
    def test_labels(self, npz, y, kind):
        table = npz(X=X, y=np.array(y))
        assert table.y.dtype.kind == kind
        np.testing.assert_array_equal(table.y, y)

    def test_labels_of_objects_are_called_so(self, npz):
        with pytest.raises(DataFileError, match=r"y holds Python objects .*`y\.astype\(str\)`"):
            npz(X=X, y=np.array(["a", "b", "a"], dtype=object))

    def test_key_of_the_labels(self, npz):
        np.testing.assert_array_equal(npz({"label": "z"}, X=X, z=Y, y=X).y, Y)

    def test_labels_not_asked_for(self, npz):
        assert npz({"labelled": False}, X=X).y is None

    def test_feature_names(self, npz):
        assert npz(X=X, y=Y, feature_names=np.array(["a", "b"])).feature_names == ("a", "b")

    def test_feature_names_of_another_model(self, npz):
        with pytest.raises(DataFileError, match="not those of the model"):
            npz({"feature_names": ["b", "a"]}, X=X, y=Y, feature_names=np.array(["a", "b"]))

    def test_one_dimension(self, npz):
        with pytest.raises(DataFileError, match=r"expected X with 2 dimensions .* found 1"):
            npz(X=X[0], y=Y)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_finite(self, npz, bad):
        values = X.copy()
        values[1, 0] = bad
        with pytest.raises(DataFileError, match=rf"in X\[1, 0\], found {bad}"):
            npz(X=values, y=Y)

    @pytest.mark.parametrize("values", [X.astype(complex), X.astype(str)])
    def test_not_numbers(self, npz, values):
        with pytest.raises(DataFileError, match="expected numbers in X, found"):
            npz(X=values, y=Y)

    def test_pickled_objects_are_refused(self, npz):
        with pytest.raises(DataFileError, match="X holds Python objects"):
            npz(X=X.astype(object), y=Y)

    def test_no_rows(self, npz):
        with pytest.raises(DataFileError, match=r"found a matrix of shape \(0, 2\)"):
            npz(X=X[:0], y=Y[:0])

    def test_wrong_number_of_labels(self, npz):
        with pytest.raises(DataFileError, match=r"expected y of shape \(3,\).*found \(2,\)"):
            npz(X=X, y=Y[:2])

    @pytest.mark.parametrize("y", [np.array([1, np.nan, 1]), np.array([1j, 1, 1])])
    def test_labels_of_no_use(self, npz, y):
        with pytest.raises(DataFileError, match="expected finite numbers or text as labels"):
            npz(X=X, y=y)

    def test_wrong_number_of_features(self, npz):
        with pytest.raises(DataFileError, match="expected 3 features, found 2"):
            npz({"n_features": 3}, X=X, y=Y)

    @pytest.mark.parametrize("arrays", [{"X": X}, {"y": Y}, {"data": X[0], "y": Y}, {}])
    def test_missing_arrays(self, npz, arrays):
        with pytest.raises(DataFileError, match="expected arrays X and y, or data, indices"):
            npz(**arrays)


class TestSparseNpz:
    def test_parts(self, npz):
        table = npz(**csr_parts(sparse.csr_matrix(X)), y=Y)
        assert isinstance(table.X, sparse.csr_matrix)
        np.testing.assert_array_equal(table.X.toarray(), X)
        np.testing.assert_array_equal(table.y, Y)

    def test_written_by_scipy(self, tmp_path):
        path = tmp_path / "data.npz"
        sparse.save_npz(path, sparse.csr_matrix(X))
        np.testing.assert_array_equal(read(path, labelled=False).X.toarray(), X)

    def test_another_format(self, tmp_path):
        path = tmp_path / "data.npz"
        sparse.save_npz(path, sparse.csc_matrix(X))
        with pytest.raises(DataFileError, match=r"in CSR format\. Save `X.tocsr\(\)`"):
            read(path, labelled=False)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("indices", np.array([0, 1, 0, 1, 9])),
            ("indices", np.array([0, 1, 0, 1, -1])),
            ("indices", np.array([0, 1])),
            ("indices", np.array([0.5, 1, 0, 1, 1])),
            ("indptr", np.array([0, 2, 9, 5])),
            ("indptr", np.array([1, 2, 4, 5])),
            ("indptr", np.array([0, 4, 2, 5])),
            ("indptr", np.array([0, 5])),
            ("shape", np.array([3])),
            ("shape", np.array([-3, 2])),
            ("shape", np.array(["a", "b"])),
            ("data", np.ones((5, 1))),
        ],
    )
    def test_inconsistent_parts(self, npz, key, value):
        parts = csr_parts(sparse.csr_matrix(X))
        with pytest.raises(DataFileError, match="not a CSR matrix"):
            npz(**{**parts, key: value}, y=Y)

    def test_not_finite(self, npz):
        matrix = sparse.csr_matrix(X)
        matrix.data[2] = np.nan
        with pytest.raises(DataFileError, match=r"in X\[1, 0\], found nan"):
            npz(**csr_parts(matrix), y=Y)

    def test_repeated_entries_are_added(self, npz):
        table = npz(
            data=np.ones(3),
            indices=np.array([1, 0, 1]),
            indptr=np.array([0, 3]),
            shape=(1, 2),
            y=[1],
        )
        np.testing.assert_array_equal(table.X.toarray(), [[1, 2]])
        assert table.X.nnz == 2


def test_npz_cut_short(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.arange(2000.0).reshape(-1, 2), y=np.arange(1000))
    data = path.read_bytes()
    for length in (10, len(data) // 2, len(data) - 30):
        path.write_bytes(data[:length])
        with pytest.raises(DataFileError, match="cut short"):
            read(path)


def test_npz_damaged(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.arange(2000.0).reshape(-1, 2), y=np.arange(1000))
    data = bytearray(path.read_bytes())
    data[5000] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(DataFileError, match="damaged"):
        read(path)


def test_a_single_array_is_no_archive(tmp_path):
    with open(tmp_path / "data.npz", "wb") as file:
        np.save(file, X)
    with pytest.raises(DataFileError, match=r"not an NPZ archive.*numpy\.savez"):
        read(tmp_path / "data.npz")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(DataFileError, match=r"pip install pyarrow"):
        read(path)


@pytest.fixture
def parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def read_columns(options=None, **columns):
        path = tmp_path / "data.parquet"
        parquet.write_table(pyarrow.table(columns), path)
        return read(path, **(options or {}))

    read_columns.arrow = pyarrow
    return read_columns


class TestParquet:
    def test_values(self, parquet):
        table = parquet(a=[1.0, 2.0], b=[3, 4], c=[True, False], label=["x", "y"])
        np.testing.assert_array_equal(table.X, [[1, 3, 1], [2, 4, 0]])
        assert table.X.dtype == np.float64
        np.testing.assert_array_equal(table.y, ["x", "y"])
        assert table.feature_names == ("a", "b", "c")

    def test_float32_is_kept(self, parquet):
        single = parquet.arrow.array([1.5, 2.5], parquet.arrow.float32())
        assert parquet(a=single, label=[0, 1]).X.dtype == np.float32
        assert parquet(a=single, b=[1.0, 2.0], label=[0, 1]).X.dtype == np.float64
        assert parquet({"dtype": np.float64}, a=single, label=[0, 1]).X.dtype == np.float64

    @pytest.mark.parametrize(
        ("labels", "kind"),
        [
            ([0, 1], "i"),
            ([0.0, 1.0], "i"),
            ([0.5, 1.0], "f"),
            ([True, False], "b"),
            (["a", "b"], "U"),
        ],
    )
    def test_labels(self, parquet, labels, kind):
        y = parquet(a=[1.0, 2.0], label=labels).y
        assert y.dtype.kind == kind
        np.testing.assert_array_equal(y, labels)

    def test_dictionary_labels(self, parquet):
        labels = parquet.arrow.array(["x", "y"]).dictionary_encode()
        np.testing.assert_array_equal(parquet(a=[1.0, 2.0], label=labels).y, ["x", "y"])

    def test_decimals(self, parquet):
        from decimal import Decimal

        values = parquet.arrow.array([Decimal("1.5"), Decimal("2.5")])
        np.testing.assert_array_equal(parquet(a=values, label=[0, 1]).X, [[1.5], [2.5]])

    def test_label_column_by_name_and_position(self, parquet):
        for label in ("a", 0, "0", -2):
            np.testing.assert_array_equal(parquet({"label": label}, a=[1, 2], b=[3, 4]).y, [1, 2])

    def test_columns_of_a_model(self, parquet):
        table = parquet({"feature_names": ["b", "a"], "labelled": False}, a=[1], b=[2], id=["r"])
        np.testing.assert_array_equal(table.X, [[2, 1]])

    def test_index_of_a_data_frame_is_no_feature(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        path = tmp_path / "data.parquet"
        frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}, index=["r", "s"])
        frame.to_parquet(path)
        table = read(path)
        assert table.feature_names == ("a",)
        np.testing.assert_array_equal(table.y, [3, 4])

    def test_text_feature(self, parquet):
        with pytest.raises(DataFileError, match="expected numbers in column 'a', found string"):
            parquet(a=["u", "v"], label=[0, 1])

    def test_nested_feature(self, parquet):
        with pytest.raises(DataFileError, match="expected numbers in column 'a', found list"):
            parquet(a=[[1.0], [2.0]], label=[0, 1])

    def test_labels_of_no_use(self, parquet):
        with pytest.raises(DataFileError, match=r"expected numbers or text as labels"):
            parquet(a=[1.0, 2.0], label=[[0], [1]])

    @pytest.mark.parametrize("column", ["a", "label"])
    def test_missing_value(self, parquet, column):
        columns = {"a": [1.0, 2.0], "label": [0, 1], column: [1, None]}
        with pytest.raises(DataFileError, match=rf"column '{column}' has no value in row 2"):
            parquet(**columns)

    def test_not_finite(self, parquet):
        with pytest.raises(DataFileError, match=r"in column 'a' of row 2, found nan"):
            parquet(a=[1.0, float("nan")], label=[0, 1])
        with pytest.raises(DataFileError, match=r"the label of row 1 is not finite"):
            parquet(a=[1.0, 2.0], label=[float("inf"), 1.0])

    def test_too_large_for_float32(self, parquet):
        with pytest.raises(DataFileError, match=r"\(as float32\) in column 'a' of row 1"):
            parquet({"dtype": np.float32}, a=[1e39], label=[0])

    def test_no_rows(self, parquet):
        with pytest.raises(DataFileError, match="the file has no rows"):
            parquet(a=parquet.arrow.array([], "f8"), label=parquet.arrow.array([], "i8"))

    def test_wrong_number_of_features(self, parquet):
        with pytest.raises(DataFileError, match=r"expected 3 feature columns and a label"):
            parquet({"n_features": 3}, a=[1.0], label=[0])

    def test_cut_short(self, parquet, tmp_path):
        parquet(a=np.arange(1000.0), label=np.arange(1000))
        path = tmp_path / "data.parquet"
        data = path.read_bytes()
        for length in (3, 100, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:length])
            with pytest.raises(DataFileError, match="cut short or damaged"):
                read(path)
