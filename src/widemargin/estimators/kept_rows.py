"""The training set of a fitted kernel machine, kept so that rows can be added and removed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.losses import NO_WEIGHT, Loss
from ..core.outcome import Certificate
from ..core.rows import canonical
from ..core.training_set import TrainingSet
from ..kernel.kernels import Kernel

# Parameters that margins depend on.
OF_KERNEL = ("kernel", "gamma", "degree", "coef0", "fit_intercept")


@dataclass(frozen=True)
class KeptRows:
    """What an update needs of a fit, besides the fitted attributes."""

    training: TrainingSet  # rows, labels and weights; the rows are those given, not a copy
    kernel: Kernel  # with the width and the constant that the fit resolved
    weights: Array  # (n_rows,): weight of each row's loss
    loss: Loss
    # Of each binary problem: margins of its rows (None where not known), and what is proved.
    margins: list[Array | None]
    certificates: list[Certificate]
    settings: dict[str, Any]  # the kernel's parameters at the fit

    def with_rows(
        self, X: Any, y: NDArray[Any], weights: Array
    ) -> tuple[TrainingSet, NDArray[np.int64]]:
        """Append rows; return the new training set, and where its rows were before (−1: new)."""
        old = self.training
        used = np.flatnonzero(weights > NO_WEIGHT)
        labels = y[used]
        classes = np.unique(np.concatenate([old.classes, labels]))
        codes = np.searchsorted(classes, old.classes)[old.codes]
        n_old, n_given = len(old.codes), old.n_given + len(y)
        kept = None
        if old.kept is not None or len(used) < len(y):
            before = np.arange(n_old) if old.kept is None else old.kept
            kept = np.concatenate([before, old.n_given + used])
        training = TrainingSet(
            _joined(old.X, X[used]),
            classes,
            np.concatenate([codes, np.searchsorted(classes, labels)]),
            np.concatenate([old.weights, weights[used]]),
            kept,
            n_given,
        )
        return training, np.concatenate([np.arange(n_old), np.full(len(used), -1)])

    def without_rows(
        self, numbers: NDArray[np.int64]
    ) -> tuple[TrainingSet, NDArray[np.int64], NDArray[np.int64]]:
        """Remove rows by their numbers as given.

        Returns the new training set, where its rows were before, and those that went.
        """
        old = self.training
        left = np.ones(old.n_given, dtype=np.bool_)
        left[numbers] = False
        stays = left if old.kept is None else left[old.kept]
        origin = np.flatnonzero(stays)
        present, codes = np.unique(old.codes[origin], return_inverse=True)
        kept = None
        if old.kept is not None:
            kept = (np.cumsum(left) - 1)[old.kept[origin]]
        training = replace(
            old,
            X=old.X[origin],
            classes=old.classes[present],
            codes=codes,
            weights=old.weights[origin],
            kept=kept,
            n_given=int(left.sum()),
        )
        return training, origin, np.flatnonzero(~stays)


def _joined(old: Any, new: Any) -> Any:
    """Append rows in the form and precision that the old ones have."""
    if not sp.issparse(old):
        new = new.toarray() if sp.issparse(new) else new
        return np.concatenate([old, new.astype(old.dtype, copy=False)])
    return canonical(sp.vstack([old, sp.csr_matrix(new, dtype=old.dtype)], format="csr"))


def checked_numbers(indices: Any, n_rows: int) -> NDArray[np.int64]:
    """Return numbers of rows, each once; from a mask, too."""
    numbers = np.asarray(indices)
    if numbers.dtype == np.bool_ and numbers.shape == (n_rows,):
        return np.flatnonzero(numbers)
    if numbers.size == 0 and numbers.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"`indices` must be a list of row numbers, or a mask of {n_rows} booleans; got an "
            f"array of shape {numbers.shape} and type {numbers.dtype}."
        )
    wrong = numbers[(numbers < 0) | (numbers >= n_rows)]
    if wrong.size:
        raise ValueError(
            f"`indices` must be from 0 to {n_rows - 1}, numbers of the current rows; got "
            f"{wrong[:5].tolist()}. Rows are numbered anew when some are removed."
        )
    return np.unique(numbers).astype(np.int64)


def checked_labels(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels in the type of those that were trained on, if they can be told apart in it."""
    text, known = y.dtype.kind in "OUS", classes.dtype.kind in "OUS"
    if text != known:
        raise ValueError(
            f"Labels must be of the kind that was trained on, as {classes[:3].tolist()}; got "
            f"{y[:3].tolist()}."
        )
    if text:
        return y
    same = y.astype(classes.dtype)
    return same if np.array_equal(same, y) else y
