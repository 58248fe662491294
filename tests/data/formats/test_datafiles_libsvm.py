"""LIBSVM files."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from widemargin.data import DataFileError, read


@pytest.fixture
def svm(tmp_path):
    def write(text):
        path = tmp_path / "data.svm"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_values(svm):
    table = read(svm("+1 1:0.5 3:-2e1 # comment\n\n-1 2:1\n2.0\n"))
    assert isinstance(table.X, csr_matrix)
    np.testing.assert_array_equal(table.X.toarray(), [[0.5, 0, -20], [0, 1, 0], [0, 0, 0]])
    assert table.y.dtype == np.int64
    np.testing.assert_array_equal(table.y, [1, -1, 2])
    assert table.feature_names is None
    assert table.notes == ()


def test_agrees_with_scikit_learn(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 20)) * (rng.random((50, 20)) < 0.3)
    X[:, [0, -1]] = 1.0
    path = tmp_path / "data.svm"
    for zero_based in (False, True):
        dump_svmlight_file(X, rng.integers(0, 3, 50), str(path), zero_based=zero_based)
        expected, labels = load_svmlight_file(str(path))
        table = read(path)
        assert (expected != table.X).nnz == 0
        np.testing.assert_array_equal(table.y, labels)


def test_fractional_labels_stay_floats(svm):
    np.testing.assert_array_equal(read(svm("0.5 1:1\n1 1:1\n")).y, [0.5, 1.0])


def test_query_ids_are_left_out(svm):
    assert read(svm("1 qid:7 1:1\n")).X.shape == (1, 1)


def test_rows_without_features(svm):
    assert read(svm("1\n-1\n")).X.shape == (2, 1)
    assert read(svm("1\n-1\n"), n_features=5).X.shape == (2, 5)


def test_a_million_columns(svm):
    table = read(svm("1 1:1 1000000:2\n-1 5:1\n"))
    assert table.X.shape == (2, 1_000_000)
    assert table.X.nnz == 3


class TestBaseOfIndices:
    def test_zero_is_noticed(self, svm):
        table = read(svm("1 0:5 2:6\n"))
        np.testing.assert_array_equal(table.X.toarray(), [[5, 0, 6]])
        assert table.notes == ("feature indices count from 0",)

    def test_zero_based_file_without_index_zero(self, svm):
        table = read(svm("1 2:6\n"), zero_based=True, n_features=3)
        np.testing.assert_array_equal(table.X.toarray(), [[0, 0, 6]])

    def test_zero_where_indices_must_count_from_one(self, svm):
        with pytest.raises(DataFileError, match=r"line 2: .* count from 1; found 0\. If"):
            read(svm("1 1:1\n1 0:1\n"), zero_based=False)

    def test_the_table_says_what_was_taken(self, svm):
        assert read(svm("1 0:5 2:6\n")).zero_based is True
        assert read(svm("1 1:5 2:6\n")).zero_based is False
        assert read(svm("1 1:5\n"), zero_based=True).zero_based is True

    def test_the_base_of_a_model_decides(self, svm):
        table = read(svm("1 2:6\n"), n_features=4, index_base=0)
        np.testing.assert_array_equal(table.X.toarray(), [[0, 0, 6, 0]])
        table = read(svm("1 2:6\n"), n_features=4, index_base=1)
        np.testing.assert_array_equal(table.X.toarray(), [[0, 6, 0, 0]])
        # Whoever says otherwise knows better.
        assert read(svm("1 0:6\n"), n_features=4, index_base=1, zero_based=True).zero_based is True

    def test_a_file_that_contradicts_the_base_of_a_model(self, svm):
        with pytest.raises(DataFileError, match=r"line 2: .*count from 1 in .*--zero-based"):
            read(svm("1 1:1\n1 0:1\n"), n_features=4, index_base=1)
        with pytest.raises(DataFileError, match=r"found index 4.*from 0 in .*--one-based"):
            read(svm("1 1:1 4:1\n"), n_features=4, index_base=0)
        with pytest.raises(ValueError, match="`index_base` must be 0, 1 or None"):
            read(svm("1 1:1\n"), index_base=2)

    def test_a_base_that_cannot_be_known_is_warned_of(self, svm):
        with pytest.warns(UserWarning, match=r"taken to count from 1, but may count from 0"):
            read(svm("1 2:6\n"), n_features=4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(svm("1 2:6\n"))  # nothing to disagree with
            read(svm("1 4:6\n"), n_features=4)  # 4 of 4: certainly from 1
            read(svm("1 0:6\n"), n_features=4)
            read(svm("1 2:6\n"), n_features=4, index_base=1)
            read(svm("1 2:6\n"), n_features=4, zero_based=False)

    def test_test_file_with_fewer_features_keeps_the_columns_of_the_model(self, svm):
        table = read(svm("1 2:6\n"), n_features=4, zero_based=False)
        np.testing.assert_array_equal(table.X.toarray(), [[0, 6, 0, 0]])

    @pytest.mark.parametrize(
        ("text", "zero_based", "last"), [("1 1:1\n1 4:1\n", "auto", 3), ("1 0:1\n1 3:1\n", True, 2)]
    )
    def test_test_file_with_more_features_than_the_model(self, svm, text, zero_based, last):
        with pytest.raises(
            DataFileError, match=rf"line 2: expected 3 features \(indices up to {last}\), found"
        ):
            read(svm(text), n_features=3, zero_based=zero_based)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x 1:1", r"expected a number as the label, found 'x'\. Number the classes"),
        ("1:1 2:1", r"expected a number as the label, found '1:1'\. Every line begins with a"),
        ("1,2 1:1", r"Several labels a row are not supported"),
        ("1,2,3", r"if the file is comma-separated, give the format `csv`"),
        ("nan 1:1", r"expected a number as the label, found 'nan'"),
        ("inf 1:1", r"expected a number as the label, found 'inf'"),
        ("1 2", r"expected `index:value` with a whole number and a number, found '2'"),
        ("1 a:2", r"expected `index:value`.*found 'a:2'"),
        ("1 1.5:2", r"expected `index:value`.*found '1.5:2'"),
        ("1 1:b", r"expected `index:value`.*found '1:b'"),
        ("1 1:", r"expected `index:value`.*found '1:'"),
        ("1 1:2:3", r"expected `index:value`.*found '1:2:3'"),
        ("1 1: 2", r"expected `index:value`.*found '1:'"),
        ("1 1:1 1:2", r"feature 1 is given twice"),
        ("1 3:1 2:2", r"feature indices must increase along the line; found 2 after 3"),
        ("1 -1:1", r"feature indices count from 1; found -1"),
        ("1 1:nan", r"expected a finite value \(as float64\) for feature 1, found 'nan'"),
        ("1 1:-inf", r"expected a finite value \(as float64\) for feature 1, found '-inf'"),
        ("1 1:1e999", r"expected a finite value \(as float64\) for feature 1, found '1e999'"),
        ("1 99999999999:1", r"expected a feature index of at most 2147483647, found 99999999999"),
        ("1 " + "9" * 5000 + ":1", r"expected `index:value`.*found '999+…"),
        ("1 1:\x00", r"expected `index:value`.*found '1:\\x00'"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_malformed_lines_are_named(svm, line, problem, end):
    text = end.join(["1 1:1 2:1", "# comment", "", line, "1 1:1", ""])
    with pytest.raises(DataFileError, match=problem) as caught:
        read(svm(text))
    assert caught.value.line == 4


def test_too_large_for_float32(svm):
    path = svm("1 1:1e38\n1 1:1e39\n")
    assert read(path).X.max() == 1e39
    with pytest.raises(DataFileError, match=r"line 2: expected a finite value \(as float32\)"):
        read(path, dtype="float32")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing but a comment\n"])
def test_no_rows(svm, text):
    with pytest.raises(DataFileError, match="the file has no rows"):
        read(svm(text))


def test_labels_not_asked_for(svm):
    table = read(svm("nan 1:1\n0 2:1\n"), labelled=False)
    assert table.y is None
    assert table.X.shape == (2, 2)


def test_label_column_makes_no_sense(svm):
    with pytest.raises(ValueError, match="the label begins each line"):
        read(svm("1 1:1\n"), label="y")
