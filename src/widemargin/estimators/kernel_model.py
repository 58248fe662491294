"""Kernel classifiers but for the fit: parameters, checks of rows and prediction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from ..core.arrays import Array
from ..core.parameters import with_parameters
from ..kernel.defaults import resolve_scheme
from ..kernel.model.prediction import by_class, decisions, labels
from .compressible import Compressible
from .kernel_expansion import KernelExpansion, KernelFitSettings, KernelSettings
from .parameters import FitParameters
from .prediction import Predictor
from .probabilities import Probabilities


@with_parameters
class KernelParameters(Probabilities, KernelSettings, FitParameters):
    """Parameters that a classifier and the search for its ``C`` and ``gamma`` share.

    Parameters
    ----------
    fit_intercept : bool or 'auto', default='auto'
        Add a constant to the kernel, which gives a penalised intercept: the mean kernel value of a
        row with itself, at least 1. 'auto' does so for 'linear', 'poly' and 'sigmoid', and for
        all kernels up to 1,000 rows in a binary problem. Kernel values that are precomputed or
        come from a function count as 'linear' unless all rows have the same value with themselves.
        The papers have none, and 'auto' adds none to a strategy with ``printed=True``.
    solver : {'auto', 'blocks', 'coordinate', 'newton'}, default='auto'
        'blocks': dual descent on blocks of the most violating rows, for any number of rows;
        Newton steps finish what it is slow on, if the kernel matrix fits in memory.
        'newton', for all losses but the hinge: semi-smooth Newton, dense up to 2,000 rows and by
        conjugate gradients beyond; for small ``C`` or little memory. 'coordinate': 'blocks'
        without the blocks, for comparison. 'auto': 'blocks', up to 2,048 rows for all binary
        problems in one call; where that does not do (large ``C``, a kernel matrix, a ``tol`` below
        1e-9) and the loss allows it, 'newton' up to 1,000 rows and for linear kernels.
    multi_class : {'auto', 'ovr', 'ovo'}, default='auto'
        One binary problem per class, or one per pair of classes (as SVC does). 'auto' takes pairs
        of up to 50 classes.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Where problems are pairs of classes: votes per class, or one decision per pair.
    max_iter : int, default=None
        Iterations allowed per binary problem: working sets or Newton steps. None sets no limit: a
        fit ends at ``tol``, at ``max_time``, or when nothing improves any more.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean", StrOptions({"auto"})],
        "multi_class": [StrOptions({"auto", "ovr", "ovo"})],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
    }
    # Parameters of scikit-learn's SVC.
    _elsewhere: ClassVar[dict[str, str]] = {
        "probability": "pass calibrate='sigmoid' instead, and predict_proba exists.",
        **KernelSettings._elsewhere,
        "break_ties": "leave it out; equal votes are always decided by the summed decisions.",
    }

    fit_intercept: bool | str = "auto"
    multi_class: str = "auto"
    decision_function_shape: str = "ovr"


@with_parameters
class KernelMachineParameters(KernelFitSettings, KernelParameters):
    """Parameters and fitted attributes of a classifier.

    Parameters
    ----------
    warm_start : bool, default=False
        Start the next fit from the solution of this one, if it has as many rows and the same
        classes.
    keep_rows : bool, default=False
        Keep what :meth:`add_rows` and :meth:`remove_rows` need: the training rows (not copied, so
        do not change them), labels and weights, and 8 bytes per row for each binary problem that
        it takes part in. Pickles hold them too, ``.wm`` files do not.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Training rows with a non-zero coefficient, ascending.
    support_vectors_ : array or sparse matrix of shape (n_support, n_features)
        Those rows; no columns for a precomputed kernel.
    n_support_ : array of shape (n_classes,)
        Number of support vectors in each class.
    support_class_ : array of shape (n_support,)
        Position of each support vector's label in ``classes_``.
    dual_coef_ : array of shape (n_problems, n_support)
        Label times net dual; one row per binary problem, or per class where all are learnt in one
        problem.
    intercept_ : array of shape (n_problems,)
        Zero without an intercept; also zero where each cluster decides alone, with an intercept
        of its own.
    gamma_ : float or None
        Resolved ``gamma``.
    multi_class_ : str
        Scheme of several classes; what 'auto' chose.
    fit_intercept_ : bool
        Whether there is an intercept; what 'auto' chose.
    kernel_constant_ : float
        Constant added to the kernel; zero without an intercept.
    dual_gap_, relative_gap_ : float
        Duality gap, summed over the binary problems, and the largest relative one. NaN for an
        indefinite kernel, and for the model of an unfinished level: its parts have gaps
        (``history_``), the whole problem is not evaluated.
    converged_ : bool
        Whether every binary problem, or every part of the level, is within ``tol``.
    n_iter_ : int
        Largest number of iterations over the binary problems.
    strategy_, solver_ : str
        What 'auto' chose.
    level_ : int
        Level of the model; 0 is the whole training set.
    support_part_ : array of shape (n_problems, n_support) or None
        Part that each support vector belongs to; None at level 0.
    routing_ : list or None
        How rows find their cluster, per binary problem; None where all parts take part in a
        decision.
    history_ : dict of arrays
        Exact: per iteration, problem, iteration, seconds, primal, dual, relative_gap, active_rows
        and passes (kernel entries evaluated over rows squared). Divided: per level, problem, level,
        parts, rows, largest_part, support_vectors, objective, gap, relative_gap, worst_gap (of a
        part), movement (share of the duals' sum that the solve moved), seconds, validation_score.
    n_samples_fit_ : int
        Number of training rows, those added and removed since the fit counted.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"keep_rows": ["boolean"]}

    keep_rows: bool = False


class KernelPredictor(Compressible, KernelExpansion, Predictor):
    """A classifier that sums kernel values with its support vectors."""

    multi_class: str
    decision_function_shape: str
    multi_class_: str
    support_class_: NDArray[np.int64]

    def _scheme(self, n_classes: int) -> str:
        """Return how so many classes become problems."""
        pairs = self.decision_function_shape == "ovo"
        return resolve_scheme("ovo" if pairs else self.multi_class, n_classes)

    def _checked_training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = super()._checked_training_data(X, y)
        self._check_square(X)
        return X, y

    def _decisions(self, X: Any) -> Array:
        return decisions(self, X)

    def _labels(self, decisions: Array) -> NDArray[Any]:
        return labels(self, decisions)

    def decision_function(self, X: Any) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify; kernel values against all training rows when
            ``kernel="precomputed"``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes; with more, the largest column wins.
            ``decision_function_shape="ovo"`` gives one column per pair instead.
        """
        values = super().decision_function(X)
        if values.ndim == 2 and self.decision_function_shape == "ovr":
            return by_class(self, values)
        return values
