"""Parameters that all estimators share, and those of their losses."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from ..core.parameters import AT_LEAST_ONE, POSITIVE, with_parameters


@with_parameters
class FitLimits:
    """Limits and options of a fit.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which the fit ends.
    max_time : float, default=None
        Seconds allowed for the whole fit. When they are over, the model so far is kept and a
        :class:`~sklearn.exceptions.ConvergenceWarning` is issued.
    n_jobs : int, default=None
        Number of threads. None uses all cores available to this process (one inside a worker
        process). Results do not depend on it.
    verbose : int, default=0
        Print the gap during the fit. A terminal shows a progress line in any case.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X has them.
    """

    # The order of all estimators' parameters in signatures and documentation.
    _parameter_order: ClassVar[str] = (
        "kernel n_sites topology formulation loss quantile nu C Cs holdout lam gammas upsilon "
        "theta upsilons thetas epsilons gamma degree coef0 n_components fit_intercept "
        "intercept_scaling strategy solver multi_class decision_function_shape calibrate n_parts "
        "solver_options batch_size partners exchanges weights asynchronous faults stopping epsilon "
        "quiet cv scoring refit tol max_iter max_time class_weight random_state n_jobs "
        "memory_limit engine checkpoint warm_start keep_rows validation_fraction verbose"
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tol": [POSITIVE],
        "max_iter": [AT_LEAST_ONE],
        "max_time": [None, POSITIVE],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "memory_limit": [str, AT_LEAST_ONE],
        "verbose": ["verbose"],
    }

    tol: float = 1e-3
    max_iter: int | None = 1000
    max_time: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    memory_limit: int | str = "1GiB"
    verbose: int = 0


@with_parameters
class FitParameters(FitLimits):
    """Limits and options of the fit of a classifier.

    Parameters
    ----------
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    class_weight: Any = None


@with_parameters
class ConstantFeature:
    """Intercept of a linear classifier.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Add a constant feature, whose weight gives the intercept. It is penalised like the other
        weights, as in LIBLINEAR.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values penalise the intercept less.

    Attributes
    ----------
    intercept_ : array of shape (n_problems,)
        Added to the decisions; zero without ``fit_intercept``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "intercept_scaling": [POSITIVE],
    }

    fit_intercept: bool = True
    intercept_scaling: float = 1.0

    @property
    def _constant(self) -> float:
        """Value of the constant feature; zero if there is none."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0


class MarginLoss:
    """Loss of a margin."""

    def _loss(self) -> Loss:
        """Build the loss from the parameters."""
        raise NotImplementedError


@with_parameters
class WeightedLoss(MarginLoss):
    """Weight of the loss against the regulariser.

    Parameters
    ----------
    C : float, default=1.0
        Weight of a row's loss, as in :class:`sklearn.svm.SVC`: larger values fit the training data
        more closely.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"C": [POSITIVE]}

    C: float = 1.0

    def _row_weight(self, total_weight: float) -> float:
        """Return the weight of a row whose sample weight is one."""
        return self.C


@with_parameters
class MarginDistributionLoss(MarginLoss):
    """Loss of the ODM.

    Parameters
    ----------
    upsilon : float in (0, 1], default=0.5
        υ: weight of margins that are too large, relative to those that are too small. (Not the ν
        of :class:`sklearn.svm.NuSVC`.)
    theta : float in [0, 1), default=0.2
        θ: margins that deviate from 1 by at most this cost nothing.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "upsilon": [Interval(Real, 0.0, 1.0, closed="right")],
        "theta": [Interval(Real, 0.0, 1.0, closed="left")],
    }

    upsilon: float = 0.5
    theta: float = 0.2

    def _loss(self) -> Loss:
        return MarginDistribution(self.upsilon, self.theta)


@with_parameters
class WeightedMarginDistributionLoss(MarginDistributionLoss, WeightedLoss):
    """Loss of the ODM with its weight.

    Parameters
    ----------
    lam : float, default=None
        The papers' λ, the weight of the *mean* loss. If set, it replaces ``C`` by
        λ / (Σ weights · (1 − θ)²).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"lam": [None, POSITIVE]}

    lam: float | None = None

    def _row_weight(self, total_weight: float) -> float:
        if self.lam is None:
            return self.C
        return float(self.lam / (total_weight * (1.0 - self.theta) ** 2))


@with_parameters
class HingeLoss(MarginLoss):
    """Loss of the SVM.

    Parameters
    ----------
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        Loss of a margin below 1.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"hinge", "squared_hinge"})]
    }

    loss: str = "hinge"

    def _loss(self) -> Loss:
        return Hinge() if self.loss == "hinge" else SquaredHinge()


@with_parameters
class KernelMarginDistributionLoss(MarginDistributionLoss):
    """Loss of the kernel ODM, which can be that of all classes at once.

    Parameters
    ----------
    multi_class : {'auto', 'ovr', 'ovo', 'all'}, default='auto'
        One binary problem per class, or one per pair of classes (as SVC does); or one problem with
        a function for every class, the multi-class margin distribution of
        :class:`MulticlassODMClassifier`, which is solved as a whole. 'auto' takes pairs of up to
        50 classes.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "multi_class": [StrOptions({"auto", "ovr", "ovo", "all"})]
    }

    multi_class: str = "auto"


@with_parameters
class KernelHingeLoss(HingeLoss):
    """Loss of the kernel SVM, which can be that of all classes at once.

    Parameters
    ----------
    multi_class : {'auto', 'ovr', 'ovo', 'ww', 'cs'}, default='auto'
        One binary problem per class, or one per pair of classes (as SVC does); or one problem with
        a function for every class, in the formulation of Weston and Watkins or of Crammer and
        Singer (:class:`MulticlassSVMClassifier`), which need the hinge loss and are solved as a
        whole. 'auto' takes pairs of up to 50 classes.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "multi_class": [StrOptions({"auto", "ovr", "ovo", "ww", "cs"})]
    }

    multi_class: str = "auto"


@with_parameters
class SquaredHingeLoss(HingeLoss):
    """Loss of the linear SVM, which is the squared hinge unless chosen otherwise.

    Parameters
    ----------
    loss : {'squared_hinge', 'hinge'}, default='squared_hinge'
        Loss of a margin below 1.
    """

    loss: str = "squared_hinge"
