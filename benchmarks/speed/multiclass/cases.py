"""The data sets: training and test rows, how scaled, and who is measured on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.datasets import load
from benchmarks.generated_topics import generate
from benchmarks.speed.linear.cases import AS_PUBLISHED, CSR, DENSE, TF_IDF, save, saved

QUICK_ROWS, QUICK_CLASSES, QUICK_FEATURES = 600, 12, 2_000
TRAINING, TEST = "training", "test"
ONE, BEST = "one", "best"


@dataclass(frozen=True)
class Case:
    """A data set with its published test part.

    Attributes
    ----------
    title : str
        Name in the tables.
    source : str or None
        Data set in the folder; None for a generated one,
    classes : int or None
        which has so many classes.
    scaling : str
        What is done to the features.
    form : str
        Form of the rows for who takes both.
    contestants : tuple of str or None
        Who is measured; None is everybody.
    choices : tuple of str
        Which C: 1, and the best.
    """

    title: str
    source: str | None
    scaling: str = AS_PUBLISHED
    form: str = CSR
    classes: int | None = None
    contestants: tuple[str, ...] | None = None
    choices: tuple[str, ...] = (ONE, BEST)


OURS = ("ww_1", "ww_2", "ww_tournament_2", "cs_1", "cs_2")
CASES = {
    "sector": Case("sector", "sector"),
    "clinc150": Case("CLINC150", "clinc150", TF_IDF),
    "news20": Case("news20 by date", "news20_bydate", TF_IDF),
    "letter": Case("letter", "letter", form=DENSE),
    "generated_1000": Case(
        *("generated, 1,000 classes", None, TF_IDF, CSR, 1_000),
        contestants=(*OURS, "svc_ovr", "multicore_ovr_2"),
        choices=(ONE,),
    ),
    "generated_5000": Case(
        *("generated, 5,000 classes", None, TF_IDF, CSR, 5_000),
        contestants=("ww_1", "ww_2", "ww_tournament_2"),
        choices=(ONE,),
    ),
}
Rows = tuple[Any, np.ndarray]


def rows_of(case: Case, quick: bool = False) -> tuple[Rows, Rows]:
    """Read and scale training and test rows: float32, classes from 0."""
    if case.source is None:
        assert case.classes is not None
        sizes = (
            (QUICK_CLASSES, QUICK_ROWS, QUICK_ROWS, QUICK_FEATURES) if quick else (case.classes,)
        )
        data = generate(*sizes)
    else:
        data = load(case.source)
    assert data.y_test is not None
    training, test = (data.X, data.y), (data.X_test, data.y_test)
    if quick:
        training, test = _some(*training), _some(*test)
    labels, codes = np.unique(training[1], return_inverse=True)
    known = np.isin(test[1], labels)
    X, X_test, y_test = training[0], test[0][known], np.searchsorted(labels, test[1][known])
    if case.source is not None and case.scaling == TF_IDF:
        weighting = TfidfTransformer().fit(X)
        X, X_test = weighting.transform(X), weighting.transform(X_test)
    return (X.astype(np.float32), codes), (X_test.astype(np.float32), y_test)


def _some(X: Any, y: np.ndarray) -> Rows:
    """Draw rows of the first classes."""
    among = np.flatnonzero(np.isin(y, np.unique(y)[:QUICK_CLASSES]))
    size = min(QUICK_ROWS, len(among))
    chosen = np.random.default_rng(0).choice(among, size, replace=False)
    return X[chosen], y[chosen]


def save_both(case: Case, quick: bool, folder: Path) -> None:
    """Put the rows where :func:`saved_part` finds them."""
    for name, rows in zip((TRAINING, TEST), rows_of(case, quick), strict=True):
        (folder / name).mkdir()
        save(*rows, folder / name)


def saved_part(folder: Path, part: str, form: str) -> Rows:
    """Return training or test rows that were put into a folder."""
    X, codes = saved(folder / part, form)
    return X, codes
