"""What all classifiers on Spark's DataFrames share: conventions of pyspark.ml, rows in place."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pyspark.ml.classification import Classifier
from pyspark.ml.util import MLReadable, MLWritable

from ..engines.spark import SparkEngine
from .fit_log import FitLog
from .model_stage import ModelStage
from .params.accessors import add_accessors, setter
from .params.stage import StageParams
from .rows.block_summary import check_classes
from .rows.blocks import PlacedRows, place
from .rows.columns import Columns
from .rows.feature_spread import warn_if_one_dominates
from .storage import StageReader, StageWriter


class ClassifierStage(Classifier, StageParams, MLReadable, MLWritable):  # type: ignore[misc]
    """A classifier: all but its Params and the training itself."""

    _model_class: ClassVar[type[ModelStage]]
    _input_kwargs: dict[str, Any]

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

    def _model(self, *fitted: Any) -> Any:
        """Return the model of what was fitted, with these Params."""
        return self._copyValues(self._model_class(*fitted)._resetUid(self.uid))

    def _columns(self) -> Columns:
        return Columns(
            self.getFeaturesCol(),
            self.getLabelCol(),
            self._value("weightCol"),
            self._value("validationIndicatorCol"),
            self._value("idCol"),
        )

    def _place(
        self,
        engine: SparkEngine,
        dataset: Any,
        columns: Columns,
        told: FitLog,
        *,
        n_parts: int | None,
        **options: Any,
    ) -> PlacedRows:
        """Put rows into blocks on the cluster, and check them."""
        told.doing("placing rows")
        skip = self.getHandleInvalid() == "skip"
        rows = place(engine, dataset, columns, skip=skip, n_parts=n_parts, **options)
        check_classes(rows.summary, columns)
        if rows.validation is not None:
            _check_validation(rows, rows.validation, columns)
        warn_if_one_dominates(rows.summary.spread, columns.features)
        told.tell(
            f"{rows.summary.rows:,} rows of {rows.n_features:,} features and "
            f"{len(rows.summary.counts)} classes in {len(rows.parts)} blocks, "
            f"{rows.summary.stored / 1e6:,.1f} MB"
        )
        return rows


def _check_validation(rows: PlacedRows, validation: PlacedRows, columns: Columns) -> None:
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
