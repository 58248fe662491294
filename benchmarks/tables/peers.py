"""LightGBM on the same tables, in the form that suits it: numbers, days, categories, NaN."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pandas as pd

MARKS = ["", "?", "NA", "null"]
DATES = ("%d.%m.%Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")


def lightgbm(train: pd.DataFrame, test: pd.DataFrame, label: str) -> dict[str, Any]:
    """Fit LightGBM's default classifier, and return its test accuracy and seconds."""
    import lightgbm

    began = time.perf_counter()
    X, X_test = natural(train.drop(columns=label), test.drop(columns=label))
    model = lightgbm.LGBMClassifier(verbose=-1, random_state=0).fit(X, train[label])
    seconds = time.perf_counter() - began
    accuracy = float(np.mean(model.predict(X_test) == test[label]))
    return {
        "accuracy": accuracy,
        "fit_seconds": seconds,
        "rows": len(train),
        "version": f"lightgbm {lightgbm.__version__}",
    }


def natural(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return tables of numbers and categories, as one would prepare them for LightGBM by hand."""
    both = pd.concat([train, test], ignore_index=True)
    columns = {}
    for i, name in enumerate(both.columns):
        column = both.iloc[:, i]
        if column.dtype == object:
            column = column.where(~column.isin(MARKS))
            column = _typed(column)
        distinct = column.nunique() > 0.95 * len(column)
        identifier = distinct and getattr(column.dtype, "kind", "O") != "f"
        if identifier or column.nunique() < 2:
            continue
        columns[re.sub(r"\W", "_", str(name)) or "index"] = column
    table = pd.DataFrame(columns)
    return table[: len(train)], table[len(train) :]


def _typed(column: pd.Series) -> pd.Series:
    present = column.dropna()
    for form in DATES:
        days = pd.to_datetime(column, format=form, errors="coerce")
        if days[present.index].notna().all():
            return (days - pd.Timestamp(0)) / pd.Timedelta(days=1)
    bare = column.str.replace("$", "", regex=False)
    if bare.str.fullmatch(r"-?\d+,\d{2,3}", na=True).all() and (bare.str.len().max() < 8):
        bare = bare.str.replace(",", ".", regex=False)
    numbers = pd.to_numeric(bare.str.replace(",", "", regex=False), errors="coerce")
    if numbers[present.index].notna().all():
        return numbers.astype(float)
    return column.astype("category")
