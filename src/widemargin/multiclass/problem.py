r"""One classification with a weight vector for every class, in four formulations.

.. math:: \min_W \tfrac12 \sum_c \lVert w_c \rVert^2 + \sum_i C_i\, \ell(x_i, y_i; W)

===========  ==============================================================================
formulation  loss of a row
===========  ==============================================================================
``ww``       :math:`\sum_{c \ne y} (1 - w_y^\top x + w_c^\top x)_+` (Weston and Watkins)
``cs``       :math:`\max_{c \ne y} (1 - w_y^\top x + w_c^\top x)_+` (Crammer and Singer)
``llw``      :math:`\sum_{c \ne y} (1 + w_c^\top x)_+` with :math:`\sum_c w_c = 0`
             (Lee, Lin and Wahba)
``ovr``      :math:`(1 - w_y^\top x)_+ + \sum_{c \ne y} (1 + w_c^\top x)_+` (one against the rest)
===========  ==============================================================================

The dual has a multiplier :math:`\alpha_{ic}` for every row and class, and the objective
:math:`\sum \alpha_{ic} - \tfrac12 \sum_c \lVert w_c(\alpha) \rVert^2` in all four. An intercept is
the weight of a constant feature and penalised as the others are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _native
from ..core.arrays import Array
from ..core.rows import Rows, as_rows

FORMULATIONS = ("ww", "llw", "cs", "ovr")
NativeProblem: TypeAlias = "_native.MulticlassProblem32 | _native.MulticlassProblem64"


@dataclass
class MulticlassProblem:
    """Rows of several classes, and what their losses weigh.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Rows, float32 or float64.
    codes : array of shape (n_rows,)
        Class of each row, from 0.
    n_classes : int
        Number of classes, two or more.
    formulation : {'ww', 'llw', 'cs', 'ovr'}
        The loss.
    bound : array of shape (n_rows,)
        Weight of each row's loss: ``C`` times its weights; not negative.
    constant : float
        Value of the constant feature; 0 means no intercept.
    threads : int
        Results do not depend on it.
    rows : Rows or None
        The native view of ``X``; None to make one.
    """

    X: Any
    codes: NDArray[Any]
    n_classes: int
    formulation: str
    bound: Array
    constant: float = 0.0
    threads: int = 1
    rows: Rows | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.rows is None:
            self.rows = as_rows(self.X)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features, without the constant one."""
        return int(self.X.shape[1])

    @property
    def size(self) -> int:
        """Length of a class's weights: the features, and the constant one."""
        return self.n_features + int(self.constant != 0)

    @property
    def stored(self) -> int:
        """Stored values of all rows."""
        return int(self.X.nnz) if sp.issparse(self.X) else int(self.X.size)

    @cached_property
    def squared_norms(self) -> Array:
        """‖xᵢ‖² of every row, the constant feature included."""
        if sp.issparse(self.X):
            square = sp.csr_array(
                (np.square(self.X.data, dtype=np.float64), self.X.indices, self.X.indptr),
                shape=self.X.shape,
            )
            norms = np.asarray(square.sum(axis=1), dtype=np.float64).ravel()
        else:
            norms = np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        return np.asarray(norms + self.constant**2)

    @property
    def losses_per_row(self) -> int:
        """How many losses of 1 a row has when all weights are zero."""
        return {"ww": self.n_classes - 1, "llw": self.n_classes - 1, "cs": 1}.get(
            self.formulation, self.n_classes
        )

    @cached_property
    def lost_anyway(self) -> float:
        """Loss of rows that are all zeros, which no weights can change."""
        return float(np.sum(self.bound[self.squared_norms == 0])) * self.losses_per_row

    def native(self, label: NDArray[np.int32]) -> NativeProblem:
        """Return the problem in the native core's terms, classes numbered as in ``label``."""
        single = isinstance(self.rows, _native.Rows32)
        kind = _native.MulticlassProblem32 if single else _native.MulticlassProblem64
        return kind(self.rows, label, self.bound, self.squared_norms, self.n_classes, self.constant)
