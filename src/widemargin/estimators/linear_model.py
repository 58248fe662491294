"""Linear models but for the fit: parameters and prediction."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..core.arrays import Array
from ..core.budget import seed_of
from ..core.losses import LossConstants
from ..core.parameters import AT_LEAST_ONE, with_parameters
from ..core.resources import thread_count
from ..engines import ENGINES, Engine
from ..linear.model import decisions_of
from ..linear.solvers import SOLVERS, refuse
from .parameters import ConstantFeature, FitLimits, FitParameters, WeightedLoss
from .prediction import Predictor
from .probabilities import Probabilities


@with_parameters
class LinearSolverParameters(ConstantFeature, FitLimits):
    """Parameters of the solvers.

    Parameters
    ----------
    solver : str, default='auto'
        'newton': few passes over all rows. 'dual': coordinate descent, many cheap visits to single
        rows, for many features. 'dual_then_newton': 'dual', then 'newton' where it is slow. 'auto':
        'newton' for up to 1,000 weights and for rows on disk, else 'dual_then_newton'. For
        comparison, the papers' gradient methods: 'svrg' with reduced variance, 'dsvrg' on parts,
        'csvrg' on samples (not for losses with a kink), and 'pegasos' with shrinking steps.
    n_parts : int, default=16
        Number of parts of 'dsvrg'.
    batch_size : int or None, default=1
        Rows per step of 'pegasos'; None uses all of them.
    max_iter : int, default=1000
        Iterations allowed per problem: Newton steps, or passes over the rows.
    memory_limit : int or str, default='1GiB'
        Bytes that solvers may use beside the rows, or a size such as '500MB'.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"auto", *SOLVERS})],
        "n_parts": [AT_LEAST_ONE],
        "batch_size": [None, AT_LEAST_ONE],
    }

    solver: str = "auto"
    n_parts: int = 16
    batch_size: int | None = 1


@with_parameters
class LinearParameters(Probabilities, LinearSolverParameters, FitParameters):
    """Parameters that a classifier and the search for its ``C`` share.

    Parameters
    ----------
    max_iter : int, default=1000
        Iterations allowed per binary problem: Newton steps, or passes over the rows.
    memory_limit : int or str, default='1GiB'
        Bytes that solvers may use beside the rows, or a size such as '500MB'. It decides how many
        binary problems are solved at the same time, and the size of the blocks of a stream.
    """

    # Parameters of scikit-learn's LinearSVC.
    _elsewhere: ClassVar[dict[str, str]] = {
        "penalty": "leave it out; weights are always penalised by their squares.",
        "dual": "pass solver='dual' instead, or leave the choice to solver='auto'.",
        "multi_class": (
            "leave it out; several classes are one problem each, against the rest. "
            "MulticlassSVMClassifier(formulation='cs') puts them into one problem."
        ),
        "probability": "pass calibrate='sigmoid' instead, and predict_proba exists.",
    }


@with_parameters
class LinearFitParameters(LinearSolverParameters, WeightedLoss):
    """Parameters and fitted attributes of a fit of one ``C``.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Orders the rows that solvers visit, where solutions differ within ``tol`` only. None is a
        fixed seed: the same data give the same model every time.
    engine : {'local', 'spark'} or Engine, default='local'
        Where the work is done: in this process, on the active Spark session, or on an object with
        the verbs of :class:`widemargin.engines.Engine`. Other engines receive the rows in blocks
        once, and use the cores of their tasks instead of ``n_jobs``; 'newton' and 'dsvrg' leave
        the rows there, 'auto' solves sets of up to 256 MiB in one task and larger ones by 'newton'.
    warm_start : bool, default=False
        Start the next fit from the weights of this one, if it has the same features.

    Attributes
    ----------
    dual_gap_, relative_gap_ : float
        Duality gap, and the same relative to the objective.
    converged_ : bool
        Whether the gap is within ``tol``.
    n_iter_ : int
        Number of iterations.
    solver_ : str
        What 'auto' chose.
    history_ : dict of arrays
        Per iteration: problem, iteration, seconds, primal, dual, relative_gap,
        gradient_evaluations (gradients of single rows since the start).
    curvature_ : array of shape (n_problems, size, size) or (n_problems, size)
        After :meth:`partial_fit` only: what is remembered of all rows beside the weights. The
        intercept is last.
    n_samples_seen_ : int
        After :meth:`partial_fit` only: number of rows so far.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "engine": [StrOptions(set(ENGINES)), Engine],
        "warm_start": ["boolean"],
    }

    engine: Any = "local"
    warm_start: bool = False

    @property
    def _local(self) -> bool:
        return isinstance(self.engine, str) and self.engine == "local"

    def _refuse_engine(self, method: str) -> None:
        if not self._local:
            raise ValueError(
                f"`{method}` works in this process alone; got engine={self.engine!r}. Set "
                "engine='local', or use `fit`."
            )

    def _refuse_solver(self) -> None:
        """Raise ValueError if the solver cannot minimise the loss."""
        refuse(self.solver, smooth=LossConstants.of(self._loss(), 1.0).smooth)

    def _seed(self) -> int:
        return seed_of(self.random_state)


@with_parameters
class LinearMachineParameters(LinearFitParameters, LinearParameters):
    """Parameters and fitted attributes of a classifier.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Orders the rows that solvers visit, where solutions differ within ``tol`` only, and draws
        the validation rows. None is a fixed seed: the same data give the same model every time.
    warm_start : bool, default=False
        Start the next fit from the weights of this one, if it has the same features and classes.
    validation_fraction : float, default=None
        Share of each class to keep out of the training rows. The iterate that classifies most of
        them correctly is kept, and a solver stops when five iterations in a row bring no better
        one.

    Attributes
    ----------
    coef_ : array of shape (n_problems, n_features)
        Weights; one row for two classes, else one row per class.
    dual_gap_, relative_gap_ : float
        Duality gap, summed over the binary problems, and the largest relative one.
    converged_ : bool
        Whether every binary problem is within ``tol``.
    n_iter_ : int
        Largest number of iterations over the binary problems.
    history_ : dict of arrays
        Per iteration: problem, iteration, seconds, primal, dual, relative_gap,
        gradient_evaluations (gradients of single rows since the start), and validation_score
        where there are validation rows.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "validation_fraction": [None, Interval(Real, 0.0, 1.0, closed="neither")],
    }

    validation_fraction: float | None = None


class LinearPredictor(Predictor):
    """A classifier that multiplies rows with weights."""

    _fitted = "coef_"

    coef_: Any
    intercept_: Array

    def _decisions(self, X: Any) -> Array:
        return decisions_of(X, self.coef_, self.intercept_, thread_count(self.n_jobs))
