"""Base of the classifiers on Spark's DataFrames: placement of rows, progress, files."""

from __future__ import annotations

import inspect
import logging
import time
from typing import Any, ClassVar, Self

import numpy as np
from pyspark.ml.classification import Classifier
from pyspark.ml.util import MLReadable, MLWritable

from ..core.blocks import GATHERED_BYTES
from ..core.budget import Budget, seed_of
from ..engines.spark import SparkEngine
from ..engines.spark_copies import limit_of
from ..engines.spark_errors import errors_of_tasks
from .accessors import add_accessors, setter
from .calibration import CalibrateTogether, calibrate
from .frames import whole_frame
from .model_stage import ModelStage
from .param_messages import in_spark_names
from .params import FORMER_NAMES, StageParams
from .rows.block_summary import check_classes, warn_if_few_dominate
from .rows.blocks import PlacedRows, place
from .rows.column_names import find
from .rows.columns import FrameColumns
from .storage import StageReader, StageWriter
from .training_summary import TrainingRecord

log = logging.getLogger("widemargin.spark")

DESCRIPTION = "spark.job.description"


class FitLog:
    """Reports the progress of a fit to the driver's log and to Spark's web pages."""

    def __init__(self, session: Any, name: str) -> None:
        # Spark Connect lacks the attribute; its jobs have no descriptions.
        self._context = getattr(session, "sparkContext", None)
        self._name, self._started = name, time.perf_counter()
        self._before: str | None = None

    def __enter__(self) -> Self:
        if self._context is not None:
            self._before = self._context.getLocalProperty(DESCRIPTION)
        return self

    def __exit__(self, *_: object) -> None:
        if self._context is not None:
            self._context.setLocalProperty(DESCRIPTION, self._before)

    def doing(self, what: str) -> None:
        """Describe the next jobs."""
        if self._context is not None:
            self._context.setJobDescription(f"{self._name}: {what}")

    def report(self, what: str) -> None:
        """Write a line, with the time since the start."""
        log.info("%s, %.1f s: %s", self._name, time.perf_counter() - self._started, what)

    def iteration(self, iteration: int, gap: float, problem: int | None = None) -> None:
        """Report a finished iteration; ``problem`` is the number of one of several problems."""
        of = "" if problem is None else f"problem {problem}, "
        self.report(f"{of}iteration {iteration}: relative gap {gap:.2e}")
        self.doing(f"{of}iteration {iteration + 1}")


class ClassifierStage(Classifier, StageParams, MLReadable, MLWritable):  # type: ignore[misc]
    """A classifier; subclasses add Params and the training itself."""

    _model_class: ClassVar[type[ModelStage]]
    # Further arguments of `place`.
    _placement: ClassVar[dict[str, Any]] = {}
    # Calibrates a fitted estimator by all rows, see `calibration`; the form of its decisions.
    _calibrate_together: CalibrateTogether
    _columns_of_decisions: ClassVar[str] = "rest"
    _input_kwargs: dict[str, Any]

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._input_kwargs = params  # where pyspark's own stages keep them
        self.setParams(**params)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give every Param a setter."""
        super().__init_subclass__(**kwargs)
        add_accessors(cls, "set", setter)

    def setParams(self, **params: Any) -> Self:
        """Set several Params at once; None leaves one as it is."""
        known = inspect.signature(type(self)).parameters if params else {}
        for name in params:
            if name not in known:
                now = FORMER_NAMES.get(name)
                advice = "" if now is None else f" It is called {now!r}."
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}.{advice}")
        self._set(**{name: value for name, value in params.items() if value is not None})
        self._check_consistent()
        return self

    def write(self) -> StageWriter:
        """Return a writer: ``write().overwrite().save(path)``."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> StageReader:
        """Return a reader: ``read().load(path)``."""
        return StageReader(cls)

    def _fit(self, dataset: Any) -> Any:
        frame = whole_frame(dataset)
        with in_spark_names(self._spark_names()), errors_of_tasks():
            return self._fitted_to(frame)

    def _fitted_to(self, frame: Any) -> Any:
        """Return the model of a DataFrame."""
        local, columns = self._local_estimator(), self._columns()
        self._check_thresholds()
        columns.selected(frame)  # so that the columns are checked before any job runs
        engine, record = engine_of(self, frame), TrainingRecord(frame)
        with FitLog(frame.sparkSession, type(self).__name__) as fit_log:
            try:
                with record.step("placing"):
                    rows = self._place(engine, frame, columns, fit_log)
                self._check_thresholds(len(rows.summary.counts))
                budget = Budget.of(local, seed_of(local.random_state), engine.share(1).threads)
                with record.step("training"):
                    more = self._train(local, rows, fit_log)
                local.classes_ = np.arange(len(rows.summary.counts))
                local.n_features_in_ = rows.n_features
                model = self._model_class(local, *more)
                if local.calibrate is not None:
                    with record.step("calibrating"):
                        self._calibrate(model, rows, budget, fit_log)
            finally:
                engine.release()
        model = self._copyValues(model._resetUid(self.uid))
        model._summarise(_finished(record, rows, columns))
        return model

    def _calibrate(self, model: ModelStage, rows: PlacedRows, budget: Budget, log: FitLog) -> None:
        try:
            calibrate(self, model, rows, budget, log)
        except BaseException:
            model._discard()
            raise

    def _calibrates_together(self, fitted: Any, rows: PlacedRows) -> bool:
        """Return whether one task calibrates a fitted estimator by all rows."""
        return rows.summary.stored <= GATHERED_BYTES

    def _without_calibration(self) -> Self:
        """Return a copy for a fit that is neither calibrated nor kept."""
        plain: Self = self.copy()
        for name in ("calibrate", "checkpointDir"):
            if plain.hasParam(name):
                plain.clear(plain.getParam(name))
        return plain

    def _settle(self, estimator: Any, fitted: Any, rows: PlacedRows) -> None:
        """Set what a fit to all rows resolved, for a fit to most of them."""

    def _train(self, local: Any, rows: PlacedRows, log: FitLog) -> tuple[Any, ...]:
        """Set the fitted attributes of the local estimator; return what else the model takes."""
        raise NotImplementedError

    def _columns(self) -> FrameColumns:
        return columns_of(self)

    def _place(
        self, engine: SparkEngine, dataset: Any, columns: FrameColumns, fit_log: FitLog
    ) -> PlacedRows:
        """Put rows into blocks on the cluster, and check them."""
        fit_log.doing("placing rows")
        skip, n_parts = self.getHandleInvalid() == "skip", self._value("nParts")
        rows = place(engine, dataset, columns, skip=skip, n_parts=n_parts, **self._placement)
        check_classes(rows.summary, columns)
        if rows.validation is not None:
            _check_validation(rows, rows.validation, columns)
        warn_if_few_dominate(rows.summary.spread, columns.features)
        fit_log.report(
            f"{rows.summary.rows:,} rows of {rows.n_features:,} features and "
            f"{len(rows.summary.counts)} classes in {len(rows.parts)} blocks, "
            f"{rows.summary.stored / 1e6:,.1f} MB"
        )
        return rows


def _finished(record: TrainingRecord, rows: PlacedRows, columns: FrameColumns) -> TrainingRecord:
    """Complete the record of a fit."""
    summary, beside = rows.summary, rows.validation
    record.rows, record.blocks, record.jobs = summary.rows, len(summary.blocks), rows.engine.jobs
    record.skipped_rows = summary.skipped
    if beside is not None and columns.validation is not None:
        record.validation_rows = beside.summary.rows
        record.skipped_rows += beside.summary.skipped
        beside_training = find(record.dataset, "validationIndicatorCol", columns.validation).value
        record.dataset = record.dataset.where(~beside_training)
    return record


def engine_of(stage: Any, frame: Any) -> SparkEngine:
    """Return an engine for the rows of a DataFrame, as the Params of a stage set it."""
    copies = limit_of(stage.getOrDefault("localCopies"), "localCopies")
    return SparkEngine(frame.sparkSession, local_copies=copies)


def columns_of(stage: Any) -> FrameColumns:
    """Return the columns that the Params of a classifier or a model name."""
    return FrameColumns(
        stage.getFeaturesCol(),
        stage.getLabelCol(),
        stage._value("weightCol"),
        stage._value("validationIndicatorCol"),
        stage._value("idCol"),
    )


def _check_validation(rows: PlacedRows, validation: PlacedRows, columns: FrameColumns) -> None:
    """Raise unless validation rows are of the same features and classes."""
    if validation.n_features != rows.n_features:
        raise ValueError(
            f"column {columns.features!r} must hold vectors of one size; got "
            f"{rows.n_features} in the rows to train on and {validation.n_features} in those of "
            f"{columns.validation!r}."
        )
    if len(validation.summary.counts) > len(rows.summary.counts):
        raise ValueError(
            f"column {columns.label!r} has label {len(validation.summary.counts) - 1} in the rows "
            f"of {columns.validation!r} alone; rows to train on need it too."
        )
