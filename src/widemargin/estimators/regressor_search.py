"""The regressors that choose their parameters by cross-validation."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import StrOptions

from ..core.parameters import with_parameters
from .kernel_regression import ODMRegressor, SVMRegressor
from .kernel_regression_model import KernelRegressionParameters, KernelRegressorPredictor
from .linear_regression import LinearODMRegressor, LinearSVMRegressor
from .linear_regression_model import LinearRegressionParameters, LinearRegressorPredictor
from .parameter_search import KernelSearch, ParameterSearch
from .regression import DeviationBandLoss, EpsilonInsensitiveLoss, InsensitiveLoss

# Names of scikit-learn's scores of numbers, those that its version has.
SCORES = {
    *("r2", "explained_variance", "d2_absolute_error_score", "max_error", "neg_max_error"),
    *("neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error"),
    *("neg_mean_squared_log_error", "neg_root_mean_squared_log_error"),
    *("neg_median_absolute_error", "neg_mean_absolute_percentage_error"),
    *("neg_mean_poisson_deviance", "neg_mean_gamma_deviance"),
}.intersection(get_scorer_names())
_SCORING: dict[str, list[Any]] = {"scoring": [StrOptions(SCORES), callable, None]}


class KernelRegressorSearch(KernelSearch, KernelRegressorPredictor, KernelRegressionParameters):
    """Base of the searches for kernel regressors."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _SCORING


class LinearRegressorSearch(ParameterSearch, LinearRegressorPredictor, LinearRegressionParameters):
    """Base of the searches for linear regressors."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _SCORING


@with_parameters
class EpsilonGrid(InsensitiveLoss):
    """Values of ε to try.

    Parameters
    ----------
    epsilons : float or array-like, default=0.0
        ε, or values of it to try: residuals of at most this, in the unit of the targets, cost
        nothing.

    Attributes
    ----------
    epsilon_ : float
        Best ε. In ``scores_``, settings of the smallest gamma come first, then of the smallest ε.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilons": [*EpsilonInsensitiveLoss._parameter_constraints["epsilon"], "array-like"],
    }

    epsilons: Any = 0.0
    epsilon_: float = field(init=False)


@with_parameters
class DeviationBandGrid:
    """Values of υ and θ to try.

    Parameters
    ----------
    upsilons : float or array-like, default=1.0
        υ, or values of it to try: weight of predictions that are too large, relative to those that
        are too small.
    thetas : float or array-like, default=0.1
        θ, or values of it to try: residuals of at most this, in the unit of the targets, cost
        nothing.

    Attributes
    ----------
    upsilon_, theta_ : float
        Best υ and θ. In ``scores_``, settings of the smallest gamma come first, then of the
        smallest υ.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "upsilons": [*DeviationBandLoss._parameter_constraints["upsilon"], "array-like"],
        "thetas": [*DeviationBandLoss._parameter_constraints["theta"], "array-like"],
    }

    upsilons: Any = 1.0
    thetas: Any = 0.1
    upsilon_: float = field(init=False)
    theta_: float = field(init=False)


@with_parameters
class SVMRegressorCV(EpsilonGrid, KernelRegressorSearch):
    """Kernel support vector regression with C and gamma chosen by cross-validation.

    ε is chosen too if several ``epsilons`` are given. Every choice of C, gamma and ε is scored on
    every fold, by models as exact as those of :class:`SVMRegressor`; then one is trained on all
    rows with the best. The search costs less than one by
    :class:`sklearn.model_selection.GridSearchCV`: each C starts from the solution for the C before,
    and folds share the kernel values they need.

    Parameters
    ----------
    epsilons : float or array-like, default=0.1
        ε, or values of it to try: residuals of at most this, in the unit of the targets, cost
        nothing.

    See Also
    --------
    SVMRegressor : The regressor that is searched for; ``fit_path`` trains one for each C.
    ODMRegressorCV : The same search for the other loss.

    Notes
    -----
    Scale the features first. With a scaler in a pipeline around the search, all folds share one
    scaling; that the held-out rows took part in it is usually harmless.

    Training sets are solved as a whole, never divided. Up to 2,000 training rows of a fold, and for
    kernels that may be indefinite, folds are fitted one by one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVMRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SVMRegressorCV(Cs=[10.0, 100.0], gammas=3, epsilons=[1.0, 20.0])
    >>> model = model.fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.45
    True
    >>> sorted(model.best_params_)
    ['C', 'epsilon', 'gamma']
    """

    _searched = SVMRegressor

    epsilons: Any = 0.1


@with_parameters
class ODMRegressorCV(DeviationBandGrid, KernelRegressorSearch):
    """Kernel regression by the distribution of residuals, chosen by cross-validation.

    The search of :class:`SVMRegressorCV` over C and gamma, and over υ and θ if several
    ``upsilons`` or ``thetas`` are given, by models as exact as those of :class:`ODMRegressor`.

    See Also
    --------
    ODMRegressor : The regressor that is searched for; ``fit_path`` trains one for each C.
    SVMRegressorCV : The same search for another loss, with notes on it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import ODMRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ODMRegressorCV(Cs=[0.1, 1.0], gammas=3).fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.45
    True
    """

    _searched = ODMRegressor


@with_parameters
class LinearSVMRegressorCV(EpsilonGrid, LinearRegressorSearch):
    """Linear support vector regression with C chosen by cross-validation.

    ε is chosen too if several ``epsilons`` are given. Every choice of C and ε is scored on every
    fold, by models as exact as those of :class:`LinearSVMRegressor`, each started from the solution
    for the C before; then one is trained on all rows with the best.

    See Also
    --------
    LinearSVMRegressor : The regressor that is searched for; ``fit_path`` trains one for each C.
    LinearODMRegressorCV : The same search for another loss.

    Notes
    -----
    Scale the features first. With a scaler in a pipeline around the search, all folds share one
    scaling; that the held-out rows took part in it is usually harmless.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearSVMRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVMRegressorCV(Cs=5).fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.45
    True
    """

    _searched = LinearSVMRegressor


@with_parameters
class LinearODMRegressorCV(DeviationBandGrid, LinearRegressorSearch):
    """Linear regression by the distribution of residuals, chosen by cross-validation.

    The search of :class:`LinearSVMRegressorCV` over C, and over υ and θ if several ``upsilons`` or
    ``thetas`` are given, by models as exact as those of :class:`LinearODMRegressor`.

    See Also
    --------
    LinearODMRegressor : The regressor that is searched for; ``fit_path`` trains one for each C.
    LinearSVMRegressorCV : The same search for another loss, with notes on it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearODMRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearODMRegressorCV(Cs=5).fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.45
    True
    """

    _searched = LinearODMRegressor
