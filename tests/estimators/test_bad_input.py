"""Each refusal says what was required and what was got."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from widemargin import ODMClassifier, SVMClassifier

CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(20, 3))


@pytest.fixture
def y() -> np.ndarray:
    return np.arange(20) % 2


# Rows


@classes
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "contains NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_nan_and_infinity(
    kind: type, value: float, message: str, dtype: str, sparse: bool, X: np.ndarray, y: np.ndarray
) -> None:
    clean = X.astype(dtype)
    dirty = clean.copy()
    dirty[7, 1] = value
    if sparse:
        clean, dirty = sp.csr_matrix(clean), sp.csr_matrix(dirty)
    with pytest.raises(ValueError, match=message):
        kind().fit(dirty, y)
    model = kind().fit(clean, y)
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=message):
            method(dirty)


@classes
def test_too_large_for_float32(kind: type, y: np.ndarray) -> None:
    X = np.full((20, 2), 1e39)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="infinity"):
        kind().fit(X.astype(np.float32), y)


@classes
@pytest.mark.parametrize("rows", [np.empty((0, 3)), sp.csr_matrix((0, 3))])
def test_no_rows(kind: type, rows: object, X: np.ndarray, y: np.ndarray) -> None:
    message = r"0 sample\(s\) .*a minimum of 1 is required"
    with pytest.raises(ValueError, match=message):
        kind().fit(rows, [])
    with pytest.raises(ValueError, match=message):
        kind().fit(X, y).predict(rows)


@classes
def test_no_features(kind: type, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"0 feature\(s\) .*a minimum of 1 is required"):
        kind().fit(np.empty((20, 0)), y)


@classes
def test_rows_need_two_dimensions(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D array instead[\s\S]*Reshape"):
        kind().fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"Found array with dim 3"):
        kind().fit(X[None], y)
    model = kind().fit(X, y)
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D array instead[\s\S]*Reshape"):
        model.predict(X[0])


@classes
def test_lengths_that_differ(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[20, 19\]"):
        kind().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(19,\), expected \(20,\)"):
        kind().fit(X, y, np.ones(19))


@classes
def test_strings_and_complex_numbers(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match="could not convert string to float"):
        kind().fit(np.full((20, 2), "red"), y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        kind().fit(X + 1j, y)


@classes
@pytest.mark.parametrize("n_features", [1, 2, 4])
def test_wrong_number_of_features(
    kind: type, n_features: int, X: np.ndarray, y: np.ndarray
) -> None:
    model = kind().fit(X, y)
    for method in (model.predict, model.decision_function):
        with pytest.raises(
            ValueError, match=f"X has {n_features} features, but .* is expecting 3 features"
        ):
            method(np.zeros((2, n_features)))


# Labels


@classes
@pytest.mark.parametrize("label", [0, "cat", True])
def test_one_class(kind: type, label: object, X: np.ndarray) -> None:
    message = f"{kind.__name__} needs rows of at least two classes; got only one class, .*{label}"
    with pytest.raises(ValueError, match=message):
        kind().fit(X, [label] * 20)


@classes
def test_one_class_left_by_the_weights(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at least two classes with a positive weight; got only"):
        kind().fit(X, y, np.where(y == 1, 1.0, 0.0))


@classes
def test_labels_that_are_no_classes(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        kind().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="contains NaN"):
        kind().fit(X, np.where(y == 1, np.nan, 0.0))
    with pytest.raises(ValueError, match="y should be a 1d array"):
        kind().fit(X, np.column_stack([y, y, y]))
    with pytest.raises(ValueError, match="requires y to be passed"):
        kind().fit(X, None)


# Weights


@classes
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[-1.0, np.ones(19)], "Negative values in data passed to `sample_weight`"),
        (np.r_[np.nan, np.ones(19)], "contains NaN"),
        (np.r_[np.inf, np.ones(19)], "contains infinity"),
        (np.zeros(20), "[Aa]t least one .*(positive|non-zero)"),
        (np.ones((20, 1)), "1D"),
    ],
)
def test_weights(
    kind: type, weights: np.ndarray, message: str, X: np.ndarray, y: np.ndarray
) -> None:
    with pytest.raises(ValueError, match=message):
        kind().fit(X, y, weights)


@classes
@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({0: -1.0}, "must map classes to positive finite numbers; got .*-1.0"),
        ({0: 0.0}, "must map classes to positive finite numbers; got .*0.0"),
        ({1: np.inf}, "must map classes to positive finite numbers; got .*inf"),
        ({1: np.nan}, "must map classes to positive finite numbers; got .*nan"),
        ({"cat": 2.0}, r"names none of the classes, \[0, 1\]; got \['cat'\]"),
        ("even", "'class_weight' parameter of .* must be .*'balanced'.*Got 'even' instead"),
        ([1.0, 2.0], "'class_weight' parameter"),
    ],
)
def test_class_weights(
    kind: type, class_weight: object, message: str, X: np.ndarray, y: np.ndarray
) -> None:
    with pytest.raises(ValueError, match=message):
        kind(class_weight=class_weight).fit(X, y)


# Parameters: scikit-learn's sentence names the parameter, its range and the value


PARAMETERS = [
    ("C", [0, 0.0, -1.0, np.nan, np.inf, "1", None, [1.0]]),
    ("gamma", [0, -0.1, np.nan, np.inf, "wide", None]),
    ("kernel", ["cosine", "RBF", "", None, 3, ["rbf"]]),
    ("degree", [0, -1, 65, 2.5, "3"]),
    ("coef0", [np.nan, np.inf, -np.inf, "0"]),
    ("fit_intercept", ["yes", 2, None]),
    ("strategy", ["approximate", None]),
    ("solver", ["lbfgs", None]),
    ("multi_class", ["multinomial", None]),
    ("decision_function_shape", ["raw", None]),
    ("tol", [0.0, -1e-3, np.nan, "1e-3"]),
    ("max_iter", [0, -1, 10.0, "none"]),
    ("max_time", [0.0, -1.0, np.nan, "1h"]),
    ("n_jobs", [1.5, "all"]),
    ("memory_limit", [0, -1, 1e9, None]),
    ("warm_start", ["yes", None]),
    ("verbose", [-1, "loud"]),
    ("random_state", [-1, "seed"]),
]


@classes
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in PARAMETERS for value in values]
)
def test_parameters(kind: type, name: str, value: object, X: np.ndarray, y: np.ndarray) -> None:
    message = f"The '{name}' parameter of {kind.__name__} must be .* Got .* instead"
    with pytest.raises(InvalidParameterError, match=message):
        kind(**{name: value}).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value", "required"),
    [
        *[("theta", v, r"range \[0.0, 1.0\)") for v in (-0.1, 1.0, 1.2, np.nan)],
        *[("upsilon", v, r"range \(0.0, 1.0\]") for v in (-0.1, 0.0, 1.01, np.nan)],
        *[("lam", v, r"range \(0.0, inf\)") for v in (-1.0, 0.0, np.nan, np.inf)],
    ],
)
def test_parameters_of_odm(
    name: str, value: float, required: str, X: np.ndarray, y: np.ndarray
) -> None:
    message = f"The '{name}' parameter of ODMClassifier must be .*{required}.* Got {value} instead"
    with pytest.raises(InvalidParameterError, match=message):
        ODMClassifier(**{name: value}).fit(X, y)


@pytest.mark.parametrize("loss", ["log", "odm", "", None])
def test_loss_of_svm(loss: object, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(InvalidParameterError, match=r"The 'loss' parameter .*'squared_hinge'"):
        SVMClassifier(loss=loss).fit(X, y)


@pytest.mark.parametrize("kind", CLASSES)
def test_parameters_are_not_positional(kind: type) -> None:
    with pytest.raises(TypeError):
        kind("rbf", 1.0)


@classes
@pytest.mark.parametrize("limit", ["lots", "1 XB", "-1GB", "0MB", ""])
def test_memory_limit(kind: type, limit: str, X: np.ndarray, y: np.ndarray) -> None:
    message = rf"`memory_limit` must be .*such as '1GiB' or '500MB'; got '{limit}'"
    with pytest.raises(ValueError, match=message):
        kind(memory_limit=limit).fit(X, y)


@classes
def test_memory_for_hardly_any_block(kind: type) -> None:
    X = np.random.default_rng(0).normal(size=(1100, 2))
    y = np.arange(1100) % 2
    message = r"`memory_limit` must be at least 32768 bytes for 1100 training rows; got 1000 bytes"
    with pytest.raises(ValueError, match=message):
        kind(memory_limit=1000).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(memory_limit="32768", C=0.01, tol=0.1).fit(X, y)


@classes
def test_no_jobs(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match="`n_jobs` must not be 0; use None for all cores"):
        kind(n_jobs=0).fit(X, y)


def test_newton_with_the_hinge(X: np.ndarray, y: np.ndarray) -> None:
    message = r"solver='newton' needs a loss with curvature .*; got the hinge loss. Use solver="
    with pytest.raises(ValueError, match=message):
        SVMClassifier(solver="newton").fit(X, y)


@classes
def test_pairwise_decisions_of_problems_that_are_not_pairwise(
    kind: type, X: np.ndarray, y: np.ndarray
) -> None:
    message = r"decision_function_shape='ovo' needs pairwise problems; got multi_class='ovr'"
    with pytest.raises(ValueError, match=message):
        kind(decision_function_shape="ovo", multi_class="ovr").fit(X, y)


# Precomputed and callable kernels


@classes
def test_precomputed_kernel(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"must be a square matrix of shape .*; got \(20, 3\)"):
        kind("precomputed").fit(X, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        kind("precomputed").fit(sp.csr_matrix(X @ X.T), y)
    model = kind("precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 20 features"):
        model.predict(X)


@classes
def test_callable_kernel(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"must return a matrix of shape \(20, 20\) .*; got \(3,"):
        kind(lambda A, B: A.T @ B).fit(X, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        kind(lambda A, B: A @ B.T).fit(sp.csr_matrix(X), y)
    message = r"needs its whole matrix, .* for 20 rows; `memory_limit` is 3000. Raise it"
    with pytest.raises(ValueError, match=message):
        kind(lambda A, B: A @ B.T, memory_limit=3000).fit(X, y)


@classes
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_callable_kernel_that_is_not_finite(
    kind: type, value: float, X: np.ndarray, y: np.ndarray
) -> None:
    with pytest.raises(ValueError, match=r"[Kk]ernel function.*finite"):
        kind(lambda A, B: np.where(A @ B.T > 3, value, 1.0)).fit(X, y)


@classes
def test_callable_kernel_of_another_shape_at_predict(
    kind: type, X: np.ndarray, y: np.ndarray
) -> None:
    model = kind(lambda A, B: A @ B.T if len(A) == 20 else (A @ B.T)[:, :1]).fit(X, y)
    with pytest.raises(ValueError, match="must return a matrix of shape"):
        model.predict(X[:4])


@classes
def test_precomputed_kernel_must_be_symmetric(kind: type, X: np.ndarray, y: np.ndarray) -> None:
    K = X @ X.T
    K[3, 5] += 10.0
    with pytest.raises(ValueError, match="symmetric"):
        kind("precomputed").fit(K, y)


# After a refusal


def test_a_refused_fit_leaves_no_model(X: np.ndarray, y: np.ndarray) -> None:
    model = SVMClassifier(solver="newton")
    with pytest.raises(ValueError, match="newton"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@classes
def test_a_refused_refit_does_not_predict_nonsense(
    kind: type, X: np.ndarray, y: np.ndarray
) -> None:
    model = kind(random_state=0).fit(X, y)
    before = model.dual_coef_.copy()
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, -np.ones(20))
    np.testing.assert_array_equal(model.dual_coef_, before)
    assert model.predict(X).shape == (20,)
