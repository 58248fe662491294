"""Training methods of a network: parameters, and the native sites they create."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from .. import _native
from ..core.arrays import Array
from ..core.losses import LossConstants
from ..linear.problem import LinearProblem
from .faults import NetworkFaults
from .parameters import require_count as _require_count
from .parameters import require_positive as _require_positive
from .private import PrivateDescent
from .topology import Topology

NativeNetwork: TypeAlias = "_native._GossipNetwork"
NativeSite: TypeAlias = "_native._GossipSite"

# Penalty of disagreement in the beginning, in units of the geometric mean of the smallest and the
# largest curvature of the objective, and how often it may double. On a9a, ijcnn1 and sylva, hinge
# and ODM, even and sorted rings, a fixed one of 1 or 16 is ten times slower than the best in some
# case; this is no slower than a fixed one of 4 in any.
PENALTY, DOUBLINGS = 2.0, 3
POWER_STEPS = 20
# Smallest `tol` at which consensus sends vectors in single precision. Their rounding, 6e-8 of a
# value, then does not matter, and messages take half the bytes.
SINGLE_TOL = 1e-4


@dataclass(frozen=True)
class NetworkSetting:
    """Inputs of every method for a simulated network: problem, graph, native arguments."""

    problem: LinearProblem
    topology: Topology
    faults: NetworkFaults
    asynchronous: bool
    arguments: tuple[Any, ...]
    # For methods with secret noise: the seed, and which of how many problems on the same rows.
    seed: int = 0
    number: int = 0
    n_problems: int = 1
    tol: float = 0.0  # relative gap that is asked for

    @property
    def kind(self) -> type[NativeNetwork]:
        """The native class for the type of the rows."""
        single = isinstance(self.problem.rows, _native.Rows32)
        return _native.GossipNetwork32 if single else _native.GossipNetwork64


@dataclass(frozen=True)
class SiteSetting:
    """Inputs of every method for one site of a real network, which knows its own rows only."""

    problem: LinearProblem
    native: _native.SiteSettings
    total_rows: int  # of all sites
    row_square: float  # agreed mean squared length of a row
    n_links: int  # of the network, counting both directions
    diameter: int = 1  # links between the sites farthest apart, at most
    n_problems: int = 1  # on the same rows
    tol: float = 0.0  # relative gap that is asked for

    @property
    def kind(self) -> type[NativeSite]:
        """The native class for the type of the rows."""
        single = isinstance(self.problem.rows, _native.Rows32)
        return _native.GossipSite32 if single else _native.GossipSite64

    @property
    def total_square(self) -> float:
        """Approximate sum of the squared lengths of all rows of all sites."""
        return self.total_rows * self.row_square

    @property
    def objective_at_zero(self) -> float:
        """The objective of all rows at w = 0."""
        constants = self.problem.constants
        margin = constants.lower_margin
        row = margin**2 / (2 * constants.below) if constants.smooth else constants.bound * margin
        return self.total_rows * row


class GossipMethod(Protocol):
    """Training method of a simulated network."""

    name: ClassVar[str]
    vectors: ClassVar[int]

    @property
    def one_way_links(self) -> bool:
        """Whether links of the graph may lead one way only."""
        ...

    def network(self, setting: NetworkSetting) -> NativeNetwork:
        """Return the sites, ready to run."""
        ...

    def trusts(self, topology: Topology) -> bool:
        """Return whether some site of the network believes whatever its neighbours send."""
        ...


class SiteMethod(GossipMethod, Protocol):
    """Training method that runs on real networks as well."""

    def site(self, setting: SiteSetting) -> NativeSite:
        """Return one site, all of whose links are closed."""
        ...


class Consensus(BaseEstimator):  # type: ignore[misc]
    """Decentralised ADMM: sites solve their own rows with a penalty on disagreement.

    Messages carry the vectors in single precision, unless ``tol`` is below 1e-4.

    Parameters
    ----------
    penalty : 'auto' or float, default='auto'
        Weight of disagreement against a site's own rows. Smaller values are faster if sites are
        similar, larger ones if they differ. 'auto' begins small, and doubles it on links whose
        ends stay apart.
    relaxation : float in (0, 1], default=0.7
        Step towards the neighbours' values; smaller values tolerate longer delays.
    epochs : int, default=1
        Passes of a site over its rows per round. The first round has at least five.
    robust : 'auto', int or None, default='auto'
        Number of lying neighbours that a site tolerates: it bounds the pull of each neighbour by
        what its own rows allow for chance, or by a little more than the longest pull of the others.
        Sites that do not have more than twice as many neighbours, and sites with less than 1 % of
        one class, trust all of them. 'auto' tolerates one, and bounds nothing at sites where two
        or more neighbours keep pulling harder than chance: honest sites differ there, and reach
        the optimum. A number bounds pulls there, too, which costs accuracy if nobody lies.
        None trusts everyone.
    """

    name: ClassVar[str] = "consensus"
    vectors: ClassVar[int] = 1  # of a message
    one_way_links: ClassVar[bool] = False

    def __init__(
        self,
        *,
        penalty: str | float = "auto",
        relaxation: float = 0.7,
        epochs: int = 1,
        robust: str | int | None = "auto",
    ) -> None:
        self.penalty = penalty
        self.relaxation = relaxation
        self.epochs = epochs
        self.robust = robust

    def network(self, setting: NetworkSetting) -> NativeNetwork:
        """Return the sites, ready to run."""
        problem = setting.problem
        squares = problem.squared_norms
        total = squares.sum() if problem.weight is None else problem.weight @ squares
        options = self._options(problem.constants, float(total), setting.topology.n_links)
        single = setting.tol >= SINGLE_TOL
        return setting.kind.consensus(*setting.arguments, **options, single=single)

    def site(self, setting: SiteSetting) -> NativeSite:
        """Return one site, all of whose links are closed."""
        problem = setting.problem
        options = self._options(problem.constants, setting.total_square, setting.n_links)
        single = setting.tol >= SINGLE_TOL
        return setting.kind.consensus(problem.native, setting.native, **options, single=single)

    def rho(self, constants: LossConstants, total_square: float, n_links: int) -> float:
        """Return the largest penalty of one link, given the sum of all rows' squared lengths."""
        return float(self.rhos(constants, total_square, n_links)[-1])

    def rhos(self, constants: LossConstants, total_square: float, n_links: int) -> Array:
        """Return the penalties that a link may have, by the level that messages name last."""
        options = self._options(constants, total_square, n_links)
        return np.asarray(np.ldexp(options["rho"], np.arange(options["levels"] + 1)), np.float64)

    def _options(
        self, constants: LossConstants, total_square: float, n_links: int
    ) -> dict[str, Any]:
        tuned = isinstance(self.penalty, str) and self.penalty == "auto"
        if not tuned:
            _require_positive("penalty", self.penalty, instead="'auto'")
        _require_positive("relaxation", self.relaxation, most=1.0)
        _require_count("epochs", self.epochs, 1)
        # The regulariser has curvature 1; the losses have C x xᵀ each, or would if smoothed.
        row = 1.0 / constants.below if constants.smooth else constants.bound
        steepest = np.sqrt(1.0 + row * total_square)
        penalty = PENALTY if tuned else float(self.penalty)
        return {
            "rho": float(penalty * steepest / max(1, n_links)),
            "levels": DOUBLINGS if tuned else 0,
            "relaxation": float(self.relaxation),
            "epochs": int(self.epochs),
            "liars": self._liars(),
            "strict": not isinstance(self.robust, str),
        }

    def trusts(self, topology: Topology) -> bool:
        """Return whether some site of the network believes whatever its neighbours send."""
        liars = self._liars()
        return liars == 0 or int(topology.degree.min()) <= 2 * liars

    def _liars(self) -> int:
        """Return the number of lying neighbours that a site tolerates."""
        if self.robust is None:
            return 0
        if isinstance(self.robust, str) and self.robust == "auto":
            return 1
        counted = isinstance(self.robust, Integral) and not isinstance(self.robust, bool)
        if counted and int(self.robust) >= 1:
            return int(self.robust)
        raise ValueError(
            f"`robust` must be 'auto', a number of neighbours from 1, or None; got {self.robust!r}."
        )


class Gadget(BaseEstimator):  # type: ignore[misc]
    """GADGET: Pegasos steps, models averaged by Push-Sum.

    Parameters
    ----------
    batch_size : int or None, default=32
        Rows per step; 1 is plain SGD, None takes all rows of the site.
    project : bool, default=False
        Whether to project models onto a ball that contains the optimum.
    average : bool, default=True
        Whether a site's model is a mean of its iterates with larger weights for later ones.
    robust : {None, 'clip', 'trim'}, default=None
        Instead of Push-Sum, exchange models and limit the influence of one neighbour: 'clip' clips
        differences to the lower median of their lengths, 'trim' leaves out the largest and the
        smallest values of every weight.
    clip : float, default=1.0
        With 'clip', the length limit in units of that median.
    trim : int, default=1
        With 'trim', number of values left out at either end: the number of faulty neighbours that
        a site can tolerate.
    """

    name: ClassVar[str] = "gadget"
    vectors: ClassVar[int] = 1

    def __init__(
        self,
        *,
        batch_size: int | None = 32,
        project: bool = False,
        average: bool = True,
        robust: str | None = None,
        clip: float = 1.0,
        trim: int = 1,
    ) -> None:
        self.batch_size = batch_size
        self.project = project
        self.average = average
        self.robust = robust
        self.clip = clip
        self.trim = trim

    @property
    def one_way_links(self) -> bool:
        """Whether links of the graph may lead one way only: Push-Sum allows it."""
        return self.robust is None

    def network(self, setting: NetworkSetting) -> NativeNetwork:
        """Return the sites, ready to run."""
        options = self._options()
        if self.robust is not None and setting.topology.period > 1:
            raise ValueError(
                f"`robust`={self.robust!r} compares the models of all neighbours in every round "
                "and must have one graph; got a list of graphs. Take robust=None, or one graph."
            )
        fewest = int(setting.topology.degree.min())
        if self.robust == "trim" and not 0 <= 2 * self.trim <= fewest:
            raise ValueError(
                f"`trim`={self.trim!r} leaves out {2 * self.trim} of a site's neighbours; one site "
                f"has only {fewest}. Take a topology with more links, or a smaller `trim`."
            )
        return setting.kind.gradient(
            *setting.arguments,
            offset=_offset(setting.problem, self.batch_size),
            radius=_radius(setting.problem) if self.project else np.inf,
            **options,
        )

    def trusts(self, topology: Topology) -> bool:
        """Return whether some site of the network believes whatever its neighbours send."""
        return self.robust is None

    def site(self, setting: SiteSetting) -> NativeSite:
        """Return one site, all of whose links are closed."""
        options = self._options()
        if setting.problem.constants.smooth:
            raise ValueError(
                "`solver`='gadget' must have `loss`='hinge' on a real network: for other losses "
                "its steps depend on the longest row of all sites. Take 'consensus'."
            )
        radius = float(np.sqrt(setting.objective_at_zero)) if self.project else np.inf
        return setting.kind.gradient(
            setting.problem.native, setting.native, offset=0.0, radius=radius, **options
        )

    def _options(self) -> dict[str, Any]:
        exchanges = {None: "push_sum", "clip": "clipped", "trim": "trimmed"}
        if self.robust not in exchanges:
            raise ValueError(f"`robust` must be None, 'clip' or 'trim'; got {self.robust!r}.")
        if self.batch_size is not None:
            _require_count("batch_size", self.batch_size, 1)
        _require_positive("clip", self.clip)
        _require_count("trim", self.trim, 0)
        for name in ("project", "average"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"`{name}` must be True or False; got {getattr(self, name)!r}.")
        return {
            "tracking": False,
            "batch": int(self.batch_size or 0),
            "decay": 1.0,
            "averaging": bool(self.average),
            "exchange": exchanges[self.robust],
            "clip": float(self.clip),
            "trim": int(self.trim),
        }


class PrintedGadget(BaseEstimator):  # type: ignore[misc]
    r"""GADGET SVM as printed: Algorithm 3 of [GADGET].

    Every site steps on rows of its own, :math:`w \leftarrow (1 - 1/t)\, w + \frac{1}{\lambda t}
    \cdot \frac1b \sum [y_i w^\top x_i < 1]\, y_i x_i`, and Push-Sum begins anew with the models of
    that step and weights of one. The number of rows at a site does not count, and the model is the
    last iterate. The paper talks to one neighbour drawn at random and stops by ‖w‖: set
    ``partners="one"``, ``stopping="norm"``. ``partners="all"`` is its matrix B.

    Where the paper contradicts itself or leaves a choice:

    - The step is Equation 5. Equation 4 has the sign of its loss turned, and line (c) omits the
      condition that the row is in the set of line (b).
    - Push-Sum makes ``exchanges`` exchanges per step, one by default. The paper speaks of one
      random neighbour, but also of the termination of Push-Sum.
    - Rows of a mini-batch are drawn with replacement. The paper divides the rows of a site into
      batches once, and draws one of those.
    - The projection after the exchange, line (h), has nothing left to do after that of line (f): a
      mean of models in a ball is in it.

    Parameters
    ----------
    batch_size : int or None, default=1
        Rows per step, b: 1 is the paper's SGD, a number its mini-batch, None its gradient descent
        on all rows of the site.
    project : bool, default=False
        Whether to project models onto the ball of radius :math:`1/\sqrt\lambda`, the optional
        line (f).

    See Also
    --------
    Gadget : Converges to the optimum of all rows, and stands lost messages.
    """

    name: ClassVar[str] = "gadget_printed"
    vectors: ClassVar[int] = 1
    one_way_links: ClassVar[bool] = True

    def __init__(self, *, batch_size: int | None = 1, project: bool = False) -> None:
        self.batch_size = batch_size
        self.project = project

    def trusts(self, topology: Topology) -> bool:
        """Return whether some site of the network believes whatever its neighbours send."""
        return True

    def network(self, setting: NetworkSetting) -> NativeNetwork:
        """Return the sites, ready to run."""
        problem = setting.problem
        options = Gadget(batch_size=self.batch_size, project=self.project, average=False)._options()
        if problem.constants.smooth:
            raise ValueError(
                "`solver`='gadget_printed' must have `loss`='hinge', the paper's; take 'gadget'."
            )
        if setting.asynchronous or setting.faults.disturbing:
            raise ValueError(
                "`solver`='gadget_printed' must have `asynchronous`=False and no faults but "
                "`lies`; printed is what sites do when all messages of a round arrive. "
                "Take 'gadget'."
            )
        total = problem.n_rows if problem.weight is None else float(problem.weight.sum())
        return setting.kind.gradient(
            *setting.arguments,
            offset=0.0,
            radius=_radius(problem) if self.project else np.inf,
            total=float(total),
            **options,
        )


class Tracking(BaseEstimator):  # type: ignore[misc]
    """Gradient tracking (Push-DIGing): sites average models and gradients by Push-Sum.

    Parameters
    ----------
    step : float, default=1.0
        Length of the steps, in units of 1 over twice the largest curvature for smooth losses; with
        the hinge, steps shrink.
    """

    name: ClassVar[str] = "tracking"
    vectors: ClassVar[int] = 2
    one_way_links: ClassVar[bool] = True

    def __init__(self, *, step: float = 1.0) -> None:
        self.step = step

    def network(self, setting: NetworkSetting) -> NativeNetwork:
        """Return the sites, ready to run."""
        problem = setting.problem
        steepest = _largest_curvature(problem) if problem.constants.smooth else None
        return setting.kind.gradient(*setting.arguments, **self._options(steepest))

    def trusts(self, topology: Topology) -> bool:
        """Return whether some site of the network believes whatever its neighbours send."""
        return True

    def site(self, setting: SiteSetting) -> NativeSite:
        """Return one site, all of whose links are closed."""
        problem = setting.problem
        # The largest eigenvalue is at most the trace.
        steepest = 1.0 + problem.constants.steepest * setting.total_square
        smooth = problem.constants.smooth
        return setting.kind.gradient(
            problem.native, setting.native, **self._options(steepest if smooth else None)
        )

    def _options(self, steepest: float | None) -> dict[str, Any]:
        """Return the options for a loss of this largest curvature; None if it is not smooth."""
        _require_positive("step", self.step)
        return {
            "tracking": True,
            "batch": 0,
            "offset": 0.0 if steepest is None else 2.0 * steepest / self.step,
            "decay": 1.0 / self.step if steepest is None else 0.0,
            "radius": np.inf,
            "averaging": steepest is None,
            "exchange": "push_sum",
            "clip": 1.0,
            "trim": 1,
        }


METHODS: dict[str, type[Any]] = {
    m.name: m for m in (Consensus, Gadget, PrintedGadget, Tracking, PrivateDescent)
}


def _offset(problem: LinearProblem, batch_size: int | None) -> float:
    """Bound the curvature of a batch: the offset of the steps 1/(offset + t)."""
    if not problem.constants.smooth:
        return 0.0
    each = problem.smoothness()
    if batch_size is None:
        return float(each.sum())
    single = problem.n_rows * float(each.max(initial=0.0))
    return single / batch_size + (1 - 1 / batch_size) * float(each.sum())


def _radius(problem: LinearProblem) -> float:
    """Bound ‖w‖ of the optimum: the objective at zero is no less than its square."""
    return float(np.sqrt(problem.evaluate(np.zeros(problem.size)).objective))


def _largest_curvature(problem: LinearProblem) -> float:
    """Bound the largest eigenvalue of the Hessian where every row has curvature."""
    piece = np.ones(problem.n_rows, dtype=np.int8)
    p: Array = np.ones(problem.size)
    largest = 1.0
    for _ in range(POWER_STEPS):
        p = problem.curvature_product(piece, p / np.linalg.norm(p))
        largest = float(np.linalg.norm(p))
        if not np.isfinite(largest):
            raise ValueError(
                "Rows must not be so long that their squares overflow, or no step is short enough. "
                "Scale the features."
            )
    return 1.1 * largest
