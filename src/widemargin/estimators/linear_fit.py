"""From a training set to a fitted linear model: pose, budget, run, set."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import Array
from ..core.blocks import RowBlock, even_parts
from ..core.budget import Budget
from ..core.fit import train
from ..core.losses import LossConstants
from ..core.merging import merged_if_many
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.training_set import (
    TrainingSet,
    class_weights,
)
from ..core.uneven_scales import UNEVEN_PENALTY, warn_if_few_features_dominate
from ..engines import Engine, LocalEngine, resolve
from ..linear.fit import LinearFit
from ..linear.history import LinearHistory, Score
from ..linear.model import Validation
from ..linear.problem import LinearProblem
from ..linear.problems import LinearProblems
from ..linear.solvers import ON_MERGED_ROWS, SolverOptions, dsvrg
from .held_out import FoldedRows, HeldOut, decisions_by_refits
from .path import Path

# What `partial_fit` sets, and another fit ends.
LEARNT = ("curvature_", "n_samples_seen_", "_learnt_constant", "_learnt_units")


def loss_of(estimator: Any, total_weight: float) -> LossConstants:
    """Return the loss of a linear classifier whose rows have this total sample weight."""
    return LossConstants.of(estimator._loss(), estimator._row_weight(total_weight))


def row_weights(estimator: Any, training: TrainingSet) -> Array | None:
    """Return the weights of rows beside ``C``; None means 1."""
    weights: Array = training.weights * class_weights(estimator.class_weight, training)
    return None if np.all(weights == 1.0) else weights


def posed(estimator: Any, training: TrainingSet, seed: int = 0) -> LinearProblems:
    """Pose the problems of a training set on the engine of a classifier."""
    names = getattr(estimator, "feature_names_in_", None)
    warn_if_few_features_dominate(training.X, UNEVEN_PENALTY, names)
    # The row weight is per unit of sample weight: class weights change emphasis, not scale.
    constants = loss_of(estimator, float(training.weights.sum()))
    threads = thread_count(estimator.n_jobs)
    if estimator._local and estimator.solver in ON_MERGED_ROWS:
        training = merged_if_many(training, memory_bytes(estimator.memory_limit), threads)
    codes = training.codes.astype(np.int32)
    whole = RowBlock(uuid.uuid4().hex, training.X, codes, row_weights(estimator, training))
    return placed(estimator, whole, len(training.classes), constants, seed)


def placed(
    estimator: Any, whole: RowBlock, n_classes: int, constants: LossConstants, seed: int
) -> LinearProblems:
    """Place rows on the engine of an estimator, and pose their problems there."""
    constant, threads = estimator._constant, thread_count(estimator.n_jobs)
    if estimator._local:
        engine: Engine = LocalEngine(threads)
        return LinearProblems.of_blocks(engine, [whole], n_classes, constants, constant)
    if estimator.solver == "dsvrg":  # whose parts look like the whole
        label = np.where(whole.codes == (n_classes == 2), 1, -1).astype(np.int8)
        problem = LinearProblem(whole.X, label, constants, threads=threads, rows=whole.rows)
        parts = dsvrg.divide(problem, estimator.n_parts, "stratified", dsvrg.N_STRATA, seed)
    else:
        parts = even_parts(whole.X)
    blocks = [whole.take(rows, f"{whole.name}-{k}") for k, rows in enumerate(parts)]
    engine = resolve(estimator.engine, threads)
    return LinearProblems.of_blocks(engine, blocks, n_classes, constants, constant)


def budget_of(estimator: Any, problems: LinearProblems, seed: int) -> Budget:
    """Return the limits of a fit, which begins now."""
    return Budget.of(estimator, seed, threads=problems.engine.share(1).threads)


def train_linear(
    estimator: Any,
    problems: LinearProblems,
    keep: Callable[[dict[str, Any]], None],
    budget: Budget,
    *,
    label: str | None = None,
    score: Score | None = None,
    **options: Any,
) -> LinearFit:
    """Solve the problems and hand the fitted attributes to ``keep``, also after an interrupt.

    ``label`` names the fit in the progress line, ``score`` validates; the rest goes to
    :class:`~widemargin.linear.fit.LinearFit`.
    """
    name = type(estimator).__name__
    with FitProgress(label or name, estimator.tol) as progress:

        def listener(row: Any) -> None:
            progress.report(row["begun"], row["relative_gap"])
            if estimator.verbose:
                problem = f"problem {row['problem']}, " if problems.n_problems > 1 else ""
                gap = f"relative gap {row['relative_gap']:.2e}"
                print(f"[{name}] {problem}iteration {row['begun']}: {gap}")

        done_before = -1

        def report(done: int, of: int) -> None:
            nonlocal done_before
            progress.report_count("binary problems", done, of)
            if estimator.verbose and done != done_before:
                print(f"[{name}] binary problems: {done} of {of}")
                done_before = done

        fit = LinearFit(
            name,
            problems,
            estimator.solver,
            budget,
            LinearHistory(started=budget.started, listener=listener, score=score),
            options=SolverOptions(estimator.n_parts, estimator.batch_size),
            **options,
        )
        train(
            fit,
            partial(fit.solve_all, report),
            lambda fit: keep(fit.attributes()),
        )
    return fit


def calibrate_linear(
    estimator: Any, training: TrainingSet, budget: Budget, validation: Validation | None = None
) -> None:
    """Calibrate a fitted classifier by validation rows, or by folds that start from its weights."""
    if validation is not None:
        (block,) = validation.blocks
        decisions = estimator._decisions(block.X)
        held = HeldOut(block.codes, np.ones(block.n_rows), decisions)
    else:
        start = {name: getattr(estimator, name) for name in ("classes_", "coef_", "intercept_")}
        folded = FoldedRows.of(training, pairwise=False)
        held = decisions_by_refits(estimator, folded, budget, start=start)
    scheme = "binary" if len(estimator.coef_) == 1 else "rest"
    estimator._set_calibration(scheme, held, training)


def set_fitted(estimator: Any, classes: NDArray[Any], attributes: dict[str, Any]) -> None:
    """Set the fitted attributes, in place of those of ``partial_fit``."""
    estimator.classes_ = classes
    for learnt in (*LEARNT, "calibration_"):
        vars(estimator).pop(learnt, None)
    for name, value in attributes.items():
        setattr(estimator, name, value)


def fit_path(estimator: Any, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> list[Any]:
    """Return fitted copies of a linear machine for ``Cs``, each from its neighbour's solution."""
    path = Path.of(estimator, X, y, Cs, sample_weight)
    first = path.models[0]
    seed = first._seed()
    training, validation = first._validation(path.training, path.X, None, None, seed)
    problems, neighbour = posed(first, training), None
    for label, model in path.labelled():
        budget = budget_of(model, problems, seed)
        neighbour = train_linear(
            model,
            replace(problems, constants=LossConstants.of(model._loss(), model.C)),
            partial(set_fitted, model, training.classes),
            model._training_budget(budget),
            label=label,
            score=validation,
            neighbour=neighbour,
            keep_duals=True,
        )
        if model.calibrate is not None:
            calibrate_linear(model, training, budget, validation)
    return path.models
