"""`TablePreprocessor`: what becomes of the columns of a table."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from widemargin import TablePreprocessor

N = 200


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def table(rng):
    """Return a table with a column of every kind."""
    dates = pd.date_range("2020-01-01", periods=N, freq="3D")
    money = rng.lognormal(3.0, 2.5, N)
    return pd.DataFrame(
        {
            "customer_id": np.arange(N) + 1000,
            "age": [str(a) if a % 7 else "?" for a in rng.integers(18, 80, N)],
            "height": [f"{h:.2f}".replace(".", ",") for h in rng.normal(1.7, 0.1, N)],
            "money": money,
            "job": rng.choice(
                ["cook", "clerk", "driver", "NA", "astronaut"], N, p=[0.3] * 3 + [0.08, 0.02]
            ),
            "member": rng.choice(["yes", "no", ""], N),
            "since": dates.strftime("%d.%m.%Y"),
            "seen": dates,
            "remark": [f"a text of many words, number {i}" for i in range(N)],
            "code": [f"{i % 5:03d}" for i in range(N)],
            "version": "1.0",
            "nothing": None,
        }
    )


def test_scikit_learns_checks():
    check_estimator(TablePreprocessor())


def test_what_becomes_of_every_kind_of_column(rng):
    X = table(rng)
    preprocessor = TablePreprocessor().fit(X)
    roles = {name: plan["role"] for name, plan in preprocessor.columns_.items()}
    assert roles == {
        "customer_id": "dropped",
        "age": "number",
        "height": "number",
        "money": "number",
        "job": "category",
        "member": "boolean",
        "since": "date",
        "seen": "date",
        "remark": "dropped",
        "code": "category",
        "version": "dropped",
        "nothing": "dropped",
    }
    notes = " ".join(preprocessor.notes_)
    assert "identifiers, different in (nearly) every row: 'customer_id'" in notes
    assert "one value only: 'version'" in notes
    assert "no values: 'nothing'" in notes
    assert "free text" in notes
    assert "'remark'" in notes
    assert "decimal comma: 'height'" in notes
    assert "'since' (%d.%m.%Y)" in notes
    assert f"'age' ({(X.age == '?').sum()} rows)" in notes


def test_features_have_names_and_are_scaled(rng):
    X = table(rng)
    preprocessor = TablePreprocessor()
    Z = preprocessor.fit_transform(X)
    Z = Z.toarray() if sp.issparse(Z) else Z
    names = preprocessor.get_feature_names_out().tolist()
    assert Z.shape == (N, len(names))
    assert np.isfinite(Z).all()
    at = {name: Z[:, i] for i, name in enumerate(names)}
    for name in ("age", "height", "money", "member", "since", "seen_year_sin", "since_week_cos"):
        np.testing.assert_allclose([at[name].mean(), at[name].std()], [0, 1], atol=1e-9)
    np.testing.assert_array_equal(at["age_missing"], X.age == "?")
    np.testing.assert_array_equal(at["job_cook"], X.job == "cook")
    np.testing.assert_array_equal(at["code_003"], X.code == "003")
    heights = X.height.str.replace(",", ".").astype(float)
    assert np.corrcoef(at["height"], heights)[0, 1] > 1 - 1e-12
    assert np.corrcoef(at["since"], at["seen"])[0, 1] > 1 - 1e-12


def test_rare_levels_are_joined_and_unseen_ones_count_with_them():
    levels = ["a"] * 50 + ["b"] * 45 + ["c", "d", "e", "f", "g"]
    preprocessor = TablePreprocessor(min_frequency=10).fit(pd.DataFrame({"x": levels}))
    assert preprocessor.get_feature_names_out().tolist() == ["x_a", "x_b", "x_infrequent_sklearn"]
    assert "Rare levels are joined into one: 'x' (5 levels)." in preprocessor.notes_
    with pytest.warns(UserWarning, match=r"'x' has categories unseen in fit: 'z' \(2 rows\), 'y'"):
        Z = preprocessor.transform(pd.DataFrame({"x": ["a", "z", "z", "y", "c"]}))
    np.testing.assert_array_equal(Z[:, 2], [0, 1, 1, 1, 1])


def test_at_most_so_many_categories():
    levels = np.repeat([f"level {i}" for i in range(30)], 20)
    preprocessor = TablePreprocessor(max_categories=8).fit(pd.DataFrame({"x": levels}))
    assert len(preprocessor.get_feature_names_out()) == 8


def test_missing_values_that_fit_has_not_seen_are_no_novelty(rng):
    X = pd.DataFrame({"x": rng.normal(size=50), "job": ["cook", "clerk"] * 25})
    preprocessor = TablePreprocessor().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z = preprocessor.transform(pd.DataFrame({"x": [None, 0.0], "job": [None, "cook"]}))
    np.testing.assert_array_equal(Z[0, 1:], [0.0, 0.0])
    median = (X.x.median() - X.x.mean()) / X.x.std(ddof=0)
    assert Z[0, 0] == pytest.approx(median)


def test_columns_are_matched_by_name(rng):
    X = table(rng)
    preprocessor = TablePreprocessor().fit(X)
    other = X[X.columns[::-1]].assign(extra=1)
    assert abs(preprocessor.transform(other) - preprocessor.transform(X)).max() == 0
    with pytest.raises(ValueError, match=r"lacks columns .*: 'age', 'job'\. It needs all of 12"):
        preprocessor.transform(X.drop(columns=["age", "job"]))


def test_polars_gives_the_same(rng):
    polars = pytest.importorskip("polars")
    X = table(rng).drop(columns=["nothing"])
    Z = TablePreprocessor().fit_transform(X)
    other = TablePreprocessor().fit(polars.from_dict(X.to_dict("list")))
    assert abs(other.transform(X) - Z).max() < 1e-12


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "category", "string", "Float32"])
def test_extension_types_of_pandas(dtype):
    values = pd.Series([1, 0, None, 1] * 10, dtype="Int64").astype(dtype)
    Z = TablePreprocessor().fit_transform(pd.DataFrame({"x": values, "y": range(40)}))
    assert np.isfinite(Z).all()
    assert len(np.unique(Z[:, 0])) >= 2


def test_times_with_a_zone():
    times = pd.Series(pd.date_range("2020-01-01", periods=48, freq="7h", tz="Europe/Berlin"))
    plain = times.dt.tz_convert(None)
    Z = [TablePreprocessor().fit_transform(pd.DataFrame({"t": each})) for each in (times, plain)]
    np.testing.assert_array_equal(*Z)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1", "2.5", "-3e2", "?"], [1, 2.5, -300, None]),
        (["1,5", "2,25", "3", "N/A"], [1.5, 2.25, 3, None]),
        (["1.234,5", "2,25", "1.000", "null"], [1234.5, 2.25, 1000, None]),
        (["1,234", "22,345,678.5", "3", ""], [1234, 22345678.5, 3, None]),
        (["$1,234", "€ 2", "30 %", " 4 "], [1234, 2, 30, 4]),
    ],
)
def test_numbers_as_text(cells, numbers):
    text = pd.DataFrame({"x": cells * 5})
    number = pd.DataFrame({"x": np.array(numbers * 5, dtype=float)})
    preprocessor = TablePreprocessor().fit(text)
    assert preprocessor.columns_["x"]["role"] == "number"
    expected = TablePreprocessor().fit_transform(number)
    np.testing.assert_allclose(preprocessor.transform(text), expected, atol=1e-12)


def test_strays_among_numbers_count_as_missing_with_a_note(rng):
    cells = [*map(str, rng.integers(0, 100, 99)), "about 5"]
    preprocessor = TablePreprocessor().fit(pd.DataFrame({"x": cells}))
    assert "Cells of 'x' that are no numbers count as missing: 'about 5'." in preprocessor.notes_
    with pytest.warns(UserWarning, match=r"'x' has cells that cannot be read: 'ten' \(1 row\)"):
        preprocessor.transform(pd.DataFrame({"x": ["ten", "about 5", "3"]}))


@pytest.mark.parametrize(
    ("form", "role"),
    [
        ("%Y-%m-%d", "iso"),
        ("%d.%m.%Y", "%d.%m.%Y"),
        ("%m/%d/%Y", "%m/%d/%Y"),
        ("%d %b %Y", "%d %b %Y"),
        ("%Y-%m-%dT%H:%M:%S", "iso"),
        ("%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M"),
    ],
)
def test_forms_of_dates(form, role):
    dates = pd.date_range("2020-01-01", periods=60, freq="5D")
    text = pd.DataFrame({"t": [*dates.strftime(form), ""]})
    preprocessor = TablePreprocessor().fit(text)
    assert preprocessor.columns_["t"]["form"] == role
    times = pd.DataFrame({"t": [*dates, pd.NaT]})
    np.testing.assert_allclose(
        preprocessor.transform(text), TablePreprocessor().fit_transform(times), atol=1e-9
    )


def test_names_do_not_make_identifiers_of_what_repeats(rng):
    X = pd.DataFrame({"paid": rng.permutation(N), "order_id": np.repeat(np.arange(N // 2), 2)})
    roles = [plan["role"] for plan in TablePreprocessor().fit(X).columns_.values()]
    assert roles == ["number", "number"]


@pytest.mark.parametrize(
    "name", ["id", "Customer ID", "userId", "row_id", "Unnamed: 0", "order no", "Kundennummer"]
)
def test_names_of_identifiers(name, rng):
    X = pd.DataFrame({name: rng.permutation(N), "x": rng.normal(size=N)})
    assert TablePreprocessor().fit(X).columns_[name] == {"role": "dropped", "reason": "identifier"}


def test_long_tails(rng):
    X = rng.normal(size=(500, 2))
    X[:, 1] = rng.lognormal(0.0, 3.0, 500)
    squeezed = TablePreprocessor().fit_transform(X)
    kept = TablePreprocessor(long_tails="keep").fit_transform(X)
    np.testing.assert_array_equal(squeezed[:, 0], kept[:, 0])
    assert kept[:, 1].max() > 10 > 6 > squeezed[:, 1].max()
    np.testing.assert_array_equal(np.argsort(X[:, 1]), np.argsort(squeezed[:, 1]))


def test_many_levels_come_out_sparse(rng):
    X = pd.DataFrame({f"c{i}": rng.integers(0, 20, 600).astype(str) for i in range(3)})
    X = X.map(lambda cell: f"level {cell}")
    preprocessor = TablePreprocessor()
    Z = preprocessor.fit_transform(X)
    assert preprocessor.sparse_output_
    assert sp.issparse(Z)
    dense = TablePreprocessor(sparse_output=False).fit_transform(X)
    np.testing.assert_array_equal(Z.toarray(), dense)


class TestSparse:
    def test_comparable_columns_stay_as_they_are(self):
        X = sp.random(100, 30, density=0.1, random_state=0, format="csr")
        assert abs(TablePreprocessor().fit_transform(X) - X).max() == 0

    def test_others_are_divided_by_their_largest_value(self):
        X = sp.random(100, 30, density=0.1, random_state=0, format="csc")
        X = X @ sp.diags(np.where(np.arange(30) < 3, 1e6, 1.0))
        preprocessor = TablePreprocessor().fit(X)
        Z = preprocessor.transform(X)
        assert sp.issparse(Z)
        assert abs(Z).max() == 1.0
        np.testing.assert_allclose(preprocessor.transform(X.toarray()).toarray(), Z.toarray())

    def test_missing_values(self):
        X = sp.csr_matrix(np.eye(5))
        X.data[2] = np.nan
        preprocessor = TablePreprocessor()
        np.testing.assert_array_equal(
            preprocessor.fit_transform(X).toarray(), np.diag([1.0, 1, 0, 1, 1])
        )
        assert "1 missing" in preprocessor.notes_[0]

    def test_after_a_dense_fit(self, rng):
        X = rng.normal(size=(30, 3))
        preprocessor = TablePreprocessor().fit(X)
        np.testing.assert_array_equal(
            preprocessor.transform(sp.csr_matrix(X)), preprocessor.transform(X)
        )


def test_infinite_values_count_as_missing():
    X = np.array([[1.0], [2.0], [np.inf], [4.0]])
    preprocessor = TablePreprocessor().fit(X)
    np.testing.assert_array_equal(preprocessor.transform(X)[:, 1], [0, 0, 1, 0])
    assert "1 infinite values of 'x0' count as missing." in preprocessor.notes_


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}), "no column to learn from"),
        (pd.DataFrame({"a": []}), "0 sample"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' more than once"),
    ],
)
def test_tables_that_cannot_be_used(X, message):
    with pytest.raises(ValueError, match=message):
        TablePreprocessor().fit(X)


def test_cells_that_are_no_cells():
    with pytest.raises(TypeError, match="'a' has cells that hold lists"):
        TablePreprocessor().fit(pd.DataFrame({"a": [[1, 2], [3]], "b": [1, 2]}))


def test_precision_of_the_input(rng):
    X = rng.normal(size=(20, 2)).astype(np.float32)
    assert TablePreprocessor().fit_transform(X).dtype == np.float32


def test_copies(rng):
    X = table(rng)
    preprocessor = clone(TablePreprocessor(max_categories=9)).fit(X)
    Z = pickle.loads(pickle.dumps(preprocessor)).transform(X)
    assert abs(Z - preprocessor.transform(X)).max() == 0


def test_feature_names_of_arrays(rng):
    preprocessor = TablePreprocessor().fit(rng.normal(size=(20, 2)))
    assert preprocessor.get_feature_names_out().tolist() == ["x0", "x1"]
    assert preprocessor.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    frame = (
        TablePreprocessor().set_output(transform="pandas").fit_transform(rng.normal(size=(9, 2)))
    )
    assert list(frame.columns) == ["x0", "x1"]
