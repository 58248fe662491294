"""Strategies to divide and merge a training set: what users pass as ``strategy``.

Each class makes its row of the table in :mod:`widemargin.kernel.divide.methods`. Strategies have
the parameter interface of scikit-learn, so that ``strategy__levels`` can be searched.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

from ...core.parameters import with_parameters
from ..partition import Clusters, InputSpaceStrata, LandmarkStrata, RandomParts
from .methods import Fold, Method, block_of_whole, small_copy, support_vectors
from .starts import as_carried, mean_if_close

# Where `levels` is None, leaves have about this many rows at most.
LEAF_ROWS = 2000


@dataclass(frozen=True)
class Plan:
    """Levels to go through."""

    levels: int  # level of the leaves; the root is level 0
    fan_in: int  # parts merged into one
    stop_level: int  # level whose model is returned
    # Whether nobody asks for the levels before the last: they serve as its start alone.
    direct: bool = False

    def parts(self, level: int) -> int:
        """Return the number of parts of a level."""
        return int(self.fan_in**level)


@with_parameters
class Strategy(BaseEstimator):  # type: ignore[misc]
    """Base of the strategies; a subclass says which method it is.

    Parameters
    ----------
    levels : int or None, default=None
        Times the set is divided: there are ``fan_in ** levels`` leaves. None takes as many as
        leave at most 2,000 rows in each.
    fan_in : int, default=4
        Parts merged into one from level to level.
    stop_level : int, default=0
        Stop here; 0 goes on to the whole set and its exact solution.
    validation_fraction : float or None, default=None
        Keep this share of the training rows out, score the model of each level on it, and stop at
        the first level that is no better than the one before; the better one is returned. The
        score is the accuracy, or minus the mean loss of a regression.
    printed : bool, default=False
        Run the method as its paper prints it, to be cited and compared with: its partition, its
        weights, duals glued together unchanged and taken as the start whatever they are worth, its
        last level. Copies of rows are not merged, every level is solved to ``tol``, 'auto' is
        'coordinate' as ``solver`` and no intercept as ``fit_intercept``. The class says what is
        not as in print.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "levels": [None, Interval(Integral, 0, 20, closed="both")],
        "fan_in": [Interval(Integral, 2, 1024, closed="both")],
        "stop_level": [Interval(Integral, 0, None, closed="left")],
        "validation_fraction": [None, Interval(Real, 0.0, 1.0, closed="neither")],
        "printed": ["boolean"],
    }

    _parameter_order: ClassVar[str] = "n_strata n_sample"

    levels: int | None = field(default=None, kw_only=False)
    fan_in: int = field(default=4, kw_only=False)
    stop_level: int = field(default=0, kw_only=False)
    validation_fraction: float | None = None
    printed: bool = False

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.levels is not None and self.stop_level > self.levels:
            raise ValueError(
                f"`stop_level` must be at most `levels` ({self.levels}); got {self.stop_level}."
            )

    def method(self) -> Method:
        """Return the row of the table."""
        raise NotImplementedError

    def printed_method(self, method: Method, loss: str) -> Method:
        """Return the row as published.

        The ODM papers weigh the mean loss of each part (C·M/m), the SVM papers every row by C.
        Duals are glued unchanged, and are the start.
        """
        regroup = Fold(divided=False) if isinstance(method.regroup, Fold) else method.regroup
        weight = small_copy if loss == "odm" else block_of_whole
        return replace(method, weight=weight, regroup=regroup, start=as_carried, printed=True)

    def row(self, loss: str) -> Method:
        """Return the row to run, as published if asked for."""
        self._validate_params()
        return self.printed_method(self.method(), loss) if self.printed else self.method()

    def plan(self, n_rows: int, last_level: int = 0, *, direct: bool = False) -> Plan:
        """Settle the levels for a number of rows.

        ``direct`` says that nobody will ask for the levels before the last.
        """
        levels = self.levels
        if levels is None:
            levels = 0
            while n_rows > LEAF_ROWS * self.fan_in**levels:
                levels += 1
        elif self.fan_in**levels > max(1, n_rows // 2):
            raise ValueError(
                f"fan_in ** levels = {self.fan_in**levels} parts need at least two rows each; got "
                f"{n_rows} rows (n_samples={n_rows}). Lower `levels` or `fan_in`."
            )
        stop = min(max(self.stop_level, last_level), levels)
        return Plan(int(levels), int(self.fan_in), int(stop))


@with_parameters
class Stratified(Strategy):
    """SODM and SSVM: landmark strata dealt out, every dual carried towards the root.

    Every part looks like the whole set in the kernel's space, so its model stands for the whole,
    and a level's model is the mean of its parts' models.

    Parameters
    ----------
    n_strata : int, default=32
        Landmarks, hence strata.

    Notes
    -----
    ``printed=True`` is Algorithm 1 of the paper. Landmarks are chosen among all rows by Eqn. 8, the
    first row first; where κ(x, x) varies, which Eqn. 8 does not allow, by Eqn. 5 of the paper's
    earlier version, the largest κ(x, x) first. Strata are cut into equal pieces at random, whatever
    the labels. Parts have the mean loss of their rows, the loop ends at ``fan_in`` parts, or
    earlier on a level that no dual moves on, and starts are the duals side by side, which are
    ``fan_in`` times too long: they are proportional to a row's weight, which falls with each merge.
    Not as printed: an instance has one net dual ζ − β instead of both, which is the same problem
    because one of them is zero; coordinates are taken in working sets; and decisions are those of
    the mean of the parts' models, whose sign is that of the glued duals.

    References
    ----------
    Wang, Cao, Zhang, Shi and Jin (2023), "Scalable optimal margin distribution machine".

    Examples
    --------
    >>> from widemargin import ODMClassifier, Stratified
    >>> clf = ODMClassifier(strategy=Stratified(levels=2, stop_level=1))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_strata": [Interval(Integral, 1, 4096, closed="both")],
    }

    n_strata: int = 32

    def method(self) -> Method:
        """Return the row of the table."""
        strata = LandmarkStrata(self.n_strata, self.printed)
        return Method("stratified", strata, start=mean_if_close)

    def plan(self, n_rows: int, last_level: int = 0, *, direct: bool = False) -> Plan:
        """Settle the levels; those between leaves and root are left out where nobody asks for them.

        They cost more than their better start saves the root.
        """
        plan = super().plan(n_rows, last_level)
        asked = self.levels is not None or self.printed or plan.stop_level > 0
        if asked or not direct or plan.levels == 0:
            return plan
        return Plan(1, plan.parts(plan.levels), 0, direct=True)

    def printed_method(self, method: Method, loss: str) -> Method:
        """Return the row as published: the loop ends at ``fan_in`` parts."""
        return replace(super().printed_method(method, loss), last_level=1)


@with_parameters
class Clustered(Strategy):
    """DC-SVM and DC-ODM: clusters in the kernel's space, with early prediction.

    Clusters are blocks of the one problem. The model of an unfinished level asks only the cluster
    nearest to a row. On the way up the clusters are found anew among the support vectors, and
    before the last solve the support vectors are solved alone.

    Parameters
    ----------
    n_sample : int, default=500
        Rows that clusters are found on; at least eight per cluster are taken. As printed, exactly
        these, of which the paper takes 1,000.

    Notes
    -----
    ``printed=True`` is Algorithm 1 of the paper, of whose experiments ``Clustered(4, 4,
    n_sample=1000, printed=True)`` has the settings. Clusters are those of two-step kernel k-means
    with the kernel of the problem, from a random assignment of the sampled rows (the paper says
    "random initialization"); none is split or balanced, and one that falls empty is dropped, so
    there may be fewer than ``fan_in ** levels``. On further levels the sample is drawn among
    the support vectors, all of them if they are fewer. Rows weigh C with the hinge; with ODM, which
    the paper does not treat, parts have the mean loss as in SODM's comparison. Not as printed:
    coordinates are taken in working sets, as in LIBSVM with more than one row; levels are solved
    to a relative gap, where LIBSVM bounds the violation of optimality conditions; and a level on
    which no dual moves is the last one.

    References
    ----------
    Hsieh, Si and Dhillon (2014), "A divide-and-conquer solver for kernel support vector machines".

    Examples
    --------
    >>> from widemargin import Clustered, SVMClassifier
    >>> clf = SVMClassifier(strategy=Clustered(levels=4, stop_level=2))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_sample": [Interval(Integral, 16, 4096, closed="both")],
    }

    n_sample: int = 500

    def method(self) -> Method:
        """Return the row of the table."""
        clusters = Clusters(self.n_sample, self.printed)
        return Method(
            "clustered", clusters, block_of_whole, regroup=clusters, routed=True, refine=True
        )


@with_parameters
class Cascade(Strategy):
    """Cascade SVM and ODM: random parts, only support vectors carried towards the root.

    Rows that no part supports are dropped for good, so the root is exact on the others only.

    Notes
    -----
    ``printed=True`` is the method as SODM and DC-SVM describe and compare it: random parts whatever
    the labels, rows of weight C (of mean loss with ODM), support vectors passed on with their
    duals, once from the leaves to the root. Graf et al. merge two parts at a time (``fan_in=2``);
    that the root's support vectors go back to the leaves until nothing changes is not implemented.

    References
    ----------
    Graf, Cosatto, Bottou, Dourdanovic and Vapnik (2004), "Parallel support vector machines: the
    cascade SVM".
    """

    def method(self) -> Method:
        """Return the row of the table."""
        return Method("cascade", RandomParts(self.printed), carry=support_vectors)


@with_parameters
class Preserving(Strategy):
    """DiP-SVM and DiP-ODM: clusters of the features dealt out, support vectors carried on.

    Parameters
    ----------
    n_strata : int, default=32
        Clusters of the features, each dealt out over the parts.

    Notes
    -----
    ``printed=True`` is the method as SODM describes and compares it: k-means of all rows in input
    space, here from rows drawn at random, clusters cut into equal pieces whatever the labels,
    rows of weight C (of mean loss with ODM), support vectors passed on with their duals.

    References
    ----------
    Singh, Roy and Mohan (2017), "DiP-SVM: distribution preserving kernel support vector machine
    for big data".
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_strata": [Interval(Integral, 1, 4096, closed="both")],
    }

    n_strata: int = 32

    def method(self) -> Method:
        """Return the row of the table."""
        strata = InputSpaceStrata(self.n_strata, printed=self.printed)
        return Method("preserving", strata, carry=support_vectors)


# Names that `strategy` accepts, with the methods' published names beside ours.
STRATEGIES: dict[str, type[Strategy]] = {
    "stratified": Stratified,
    "sodm": Stratified,
    "clustered": Clustered,
    "dc": Clustered,
    "cascade": Cascade,
    "preserving": Preserving,
    "dip": Preserving,
}
