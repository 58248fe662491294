"""Divided fits of sets that an exact solver cannot afford: time, memory, accuracy.

WIDEMARGIN_DATA=... python -m benchmarks.speed.large_sets covtype
python -m benchmarks.speed.large_sets scaling [--rows 100000 1000000]

``covtype``: DC-SVM early on all 464,810 training rows (80 %) of covtype_binary, C = 32, γ = 32,
against scikit-learn's SVC on 20,000 of them. ``scaling``: SODM on generated rows × 18, parts of
2,000 rows, stopped at the leaves; prediction apart, as fitted and compressed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.svm import SVC

from benchmarks.race.data import random_split, whole_set
from benchmarks.race.generated import waves
from benchmarks.race.processes import peak_mb
from widemargin import Clustered, ODMClassifier, Stratified, SVMClassifier

PART_ROWS, TEST_ROWS, BASIS = 2000, 20_000, 2000
# The papers' scale: with it a part of a given size is the same problem however large the set is.
LAM = 64_000.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["covtype", "scaling"])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    options = parser.parse_args()
    if options.what == "covtype":
        covtype()
    else:
        scaling(options.rows)


def covtype() -> None:
    """Print DC-SVM early on the whole set beside SVC on a part of it."""
    split = random_split(*whole_set("covtype_binary"), 0)
    some = np.random.default_rng(0).choice(len(split.y), 20_000, replace=False)
    peer = SVC(C=32.0, gamma=32.0, cache_size=2000)
    start = time.perf_counter()
    peer.fit(split.X[some], split.y[some])
    peer_seconds = time.perf_counter() - start
    print(f"SVC on 20,000 rows: {peer_seconds:.1f} s", flush=True)
    for levels in (3, 4):
        strategy = Clustered(levels, 4, levels)
        model = SVMClassifier(C=32.0, gamma=32.0, strategy=strategy, random_state=0)
        start = time.perf_counter()
        model.fit(split.X, split.y)
        seconds = time.perf_counter() - start
        accuracy = model.score(split.X_test, split.y_test)
        print(
            f"DC-SVM early, {4**levels} clusters, {len(split.y):,} rows: {seconds:.1f} s "
            f"({seconds / peer_seconds:.2f} of SVC's time), accuracy {accuracy:.4f}, "
            f"peak memory {peak_mb() / 1e3:.2f} GB",
            flush=True,
        )


def scaling(sizes: list[int]) -> None:
    """Print SODM's time, memory and accuracy on ever more rows."""
    first = None
    X_test, y_test = waves(TEST_ROWS, 1)
    for rows in sizes:
        X, y = waves(rows, 0)
        strategy = Stratified(1, rows // PART_ROWS, 1)
        model = ODMClassifier(lam=LAM, gamma=0.05, strategy=strategy, random_state=0)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        first = first or seconds
        print(
            f"SODM, {rows:,} rows in {rows // PART_ROWS} parts: {seconds:.1f} s "
            f"({seconds / first:.1f}x), peak memory {peak_mb() / 1e3:.2f} GB",
            flush=True,
        )
        start = time.perf_counter()
        small = model.compress(BASIS)
        compressing = time.perf_counter() - start
        for text, each in (("as fitted", model), (f"compressed in {compressing:.1f} s", small)):
            start = time.perf_counter()
            accuracy = each.score(X_test, y_test)
            micro = 1e6 * (time.perf_counter() - start) / TEST_ROWS
            print(
                f"    {text}: {len(each.support_):,} vectors, accuracy {accuracy:.4f}, "
                f"{micro:.1f} µs per row",
                flush=True,
            )


if __name__ == "__main__":
    main()
