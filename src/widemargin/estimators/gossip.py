"""The classifier that sites of a simulated network agree on."""

from __future__ import annotations

from dataclasses import field, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.blocks import RowBlock
from ..core.budget import Budget, iterations_allowed, seed_of
from ..core.fit import train
from ..core.history import History
from ..core.losses import Hinge, Loss, LossConstants, MarginDistribution, SquaredHinge
from ..core.parameters import AT_LEAST_ONE, POSITIVE, with_parameters
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.rows import canonical
from ..core.training_set import (
    TrainingSet,
    earlier_fit_kept,
)
from ..core.uneven_scales import UNEVEN_PENALTY, warn_if_few_features_dominate
from ..engines import LocalEngine
from ..gossip import NetworkFaults, Stopping, Talking, Topology
from ..gossip.methods import METHODS, GossipMethod
from ..gossip.mixing_matrix import mixing_matrix
from ..linear.model import Validation, decisions_of
from ..linear.problems import LinearProblems
from .gossip_choice import ChosenValue, HeldOutRows, checked_values, choose
from .gossip_features import FeaturePredictor, mapped_bytes
from .gossip_fit import COLUMNS, GossipFit, Simulating
from .gossip_sites import NetworkRules, Placement, placed
from .linear_fit import row_weights
from .parameters import ConstantFeature, FitParameters, WeightedMarginDistributionLoss
from .random_features import RandomFeatures
from .validation import codes_of


@with_parameters
class GossipClassifier(
    FeaturePredictor, ConstantFeature, FitParameters, WeightedMarginDistributionLoss
):
    r"""Classifier that sites of a network agree on without pooling their rows.

    Every site holds some of the rows and talks to its neighbours; no site sees all of them. The
    problem is that of the pooled rows,

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + C \sum_i v_i\, \ell(y_i\, w^\top x_i),

    and with the default solver every site approaches its optimum, even where messages are lost and
    sites come and go; ``relative_gap_`` certifies how close they are. The classifier is linear in
    the rows, or in random features of them, which approximate a kernel. The network is simulated
    in this process.

    Parameters
    ----------
    n_sites : int, default=None
        Number of sites. None uses that of the graph given as ``topology``, or of the matrix given
        as ``weights``, or that of the labels passed as ``sites``, or 10.
    topology : str, tuple, networkx graph, matrix or list, default='ring'
        Who talks to whom: 'complete', 'ring', 'grid', 'torus', 'star', 'random_regular',
        'erdos_renyi' or 'small_world'; a name with options, such as
        ``("random_regular", {"degree": 4})``; or a graph, whose links may lead one way except with
        'consensus'. A list has the graph of every round, and begins again at its end. See
        :func:`widemargin.gossip.graph_of`.
    loss : {'hinge', 'squared_hinge', 'odm'}, default='hinge'
        Loss of a margin: those of :class:`LinearSVMClassifier`, or that of
        :class:`LinearODMClassifier`.
    C : float or list of float, default=1.0
        Weight of a row's loss: larger values fit the training data more closely. Of several
        values, the sites choose one: all are trained as columns of one exchange and scored on
        rows that sites hold out; then the best is trained on all rows.
    holdout : float in (0, 1), default=0.2
        With several values of ``C``, the share of rows of every class that a site holds out.
    lam : float, default=None
        If set, it replaces ``C``: by 1 / (λ · Σ weights), GADGET's λ, for the hinge losses; by
        λ / (Σ weights · (1 − θ)²), that of the ODM papers, for 'odm'.
    upsilon : float in (0, 1], default=0.5
        With 'odm', υ: weight of margins that are too large, relative to those that are too
        small.
    theta : float in [0, 1), default=0.2
        With 'odm', θ: margins that deviate from 1 by at most this cost nothing.
    solver : str or object, default='consensus'
        'consensus': decentralised ADMM, which reaches the optimum wherever rows are. 'gadget': the
        published method, Pegasos steps averaged by Push-Sum, made to converge; 'gadget_printed':
        as printed. 'tracking': gradients tracked by Push-Sum. 'private': noisy gradients,
        with differential privacy for every row. :class:`~widemargin.gossip.Consensus`,
        :class:`~widemargin.gossip.Gadget`, :class:`~widemargin.gossip.PrintedGadget`,
        :class:`~widemargin.gossip.Tracking` and :class:`~widemargin.gossip.PrivateDescent` have
        their settings.
    partners : {'all', 'one'}, default='all'
        Whether a site talks to every neighbour, or to one drawn at random.
    exchanges : int, default=1
        Number of exchanges between two steps.
    weights : {'metropolis', 'random_walk', 'given'} or matrix, default='metropolis'
        Weights of the neighbours in averages; 'consensus' uses them for its estimates only.
        'given': those of the matrix that ``topology`` is, where the entry in row i and column j is
        the share that site i sends to j, or of the edges of a networkx graph. A matrix of your own,
        B of the paper, is doubly stochastic, with sites in the order of ``sites_`` and shares
        between neighbours in ``topology`` alone; links without a share carry nothing. It is for
        ``partners='all'``.
    asynchronous : bool, default=False
        Whether sites wake at random instead of all together.
    faults : NetworkFaults, default=None
        Simulated faults: lost, late and repeated messages, sites that are slow, come and go or
        send wrong values.
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
        Decides which rows go where, random graphs, which rows are visited, and the faults. None
        is a fixed seed: the same data give the same model every time.
    memory_limit : int or str, default='1GiB'
        Bytes for the state of sites and links, and for random features of the rows; or a size such
        as '500MB'. A fit that needs more raises an error.

    Attributes
    ----------
    coef_ : array of shape (n_problems, n_features)
        Mean weights of the sites that are present at the end; one row for two classes, else one
        row per class (each against the rest). With a kernel, ``n_components`` columns.
    C_ : float
        Weight of a row of sample weight one: ``C``, or what ``lam`` stands for, or the value that
        was chosen.
    C_scores_ : array or None
        With several values of ``C``, the accuracy of each on held-out rows, every site's model
        scored on its own.
    site_coef_ : array of shape (n_problems, n_sites, n_features)
        Weights of every site; those it had last, if it is gone.
    site_intercept_ : array of shape (n_problems, n_sites)
        Intercepts of every site.
    sites_ : array of shape (n_sites,)
        Names of the sites; those of a graph's nodes as text, unless they are integers.
    topology_ : Topology
        Who talked to whom.
    mixing_time_ : float
        Rounds in which disagreement shrinks e-fold, by the graph alone: of consensus, where links
        outweigh a site's rows, or of averaging with ``weights``; for ``partners='all'``.
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
        Messages and bytes sent by all sites, also for the choice of ``C``.
    solver_ : str
        Name of the solver.
    privacy_ : dict or None
        With solver 'private', what is guaranteed: epsilon, delta, epsilon_spent, releases_made,
        row_norm, noise, adjacency and so on. Other attributes that depend on rows without noise are
        then NaN: gaps, ``label_skew_``, and objectives and accuracies in ``history_``.
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
    RandomFeatures : The map that stands for a kernel.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike. With 'rbf' and 'laplacian',
    ``fit_intercept=False`` converges in fewer rounds, and the intercept is not missed.

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

    n_sites: int | None = field(default=None, kw_only=False)
    topology: Any = field(default="ring", kw_only=False)
    loss: str = "hinge"
    C: Any = 1.0
    holdout: float = 0.2
    solver: Any = "consensus"
    partners: str = "all"
    exchanges: int = 1
    weights: Any = "metropolis"
    asynchronous: bool = False
    faults: NetworkFaults | None = None
    stopping: str = "gap"
    epsilon: float = 1e-3
    quiet: int = 3
    site_coef_: Array = field(init=False)
    site_intercept_: Array = field(init=False)
    sites_: NDArray[Any] = field(init=False)
    topology_: Topology = field(init=False)
    mixing_time_: float = field(init=False)
    label_skew_: float = field(init=False)
    C_: float = field(init=False)
    C_scores_: Array | None = field(init=False)
    estimated_gap_: float = field(init=False)
    n_messages_: int = field(init=False)
    n_bytes_: int = field(init=False)
    privacy_: dict[str, Any] | None = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_sites": [None, AT_LEAST_ONE],
        "topology": "no_validation",
        "loss": [StrOptions({"hinge", "squared_hinge", "odm"})],
        "C": [POSITIVE, "array-like"],
        "holdout": [Interval(Real, 0.0, 1.0, closed="neither")],
        "solver": [StrOptions(set(METHODS)), *METHODS.values()],
        "partners": [StrOptions({"all", "one"})],
        "exchanges": [AT_LEAST_ONE],
        "weights": [
            StrOptions({"metropolis", "random_walk", "given"}),
            "array-like",
            "sparse matrix",
        ],
        "asynchronous": ["boolean"],
        "faults": [None, NetworkFaults],
        "stopping": [StrOptions({"gap", "norm", "never"})],
        "epsilon": [POSITIVE],
        "quiet": [AT_LEAST_ONE],
    }

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sites: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Simulate a network that learns from rows and labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows of all sites. float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels: integers, strings, booleans or whole floats.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row; rows of weight zero are left out.
        sites : array-like of shape (n_samples,), optional
            The site that each row is at: names of the nodes of a graph; or integers below
            ``n_sites``, where sites that do not occur have no rows; or any labels, whose sorted
            order is that of the sites. None deals the rows out evenly at random.
        X_val, y_val : array-like, optional
            Rows and labels that are not trained on; accuracies in ``history_`` are then theirs.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        if self._method().name == "private" and not (
            sample_weight is None and self.class_weight is None
        ):
            raise ValueError(
                "With solver='private' every row must weigh the same: `sample_weight` and "
                "`class_weight` must be None. Noise that hides a row of weight one does not hide "
                "a heavier one."
            )
        with earlier_fit_kept(self):
            _, training = self._training_set(X, y, sample_weight)
            seed = seed_of(self.random_state)
            matrix = None if isinstance(self.weights, str) else mixing_matrix(self.weights)
            placement = placed(training, sites, self.n_sites, self.topology, seed, matrix)
            rows, codes = self._validation_rows(training, X_val, y_val)
            map = self._feature_map(training.X.shape[1], seed)
            rules = self._rules()
            self._check_network(rules, placement, map, rows)
            if map is None:
                names = getattr(self, "feature_names_in_", None)
                warn_if_few_features_dominate(placement.training.X, UNEVEN_PENALTY, names)
            else:
                mapped = replace(placement.training, X=map._mapped(placement.training.X))
                placement = replace(placement, training=mapped)
                rows = None if rows is None else map._mapped(rows)
            score = None
            if rows is not None:
                n_classes = len(training.classes)
                score = Validation.in_memory(rows, codes, n_classes, self._constant)
            self._train(placement, rules, seed, score, map)
        return self

    def score_sites(self: Any, X: Any, y: Any) -> Array:
        """Return the accuracy of every site's own model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        array of shape (n_sites,)
            In the order of ``sites_``.
        """
        X = self._checked_rows(X)
        y = np.asarray(y)
        if y.shape != (X.shape[0],):
            raise ValueError(f"`y` must hold {X.shape[0]} labels; got an array of {y.shape}.")
        threads = thread_count(self.n_jobs)
        right = np.zeros(len(self.sites_))
        for rows, block in self._blocks(X):
            for s in range(len(right)):
                weights, intercept = self.site_coef_[:, s], self.site_intercept_[:, s]
                predicted = self._labels(decisions_of(block, weights, intercept, threads))
                right[s] += accuracy_score(y[rows], predicted, normalize=False)
        return right / max(1, len(y))

    def _check_parameters(self) -> None:
        self._validate_params()
        if self._several and self.lam is not None:
            raise ValueError(
                "Several values of `C` and `lam` exclude each other; `lam` is one value on another "
                "scale."
            )
        if self._several:
            checked_values(self.C)
        if not isinstance(self.weights, str) and self.partners == "one":
            raise ValueError(
                "`weights` as a matrix says what a site sends to each of its neighbours, and must "
                "have `partners`='all'; got partners='one', where it sends half of what it has to "
                "one of them."
            )

    @property
    def _several(self) -> bool:
        """Whether C is to be chosen."""
        return not isinstance(self.C, Real)

    def _method(self) -> GossipMethod:
        method: GossipMethod = (
            METHODS[self.solver]() if isinstance(self.solver, str) else clone(self.solver)
        )
        return method

    def _loss(self) -> Loss:
        if self.loss == "odm":
            return MarginDistribution(self.upsilon, self.theta)
        return Hinge() if self.loss == "hinge" else SquaredHinge()

    def _row_weight(self, total_weight: float) -> float:
        """Weight of a row of sample weight one, where it is not chosen."""
        if self.lam is None:
            return float(self.C)
        if self.loss == "odm":
            return float(self.lam / (total_weight * (1.0 - self.theta) ** 2))
        return float(1.0 / (self.lam * total_weight))

    def _problems(self, placement: Placement, C: float) -> LinearProblems:
        training = placement.training
        codes, weights = training.codes.astype(np.int32), row_weights(self, training)
        return LinearProblems.of_blocks(
            LocalEngine(thread_count(self.n_jobs)),
            [RowBlock("sites", training.X, codes, weights)],
            len(training.classes),
            LossConstants.of(self._loss(), C),
            self._constant,
        )

    def _check_network(
        self, rules: NetworkRules, placement: Placement, map: RandomFeatures | None, rows: Any
    ) -> None:
        """Raise if the network and mapped rows do not fit into memory, before any are mapped."""
        X, n_classes = placement.training.X, len(placement.training.classes)
        width = int(X.shape[1] if map is None else map.n_components)
        rules.check(
            placement,
            width + bool(self._constant),
            1 if n_classes == 2 else n_classes,
            memory_bytes(self.memory_limit),
            iterations_allowed(self.max_iter),
            mapped_bytes(map, X, rows),
        )

    def _validation_rows(self, training: TrainingSet, X_val: Any, y_val: Any) -> tuple[Any, Any]:
        """Return checked rows and codes of their labels; None without any."""
        if X_val is None and y_val is None:
            return None, None
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val go together; got only one of them.")
        X_val, y_val = validate_data(self, X_val, y_val, reset=False, **self._accepted())
        return canonical(X_val), codes_of(y_val, training)

    def _rules(self) -> NetworkRules:
        return NetworkRules(
            method=self._method(),
            talking=Talking(
                self.partners,
                self.exchanges,
                self.weights if isinstance(self.weights, str) else "given",
                self.asynchronous,
            ),
            faults=NetworkFaults() if self.faults is None else self.faults,
            stopping=Stopping(self.stopping, self.tol, self.epsilon, self.quiet),
        )

    def _train(
        self,
        placement: Placement,
        rules: NetworkRules,
        seed: int,
        score: Validation | None,
        map: RandomFeatures | None,
    ) -> None:
        """Run every network and keep what comes out, also after an interrupt."""
        name, training = type(self).__name__, placement.training
        with FitProgress(name, self.tol) as progress:
            budget = Budget.of(self, seed)

            def listener(row: Any) -> None:
                rounds, gap = row["round"], row["relative_gap"]
                progress.report(rounds, gap)
                if self.verbose:
                    gaps = f"relative gap {gap:.2e}, disagreement {row['disagreement']:.1e}"
                    print(f"[{name}] round {rounds}: {gaps}")

            def report(done: int, of: int) -> None:
                progress.report_count("binary problems", done, of)
                if self.verbose:
                    print(f"[{name}] binary problems: {done} of {of}")

            choice = self._choice(placement, rules, budget) if self._several else None
            C = self._row_weight(float(training.weights.sum())) if choice is None else choice.C
            history = History.of(COLUMNS, budget, listener)
            simulate = Simulating(self._problems(placement, C), placement, rules, score, report)
            fit = GossipFit(name, simulate, budget, history)

            def keep(fit: GossipFit) -> None:
                found = {"classes_": training.classes, **fit.attributes()}
                found |= {"C_": C, "C_scores_": None, "random_features_": map}
                if choice is not None:
                    found["C_scores_"] = choice.scores
                    found["n_messages_"] += choice.messages
                    found["n_bytes_"] += choice.n_bytes
                # All attributes at once: an interrupt meanwhile must not leave half of a model.
                self.__dict__.update(found)

            train(fit, fit.run, keep)

    def _choice(self, placement: Placement, rules: NetworkRules, budget: Budget) -> ChosenValue:
        """Have the sites choose among several values of C."""
        values = checked_values(self.C)
        held_out = HeldOutRows.of(placement, float(self.holdout), budget.seed)

        def simulating(C: float) -> Simulating:
            return Simulating(self._problems(held_out.part, C), held_out.part, rules)

        choice = choose(values, held_out, simulating, budget)
        if self.verbose:
            of = ", ".join(
                f"{C:g}: {score:.4f}" for C, score in zip(values, choice.scores, strict=True)
            )
            print(f"[{type(self).__name__}] C={choice.C:g} has the best accuracy ({of})")
        return choice
