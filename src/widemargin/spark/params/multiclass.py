"""Params of the multi-class classifier and its model."""

from __future__ import annotations

from pyspark.ml.param import TypeConverters

from ...estimators.multiclass_svm import MulticlassSVMClassifier
from .accessors import FormerPartitions
from .stage import ConstantFeatureParams, StageKeywords, StageParams, param, to_memory


class MulticlassSVMKeywords(StageKeywords, total=False):
    """Keywords of the multi-class classifier's constructor."""

    formulation: str
    interceptScaling: float


class MulticlassSVMParams(FormerPartitions, ConstantFeatureParams, StageParams):
    """Params of the multi-class SVM."""

    _local_class = MulticlassSVMClassifier

    formulation = param(
        "formulation",
        "loss of a row: 'ww' (Weston and Watkins), 'llw' (Lee, Lin and Wahba), 'cs' (Crammer and "
        "Singer) or 'ovr' (one against the rest). 'cs' and 'ovr' are solved in one task, which "
        "must have room for all rows.",
        TypeConverters.toString,
    )
    solver = param(
        "solver",
        "'newton' ('llw' with up to 1000 features, 'ww' with up to 3000 weights in all) and "
        "'tournament' ('ww') leave rows where they are; 'auto' solves sets of up to 256 MiB in one "
        "task and larger ones by one of these; 'dual' and 'printed' bring all rows into one task.",
        TypeConverters.toString,
    )
    maxIter = param("maxIter", "epochs, or Newton steps, allowed (>= 1).", TypeConverters.toInt)
    maxTime = param(
        "maxTime",
        "seconds allowed for training (> 0), once rows are in place; checked after every round "
        "or step. Unset: no limit.",
        TypeConverters.toFloat,
    )
    seed = param("seed", "for the order in which rows are visited.", TypeConverters.toInt)
    memoryLimit = param(
        "memoryLimit",
        "bytes, or a size such as '500MB', that rows may take in one task, where a solver brings "
        "them together, and Hessians on the driver; weights that take more than half of it are "
        "kept sparsely.",
        to_memory,
    )
    validationIndicatorCol = param(
        "validationIndicatorCol",
        "not for this classifier, which is fitted to its optimum: it must stay unset.",
        TypeConverters.toString,
    )
