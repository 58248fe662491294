"""The linear classifiers: ODM and SVM."""

from __future__ import annotations

from ..core.parameters import with_parameters
from .linear_machine import LinearMachine
from .parameters import SquaredHingeLoss, WeightedMarginDistributionLoss


@with_parameters
class LinearODMClassifier(LinearMachine, WeightedMarginDistributionLoss):
    r"""Linear classifier that optimises the distribution of margins.

    The Optimal margin Distribution Machine without a kernel, solved in the primal: costs grow with
    the stored values of the rows, not with the square of their number.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + \tfrac{C}{2} \sum_i v_i \left[
              (1 - \theta - m_i)_+^2 + \upsilon\,(m_i - 1 - \theta)_+^2 \right],
              \qquad m_i = y_i\, w^\top x_i.

    The fit ends when the duality gap, relative to the objective, is at most ``tol``. There is no
    step size to choose.

    See Also
    --------
    LinearSVMClassifier : The same with the losses of a support vector machine.
    ODMClassifier : The same with a kernel.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearODMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearODMClassifier()).fit(X, y)
    >>> bool(model[-1].relative_gap_ < 1e-3)
    True
    """


@with_parameters
class LinearSVMClassifier(LinearMachine, SquaredHingeLoss):
    r"""Linear support vector machine, solved to a certified duality gap.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + C \sum_i v_i\, (1 - m_i)_+^q,
              \qquad m_i = y_i\, w^\top x_i,

    with q = 1 (hinge) or 2 (squared hinge): the problems of :class:`sklearn.svm.LinearSVC`, with
    the same constants.

    See Also
    --------
    LinearODMClassifier : The same with the margin-distribution loss.
    SVMClassifier : The same with a kernel.
    sklearn.svm.LinearSVC : LIBLINEAR's solver of the same problems.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearSVMClassifier().fit(X, y).score(X, y) > 0.9
    True
    """
