"""Texts of thousands of classes that need no download, made like those of the LSHTC corpora.

Sizes of classes follow a power law. A class has words of its own and shares others with its family
of ten classes, which is what makes neighbours hard to tell apart; the rest of a text is background.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.datasets import DataSet

ROWS, TEST_ROWS, FEATURES = 20_000, 5_000, 50_000
# Frequencies are proportional to (rank + offset) ** -power: of words, of classes, of topic words.
WORD_POWER, WORD_OFFSET = 1.1, 20.0
CLASS_POWER, CLASS_OFFSET = 1.2, 10.0
TOPIC_POWER, TOPIC_OFFSET = 0.7, 1.0
FAMILY_CLASSES = 10
CLASS_WORDS, FAMILY_WORDS = 40, 150
# Where a word comes from; the rest is background.
CLASS_SHARE, FAMILY_SHARE = 0.04, 0.15
# Natural logarithm of a text's length: mean and deviation.
LENGTH_MEAN, LENGTH_DEVIATION = 4.0, 0.6
SHORTEST = 5


def generate(
    classes: int, rows: int = ROWS, test_rows: int = TEST_ROWS, features: int = FEATURES
) -> DataSet:
    """Return texts as tf-idf rows of unit length, float32, with classes 0 to ``classes`` - 1.

    Every class has a training row; the others and the test rows are drawn from the power law.
    Inverse document frequencies are those of the training rows. The same at every call.
    """
    random = np.random.default_rng(classes)
    spare = random.choice(classes, rows - classes, p=_shares(classes, CLASS_POWER, CLASS_OFFSET))
    y = random.permutation(np.concatenate([np.arange(classes), spare]))
    y_test = random.choice(classes, test_rows, p=_shares(classes, CLASS_POWER, CLASS_OFFSET))
    topics = _topics(random, classes, CLASS_WORDS, features)
    families = _topics(random, -(-classes // FAMILY_CLASSES), FAMILY_WORDS, features)
    family_of = random.permutation(classes) // FAMILY_CLASSES

    def texts(labels: np.ndarray) -> sp.csr_matrix:
        drawn = random.lognormal(LENGTH_MEAN, LENGTH_DEVIATION, len(labels))
        lengths = np.maximum(drawn.astype(np.int64), SHORTEST)
        label = np.repeat(labels, lengths)
        source = random.random(len(label))
        word = _drawn(random, len(label), features, WORD_POWER, WORD_OFFSET)
        own = source < CLASS_SHARE
        word[own] = _topic_words(random, topics, label[own])
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
