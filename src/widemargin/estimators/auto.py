"""The classifier that chooses a classifier."""

from __future__ import annotations

import time
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils._param_validation import StrOptions

from ..core.calibrators import METHODS
from ..core.parameters import AT_LEAST_ONE, POSITIVE, with_parameters
from ..core.progress import FitProgress
from ..core.training_set import COLUMNS
from ..core.uneven_scales import scales_as_meant
from .auto_candidates import FAMILIES, grid, untried
from .auto_final import LastFit
from .auto_leaderboard import leaderboard
from .auto_prediction import AutoPredictor
from .auto_relevance import has_relevance
from .auto_search import Problem, Search
from .auto_splits import splits_of
from .auto_table import AutoTable, table_of
from .search_grid import Scorer, needs_probabilities


@with_parameters
class AutoClassifier(AutoPredictor):
    """Classifier that prepares a table, and chooses and tunes a margin classifier by itself.

    ``fit`` turns columns into features, races support vector machines and optimal margin
    distribution machines with and without kernels on few rows, goes on with the better ones on
    more, tunes the best, and trains it on all rows, within ``max_time``. Every candidate is scored
    on rows that it was not trained on.

    Parameters
    ----------
    max_time : float or None, default=120.0
        Seconds allowed for all of it; None sets no limit. Small sets take less: the search ends
        when nothing is left to win.
    cv : int, cross-validation generator, iterable or None, default=None
        How candidates are scored. None takes five stratified folds up to 10,000 rows, drawn three
        times up to 600, and holds a fifth of the rows out beyond, at most 10,000; an integer is
        the number of stratified folds.
    calibrate : {'sigmoid', 'isotonic'} or None, default='sigmoid'
        How decisions are turned into probabilities; None gives none. Calibrators are fitted to
        the decisions by which the search scored the chosen parameters.
    families : list of str or None, default=None
        Families of candidates to choose from: 'SVM, rbf', 'SVM, laplacian', 'ODM, rbf', 'ODM,
        laplacian', 'linear SVM', 'linear ODM' and, with features weighted by their relevance,
        'SVM, rbf, weighted', 'SVM, laplacian, weighted' and 'ODM, laplacian, weighted'. None is
        all of them.
    scoring : str, callable or None, default=None
        Score to maximise: a name or a function ``scorer(model, X, y)`` of scikit-learn, which
        receives preprocessed rows. None is the accuracy, weighted by ``sample_weight``; other
        scores are not weighted. Scores of probabilities, such as 'neg_log_loss', need
        ``calibrate``, by which then every candidate is calibrated: a search takes several times as
        long. So does one by a function, unless ``make_scorer`` says what the function needs.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class, for all candidates.
    random_state : int, RandomState instance or None, default=None
        Draws the rows of splits. None draws the same ones every time.
    n_jobs : int, default=None
        Number of threads. None uses all cores available to this process (one inside a worker
        process).
    memory_limit : int or str, default='1GiB'
        Bytes for kernel values, or a size such as '500MB'.
    verbose : int, default=0
        Print what is tried. A terminal shows a progress line in any case.

    Attributes
    ----------
    preprocessor_ : TablePreprocessor
        Turns columns into features; ``notes_`` says what it did.
    feature_weights_ : array of shape (n_features_out,) or None
        Weights that the features of the preprocessor are multiplied with before they go to
        ``model_``, by their relevance; None if a family without weights was chosen.
    model_ : estimator
        The chosen classifier, trained on the features.
    best_score_ : float
        Mean score of the chosen parameters on rows that were not trained on; NaN if there was no
        time to score any.
    leaderboard_ : dict of arrays
        All that was tried, as rows of equal-length columns: rank, name, params, rows (of training),
        splits, score, std_score, seconds, converged. Rank 1 was chosen.
    n_rows_fit_ : int
        Rows that ``model_`` was trained on: all, unless the time was too short. Equal rows count
        once.
    fit_seconds_ : float
        Time of the whole fit.
    classes_ : array of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X has them.

    See Also
    --------
    ODMClassifierCV : Searches the parameters of one classifier on a grid.
    widemargin.inspection.LeaderboardDisplay : Draws what was tried.

    Notes
    -----
    As long as the time suffices, two fits with the same ``random_state`` give the same model, on
    any number of threads. If it does not, what can still be tried depends on the speed of the
    machine.

    An interrupt leaves the best model so far, trained on some of the rows, and is re-raised.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import AutoClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoClassifier().fit(X, y)
    >>> model.best_score_ > 0.94
    True
    """

    _parameter_order: ClassVar[str] = (
        "max_time calibrate families cv scoring class_weight random_state n_jobs memory_limit "
        "verbose"
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_time": [None, POSITIVE],
        "calibrate": [StrOptions(set(METHODS)), None],
        "families": [None, list, tuple],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "memory_limit": [str, AT_LEAST_ONE],
        "verbose": ["verbose"],
    }

    max_time: float | None = 120.0
    calibrate: str | None = "sigmoid"
    families: Any = None
    cv: Any = None
    scoring: Any = None
    class_weight: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    memory_limit: int | str = "1GiB"
    verbose: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Prepare the table, choose a classifier, and train it on all rows.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            The table: numbers, text, categories, dates and missing values in a data frame or an
            array of objects; numbers in a sparse matrix.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in training and in scores; rows of weight zero are left out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        began = time.perf_counter()
        self._validate_params()
        names, scorer = self._families(), self._scorer()
        table = table_of(self, X, y, sample_weight)
        if not has_relevance(table.X):
            names = [each for each in names if not FAMILIES[each].weighted] or names
        problem = self._problem(table, scorer)
        splits = splits_of(self.cv, table.given, table.row_of, table.codes, table.seed)
        last = LastFit(problem, self.calibrate, self.max_time, began)
        name = type(self).__name__
        with FitProgress(name, 1e-3) as progress, scales_as_meant():

            def report(what: str, done: int, of: int) -> None:
                progress.report_count(what, done, of)
                if self.verbose and done == of:
                    best = search.best
                    assert best is not None
                    print(f"[{name}] {what}: {of}; best {best.candidate}: {best.score:.4f}")

            def time_left() -> float:
                return last.time_left - last.set_aside(search)

            search = Search(problem, splits, time_left, report)
            try:
                search.run(grid(names, table.scale))
                best = search.best
                last.run(search, untried(names, table.scale) if best is None else best.candidate)
            except KeyboardInterrupt:
                if last.model is None:
                    last.take(search)
                if last.model is not None:
                    self._set(table, search, last)
                raise
            self._set(table, search, last)
        last.warn(name)
        return self

    def _families(self) -> list[str]:
        names = list(FAMILIES) if self.families is None else list(self.families)
        if not names or any(name not in FAMILIES for name in names):
            raise ValueError(
                f"`families` must be some of {', '.join(map(repr, FAMILIES))}; got "
                f"{self.families!r}."
            )
        return names

    def _scorer(self) -> Scorer | None:
        if self.scoring is None:
            return None
        scorer: Scorer = get_scorer(self.scoring)
        # What a user's function needs is not known before it is called.
        known = hasattr(scorer, "_response_method")
        if self.calibrate is None and known and needs_probabilities(scorer):
            raise ValueError(
                f"`scoring={self.scoring!r}` needs probabilities, which `calibrate=None` gives "
                "none of. Set calibrate='sigmoid', or choose a score of labels or decisions, such "
                "as 'accuracy', 'f1_macro' or, for two classes, 'roc_auc'."
            )
        return scorer

    def _problem(self, table: AutoTable, scorer: Scorer | None) -> Problem:
        settings = {
            "class_weight": self.class_weight,
            "random_state": table.seed,
            "n_jobs": self.n_jobs,
            "memory_limit": self.memory_limit,
        }
        calibrate = self.calibrate if needs_probabilities(scorer) else None
        return Problem(
            table.X, table.classes, table.codes, table.weight, scorer, calibrate, settings
        )

    def _set(self, table: AutoTable, search: Search, last: LastFit) -> None:
        for name in COLUMNS:
            self.__dict__.pop(name, None)
        self.__dict__.update(table.columns)
        best = search.best
        self.preprocessor_, self.model_ = table.preprocessor, last.calibrated()
        self.feature_weights_, self.classes_ = last.features, table.classes
        self.leaderboard_ = leaderboard(search.trials, best)
        self.best_score_ = np.nan if best is None else best.score
        self.n_rows_fit_ = int(last.n_rows)
        self.fit_seconds_ = time.perf_counter() - last.began
