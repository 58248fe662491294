"""Classifiers for Spark's DataFrames, in the conventions of ``pyspark.ml``.

>>> from widemargin.spark import SparkLinearODMClassifier
>>> model = SparkLinearODMClassifier().fit(frame)                             # doctest: +SKIP
>>> model.write().overwrite().save(path)                                      # doctest: +SKIP
>>> model.toLocal().predict(X)                                                # doctest: +SKIP

Work runs on the session of the DataFrame, a classic one or over Spark Connect. ``stage_params``,
``classifier_stage`` and ``model_stage`` are what all classifiers share. ``columns`` checks schemas,
``vector_arrays`` reads vectors and ``checked_rows`` rows, ``block_tasks`` and ``blocks`` turn them
into blocks on the cluster, ``block_summary`` and ``feature_spread`` tell what these are like,
``decisions`` predicts, ``storage`` saves, and ``fit_log`` tells.

Of linear classifiers, ``validation`` chooses iterates. Of kernel machines, ``kernel_rows`` makes
blocks parts of a training set, ``kernel_fit`` takes these through the levels, ``level_support``
brings support vectors here, ``cluster_checkpoints`` keeps levels; models that stay on the cluster
are a ``support_table``, which ``large_expansion`` and ``large_decisions`` ask.
"""

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        "widemargin.spark needs pyspark and pyarrow; install them with: pip install "
        "'widemargin[spark]'"
    ) from error

from .kernel.classifier import SparkODMClassifier, SparkSVMClassifier
from .kernel.model import SparkODMModel, SparkSVMModel
from .linear.classifier import SparkLinearODMClassifier, SparkLinearSVMClassifier
from .linear.model import SparkLinearODMModel, SparkLinearSVMModel
from .multiclass.classifier import SparkMulticlassSVMClassifier
from .multiclass.model import SparkMulticlassSVMModel

__all__ = [
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
]
