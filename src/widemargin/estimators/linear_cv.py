"""The linear classifiers that choose C, and υ and θ, by cross-validation."""

from __future__ import annotations

from itertools import product
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from .linear import LinearODMClassifier, LinearSVMClassifier
from .linear_machine import LinearMachine
from .linear_prediction import LinearModel
from .parameter_search import ParameterSearch
from .training_set import TrainingSet

# Parameters of a linear machine that a search sets, or has no use for.
NOT_OF_A_SEARCH = ("C", "lam", "upsilon", "theta", "warm_start", "validation_fraction")


def _constraints(own: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Join the parameters of a classifier with those of a search."""
    kept = {name: rule for name, rule in own.items() if name not in NOT_OF_A_SEARCH}
    return {**kept, **ParameterSearch._search_constraints}


class LinearMachineCV(ParameterSearch, LinearModel):
    """Base of the searches; subclasses name the classifier and its parameters."""

    _classifier: ClassVar[type[LinearMachine]]

    def _settings_beside_C(self, training: TrainingSet) -> list[dict[str, float]]:
        return [{}]


class LinearODMClassifierCV(LinearMachineCV):
    """Linear ODM, its C, υ and θ chosen by cross-validation.

    Every choice of C, υ and θ is scored on every fold, by models as exact as those of
    :class:`LinearODMClassifier`, each started from the solution for the last C; then one is trained
    on all rows with the best.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C to try. A number stands for so many between 0.01 and 1,000, evenly spaced on a
        logarithmic scale.
    upsilons : float or array-like, default=0.5
        υ, or values of it to try: weight of margins that are too large, relative to those too
        small.
    thetas : float or array-like, default=0.2
        θ, or values of it to try: deviations of the margin from 1 up to this cost nothing.
    fit_intercept : bool, default=True
        Add a constant feature, whose weight gives the intercept. It is penalised as the other
        weights are, as in LIBLINEAR.
    intercept_scaling : float, default=1.0
        Value of the constant feature: larger penalises the intercept less.
    solver : {'auto', 'newton', 'dual', 'dual_then_newton', 'svrg', 'dsvrg', 'csvrg', 'pegasos'}, \
            default='auto'
        'newton': few passes over all rows. 'dual': coordinate descent, many cheap visits to rows;
        for many features. 'dual_then_newton': the same, and Newton where that is slow. 'auto'
        takes 'newton' for up to 1,000 weights and for rows on disk, else 'dual_then_newton'.
        The others are the papers' gradient methods, to compare: 'svrg' with reduced variance,
        'dsvrg' on parts, 'csvrg' on samples; 'pegasos', with steps that shrink.
    n_parts : int, default=16
        Parts of 'dsvrg'.
    batch_size : int or None, default=1
        Rows per step of 'pegasos'; None takes all of them.
    cv : int, cross-validation generator, iterable or None, default=None
        How to split. None is stratified, in five folds or as many as the smallest class has rows;
        an int is the number of stratified folds.
    scoring : str, callable or None, default=None
        Score of a fold, larger is better: a name or a function ``scorer(model, X, y)`` of
        scikit-learn. None is the accuracy, weighted by ``sample_weight``; other scores are not
        weighted.
    refit : bool, default=True
        Train on all rows with the best parameters. Without it only the results of the search are
        kept.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=1000
        Iterations allowed per binary problem: Newton steps, or passes over the rows.
    max_time : float, default=None
        Seconds allowed for each model of the search, and for the last fit.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Orders the rows that solvers draw, where the solution differs within ``tol`` only. Splits
        do not depend on it; pass a splitter as ``cv`` to shuffle.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it.
    memory_limit : int or str, default='1GiB'
        Bytes for what solvers keep beside the rows, or a size such as '500MB': decides how many
        of several binary problems are solved at the same time.
    verbose : int, default=0
        Print the scores as the search goes on.

    Attributes
    ----------
    C_ : float
        Best C: the highest mean score; of several the smallest C, then the smallest υ and θ.
    upsilon_, theta_ : float
        Best υ and θ.
    best_score_ : float
        Mean score of the best parameters over the folds.
    best_params_ : dict
        The best parameters.
    best_index_ : int
        Their row in ``cv_results_``.
    cv_results_ : dict of arrays
        One row per choice as in :class:`sklearn.model_selection.GridSearchCV`: params, param_C,
        param_upsilon, param_theta,
        split0_test_score and so on, mean_test_score, std_test_score, rank_test_score,
        mean_fit_time.
    scores_ : array of shape (n_settings, n_Cs, n_folds)
        All scores; a setting is a pair of υ and θ, those of the smallest υ first.
    Cs_ : array
        Values of C that were tried, ascending.
    best_estimator_ : object
        The trained classifier as one of the class that was searched for. Its attributes
        (``coef_``, ``intercept_``, ``relative_gap_``, ``history_`` and so on) are also those of the
        search, if ``refit``.
    classes_ : array of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    LinearODMClassifier : The classifier that is searched for; ``fit_path`` trains one for each C.
    LinearSVMClassifierCV : The same search for other losses.

    Notes
    -----
    Scale the features first. With a scaler in a pipeline around the search, all folds share one
    scaling; that the held-out rows took part in it is usually harmless.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearODMClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearODMClassifierCV(Cs=5).fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.96
    True
    """

    _classifier = LinearODMClassifier
    _own: ClassVar[tuple[str, ...]] = (*ParameterSearch._own, "upsilons", "thetas")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_constraints(LinearODMClassifier._parameter_constraints),
        "upsilons": [Interval(Real, 0.0, 1.0, closed="right"), "array-like"],
        "thetas": [Interval(Real, 0.0, 1.0, closed="left"), "array-like"],
    }

    def __init__(
        self,
        *,
        Cs: Any = 10,
        upsilons: Any = 0.5,
        thetas: Any = 0.2,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        solver: str = "auto",
        n_parts: int = 16,
        batch_size: int | None = 1,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.upsilons = upsilons
        self.thetas = thetas
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.n_parts = n_parts
        self.batch_size = batch_size
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _settings_beside_C(self, training: TrainingSet) -> list[dict[str, float]]:
        upsilons = _values_within(self.upsilons, "upsilons", "(0, 1]")
        thetas = _values_within(self.thetas, "thetas", "[0, 1)")
        return [{"upsilon": u, "theta": t} for u, t in product(upsilons, thetas)]

    def _keep_results(self, *args: Any) -> None:
        super()._keep_results(*args)
        self.upsilon_ = self.best_params_["upsilon"]
        self.theta_ = self.best_params_["theta"]


def _values_within(given: Any, name: str, interval: str) -> list[float]:
    """Return the values of υ or θ to try, ascending."""
    try:
        values = np.unique(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    lowest = values > 0 if interval.startswith("(") else values >= 0
    highest = values <= 1 if interval.endswith("]") else values < 1
    if np.ndim(given) > 1 or values.size == 0 or not np.all(lowest & highest):
        raise ValueError(f"`{name}` must be one or more numbers in {interval}; got {given!r}.")
    return [float(value) for value in values]


class LinearSVMClassifierCV(LinearMachineCV):
    """Linear support vector machine, its C chosen by cross-validation.

    Every C is scored on every fold, by models as exact as those of
    :class:`LinearSVMClassifier`, each started from the solution for the last C; then one is trained
    on all rows with the best.

    Parameters
    ----------
    loss : {'squared_hinge', 'hinge'}, default='squared_hinge'
        Loss of a margin below 1.
    Cs : int or array-like, default=10
        Values of C to try. A number stands for so many between 0.01 and 1,000, evenly spaced on a
        logarithmic scale.
    fit_intercept : bool, default=True
        Add a constant feature, whose weight gives the intercept. It is penalised as the other
        weights are, as in LIBLINEAR.
    intercept_scaling : float, default=1.0
        Value of the constant feature: larger penalises the intercept less.
    solver : {'auto', 'newton', 'dual', 'dual_then_newton', 'svrg', 'dsvrg', 'csvrg', 'pegasos'}, \
            default='auto'
        'newton': few passes over all rows. 'dual': coordinate descent, many cheap visits to rows;
        for many features. 'dual_then_newton': the same, and Newton where that is slow. 'auto'
        takes 'newton' for up to 1,000 weights and for rows on disk, else 'dual_then_newton'.
        The others are the papers' gradient methods, to compare: 'svrg' with reduced variance,
        'dsvrg' on parts, 'csvrg' on samples (these three for the squared hinge only); 'pegasos',
        with steps that shrink.
    n_parts : int, default=16
        Parts of 'dsvrg'.
    batch_size : int or None, default=1
        Rows per step of 'pegasos'; None takes all of them.
    cv : int, cross-validation generator, iterable or None, default=None
        How to split. None is stratified, in five folds or as many as the smallest class has rows;
        an int is the number of stratified folds.
    scoring : str, callable or None, default=None
        Score of a fold, larger is better: a name or a function ``scorer(model, X, y)`` of
        scikit-learn. None is the accuracy, weighted by ``sample_weight``; other scores are not
        weighted.
    refit : bool, default=True
        Train on all rows with the best parameters. Without it only the results of the search are
        kept.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=1000
        Iterations allowed per binary problem: Newton steps, or passes over the rows.
    max_time : float, default=None
        Seconds allowed for each model of the search, and for the last fit.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Orders the rows that solvers draw, where the solution differs within ``tol`` only. Splits
        do not depend on it; pass a splitter as ``cv`` to shuffle.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it.
    memory_limit : int or str, default='1GiB'
        Bytes for what solvers keep beside the rows, or a size such as '500MB': decides how many
        of several binary problems are solved at the same time.
    verbose : int, default=0
        Print the scores as the search goes on.

    Attributes
    ----------
    C_ : float
        Best C: the highest mean score; of several the smallest C.
    best_score_ : float
        Mean score of the best parameters over the folds.
    best_params_ : dict
        The best parameters.
    best_index_ : int
        Their row in ``cv_results_``.
    cv_results_ : dict of arrays
        One row per choice as in :class:`sklearn.model_selection.GridSearchCV`: params, param_C,
        split0_test_score and so on, mean_test_score, std_test_score, rank_test_score,
        mean_fit_time.
    scores_ : array of shape (n_settings, n_Cs, n_folds)
        All scores; there is one setting beside C.
    Cs_ : array
        Values of C that were tried, ascending.
    best_estimator_ : object
        The trained classifier as one of the class that was searched for. Its attributes
        (``coef_``, ``intercept_``, ``relative_gap_``, ``history_`` and so on) are also those of the
        search, if ``refit``.
    classes_ : array of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    LinearSVMClassifier : The classifier that is searched for; ``fit_path`` trains one for each C.
    LinearODMClassifierCV : The same search for other losses.

    Notes
    -----
    Scale the features first. With a scaler in a pipeline around the search, all folds share one
    scaling; that the held-out rows took part in it is usually harmless.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearSVMClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVMClassifierCV(Cs=5).fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.96
    True
    """

    _classifier = LinearSVMClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _constraints(
        LinearSVMClassifier._parameter_constraints
    )

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        Cs: Any = 10,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        solver: str = "auto",
        n_parts: int = 16,
        batch_size: int | None = 1,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.Cs = Cs
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.n_parts = n_parts
        self.batch_size = batch_size
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose
