"""Linear classifiers fitted on an engine: rows in blocks, wherever it keeps them."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.progress import FitProgress
from ..engines import resolve
from ..linear.divided_fit import DividedFit, DividedInputs, DividedSettings
from ..linear.parts import N_STRATA, divide
from ..linear.row_blocks import RowBlock
from ..linear.solvers import SolverOptions
from .linear_fit import LinearInputs
from .outcomes import warn_of_unconverged

# Rows of a block: what a task holds at a time.
BLOCK_BYTES, BLOCK_ROWS = 32 * 2**20, 100_000


def fit_on_engine(estimator: Any, inputs: LinearInputs, classes: Any, seed: int) -> None:
    """Send the rows to the engine in blocks, and train there."""
    name = type(estimator).__name__
    engine = resolve(estimator.engine, inputs.threads)
    blocks = blocks_of(inputs, estimator.solver, estimator.n_parts, seed)
    with FitProgress(name, estimator.tol) as progress:

        def listener(problem: int, iteration: int, gap: float) -> None:
            progress.report(iteration, gap)
            if estimator.verbose:
                print(f"[{name}] problem {problem}, iteration {iteration}: relative gap {gap:.2e}")

        fit = DividedFit(
            DividedInputs(
                estimator=name,
                engine=engine,
                blocks=engine.scatter(blocks),
                n_rows=len(inputs.codes),
                n_features=int(inputs.X.shape[1]),
                n_classes=inputs.n_classes,
                stored_bytes=bytes_of(inputs.X),
                constants=inputs.constants,
                constant=inputs.constant,
                memory=inputs.memory,
                start=inputs.start,
            ),
            DividedSettings(
                estimator.solver,
                SolverOptions(estimator.n_parts, estimator.batch_size),
                tol=estimator.tol,
                max_iter=estimator.max_iter,
                max_time=estimator.max_time,
                seed=seed,
                listener=listener,
            ),
        )
        try:
            fit.fit_problems()
        except KeyboardInterrupt:
            if fit.usable:
                estimator._set_fitted(fit, classes)
            raise
        finally:
            if isinstance(estimator.engine, str):  # made for this fit, with nobody else's parts
                engine.release()
    estimator._set_fitted(fit, classes)
    warn_of_unconverged(fit.results, estimator.tol, name, stacklevel=4)


def blocks_of(inputs: LinearInputs, solver: str, n_parts: int, seed: int) -> list[RowBlock]:
    """Cut the rows into blocks; those of dsvrg look like the whole."""
    X, codes, weights = inputs.X, inputs.codes.astype(np.int32), inputs.weights
    fit = uuid.uuid4().hex
    if solver == "dsvrg":
        whole = inputs.problem(0, inputs.threads)
        parts = [rows for rows, _ in divide(whole, n_parts, "stratified", N_STRATA, seed)]
    else:
        parts = even_parts(X)
    return [
        RowBlock(f"{fit}-{k}", X[rows], codes[rows], None if weights is None else weights[rows])
        for k, rows in enumerate(parts)
    ]


def even_parts(X: Any) -> list[NDArray[np.int64]]:
    """Cut rows into parts that a task holds at a time; return the numbers of each part's rows."""
    n = X.shape[0]
    step = max(1, min(BLOCK_ROWS, int(BLOCK_BYTES * n / max(1, bytes_of(X)))))
    return [np.arange(k, min(n, k + step)) for k in range(0, n, step)]


def bytes_of(X: Any) -> int:
    """Return the bytes that rows take."""
    return int(X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes)
