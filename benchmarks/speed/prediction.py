"""Prediction against scikit-learn-intelex's SVC, with the very same model.

WIDEMARGIN_DATA=... python -m benchmarks.speed.prediction [--set a9a ...] [--repeats 5] [--double]

Needs ``pip install scikit-learn-intelex``. Its SVC is trained, an SVMClassifier is given the same
support vectors, coefficients and intercepts (one-vs-one with several classes), and both predict the
test rows in turns: equal work. The labels are the same but for rounding and, with several classes,
for ties of votes, which SVC gives to the first class. Seconds are the best
of the repeats, in float32 unless ``--double``. ``--rows`` limits the training rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.race.data import load
from widemargin import SVMClassifier

# C, gamma, training rows (None: all), data set.
SETTINGS: dict[str, tuple[float, float, int | None, str]] = {
    "ijcnn1": (32.0, 2.0, None, "ijcnn1"),
    "cod-rna": (32.0, 8.0, None, "cod-rna"),
    "a9a": (1.0, 0.05, None, "a9a"),
    "covtype-20k": (32.0, 32.0, 20_000, "covtype_binary"),
    "covtype-50k": (32.0, 32.0, 50_000, "covtype_binary"),
    "mnist-3-8": (8.0, 0.02, None, "mnist"),
    "letter": (8.0, 8.0, None, "letter"),
}
UNSCALED = ("ijcnn1",)
MOST_TEST_ROWS = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=None, help="most training rows")
    parser.add_argument("--double", action="store_true", help="float64 rows")
    options = parser.parse_args()
    try:
        from sklearnex.svm import SVC
    except ImportError:
        message = "This needs scikit-learn-intelex: pip install scikit-learn-intelex"
        raise SystemExit(message) from None
    print(f"{'':>12} {'support':>8} {'queries':>8} {'theirs s':>9} {'ours s':>8} {'ratio':>6} same")
    for name in options.set:
        C, gamma, rows, _ = SETTINGS[name]
        X, y, X_test = arrays(name, np.float64 if options.double else np.float32)
        kept = slice(min(filter(None, (rows, options.rows, len(X)))))
        X, y = X[kept], y[kept]
        theirs = SVC(C=C, gamma=gamma).fit(X, y)
        ours = same_model(theirs, C, gamma)
        seconds, labels = in_turns([theirs.predict, ours.predict], X_test, options.repeats)
        same = float(np.mean(labels[0] == labels[1]))
        print(
            f"{name:>12} {len(theirs.support_):>8} {len(X_test):>8} {seconds[0]:>9.4f} "
            f"{seconds[1]:>8.4f} {seconds[1] / seconds[0]:>6.2f} {same:.5f}",
            flush=True,
        )


def arrays(name: str, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return dense training rows, labels and test rows, scaled to [0, 1] by the training rows."""
    data = load(SETTINGS[name][3])
    X, X_test = (
        part.toarray() if hasattr(part, "toarray") else part for part in (data.X, data.X_test)
    )
    y = data.y
    if X_test is None:
        order = np.random.default_rng(0).permutation(len(y))
        cut = int(0.8 * len(y))
        X, y, X_test = X[order[:cut]], y[order[:cut]], X[order[cut:]]
    elif name == "mnist-3-8":
        chosen, chosen_test = np.isin(y, [3, 8]), np.isin(data.y_test, [3, 8])
        X, y, X_test = X[chosen], y[chosen], X_test[chosen_test]
    if name not in UNSCALED:
        low, high = X.min(axis=0), X.max(axis=0)
        span = np.where(high > low, high - low, 1)
        X, X_test = (X - low) / span, (X_test - low) / span
    X, X_test = (np.ascontiguousarray(part, dtype=dtype) for part in (X, X_test))
    return X, y, X_test[:MOST_TEST_ROWS]


def same_model(svc: Any, C: float, gamma: float) -> SVMClassifier:
    """Return an SVMClassifier that decides as a fitted SVC."""
    support = np.asarray(svc.support_vectors_)
    sizes = np.asarray(svc.n_support_)
    code = np.repeat(np.arange(len(sizes)), sizes)  # SVC sorts support vectors by class
    ours = SVMClassifier(C=C, gamma=gamma, multi_class="ovo", strategy="exact", max_iter=1)
    few = np.concatenate([np.flatnonzero(code == k)[:2] for k in range(len(sizes))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is only a shell
        ours.fit(support[few], svc.classes_[code[few]])
    theirs = np.asarray(svc.dual_coef_)
    if len(sizes) == 2:
        coef = theirs
    else:
        coef = np.zeros((len(sizes) * (len(sizes) - 1) // 2, len(code)))
        for row, (i, j) in zip(coef, combinations(range(len(sizes)), 2), strict=True):
            row[code == i] = theirs[j - 1, code == i]
            row[code == j] = theirs[i, code == j]
    ours.support_vectors_, ours.dual_coef_ = support, np.ascontiguousarray(coef, dtype=np.float64)
    ours.support_, ours.support_class_ = np.asarray(svc.support_), code.astype(np.int32)
    ours.n_support_, ours.intercept_ = sizes.astype(np.int32), np.asarray(svc.intercept_)
    return ours


def in_turns(
    predict: list[Callable[[np.ndarray], np.ndarray]], X: np.ndarray, repeats: int
) -> tuple[list[float], list[np.ndarray]]:
    """Return the best seconds and the labels of several ways to predict."""
    best, labels = [np.inf] * len(predict), [np.empty(0)] * len(predict)
    for _ in range(repeats):
        for k, function in enumerate(predict):
            start = time.perf_counter()
            labels[k] = function(X)
            best[k] = min(best[k], time.perf_counter() - start)
    return best, labels


if __name__ == "__main__":
    main()
