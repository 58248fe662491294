"""The one-class support vector machine."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.budget import Budget, seed_of
from ..core.fit import train
from ..core.history import History
from ..core.losses import Hinge
from ..core.parameters import POSITIVE, with_parameters
from ..core.progress import FitProgress
from ..core.rows import as_rows, canonical
from ..core.sklearn_base import OutlierMixin
from ..core.training_set import TrainingSet, earlier_fit_kept, unlabelled_set
from ..kernel.divide.strategies import Stratified
from ..kernel.kernels import Kernel
from ..kernel.model.prediction import decisions
from ..kernel.one_class import OneClassProblem
from ..kernel.one_class_fit import OneClassFit
from ..kernel.one_class_levels import OneClassLevels, resolve_division
from ..kernel.problem import COLUMNS
from ..kernel.problems import KernelProblems, one_task
from .kernel_expansion import KernelChoice, KernelExpansion
from .resolved_kernel import resolved_kernel

# Scores of so many rows are zero if they are this small beside the terms that they sum up.
ROWS_LOOKED_AT, ZERO_SCORE = 100, 1e-6


@with_parameters
class OneClassSVM(OutlierMixin, KernelExpansion, KernelChoice):
    r"""One-class support vector machine, solved to a certified duality gap.

    Learns where most rows lie: a function that is large there, and an offset below which the share
    ``nu`` of the training rows stays,

    .. math:: \min_{f, \rho} \tfrac12 \lVert f \rVert^2 - \rho\, \nu \sum_i w_i
              + \sum_i w_i\, (\rho - f(x_i))_+ .

    A drop-in for :class:`sklearn.svm.OneClassSVM`: the same problem, on the same scale. The time of
    an exact fit grows as ``nu`` times the square of the rows; 300,000 rows with 19 features take
    seconds to a minute. Larger sets are divided (``strategy``).

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        ν: share of the training rows, by weight, that may be outliers; at least this share are
        support vectors.
    gamma : {'scale', 'auto'} or float, default='scale'
        Width of 'rbf', 'laplacian', 'poly' and 'sigmoid'. 'scale' is 1 / (n_features · X.var()),
        'auto' is 1 / n_features.
    strategy : {'auto', 'exact', 'stratified'} or Stratified, default='auto'
        'exact' solves the training set as a whole. 'stratified' divides it into parts that look
        like the whole, which are solved and merged level by level until one part holds all rows;
        :class:`Stratified` sets the number of levels, and where to stop. The model of an unfinished
        level is the mean of its parts' models. 'auto' is exact while ``nu`` times the square of
        the rows is at most 10¹¹ (a million rows at ``nu=0.1``); beyond, it divides the rows into
        parts of at most 50,000, stops there, and warns.
    tol : float, default=1e-5
        Relative duality gap at which the fit ends. Scores on either side of the offset differ by
        little, so that it is smaller than that of classifiers.
    max_iter : int, default=None
        Blocks of rows allowed. None sets no limit: a fit ends at ``tol``, at ``max_time``, or when
        nothing improves any more.
    random_state : int, RandomState instance or None, default=None
        Draws the sample that sets of more than 4,096 rows begin with, and breaks ties; solutions
        differ within ``tol`` only. Divides the training set, on which the model of an unfinished
        level depends. None is a fixed seed.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Training rows with a non-zero coefficient, ascending.
    support_vectors_ : array or sparse matrix of shape (n_support, n_features)
        Those rows; no columns for a precomputed kernel.
    n_support_ : array of shape (1,)
        Number of support vectors.
    dual_coef_ : array of shape (1, n_support)
        Coefficients, at most the row's weight each; their sum is ``nu`` times that of the weights.
    offset_ : float
        ρ, so that ``decision_function`` is ``score_samples`` minus it; lowered by as much as
        rounding may change scores, so that rows on the border are inliers. For the mean of an
        unfinished level it is the quantile ``nu`` of the scores of up to 16,384 training rows.
    intercept_ : array of shape (1,)
        Minus the offset.
    gamma_ : float or None
        Resolved ``gamma``.
    dual_gap_, relative_gap_ : float
        Duality gap, and relative to the objective plus ρ ν Σ w, which is positive. NaN for an
        indefinite kernel, and for the model of an unfinished level: its parts have gaps
        (``history_``), the whole problem is not evaluated.
    converged_ : bool
        Whether the relative gap, or that of every part of the level, is within ``tol``; parts other
        than the whole have ten times that.
    n_iter_ : int
        Number of blocks; of the part that took most.
    strategy_ : str
        What 'auto' chose.
    level_ : int
        Level of the model; 0 is the whole training set.
    solver_ : str
        'pairs'.
    history_ : dict of arrays
        Exact: per block, problem, iteration, seconds, primal, dual, relative_gap, active_rows and
        passes (kernel entries evaluated over rows squared). Divided: per level, problem, level,
        parts, rows, largest_part, support_vectors, objective, gap, relative_gap, worst_gap (of a
        part), movement (share of the duals' sum that the solve moved) and seconds;
        validation_score is NaN.
    n_samples_fit_ : int
        Number of training rows.

    See Also
    --------
    SVMClassifier : For rows with labels.
    sklearn.svm.OneClassSVM : LIBSVM's solver of the same problem.
    sklearn.linear_model.SGDOneClassSVM : An approximation in time linear in the rows.

    Notes
    -----
    Scale the features first: kernels measure distances.

    References
    ----------
    .. [1] B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola and R. Williamson, "Estimating the
       support of a high-dimensional distribution", Neural Computation, 2001.

    Examples
    --------
    >>> from widemargin import OneClassSVM
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> OneClassSVM(gamma="auto").fit_predict(X)
    array([-1,  1,  1,  1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "strategy": [StrOptions({"auto", "exact", "stratified"}), Stratified],
    }

    nu: float = 0.5
    gamma: float | str = "scale"
    strategy: str | Stratified = "auto"
    tol: float = 1e-5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) when
            ``kernel="precomputed"``. float32 stays float32.
        y : None
            Not used; scikit-learn's convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a row of weight 2 counts as the row twice, one of weight zero is left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        name = type(self).__name__
        with earlier_fit_kept(self):
            X = canonical(validate_data(self, X, **self._accepted()))
            self._check_square(X)
            training = unlabelled_set(X, sample_weight, pairwise=self._pairwise)
            kernel, rows = resolved_kernel(self, training.X, training.weights)
            n_rows = len(training.weights)
            strategy = resolve_division(self.strategy, n_rows, self.nu, name)
            budget = Budget.of(self, seed_of(self.random_state))
            problems = KernelProblems(
                one_task(n_rows), kernel, rows, training.weights, Hinge(), nu=self.nu
            )
            with FitProgress(name, self.tol) as progress:
                fit = self._posed(problems, strategy, budget, progress)
                train(fit, fit.run, lambda fit: self._set(training, kernel, fit))
            self._warn_of_nothing_learnt(training.X, kernel)
        return self

    def _warn_of_nothing_learnt(self, X: Any, kernel: Kernel) -> None:
        """Warn where the origin lies among the rows, so that no direction leads to them."""
        if kernel.name == "precomputed":
            return
        few = as_rows(X[:ROWS_LOOKED_AT], np.dtype(np.float64))
        values = kernel.block(few, as_rows(self.support_vectors_, np.dtype(np.float64)))
        terms = values * self.dual_coef_
        if np.all(np.abs(terms.sum(axis=1)) <= ZERO_SCORE * np.abs(terms).sum(axis=1)):
            warnings.warn(
                f"Every score is zero: kernel={self.kernel!r} tells rows from the origin, which "
                "lies among them. Do not centre the features, or take kernel='rbf'.",
                UserWarning,
                stacklevel=3,
            )

    def _posed(
        self,
        problems: KernelProblems,
        strategy: Stratified | None,
        budget: Budget,
        progress: FitProgress,
    ) -> OneClassFit | OneClassLevels:
        """Return the fit of the whole set, or of its levels."""
        name = type(self).__name__
        listener = progress.listener(name, self.verbose)
        if strategy is None:
            problem = problems.problem(0, budget.threads)
            assert isinstance(problem, OneClassProblem)
            return OneClassFit(name, problem, budget, History.of(COLUMNS, budget, listener))

        def announce(_: int, level: int, n_parts: int) -> None:
            progress.report_parts(level, 0, n_parts)
            if self.verbose:
                print(f"[{name}] level {level}, {n_parts} parts")

        return OneClassLevels(
            name,
            problems,
            strategy,
            budget,
            announce=announce,
            report=progress.report_parts,
            listener=listener,
        )

    def decision_function(self, X: Any) -> Array:
        """Evaluate the scores of rows, minus the offset.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; kernel values against all training rows when ``kernel="precomputed"``.

        Returns
        -------
        array of shape (n_samples,)
            Negative for outliers.
        """
        return np.ravel(decisions(self, self._checked_rows(X)))

    def score_samples(self, X: Any) -> Array:
        """Evaluate the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; kernel values against all training rows when ``kernel="precomputed"``.

        Returns
        -------
        array of shape (n_samples,)
            The lower, the more abnormal.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Tell outliers from inliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; kernel values against all training rows when ``kernel="precomputed"``.

        Returns
        -------
        array of shape (n_samples,)
            −1 for outliers, +1 for inliers.
        """
        return np.where(self.decision_function(X) < 0, -1, 1).astype(np.intp)

    @property
    def coef_(self) -> Any:
        """Weights of the features, which kernel models do not have."""
        raise AttributeError(
            "OneClassSVM has no `coef_`. With a linear kernel, compute `dual_coef_ @ "
            "support_vectors_`."
        )

    def _set(
        self, training: TrainingSet, kernel: Kernel, fit: OneClassFit | OneClassLevels
    ) -> None:
        net_dual, offset = fit.model()
        support = np.flatnonzero(net_dual)
        for name, value in fit.attributes().items():
            setattr(self, name, value)
        self.gamma_ = None if kernel.name == "precomputed" else kernel.gamma
        self.support_ = training.given_numbers(support)
        vectors = training.X[support, :0] if self._pairwise else training.X[support]
        self.support_vectors_ = vectors
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.dual_coef_ = net_dual[None, support]
        self.offset_ = offset
        self.intercept_ = np.array([-offset])
        self.n_samples_fit_ = training.n_given
