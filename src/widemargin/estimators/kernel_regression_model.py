"""Kernel regressors but for the fit: parameters, prediction and compression."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.budget import seed_of
from ..core.parameters import with_parameters
from ..kernel.model.basis_refit import RowsToFit
from ..kernel.model.compressed_model import compressed
from ..kernel.model.prediction import decisions
from .kernel_expansion import KernelExpansion, KernelFitSettings, KernelSettings
from .regression import Regressor


@with_parameters
class KernelRegressionParameters(KernelSettings):
    """Parameters that a regressor and the search for its ``C`` and ``gamma`` share.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Add a constant to the kernel, the mean kernel value of a row with itself, at least 1. That
        gives an intercept, whose distance from the middle of the targets is penalised: their
        weighted mean, or quantile where that is learnt. Without one, predictions far from all
        support vectors go to zero with 'rbf' and 'laplacian'.
    solver : {'auto', 'blocks', 'coordinate', 'newton'}, default='auto'
        'blocks': dual descent on blocks of the most violating rows, for any number of rows;
        Newton steps finish what it is slow on, if the kernel matrix fits in memory. 'newton', for
        squared losses: semi-smooth Newton, dense up to 2,000 rows and by conjugate gradients
        beyond. 'coordinate': 'blocks' without the blocks, for comparison. 'auto': 'newton' for
        squared losses up to 1,000 rows and with linear kernels, else 'blocks'.
    max_iter : int, default=None
        Iterations allowed: working sets or Newton steps. None sets no limit: a fit ends at ``tol``,
        at ``max_time``, or when nothing improves any more.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"fit_intercept": ["boolean"]}

    fit_intercept: bool = True


@with_parameters
class KernelRegressorParameters(KernelFitSettings, KernelRegressionParameters):
    """Parameters and fitted attributes of a regressor.

    Parameters
    ----------
    warm_start : bool, default=False
        Start the next fit from the solution of this one, if it has as many rows.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Training rows with a non-zero coefficient, ascending.
    support_vectors_ : array or sparse matrix of shape (n_support, n_features)
        Those rows; no columns for a precomputed kernel.
    n_support_ : array of shape (1,)
        Number of support vectors.
    dual_coef_ : array of shape (1, n_support)
        Coefficients of the support vectors, the net duals.
    intercept_ : array of shape (1,)
        Added to the sums of kernel values. Where each cluster predicts alone, with a constant of
        its own, it is the middle of the targets.
    gamma_ : float or None
        Resolved ``gamma``.
    fit_intercept_ : bool
        Whether there is an intercept.
    kernel_constant_ : float
        Constant added to the kernel; zero without an intercept.
    dual_gap_, relative_gap_ : float
        Duality gap, and the same relative to the objective. NaN for an indefinite kernel, and for
        the model of an unfinished level: its parts have gaps (``history_``), the whole problem is
        not evaluated.
    converged_ : bool
        Whether the problem, or every part of the level, is within ``tol``.
    n_iter_ : int
        Number of iterations.
    strategy_, solver_ : str
        What 'auto' chose.
    level_ : int
        Level of the model; 0 is the whole training set.
    support_part_ : array of shape (1, n_support) or None
        Part that each support vector belongs to; None at level 0.
    routing_ : list or None
        How rows find their cluster; None where all parts take part in a prediction.
    history_ : dict of arrays
        Exact: per iteration, problem, iteration, seconds, primal, dual, relative_gap, active_rows
        and passes (kernel entries evaluated over rows squared). Divided: per level, problem, level,
        parts, rows, largest_part, support_vectors, objective, gap, relative_gap, worst_gap (of a
        part), movement (share of the duals' sum that the solve moved), seconds, validation_score.
    n_samples_fit_ : int
        Number of training rows.
    """


class KernelRegressorPredictor(Regressor, KernelExpansion):
    """A regressor that sums kernel values with its support vectors."""

    compression_: dict[str, Any]

    def _checked_training_data(
        self, X: Any, y: Any, *, reset: bool = True
    ) -> tuple[Any, NDArray[Any]]:
        X, y = super()._checked_training_data(X, y, reset=reset)
        self._check_square(X)
        return X, y

    def _predictions(self, X: Any) -> Array:
        return np.ascontiguousarray(decisions(self, X)[:, 0])

    def compress(
        self, n_basis: int, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Return a fitted regressor that predicts alike on fewer points.

        Prediction costs one kernel value per point. How much was lost is in ``compression_``.

        Given training rows, the coefficients are those that minimise the regressor's objective on
        them, instead of the distance to its predictions.

        Parameters
        ----------
        n_basis : int
            Points to keep, at most the number of support vectors; fewer are kept where the kernel
            cannot tell more apart.
        X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            Rows to fit the coefficients to: the training rows or some of them, drawn at random,
            which then stand for all. They are read in blocks; a memory map stays on disk.
        y : array-like of shape (n_rows,), optional
            Their targets.
        sample_weight : array-like of shape (n_rows,), optional
            Their weights.

        Returns
        -------
        object
            A new estimator of the same class and parameters, on some of the support vectors. Its
            gaps are NaN, and ``compression_`` holds n_basis, n_support_before, error (root mean
            square over the support vectors, relative to predictions without the intercept) and
            largest_error; with rows also n_rows, n_iter and converged (of Newton's method).
        """
        check_is_fitted(self)
        rows = None
        if X is not None or y is not None:
            rows = self._rows_to_fit(X, y, sample_weight)
        elif sample_weight is not None:
            raise ValueError("`sample_weight` goes with X and y; got it alone.")
        small: Self = compressed(self, n_basis, seed_of(self.random_state), rows_to_fit=rows)
        return small

    @abstractmethod
    def _rows_to_fit(self, X: Any, y: Any, sample_weight: Any) -> RowsToFit:
        """Pose the problem on rows, for a regressor that is fitted."""
