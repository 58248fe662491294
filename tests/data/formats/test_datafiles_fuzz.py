"""Damaged files give a `DataFileError` or data, never another exception or a crash."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from widemargin.data import DataFileError, read

rng = np.random.default_rng(0)
X = rng.integers(-3, 4, size=(30, 4)).astype(float)
Y = rng.integers(0, 3, size=30)
TEXT = "".join(
    f"{label} " + " ".join(f"{j + 1}:{value:g}" for j, value in enumerate(row)) + "\n"
    for label, row in zip(Y, X, strict=True)
).encode()
CSV = (
    b"a,b,c,d,label\n"
    + "".join(
        ",".join(f"{value:g}" for value in row) + f',"{label}"\n'
        for label, row in zip(Y, X, strict=True)
    ).encode()
)


def archive(save, *args, **arrays):
    file = io.BytesIO()
    save(file, *args, **arrays)
    return file.getvalue()


def parquet():
    pyarrow = pytest.importorskip("pyarrow")
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    table = pyarrow.table({**columns, "label": [f"class {label}" for label in Y]})
    # Check sums make damage to the pages an error; without them it may become other numbers.
    pyarrow_parquet.write_table(table, file, write_page_checksum=True)
    return file.getvalue()


CSR = sparse.csr_matrix(X)
FILES = {
    "data.svm": lambda: TEXT,
    "data.csv": lambda: CSV,
    "data.tsv": lambda: CSV.replace(b",", b"\t"),
    "data.svm.gz": lambda: gzip.compress(TEXT, mtime=0),
    "dense.npz": lambda: archive(np.savez, X=X, y=Y),
    "packed.npz": lambda: archive(np.savez_compressed, X=X, y=Y.astype(str)),
    "sparse.npz": lambda: archive(
        np.savez, data=CSR.data, indices=CSR.indices, indptr=CSR.indptr, shape=CSR.shape, y=Y
    ),
    "data.parquet": parquet,
}

mutations = st.lists(
    st.tuples(
        st.sampled_from(["set", "cut", "drop", "insert", "repeat"]),
        st.integers(0, 2**20),
        st.binary(min_size=1, max_size=4)
        | st.sampled_from([b":", b" ", b",", b"\n", b'"', b"-", b"nan", b"1e999", b"\xff", b"\0"]),
    ),
    min_size=1,
    max_size=4,
)


def mutate(data, steps):
    changed = bytearray(data)
    for kind, where, piece in steps:
        at = where % (len(changed) + 1)
        if kind == "set":
            changed[at : at + len(piece)] = piece
        elif kind == "cut":
            del changed[at:]
        elif kind == "drop":
            del changed[at : at + len(piece)]
        elif kind == "insert":
            changed[at:at] = piece
        else:
            changed[at:at] = changed[at : at + 20]
    return bytes(changed)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=mutations, labelled=st.booleans(), n_features=st.sampled_from([None, 4]))
def test_mutated_files(tmp_path_factory, name, steps, labelled, n_features):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(mutate(FILES[name](), steps))
    try:
        table = read(path, labelled=labelled, n_features=n_features)
    except DataFileError:
        return
    rows, columns = table.X.shape
    assert rows >= 1
    assert columns == (n_features or columns) >= 1
    assert np.isfinite(table.X.data if sparse.issparse(table.X) else table.X).all()
    assert table.y is None if not labelled else table.y.shape == (rows,)


@pytest.mark.parametrize("name", FILES)
def test_the_files_themselves_are_read(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FILES[name]())
    table = read(path)
    assert table.X.shape == (30, 4)
    np.testing.assert_array_equal(table.X.toarray() if sparse.issparse(table.X) else table.X, X)
    assert [str(label).removeprefix("class ") for label in table.y] == [str(label) for label in Y]


@settings(max_examples=300, deadline=None)
@given(
    data=st.binary(max_size=200),
    suffix=st.sampled_from([".svm", ".csv", ".tsv", ".npz", ".parquet", ".csv.gz", ".foo", ""]),
)
def test_arbitrary_bytes(tmp_path_factory, data, suffix):
    path = tmp_path_factory.getbasetemp() / f"bytes{suffix}"
    path.write_bytes(data)
    try:
        table = read(path)
    except DataFileError:
        return
    assert table.y.shape == table.X.shape[:1]
