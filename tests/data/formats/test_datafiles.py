"""Finding files, formats and compression; what readers return."""

import bz2
import gzip
import lzma
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from widemargin.data import DataFileError, read

LIBSVM = b"+1 1:0.5 3:2\n-1 2:1\n"
CSV = b"a,b,label\n1,2,x\n3,4,y\n"


def write(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "name", ["a.svm", "a.libsvm", "a.svmlight", "a.txt", "a.t", "a.tr", "a.val", "A.SVM"]
)
def test_suffixes_of_libsvm(tmp_path, name):
    assert read(write(tmp_path / name, LIBSVM)).X.shape == (2, 3)


@pytest.mark.parametrize("name", ["a9a", "a9a_scale", "covtype.libsvm.binary.scale"])
def test_libsvm_is_recognised_without_a_known_suffix(tmp_path, name):
    assert read(write(tmp_path / name, b"# comment\n\n" + LIBSVM)).X.shape == (2, 3)


def test_libsvm_with_a_very_long_first_line_is_recognised(tmp_path):
    line = b"1 " + b" ".join(b"%d:0.123456" % i for i in range(1, 20_000))
    assert read(write(tmp_path / "wide", line)).X.shape == (1, 19_999)


@pytest.mark.parametrize("name", ["a.foo", "a", "a.txt", "a.foo.gz"])
def test_csv_is_recognised_without_its_suffix(tmp_path, name):
    data = gzip.compress(CSV) if name.endswith(".gz") else CSV
    assert read(write(tmp_path / name, data)).feature_names == ("a", "b")


@pytest.mark.parametrize("name", ["a.foo", "a", "a.foo.gz"])
def test_unknown_format(tmp_path, name):
    words = b"no table\nat all, is this\n"
    data = gzip.compress(words) if name.endswith(".gz") else words
    with pytest.raises(DataFileError, match=r"unknown format.*Give the format: libsvm, csv"):
        read(write(tmp_path / name, data))


def test_format_overrides_the_suffix(tmp_path):
    assert read(write(tmp_path / "a.txt", CSV), format="csv").feature_names == ("a", "b")


def test_unknown_format_argument(tmp_path):
    with pytest.raises(ValueError, match=r"`format` must be one of libsvm, csv.*got 'arff'"):
        read(write(tmp_path / "a.svm", LIBSVM), format="arff")


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
class TestCompression:
    @pytest.mark.parametrize(("name", "data"), [("a.svm", LIBSVM), ("a.csv", CSV)])
    def test_packed_equals_plain(self, tmp_path, suffix, pack, name, data):
        packed = read(write(tmp_path / (name + suffix), pack(data)))
        plain = read(write(tmp_path / name, data))
        np.testing.assert_array_equal(_dense(packed.X), _dense(plain.X))
        np.testing.assert_array_equal(packed.y, plain.y)

    @pytest.mark.parametrize(("name", "data"), [("a.svm", LIBSVM), ("a.csv", CSV)])
    def test_cut_short(self, tmp_path, suffix, pack, name, data):
        packed = pack(data * 1000)
        path = write(tmp_path / (name + suffix), packed[: len(packed) // 2])
        with pytest.raises(DataFileError, match=r"cut short or damaged.*again"):
            read(path)

    def test_damaged(self, tmp_path, suffix, pack):
        packed = bytearray(pack(LIBSVM * 1000))
        packed[len(packed) // 2] ^= 0xFF
        with pytest.raises(DataFileError, match=r"cut short or damaged"):
            read(write(tmp_path / f"a.svm{suffix}", bytes(packed)))

    def test_not_packed_at_all(self, tmp_path, suffix, pack):
        with pytest.raises(DataFileError, match=rf"the name ends in \{suffix} but"):
            read(write(tmp_path / f"a.svm{suffix}", LIBSVM))

    def test_empty(self, tmp_path, suffix, pack):
        with pytest.raises(DataFileError, match="the file is empty"):
            read(write(tmp_path / f"a.svm{suffix}", b""))

    @pytest.mark.parametrize("name", ["a.npz", "a.parquet"])
    def test_formats_that_are_compressed_inside(self, tmp_path, suffix, pack, name):
        with pytest.raises(DataFileError, match="compressed inside; unpack"):
            read(write(tmp_path / (name + suffix), pack(b"")))


@pytest.mark.parametrize("name", ["a.svm", "a.csv", "a.tsv", "a.npz", "a.parquet"])
class TestWhatever:
    def test_missing(self, tmp_path, name):
        with pytest.raises(DataFileError, match="no such file"):
            read(tmp_path / name)

    def test_directory(self, tmp_path, name):
        (tmp_path / name).mkdir()
        with pytest.raises(DataFileError, match="expected a file, found a directory"):
            read(tmp_path / name)

    def test_empty(self, tmp_path, name):
        if name.endswith(".parquet"):
            pytest.importorskip("pyarrow")
        with pytest.raises(DataFileError):
            read(write(tmp_path / name, b""))

    @pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
    def test_pipe(self, tmp_path, name):
        os.mkfifo(tmp_path / name)
        with pytest.raises(DataFileError, match="expected a regular file, found a pipe"):
            read(tmp_path / name)

    @pytest.mark.skipif(
        os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions bind"
    )
    def test_unreadable(self, tmp_path, name):
        path = write(tmp_path / name, b"1,2\n")
        path.chmod(0)
        with pytest.raises(DataFileError, match="cannot be read: Permission denied"):
            read(path)


def test_a_null_in_the_path_is_no_crash():
    with pytest.raises(DataFileError):
        read("a\0b.svm")


def test_error_has_parts_and_survives_pickling(tmp_path):
    path = write(tmp_path / "a.svm", LIBSVM + b"x\n")
    with pytest.raises(DataFileError) as caught:
        read(path)
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, ValueError)
    assert (error.path, error.line) == (str(path), 3)
    assert str(error) == str(caught.value)
    assert str(error).startswith(f"{path}, line 3: expected a number as the label, found 'x'.")


def test_dtype(tmp_path):
    for name, data in [("a.svm", LIBSVM), ("a.csv", CSV)]:
        path = write(tmp_path / name, data)
        assert read(path).X.dtype == np.float64
        assert read(path, dtype=np.float32).X.dtype == np.float32
        with pytest.raises(ValueError, match=r"`dtype` must be float32 or float64; got int64"):
            read(path, dtype=np.int64)


def test_arguments_that_contradict_each_other(tmp_path):
    path = write(tmp_path / "a.csv", CSV)
    with pytest.raises(ValueError, match=r"`n_features` is 3 but `feature_names` has 2"):
        read(path, n_features=3, feature_names=["a", "b"])
    with pytest.raises(ValueError, match=r"`n_features` must be at least 1; got 0"):
        read(path, n_features=0)
    with pytest.raises(ValueError, match="`zero_based` applies to LIBSVM files only"):
        read(path, zero_based=True)


def test_importing_needs_neither_scipy_nor_scikit_learn_nor_pyarrow():
    code = (
        "import sys, widemargin.data; assert not {'scipy', 'sklearn', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def _dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()
