"""Prediction before and after compress(), in one run.

WIDEMARGIN_DATA=... python -m benchmarks.speed.compression [--sets cod-rna ...]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.race.data import random_split, whole_set
from widemargin import ODMClassifier, SVMClassifier

# C, gamma, and how many times fewer points ODM and SVM get.
SETTINGS = {"cod-rna": (32.0, 4.0, 30, 7), "skin_nonskin": (8.0, 32.0, 26, 10)}
REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    options = parser.parse_args()
    for name in options.sets:
        C, gamma, odm_factor, svm_factor = SETTINGS[name]
        split = random_split(*whole_set(name), 0)
        X = np.concatenate([split.X, split.X_test])  # enough rows to time
        for kind, factor in ((ODMClassifier, odm_factor), (SVMClassifier, svm_factor)):
            model = kind(C=C, gamma=gamma, random_state=0, strategy="exact")
            model.fit(split.X, split.y)
            start = time.perf_counter()
            small = model.compress(max(50, len(model.support_) // factor))
            compressing = time.perf_counter() - start
            before, after = seconds_of(model, X), seconds_of(small, X)
            scores = [m.score(split.X_test, split.y_test) for m in (model, small)]
            print(
                f"{name} {kind.__name__}: {len(model.support_):,} vectors to "
                f"{len(small.support_):,} in {compressing:.1f} s, prediction {before / after:.1f}x "
                f"faster, accuracy {scores[0]:.4f} to {scores[1]:.4f} "
                f"({100 * (scores[1] - scores[0]):+.2f}), error {small.compression_['error']:.3f}",
                flush=True,
            )


def seconds_of(model: Any, X: np.ndarray) -> float:
    """Return the fastest of a few predictions."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        model.predict(X)
        best = min(best, time.perf_counter() - start)
    return float(best)


if __name__ == "__main__":
    main()
