"""Parquet files and directories, spooled by blocks."""

import numpy as np
import pytest
from spooled_contents import contents

from widemargin.data import DataFileError, read, spool

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

#: About forty rows.
SMALL = 4000


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    return {
        "a": rng.normal(size=500),
        "b": rng.integers(0, 9, 500),
        "label": rng.choice(["x", "y"], 500),
    }


@pytest.fixture
def write(tmp_path):
    def write_columns(columns, name="data.parquet", **options):
        parquet.write_table(pyarrow.table(columns), tmp_path / name, **options)
        return tmp_path / name

    return write_columns


@pytest.mark.parametrize("block_bytes", [1, SMALL, 1 << 25])
def test_same_as_read_whole(write, columns, block_bytes):
    path = write(columns, row_group_size=150)
    table = read(path)
    X, y, _ = contents(path, block_bytes=block_bytes)
    np.testing.assert_array_equal(X, table.X)
    np.testing.assert_array_equal(y, table.y)
    with spool(path) as rows:
        assert rows.feature_names == ("a", "b")
        assert rows.notes == ("labels are taken from column 'label'",)


def test_float32_is_kept(write):
    single = pyarrow.array([1.5, 2.5], pyarrow.float32())
    path = write({"a": single, "label": [0, 1]})
    assert contents(path)[0].dtype == np.float32
    assert contents(path, dtype=np.float64)[0].dtype == np.float64


class TestDirectory:
    def test_files_in_the_order_of_their_names(self, tmp_path, write, columns):
        for number in (2, 0, 1):
            part = slice(number * 100, number * 100 + 100)
            # Columns are found by name.
            shuffled = sorted(columns, reverse=bool(number))
            write({name: columns[name][part] for name in shuffled}, f"part-{number}.parquet")
        (tmp_path / "_SUCCESS").touch()
        X, y, _ = contents(tmp_path, block_bytes=SMALL)
        np.testing.assert_array_equal(X[:, 0], columns["a"][:300])
        np.testing.assert_array_equal(X[:, 1], columns["b"][:300])
        np.testing.assert_array_equal(y, columns["label"][:300])

    def test_progress_is_over_all_files(self, tmp_path, write, columns):
        write(columns, "a.parquet")
        write(columns, "b.pq")
        seen = []
        contents(tmp_path, report=lambda *progress: seen.append(progress))
        total = sum(path.stat().st_size for path in tmp_path.iterdir())
        assert seen == [(total // 2, total, 500), (total, total, 1000)]

    def test_another_type_in_a_later_file(self, tmp_path, write):
        write({"a": pyarrow.array([1.0, 2.0], "f4"), "label": [0, 1]}, "1.parquet")
        write({"a": pyarrow.array([1.0, 2.0], "f8"), "label": [0, 1]}, "2.parquet")
        with pytest.raises(
            DataFileError, match=r"2\.parquet: the features are float64, those before float32"
        ):
            spool(tmp_path)
        assert contents(tmp_path, dtype="f4")[0].dtype == np.float32

    def test_missing_column_in_a_later_file(self, tmp_path, write):
        write({"a": [1.0, 2.0], "b": [1, 2], "label": [0, 1]}, "1.parquet")
        write({"a": [1.0, 2.0], "label": [0, 1]}, "2.parquet")
        with pytest.raises(DataFileError, match=r"2\.parquet: .*missing: 'b'"):
            spool(tmp_path)

    def test_without_any(self, tmp_path):
        (tmp_path / "data.csv").touch()
        with pytest.raises(DataFileError, match="found a directory without any"):
            spool(tmp_path)

    def test_of_another_format(self, tmp_path, write, columns):
        write(columns, "1.parquet")
        with pytest.raises(ValueError, match="`format` must be 'parquet' for a directory"):
            spool(tmp_path, format="csv")


def test_bad_values_are_named_with_their_row_in_the_file(write, columns):
    columns["a"][432] = np.nan
    with pytest.raises(DataFileError, match=r"column 'a' of row 433, found nan"):
        spool(write(columns), block_bytes=SMALL)
    columns["a"] = pyarrow.array([None if i == 345 else 1.0 for i in range(500)])
    with pytest.raises(DataFileError, match=r"column 'a' has no value in row 346"):
        spool(write(columns), block_bytes=SMALL)


def test_no_rows(write):
    with pytest.raises(DataFileError, match="has no rows"):
        spool(write({"a": pyarrow.array([], "f8"), "label": pyarrow.array([], "i8")}))


def test_cut_off(write, columns):
    path = write(columns)
    data = path.read_bytes()
    for length in (3, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(DataFileError, match=rf"cut short.*it ends after {length:,} bytes"):
            spool(path)


def test_damage_is_reported_with_the_row_after_which_it_lies(write):
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=4000), "label": rng.integers(0, 2, 4000)}
    path = write(columns, row_group_size=2000, use_dictionary=False, compression="gzip")
    data = bytearray(path.read_bytes())
    start = parquet.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data[start + 1000 : start + 1100] = bytes(100)
    path.write_bytes(bytes(data))
    with pytest.raises(DataFileError, match=r"damaged \(after row 1,9\d\d:"):
        spool(path, block_bytes=SMALL)
