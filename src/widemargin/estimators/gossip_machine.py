"""What the classifier of a network does: the fit, and the scores of its sites."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import Array
from ..core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from ..core.parameters import with_parameters
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.rows import as_rows, canonical
from ..gossip import NetworkFaults, Stopping, Talking
from ..gossip.methods import METHODS, Method
from ..linear.problem import LossConstants
from .earlier_fit import earlier_fit_kept
from .feature_scales import UNEVEN_PENALTY, warn_if_one_feature_dominates
from .gossip_fit import GossipFit, GossipSettings
from .gossip_memory import check_memory
from .gossip_outcomes import warn_of_missing_sites, warn_of_outcomes
from .gossip_sites import Placement, placed, warn_of_split_network
from .linear_fit import LinearInputs
from .linear_prediction import ACCEPTED, LinearModel, decisions_of
from .linear_validation import LinearValidation
from .parameters import ConstantFeature, FitParameters, WeightedMarginDistributionLoss
from .training_set import TrainingSet, class_weights, training_set
from .validation import codes_of

# Label skew from which on GADGET, with one exchange a step, stays far from the optimum.
SKEWED = 0.2


@with_parameters
class GossipMachine(LinearModel, ConstantFeature, FitParameters, WeightedMarginDistributionLoss):
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
            X, y = self._checked_training_data(X, y)
            name = type(self).__name__
            training = training_set(X, y, sample_weight, pairwise=False, estimator=name)
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            placement = placed(training, sites, self.n_sites, self.topology, seed)
            inputs = self._inputs(placement, self._validation(training, X_val, y_val))
            with FitProgress(name, self.tol) as progress:
                settings = self._settings(seed, progress)
                self._check_network(placement, inputs, settings)
                self._run(GossipFit(inputs, placement, settings), training.classes)
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
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **ACCEPTED)
        threads = thread_count(self.n_jobs)
        scores = []
        for s in range(len(self.sites_)):
            weights, intercept = self.site_coef_[:, s], self.site_intercept_[:, s]
            predicted = self._labels(decisions_of(X, weights, intercept, threads))
            scores.append(accuracy_score(y, predicted))
        return np.array(scores)

    def _check_parameters(self) -> None:
        self._validate_params()

    def _method(self) -> Method:
        method: Method = (
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

    def _inputs(self, placement: Placement, validation: LinearValidation | None) -> LinearInputs:
        training = placement.training
        warn_if_one_feature_dominates(training.X, UNEVEN_PENALTY)
        weights: Array | None = training.weights * class_weights(self.class_weight, training)
        if np.all(weights == 1.0):
            weights = None
        row_weight = self._row_weight(float(training.weights.sum()))
        return LinearInputs(
            estimator=type(self).__name__,
            X=training.X,
            rows=as_rows(training.X),
            codes=training.codes,
            n_classes=len(training.classes),
            constants=LossConstants.of(self._loss(), row_weight),
            weights=weights,
            constant=self._constant,
            threads=thread_count(self.n_jobs),
            memory=memory_bytes(self.memory_limit),
            validation=validation,
        )

    def _validation(self, training: TrainingSet, X_val: Any, y_val: Any) -> LinearValidation | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val go together; got only one of them.")
        X_val, y_val = validate_data(self, X_val, y_val, reset=False, **ACCEPTED)
        codes = codes_of(y_val, training)
        return LinearValidation(canonical(X_val), codes, len(training.classes), self._constant)

    def _settings(self, seed: int, progress: FitProgress) -> GossipSettings:
        name = type(self).__name__

        def listener(rounds: int, gap: float, disagreement: float) -> None:
            progress.report(rounds, gap)
            if self.verbose:
                gaps = f"relative gap {gap:.2e}, disagreement {disagreement:.1e}"
                print(f"[{name}] round {rounds}: {gaps}")

        def counter(done: int, of: int) -> None:
            progress.report_count("binary problems", done, of)
            if self.verbose:
                print(f"[{name}] binary problems: {done} of {of}")

        return GossipSettings(
            method=self._method(),
            talking=Talking(self.partners, self.exchanges, self.weights, self.asynchronous),
            faults=NetworkFaults() if self.faults is None else self.faults,
            stopping=Stopping(self.stopping, self.tol, self.epsilon, self.quiet),
            max_iter=self.max_iter,
            max_time=self.max_time,
            seed=seed,
            listener=listener,
            counter=counter,
        )

    def _check_network(
        self, placement: Placement, inputs: LinearInputs, settings: GossipSettings
    ) -> None:
        """Refuse what does not fit into memory, and warn of what hardly converges."""
        size = int(inputs.X.shape[1]) + (inputs.constant != 0)
        settings.faults.check(placement.topology.n_sites)
        check_memory(placement.topology, size, inputs.n_problems, settings, inputs.memory)
        warn_of_split_network(settings.faults, placement.topology, self.max_iter)
        skew = placement.label_skew
        if settings.method.name == "gadget" and self.exchanges == 1 and skew > SKEWED:
            warnings.warn(
                f"Classes are spread unevenly over the sites (label skew {skew:.2g}), where GADGET "
                "converges poorly with one exchange a step. Take solver='consensus', or "
                "exchanges=20.",
                UserWarning,
                stacklevel=3,
            )

    def _run(self, fit: GossipFit, classes: NDArray[Any]) -> None:
        """Run every network and keep what comes out, also of an interrupt."""
        try:
            fit.fit_problems()
        except KeyboardInterrupt:
            if fit.usable:  # else an earlier fit, or none, is better than nothing
                self._set_fitted(fit, classes)
            raise
        self._set_fitted(fit, classes)
        if self.faults is not None:
            warn_of_missing_sites(self.faults, self.n_iter_, type(self).__name__)
        warn_of_outcomes(fit.outcomes, self.tol, type(self).__name__)

    def _set_fitted(self, fit: GossipFit, classes: NDArray[Any]) -> None:
        # All at once: an interrupt meanwhile must not leave half of a model.
        self.__dict__.update({"classes_": classes, **fit.attributes()})
