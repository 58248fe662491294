"""Random features: rows mapped so that a linear classifier on them acts like a kernel machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.budget import seed_of
from ..core.parameters import AT_LEAST_ONE, POSITIVE
from ..core.random_features import (
    fourier_features,
    fourier_weights,
    sketch_features,
    sketch_weights,
)
from ..core.resources import single_threaded_blas, thread_count
from ..core.rows import canonical
from ..kernel.kernels import resolve_gamma

#: Kernels that have random features.
FEATURE_KERNELS = ("rbf", "laplacian", "poly")
# Features computed at a time: a megabyte or two, which stays in the cache.
BLOCK_FEATURES = 1 << 18


class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Map rows so that their inner products approximate a kernel.

    A linear classifier on the features is a kernel machine, nearly: the error of a kernel value
    shrinks as :math:`1/\sqrt{n\_components}`. The map depends on its settings, the seed and the
    number of columns, but not on rows (unless ``gamma`` is a word): everybody who knows these
    maps alike, and the map tells nothing about training rows.

    Parameters
    ----------
    kernel : {'rbf', 'laplacian', 'poly'}, default='rbf'
        Kernel to approximate: :math:`\exp(-\gamma \lVert x - z \rVert^2)`,
        :math:`\exp(-\gamma \lVert x - z \rVert_1)` or
        :math:`(\gamma\, x^\top z + \text{coef0})^{\text{degree}}`.
    n_components : int, default=1000
        Number of features.
    gamma : {'scale', 'auto'} or float, default='scale'
        Constant of the kernel. 'scale' is 1 / (columns × variance of all entries), 'auto' is
        1 / columns. Where rows must not be pooled, take a number.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly', not negative.
    random_state : int, RandomState instance or None, default=None
        Decides the map. None is a fixed seed.
    n_jobs : int, default=None
        Threads of ``transform``; None uses all cores. Results do not depend on it.

    Attributes
    ----------
    gamma_ : float
        The constant of the kernel.
    random_weights_ : array
        For 'rbf' and 'laplacian', one column per frequency (including ``gamma``), with its phase
        as the last row. For 'poly', of shape (degree, n_features + 1): the place of every
        column in each count sketch, counted from 1, negative where its sign changes.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X had names.

    See Also
    --------
    GossipClassifier : Uses these features at the sites of a network.

    Notes
    -----
    Frequencies [Rahimi2007] fill their distribution evenly: they are a Sobol sequence with a random
    shift [Yang2014], or, for 'rbf' with more than 32 columns, orthogonal in groups [Yu2016]. 'poly'
    is a tensor sketch [Pham2013]. The
    numbers that decide the map are the same on every machine and with every version of NumPy;
    features of two machines agree to about 12 digits for float64 rows, 4 for float32 ones.

    Scale the columns first, as for every kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from widemargin import LinearSVMClassifier, RandomFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> features = RandomFeatures("rbf", n_components=1000, gamma=1e-3, random_state=0)
    >>> model = make_pipeline(features, LinearSVMClassifier(C=10)).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(FEATURE_KERNELS))],
        "n_components": [AT_LEAST_ONE],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "degree": [AT_LEAST_ONE],
        "coef0": [Interval(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    gamma_: float
    random_weights_: NDArray[Any]
    n_features_in_: int

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        n_components: int = 1000,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. Only the number of columns matters, unless ``gamma`` is a word.
        y : object
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._validate_params()
        X = validate_data(self, X, **_ACCEPTED)
        gamma = resolve_gamma(self.gamma, X, np.ones(X.shape[0]))
        n_columns, n_components = X.shape[1], int(self.n_components)
        seed = seed_of(self.random_state)
        if self.kernel == "poly":
            weights: NDArray[Any] = sketch_weights(n_columns, n_components, int(self.degree), seed)
        else:
            weights = fourier_weights(self.kernel, n_columns, n_components, seed)
            weights[:-1] *= gamma if self.kernel == "laplacian" else np.sqrt(gamma)
        self.gamma_, self.random_weights_ = gamma, weights
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Map rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to map.

        Returns
        -------
        array of shape (n_samples, n_components)
            Their features: float32 for float32 rows, else float64.
        """
        check_is_fitted(self)
        return self._mapped(validate_data(self, X, reset=False, **_ACCEPTED))

    def _mapped(self, X: Any) -> NDArray[Any]:
        """Map checked rows."""
        X = canonical(X)
        n_rows, n_components = X.shape[0], int(self.n_components)
        out = np.empty((n_rows, n_components), dtype=X.dtype)
        # Single precision would lose the phases that the laplacian's large frequencies have.
        dtype = np.float64 if self.kernel == "laplacian" else X.dtype
        weights = self.random_weights_
        if self.kernel != "poly":
            weights = weights.astype(dtype, copy=False)

        def write(start: int) -> None:
            rows, part = X[start : start + step], out[start : start + step]
            if self.kernel == "poly":
                sketch_features(rows, weights, self.gamma_, float(self.coef0), part)
            else:
                fourier_features(rows.astype(dtype, copy=False), weights, n_components, part)

        step = max(16, BLOCK_FEATURES // n_components)
        starts = range(0, n_rows, step)
        threads = min(thread_count(self.n_jobs), len(starts))
        with single_threaded_blas():
            if threads <= 1:
                for start in starts:
                    write(start)
            else:
                with ThreadPoolExecutor(threads) as pool:
                    list(pool.map(write, starts))
        return out

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the map has been drawn."""
        return hasattr(self, "random_weights_")

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


_ACCEPTED = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "order": "C",
}
