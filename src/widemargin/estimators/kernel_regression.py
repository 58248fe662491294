"""The kernel regressors: SVM, ODM and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import train
from ..core.history import History
from ..core.parameters import with_parameters
from ..core.progress import FitProgress
from ..core.regression_set import RegressionSet
from ..core.rows import as_rows
from ..core.training_set import earlier_fit_kept
from ..kernel.defaults import mean_and_sameness, with_intercept
from ..kernel.divide.driver import resolve_strategy
from ..kernel.kernels import Kernel
from ..kernel.model.basis_refit import RowsToFit
from ..kernel.model.prediction import WeightedVectors, set_support
from ..kernel.problem import COLUMNS, Duals
from ..kernel.problems import ExactFit, KernelProblems, one_task
from .kernel_regression_model import KernelRegressorParameters, KernelRegressorPredictor
from .kernel_training import KernelTraining
from .path import Path, refuse_division
from .regression import (
    DeviationBandLoss,
    EpsilonInsensitiveLoss,
    QuantileLoss,
    ResidualLoss,
)
from .validation import validation_rows


class KernelRegressor(
    KernelRegressorPredictor, ResidualLoss, KernelRegressorParameters, KernelTraining
):
    """Base of the kernel regressors; subclasses add the loss and its parameters."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Train on rows and targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) when
            ``kernel="precomputed"``. float32 stays float32.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row; rows of weight zero are left out.
        X_val, y_val : array-like, optional
            Rows and targets that are not trained on: a divided fit takes the mean loss of the model
            of each level on them and stops at the first level where it is no smaller than before.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        self._check_parameters()
        name = type(self).__name__
        with earlier_fit_kept(self):
            X, training = self._training_set(X, y, sample_weight)
            strategy = resolve_strategy(self.strategy, len(training.targets), name)
            validation = None
            if strategy is not None or X_val is not None or y_val is not None:
                training, validation = validation_rows(
                    self, strategy, training, X, X_val, y_val, self._seed()
                )
            problems = self._pose(training, *self._kernel_and_rows(training))
            if self.warm_start:
                problems = replace(problems, previous=self._previous_coefficients(training))
            budget = Budget.of(self, self._seed())
            with FitProgress(name, self.tol) as progress:
                if strategy is None:
                    self._fit_exactly(training, problems, budget, progress)
                else:
                    self._fit_by_levels(training, problems, strategy, validation, budget, progress)
        return self

    def _fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> list[Self]:
        path = Path.of(self, X, y, Cs, sample_weight)
        first = path.models[0]
        training: Any = path.training
        refuse_division(self, len(training.targets))
        problems = first._pose(training, *first._kernel_and_rows(training))
        neighbours: list[Duals] | None = None
        for label, model in path.labelled():
            problems = replace(problems, weights=model._loss_weights(training))
            budget = Budget.of(model, first._seed())
            with FitProgress(label, model.tol) as progress:
                fit = model._fit_exactly(training, problems, budget, progress, neighbours)
            neighbours = [each.iterate for each in fit.solved]
        return path.models

    def _check_parameters(self) -> None:
        self._validate_params()

    def _pose(self, training: RegressionSet, kernel: Kernel, rows: Any) -> KernelProblems:
        return KernelProblems(
            one_task(len(training.targets)),
            kernel,
            rows,
            self._loss_weights(training),
            self._loss(),
            target=training.targets - self._centre(training, kernel),
        )

    def _rows_to_fit(self, X: Any, y: Any, sample_weight: Any) -> RowsToFit:
        """Pose the problem on rows that stand for all training rows."""
        if X is None or y is None:
            raise ValueError("X and y go together; got only one of them.")
        _, given = self._training_set(X, y, sample_weight, reset=False)
        training = replace(given, weights=self.n_samples_fit_ / given.n_given * given.weights)
        units = self._units(training.targets, training.weights, centred=True)
        return RowsToFit(
            training.X,
            one_task(len(training.targets)),
            self._loss_weights(training),
            self._loss(),
            target=training.targets,
            unit=units.unit,
        )

    def _loss_weights(self, training: RegressionSet) -> Array:
        """Return the weight of each row's loss."""
        return self._row_weight(float(training.weights.sum())) * training.weights

    def _centre(self, training: RegressionSet, kernel: Kernel) -> float:
        """Return what is taken off the targets for the fit, and added to predictions."""
        if kernel.constant == 0.0:
            return 0.0
        return self._middle(training.targets, training.weights)

    def _labels_of(self, training: RegressionSet) -> NDArray[Any]:
        return training.targets

    def _training_budget(self, budget: Budget) -> Budget:
        return budget

    def _with_intercept(self, kernel: Kernel, rows: Any, training: RegressionSet) -> Kernel:
        weights = training.weights

        def diagonal() -> tuple[float, bool]:
            return mean_and_sameness(kernel.diagonal(as_rows(rows, rows.dtype)), weights)

        return with_intercept(kernel, self.fit_intercept, float(weights.sum()), diagonal)

    def _fit_exactly(
        self,
        training: RegressionSet,
        problems: KernelProblems,
        budget: Budget,
        progress: FitProgress,
        neighbours: Sequence[Duals] | None = None,
    ) -> ExactFit:
        """Solve the problem as a whole and set what comes of it."""
        name = type(self).__name__
        self._warn_of_settings_for_levels()
        history = History.of(COLUMNS, budget, progress.listener(name, self.verbose))
        fit = ExactFit(name, problems, self.solver, budget, history, neighbours)

        def keep(fit: ExactFit) -> None:
            whole = {"strategy_": "exact", "level_": 0, "support_part_": None, "routing_": None}
            self._set(training, problems.kernel, fit.coefficients(), fit.attributes() | whole)

        train(fit, fit.run_all, keep)
        return fit

    def _previous_coefficients(self, training: RegressionSet) -> Array | None:
        """Return the last fit's coefficients as (1, rows), if they fit the new data."""
        if not hasattr(self, "dual_coef_") or self.n_samples_fit_ != training.n_given:
            return None
        coef = np.zeros((1, training.n_given))
        coef[:, self.support_] = self.dual_coef_
        return coef if training.kept is None else coef[:, training.kept]

    def _set(
        self, training: RegressionSet, kernel: Kernel, coef: Array, attributes: dict[str, Any]
    ) -> None:
        support = np.flatnonzero(coef[0])
        part = attributes["support_part_"]
        if part is not None:
            attributes["support_part_"] = np.ascontiguousarray(part[:, support])
        vectors = WeightedVectors(
            support=training.given_numbers(support),
            vectors=training.X[support, :0] if self._pairwise else training.X[support],
            coef=coef[:, support],
            n_samples=training.n_given,
        )
        set_support(self, kernel, vectors, attributes)
        self.n_support_ = np.array([support.size], dtype=np.int32)
        self.intercept_ = self.intercept_ + self._centre(training, kernel)


@with_parameters
class SVMRegressor(KernelRegressor, EpsilonInsensitiveLoss):
    r"""Kernel support vector regression, solved to a certified duality gap.

    .. math:: \min_f \tfrac12 \lVert f \rVert^2 + C \sum_i w_i\, (|r_i| - \varepsilon)_+^q,
              \qquad r_i = f(x_i) - t_i,

    with q = 1 or 2. The intercept is penalised as a part of f, by its distance from the mean of the
    targets; that of :class:`sklearn.svm.SVR` is free.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε: residuals of at most this, in the unit of the targets, cost nothing.

    See Also
    --------
    ODMRegressor : The same with a loss that weighs the two sides of a residual.
    QuantileSVMRegressor : The same for a quantile of the targets.
    sklearn.svm.SVR : LIBSVM's solver, with an unpenalised intercept.

    Notes
    -----
    Scale the features first: kernels measure distances. ``epsilon`` is in the unit of the targets,
    and so are the errors that ``C`` weighs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = SVMRegressor(C=50.0, epsilon=10.0).fit(X, y)
    >>> bool(model.relative_gap_ <= 1e-3)
    True
    """

    epsilon: float = 0.1


@with_parameters
class ODMRegressor(KernelRegressor, DeviationBandLoss):
    r"""Kernel regression that optimises the distribution of residuals.

    The analogue of :class:`ODMClassifier`: residuals, like margins there, are to stay within θ of
    their middle, and what they deviate further is penalised by its square,

    .. math:: \min_f \tfrac12 \lVert f \rVert^2 + \tfrac{C}{2} \sum_i w_i \left[
              (-\theta - r_i)_+^2 + \upsilon\,(r_i - \theta)_+^2 \right],
              \qquad r_i = f(x_i) - t_i.

    Predictions that are too large weigh υ times as much as those that are too small. With θ = 0 and
    υ = 1 it is the variance of the residuals that is minimised: kernel ridge regression.

    See Also
    --------
    SVMRegressor : The same with the losses of support vector regression.
    ODMClassifier : The same for classes.

    Notes
    -----
    Scale the features first: kernels measure distances. ``theta`` is in the unit of the targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import ODMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> bool(ODMRegressor(theta=10.0).fit(X, y).score(X, y) > 0.5)
    True
    """


@with_parameters
class QuantileSVMRegressor(KernelRegressor, QuantileLoss):
    r"""Kernel quantile regression, solved to a certified duality gap.

    .. math:: \min_f \tfrac12 \lVert f \rVert^2 + C \sum_i w_i \max\left(
              -q\, r_i,\; (1 - q)\, r_i \right), \qquad r_i = f(x_i) - t_i.

    About a share q of the targets lies below the predictions. Two of them, of the quantiles 0.05
    and 0.95, are a band that holds about nine targets in ten.

    See Also
    --------
    SVMRegressor : The same with the losses of support vector regression.
    sklearn.linear_model.QuantileRegressor : Linear, with absolute weights as penalty.

    Notes
    -----
    Scale the features first: kernels measure distances.

    References
    ----------
    .. [1] I. Takeuchi, Q. V. Le, T. D. Sears and A. J. Smola, "Nonparametric quantile estimation",
       Journal of Machine Learning Research, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import QuantileSVMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = QuantileSVMRegressor(quantile=0.9).fit(X, y)
    >>> round(float((y <= model.predict(X)).mean()), 1)
    0.9
    """
