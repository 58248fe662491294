"""Data sets that need no download; the same arguments give the same rows.

* :func:`topics`: texts of thousands of classes, like those of the LSHTC corpora.
* :func:`words`: a large sparse set with labels of a linear rule.
* :func:`indicators`: categories as columns of zeros and ones.
* :func:`waves`: dense rows with labels of a smooth function.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from .data import DataSet

# Frequencies are proportional to (rank + offset) ** -power: of words, of classes, of topic words.
WORD_POWER, WORD_OFFSET = 1.1, 20.0
CLASS_POWER, CLASS_OFFSET = 1.2, 10.0
TOPIC_POWER, TOPIC_OFFSET = 0.7, 1.0

# ------------------------------------------------------------------------------------ topics

TOPIC_ROWS, TOPIC_TEST_ROWS, TOPIC_FEATURES = 20_000, 5_000, 50_000

FAMILY_CLASSES = 10
CLASS_WORDS, FAMILY_WORDS = 40, 150
# Where a word comes from; the rest is background.
CLASS_SHARE, FAMILY_SHARE = 0.04, 0.15
# Natural logarithm of a text's length: mean and deviation.
LENGTH_MEAN, LENGTH_DEVIATION = 4.0, 0.6
SHORTEST = 5


def topics(
    classes: int,
    rows: int = TOPIC_ROWS,
    test_rows: int = TOPIC_TEST_ROWS,
    features: int = TOPIC_FEATURES,
    length_mean: float = LENGTH_MEAN,
) -> DataSet:
    """Return texts as tf-idf rows of unit length, float32, with classes 0 to ``classes`` - 1.

    Sizes of classes follow a power law. A class has words of its own and shares others with its
    family of ten classes, which makes neighbours hard to distinguish; the rest of a text is
    background. Every class has a training row; the others and the test rows are drawn from the
    power law. Inverse document frequencies are those of the training rows.
    """
    random = np.random.default_rng(classes)
    spare = random.choice(classes, rows - classes, p=_shares(classes, CLASS_POWER, CLASS_OFFSET))
    y = random.permutation(np.concatenate([np.arange(classes), spare]))
    y_test = random.choice(classes, test_rows, p=_shares(classes, CLASS_POWER, CLASS_OFFSET))
    own_words = _topics(random, classes, CLASS_WORDS, features)
    families = _topics(random, -(-classes // FAMILY_CLASSES), FAMILY_WORDS, features)
    family_of = random.permutation(classes) // FAMILY_CLASSES

    def texts(labels: np.ndarray) -> sp.csr_matrix:
        drawn = random.lognormal(length_mean, LENGTH_DEVIATION, len(labels))
        lengths = np.maximum(drawn.astype(np.int64), SHORTEST)
        label = np.repeat(labels, lengths)
        source = random.random(len(label))
        word = _drawn(random, len(label), features, WORD_POWER, WORD_OFFSET)
        own = source < CLASS_SHARE
        word[own] = _topic_words(random, own_words, label[own])
        shared = ~own & (source < CLASS_SHARE + FAMILY_SHARE)
        word[shared] = _topic_words(random, families, family_of[label[shared]])
        starts = np.concatenate([[0], np.cumsum(lengths)])
        ones = np.ones(len(word), dtype=np.float32)
        X = sp.csr_matrix((ones, word.astype(np.int32), starts), shape=(len(labels), features))
        X.sum_duplicates()
        return X

    weighting = TfidfTransformer(sublinear_tf=True)
    X = weighting.fit_transform(texts(y)).astype(np.float32)
    X_test = weighting.transform(texts(y_test)).astype(np.float32)
    return DataSet(X, y, X_test, y_test)


def _shares(count: int, power: float, offset: float) -> np.ndarray:
    frequency = (np.arange(count) + offset) ** -power
    return np.asarray(frequency / frequency.sum())


def _drawn(
    random: np.random.Generator, size: int, count: int, power: float, offset: float
) -> np.ndarray:
    """Draw ranks below ``count`` by a power law."""
    limits = np.cumsum(_shares(count, power, offset))
    return np.minimum(np.searchsorted(limits, random.random(size)), count - 1)


def _topics(random: np.random.Generator, count: int, words: int, features: int) -> np.ndarray:
    """Draw the words of topics, frequent ones more often, the most important first."""
    drawn = _drawn(random, count * words, features, WORD_POWER, WORD_OFFSET)
    return drawn.reshape(count, words)


def _topic_words(random: np.random.Generator, topics: np.ndarray, which: np.ndarray) -> np.ndarray:
    place = _drawn(random, len(which), topics.shape[1], TOPIC_POWER, TOPIC_OFFSET)
    return np.asarray(topics[which, place])


# ------------------------------------------------------------------------------------- words

WORDS_ROWS, WORDS_FEATURES = 200_000, 50_000

DRAWS = 80  # features drawn for a row; some are drawn twice
RELEVANT = 5_000
NOISE, FLIPPED = 0.3, 0.02


def words(
    rows: int = WORDS_ROWS, features: int = WORDS_FEATURES
) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return rows of unit length, float32, and labels ±1.

    The label is the sign of a linear function of a tenth of the features, with Gaussian noise (0.3
    of the function's deviation), centred so that both classes are equally frequent; 2 % of the
    labels are flipped.
    """
    random = np.random.default_rng(0)
    frequency = np.cumsum((np.arange(features) + WORD_OFFSET) ** -WORD_POWER)
    drawn = np.searchsorted(frequency, random.random(rows * DRAWS) * frequency[-1])
    values = random.exponential(size=rows * DRAWS).astype(np.float32)
    starts = np.arange(0, rows * DRAWS + 1, DRAWS)
    X = sp.csr_matrix((values, drawn.astype(np.int32), starts), shape=(rows, features))
    X.sum_duplicates()
    X = normalize(X)
    rule = np.zeros(features)
    relevant = random.choice(features, min(RELEVANT, features // 10), replace=False)
    rule[relevant] = random.standard_normal(len(relevant))
    score = X @ rule
    score += NOISE * score.std() * random.standard_normal(rows)
    label = np.where(score > np.median(score), 1, -1)
    label[random.random(rows) < FLIPPED] *= -1
    return X, label


# -------------------------------------------------------------------------------- indicators


def indicators(rows: int, columns: int, features: int) -> sp.csr_matrix:
    """Return an indicator for each of ``columns`` categories a row has, float32.

    The features are dealt out evenly to the columns; the i-th value of a column is about i times
    rarer than the first.
    """
    random = np.random.default_rng(0)
    first = np.arange(columns) * features // columns
    levels = np.diff(first, append=features)
    drawn = np.floor(levels ** random.random((rows, columns))).astype(np.int32) - 1
    starts = np.arange(0, rows * columns + 1, columns)
    ones = np.ones(rows * columns, dtype=np.float32)
    return sp.csr_matrix((ones, (drawn + first).ravel(), starts), shape=(rows, features))


# ------------------------------------------------------------------------------------- waves


def waves(rows: int, seed: int, features: int = 18) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows whose label is the sign of a smooth random function, 5 % flipped."""
    shape = np.random.default_rng(12345)
    waves, phase = shape.normal(size=(features, 40)) / 3.0, shape.uniform(0, 2 * np.pi, 40)
    height = shape.normal(size=40)
    random = np.random.default_rng([seed, rows])
    X = random.normal(size=(rows, features)).astype(np.float32)
    y = np.where(np.cos(X @ waves.astype(np.float32) + phase) @ height > 0, 1, -1)
    flipped = random.random(rows) < 0.05
    return X, np.where(flipped, -y, y)
