"""The linear classifiers: ODM and SVM."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from .linear_machine import LinearMachine


class LinearODMClassifier(LinearMachine):
    r"""Linear classifier that optimises the distribution of margins.

    The Optimal margin Distribution Machine without a kernel, solved in the primal: costs grow with
    the stored values of the rows, not with the square of their number.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + \tfrac{C}{2} \sum_i v_i \left[
              (1 - \theta - m_i)_+^2 + \upsilon\,(m_i - 1 - \theta)_+^2 \right],
              \qquad m_i = y_i\, w^\top x_i.

    The fit ends when the duality gap, relative to the objective, is at most ``tol``. There is no
    step size to choose.

    Parameters
    ----------
    C : float, default=1.0
        Weight of a row's loss: larger fits the training data more closely.
    lam : float, default=None
        The papers' λ, the weight of the *mean* loss; when set it replaces ``C`` by
        λ / (Σ weights · (1 − θ)²).
    upsilon : float in (0, 1], default=0.5
        υ: weight of margins that are too large, relative to those too small.
    theta : float in [0, 1), default=0.2
        θ: deviations of the margin from 1 up to this cost nothing.
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
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=1000
        Iterations allowed per binary problem: Newton steps, or passes over the rows.
    max_time : float, default=None
        Seconds allowed for the whole fit; when they are over, the model so far is kept and a
        :class:`~sklearn.exceptions.ConvergenceWarning` says so.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Orders the rows that solvers draw, where the solution differs within ``tol`` only, and
        draws the validation rows.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it. Where `engine` is another machine, its tasks' cores count instead.
    memory_limit : int or str, default='1GiB'
        Bytes for what solvers keep beside the rows, or a size such as '500MB': decides how many
        of several binary problems are solved at the same time, and the blocks of a stream.
    engine : {'local', 'spark'} or Engine, default='local'
        Where the work is done: in this process, on the active Spark session, or on an object with
        the verbs of :class:`widemargin.engines.Engine`. Elsewhere rows are sent in blocks once;
        'newton' and 'dsvrg' leave them there, 'auto' solves sets of up to 256 MiB in one task and
        larger ones by 'newton'.
    warm_start : bool, default=False
        Start the next fit from this one's weights, if it has the same features and classes.
    validation_fraction : float, default=None
        Share of each class to keep out of the training rows. The iterate that gets most of them
        right is kept, and a solver stops when five iterations in a row bring no better one.
    verbose : int, default=0
        Print the gap as the fit goes on. A progress line is shown on a terminal in any case.

    Attributes
    ----------
    coef_ : array of shape (n_problems, n_features)
        Weights; one row for two classes, else one row per class.
    intercept_ : array of shape (n_problems,)
        Added to the decisions; zero without ``fit_intercept``.
    classes_ : array of shape (n_classes,)
        Labels.
    dual_gap_, relative_gap_ : float
        Duality gap, summed over the binary problems, and the largest relative one.
    converged_ : bool
        Whether every binary problem is within ``tol``.
    n_iter_ : int
        Largest number of iterations over the binary problems.
    solver_ : str
        What 'auto' chose.
    history_ : dict of arrays
        Per iteration: problem, iteration, seconds, primal, dual, relative_gap,
        gradient_evaluations (gradients of single rows since the start), and validation_score
        where there are validation rows.
    curvature_ : array of shape (n_problems, size, size) or (n_problems, size)
        After :meth:`partial_fit` only: what is remembered of all rows beside the weights. The
        intercept is last.
    n_samples_seen_ : int
        After :meth:`partial_fit` only: rows so far.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    LinearSVMClassifier : The same with the losses of a support vector machine.
    ODMClassifier : The same with a kernel.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearODMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearODMClassifier()).fit(X, y)
    >>> bool(model[-1].relative_gap_ < 1e-3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearMachine._parameter_constraints,
        "lam": [None, Interval(Real, 0.0, None, closed="neither")],
        "upsilon": [Interval(Real, 0.0, 1.0, closed="right")],
        "theta": [Interval(Real, 0.0, 1.0, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        lam: float | None = None,
        upsilon: float = 0.5,
        theta: float = 0.2,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        solver: str = "auto",
        n_parts: int = 16,
        batch_size: int | None = 1,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        engine: Any = "local",
        warm_start: bool = False,
        validation_fraction: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.lam = lam
        self.upsilon = upsilon
        self.theta = theta
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.n_parts = n_parts
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.engine = engine
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.verbose = verbose

    def _loss(self) -> Loss:
        return MarginDistribution(self.upsilon, self.theta)

    def _row_weight(self, total_weight: float) -> float:
        if self.lam is None:
            return self.C
        return float(self.lam / (total_weight * (1.0 - self.theta) ** 2))


class LinearSVMClassifier(LinearMachine):
    r"""Linear support vector machine, solved to a certified duality gap.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + C \sum_i v_i\, (1 - m_i)_+^q,
              \qquad m_i = y_i\, w^\top x_i,

    with q = 1 (hinge) or 2 (squared hinge): the problems of :class:`sklearn.svm.LinearSVC`, with
    the same constants.

    Parameters
    ----------
    loss : {'squared_hinge', 'hinge'}, default='squared_hinge'
        Loss of a margin below 1.
    C : float, default=1.0
        Weight of a row's loss: larger fits the training data more closely.
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
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=1000
        Iterations allowed per binary problem: Newton steps, or passes over the rows.
    max_time : float, default=None
        Seconds allowed for the whole fit; when they are over, the model so far is kept and a
        :class:`~sklearn.exceptions.ConvergenceWarning` says so.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` by class.
    random_state : int, RandomState instance or None, default=None
        Orders the rows that solvers draw, where the solution differs within ``tol`` only, and
        draws the validation rows.
    n_jobs : int, default=None
        Threads; None takes all cores this process may use (one inside a worker process). Results
        do not depend on it. Where `engine` is another machine, its tasks' cores count instead.
    memory_limit : int or str, default='1GiB'
        Bytes for what solvers keep beside the rows, or a size such as '500MB': decides how many
        of several binary problems are solved at the same time, and the blocks of a stream.
    engine : {'local', 'spark'} or Engine, default='local'
        Where the work is done: in this process, on the active Spark session, or on an object with
        the verbs of :class:`widemargin.engines.Engine`. Elsewhere rows are sent in blocks once;
        'newton' and 'dsvrg' leave them there, 'auto' solves sets of up to 256 MiB in one task and
        larger ones by 'newton'.
    warm_start : bool, default=False
        Start the next fit from this one's weights, if it has the same features and classes.
    validation_fraction : float, default=None
        Share of each class to keep out of the training rows. The iterate that gets most of them
        right is kept, and a solver stops when five iterations in a row bring no better one.
    verbose : int, default=0
        Print the gap as the fit goes on. A progress line is shown on a terminal in any case.

    Attributes
    ----------
    coef_ : array of shape (n_problems, n_features)
        Weights; one row for two classes, else one row per class.
    intercept_ : array of shape (n_problems,)
        Added to the decisions; zero without ``fit_intercept``.
    classes_ : array of shape (n_classes,)
        Labels.
    dual_gap_, relative_gap_ : float
        Duality gap, summed over the binary problems, and the largest relative one.
    converged_ : bool
        Whether every binary problem is within ``tol``.
    n_iter_ : int
        Largest number of iterations over the binary problems.
    solver_ : str
        What 'auto' chose.
    history_ : dict of arrays
        Per iteration: problem, iteration, seconds, primal, dual, relative_gap,
        gradient_evaluations (gradients of single rows since the start), and validation_score
        where there are validation rows.
    curvature_ : array of shape (n_problems, size, size) or (n_problems, size)
        After :meth:`partial_fit` only: what is remembered of all rows beside the weights. The
        intercept is last.
    n_samples_seen_ : int
        After :meth:`partial_fit` only: rows so far.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names, if X had them.

    See Also
    --------
    LinearODMClassifier : The same with the margin-distribution loss.
    SVMClassifier : The same with a kernel.
    sklearn.svm.LinearSVC : LIBLINEAR's solver of the same problems.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearSVMClassifier().fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearMachine._parameter_constraints,
        "loss": [StrOptions({"squared_hinge", "hinge"})],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        solver: str = "auto",
        n_parts: int = 16,
        batch_size: int | None = 1,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | str = "1GiB",
        engine: Any = "local",
        warm_start: bool = False,
        validation_fraction: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.n_parts = n_parts
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.engine = engine
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.verbose = verbose

    def _loss(self) -> Loss:
        return Hinge() if self.loss == "hinge" else SquaredHinge()
