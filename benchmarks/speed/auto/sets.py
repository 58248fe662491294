"""The sets: those of a machine-learning course's size, from scikit-learn and from the folder.

Left out of the folder are texts, which suit linear classifiers too well for a comparison with
trees; sets whose accuracy is near 1 or near the share of the largest class for everybody; and all
but two sets of digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.model_selection import train_test_split

from benchmarks.race.data import DENSE, DataSet, load

TRAINING_ROWS, TEST_ROWS, QUICK_ROWS = 3_000, 5_000, 200
# Share of the rows that smaller sets are tested on.
TEST_SHARE = 0.3
# Other rows than those on which AutoClassifier was developed (0 and 1).
SPLIT = 2


@dataclass(frozen=True)
class Set:
    """A set of rows; from scikit-learn if ``bundled``."""

    title: str
    bundled: bool = False
    form: str = DENSE


SETS = {
    "iris": Set("iris", True),
    "wine": Set("wine", True),
    "breast_cancer": Set("breast cancer", True),
    "digits": Set("digits", True),
    "glass": Set("glass"),
    "dna": Set("dna"),
    "splice": Set("splice"),
    "svmguide1": Set("svmguide1"),
    "satimage": Set("satimage"),
    "usps": Set("usps"),
    "letter": Set("letter"),
    "madelon": Set("madelon"),
    "ada": Set("ada"),
    "a9a": Set("a9a"),
    "phishing": Set("phishing"),
    "cod-rna": Set("cod-rna"),
    "ijcnn1": Set("ijcnn1"),
    "susy_30k": Set("SUSY"),
    "higgs_10k": Set("HIGGS"),
    "covtype_binary": Set("covtype"),
}


def drawn(name: str, rows: int | None = None) -> DataSet:
    """Draw training and test rows, as many of each class as its share; float32, labels from 0."""
    if SETS[name].bundled:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        data = load(name)
        X, y = data.X, data.y
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)
    y = np.unique(y, return_inverse=True)[1]
    most = TRAINING_ROWS if rows is None else rows
    training = min(most, int((1 - TEST_SHARE) * len(y)))
    train, test = train_test_split(
        np.arange(len(y)), train_size=training, random_state=SPLIT, stratify=y
    )
    test = test[:TEST_ROWS]
    return DataSet(X[train], y[train], X[test], y[test])
