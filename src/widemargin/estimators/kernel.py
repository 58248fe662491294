"""The kernel classifiers: ODM and SVM."""

from __future__ import annotations

from numbers import Real
from os import PathLike
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from ..kernel.divide.strategies import Strategy
from .kernel_machine import KernelMachine


class ODMClassifier(KernelMachine):
    r"""Kernel classifier that optimises the distribution of margins.

    The Optimal margin Distribution Machine wants every margin near 1, not only the smallest ones
    large: it penalises margins below 1 − θ and, with weight υ, above 1 + θ,

    .. math:: \min_f \tfrac12 \lVert f \rVert^2 + \tfrac{C}{2} \sum_i w_i \left[
              (1 - \theta - m_i)_+^2 + \upsilon\,(m_i - 1 - \theta)_+^2 \right],
              \qquad m_i = y_i f(x_i).

    By default solved exactly: the fit ends when the duality gap, relative to the objective, is at
    most ``tol``.

    Parameters
    ----------
    kernel : {'rbf', 'laplacian', 'poly', 'linear', 'sigmoid', 'precomputed'} or callable, \
            default='rbf'
        Kernel. A callable takes ``(X, Y)`` and returns the kernel values between their rows, as
        in :class:`sklearn.svm.SVC`.
    C : float, default=1.0
        Weight of a row's loss, as in SVC: larger fits the training data more closely.
    lam : float, default=None
        The papers' λ, the weight of the *mean* loss; when set it replaces ``C`` by
        λ / (Σ weights · (1 − θ)²).
    upsilon : float in (0, 1], default=0.5
        υ: weight of margins that are too large, relative to those too small. (Not NuSVC's ν.)
    theta : float in [0, 1), default=0.2
        θ: deviations of the margin from 1 up to this cost nothing.
    gamma : {'scale', 'auto'} or float, default='scale'
        Width of rbf, laplacian, poly and sigmoid; 'scale' is 1 / (n_features · X.var()), 'auto'
        is 1 / n_features.
    degree : int, default=3
        Degree of poly.
    coef0 : float, default=0.0
        Constant in poly and sigmoid.
    fit_intercept : bool, default=False
        Add a constant to the kernel, which gives a penalised intercept. The papers have none.
    strategy : str or Strategy, default='auto'
        How the training set is treated. 'exact' solves it as a whole. 'stratified' ('sodm'),
        'clustered' ('dc'), 'cascade' and 'preserving' ('dip') divide it into parts that are
        solved and merged level by level, up to the whole; objects such as
        :class:`Clustered` set the levels, and where to stop. 'auto' is exact up to
        100,000 rows; beyond, it divides into clusters of at most 8,000 rows, stops there, and
        says so.
    solver : {'auto', 'blocks', 'coordinate', 'newton'}, default='auto'
        'blocks': dual descent on blocks of the most violating rows, any size. 'newton':
        semi-smooth Newton, dense up to 2,000 rows and by conjugate gradients above; for small
        ``C`` or little memory. 'coordinate': as 'blocks' without blocks, to compare. 'auto' takes
        Newton up to 1,000 rows and blocks above.
    multi_class : {'ovr', 'ovo'}, default='ovr'
        One problem per class, or per pair of classes.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        With ``multi_class='ovo'``: votes per class, or one decision per pair.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=10000
        Iterations allowed per binary problem: working sets or Newton steps.
    max_time : float, default=None
        Seconds allowed for the whole fit; when they are over, the model so far is kept and a
        :class:`~sklearn.exceptions.ConvergenceWarning` says so.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Breaks ties when coordinate descent picks rows, where the solution differs within ``tol``
        only; divides the training set, where the model of an unfinished level depends on it.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it.
    memory_limit : int or str, default='1GiB'
        Bytes for kernel values, or a size such as '500MB'; parts solved at the same time
        share it.
    engine : {'local', 'spark'} or Engine, default='local'
        Where the parts of a divided training set are kept and solved: threads of this process, the
        active Spark session, or an object with the verbs of :class:`widemargin.engines.Engine`.
        The model is the same.
    checkpoint : str or path-like, default=None
        Folder to keep every finished level of a divided fit in; the same fit, started again,
        goes on from the last one. Without a ``random_state`` its random choices are fixed.
    warm_start : bool, default=False
        Start the next fit from this one's solution, if it has as many rows and the same classes.
    verbose : int, default=0
        Print the gap as the fit goes on. A progress line is shown on a terminal in any case.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels.
    support_ : array of shape (n_support,)
        Training rows with a non-zero coefficient, ascending.
    support_vectors_ : array or sparse matrix of shape (n_support, n_features)
        Those rows; no columns for a precomputed kernel.
    n_support_ : array of shape (n_classes,)
        Number of them in each class.
    support_class_ : array of shape (n_support,)
        Position of each one's label in ``classes_``.
    dual_coef_ : array of shape (n_problems, n_support)
        Label times net dual; one row per binary problem.
    intercept_ : array of shape (n_problems,)
        Zero unless ``fit_intercept``; also zero where clusters are asked alone, because each has
        its own.
    gamma_ : float or None
        Resolved ``gamma``.
    dual_gap_, relative_gap_ : float
        Duality gap, summed over the binary problems, and the largest relative one. NaN for an
        indefinite kernel, and for the model of an unfinished level: its parts have gaps
        (``history_``), the whole problem is not evaluated.
    converged_ : bool
        Whether every binary problem, or every part of the level, is within ``tol``.
    n_iter_ : int
        Largest number of iterations over the binary problems.
    strategy_, solver_ : str
        What 'auto' chose.
    level_ : int
        Level of the model; 0 is the whole training set.
    support_part_ : array of shape (n_problems, n_support) or None
        Part that each support vector belongs to; None at the root.
    routing_ : list or None
        How rows find their cluster, per binary problem; None where all parts are asked.
    history_ : dict of arrays
        Exact: per iteration, problem, iteration, seconds, primal, dual, relative_gap, active_rows
        and passes (kernel entries evaluated over rows squared). Divided: per level, problem, level,
        parts, rows, largest_part, support_vectors, objective, gap, relative_gap, worst_gap (of a
        part), movement (share of the duals' sum that the solve moved), seconds, validation_score.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    SVMClassifier : The same with the hinge loss.
    sklearn.svm.SVC : LIBSVM's solver, with an unpenalised intercept.

    Notes
    -----
    Scale the features first: kernels measure distances.

    References
    ----------
    .. [1] T. Zhang and Z.-H. Zhou, "Optimal margin distribution machine", IEEE Transactions on
       Knowledge and Data Engineering, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import ODMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ODMClassifier(C=8.0)).fit(X, y)
    >>> bool(model[-1].relative_gap_ < 1e-3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        "lam": [None, Interval(Real, 0.0, None, closed="neither")],
        "upsilon": [Interval(Real, 0.0, 1.0, closed="right")],
        "theta": [Interval(Real, 0.0, 1.0, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        lam: float | None = None,
        upsilon: float = 0.5,
        theta: float = 0.2,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        strategy: str | Strategy = "auto",
        solver: str = "auto",
        multi_class: str = "ovr",
        decision_function_shape: str = "ovr",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        engine: Any = "local",
        checkpoint: str | PathLike[str] | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.lam = lam
        self.upsilon = upsilon
        self.theta = theta
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.strategy = strategy
        self.solver = solver
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.engine = engine
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.verbose = verbose

    def _loss(self) -> Loss:
        return MarginDistribution(self.upsilon, self.theta)

    def _row_weight(self, total_weight: float) -> float:
        if self.lam is None:
            return self.C
        return float(self.lam / (total_weight * (1.0 - self.theta) ** 2))


class SVMClassifier(KernelMachine):
    r"""Kernel support vector machine, solved to a certified duality gap.

    .. math:: \min_f \tfrac12 \lVert f \rVert^2 + C \sum_i w_i\, (1 - m_i)_+^q,
              \qquad m_i = y_i f(x_i),

    with q = 1 (hinge) or 2 (squared hinge). Unlike :class:`sklearn.svm.SVC` there is no intercept
    by default, and ``fit_intercept=True`` penalises it.

    Parameters
    ----------
    kernel : {'rbf', 'laplacian', 'poly', 'linear', 'sigmoid', 'precomputed'} or callable, \
            default='rbf'
        Kernel. A callable takes ``(X, Y)`` and returns the kernel values between their rows, as
        in :class:`sklearn.svm.SVC`.
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        Loss of a margin below 1.
    C : float, default=1.0
        Weight of a row's loss.
    gamma : {'scale', 'auto'} or float, default='scale'
        Width of rbf, laplacian, poly and sigmoid; 'scale' is 1 / (n_features · X.var()), 'auto'
        is 1 / n_features.
    degree : int, default=3
        Degree of poly.
    coef0 : float, default=0.0
        Constant in poly and sigmoid.
    fit_intercept : bool, default=False
        Add a constant to the kernel, which gives a penalised intercept.
    strategy : str or Strategy, default='auto'
        How the training set is treated. 'exact' solves it as a whole. 'stratified' ('sodm'),
        'clustered' ('dc'), 'cascade' and 'preserving' ('dip') divide it into parts that are
        solved and merged level by level, up to the whole; objects such as
        :class:`Clustered` set the levels, and where to stop. 'auto' is exact up to
        100,000 rows; beyond, it divides into clusters of at most 8,000 rows, stops there, and
        says so.
    solver : {'auto', 'blocks', 'coordinate', 'newton'}, default='auto'
        'blocks': dual descent on blocks of the most violating rows, any size. 'newton', for the
        squared hinge only: semi-smooth Newton, dense up to 2,000 rows and by conjugate gradients
        above; for small ``C`` or little memory. 'coordinate': as 'blocks' without blocks, to
        compare. 'auto' takes Newton up to 1,000 rows where it may, and blocks otherwise.
    multi_class : {'ovr', 'ovo'}, default='ovr'
        One problem per class, or per pair of classes (SVC's way).
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        With ``multi_class='ovo'``: votes per class, or one decision per pair.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=10000
        Iterations allowed per binary problem: working sets or Newton steps.
    max_time : float, default=None
        Seconds allowed for the whole fit; when they are over, the model so far is kept and a
        :class:`~sklearn.exceptions.ConvergenceWarning` says so.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Breaks ties when coordinate descent picks rows, where the solution differs within ``tol``
        only; divides the training set, where the model of an unfinished level depends on it.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it.
    memory_limit : int or str, default='1GiB'
        Bytes for kernel values, or a size such as '500MB'; parts solved at the same time
        share it.
    engine : {'local', 'spark'} or Engine, default='local'
        Where the parts of a divided training set are kept and solved: threads of this process, the
        active Spark session, or an object with the verbs of :class:`widemargin.engines.Engine`.
        The model is the same.
    checkpoint : str or path-like, default=None
        Folder to keep every finished level of a divided fit in; the same fit, started again,
        goes on from the last one. Without a ``random_state`` its random choices are fixed.
    warm_start : bool, default=False
        Start the next fit from this one's solution, if it has as many rows and the same classes.
    verbose : int, default=0
        Print the gap as the fit goes on. A progress line is shown on a terminal in any case.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels.
    support_ : array of shape (n_support,)
        Training rows with a non-zero coefficient, ascending.
    support_vectors_ : array or sparse matrix of shape (n_support, n_features)
        Those rows; no columns for a precomputed kernel.
    n_support_ : array of shape (n_classes,)
        Number of them in each class.
    support_class_ : array of shape (n_support,)
        Position of each one's label in ``classes_``.
    dual_coef_ : array of shape (n_problems, n_support)
        Label times dual; one row per binary problem.
    intercept_ : array of shape (n_problems,)
        Zero unless ``fit_intercept``; also zero where clusters are asked alone, because each has
        its own.
    gamma_ : float or None
        Resolved ``gamma``.
    dual_gap_, relative_gap_ : float
        Duality gap, summed over the binary problems, and the largest relative one. NaN for an
        indefinite kernel, and for the model of an unfinished level: its parts have gaps
        (``history_``), the whole problem is not evaluated.
    converged_ : bool
        Whether every binary problem, or every part of the level, is within ``tol``.
    n_iter_ : int
        Largest number of iterations over the binary problems.
    strategy_, solver_ : str
        What 'auto' chose.
    level_ : int
        Level of the model; 0 is the whole training set.
    support_part_ : array of shape (n_problems, n_support) or None
        Part that each support vector belongs to; None at the root.
    routing_ : list or None
        How rows find their cluster, per binary problem; None where all parts are asked.
    history_ : dict of arrays
        Exact: per iteration, problem, iteration, seconds, primal, dual, relative_gap, active_rows
        and passes (kernel entries evaluated over rows squared). Divided: per level, problem, level,
        parts, rows, largest_part, support_vectors, objective, gap, relative_gap, worst_gap (of a
        part), movement (share of the duals' sum that the solve moved), seconds, validation_score.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    ODMClassifier : The same with the margin-distribution loss.
    sklearn.svm.SVC : LIBSVM's solver, with an unpenalised intercept.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SVMClassifier(C=10.0).fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        loss: str = "hinge",
        C: float = 1.0,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        strategy: str | Strategy = "auto",
        solver: str = "auto",
        multi_class: str = "ovr",
        decision_function_shape: str = "ovr",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        engine: Any = "local",
        checkpoint: str | PathLike[str] | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.strategy = strategy
        self.solver = solver
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.engine = engine
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.verbose = verbose

    def _loss(self) -> Loss:
        return Hinge() if self.loss == "hinge" else SquaredHinge()
