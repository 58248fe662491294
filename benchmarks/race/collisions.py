"""Generated rows of any number, made block by block: eight measurements and ten functions of them.

The shape is that of SUSY, 18 features of simulated collisions. Two classes overlap: the label is
drawn with a probability that depends smoothly and non-linearly on the row, so that no classifier is
right more often than :func:`best_accuracy`, about .80. The first rows of a larger set are those of
a smaller one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

FEATURES = 18
MEASURED = 8
BLOCK_ROWS = 1 << 16
# Mean of the score, and its factor in the log-odds: classes of equal size, best accuracy .80.
CENTRE, STEEPNESS = 0.24, 1.8
# Mean and deviation of the derived features.
MEANS = np.array([1.25] * 4 + [0.0] * 3 + [1.13, 0.56, 6.38])
DEVIATIONS = np.array([0.66] * 4 + [1.0] * 3 + [0.85, 0.83, 1.71])


def blocks(rows: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield features as float32, labels 0 and 1, and the probability of label 1."""
    for number, first in enumerate(range(0, rows, BLOCK_ROWS)):
        random = np.random.default_rng([seed, number])
        measured = random.standard_normal((BLOCK_ROWS, MEASURED))
        chance = 1.0 / (1.0 + np.exp(-STEEPNESS * (_score(measured) - CENTRE)))
        label = (random.random(BLOCK_ROWS) < chance).astype(np.int8)
        here = slice(rows - first)
        yield _features(measured)[here], label[here], chance[here]


def collisions(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels in memory."""
    X, y, _ = zip(*blocks(rows, seed), strict=True)
    return np.concatenate(X), np.concatenate(y)


def best_accuracy(rows: int, seed: int) -> float:
    """Return the share of rows that the most probable label is expected to get right."""
    return float(sum(np.maximum(p, 1 - p).sum() for _, _, p in blocks(rows, seed)) / rows)


def written(folder: Path, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows on disk, mapped into memory, and labels; write them if they are not there.

    A file appears under its name once it is complete.
    """
    paths = [folder / f"collisions_{rows}_{seed}_{what}.npy" for what in ("X", "y")]
    if not all(path.exists() for path in paths):
        folder.mkdir(parents=True, exist_ok=True)
        parts = [path.with_suffix(".part.npy") for path in paths]
        X = np.lib.format.open_memmap(parts[0], "w+", np.float32, (rows, FEATURES))
        y = np.lib.format.open_memmap(parts[1], "w+", np.int8, (rows,))
        first = 0
        for features, label, _ in blocks(rows, seed):
            here = slice(first, first + len(label))
            X[here], y[here] = features, label
            first += len(label)
        X.flush(), y.flush()
        del X, y
        for part, path in zip(parts, paths, strict=True):
            os.replace(part, path)
    return np.load(paths[0], mmap_mode="r"), np.load(paths[1])


def _features(z: np.ndarray) -> np.ndarray:
    derived = np.column_stack(
        [
            *(np.hypot(z[:, i], z[:, i + 1]) for i in range(0, MEASURED, 2)),
            z[:, 0] * z[:, 2],
            z[:, 1] * z[:, 3],
            z[:, 4] * z[:, 6],
            np.abs(z[:, 0] - z[:, 4]),
            np.maximum(z[:, 5], z[:, 7]),
            np.abs(z).sum(axis=1),
        ]
    )
    return np.column_stack([z, (derived - MEANS) / DEVIATIONS]).astype(np.float32)


def _score(z: np.ndarray) -> np.ndarray:
    return np.asarray(
        1.2 * np.sin(1.5 * z[:, 0]) * z[:, 1]
        + 0.8 * (np.hypot(z[:, 2], z[:, 3]) - 1.25)
        + np.cos(1.2 * (z[:, 4] + z[:, 5]))
        + 0.5 * z[:, 6] * np.abs(z[:, 7])
        - 0.3 * z[:, 0]
    )
