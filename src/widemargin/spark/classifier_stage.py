"""Base of the classifiers on Spark's DataFrames: placement of rows, progress, files."""

from __future__ import annotations

import inspect
import logging
import time
from typing import Any, ClassVar, Self

import numpy as np
from pyspark.ml.classification import Classifier
from pyspark.ml.util import MLReadable, MLWritable

from ..engines.spark import SparkEngine
from ..engines.spark_errors import errors_of_tasks
from .accessors import add_accessors, setter
from .frames import spark_frame
from .model_stage import ModelStage
from .param_messages import in_spark_names
from .params import StageParams
from .rows.block_summary import check_classes, warn_if_few_dominate
from .rows.blocks import PlacedRows, place
from .rows.columns import FrameColumns
from .storage import StageReader, StageWriter

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
    _input_kwargs: dict[str, Any]

    def __init__(self, **params: Any) -> None:
        super().__init__()
        known = inspect.signature(type(self)).parameters if params else {}
        for name in params:
            if name not in known and not isinstance(getattr(type(self), name, None), property):
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}.")
        self._input_kwargs = params  # where pyspark's own stages keep them
        self.setParams(**params)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give every Param a setter."""
        super().__init_subclass__(**kwargs)
        add_accessors(cls, "set", setter)

    def setParams(self, **params: Any) -> Self:
        """Set several Params at once; None leaves one as it is."""
        self._set(**{name: value for name, value in params.items() if value is not None})
        return self

    def write(self) -> StageWriter:
        """Return a writer: ``write().overwrite().save(path)``."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> StageReader:
        """Return a reader: ``read().load(path)``."""
        return StageReader(cls)

    def _fit(self, dataset: Any) -> Any:
        frame, _ = spark_frame(dataset)
        with in_spark_names(self._spark_names()), errors_of_tasks():
            return self._fitted_to(frame)

    def _fitted_to(self, frame: Any) -> Any:
        """Return the model of a DataFrame."""
        local, columns = self._local_estimator(), self._columns()
        columns.selected(frame)  # so that the columns are checked before any job runs
        engine = SparkEngine(frame.sparkSession)
        with FitLog(frame.sparkSession, type(self).__name__) as fit_log:
            try:
                rows = self._place(engine, frame, columns, fit_log)
                more = self._train(local, rows, fit_log)
            finally:
                engine.release()
        local.classes_ = np.arange(len(rows.summary.counts))
        local.n_features_in_ = rows.n_features
        return self._copyValues(self._model_class(local, *more)._resetUid(self.uid))

    def _train(self, local: Any, rows: PlacedRows, log: FitLog) -> tuple[Any, ...]:
        """Set the fitted attributes of the local estimator; return what else the model takes."""
        raise NotImplementedError

    def _columns(self) -> FrameColumns:
        return FrameColumns(
            self.getFeaturesCol(),
            self.getLabelCol(),
            self._value("weightCol"),
            self._value("validationIndicatorCol"),
            self._value("idCol"),
        )

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
