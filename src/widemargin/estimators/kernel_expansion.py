"""What kernel classifiers and regressors share but for the fit: parameters, and checks of rows."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from ..core.arrays import Array
from ..core.parameters import POSITIVE, with_parameters
from ..engines import ENGINES, Engine
from ..kernel.divide.strategies import STRATEGIES, Strategy
from ..kernel.kernels import KERNEL_NAMES, is_precomputed
from ..kernel.solvers.binary import SOLVERS
from .parameters import FitLimits, WeightedLoss
from .prediction import TrainedModel


class _Limit(Interval):  # type: ignore[misc]
    """Numbers of iterations; -1, which stands for no limit elsewhere, is not one of them."""

    def __str__(self) -> str:
        return f"{super().__str__()} (None sets no limit)"


@with_parameters
class KernelChoice(FitLimits):
    """The kernel, and memory for its values.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        'rbf', 'laplacian', 'poly', 'linear', 'sigmoid' or 'precomputed'; or a function of
        ``(X, Y)`` that returns the kernel values between their rows, as in
        :class:`sklearn.svm.SVC`.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    memory_limit : int or str, default='1GiB'
        Bytes for kernel values, or a size such as '500MB'. Parts that are solved at the same time
        share it.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "degree": [Interval(Integral, 1, 64, closed="both")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "max_iter": [None, _Limit(Integral, 1, None, closed="left")],
    }
    # Parameters of scikit-learn's kernel machines.
    _elsewhere: ClassVar[dict[str, str]] = {
        "cache_size": (
            "pass memory_limit='500MB' instead, for example; kernel values take at most 1 GiB "
            "unless it says otherwise."
        ),
        "shrinking": "leave it out; rows at their bounds are always set aside and checked again.",
    }

    kernel: Any = field(default="rbf", kw_only=False)
    degree: int = 3
    coef0: float = 0.0
    max_iter: int | None = None


@with_parameters
class KernelSettings(KernelChoice):
    """The kernel and the solver of classifiers and regressors."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"auto", *SOLVERS})],
    }

    solver: str = "auto"


@with_parameters
class KernelFitSettings(WeightedLoss):
    """Settings of a fit with one ``C`` and one ``gamma``.

    Parameters
    ----------
    gamma : {'scale', 'auto'} or float, default='scale'
        Width of 'rbf', 'laplacian', 'poly' and 'sigmoid'. 'scale' is 1 / (n_features · X.var()),
        'auto' is 1 / n_features.
    strategy : str or Strategy, default='auto'
        'exact' solves the training set as a whole. 'stratified' ('sodm'), 'clustered' ('dc'),
        'cascade' and 'preserving' ('dip') divide it into parts that are solved and merged level by
        level until one part holds all rows; objects such as :class:`Clustered` set the number of
        levels, and where to stop. 'auto' is exact up to 100,000 rows; beyond, it divides the rows
        into clusters of at most 8,000, stops there, and warns.
    random_state : int, RandomState instance or None, default=None
        Breaks ties when a solver picks rows, where solutions differ within ``tol`` only; divides
        the training set, on which the model of an unfinished level depends. None is a fixed seed:
        the same data give the same model every time.
    engine : {'local', 'spark'} or Engine, default='local'
        Where the parts of a divided training set are kept and solved: threads of this process, the
        active Spark session, or an object with the verbs of :class:`widemargin.engines.Engine`.
        The model is the same.
    checkpoint : str or path-like, default=None
        Folder in which every finished level of a divided fit is kept; the same fit, started again,
        resumes after the last one. The folder is made in one that must exist.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "strategy": [StrOptions({"auto", "exact", *STRATEGIES}), Strategy],
        "engine": [StrOptions(set(ENGINES)), Engine],
        "checkpoint": [None, str, PathLike],
        "warm_start": ["boolean"],
    }

    gamma: float | str = "scale"
    strategy: str | Strategy = "auto"
    engine: Any = "local"
    checkpoint: str | PathLike[str] | None = None
    warm_start: bool = False


class KernelExpansion(TrainedModel):
    """A model that sums kernel values with its support vectors."""

    _fitted = "dual_coef_"

    kernel: Any
    random_state: Any
    kernel_constant_: float
    support_: NDArray[np.int64]
    support_vectors_: Any
    n_support_: NDArray[np.int32]
    dual_coef_: Array
    intercept_: Array
    gamma_: float | None
    strategy_: str
    level_: int
    support_part_: NDArray[np.int64] | None
    routing_: list[Any] | None
    n_samples_fit_: int

    @property
    def fit_intercept_(self) -> bool:
        """Whether there is an intercept."""
        return self.kernel_constant_ != 0.0

    @property
    def coef_(self) -> Any:
        """Weights of the features, which kernel models do not have."""
        name = type(self).__name__
        raise AttributeError(
            f"{name} has no `coef_`. With a linear kernel, compute `dual_coef_ @ "
            f"support_vectors_`, or fit Linear{name}, which has it."
        )

    @property
    def _pairwise(self) -> bool:
        return is_precomputed(self)

    @property
    def _sparse(self) -> bool:
        return isinstance(self.kernel, str) and not self._pairwise

    def _check_square(self, X: Any) -> None:
        """Raise ValueError if a precomputed kernel is not that of the training rows."""
        if self._pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                "A precomputed kernel must be a square matrix of shape (n_samples, n_samples); "
                f"got {X.shape}."
            )
