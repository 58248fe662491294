"""Validation rows that decide at which level a divided fit stops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.regression_set import RegressionSet, finite_targets
from ..core.rows import canonical, take_rows
from ..core.training_set import TrainingSet
from ..kernel.divide.strategies import Strategy
from ..kernel.kernels import evaluate_callable, is_precomputed
from ..kernel.model.level_model import LevelModel
from ..kernel.problems import KernelProblems, binary_tasks

AnySet = TrainingSet | RegressionSet
Set = TypeVar("Set", TrainingSet, RegressionSet)


@dataclass(frozen=True)
class ValidationRows:
    """Rows that are not trained on."""

    X: Any  # rows in the user's columns; kernel values with all rows given when precomputed
    function: Callable[[Any, Any], Any] | None  # the kernel, if it is a function

    @abstractmethod
    def score(
        self, model: LevelModel, k: int, training: Any, problems: KernelProblems, threads: int
    ) -> float:
        """Score a model of problem ``k``; larger is better."""

    @property
    @abstractmethod
    def learnt(self) -> NDArray[Any]:
        """What there is to learn of each row, as a number."""

    def decisions(
        self,
        model: LevelModel,
        rows: NDArray[np.int64] | None,
        training: AnySet,
        problems: KernelProblems,
        threads: int,
    ) -> Array:
        """Return the decisions of a model on some of the rows; None is all."""
        X = take_rows(self.X, rows, pairwise=False)
        router = model.router
        if self.function is not None:
            values = evaluate_callable(self.function, X, training.X[model.basis_rows])
            near = None if router is None else training.X[router.basis_rows]
            routing = None if near is None else evaluate_callable(self.function, X, near)
            return model.decide_values(values, routing)
        if problems.kernel.name == "precomputed":
            values = X[:, training.given_numbers(model.basis_rows)]
            near = None if router is None else training.given_numbers(router.basis_rows)
            return model.decide_values(values, None if near is None else X[:, near])
        precision = problems.rows.dtype
        model = replace(
            model,
            basis=training.X[model.basis_rows].astype(precision, copy=False),
            router=None if router is None else router.with_basis(training.X),
        )
        return model.decide(X.astype(precision, copy=False), threads)


@dataclass(frozen=True)
class ValidationSet(ValidationRows):
    """Rows with labels."""

    # (n_rows,): position of each row's label in the training set's classes.
    codes: NDArray[np.int64]
    scheme: str  # scheme by which several classes become binary problems

    @property
    def learnt(self) -> NDArray[Any]:
        """What there is to learn of each row, as a number."""
        return self.codes

    def score(
        self,
        model: LevelModel,
        k: int,
        training: TrainingSet,
        problems: KernelProblems,
        threads: int,
    ) -> float:
        """Return the share of rows of binary problem ``k`` that a model gets right."""
        task = binary_tasks(self.codes, len(training.classes), self.scheme)[k]
        if len(task.label) == 0:
            return np.nan  # no rows of this pair of classes
        decision = self.decisions(model, task.rows, training, problems, threads)
        return float(np.mean((decision > 0) == (task.label > 0)))


@dataclass(frozen=True)
class ValidationTargets(ValidationRows):
    """Rows with targets."""

    targets: Array  # (n_rows,)

    @property
    def learnt(self) -> NDArray[Any]:
        """What there is to learn of each row, as a number."""
        return self.targets

    def score(
        self,
        model: LevelModel,
        k: int,
        training: RegressionSet,
        problems: KernelProblems,
        threads: int,
    ) -> float:
        """Return minus the mean loss of the rows."""
        assert problems.target is not None
        middle = training.targets[0] - problems.target[0]  # which the fit measures targets from
        terms = problems.loss.terms(np.ones(len(self.targets)))
        decision = self.decisions(model, None, training, problems, threads)
        return -float(replace(terms, offset=self.targets - middle).primal(decision).mean())


def validation_rows(
    estimator: Any,
    strategy: Strategy | None,
    training: Set,
    X: Any,
    X_val: Any,
    y_val: Any,
    seed: int,
) -> tuple[Set, ValidationRows | None]:
    """Find the validation rows: given, kept out of the training rows, or none."""
    fraction = None if strategy is None else strategy.validation_fraction
    function = estimator.kernel if callable(estimator.kernel) else None

    def validation(X: Any, learnt: NDArray[Any]) -> ValidationRows:
        if isinstance(training, RegressionSet):
            return ValidationTargets(X, function, learnt)
        return ValidationSet(X, function, learnt, estimator._scheme(len(training.classes)))

    if X_val is None and y_val is None:
        if fraction is None:
            return training, None
        left, X_val, learnt = hold_out(
            training, X, float(fraction), seed, pairwise=is_precomputed(estimator)
        )
        return left, validation(X_val, learnt)
    if X_val is None or y_val is None:
        raise ValueError("X_val and y_val go together; got only one of them.")
    if strategy is None or fraction is not None:
        other = (
            f"strategy={estimator.strategy!r} solves this training set as a whole. Pass them with "
            "a strategy such as 'sodm' or 'dc'."
            if strategy is None
            else "validation_fraction is set too. Give one of them."
        )
        raise ValueError(f"X_val and y_val choose the level at which a divided fit stops; {other}")
    numeric = isinstance(training, RegressionSet)
    X_val, y_val = validate_data(
        estimator, X_val, y_val, reset=False, y_numeric=numeric, **estimator._accepted()
    )
    if isinstance(training, TrainingSet):
        y_val = codes_of(y_val, training)
    else:
        y_val = finite_targets(y_val, "y_val")
    return training, validation(canonical(X_val), y_val)


def hold_out(
    training: Set, X: Any, fraction: float, seed: int, *, pairwise: bool
) -> tuple[Set, Any, NDArray[Any]]:
    """Keep a share of each class, or of all rows with targets, out.

    Returns what is left, the rows kept out, and their codes or targets.
    """
    random = np.random.default_rng([seed, 0x5EED])
    name = "codes" if isinstance(training, TrainingSet) else "targets"
    learnt: NDArray[Any] = getattr(training, name)
    codes = learnt if name == "codes" else np.zeros(len(learnt), dtype=np.int64)
    out = np.zeros(len(codes), dtype=np.bool_)
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        out[random.permutation(rows)[: int(fraction * rows.size)]] = True
    if not out.any():
        raise ValueError(
            f"validation_fraction={fraction} keeps no row out of {out.size}; raise it, or pass "
            "X_val and y_val."
        )
    kept, held = np.flatnonzero(~out), np.flatnonzero(out)
    fields: dict[str, Any] = {
        "X": take_rows(training.X, kept, pairwise),
        name: learnt[kept],
        "weights": training.weights[kept],
        "kept": training.given_numbers(kept),
    }
    return replace(training, **fields), X[training.given_numbers(held)], learnt[held]


def codes_of(y_val: Any, training: TrainingSet) -> NDArray[np.int64]:
    """Turn validation labels into the training set's numbers."""
    y_val = np.asarray(y_val)
    unknown = np.setdiff1d(y_val, training.classes)
    if unknown.size:
        raise ValueError(
            f"y_val holds labels that y does not: {unknown[:5].tolist()}. Validation labels must "
            "be among the training labels."
        )
    return np.asarray(np.searchsorted(training.classes, y_val), dtype=np.int64)
