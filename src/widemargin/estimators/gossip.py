"""The linear classifier that sites agree on."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from ..core.parameters import AT_LEAST_ONE, POSITIVE, with_parameters
from ..gossip import Consensus, Gadget, NetworkFaults, Tracking
from ..gossip.methods import METHODS
from .gossip_machine import GossipMachine


@with_parameters
class GossipClassifier(GossipMachine):
    r"""Linear classifier that sites of a network agree on without pooling their rows.

    Every site holds some of the rows and talks to its neighbours; no site sees all of them. The
    problem is that of the pooled rows,

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + C \sum_i v_i\, \ell(y_i\, w^\top x_i),

    and with the default solver every site approaches its optimum, even where messages are lost and
    sites come and go; ``relative_gap_`` certifies how close they are. The network is simulated in
    this process.

    Parameters
    ----------
    n_sites : int, default=None
        Number of sites. None uses that of the graph given as ``topology``, or that of the labels
        passed as ``sites``, or 10.
    topology : str, tuple, networkx graph or matrix, default='ring'
        Who talks to whom: 'complete', 'ring', 'grid', 'torus', 'star', 'random_regular',
        'erdos_renyi' or 'small_world'; a name with options, such as
        ``("random_regular", {"degree": 4})``; or a graph. See
        :func:`widemargin.gossip.graph_of`.
    loss : {'hinge', 'squared_hinge', 'odm'}, default='hinge'
        Loss of a margin: those of :class:`LinearSVMClassifier`, or that of
        :class:`LinearODMClassifier`.
    lam : float, default=None
        If set, it replaces ``C``: by 1 / (λ · Σ weights), GADGET's λ, for the hinge losses; by
        λ / (Σ weights · (1 − θ)²), that of the ODM papers, for 'odm'.
    upsilon : float in (0, 1], default=0.5
        With 'odm', υ: weight of margins that are too large, relative to those that are too
        small.
    theta : float in [0, 1), default=0.2
        With 'odm', θ: margins that deviate from 1 by at most this cost nothing.
    solver : {'consensus', 'gadget', 'tracking'} or object, default='consensus'
        'consensus': decentralised ADMM, which reaches the optimum wherever rows are. 'gadget': the
        published method, Pegasos steps averaged by Push-Sum. 'tracking': gradients tracked by
        Push-Sum. :class:`~widemargin.gossip.Consensus`, :class:`~widemargin.gossip.Gadget` and
        :class:`~widemargin.gossip.Tracking` have their settings.
    partners : {'all', 'one'}, default='all'
        Whether a site talks to every neighbour, or to one drawn at random.
    exchanges : int, default=1
        Number of exchanges between two steps.
    weights : {'metropolis', 'random_walk'}, default='metropolis'
        Weights of the neighbours in averages; 'consensus' uses them for its estimates only.
    asynchronous : bool, default=False
        Whether sites wake at random instead of all together.
    faults : NetworkFaults, default=None
        Simulated faults: lost, late and repeated messages, sites that come and go or send wrong
        values.
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
    random_state : int, RandomState instance or None, default=None
        Decides which rows go where, random graphs, which rows are visited, and the faults.
    memory_limit : int or str, default='1GiB'
        Bytes for the state of sites and links, or a size such as '500MB'. A fit that needs more
        raises an error.

    Attributes
    ----------
    coef_ : array of shape (n_problems, n_features)
        Mean weights of the sites that are present at the end; one row for two classes, else one
        row per class (each against the rest).
    site_coef_ : array of shape (n_problems, n_sites, n_features)
        Weights of every site; those it had last, if it is gone.
    site_intercept_ : array of shape (n_problems, n_sites)
        Intercepts of every site.
    sites_ : array of shape (n_sites,)
        Names of the sites; those of a graph's nodes as text, unless they are integers.
    topology_ : Topology
        Who talked to whom.
    mixing_time_ : float
        Rounds of averaging in which disagreement shrinks e-fold.
    label_skew_ : float
        Unevenness of the classes: the largest total-variation distance between a
        site's class shares and those of all rows, from 0 to 1.
    dual_gap_, relative_gap_ : float
        Certificate: by how much the worst of the sites that are up at the end may miss the
        optimum of all rows of sites that have not left, summed over the binary problems, and the
        largest relative to the objective. NaN after an interrupt.
    estimated_gap_ : float
        The largest relative gap by a site's own estimate.
    converged_ : bool
        Whether the relative gap is within ``tol``.
    n_iter_ : int
        Largest number of rounds over the binary problems.
    n_messages_, n_bytes_ : int
        Messages and bytes sent by all sites.
    solver_ : str
        Name of the solver.
    history_ : dict of arrays
        Per checkpoint: problem, round, min_accuracy, mean_accuracy, max_accuracy, min_objective,
        mean_objective and max_objective over sites, dual (the lower bound), relative_gap,
        estimated_gap, disagreement (the longest distance of a site's model from the mean one,
        relative to that), messages, bytes, seconds. With several classes, accuracies are those of
        each class against the rest.

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
    are sorted: there the model does not depend on their order.

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
        "n_sites": [None, AT_LEAST_ONE],
        "topology": "no_validation",
        "loss": [StrOptions({"hinge", "squared_hinge", "odm"})],
        "solver": [StrOptions(set(METHODS)), Consensus, Gadget, Tracking],
        "partners": [StrOptions({"all", "one"})],
        "exchanges": [AT_LEAST_ONE],
        "weights": [StrOptions({"metropolis", "random_walk"})],
        "asynchronous": ["boolean"],
        "faults": [None, NetworkFaults],
        "stopping": [StrOptions({"gap", "norm", "never"})],
        "epsilon": [POSITIVE],
        "quiet": [AT_LEAST_ONE],
    }
