"""The distribution of margins."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.utils.validation import check_is_fitted

from ..estimators.kernel_machine import KernelMachine
from ..estimators.linear import LinearMachine
from .display import Display, final_estimator, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D

Interval: TypeAlias = tuple[float, float]
Kind: TypeAlias = Literal["cumulative", "histogram", "both"]


@dataclass(eq=False, repr=False)
class MarginDistributionDisplay(Display):
    r"""Distribution of the margins of a classifier.

    The margin of a row is :math:`y f(x)` with labels :math:`\pm 1`: positive where the row is
    classified correctly, and larger where the decision is clearer. With several classes it is the
    decision for the row's own class minus the largest decision for another one.

    Use :meth:`from_estimator` or :meth:`from_predictions` to create one.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        Margins.
    wanted : (float, float) or None, default=None
        Margins of zero loss, which are marked: 1 − θ to 1 + θ for ODM, 1 to infinity for SVM. The
        mark is a band, or a line if the interval is empty or unbounded.
    estimator_name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D or None
        The cumulative curve, if drawn.
    bars_ : matplotlib BarContainer or None
        The histogram, if drawn.
    wanted_ : matplotlib Artist or None
        Band or line that marks the wanted margins.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import MarginDistributionDisplay, ODMClassifier
    >>> X, y = make_moons(noise=0.2, random_state=0)
    >>> model = ODMClassifier(C=4.0).fit(X, y)
    >>> display = MarginDistributionDisplay.from_estimator(model, X, y)
    >>> display.wanted
    (0.8, 1.2)
    """

    margins: ArrayLike
    _: KW_ONLY
    wanted: Interval | None = None
    estimator_name: str | None = None
    line_: Line2D | None = field(init=False)
    bars_: BarContainer | None = field(init=False)
    wanted_: Artist | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        wanted: Interval | Literal["auto"] | None = "auto",
        name: str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the margins of a fitted classifier.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier with a ``decision_function``, or a pipeline or search that ends in
            one. With several classes the decisions must have one column per class.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        wanted : 'auto', (float, float) or None, default='auto'
            Margins to mark. 'auto' takes those of the estimator's loss if there are two classes
            and the loss is known (classifiers of this library, scikit-learn's SVC, NuSVC and
            LinearSVC), and marks none otherwise.
        name : str, default=None
            Name in the legend; None takes that of the (final) estimator's class.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        final = final_estimator(estimator)
        if not hasattr(estimator, "decision_function"):
            raise ValueError(
                "`estimator` must have a decision_function, which gives margins; "
                f"{type(final).__name__} has none."
            )
        classes = np.asarray(estimator.classes_)
        if len(classes) > 2 and getattr(final, "decision_function_shape", "ovr") == "ovo":
            raise ValueError(
                "Margins of several classes need one decision per class; got "
                "decision_function_shape='ovo'. Set it to 'ovr'."
            )
        margins = signed_margins(y, estimator.decision_function(X), classes)
        if isinstance(wanted, str):
            wanted = wanted_margins(final) if len(classes) == 2 else None
        display = cls(margins, wanted=wanted, estimator_name=name or type(final).__name__)
        return display.plot(**plot_options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        decision: ArrayLike,
        *,
        wanted: Interval | None = None,
        name: str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw margins, given labels and the decisions for them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels. All classes must occur; the columns of `decision` belong to them in sorted
            order.
        decision : array-like of shape (n_samples,) or (n_samples, n_classes)
            Output of a ``decision_function``; with two classes, positive for the second.
        wanted : (float, float) or None, default=None
            Margins to mark.
        name : str, default=None
            Name of the classifier in the legend.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_predictions")
        margins = signed_margins(y_true, decision, np.unique(np.asarray(y_true)))
        return cls(margins, wanted=wanted, estimator_name=name).plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Kind = "cumulative",
        bins: Any = 50,
        line_kw: dict[str, Any] | None = None,
        bar_kw: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the distribution.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure. Several displays may share axes.
        kind : {'cumulative', 'histogram', 'both'}, default='cumulative'
            A curve of the fraction of rows with at most each margin, bars of the fraction of rows
            in each bin, or both.
        bins : int or array-like, default=50
            Number of bins or their edges, for histograms.
        line_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.ecdf`.
        bar_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.hist`.
        name : str, default=None
            Name in the legend; None takes ``estimator_name``.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        if kind not in get_args(Kind):
            raise ValueError(f"`kind` must be one of {', '.join(get_args(Kind))}; got {kind!r}.")
        margins = _checked_margins(self.margins)
        ax = self._use_axes(ax)
        self.line_ = self.bars_ = self.wanted_ = None
        label = name or self.estimator_name
        colour = None
        if kind != "histogram":
            self.line_ = ax.ecdf(margins, **{"label": label, **(line_kw or {})})
            colour = self.line_.get_color()
        if kind != "cumulative":
            # The legend entry of a curve stands for the bars too.
            options = {"alpha": 0.45, "label": label if colour is None else None, "color": colour}
            share = np.full(margins.size, 1.0 / margins.size)
            bars = ax.hist(margins, bins=bins, weights=share, **{**options, **(bar_kw or {})})[2]
            self.bars_ = cast("BarContainer", bars)
            colour = colour or _colour_of(self.bars_[0])
        self._mark_wanted(colour, label)
        ax.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)  # left of it: errors
        at_most = " with at most this margin" if kind == "cumulative" else ""
        self._finish("margin (below 0: misclassified)", "fraction of rows" + at_most)
        return self

    def _mark_wanted(self, colour: Any, label: str | None) -> None:
        if self.wanted is None:
            return
        low, high = self.wanted
        who = f"{label} wants" if label else "wanted:"
        if low < high < np.inf:
            label = f"{who} {low:g} to {high:g}"
            self.wanted_ = self.ax_.axvspan(
                low, high, facecolor=colour, alpha=0.12, linewidth=0, label=label
            )
        else:
            label = f"{who} {low:g}" + (" or more" if high > low else "")
            self.wanted_ = self.ax_.axvline(
                low, color=colour, linestyle="--", linewidth=1.0, label=label
            )


def _colour_of(patch: Any) -> Any:
    return (patch.get_facecolor() if patch.get_fill() else patch.get_edgecolor())[:3]


def _checked_margins(margins: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(margins, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)):
        raise ValueError(
            "`margins` must be a non-empty one-dimensional array of finite numbers; got shape "
            f"{values.shape}."
        )
    return values


def wanted_margins(classifier: Any) -> Interval | None:
    """Return the margins at which a classifier's loss is zero, if they are known."""
    if isinstance(classifier, KernelMachine | LinearMachine):
        terms = classifier._loss().terms(np.ones(1))
        return terms.lower_margin, terms.upper_margin
    if isinstance(classifier, SVC | NuSVC | LinearSVC):
        return 1.0, np.inf
    return None


def signed_margins(y: ArrayLike, decision: ArrayLike, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the margins of rows, given their labels and decisions."""
    labels, values = np.asarray(y), np.asarray(decision, dtype=np.float64)
    if labels.ndim != 1 or values.shape[:1] != labels.shape:
        raise ValueError(
            "Labels must be one-dimensional, with one decision (row) each; got labels of shape "
            f"{labels.shape} and decisions of shape {values.shape}."
        )
    if len(classes) < 2:
        raise ValueError(f"At least two classes are needed; got {len(classes)}.")
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        raise ValueError(f"y holds labels that the classifier does not know: {unknown.tolist()}.")
    if len(classes) == 2 and values.ndim == 1:
        return np.where(labels == classes[1], values, -values)
    if values.shape != (labels.size, len(classes)) or len(classes) == 2:
        wanted = (labels.size,) if len(classes) == 2 else (labels.size, len(classes))
        raise ValueError(
            f"Decisions for {len(classes)} classes must have shape {wanted}; got {values.shape}."
        )
    own = np.searchsorted(classes, labels)
    rows = np.arange(labels.size)
    others = values.copy()
    others[rows, own] = -np.inf
    return np.asarray(values[rows, own] - others.max(axis=1))
