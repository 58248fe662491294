"""What passes over parts cost beside a fit in one task, counted in one process: a worker.

The solver 'blocks' finds the same model on any engine, so its passes, bytes and CPU seconds are
those of a cluster, without Spark's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.race.processes import serve, timed
from widemargin import MulticlassSVMClassifier
from widemargin.engines import LocalEngine

from .cases import rows_of, settings_of


class CountingEngine(LocalEngine):
    """An engine of one thread that is asked as if it worked elsewhere."""

    in_process = False


def count(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the costs of a fit by passes and of one in one task."""
    X, y = rows_of(job["set"], job["quick"])
    result: dict[str, Any] = {"rows": X.shape[0], "features": X.shape[1], "stored": X.nnz}
    result["classes"] = len(set(y.tolist()))
    for name, solver, engine in (
        ("passes", "blocks", CountingEngine()),
        ("one_task", "auto", LocalEngine()),
    ):
        settings = settings_of(job["formulation"], job["C"], solver, job["tol"])
        machine = MulticlassSVMClassifier(**settings, engine=engine, n_jobs=1)
        model, seconds, cpu = timed(lambda machine=machine: machine.fit(X, y))
        history = model.history_
        result[name] = {
            "seconds": seconds,
            "cpu_seconds": cpu,
            "iterations": int(model.n_iter_),
            "objective": float(history["primal"][-1]),
            "bound": float(history["dual"][-1]),
            "relative_gap": float(model.relative_gap_),
            "solver": model.solver_,
        }
        if "bytes_moved" in history:
            result[name]["moved_mb"] = float(history["bytes_moved"][-1]) / 1e6
        yield result


if __name__ == "__main__":
    serve(count)
