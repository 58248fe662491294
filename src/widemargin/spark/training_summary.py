"""Summary of a training: how the fit went, and how good the model is on the rows it was trained on.

A model loses it when it is saved, as in MLlib.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from .frames import spark_frame
from .summaries import BinaryClassificationSummary, ClassificationSummary, listed


@dataclass
class TrainingRecord:
    """Record of a fit, made while it runs."""

    dataset: Any  # the DataFrame, rows to validate by left out
    rows: int = 0
    validation_rows: int = 0
    skipped_rows: int = 0
    blocks: int = 0
    jobs: int = 0
    seconds: dict[str, float] = field(default_factory=dict)  # by step, in order

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step of the fit."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - started


class TrainingSummary(ClassificationSummary):
    """How a fit went, and predictions for the rows that were trained on."""

    def __init__(self, model: Any, record: TrainingRecord) -> None:
        super().__init__(model, record.dataset)
        self._facts = record

    def __repr__(self) -> str:
        """Say what is known without a job."""
        return (
            f"{type(self).__name__}(solver={self.solver!r}, numRows={self.numRows}, "
            f"relativeGap={self.relativeGap:.2e}, converged={self.converged}, "
            f"seconds={self.seconds:.1f})"
        )

    @property
    def history(self) -> dict[str, NDArray[Any]]:
        """Per iteration: problem, iteration, seconds, primal, dual, relative_gap and more.

        Of a kernel machine per level: problem, level, parts, seconds, objective and more.
        """
        found: dict[str, NDArray[Any]] = self._model.history
        return found

    @property
    def objectiveHistory(self) -> list[float]:
        """Objective after each iteration; of several binary problems, one after another.

        Of a kernel machine, the objective of each level.
        """
        history = self.history
        return listed(history["objective" if "objective" in history else "primal"])

    @property
    def totalIterations(self) -> int:
        """Largest number of iterations of the binary problems."""
        return int(self._model.nIter)

    @property
    def relativeGap(self) -> float:
        """Largest relative duality gap of the binary problems."""
        return float(self._model.relativeGap)

    @property
    def dualGap(self) -> float:
        """Duality gap, summed over the binary problems."""
        return float(self._model.dualGap)

    @property
    def converged(self) -> bool:
        """Whether every binary problem is within ``tol``."""
        return bool(self._model.converged)

    @property
    def numRows(self) -> int:
        """Number of rows trained on."""
        return self._facts.rows

    @property
    def numValidationRows(self) -> int:
        """Number of rows validated by."""
        return self._facts.validation_rows

    @property
    def numSkippedRows(self) -> int:
        """Number of rows left out as invalid."""
        return self._facts.skipped_rows

    @property
    def numBlocks(self) -> int:
        """Number of blocks that the rows were placed in."""
        return self._facts.blocks

    @property
    def jobs(self) -> int:
        """Times that the driver waited for the cluster; Spark may run several jobs for one."""
        return self._facts.jobs

    @property
    def seconds(self) -> float:
        """Seconds that the fit took."""
        return sum(self._facts.seconds.values())

    @property
    def secondsByStep(self) -> dict[str, float]:
        """Seconds of the steps: placing (rows into blocks), training, calibrating."""
        return dict(self._facts.seconds)

    @property
    def solver(self) -> str:
        """The solver that was used."""
        return str(self._model.solverUsed)

    @property
    def strategy(self) -> str | None:
        """The strategy that divided the rows; None for linear models."""
        return getattr(self._model, "strategyUsed", None)

    @property
    def numSupportVectors(self) -> int | None:
        """Number of support vectors; None for linear models."""
        return getattr(self._model, "numSupportVectors", None)


class BinaryTrainingSummary(BinaryClassificationSummary, TrainingSummary):
    """How a fit of two classes went, and predictions for the rows that were trained on."""


class HasSummaries:
    """A model with a summary of its training, and summaries of other rows."""

    _summary: TrainingSummary | None = None

    @property
    def numClasses(self) -> int:
        """Number of classes."""
        raise NotImplementedError

    @property
    def hasSummary(self) -> bool:
        """Whether there is a summary of the training."""
        return self._summary is not None

    @property
    def summary(self) -> TrainingSummary:
        """Summary of the training, with the model as it was fitted."""
        if self._summary is None:
            raise RuntimeError(
                f"this {type(self).__name__} has no training summary: models lose it when they are "
                "saved, compressed or made of local ones. Use evaluate(frame) for metrics; gaps "
                "and the history are with the model (relativeGap, history)."
            )
        return self._summary

    def _summarise(self, record: TrainingRecord) -> None:
        """Make the summary of a training that has ended."""
        kind = BinaryTrainingSummary if self.numClasses == 2 else TrainingSummary
        self._summary = kind(self, record)

    def evaluate(self, dataset: Any) -> ClassificationSummary:
        """Predict for the rows of a DataFrame, and tell how good the predictions are.

        Parameters
        ----------
        dataset : DataFrame
            Of Spark or pandas-on-Spark, with columns of features and labels, and of weights if
            ``weightCol`` is set.

        Returns
        -------
        ClassificationSummary
            For two classes a :class:`BinaryClassificationSummary`.
        """
        frame, _ = spark_frame(dataset)
        two = self.numClasses == 2
        return (BinaryClassificationSummary if two else ClassificationSummary)(self, frame)
