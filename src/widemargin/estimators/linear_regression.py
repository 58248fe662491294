"""The linear regressors: support vectors, margin distribution and quantiles."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..core.parameters import with_parameters
from ..core.regression_set import TargetUnits
from ..core.training_set import earlier_fit_kept
from .linear_regression_fit import fit, fit_path, fit_stream, inside, partial_fit
from .linear_regression_model import LinearRegressorParameters, LinearRegressorPredictor
from .path import FitsPaths
from .regression import DeviationBandLoss, EpsilonInsensitiveLoss, QuantileLoss


class LinearRegressor(FitsPaths, LinearRegressorPredictor, LinearRegressorParameters):
    """Base of the linear regressors; subclasses add the loss and its parameters."""

    _persisted_private: ClassVar[tuple[str, ...]] = ("_learnt_constant", "_learnt_units")

    curvature_: Array
    n_samples_seen_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows and targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows. float32 stays float32, and rows in C order or CSR are not copied.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row; rows of weight zero are left out.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        self._check_parameters()
        with earlier_fit_kept(self):
            _, training = self._training_set(X, y, sample_weight)
            fit(self, training)
        return self

    def _fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> list[Self]:
        self._refuse_engine("fit_path")
        models: list[Self] = fit_path(self, X, y, Cs, sample_weight)
        return models

    def fit_stream(
        self,
        batches: Any,
        *,
        n_features: int | None = None,
        spool_dir: str | PathLike[str] | None = None,
    ) -> Self:
        """Train on rows that do not fit into memory.

        The rows are written to a temporary folder once, block by block, and the solver reads them
        from there as often as it needs. It is the same problem, and the same certified gap, as
        that of :meth:`fit`; memory is needed for a few numbers per row only.

        Parameters
        ----------
        batches : iterable, path-like, tuple or callable
            Tuples ``(X, y)`` or ``(X, y, sample_weight)``, gone through once; or the path of a
            LIBSVM, CSV, TSV, Parquet or NPZ file; or one such tuple of arrays, mapped ones not
            being copied. See :func:`widemargin.data.spool`.
        n_features : int, optional
            Number of features required; None takes what there is.
        spool_dir : path-like, optional
            Folder for the temporary one; None is the system's. As much space is needed as the rows
            take in memory.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        self._refuse_engine("fit_stream")
        self._check_parameters()
        with earlier_fit_kept(self):
            fit_stream(self, batches, n_features=n_features, spool_dir=spool_dir)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning from some rows, which are not kept.

        What earlier rows say is remembered by the second-order expansion of their loss at the
        weights they led to: a matrix, or its diagonal beyond 1,000 features. The new weights
        minimise this plus the loss of the new rows. They approach the optimum over all rows seen,
        each weighing ``C``, but nothing certifies how far they are from it: ``relative_gap_`` is
        NaN. Absolute losses are smoothed. A row passed twice counts twice.

        A first call, also after :meth:`fit`, starts from nothing; the middle of its targets is what
        the intercept is measured from ever after. Larger batches learn better than single rows, and
        faster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row.

        Returns
        -------
        self : object
            The regressor after these rows.
        """
        self._refuse_engine("partial_fit")
        self._check_parameters()
        with earlier_fit_kept(self):
            partial_fit(self, X, y, sample_weight)
        return self

    def _check_parameters(self) -> None:
        self._validate_params()
        self._refuse_solver()

    def _previous_weights(self, units: TargetUnits) -> Array | None:
        """Return the last fit's weights as (1, size) in other units, if they fit the new data."""
        if not hasattr(self, "coef_") or self.coef_.shape != (self.n_features_in_,):
            return None
        return inside(self.coef_, self.intercept_, self._constant, units)


@with_parameters
class LinearSVMRegressor(LinearRegressor, EpsilonInsensitiveLoss):
    r"""Linear support vector regression, solved to a certified duality gap.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + C \sum_i v_i\, (|r_i| - \varepsilon)_+^q,
              \qquad r_i = w^\top x_i - t_i,

    with q = 1 or 2: the problems of :class:`sklearn.svm.LinearSVR`, with the same constants and
    defaults, but for the intercept.

    See Also
    --------
    LinearODMRegressor : The same with a loss that weighs the two sides of a residual.
    LinearQuantileSVMRegressor : The same for a quantile of the targets.
    sklearn.svm.LinearSVR : LIBLINEAR's solver of the same problems.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike. Targets need no scaling for the
    fit, but ``epsilon`` and the errors that ``C`` weighs are in their unit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearSVMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVMRegressor(epsilon=10.0).fit(StandardScaler().fit_transform(X), y)
    >>> bool(model.relative_gap_ <= 1e-3)
    True
    """


@with_parameters
class LinearODMRegressor(LinearRegressor, DeviationBandLoss):
    r"""Linear regression that optimises the distribution of residuals.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + \tfrac{C}{2} \sum_i v_i \left[
              (-\theta - r_i)_+^2 + \upsilon\,(r_i - \theta)_+^2 \right],
              \qquad r_i = w^\top x_i - t_i.

    The problem of :class:`LinearODMClassifier` with residuals in the place of margins: their
    deviation beyond θ is penalised on both sides, with a weight υ for predictions that are too
    large.

    See Also
    --------
    LinearSVMRegressor : The same with the losses of support vector regression.
    LinearODMClassifier : The same for classes.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearODMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> bool(LinearODMRegressor(theta=10.0).fit(X, y).score(X, y) > 0.5)
    True
    """


@with_parameters
class LinearQuantileSVMRegressor(LinearRegressor, QuantileLoss):
    r"""Linear quantile regression with squared weights as penalty, to a certified duality gap.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + C \sum_i v_i \max\left(
              -q\, r_i,\; (1 - q)\, r_i \right), \qquad r_i = w^\top x_i - t_i.

    See Also
    --------
    LinearSVMRegressor : The same with the losses of support vector regression.
    sklearn.linear_model.QuantileRegressor : The same loss with absolute weights as penalty.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike. Where ``C`` times the number of
    rows is small, the penalty on the intercept holds it near the quantile of all targets; raise
    ``intercept_scaling`` to lift it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearQuantileSVMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = LinearQuantileSVMRegressor(quantile=0.9, C=10.0).fit(X, y)
    >>> round(float((y <= model.predict(X)).mean()), 1)
    0.9
    """
