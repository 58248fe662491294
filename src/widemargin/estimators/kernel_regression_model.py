"""Kernel regressors but for the fit: parameters and prediction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.parameters import with_parameters
from ..kernel.model.prediction import decisions
from .compressible import Compressible
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


class KernelRegressorPredictor(Compressible, Regressor, KernelExpansion):
    """A regressor that sums kernel values with its support vectors."""

    def _checked_training_data(
        self, X: Any, y: Any, *, reset: bool = True
    ) -> tuple[Any, NDArray[Any]]:
        X, y = super()._checked_training_data(X, y, reset=reset)
        self._check_square(X)
        return X, y

    def _predictions(self, X: Any) -> Array:
        return np.ascontiguousarray(decisions(self, X)[:, 0])
