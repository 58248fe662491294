"""The linear classifier that sites agree on."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..gossip import Consensus, Gadget, NetworkFaults, Tracking
from ..gossip.methods import METHODS
from .gossip_machine import GossipMachine


class GossipClassifier(GossipMachine):
    r"""Linear classifier that sites of a network agree on without pooling their rows.

    Every site holds some of the rows and talks to its neighbours; nobody sees all of them. The
    problem is that of the pooled rows,

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + C \sum_i v_i\, \ell(y_i\, w^\top x_i),

    and with the default solver every site approaches its optimum, also where messages get lost
    and sites come and go; ``relative_gap_`` proves how near they are. The network is simulated in
    this process.

    Parameters
    ----------
    n_sites : int, default=None
        Number of sites. None takes that of the graph given as ``topology``, or that of the labels
        passed as ``sites``, or 10.
    topology : str, tuple, networkx graph or matrix, default='ring'
        Who talks to whom: 'complete', 'ring', 'grid', 'torus', 'star', 'random_regular',
        'erdos_renyi' or 'small_world'; a name with options, such as
        ``("random_regular", {"degree": 4})``; or a graph. See
        :func:`widemargin.gossip.graph_of`.
    loss : {'hinge', 'squared_hinge', 'odm'}, default='hinge'
        Loss of a margin: those of :class:`LinearSVMClassifier`, or that of
        :class:`LinearODMClassifier`.
    C : float, default=1.0
        Weight of a row's loss: larger fits the training data more closely.
    lam : float, default=None
        When set it replaces ``C``: by 1 / (λ · Σ weights), GADGET's λ, for the hinge losses; by
        λ / (Σ weights · (1 − θ)²), that of the ODM papers, for 'odm'.
    upsilon : float in (0, 1], default=0.5
        With 'odm', υ: weight of margins that are too large, relative to those too small.
    theta : float in [0, 1), default=0.2
        With 'odm', θ: deviations of the margin from 1 up to this cost nothing.
    fit_intercept : bool, default=True
        Add a constant feature, whose weight gives the intercept and is penalised as all others.
    intercept_scaling : float, default=1.0
        Value of the constant feature: larger penalises the intercept less.
    solver : {'consensus', 'gadget', 'tracking'} or object, default='consensus'
        'consensus': decentralised ADMM, which reaches the optimum wherever rows are. 'gadget': the
        published method, Pegasos steps averaged by Push-Sum. 'tracking': gradients tracked by
        Push-Sum. :class:`~widemargin.gossip.Consensus`, :class:`~widemargin.gossip.Gadget` and
        :class:`~widemargin.gossip.Tracking` have their settings.
    partners : {'all', 'one'}, default='all'
        Whether a site talks to every neighbour, or to one drawn at random.
    exchanges : int, default=1
        Times that sites talk between two steps.
    weights : {'metropolis', 'random_walk'}, default='metropolis'
        Weights of the neighbours in averages; 'consensus' uses them for its figures only.
    asynchronous : bool, default=False
        Whether sites wake at random instead of all together.
    faults : NetworkFaults, default=None
        What goes wrong: lost, late and repeated messages, sites that come and go or lie.
    stopping : {'gap', 'norm', 'never'}, default='gap'
        'gap': when every site finds that the network agrees and that the relative gap, as far as
        sites can tell, is at most ``tol``. 'norm': GADGET's rule, when at every site ‖w‖ changed
        by less than ``epsilon`` for ``quiet`` steps in a row. 'never': after ``max_iter`` rounds.
    epsilon : float, default=1e-3
        See ``stopping``.
    quiet : int, default=3
        See ``stopping``.
    tol : float, default=1e-3
        Relative gap at which sites stop, by their own estimate.
    max_iter : int, default=1000
        Rounds allowed per binary problem.
    max_time : float, default=None
        Seconds allowed for the whole fit; when they are over, the models so far are kept and a
        :class:`~sklearn.exceptions.ConvergenceWarning` says so.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Decides which rows go where, random graphs, which rows are visited, and the faults.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it.
    memory_limit : int or str, default='1GiB'
        Bytes for what sites and links keep, or a size such as '500MB'. More is refused.
    verbose : int, default=0
        Print the gap as the fit goes on. A progress line is shown on a terminal in any case.

    Attributes
    ----------
    coef_ : array of shape (n_problems, n_features)
        Mean weights of the sites that are present at the end; one row for two classes, else one
        row per class (each against the rest).
    intercept_ : array of shape (n_problems,)
        Added to the decisions; zero without ``fit_intercept``.
    site_coef_ : array of shape (n_problems, n_sites, n_features)
        Weights of every site; those it had last, if it is gone.
    site_intercept_ : array of shape (n_problems, n_sites)
        Intercepts of every site.
    classes_ : array of shape (n_classes,)
        Labels.
    sites_ : array of shape (n_sites,)
        Names of the sites; those of a graph's nodes as text, unless they are integers.
    topology_ : Topology
        Who talked to whom.
    mixing_time_ : float
        Rounds of averaging in which disagreement shrinks e-fold.
    label_skew_ : float
        How much classes are unevenly spread: the largest total-variation distance between a
        site's class shares and those of all rows, from 0 to 1.
    dual_gap_, relative_gap_ : float
        Certificate: by how much the worst of the sites that are up at the end may miss the
        optimum of all rows of sites that have not left, summed over the binary problems, and the
        largest relative to the objective. NaN after an interrupt.
    estimated_gap_ : float
        The largest relative gap that a site itself believed in.
    converged_ : bool
        Whether the relative gap is within ``tol``.
    n_iter_ : int
        Largest number of rounds over the binary problems.
    n_messages_, n_bytes_ : int
        What all sites sent.
    solver_ : str
        Name of the solver.
    history_ : dict of arrays
        Per checkpoint: problem, round, min_accuracy, mean_accuracy, max_accuracy, min_objective,
        mean_objective and max_objective over sites, dual (the lower bound), relative_gap,
        estimated_gap, disagreement (the longest distance of a site's model from the mean one,
        relative to that), messages, bytes, seconds. With several classes, accuracies are those of
        each class against the rest.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    LinearSVMClassifier : The same problem with all rows in one place.
    LinearODMClassifier : The same with the margin-distribution loss.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    The bound of the certificate comes from the sites' duals; 'gadget' and 'tracking' have none, so
    that theirs, from the margins of the mean model, is loose for the hinge.

    In sets of up to a million stored values, equal rows of a class at a site are merged and rows
    put into an order of their own: there the model does not depend on the order of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import GossipClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = GossipClassifier(8, "ring", C=0.01, random_state=0).fit(X, y)
    >>> bool(model.relative_gap_ <= 1e-3)
    True
    >>> model.score_sites(X, y).shape
    (8,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_sites": [None, Interval(Integral, 1, None, closed="left")],
        "topology": "no_validation",
        "loss": [StrOptions({"hinge", "squared_hinge", "odm"})],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "lam": [None, Interval(Real, 0.0, None, closed="neither")],
        "upsilon": [Interval(Real, 0.0, 1.0, closed="right")],
        "theta": [Interval(Real, 0.0, 1.0, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "solver": [StrOptions(set(METHODS)), Consensus, Gadget, Tracking],
        "partners": [StrOptions({"all", "one"})],
        "exchanges": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"metropolis", "random_walk"})],
        "asynchronous": ["boolean"],
        "faults": [None, NetworkFaults],
        "stopping": [StrOptions({"gap", "norm", "never"})],
        "epsilon": [Interval(Real, 0.0, None, closed="neither")],
        "quiet": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [None, Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "memory_limit": [str, Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_sites: int | None = None,
        topology: Any = "ring",
        *,
        loss: str = "hinge",
        C: float = 1.0,
        lam: float | None = None,
        upsilon: float = 0.5,
        theta: float = 0.2,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        solver: Any = "consensus",
        partners: str = "all",
        exchanges: int = 1,
        weights: str = "metropolis",
        asynchronous: bool = False,
        faults: NetworkFaults | None = None,
        stopping: str = "gap",
        epsilon: float = 1e-3,
        quiet: int = 3,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        verbose: int = 0,
    ) -> None:
        self.n_sites = n_sites
        self.topology = topology
        self.loss = loss
        self.C = C
        self.lam = lam
        self.upsilon = upsilon
        self.theta = theta
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.partners = partners
        self.exchanges = exchanges
        self.weights = weights
        self.asynchronous = asynchronous
        self.faults = faults
        self.stopping = stopping
        self.epsilon = epsilon
        self.quiet = quiet
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose
