"""The search by cross-validation: every C of a path, with every other setting, on every fold."""

from __future__ import annotations

from dataclasses import field
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.parameters import with_parameters
from ..core.regression_set import RegressionSet
from ..core.training_set import TrainingSet, earlier_fit_kept
from ..kernel.model.basis_refit import RowsToFit
from .search_grid import (
    AXES,
    Folds,
    FoldScores,
    best_row,
    needs_probabilities,
    results_table,
    scores_by_paths,
)
from .shared_search import can_share, scores_on_shared_blocks

DEFAULT_FOLDS = 5
# Attributes of a search that the estimator it trains does not have.
OF_THE_SEARCH = ("C_", "upsilon_", "theta_", "epsilon_", "scores_", "cv_results_")


@with_parameters
class ParameterSearch:
    """Search for the parameters of an estimator; a subclass names the estimator.

    Parameters of the search that the estimator lacks, and that :data:`AXES` lists, hold the
    values to try.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C to try. An integer stands for that many values between 0.01 and 1,000, evenly
        spaced on a logarithmic scale.
    cv : int, cross-validation generator, iterable or None, default=None
        How to split the rows. None is five folds, fewer where there are few rows; an integer is the
        number of folds. Folds of a classification are stratified; those of a regression are
        consecutive rows, as in scikit-learn; where rows are in some order, pass a splitter that
        shuffles them.
    scoring : str, callable or None, default=None
        Score of a fold, larger is better: a name or a function ``scorer(model, X, y)`` of
        scikit-learn. None is the ``score`` of the estimator, accuracy or R², weighted by
        ``sample_weight``; other scores are not weighted.
    refit : bool, default=True
        Train on all rows with the best parameters. Otherwise only the results of the search are
        kept.
    max_time : float, default=None
        Seconds allowed for each model of the search, and for the last fit.
    random_state : int, RandomState instance or None, default=None
        Breaks ties and orders the rows that a solver visits, where solutions differ within ``tol``
        only. Splits do not depend on it; pass a splitter as ``cv`` to shuffle. None is a fixed
        seed.
    verbose : int, default=0
        Print the scores during the search.

    Attributes
    ----------
    C_ : float
        Best C: that of the highest mean score; among equals the smallest C, then the smallest of
        the other parameters.
    best_score_ : float
        Mean score of the best parameters over the folds.
    best_params_ : dict
        The best parameters.
    best_index_ : int
        Their row in ``cv_results_``.
    cv_results_ : dict of arrays
        One row per choice of parameters as in :class:`sklearn.model_selection.GridSearchCV`:
        params, param_C and so on, split0_test_score and so on, mean_test_score, std_test_score,
        rank_test_score, mean_fit_time. The time of work that folds share is divided among them.
    scores_ : array of shape (n_settings, n_Cs, n_folds)
        All scores. A setting is a choice of the parameters other than C.
    Cs_ : array
        Values of C that were tried, ascending.
    best_estimator_ : object
        The trained model, as an instance of the class that was searched for. If ``refit``, the
        search has its attributes too (``relative_gap_``, ``history_`` and so on).
    """

    _searched: ClassVar[type[Any]]
    # Parameters of the estimator that a search sets.
    _fixed: ClassVar[dict[str, Any]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "Cs": [Integral, "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
    }

    Cs: Any = 10
    cv: Any = None
    scoring: Any = None
    refit: bool = True
    verbose: int = 0
    C_: float = field(init=False)
    best_score_: float = field(init=False)
    best_params_: dict[str, float] = field(init=False)
    best_index_: int = field(init=False)
    cv_results_: dict[str, Any] = field(init=False)
    scores_: Array = field(init=False)
    Cs_: Array = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search by cross-validation, then train on all rows with the best parameters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) when the kernel is
            precomputed. float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels, or targets of a regression.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies C row by row, and weights the rows on which the score is measured.
        groups : array-like of shape (n_samples,), optional
            Group of each row, for splitters such as :class:`sklearn.model_selection.GroupKFold`.

        Returns
        -------
        self : object
            The fitted search.
        """
        search: Any = self  # one of the subclasses, which add checks and parameters
        search._validate_params()
        with earlier_fit_kept(search):
            X, y = search._checked_training_data(X, y)
            training = search._weighed(X, y, sample_weight)
            weight = np.zeros(training.n_given)
            weight[slice(None) if training.kept is None else training.kept] = training.weights
            grid = search._grid(training)
            splits = list(search._splitter(y).split(X, y, groups))
            scorer = None if search.scoring is None else get_scorer(search.scoring)
            folds = Folds(X, y, weight, splits, search._pairwise, scorer)
            folds.check(search)
            Cs = grid.pop("C")
            settings = [dict(zip(grid, each, strict=True)) for each in product(*grid.values())]
            found = search._search(Cs, settings, folds)
        search._keep_results(Cs, settings, found)
        if "gammas" in search._own():
            search.gammas_ = np.array(grid["gamma"]) if "gamma" in grid else None
        if search.refit:
            best = search._searched_with(**search.best_params_)
            best.fit(X, y, sample_weight)
            for attribute, value in vars(best).items():
                if attribute.endswith("_") and attribute != "n_features_in_":
                    setattr(search, attribute, value)
        return self

    def _own(self: Any) -> list[str]:
        """Return the names of the parameters that only the search has, not its estimator."""
        of_estimator = self._searched._get_param_names()
        return [name for name in self._get_param_names() if name not in of_estimator]

    def _grid(self, training: TrainingSet | RegressionSet) -> dict[str, Any]:
        """Return the values to try, ascending, of each parameter of the estimator."""
        own, grid = self._own(), {}
        for axis, (name, values) in AXES.items():
            if axis in own:
                found = values(getattr(self, axis), self, training)
                if found is not None:
                    grid[name] = found
        return grid

    def _splitter(self, y: NDArray[Any]) -> Any:
        if self.cv is not None:
            return check_cv(self.cv, y, classifier=is_classifier(self))
        if not is_classifier(self):
            return KFold(max(2, min(DEFAULT_FOLDS, len(y) // 2)))  # R² needs two rows
        smallest = int(np.unique(y, return_counts=True)[1].min())
        return StratifiedKFold(max(2, min(DEFAULT_FOLDS, smallest)))

    def _searched_with(self: Any, **chosen: Any) -> Any:
        """Return the estimator that is searched for, with parameters of the grid."""
        kept = self.get_params(deep=False)
        for own in self._own():
            del kept[own]
        return self._searched(**{**kept, **self._fixed, **chosen})

    def _search(
        self: Any, Cs: Array, settings: list[dict[str, float]], folds: Folds
    ) -> list[FoldScores]:
        """Score every C on every fold, one setting after another."""
        found = []
        for setting in settings:
            machine = self._searched_with(C=float(Cs[0]), **setting)
            # Only scores of probabilities are worth the calibration of every model.
            if is_classifier(machine) and not needs_probabilities(folds.scorer):
                machine.calibrate = None
            machine._check_parameters()
            shared = can_share(machine, folds)
            score = scores_on_shared_blocks if shared else scores_by_paths
            found.append(score(machine, Cs, folds))
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
        for axis, (name, _) in AXES.items():
            if axis in self._own():
                setattr(self, f"{name}_", self.best_params_.get(name))

    @property
    def best_estimator_(self) -> Any:
        """The estimator trained on all rows, which shares its arrays with this one."""
        check_is_fitted(self)
        best = self._searched_with(**self.best_params_)
        others = (*OF_THE_SEARCH, *(f"{own}_" for own in self._own()))
        for attribute, value in vars(self).items():
            if attribute.endswith("_") and attribute not in others and "best_" not in attribute:
                setattr(best, attribute, value)
        return best


@with_parameters
class KernelSearch(ParameterSearch):
    """Search for the C and gamma of a kernel machine.

    Parameters
    ----------
    gammas : int, array-like or None, default=None
        Values of gamma to try, for kernels that have one. An integer stands for that many values
        around 'scale', each four times the one before; None for five of them. A list may hold
        'scale' and 'auto'.

    Attributes
    ----------
    gamma_ : float or None
        Best gamma.
    gammas_ : array or None
        Values of gamma that were tried, ascending; None for a kernel without gamma.
    """

    _fixed: ClassVar[dict[str, Any]] = {"strategy": "exact"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gammas": [None, Integral, "array-like"]
    }

    gammas: Any = None
    gammas_: Array | None = field(init=False)

    def _rows_to_fit(self: Any, X: Any, y: Any, sample_weight: Any) -> RowsToFit:
        rows: RowsToFit = self.best_estimator_._rows_to_fit(X, y, sample_weight)
        return rows
