"""What the classifiers share that choose C and gamma by cross-validation."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..losses import Array
from .kernel_machine import KernelMachine
from .kernel_model import KernelModel
from .search_folds import Folds, FoldScores, scores_by_paths
from .search_grid import best_row, results_table, values_of_C, values_of_gamma
from .shared_search import can_share, scores_on_shared_blocks
from .training_set import training_set

# Parameters of a kernel machine that a search sets, or that are for divided training sets.
NOT_OF_A_SEARCH = ("C", "lam", "gamma", "strategy", "engine", "checkpoint", "warm_start")
DEFAULT_FOLDS = 5


class KernelMachineCV(KernelModel):
    """Base of the searches; subclasses name the classifier and its parameters."""

    _classifier: ClassVar[type[KernelMachine]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: constraint
            for name, constraint in KernelMachine._parameter_constraints.items()
            if name not in NOT_OF_A_SEARCH
        },
        "Cs": [Integral, "array-like"],
        "gammas": [None, Integral, "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
    }

    # Names that subclasses' constructors set; declared for type checkers.
    Cs: Any
    gammas: Any
    cv: Any
    scoring: Any
    refit: bool
    verbose: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search C and gamma by cross-validation, then train on all rows with the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) when
            ``kernel="precomputed"``. float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies C row by row, and weighs the rows that the accuracy is measured on.
        groups : array-like of shape (n_samples,), optional
            Group of each row, for splitters such as :class:`sklearn.model_selection.GroupKFold`.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._validate_params()
        name = type(self).__name__
        X, y = self._checked_training_data(X, y)
        training = training_set(X, y, sample_weight, pairwise=self._pairwise, estimator=name)
        weight = np.zeros(training.n_given)
        weight[slice(None) if training.kept is None else training.kept] = training.weights
        Cs = values_of_C(self.Cs)
        gammas = values_of_gamma(self.gammas, self.kernel, training.X, training.weights)
        folds = Folds(
            X,
            y,
            weight,
            list(self._splitter(y).split(X, y, groups)),
            self._pairwise,
            None if self.scoring is None else get_scorer(self.scoring),
        )
        folds.check(name)
        found = self._search(Cs, gammas, folds)
        self._keep_results(Cs, gammas, found)
        if self.refit:
            best = self._classifier_with(self.C_, self._chosen_gamma())
            best.fit(X, y, sample_weight)
            for attribute, value in vars(best).items():
                if attribute.endswith("_") and attribute != "n_features_in_":
                    setattr(self, attribute, value)
        return self

    def _splitter(self, y: NDArray[Any]) -> Any:
        if self.cv is not None:
            return check_cv(self.cv, y, classifier=True)
        smallest = int(np.unique(y, return_counts=True)[1].min())
        return StratifiedKFold(max(2, min(DEFAULT_FOLDS, smallest)))

    def _classifier_with(self, C: float, gamma: float | None) -> KernelMachine:
        """Return the classifier that is searched for, with a pair of the grid."""
        settings = self.get_params(deep=False)
        for own in ("Cs", "gammas", "cv", "scoring", "refit"):
            del settings[own]
        if gamma is not None:
            settings["gamma"] = gamma
        return self._classifier(C=C, strategy="exact", **settings)

    def _search(self, Cs: Array, gammas: Array | None, folds: Folds) -> list[FoldScores]:
        """Score every pair on every fold, one gamma after another."""
        found = []
        for gamma in [None] if gammas is None else gammas.tolist():
            classifier = self._classifier_with(float(Cs[0]), gamma)
            classifier._check_parameters()
            score = scores_on_shared_blocks if can_share(classifier, folds) else scores_by_paths
            found.append(score(classifier, Cs, folds))
            if self.verbose:
                for C, scores in zip(Cs, found[-1].score, strict=True):
                    pair = f"C={C:g}" if gamma is None else f"C={C:g}, gamma={gamma:g}"
                    print(f"[{type(self).__name__}] {pair}: score {scores.mean():.4f}")
        return found

    def _keep_results(self, Cs: Array, gammas: Array | None, found: list[FoldScores]) -> None:
        self.Cs_, self.gammas_ = Cs, gammas
        self.scores_ = np.stack([each.score for each in found])
        self.cv_results_ = results_table(
            Cs,
            gammas,
            self.scores_,
            np.stack([each.fit_seconds for each in found]),
            np.stack([each.score_seconds for each in found]),
        )
        if not np.isfinite(self.cv_results_["mean_test_score"]).any():
            raise ValueError(
                "Every pair of C and gamma has a fold whose score is not a number; check `scoring`."
            )
        self.best_index_ = best_row(self.cv_results_)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.C_ = self.best_params_["C"]
        self.gamma_ = self.best_params_.get("gamma")

    def _chosen_gamma(self) -> float | None:
        gamma: float | None = self.best_params_.get("gamma")
        return gamma

    @property
    def best_estimator_(self) -> KernelMachine:
        """The classifier trained on all rows: it shares its arrays with this one."""
        check_is_fitted(self)
        best = self._classifier_with(self.C_, self._chosen_gamma())
        own = ("Cs_", "gammas_", "scores_", "cv_results_", "C_")
        for attribute, value in vars(self).items():
            if attribute.endswith("_") and attribute not in own and "best_" not in attribute:
                setattr(best, attribute, value)
        return best
