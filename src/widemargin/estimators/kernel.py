"""The kernel classifiers: ODM and SVM."""

from __future__ import annotations

from ..core.parameters import with_parameters
from .kernel_machine import KernelMachine
from .parameters import KernelHingeLoss, WeightedMarginDistributionLoss


@with_parameters
class ODMClassifier(KernelMachine, WeightedMarginDistributionLoss):
    r"""Kernel classifier that optimises the distribution of margins.

    The Optimal margin Distribution Machine asks for every margin to be near 1, not only for the
    smallest ones to be large: it penalises margins below 1 − θ and, with weight υ, above 1 + θ,

    .. math:: \min_f \tfrac12 \lVert f \rVert^2 + \tfrac{C}{2} \sum_i w_i \left[
              (1 - \theta - m_i)_+^2 + \upsilon\,(m_i - 1 - \theta)_+^2 \right],
              \qquad m_i = y_i f(x_i).

    The problem is solved exactly by default: the fit ends when the duality gap, relative to the
    objective, is at most ``tol``.

    See Also
    --------
    SVMClassifier : The same with the hinge loss.
    sklearn.svm.SVC : LIBSVM's solver, with an unpenalised intercept.

    Notes
    -----
    Scale the features first: kernels measure distances.

    References
    ----------
    .. [1] T. Zhang and Z.-H. Zhou, "Optimal margin distribution machine", IEEE Transactions on
       Knowledge and Data Engineering, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import ODMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ODMClassifier(C=8.0)).fit(X, y)
    >>> bool(model[-1].relative_gap_ < 1e-3)
    True
    """


@with_parameters
class SVMClassifier(KernelHingeLoss, KernelMachine):
    r"""Kernel support vector machine, solved to a certified duality gap.

    .. math:: \min_f \tfrac12 \lVert f \rVert^2 + C \sum_i w_i\, (1 - m_i)_+^q,
              \qquad m_i = y_i f(x_i),

    with q = 1 (hinge) or 2 (squared hinge). The intercept, where there is one, is penalised as a
    part of f, which that of :class:`sklearn.svm.SVC` is not.

    Several classes are several such problems, or one in all, with a function for every class:

    .. math:: \min_f \tfrac12 \sum_c \lVert f_c \rVert^2 + C \sum_i w_i\, \ell_i, \qquad
              \ell_i = \sum_{c \ne y_i} (1 - f_{y_i}(x_i) + f_c(x_i))_+ \quad
              \text{or the largest of these terms}

    for ``multi_class="ww"`` or ``"cs"``.

    See Also
    --------
    ODMClassifier : The same with the margin-distribution loss.
    MulticlassSVMClassifier : All classes in one problem, linear.
    sklearn.svm.SVC : LIBSVM's solver, with an unpenalised intercept.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SVMClassifier(C=10.0).fit(X, y).score(X, y) > 0.95
    True
    >>> SVMClassifier(calibrate="sigmoid").fit(X, y).predict_proba(X[:2]).shape
    (2, 3)
    """
