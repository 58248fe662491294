"""Params of the linear classifiers and their models."""

from __future__ import annotations

from pyspark.ml.param import TypeConverters

from ...estimators.linear import LinearODMClassifier, LinearSVMClassifier
from .stage import (
    ConstantFeatureParams,
    ODMKeywords,
    ODMLoss,
    StageKeywords,
    StageParams,
    SVMLoss,
    param,
    to_memory,
)


class LinearKeywords(StageKeywords, total=False):
    """Keywords of the linear classifiers' constructors."""

    validationIndicatorCol: str | None
    interceptScaling: float


class LinearODMKeywords(ODMKeywords, LinearKeywords):
    """Keywords of the linear ODM."""


class LinearSVMKeywords(LinearKeywords, total=False):
    """Keywords of the linear SVM."""

    loss: str


class LinearParams(ConstantFeatureParams, StageParams):
    """Params that all linear classifiers have."""

    solver = param(
        "solver",
        "'newton' and 'dsvrg' leave rows where they are; 'auto' solves sets of up to 256 MiB in "
        "one task and larger ones by 'newton'; the local solvers ('dual', 'dual_then_newton', "
        "'svrg', 'csvrg', 'pegasos') bring all rows into one task.",
        TypeConverters.toString,
    )
    maxIter = param(
        "maxIter",
        "iterations allowed per binary problem (>= 1): Newton steps, or passes over the rows.",
        TypeConverters.toInt,
    )
    seed = param("seed", "seed of solvers that draw rows at random.", TypeConverters.toInt)
    memoryLimit = param(
        "memoryLimit",
        "bytes that rows may take in one task, or a size such as '500MB': solvers that bring all "
        "rows together are refused beyond it.",
        to_memory,
    )


class LinearODMParams(ODMLoss, LinearParams):
    """Params of the ODM."""

    _local_class = LinearODMClassifier


class LinearSVMParams(SVMLoss, LinearParams):
    """Params of the SVM."""

    _local_class = LinearSVMClassifier
