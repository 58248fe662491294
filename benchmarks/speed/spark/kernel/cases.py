"""Sets, settings and methods; the same for every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.papers.preparation import Split, random_split, whole_set
from widemargin import Clustered, ODMClassifier, Stratified, SVMClassifier

TEST_ROWS, QUICK_ROWS = 2_000, 3_000
SODM, DC = "SODM", "DC-SVM"


@dataclass(frozen=True)
class Case:
    """A set, divided once and stopped at the leaves.

    Attributes
    ----------
    C, gamma : float
        Of the machine; features are in [0, 1].
    parts, clusters : int
        Leaves of SODM and of DC-SVM.
    sample : int
        Rows that clusters are found on.
    """

    C: float
    gamma: float
    parts: int
    clusters: int
    sample: int


CASES = {
    "cod-rna": Case(32.0, 4.0, 40, 32, 256),
    "ijcnn1": Case(32.0, 2.0, 36, 32, 256),
    "covtype_binary": Case(32.0, 32.0, 256, 256, 1000),
}


def split_of(name: str, quick: bool) -> Split:
    """Return training rows, float32, and a few test rows."""
    split = random_split(*whole_set(name, QUICK_ROWS if quick else None), 0)
    some = slice(0, TEST_ROWS)
    X, X_test = (np.asarray(X, dtype=np.float32) for X in (split.X, split.X_test))
    return Split(X, split.y, X_test[some], split.y_test[some])


def local_machine(method: str, case: Case) -> Any:
    """Return the estimator for arrays."""
    common = {"C": case.C, "gamma": case.gamma, "random_state": 0, "n_jobs": 2}
    if method == SODM:
        return ODMClassifier(strategy=Stratified(1, case.parts, 1), **common)
    return SVMClassifier(strategy=Clustered(1, case.clusters, 1, n_sample=case.sample), **common)


def spark_machine(method: str, case: Case) -> Any:
    """Return the estimator for DataFrames, with the same settings."""
    from widemargin.spark import SparkODMClassifier, SparkSVMClassifier

    common = {"C": case.C, "gamma": case.gamma, "seed": 0, "levels": 1, "stopLevel": 1}
    common["maxModelRows"] = 1_000_000  # small rows: the driver has room
    if method == SODM:
        return SparkODMClassifier(strategy="sodm", fanIn=case.parts, **common)
    return SparkSVMClassifier(strategy="dc", fanIn=case.clusters, nSample=case.sample, **common)
