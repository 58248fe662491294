"""Kernel machines that follow their data: rows are added and removed without a new fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..core.budget import Budget
from ..core.progress import FitProgress
from ..core.rows import canonical
from ..core.training_set import TrainingSet
from ..kernel.all_classes import ALL_CLASSES
from ..kernel.carried_duals import SolvedProblems
from ..kernel.kernels import Kernel
from ..kernel.problem import Duals
from ..kernel.problems import ExactFit, KernelProblems, binary_tasks
from ..kernel.update_fit import can_update
from .kept_rows import OF_KERNEL, KeptRows, checked_labels, checked_numbers
from .resolved_kernel import rows_seen_by


class RowUpdates:
    """Adds rows to a fitted kernel machine, and removes some."""

    def add_rows(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on more rows, from the solution for those trained on before.

        The model is then, within ``tol``, that of a fit of all rows with the same kernel, with a
        certificate of its own, at a cost in proportion to what changes. What the fit resolved about
        the kernel stays as it is: ``gamma_``, ``fit_intercept_`` and ``kernel_constant_``. Rows of
        classes that were not there before add binary problems, which are solved from zero.

        The fit needs ``keep_rows=True``, an exact strategy and a positive semi-definite kernel by
        name. An error or an interrupt leaves the model as it was.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows to add. They get the numbers from ``n_samples_fit_`` on.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplies ``C`` row by row; rows of weight zero are counted and left out.

        Returns
        -------
        self : object
            The updated estimator.
        """
        _add(self, X, y, sample_weight)
        return self

    def remove_rows(self, indices: Any) -> Self:
        """Forget training rows, from the solution that has them.

        The model is then that of a fit of the rows that are left within ``tol``, with a
        certificate of its own, at a cost in proportion to what changes; see :meth:`add_rows`.

        Parameters
        ----------
        indices : array-like of int, or mask of shape (n_samples,)
            Numbers of the rows: those of :meth:`fit` in their order, then those of
            :meth:`add_rows`. Rows after one that is removed move up, as in :func:`numpy.delete`;
            ``support_`` uses the same numbering.

        Returns
        -------
        self : object
            The updated estimator.
        """
        _remove(self, indices)
        return self


def _add(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    kept = _rows_kept(estimator)
    X, y = validate_data(estimator, X, y, reset=False, **estimator._accepted())
    check_classification_targets(y)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    labels = checked_labels(np.asarray(y), estimator.classes_)
    training, origin = kept.with_rows(canonical(X), labels, weights)
    rows = rows_seen_by(kept.kernel, training.X)
    with _put_back_on_errors(estimator):
        _update(estimator, kept, training, rows, origin, _solved_problems(estimator, kept))


def _remove(estimator: Any, indices: Any) -> None:
    kept = _rows_kept(estimator)
    training, origin, gone = kept.without_rows(checked_numbers(indices, estimator.n_samples_fit_))
    if len(training.classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs rows of at least two classes; got `indices` that "
            f"leave {len(training.codes)} rows of {training.classes.tolist()}."
        )
    with _put_back_on_errors(estimator):
        rows = rows_seen_by(kept.kernel, kept.training.X)
        threads = Budget.of(estimator, 0).threads
        solved = _solved_problems(estimator, kept).without(gone, kept.kernel, rows, threads)
        _update(estimator, kept, training, rows[origin], origin, solved)


def _rows_kept(estimator: Any) -> KeptRows:
    """Return what the fit has kept; ValueError if that cannot be updated."""
    check_is_fitted(estimator)
    estimator._check_parameters()
    name = type(estimator).__name__
    kept: KeptRows | None = vars(estimator).get("_kept_rows")
    if kept is None and estimator.keep_rows:
        raise ValueError(
            f"This {name} has no training rows: model files do not hold them, nor do compressed "
            "models and fits that were interrupted. Fit again; pickle and joblib keep the rows."
        )
    if kept is None:
        raise ValueError(
            f"This {name} was fitted without its rows being kept, which add_rows and "
            "remove_rows need. Set keep_rows=True and fit again."
        )
    _refuse_all_classes(estimator)
    for each, value in kept.settings.items():
        if getattr(estimator, each) != value:
            raise ValueError(
                f"`{each}` was {value!r} in the fit and is {getattr(estimator, each)!r} now; an "
                "update cannot change the kernel. Set it back, or fit again."
            )
    return kept


def _refuse_all_classes(estimator: Any) -> None:
    if estimator.multi_class in ALL_CLASSES:
        raise ValueError(
            "add_rows and remove_rows, and so keep_rows=True, need binary problems; got "
            f"multi_class={estimator.multi_class!r}. Set multi_class='ovr' or 'ovo', or "
            "keep_rows=False."
        )


def refuse_keeping(estimator: Any, divided: bool) -> None:
    """Raise ValueError if a fit cannot be updated later and ``keep_rows`` asks for that."""
    if not estimator.keep_rows:
        return
    wanted = "keep_rows=True needs"
    if divided:
        raise ValueError(
            f"{wanted} a fit of all rows as a whole; strategy={estimator.strategy!r} divides them. "
            "Set strategy='exact', or keep_rows=False."
        )
    if callable(estimator.kernel) or estimator._pairwise:
        raise ValueError(
            f"{wanted} a kernel by name, which can be evaluated on new rows; got "
            f"kernel={estimator.kernel!r}. Set keep_rows=False."
        )
    _refuse_all_classes(estimator)
    named = Kernel(estimator.kernel, 1.0, float(estimator.coef0), int(estimator.degree))
    if not named.positive_semidefinite:
        raise ValueError(
            f"{wanted} a positive semi-definite kernel, without which there is no certificate; "
            f"got kernel={estimator.kernel!r}, coef0={estimator.coef0:g}. Use 'rbf', 'laplacian', "
            "'linear' or 'poly' with coef0 >= 0, or set keep_rows=False."
        )


def keep_rows(
    estimator: Any, training: TrainingSet, problems: KernelProblems, fit: ExactFit
) -> None:
    """Keep what an update will need; nothing of a fit that was interrupted."""
    if not fit.complete:
        return
    solved = fit.solved
    estimator._kept_rows = KeptRows(
        training,
        problems.kernel,
        problems.weights,
        problems.loss,
        [each.iterate.margin for each in solved],
        [each.certificate for each in solved],
        {name: getattr(estimator, name) for name in OF_KERNEL},
    )


def _solved_problems(estimator: Any, kept: KeptRows) -> SolvedProblems:
    """Return the binary problems of the model, with their duals and margins."""
    training = kept.training
    tasks = binary_tasks(training.codes, len(estimator.classes_), estimator.multi_class_)
    support = estimator.support_
    if training.kept is not None:
        support = np.searchsorted(training.kept, support)
    duals, coef = [], np.zeros(len(training.codes))
    for k, (task, margin) in enumerate(zip(tasks, kept.margins, strict=True)):
        coef[support] = estimator.dual_coef_[k]
        own = coef if task.rows is None else coef[task.rows]
        duals.append(Duals(own * task.label, margin))
    return SolvedProblems(
        training.classes, tasks, kept.weights, kept.loss, duals, kept.certificates
    )


def _update(
    estimator: Any,
    kept: KeptRows,
    training: TrainingSet,
    rows: Any,
    origin: NDArray[np.int64],
    solved: SolvedProblems,
) -> None:
    """Solve the problems of a new training set from the duals of the old one."""
    problems: KernelProblems = estimator._pose(training, kept.kernel, rows)
    starts = solved.carried_to(training.classes, problems, origin)
    budget = Budget.of(estimator, estimator._seed())
    if not can_update(problems, estimator.solver):
        starts = [Duals(each.net_dual) for each in starts]
    with FitProgress(type(estimator).__name__, estimator.tol) as progress:
        estimator._fit_exactly(training, problems, budget, progress, starts, update=True)


@contextmanager
def _put_back_on_errors(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if anything goes wrong, an interrupt included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
