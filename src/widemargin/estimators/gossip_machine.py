"""The fit of a simulated network, and the scores of its sites."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.blocks import RowBlock
from ..core.budget import Budget, seed_of
from ..core.fit import train, warn
from ..core.history import History
from ..core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from ..core.parameters import with_parameters
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.rows import canonical
from ..core.training_set import (
    UNEVEN_PENALTY,
    TrainingSet,
    earlier_fit_kept,
    warn_if_one_feature_dominates,
)
from ..engines import LocalEngine
from ..gossip import NetworkFaults, Stopping, Talking
from ..gossip.methods import METHODS, GossipMethod
from ..linear.model import Validation, decisions_of
from ..linear.problems import LinearProblems
from .gossip_fit import COLUMNS, GossipFit, NetworkRules
from .gossip_sites import Placement, placed, warn_of_split_network
from .linear_fit import loss_of, row_weights
from .linear_model import LinearPredictor
from .parameters import ConstantFeature, FitParameters, WeightedMarginDistributionLoss
from .validation import codes_of

# Label skew above which GADGET, with one exchange a step, does not come near the optimum.
SKEWED = 0.2


@with_parameters
class GossipMachine(
    LinearPredictor, ConstantFeature, FitParameters, WeightedMarginDistributionLoss
):
    """Base of :class:`GossipClassifier`, which documents the parameters."""

    n_sites: int | None = field(default=None, kw_only=False)
    topology: Any = field(default="ring", kw_only=False)
    loss: str = "hinge"
    solver: Any = "consensus"
    partners: str = "all"
    exchanges: int = 1
    weights: str = "metropolis"
    asynchronous: bool = False
    faults: NetworkFaults | None = None
    stopping: str = "gap"
    epsilon: float = 1e-3
    quiet: int = 3

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
        with earlier_fit_kept(self):
            _, training = self._training_set(X, y, sample_weight)
            seed = seed_of(self.random_state)
            placement = placed(training, sites, self.n_sites, self.topology, seed)
            score = self._validation(training, X_val, y_val)
            problems, rules = self._problems(placement), self._rules()
            self._check_network(placement, problems, rules)
            self._train(problems, placement, rules, seed, score)
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
        threads = thread_count(self.n_jobs)
        scores = []
        for s in range(len(self.sites_)):
            weights, intercept = self.site_coef_[:, s], self.site_intercept_[:, s]
            predicted = self._labels(decisions_of(X, weights, intercept, threads))
            scores.append(accuracy_score(y, predicted))
        return np.array(scores)

    def _check_parameters(self) -> None:
        self._validate_params()

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
        """Weight of a row of sample weight one."""
        if self.lam is None:
            return float(self.C)
        if self.loss == "odm":
            return float(self.lam / (total_weight * (1.0 - self.theta) ** 2))
        return float(1.0 / (self.lam * total_weight))

    def _problems(self, placement: Placement) -> LinearProblems:
        training = placement.training
        warn_if_one_feature_dominates(training.X, UNEVEN_PENALTY)
        codes, weights = training.codes.astype(np.int32), row_weights(self, training)
        return LinearProblems.of_blocks(
            LocalEngine(thread_count(self.n_jobs)),
            [RowBlock("sites", training.X, codes, weights)],
            len(training.classes),
            loss_of(self, float(training.weights.sum())),
            self._constant,
        )

    def _validation(self, training: TrainingSet, X_val: Any, y_val: Any) -> Validation | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val go together; got only one of them.")
        X_val, y_val = validate_data(self, X_val, y_val, reset=False, **self._accepted())
        codes = codes_of(y_val, training)
        n_classes = len(training.classes)
        return Validation.in_memory(canonical(X_val), codes, n_classes, self._constant)

    def _rules(self) -> NetworkRules:
        return NetworkRules(
            method=self._method(),
            talking=Talking(self.partners, self.exchanges, self.weights, self.asynchronous),
            faults=NetworkFaults() if self.faults is None else self.faults,
            stopping=Stopping(self.stopping, self.tol, self.epsilon, self.quiet),
        )

    def _check_network(
        self, placement: Placement, problems: LinearProblems, rules: NetworkRules
    ) -> None:
        """Refuse what does not fit into memory, and warn of networks that converge poorly."""
        topology, memory = placement.topology, memory_bytes(self.memory_limit)
        rules.faults.check(topology.n_sites)
        rules.check_memory(topology, problems.size, problems.n_problems, memory)
        warn_of_split_network(rules.faults, topology, self.max_iter)
        skew = placement.label_skew
        if rules.method.name == "gadget" and self.exchanges == 1 and skew > SKEWED:
            warn(
                f"Classes are spread unevenly over the sites (label skew {skew:.2g}), where GADGET "
                "converges poorly with one exchange a step. Take solver='consensus', or "
                "exchanges=20."
            )

    def _train(
        self,
        problems: LinearProblems,
        placement: Placement,
        rules: NetworkRules,
        seed: int,
        score: Validation | None,
    ) -> None:
        """Run every network and keep what comes out, also after an interrupt."""
        name, classes = type(self).__name__, placement.training.classes
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

            history = History.of(COLUMNS, budget, listener)
            fit = GossipFit(
                name, problems, placement, rules, budget, history, score=score, report=report
            )
            # All attributes at once: an interrupt meanwhile must not leave half of a model.
            train(
                fit,
                fit.run,
                lambda fit: self.__dict__.update({"classes_": classes, **fit.attributes()}),
            )
