"""Validation rows that decide at which level a divided fit stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ..core.rows import canonical, take_rows
from ..core.training_set import TrainingSet
from ..kernel.divide.strategies import Strategy
from ..kernel.kernels import evaluate_callable, is_precomputed
from ..kernel.model.level_model import LevelModel
from ..kernel.problems import KernelProblems, binary_tasks


@dataclass(frozen=True)
class ValidationSet:
    """Rows that are not trained on."""

    X: Any  # rows in the user's columns; kernel values with all rows given when precomputed
    # (n_rows,): position of each row's label in the training set's classes.
    codes: NDArray[np.int64]
    scheme: str  # scheme by which several classes become binary problems
    function: Callable[[Any, Any], Any] | None = None  # the kernel, if it is a function

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
        X = take_rows(self.X, task.rows, pairwise=False)
        if X.shape[0] == 0:
            return np.nan  # no rows of this pair of classes
        router = model.router
        if self.function is not None:
            values = evaluate_callable(self.function, X, training.X[model.basis_rows])
            near = None if router is None else training.X[router.basis_rows]
            routing = None if near is None else evaluate_callable(self.function, X, near)
            decision = model.decide_values(values, routing)
        elif problems.kernel.name == "precomputed":
            values = X[:, training.given_numbers(model.basis_rows)]
            near = None if router is None else training.given_numbers(router.basis_rows)
            decision = model.decide_values(values, None if near is None else X[:, near])
        else:
            precision = problems.rows.dtype
            model = replace(
                model,
                basis=training.X[model.basis_rows].astype(precision, copy=False),
                router=None if router is None else router.with_basis(training.X),
            )
            decision = model.decide(X.astype(precision, copy=False), threads)
        return float(np.mean((decision > 0) == (task.label > 0)))


def validation_rows(
    estimator: Any,
    strategy: Strategy | None,
    training: TrainingSet,
    X: Any,
    X_val: Any,
    y_val: Any,
    seed: int,
) -> tuple[TrainingSet, ValidationSet | None]:
    """Find the validation rows: given, kept out of the training rows, or none."""
    fraction = None if strategy is None else strategy.validation_fraction
    function = estimator.kernel if callable(estimator.kernel) else None
    scheme = estimator._scheme(len(training.classes))
    if X_val is None and y_val is None:
        if fraction is None:
            return training, None
        training, X_val, codes = hold_out(
            training, X, float(fraction), seed, pairwise=is_precomputed(estimator)
        )
        return training, ValidationSet(X_val, codes, scheme, function)
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
    X_val, y_val = validate_data(estimator, X_val, y_val, reset=False, **estimator._accepted())
    return training, ValidationSet(canonical(X_val), codes_of(y_val, training), scheme, function)


def hold_out(
    training: TrainingSet, X: Any, fraction: float, seed: int, *, pairwise: bool
) -> tuple[TrainingSet, Any, NDArray[np.int64]]:
    """Keep a share of each class out; return what is left, the rows kept out and their codes."""
    random = np.random.default_rng([seed, 0x5EED])
    out = np.zeros(len(training.codes), dtype=np.bool_)
    for code in range(len(training.classes)):
        rows = np.flatnonzero(training.codes == code)
        out[random.permutation(rows)[: int(fraction * rows.size)]] = True
    if not out.any():
        raise ValueError(
            f"validation_fraction={fraction} keeps no row out of {out.size}; raise it, or pass "
            "X_val and y_val."
        )
    kept, held = np.flatnonzero(~out), np.flatnonzero(out)
    left = replace(
        training,
        X=take_rows(training.X, kept, pairwise),
        codes=training.codes[kept],
        weights=training.weights[kept],
        kept=training.given_numbers(kept),
    )
    return left, X[training.given_numbers(held)], training.codes[held]


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
