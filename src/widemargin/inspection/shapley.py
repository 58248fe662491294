"""Exact Shapley values of kernel machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.rows import canonical
from ..estimators.auto_prediction import AutoPredictor
from ..kernel.model.shapley import PRODUCT_KERNELS, shapley_of_model


@dataclass(frozen=True, eq=False)
class ShapleyValues:
    """Shapley values of the features of rows, with what is needed to read them.

    The names of the fields are those of ``shap.Explanation``, so that
    ``shap.Explanation(**vars(found))`` hands them to the plots of that library.

    Attributes
    ----------
    values : array of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
        Share of every feature in the decision about a row.
    base_values : array of shape (n_rows,) or (n_rows, n_outputs)
        What the decision would be if no feature took part. Base and values sum to the decision.
    data : array or sparse matrix of shape (n_rows, n_features)
        The rows as the kernel machine sees them: behind the other steps of a pipeline.
    feature_names : list of str
        Names of these features; ``x0``, ``x1``… where they have none.
    output_names : list of str or None
        Names of the outputs where there are several: a class, or 'a or b' for the decision between
        the classes a (positive) and b. None if there is one output.
    """

    values: Array
    base_values: Array
    data: Any
    feature_names: list[str]
    output_names: list[str] | None = None


def shapley_values(model: Any, X: Any, *, background: Any = None) -> ShapleyValues:
    r"""Divide the decisions of a kernel machine among the features, exactly.

    The Shapley value of a feature is what it adds to the decision about a row, averaged over all
    orders in which features may join. The kernels 'rbf' and 'laplacian' are products over the
    features, for which these averages over :math:`2^d` coalitions take time polynomial in d [1]_:
    nothing is sampled, and values sum to the decision minus the base value to rounding.

    What a coalition S of features decides without the others depends on `background`. Without it,
    features outside S take the factor 1, as if they were equal to those of every support vector
    :math:`s_i`,

    .. math:: v(S) = \sum_i \alpha_i \prod_{j \in S} k_j(x_j, s_{ij}) + b.

    This needs no data, but is no expectation: the base value is :math:`\sum_i \alpha_i + b`. With
    `background`, the others take the values of its rows, :math:`v(S) = \operatorname{mean}_z
    f(x_S, z_{\bar S})`: the interventional game that KernelSHAP samples, whose base value is the
    mean decision about these rows.

    Parameters
    ----------
    model : estimator
        Fitted kernel machine of this library with the kernel 'rbf' or 'laplacian', a classifier or
        a regressor, or a pipeline or search that ends in one, or an AutoClassifier that chose one.
        The features are those behind the other steps of a pipeline. Where a model routes rows to
        clusters, the machine of the row's cluster is explained.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows to explain.
    background : {array-like, sparse matrix} of shape (n_background, n_features), default=None
        Rows that stand for the data: some tens of training rows, for example. Time grows with their
        number.

    Returns
    -------
    ShapleyValues
        Values and base values of ``decision_function``; of the decisions between pairs of classes
        where there is one machine per pair; of ``predict`` if the model is a regressor.

    See Also
    --------
    ShapleyDisplay : Draw them.

    Notes
    -----
    The weights of the coalitions are Beta integrals, so that the value of feature j of a pair of a
    row and a support vector is

    .. math:: (k_j - 1) \int_0^1 \prod_{l \ne j} (1 - t + t\,k_l)\,\mathrm dt,

    and a Gauss–Legendre rule integrates this polynomial to rounding with
    :math:`m = \min(\lceil d/2 \rceil, \mathcal O(\sqrt{d}\,))` nodes. Time is O(d m) per pair.
    Values are computed in float64 and do not depend on the number of threads.

    References
    ----------
    .. [1] M. Mohammadi, S. L. Chau and K. Muandet, "Computing exact Shapley values in polynomial
       time for product-kernel methods", arXiv:2505.16516, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import ODMClassifier
    >>> from widemargin.inspection import shapley_values
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), ODMClassifier()).fit(X, y)
    >>> found = shapley_values(model, X[:5], background=X[::20])
    >>> found.values.shape
    (5, 30)
    >>> total = found.base_values + found.values.sum(axis=1)
    >>> bool(np.allclose(total, model.decision_function(X[:5])))
    True
    """
    machine, transform, names = _machine_of(model)
    kernel = machine.kernel
    if not isinstance(kernel, str) or kernel not in PRODUCT_KERNELS:
        raise ValueError(
            "Shapley values are exact for kernels that are products over the features: "
            f"{' and '.join(map(repr, PRODUCT_KERNELS))}; got {type(machine).__name__} with "
            f"kernel={kernel!r}. Fit with one of them, or sample with a model-agnostic method."
        )
    X = canonical(machine._checked_rows(transform(X)))
    if background is not None:
        background = _checked_background(machine, transform, background)
    values, base = shapley_of_model(machine, X, background)
    outputs = values.shape[2]
    if outputs == 1:
        values, base = values[:, :, 0], base[:, 0]
    names = names or [f"x{j}" for j in range(X.shape[1])]
    return ShapleyValues(values, base, X, names, _output_names(machine) if outputs > 1 else None)


def _checked_background(machine: Any, transform: Callable[[Any], Any], background: Any) -> Any:
    """Return the background rows as the machine sees them, or say what is wrong with them."""
    try:
        return canonical(machine._checked_rows(transform(background)))
    except ValueError as error:
        raise ValueError(
            "`background` must be a table of one or more rows with the columns of the training "
            f"rows, such as some of these; got {_form_of(background)}. {error}"
        ) from error


def _form_of(rows: Any) -> str:
    shape = np.shape(rows) if getattr(rows, "shape", None) is None else tuple(rows.shape)
    return f"{type(rows).__name__} of shape {shape}" if shape else repr(rows)


def _machine_of(
    model: Any,
) -> tuple[Any, Callable[[Any], Any], list[str] | None]:
    """Return the kernel machine in a model, what happens to rows before it, and feature names."""
    check_is_fitted(model)
    steps: list[Callable[[Any], Any]] = []
    names: Any = None
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, Pipeline):
            if len(model.steps) > 1:
                steps.append(model[:-1].transform)
                names = _names_out(model[:-1], names)
            model = model.steps[-1][1]
        elif isinstance(model, AutoPredictor):
            steps.append(model._features)
            names = _names_out(model.preprocessor_, names)
            model = model.model_
        else:
            break
    # Classifiers, regressors and others share no class, but these.
    if not hasattr(model, "support_vectors_") or not hasattr(model, "_checked_rows"):
        hint = ""
        if hasattr(model, "coef_"):
            hint = (
                " For a linear model and background rows Z, they are "
                "`coef_ * (X - Z.mean(axis=0))`."
            )
        if hasattr(model, "regressor_"):
            hint = (
                " Explain its `regressor_`, on rows as that gets them: the values are in the unit "
                "of the transformed targets."
            )
        raise TypeError(
            "Shapley values are computed for kernel machines of this library, such as "
            f"SVMClassifier; got {type(model).__name__}.{hint}"
        )
    names = getattr(model, "feature_names_in_", names)

    def transform(X: Any) -> Any:
        for step in steps:
            X = step(X)
        return X

    return model, transform, None if names is None else [str(name) for name in names]


def _names_out(transformer: Any, names: Any) -> NDArray[Any] | None:
    """Return the names of the features that a transformer makes, if it knows them."""
    try:
        return np.asarray(transformer.get_feature_names_out(names))
    except (AttributeError, ValueError):
        return None


def _output_names(machine: Any) -> list[str]:
    classes = [str(label) for label in machine.classes_]
    if len(machine.dual_coef_) == len(classes) and machine.multi_class_ != "ovo":
        return classes
    return [f"{a} or {b}" for a, b in combinations(classes, 2)]
