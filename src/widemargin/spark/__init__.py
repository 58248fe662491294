"""Classifiers for Spark's DataFrames, in the conventions of ``pyspark.ml``.

>>> from widemargin.spark import SparkLinearODMClassifier
>>> model = SparkLinearODMClassifier().fit(frame)                             # doctest: +SKIP
>>> model.write().overwrite().save(path)                                      # doctest: +SKIP
>>> model.toLocal().predict(X)                                                # doctest: +SKIP

Work runs on the session of the DataFrame, a classic one or over Spark Connect. ``classifier_stage``
and ``model_stage`` are the base classes, whose ``params`` all classifiers share; ``decisions``
predicts, ``calibration`` makes probabilities, ``summaries`` measure models, and ``storage`` saves
and loads. ``rows`` turns a DataFrame into checked blocks on the cluster; ``linear``, ``multiclass``
and ``kernel`` are the classifiers.
"""

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        "widemargin.spark needs pyspark and pyarrow; install them with: pip install "
        "'widemargin[spark]'"
    ) from error

from .kernel.stages import SparkODMClassifier, SparkODMModel, SparkSVMClassifier, SparkSVMModel
from .linear import (
    SparkLinearODMClassifier,
    SparkLinearODMModel,
    SparkLinearSVMClassifier,
    SparkLinearSVMModel,
)
from .linear_stream import StreamFit
from .multiclass import SparkMulticlassSVMClassifier, SparkMulticlassSVMModel
from .summaries import BinaryClassificationSummary, ClassificationSummary
from .training_summary import BinaryTrainingSummary, TrainingSummary

__all__ = [
    "BinaryClassificationSummary",
    "BinaryTrainingSummary",
    "ClassificationSummary",
    "SparkLinearODMClassifier",
    "SparkLinearODMModel",
    "SparkLinearSVMClassifier",
    "SparkLinearSVMModel",
    "SparkMulticlassSVMClassifier",
    "SparkMulticlassSVMModel",
    "SparkODMClassifier",
    "SparkODMModel",
    "SparkSVMClassifier",
    "SparkSVMModel",
    "StreamFit",
    "TrainingSummary",
]
