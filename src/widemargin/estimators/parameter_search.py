"""A search by cross-validation: every C of a path, for every other setting, on every fold."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from .search_folds import Folds, FoldScores, scores_by_paths
from .search_grid import best_row, results_table, values_of_C
from .training_set import TrainingSet, earlier_fit_kept, training_set

DEFAULT_FOLDS = 5
# Attributes of a search that are not of the classifier it has trained.
OF_THE_SEARCH = ("Cs_", "C_", "upsilon_", "theta_", "scores_", "cv_results_")


class ParameterSearch:
    """What the searches share; subclasses name the classifier and the settings beside C."""

    _classifier: ClassVar[type[Any]]
    # Constructor parameters of the search that its classifier does not have.
    _own: ClassVar[tuple[str, ...]] = ("Cs", "cv", "scoring", "refit")
    _search_constraints: ClassVar[dict[str, list[Any]]] = {
        "Cs": [Integral, "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
    }

    # Names that subclasses' constructors set; declared for type checkers.
    Cs: Any
    cv: Any
    scoring: Any
    refit: bool
    verbose: int

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Search by cross-validation, then train on all rows with the best parameters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) when the kernel is
            precomputed. float32 stays float32.
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
        name, pairwise = type(self).__name__, getattr(self, "_pairwise", False)
        with earlier_fit_kept(self):
            X, y = self._checked_training_data(X, y)
            training = training_set(X, y, sample_weight, pairwise=pairwise, estimator=name)
            weight = np.zeros(training.n_given)
            weight[slice(None) if training.kept is None else training.kept] = training.weights
            Cs, settings = values_of_C(self.Cs), self._settings_beside_C(training)
            folds = Folds(
                X,
                y,
                weight,
                list(self._splitter(y).split(X, y, groups)),
                pairwise,
                None if self.scoring is None else get_scorer(self.scoring),
            )
            folds.check(name)
            found = self._search(Cs, settings, folds)
        self._keep_results(Cs, settings, found)
        if self.refit:
            best = self._classifier_with(**self.best_params_)
            best.fit(X, y, sample_weight)
            for attribute, value in vars(best).items():
                if attribute.endswith("_") and attribute != "n_features_in_":
                    setattr(self, attribute, value)
        return self

    def _settings_beside_C(self, training: TrainingSet) -> list[dict[str, float]]:
        """Return the settings to try with every C, in the order that decides among equals."""
        raise NotImplementedError

    def _splitter(self, y: NDArray[Any]) -> Any:
        if self.cv is not None:
            return check_cv(self.cv, y, classifier=True)
        smallest = int(np.unique(y, return_counts=True)[1].min())
        return StratifiedKFold(max(2, min(DEFAULT_FOLDS, smallest)))

    def _classifier_with(self: Any, **chosen: Any) -> Any:
        """Return the classifier that is searched for, with parameters of the grid."""
        kept = self.get_params(deep=False)
        for own in self._own:
            del kept[own]
        return self._classifier(**{**kept, **chosen})

    def _scores(self, classifier: Any, Cs: Array, folds: Folds) -> FoldScores:
        return scores_by_paths(classifier, Cs, folds)

    def _search(
        self, Cs: Array, settings: list[dict[str, float]], folds: Folds
    ) -> list[FoldScores]:
        """Score every C on every fold, one setting after another."""
        found = []
        for setting in settings:
            classifier = self._classifier_with(C=float(Cs[0]), **setting)
            classifier._check_parameters()
            found.append(self._scores(classifier, Cs, folds))
            if self.verbose:
                others = "".join(f", {name}={value:g}" for name, value in setting.items())
                for C, scores in zip(Cs, found[-1].score, strict=True):
                    print(f"[{type(self).__name__}] C={C:g}{others}: score {scores.mean():.4f}")
        return found

    def _keep_results(
        self, Cs: Array, settings: list[dict[str, float]], found: list[FoldScores]
    ) -> None:
        self.Cs_ = Cs
        self.scores_ = np.stack([each.score for each in found])
        self.cv_results_ = results_table(
            Cs,
            settings,
            self.scores_,
            np.stack([each.fit_seconds for each in found]),
            np.stack([each.score_seconds for each in found]),
        )
        if not np.isfinite(self.cv_results_["mean_test_score"]).any():
            raise ValueError(
                f"Every choice of {', '.join(self.cv_results_['params'][0])} has a fold whose "
                "score is not a number; check `scoring`."
            )
        self.best_index_ = best_row(self.cv_results_)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.C_ = self.best_params_["C"]

    @property
    def best_estimator_(self) -> Any:
        """The classifier trained on all rows: it shares its arrays with this one."""
        check_is_fitted(self)
        best = self._classifier_with(**self.best_params_)
        others = (*OF_THE_SEARCH, *(f"{own}_" for own in self._own))
        for attribute, value in vars(self).items():
            if attribute.endswith("_") and attribute not in others and "best_" not in attribute:
                setattr(best, attribute, value)
        return best
