"""The optimal margin distribution machine that learns several classes in one problem."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from ..core.arrays import Array
from ..core.parameters import with_parameters
from ..multiclass.fit import MulticlassFit
from ..multiclass.margin_distribution import SOLVERS, MarginDistributionFit
from .multiclass_machine import MulticlassMachine
from .parameters import WeightedMarginDistributionLoss


@with_parameters
class MulticlassODMClassifier(WeightedMarginDistributionLoss, MulticlassMachine):
    r"""Linear optimal margin distribution machine of all classes at once (mcODM).

    The margin of a row is the score of its class minus the best other score,
    :math:`m = w_y^\top x - \max_{c \ne y} w_c^\top x`. Minimises

    .. math:: \tfrac12 \sum_c \lVert w_c \rVert^2 + \tfrac C2 \sum_i \left(
              (1 - \theta - m_i)_+^2 + \upsilon\, (m_i - 1 - \theta)_+^2 \right)

    and predicts the class with the largest :math:`w_c^\top x`. The loss of margins too large is not
    convex. It is bounded by the margin against one class, the best other one so far, which makes a
    convex problem; a series of them lowers the objective from round to round. Each is solved to a
    certified duality gap, and the last one certifies the weights that it was made from: no others
    have a lower objective under their bound, up to ``tol``. Two classes are one convex problem.

    Parameters
    ----------
    solver : {'auto', 'dual', 'proximal'}, default='auto'
        'dual' visits the rows one by one and solves for all of their classes at once. 'proximal'
        accelerates that where ``C`` is large; 'auto' chooses it there.
    max_iter : int, default=10000
        Epochs allowed, of all rounds together.
    random_state : int, RandomState instance or None, default=None
        Orders the rows that are visited. Convex problems have the same solution within ``tol``; in
        rare cases, the series of them ends in another local optimum. None is a fixed seed.
    warm_start : bool, default=False
        Start the next fit from the weights and multipliers of the last, if it has as many rows and
        classes. Other starts than the default may end in another local optimum.

    Attributes
    ----------
    dual_gap_, relative_gap_ : float
        Duality gap of the last convex problem, and the gap divided by the objective; NaN after an
        interrupt.
    converged_ : bool
        Whether that relative gap is within ``tol`` at weights where the convex problem and the
        objective agree.
    n_iter_ : int
        Epochs of all rounds.
    n_rounds_ : int
        Convex problems solved. The first, for more than two classes, has only the loss of margins
        too small.
    objective_ : float
        Objective of the model; NaN after an interrupt.
    objectives_ : array
        Objective of the first weights and after every round that lowered it.
    history_ : dict of arrays
        Per certificate of a convex problem: iteration, seconds, primal, dual, relative_gap, round.

    See Also
    --------
    MulticlassSVMClassifier : Hinge losses of all classes at once.
    LinearODMClassifier : One binary problem per class, with streams, paths and searches.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    With two classes, :math:`w_0 = -w_1`, and the model is that of :class:`LinearODMClassifier`
    with twice the ``C``: its penalty is :math:`\tfrac12 \lVert w_1 - w_0 \rVert^2`, twice as much.

    In sets of up to a million stored values, equal rows of a class are merged and the rows sorted:
    there the model depends neither on the order in which rows are given, nor
    on whether a row is given twice or with twice the weight. In larger ones it does within ``tol``.

    References
    ----------
    Zhang and Zhou, "Multi-class optimal margin distribution machine", ICML 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widemargin import MulticlassODMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassODMClassifier(C=0.1).fit(X / 16, y)
    >>> bool(model.relative_gap_ < 1e-3)
    True
    >>> bool((model.objectives_[1:] < model.objectives_[:-1]).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"auto", *SOLVERS})]
    }
    _fit_class: ClassVar[type[MulticlassFit]] = MarginDistributionFit

    objective_: float = field(init=False)
    objectives_: Array = field(init=False)
    n_rounds_: int = field(init=False)

    def _formulation(self) -> dict[str, Any]:
        return {
            "formulation": "odm",
            "theta": float(self.theta),
            "upsilon": float(self.upsilon),
        }
