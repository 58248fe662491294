"""Random features: kernel values, the same map everywhere, forms of rows, files and graphs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import LinearSVMClassifier, RandomFeatures, SVMClassifier
from widemargin.persistence import ModelFileError, dumps, loads

KERNELS = {
    "rbf": (rbf_kernel, {"gamma": 0.3}),
    "laplacian": (laplacian_kernel, {"gamma": 0.1}),
    "poly": (polynomial_kernel, {"gamma": 0.1, "degree": 2, "coef0": 1.0}),
}
WANTED = {
    "rbf": [
        0.4639773378742951,
        0.3881035987732595,
        0.2862653142982048,
        -0.42979649828620314,
        0.49937520625201726,
    ],
    "laplacian": [
        0.6261643135468252,
        0.5882755441388767,
        0.47741875352300855,
        -0.08898456293331507,
        0.2322323925900701,
    ],
    "poly": [
        -0.16754446796632416,
        -0.2912277660168379,
        0.00811388300841898,
        0.03377223398316214,
        -0.025658350974743116,
    ],
}
WIDE = [-0.341315124753376, -2.8105669406308404, 0.05447667208871985]


@parametrize_with_checks(
    [RandomFeatures(kernel, n_components=7, random_state=0) for kernel in KERNELS]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def rows(n_rows=200, n_columns=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def error(kernel, n_components, n_columns=6, seeds=range(5)):
    """Return the root mean square error of kernel values, relative to the rows' own."""
    X = rows(n_columns=n_columns)
    exact, settings = KERNELS[kernel]
    K = exact(X, **settings)
    own = np.sqrt(np.outer(np.diag(K), np.diag(K)))
    errors = []
    for seed in seeds:
        features = RandomFeatures(
            kernel, n_components=n_components, random_state=seed, **settings
        ).fit_transform(X)
        errors.append(np.mean(((features @ features.T - K) / own) ** 2))
    return np.sqrt(np.mean(errors))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_columns", [6, 40])
def test_inner_products_approach_the_kernel(kernel, n_columns):
    # A value has the error 1 / sqrt(n_components) or so; odd numbers have a feature without a pair.
    for n_components in (255, 4096):
        assert error(kernel, n_components, n_columns) < 1.6 / np.sqrt(n_components)


@pytest.mark.parametrize(("kernel", "n_columns"), [("rbf", 6), ("rbf", 40), ("laplacian", 6)])
def test_even_frequencies_beat_independent_ones(kernel, n_columns):
    gamma = {"rbf": 0.3 * 6 / n_columns / 4, "laplacian": 0.1}[kernel]
    X = rows(n_columns=n_columns)
    K = KERNELS[kernel][0](X, gamma=gamma)
    n = 512

    def independent(seed):
        rng = np.random.default_rng(seed)
        if kernel == "rbf":
            W = np.sqrt(2 * gamma) * rng.normal(size=(n_columns, n))
        else:
            W = gamma * rng.standard_cauchy(size=(n_columns, n))
        return np.hstack([np.cos(X @ W), np.sin(X @ W)]) / np.sqrt(n)

    def even(seed):
        map = RandomFeatures(kernel, n_components=2 * n, gamma=gamma, random_state=seed)
        return map.fit_transform(X)

    errors = [
        np.mean([np.mean((Z @ Z.T - K) ** 2) for Z in map(draw, range(5))])
        for draw in (even, independent)
    ]
    assert errors[0] < 0.7 * errors[1]


def test_the_map_is_that_of_every_machine():
    # Written down once, to 12 digits. A change would part sites of different versions.
    X = np.array([[0.5, -1.0, 2.0]])
    for kernel, wanted in WANTED.items():
        settings = KERNELS[kernel][1]
        map = RandomFeatures(kernel, n_components=5, random_state=3, **settings).fit(X)
        np.testing.assert_allclose(map.transform(X)[0], wanted, rtol=1e-11)
    wide = RandomFeatures("rbf", n_components=80, gamma=0.5, random_state=3).fit(np.zeros((1, 40)))
    np.testing.assert_allclose(wide.random_weights_[:3, 0], WIDE, rtol=1e-11)


def test_the_map_does_not_depend_on_rows_and_threads():
    X = rows()
    a = RandomFeatures("rbf", gamma=0.5, random_state=1, n_jobs=1).fit(X)
    b = RandomFeatures("rbf", gamma=0.5, random_state=1, n_jobs=3).fit(np.zeros((1, 6)))
    assert np.array_equal(a.random_weights_, b.random_weights_)
    big = rows(2_000)
    assert np.array_equal(a.transform(big), b.transform(big))
    other = RandomFeatures("rbf", gamma=0.5, random_state=2).fit(X)
    assert not np.array_equal(a.random_weights_, other.random_weights_)


@pytest.mark.parametrize("kernel", KERNELS)
def test_forms_of_rows(kernel):
    X = rows()
    X[X < 0.5] = 0.0
    map = RandomFeatures(kernel, n_components=33, **KERNELS[kernel][1]).fit(X)
    wanted = map.transform(X)
    assert wanted.dtype == np.float64
    for form in (sp.csr_matrix, sp.csr_array, sp.csc_array):
        np.testing.assert_allclose(map.transform(form(X)), wanted, atol=1e-12)
    single = map.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    # Rounded rows have other phases, above all where the laplacian has a large frequency.
    np.testing.assert_allclose(single, wanted, atol=1e-3 * np.abs(wanted).max())
    names = map.get_feature_names_out()
    assert names[0] == "randomfeatures0"
    assert len(names) == wanted.shape[1]


def test_words_for_gamma():
    X = rows()
    assert RandomFeatures(gamma="auto").fit(X).gamma_ == pytest.approx(1 / 6)
    assert RandomFeatures().fit(X).gamma_ == pytest.approx(1 / (6 * X.var()))


def test_refuses_what_is_no_kernel():
    for wrong in ({"kernel": "sigmoid"}, {"coef0": -1.0}, {"gamma": 0.0}, {"n_components": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            RandomFeatures(**wrong).fit(rows())


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def test_a_linear_classifier_on_them_acts_like_a_kernel_machine():
    X, y = digits()
    X, X_test, y, y_test = X[:1000], X[1000:], y[:1000], y[1000:]
    features = RandomFeatures("rbf", n_components=1000, gamma=0.25)
    model = make_pipeline(features, LinearSVMClassifier(C=10)).fit(X, y)
    linear = LinearSVMClassifier(C=10).fit(X, y).score(X_test, y_test)
    exact = SVMClassifier(kernel="rbf", gamma=0.25, C=10).fit(X, y).score(X_test, y_test)
    score = model.score(X_test, y_test)
    assert score > linear + 0.3 * (exact - linear)
    assert score > exact - 0.015


@pytest.mark.parametrize("kernel", KERNELS)
def test_files(kernel):
    X, y = digits()
    map = RandomFeatures(kernel, n_components=51, **KERNELS[kernel][1])
    pipeline = make_pipeline(map, LinearSVMClassifier(tol=0.1, max_iter=20)).fit(X, y)
    again = loads(dumps(pipeline))
    assert np.array_equal(again.decision_function(X), pipeline.decision_function(X))
    alone = loads(dumps(map))
    assert np.array_equal(alone.transform(X), map.transform(X))


@pytest.mark.parametrize(
    ("kernel", "attribute", "wrong"),
    [
        ("rbf", "random_weights_", np.zeros((3, 3))),
        ("rbf", "random_weights_", np.full((7, 4), np.nan)),
        ("rbf", "gamma_", -1.0),
        ("poly", "random_weights_", np.full((2, 7), 9)),
        ("poly", "random_weights_", np.zeros((2, 7), dtype=np.int64)),
    ],
)
def test_damaged_files_are_refused(kernel, attribute, wrong):
    map = RandomFeatures(kernel, n_components=8, **KERNELS[kernel][1]).fit(rows())
    setattr(map, attribute, wrong)
    with pytest.raises((ModelFileError, ValueError), match=attribute):
        loads(dumps(map))
