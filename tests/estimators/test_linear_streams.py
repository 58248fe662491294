"""Linear classifiers of rows on disk, and of rows that are seen once."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_models import LOSSES, noisy_classes, primal
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, make_classification

from widemargin import LinearODMClassifier, LinearSVMClassifier

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
losses = pytest.mark.parametrize("loss", LOSSES)


def batches(X: object, y: np.ndarray, n: int, *weights: np.ndarray):
    for rows in np.array_split(np.arange(len(y)), n):
        yield X[rows], y[rows], *(each[rows] for each in weights)


# Rows on disk


@losses
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_stream_gives_the_model_of_memory(loss: str, form: str, tmp_path: object) -> None:
    X, y = noisy_classes(3, 900)
    X = X.astype(np.float32) if form == "dense" else sp.csr_matrix(X * (np.abs(X) > 0.5))
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    labels = np.array(["no", "perhaps", "yes"])[y]
    for settings in ({}, {"class_weight": "balanced", "fit_intercept": False}):
        model = clone(LOSSES[loss]).set_params(**settings)
        expected = clone(model).fit(X, labels, weights)
        model.fit_stream(batches(X, labels, 7, weights), spool_dir=tmp_path)
        # Weights are summed in another order: the hinge's steps part, and meet within `tol`.
        atol = 1e-2 if loss == "hinge" else 1e-4
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=atol)
        np.testing.assert_array_equal(model.classes_, expected.classes_)
        assert model.n_features_in_ == 10
        assert model.relative_gap_ <= model.tol
    assert list(tmp_path.iterdir()) == []


def test_other_sources(tmp_path: object) -> None:
    X, y = noisy_classes(n_rows=300)
    expected = LinearODMClassifier().fit(X, y).coef_
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for source in (tmp_path / "rows.svm", (mapped, y), lambda: batches(X, y, 3)):
        model = LinearODMClassifier().fit_stream(source)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-6)


def test_many_features_on_disk_are_left_to_newton() -> None:
    rows = sp.random(600, 1500, 0.01, format="csr", random_state=0)
    y = np.asarray(rows[:, :700].sum(axis=1)).ravel() > 1
    assert LinearODMClassifier().fit(rows, y).solver_ == "dual_then_newton"
    model = LinearODMClassifier().fit_stream(batches(rows, y, 3))
    assert model.solver_ == "newton"
    assert model.converged_


def test_names_of_columns_come_from_the_file(tmp_path: object) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("length,width,label\n" + "1,2,a\n2,1,b\n" * 20)
    model = LinearSVMClassifier().fit_stream(path)
    assert model.feature_names_in_.tolist() == ["length", "width"]
    model.fit_stream([(np.eye(2), ["a", "b"])])
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_of_columns_come_from_data_frames(library: str) -> None:
    frame_of = pytest.importorskip(library).DataFrame
    X, y = noisy_classes(n_rows=90)
    names = [f"column {k}" for k in range(10)]
    frames = [frame_of(dict(zip(names, part.T, strict=True))) for part in np.split(X, 3)]
    labels = np.split(y, 3)
    model = LinearODMClassifier().fit_stream(zip(frames, labels, strict=True))
    assert model.feature_names_in_.tolist() == names
    assert model.fit_stream((frames[0], labels[0])).feature_names_in_.tolist() == names
    turned = frames[2][names[::-1]]
    with pytest.raises(ValueError, match=r"Batch 3: .* is 'column 9' instead of 'column 0'"):
        model.fit_stream(zip([*frames[:2], turned], labels, strict=True))
    with pytest.raises(ValueError, match="Batch 2: the columns have no names"):
        model.fit_stream([(frames[0], labels[0]), (X[30:60], labels[1])])
    with pytest.raises(ValueError, match="Batch 2: the columns have names"):
        model.fit_stream([(X[:30], labels[0]), (frames[1], labels[1])])


def test_what_a_stream_refuses() -> None:
    X, y = noisy_classes()
    with pytest.raises(ValueError, match="at least two classes are needed; got only one class, 0"):
        LinearODMClassifier().fit_stream([(X, np.zeros(len(y), dtype=int))], classes=[0, 1])
    with pytest.raises(ValueError, match=r"`validation_fraction` .* got 0\.2 with a stream"):
        LinearODMClassifier(validation_fraction=0.2).fit_stream([(X, y)])
    with pytest.raises(ValueError, match="not in `classes`"):
        LinearODMClassifier().fit_stream([(X, y + 1)], classes=[0, 1])


def test_continuous_labels_are_classes_only_if_named(tmp_path: object) -> None:
    X, y = noisy_classes(n_rows=60)
    model = LinearODMClassifier()
    with pytest.raises(ValueError, match=r"Row 1: unknown label type: continuous.* got 0\.5"):
        model.fit_stream((X, y - 0.5 + (y == 0)))
    with pytest.raises(ValueError, match="Batch 2, row 1: unknown label type: continuous"):
        model.fit_stream([(X, y), (X, y + 0.25)])
    path = tmp_path / "rows.csv"
    path.write_text("length,label\n" + "1,0.5\n2,1.5\n" * 20)
    with pytest.raises(ValueError, match="unknown label type: continuous"):
        model.fit_stream(path)
    assert model.fit_stream(path, classes=[0.5, 1.5]).classes_.tolist() == [0.5, 1.5]
    assert model.fit_stream((X, y.astype(float))).classes_.tolist() == [0.0, 1.0]


def test_a_class_that_does_not_come_is_never_predicted() -> None:
    X, y = noisy_classes()
    model = LinearODMClassifier().fit_stream([(X, y)], classes=[0, 1, 2])
    assert model.coef_.shape == (3, 10)
    assert set(model.predict(X)) == {0, 1}


# Rows that are seen once


@losses
def test_one_batch_is_a_fit(loss: str) -> None:
    X, y = noisy_classes()
    model = clone(LOSSES[loss]).partial_fit(X, y, classes=[0, 1])
    best = primal(clone(model).set_params(tol=1e-8).fit(X, y), X, y)
    assert primal(model, X, y) <= best * (1.05 if loss == "hinge" else 1.00001)
    assert np.isnan(model.relative_gap_)
    assert not model.converged_
    assert model.n_samples_seen_ == len(y)


@pytest.mark.parametrize(
    ("loss", "excess"), [("odm", 1e-3), ("squared_hinge", 1e-3), ("hinge", 5e-3)]
)
@pytest.mark.parametrize("n_batches", [5, 100])
def test_one_pass_comes_near_the_optimum(loss: str, excess: float, n_batches: int) -> None:
    X, y = make_classification(5000, 20, n_informative=10, flip_y=0.1, random_state=0)
    model = clone(LOSSES[loss])
    for rows, labels in batches(X, y, n_batches):
        model.partial_fit(rows, labels, classes=[0, 1])
    assert model.n_samples_seen_ == len(y)
    assert model.n_iter_ == n_batches
    best = primal(clone(model).set_params(tol=1e-6).fit(X, y), X, y)
    assert best <= primal(model, X, y) <= (1 + excess) * best


@losses
def test_more_passes_come_nearer(loss: str) -> None:
    """Every pass adds the rows' losses once more, so that C counts the passes."""
    X, y = noisy_classes(n_rows=1000)
    model, excess = clone(LOSSES[loss]).set_params(C=0.1), []
    for passes in range(1, 5):
        for rows, labels in batches(X, y, 20):
            model.partial_fit(rows, labels, classes=[0, 1])
        same = clone(model).set_params(C=0.1 * passes, tol=1e-8).fit(X, y)
        best = primal(same, X, y)
        same.coef_, same.intercept_ = model.coef_, model.intercept_
        excess.append(primal(same, X, y) / best - 1)
    assert excess[-1] < (5e-3 if loss == "hinge" else 1e-4)
    assert excess[-1] <= excess[0]


def test_many_features_are_remembered_one_by_one() -> None:
    rng = np.random.default_rng(0)
    rows = sp.random(3000, 2000, 0.01, format="csr", random_state=0, dtype=np.float64)
    y = (rows @ rng.normal(size=2000) > 0).astype(int)
    model = LinearODMClassifier(C=10.0)
    for part, labels in batches(rows[:2000], y[:2000], 20):
        model.partial_fit(part, labels, classes=[0, 1])
    assert model.curvature_.shape == (1, 2001)
    whole = LinearODMClassifier(C=10.0).fit(rows[:2000], y[:2000])
    assert model.score(rows[2000:], y[2000:]) > whole.score(rows[2000:], y[2000:]) - 0.03
    small = LinearODMClassifier(memory_limit=100)  # a matrix would take more
    small.partial_fit(rows[:50, :30].toarray(), y[:50], classes=[0, 1])
    assert small.curvature_.shape == (1, 31)


def test_several_classes_and_threads() -> None:
    X, y = noisy_classes(4, 1000)
    models = [LinearODMClassifier(n_jobs=n) for n in (1, 2)]
    for model in models:
        for rows, labels in batches(X, y, 5):
            model.partial_fit(rows, labels, classes=np.arange(4))
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].score(X, y) > LinearODMClassifier().fit(X, y).score(X, y) - 0.01


def test_weights_of_rows() -> None:
    X, y = noisy_classes()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    times = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted = LinearODMClassifier().partial_fit(X, y, [0, 1], sample_weight=weights)
    repeated = LinearODMClassifier().partial_fit(X[times], y[times], [0, 1])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    by_class = LinearODMClassifier(class_weight={0: 3.0}).partial_fit(X, y, [0, 1])
    by_row = LinearODMClassifier().partial_fit(X, y, [0, 1], np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


def test_a_batch_of_one_class() -> None:
    X, y = noisy_classes(3)
    order = np.argsort(y, kind="stable")
    model = LinearODMClassifier()
    for rows, labels in batches(X[order], y[order], 12):
        model.partial_fit(rows, labels, classes=[0, 1, 2])
    assert model.score(X, y) > 0.45  # the order could not be worse; a guess gets a third


def test_a_fit_begins_anew_and_so_does_a_stream_after_it() -> None:
    X, y = noisy_classes()
    model = LinearODMClassifier().partial_fit(X, y, [0, 1])
    first = model.coef_
    model.fit(X, y)
    assert not hasattr(model, "curvature_")
    model.partial_fit(X, y)  # the classes are known
    np.testing.assert_array_equal(model.coef_, first)
    assert model.n_samples_seen_ == len(y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": 1.0}, r"`lam` needs to know all rows, .* got 1\.0"),
        ({"validation_fraction": 0.5}, "`validation_fraction` needs to know all rows"),
        ({"class_weight": "balanced"}, "class_weight='balanced' needs to know all rows"),
    ],
)
def test_settings_that_need_all_rows(settings: dict, message: str) -> None:
    X, y = noisy_classes()
    with pytest.raises(ValueError, match=message):
        LinearODMClassifier(**settings).partial_fit(X, y, [0, 1])


def test_labels_that_were_not_announced() -> None:
    X, y = noisy_classes()
    with pytest.raises(ValueError, match="first call of `partial_fit` needs `classes`"):
        LinearODMClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="`classes` must list at least two labels"):
        LinearODMClassifier().partial_fit(X, y, [1, 1])
    with pytest.raises(ValueError, match=r"labels that are not in `classes`, \[0, 2\]: \[1\]"):
        LinearODMClassifier().partial_fit(X, y, [0, 2])
    model = LinearODMClassifier().partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="`classes` must stay those of the first call"):
        model.partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="`fit_intercept` has changed"):
        model.set_params(fit_intercept=False).partial_fit(X, y)
    model.set_params(fit_intercept=True)
    with pytest.raises(ValueError, match="`intercept_scaling` has changed"):
        model.set_params(intercept_scaling=10.0).partial_fit(X, y)
    model.set_params(intercept_scaling=1.0).partial_fit(X, y)
