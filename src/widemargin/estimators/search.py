"""The classifiers that choose their parameters by cross-validation."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from ..core.parameters import with_parameters
from .kernel import ODMClassifier, SVMClassifier
from .kernel_model import KernelParameters, KernelPredictor
from .linear import LinearODMClassifier, LinearSVMClassifier
from .linear_model import LinearParameters, LinearPredictor
from .parameter_search import KernelSearch, ParameterSearch
from .parameters import (
    KernelHingeLoss,
    KernelMarginDistributionLoss,
    MarginDistributionLoss,
    SquaredHingeLoss,
)


class KernelClassifierSearch(KernelSearch, KernelPredictor, KernelParameters):
    """Base of the searches for kernel classifiers."""


@with_parameters
class ODMClassifierCV(KernelMarginDistributionLoss, KernelClassifierSearch):
    """Optimal margin distribution machine, its C and gamma chosen by cross-validation.

    Every pair of C and gamma is scored on every fold, by models as exact as those of
    :class:`ODMClassifier`; then one is trained on all rows with the best pair. The search costs
    less than one by :class:`sklearn.model_selection.GridSearchCV`: each C starts from the solution
    for the C before, and folds share the kernel values they need.

    See Also
    --------
    ODMClassifier : The classifier that is searched for; ``fit_path`` trains one for each C.
    SVMClassifierCV : The same search for the other loss.

    Notes
    -----
    Scale the features first. With a scaler in a pipeline around the search, all folds share one
    scaling; that the held-out rows took part in it is usually harmless.

    Training sets are solved as a whole, never divided. Up to 2,000 training rows of a fold, for
    one-vs-one problems and for kernels that may be indefinite, folds are fitted one by one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import ODMClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ODMClassifierCV(Cs=3, gammas=3).fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.97
    True
    >>> sorted(model.best_params_)
    ['C', 'gamma']
    """

    _searched = ODMClassifier


@with_parameters
class SVMClassifierCV(KernelHingeLoss, KernelClassifierSearch):
    """Kernel support vector machine, its C and gamma chosen by cross-validation.

    The search of :class:`ODMClassifierCV`, by models as exact as those of :class:`SVMClassifier`.

    See Also
    --------
    SVMClassifier : The classifier that is searched for; ``fit_path`` trains one for each C.
    ODMClassifierCV : The same search for the other loss, with notes on it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVMClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVMClassifierCV(Cs=[1.0, 10.0], gammas=[0.1, 1.0]).fit(X, y)
    >>> model.best_score_ > 0.95
    True
    """

    _searched = SVMClassifier


@with_parameters
class LinearODMClassifierCV(ParameterSearch, LinearPredictor, LinearParameters):
    """Linear ODM, its C, υ and θ chosen by cross-validation.

    Every choice of C, υ and θ is scored on every fold, by models as exact as those of
    :class:`LinearODMClassifier`, each started from the solution for the C before; then one is
    trained on all rows with the best.

    Parameters
    ----------
    upsilons : float or array-like, default=0.5
        υ, or values of it to try: weight of margins that are too large, relative to those that are
        too small.
    thetas : float or array-like, default=0.2
        θ, or values of it to try: margins that deviate from 1 by at most this cost nothing.

    Attributes
    ----------
    upsilon_, theta_ : float
        Best υ and θ. In ``scores_``, settings of the smallest υ come first.

    See Also
    --------
    LinearODMClassifier : The classifier that is searched for; ``fit_path`` trains one for each C.
    LinearSVMClassifierCV : The same search for other losses.

    Notes
    -----
    Scale the features first. With a scaler in a pipeline around the search, all folds share one
    scaling; that the held-out rows took part in it is usually harmless.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearODMClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearODMClassifierCV(Cs=5).fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.96
    True
    """

    _searched = LinearODMClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "upsilons": [*MarginDistributionLoss._parameter_constraints["upsilon"], "array-like"],
        "thetas": [*MarginDistributionLoss._parameter_constraints["theta"], "array-like"],
    }

    upsilons: Any = 0.5
    thetas: Any = 0.2
    upsilon_: float = field(init=False)
    theta_: float = field(init=False)


@with_parameters
class LinearSVMClassifierCV(ParameterSearch, LinearPredictor, LinearParameters, SquaredHingeLoss):
    """Linear support vector machine, its C chosen by cross-validation.

    The search of :class:`LinearODMClassifierCV`, by models as exact as those of
    :class:`LinearSVMClassifier`.

    See Also
    --------
    LinearSVMClassifier : The classifier that is searched for; ``fit_path`` trains one for each C.
    LinearODMClassifierCV : The same search for another loss, with notes on it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widemargin import LinearSVMClassifierCV
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LinearSVMClassifierCV(Cs=[0.01, 0.1]).fit(X / 16, y)
    >>> model.best_score_ > 0.9
    True
    """

    _searched = LinearSVMClassifier
