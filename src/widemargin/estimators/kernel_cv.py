"""The kernel classifiers that choose C and gamma by cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

from .cross_validated import NOT_OF_A_SEARCH, KernelMachineCV
from .kernel import ODMClassifier, SVMClassifier


def _constraints(own: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Join the parameters of a classifier with those of a search."""
    kept = {name: rule for name, rule in own.items() if name not in NOT_OF_A_SEARCH}
    return {**kept, **KernelMachineCV._parameter_constraints}


class ODMClassifierCV(KernelMachineCV):
    """Optimal margin distribution machine, its C and gamma chosen by cross-validation.

    Every pair of C and gamma is scored on every fold, by models as exact as those of
    :class:`ODMClassifier`; then one is trained on all rows with the best pair. The search costs
    less than one by :class:`sklearn.model_selection.GridSearchCV`: each C starts from the solution
    of the last, and folds share the kernel values they need.

    Parameters
    ----------
    kernel : {'rbf', 'laplacian', 'poly', 'linear', 'sigmoid', 'precomputed'} or callable, \
            default='rbf'
        Kernel. A callable takes ``(X, Y)`` and returns the kernel values between their rows, as
        in :class:`sklearn.svm.SVC`.
    Cs : int or array-like, default=10
        Values of C to try. A number stands for so many between 0.01 and 1,000, evenly spaced on a
        logarithmic scale.
    gammas : int, array-like or None, default=None
        Values of gamma to try, for kernels that have one. A number stands for so many around
        'scale', each four times the last; None for five of them. A list may hold 'scale' and
        'auto'.
    upsilon : float in (0, 1], default=0.5
        υ: weight of margins that are too large, relative to those too small. (Not NuSVC's ν.)
    theta : float in [0, 1), default=0.2
        θ: deviations of the margin from 1 up to this cost nothing.
    degree : int, default=3
        Degree of poly.
    coef0 : float, default=0.0
        Constant in poly and sigmoid.
    fit_intercept : bool, default=False
        Add a constant to the kernel, which gives a penalised intercept. The papers have none.
    solver : {'auto', 'blocks', 'coordinate', 'newton'}, default='auto'
        'blocks': dual descent on blocks of the most violating rows, any size. 'newton':
        semi-smooth Newton, dense up to 2,000 rows and by conjugate gradients above; for small
        ``C`` or little memory. 'coordinate': as 'blocks' without blocks, to compare. 'auto' takes
        Newton up to 1,000 rows and blocks above.
    multi_class : {'ovr', 'ovo'}, default='ovr'
        One problem per class, or per pair of classes.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        With ``multi_class='ovo'``: votes per class, or one decision per pair.
    cv : int, cross-validation generator, iterable or None, default=None
        How to split. None is stratified, in five folds or as many as the smallest class has rows;
        an int is the number of stratified folds.
    scoring : str, callable or None, default=None
        Score of a fold, larger is better: a name or a function ``scorer(model, X, y)`` of
        scikit-learn. None is the accuracy, weighted by ``sample_weight``; other scores are not
        weighted.
    refit : bool, default=True
        Train on all rows with the best pair. Without it only the results of the search are kept.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=10000
        Iterations allowed per binary problem: working sets or Newton steps.
    max_time : float, default=None
        Seconds allowed for each model of the search, and for the last fit.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Breaks ties when the solver picks rows, where solutions differ within ``tol`` only. Splits
        do not depend on it; pass a splitter as ``cv`` to shuffle.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it.
    memory_limit : int or str, default='1GiB'
        Bytes for kernel values, or a size such as '500MB'.
    verbose : int, default=0
        Print the scores as the search goes on.

    Attributes
    ----------
    C_ : float
        Best C: the highest mean score; of several pairs the smallest C, then the smallest gamma.
    gamma_ : float or None
        Best gamma.
    best_score_ : float
        Mean score of the best pair over the folds.
    best_params_ : dict
        The best pair.
    best_index_ : int
        Its row in ``cv_results_``.
    cv_results_ : dict of arrays
        One row per pair as in :class:`sklearn.model_selection.GridSearchCV`: params, param_C,
        param_gamma, split0_test_score and so on, mean_test_score, std_test_score,
        rank_test_score, mean_fit_time. Times of work that folds share are divided among them.
    scores_ : array of shape (n_gammas, n_Cs, n_folds)
        All scores.
    Cs_, gammas_ : array
        Values that were tried, ascending; ``gammas_`` is None for a kernel without gamma.
    best_estimator_ : object
        The trained classifier as one of the class that was searched for. Its attributes
        (``support_``, ``dual_coef_``, ``relative_gap_``, ``history_`` and so on) are also those of
        the search, if ``refit``.
    classes_ : array of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    ODMClassifier : The classifier that is searched for; ``fit_path`` trains one for each C.
    SVMClassifierCV : The same search for the other loss.

    Notes
    -----
    Scale the features first. With a scaler in a pipeline around the search, all folds share one
    scaling; that the held-out rows took part in it is usually harmless.

    Training sets are solved as a whole, never divided. Up to 2,000 training rows of a fold, for
    one-vs-one problems and for kernels that may be indefinite, folds are fitted one by one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import ODMClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ODMClassifierCV(Cs=3, gammas=3).fit(StandardScaler().fit_transform(X), y)
    >>> model.best_score_ > 0.97
    True
    >>> sorted(model.best_params_)
    ['C', 'gamma']
    """

    _classifier = ODMClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _constraints(
        ODMClassifier._parameter_constraints
    )

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        Cs: Any = 10,
        gammas: Any = None,
        upsilon: float = 0.5,
        theta: float = 0.2,
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        solver: str = "auto",
        multi_class: str = "ovr",
        decision_function_shape: str = "ovr",
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.Cs = Cs
        self.gammas = gammas
        self.upsilon = upsilon
        self.theta = theta
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
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


class SVMClassifierCV(KernelMachineCV):
    """Kernel support vector machine, its C and gamma chosen by cross-validation.

    Every pair of C and gamma is scored on every fold, by models as exact as those of
    :class:`SVMClassifier`; then one is trained on all rows with the best pair. The search costs
    less than one by :class:`sklearn.model_selection.GridSearchCV`: each C starts from the solution
    of the last, and folds share the kernel values they need.

    Parameters
    ----------
    kernel : {'rbf', 'laplacian', 'poly', 'linear', 'sigmoid', 'precomputed'} or callable, \
            default='rbf'
        Kernel. A callable takes ``(X, Y)`` and returns the kernel values between their rows, as
        in :class:`sklearn.svm.SVC`.
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        Loss of a margin below 1.
    Cs : int or array-like, default=10
        Values of C to try. A number stands for so many between 0.01 and 1,000, evenly spaced on a
        logarithmic scale.
    gammas : int, array-like or None, default=None
        Values of gamma to try, for kernels that have one. A number stands for so many around
        'scale', each four times the last; None for five of them. A list may hold 'scale' and
        'auto'.
    degree : int, default=3
        Degree of poly.
    coef0 : float, default=0.0
        Constant in poly and sigmoid.
    fit_intercept : bool, default=False
        Add a constant to the kernel, which gives a penalised intercept.
    solver : {'auto', 'blocks', 'coordinate', 'newton'}, default='auto'
        'blocks': dual descent on blocks of the most violating rows, any size. 'newton', for the
        squared hinge only: semi-smooth Newton, dense up to 2,000 rows and by conjugate gradients
        above; for small ``C`` or little memory. 'coordinate': as 'blocks' without blocks, to
        compare. 'auto' takes Newton up to 1,000 rows where it may, and blocks otherwise.
    multi_class : {'ovr', 'ovo'}, default='ovr'
        One problem per class, or per pair of classes (SVC's way).
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        With ``multi_class='ovo'``: votes per class, or one decision per pair.
    cv : int, cross-validation generator, iterable or None, default=None
        How to split. None is stratified, in five folds or as many as the smallest class has rows;
        an int is the number of stratified folds.
    scoring : str, callable or None, default=None
        Score of a fold, larger is better: a name or a function ``scorer(model, X, y)`` of
        scikit-learn. None is the accuracy, weighted by ``sample_weight``; other scores are not
        weighted.
    refit : bool, default=True
        Train on all rows with the best pair. Without it only the results of the search are kept.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=10000
        Iterations allowed per binary problem: working sets or Newton steps.
    max_time : float, default=None
        Seconds allowed for each model of the search, and for the last fit.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Breaks ties when the solver picks rows, where solutions differ within ``tol`` only. Splits
        do not depend on it; pass a splitter as ``cv`` to shuffle.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it.
    memory_limit : int or str, default='1GiB'
        Bytes for kernel values, or a size such as '500MB'.
    verbose : int, default=0
        Print the scores as the search goes on.

    Attributes
    ----------
    C_ : float
        Best C: the highest mean score; of several pairs the smallest C, then the smallest gamma.
    gamma_ : float or None
        Best gamma.
    best_score_ : float
        Mean score of the best pair over the folds.
    best_params_ : dict
        The best pair.
    best_index_ : int
        Its row in ``cv_results_``.
    cv_results_ : dict of arrays
        One row per pair as in :class:`sklearn.model_selection.GridSearchCV`: params, param_C,
        param_gamma, split0_test_score and so on, mean_test_score, std_test_score,
        rank_test_score, mean_fit_time. Times of work that folds share are divided among them.
    scores_ : array of shape (n_gammas, n_Cs, n_folds)
        All scores.
    Cs_, gammas_ : array
        Values that were tried, ascending; ``gammas_`` is None for a kernel without gamma.
    best_estimator_ : object
        The trained classifier as one of the class that was searched for. Its attributes
        (``support_``, ``dual_coef_``, ``relative_gap_``, ``history_`` and so on) are also those of
        the search, if ``refit``.
    classes_ : array of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    SVMClassifier : The classifier that is searched for; ``fit_path`` trains one for each C.
    ODMClassifierCV : The same search for the other loss.

    Notes
    -----
    Scale the features first. With a scaler in a pipeline around the search, all folds share one
    scaling; that the held-out rows took part in it is usually harmless.

    Training sets are solved as a whole, never divided. Up to 2,000 training rows of a fold, for
    one-vs-one problems and for kernels that may be indefinite, folds are fitted one by one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVMClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVMClassifierCV(Cs=[1.0, 10.0], gammas=[0.1, 1.0]).fit(X, y)
    >>> model.best_score_ > 0.95
    True
    """

    _classifier = SVMClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _constraints(
        SVMClassifier._parameter_constraints
    )

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        loss: str = "hinge",
        Cs: Any = 10,
        gammas: Any = None,
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        solver: str = "auto",
        multi_class: str = "ovr",
        decision_function_shape: str = "ovr",
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.Cs = Cs
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
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
