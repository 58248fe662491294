"""A model on fewer points, whose coefficients are fitted to rows on the cluster.

Points are picked among a sample of the support vectors, by randomly pivoted Cholesky as in
:mod:`widemargin.kernel.model.compression`. Their coefficients minimise the classifier's objective
on rows drawn from all blocks (:mod:`widemargin.kernel.model.basis_newton`). Other rows, drawn from
the same blocks or from those to validate by, tell what was lost: both models decide about them.

The driver holds three square matrices of the points, 20 rows for each of them, and the rows that
are compared: nothing that grows with the training set.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.budget import seed_of
from ...core.fit import warn
from ...core.resources import memory_bytes, single_threaded_blas, thread_count
from ...core.rows import as_rows
from ...core.training_set import class_factors
from ...engines.spark import SparkEngine, SparkParts
from ...kernel.model.basis_newton import HINGE_WIDTHS, minimise
from ...kernel.model.compressed_model import MATRICES, check_basis_size
from ...kernel.model.compression import pick_basis
from ...kernel.model.prediction import Expansion, decisions, fitted_kernel, labels, set_expansion
from ..classifier_stage import FitLog
from ..rows.blocks import PlacedRows
from .distributed_model import DecisionRule, DistributedExpansion
from .drawn_rows import Draw, RowsHeldOut, ToFit, joined
from .row_passes import PosedOnBasis, RowsOnCluster
from .rows import RowForm
from .support import SupportVectors, stacked

# Support vectors for each point that come to the driver, to pick points from.
SAMPLED = 10
# Rows that coefficients are fitted to, for each point; beyond some hundreds little changes.
ROWS_PER_POINT = 250
# Rows that both models decide about, and the largest share of the training set that they take.
MOST_HELD_OUT, HELD_OUT_SHARE = 10_000, 0.1
# Rows of a part: passes are tasks of a second or less.
ROWS_OF_A_PART = 1 << 14
# From zero coefficients, where a hinge is curved nowhere, a wide corner shows the way.
WIDTHS = (2.5, *HINGE_WIDTHS)
# Warn if the share of right labels falls by more.
WORTH_A_WARNING = 0.01


@dataclass(frozen=True)
class FullModel:
    """The model to be compressed: its support vectors are on the cluster, or ``large`` is None."""

    fitted: Any
    large: DistributedExpansion | None

    @property
    def n_support(self) -> int:
        """Number of support vectors; of a distributed model, summed over the binary problems."""
        return len(self.fitted.support_) if self.large is None else self.large.n_support

    def sampled(self, size: int, seed: int) -> SupportVectors:
        """Bring some support vectors here, drawn with equal chances; all if there are no more."""
        fitted = self.fitted
        if self.large is not None:
            return self.large.sampled(len(fitted.dual_coef_), size, seed)
        random, n = np.random.default_rng(seed), len(fitted.support_)
        rows = np.sort(random.choice(n, min(size, n), replace=False))
        coef = fitted.dual_coef_[:, rows]
        part = np.zeros(coef.shape, dtype=np.int32)
        vectors, codes = fitted.support_vectors_[rows], fitted.support_class_[rows]
        return SupportVectors(fitted.support_[rows], codes, vectors, coef, part)

    def decisions(self, X: Any) -> Array:
        """Evaluate the decision function on a few rows, as (problems, rows)."""
        if self.large is not None:
            return self.large.decide(DecisionRule.of(self.fitted), X)
        return np.ascontiguousarray(decisions(self.fitted, X).T)


def check_points(local: Any, n_points: int) -> None:
    """Raise unless the driver has room for the equations of so many points."""
    check_basis_size(n_points, memory_bytes(local.memory_limit), local.memory_limit)


def compressed_on_rows(
    full: FullModel, rows: PlacedRows, form: RowForm, n_points: int, log: FitLog
) -> Any:
    """Return a copy of a fitted model on fewer points.

    Parameters
    ----------
    full : FullModel
        The model as it is.
    rows : PlacedRows
        Training rows, or some that stand for them; their validation rows, if any, are held out.
    form : RowForm
        Form in which kernels see rows.
    n_points : int
        Points to keep; fewer are kept where the kernel cannot tell more apart.
    log : FitLog
        Told of the progress.
    """
    fitted = full.fitted
    seed, kernel = seed_of(fitted.random_state), fitted_kernel(fitted, constant=True)
    n_problems, engine = len(fitted.dual_coef_), rows.engine
    log.doing(f"picking {n_points:,} points")
    points = _points(full, form, n_points, seed)
    n_points = len(points.rows)
    log.report(f"compressing {full.n_support:,} support vectors to {n_points:,} points")
    draw, parts = _drawn(fitted, rows, form, n_points, seed)
    n_rows: int = engine.reduce(parts, operator.attrgetter("n_rows"), operator.add)
    precise = as_rows(points.vectors, np.float64)  # rounding must not make the matrix indefinite
    corner = kernel.block(precise, precise, threads=thread_count(fitted.n_jobs))
    coef, n_iter, converged = np.zeros((n_problems, n_points)), 0, True
    for k in range(n_problems):
        posed = PosedOnBasis(
            kernel,
            points.vectors,
            1 if n_problems == 1 else k,
            fitted._loss(),
            fitted.n_samples_fit_ / n_rows,
            engine.share(1).threads,
        )
        passes = RowsOnCluster(engine, parts, n_rows, posed, n_points, (seed, k))
        with single_threaded_blas():
            report = _reporter(log, k)
            coef[k], steps, done = minimise(passes, corner, coef[k], widths=WIDTHS, report=report)
        passes.release()
        n_iter, converged = max(n_iter, steps), converged and done
    engine.release(parts)
    small = _with_points(fitted, points, coef)
    small.compression_ = {
        "n_basis": n_points,
        "n_support_before": full.n_support,
        **_lost(small, full, rows, RowsHeldOut(draw, form), log),
        "n_rows": n_rows,
        "n_iter": n_iter,
        "converged": converged,
    }
    warn_if_lost(small.compression_)
    return small


def _points(full: FullModel, form: RowForm, n_points: int, seed: int) -> SupportVectors:
    """Pick points among a sample of the support vectors."""
    fitted, found = full.fitted, full.sampled(SAMPLED * n_points, seed)
    n_points = min(n_points, len(found.rows))
    basis = pick_basis(
        fitted_kernel(fitted),
        found.vectors,
        found.coef,
        n_points,
        np.random.default_rng(seed),
        thread_count(fitted.n_jobs),
        MATRICES * 8 * n_points**2,
    )
    vectors = form.rows(found.vectors[basis])
    return SupportVectors(
        found.rows[basis], found.codes[basis], vectors, found.coef[:, basis], found.part[:, basis]
    )


def _drawn(
    fitted: Any, rows: PlacedRows, form: RowForm, n_points: int, seed: int
) -> tuple[Draw, SparkParts]:
    """Bring the rows to fit to into parts of even size, and say which rows are held out."""
    engine: SparkEngine = rows.engine
    n_rows, n_blocks = rows.summary.rows, len(engine.numbers(rows.parts))
    to_fit = min(1.0, ROWS_PER_POINT * n_points / n_rows)
    if rows.validation is None:
        held_out = min(HELD_OUT_SHARE, MOST_HELD_OUT / n_rows)
        draw = chosen = Draw(seed, held_out, min(to_fit, 1.0 - held_out))
    else:
        draw = Draw(seed, min(1.0, MOST_HELD_OUT / rows.validation.summary.rows), 0.0)
        chosen = Draw(seed, 0.0, to_fit)
    totals = rows.summary.weights
    row_weight = fitted._row_weight(float(totals.sum()) * fitted.n_samples_fit_ / n_rows)
    factors = row_weight * class_factors(fitted.class_weight, np.arange(len(totals)), totals)
    n_parts = max(1, round(to_fit * n_rows / ROWS_OF_A_PART))
    split = ToFit(chosen, form, factors, n_blocks, n_parts)
    return draw, engine.regroup(rows.parts, split, joined, n_parts)


def _with_points(fitted: Any, points: SupportVectors, coef: Array) -> Any:
    """Return a copy of a fitted model with other support vectors and coefficients."""
    expansion = Expansion(
        classes=fitted.classes_,
        support=points.rows,
        vectors=points.vectors,
        codes=points.codes,
        coef=coef,
        n_samples=fitted.n_samples_fit_,
        scheme="ovr",
    )
    small = copy(fitted)
    # The gap was that of the model as it was.
    nothing = {
        "support_part_": None,
        "routing_": None,
        "dual_gap_": np.nan,
        "relative_gap_": np.nan,
    }
    set_expansion(small, fitted_kernel(fitted, constant=True), expansion, nothing)
    return small


def _lost(
    small: Any, full: FullModel, rows: PlacedRows, held_out: RowsHeldOut, log: FitLog
) -> dict[str, float]:
    """Compare two models on rows that the coefficients were not fitted to."""
    source = rows if rows.validation is None else rows.validation
    log.doing("comparing the compressed model")
    found = rows.engine.reduce(source.parts, held_out, operator.add)
    if not found:
        return dict.fromkeys(
            ("error", "largest_error", "same_labels", "accuracy_before", "accuracy"), np.nan
        ) | {"n_validation": 0}
    X, codes = stacked([X for X, _ in found]), np.concatenate([own for _, own in found])
    before = full.decisions(X)
    kernel = fitted_kernel(small, constant=True)
    after = kernel.product(as_rows(X), as_rows(small.support_vectors_), small.dual_coef_, threads=1)
    size = float(np.sqrt(np.mean(before**2))) or 1.0
    one, other = labels(small, before.T), labels(small, after.T)
    lost = {
        "error": float(np.sqrt(np.mean((after - before) ** 2))) / size,
        "largest_error": float(np.abs(after - before).max()),
        "same_labels": float(np.mean(one == other)),
        "n_validation": len(codes),
        "accuracy_before": float(np.mean(one == codes)),
        "accuracy": float(np.mean(other == codes)),
    }
    log.report(
        f"accuracy {lost['accuracy']:.4f} on {len(codes):,} rows held out, "
        f"{lost['accuracy_before']:.4f} before compression"
    )
    return lost


def _reporter(log: FitLog, problem: int) -> Callable[[int, float], None]:
    def report(step: int, objective: float) -> None:
        log.report(f"compression, problem {problem}, step {step}: objective {objective:.6g}")
        log.doing(f"compression, problem {problem}, step {step + 1}")

    return report


def warn_if_lost(compression: dict[str, Any]) -> None:
    """Warn if the model has become worse, by more than chance explains."""
    lost = compression["accuracy_before"] - compression["accuracy"]
    chance = np.sqrt((1.0 - compression["same_labels"]) / max(1, compression["n_validation"]))
    if lost > max(WORTH_A_WARNING, 2.0 * chance):
        warn(
            f"The model on {compression['n_basis']:,} points gives {compression['accuracy']:.1%} "
            f"of {compression['n_validation']:,} rows held out the right label, that on "
            f"{compression['n_support_before']:,} support vectors "
            f"{compression['accuracy_before']:.1%}. Raise `compressTo`; the larger model is `full`."
        )
