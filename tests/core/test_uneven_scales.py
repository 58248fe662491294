"""The warning about features that hide all others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from widemargin import LinearSVMClassifier, MulticlassSVMClassifier, SVMClassifier
from widemargin.core.uneven_scales import dominating, scales_as_meant, warn_if_few_features_dominate


@pytest.mark.parametrize("kind", [SVMClassifier, LinearSVMClassifier, MulticlassSVMClassifier])
def test_features_have_the_names_of_the_frame(kind: type) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    message = "Features 'worst area' and 'mean area' carry 99.1. % of the variance of all 30 "
    with pytest.warns(UserWarning, match=message):
        kind(max_iter=1).fit(X, y)
    X, y = load_wine(return_X_y=True, as_frame=True)
    with pytest.warns(UserWarning, match="Feature 'proline' carries 99.77 %"):
        kind(max_iter=1).fit(X, y)


def test_features_without_names_have_numbers() -> None:
    X, _ = load_breast_cancer(return_X_y=True)
    for rows in (X, sp.csr_matrix(X)):
        with pytest.warns(UserWarning, match="Features 23 and 3 carry 99.1. % .* so nothing else"):
            warn_if_few_features_dominate(rows, "nothing else counts")


def test_what_is_not_warned_about() -> None:
    random = np.random.default_rng(0)
    pixels = load_digits().data
    indicators = (random.random((500, 60)) < random.random(60) ** 4).astype(float)
    counts = random.poisson(random.pareto(1.0, 200), (500, 200)).astype(float)
    two = random.normal(size=(100, 2)) * [1.0, 3.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (pixels, indicators, counts, two, np.ones((5, 4)), np.ones((1, 4))):
            warn_if_few_features_dominate(X, "nothing else counts")


def test_at_most_a_tenth_of_the_features() -> None:
    variance = np.full(20, 1e-6)
    variance[[3, 7]] = 1.0, 2.0
    assert dominating(variance) == "Features 7 and 3 carry 100 %"
    assert dominating(variance[:12]) is None
    assert dominating(np.array([1.0, 0.0])) is None
    assert dominating(np.array([1e-6, 1.0]), of=" of it") == "Feature 1 of it carries 100 %"


def test_scales_that_are_meant_are_no_warning(recwarn):
    X = np.random.default_rng(0).normal(size=(50, 12)) * np.r_[1e3, np.ones(11)]
    with scales_as_meant():
        warn_if_few_features_dominate(X, "nothing")
    assert not recwarn.list
    with pytest.warns(UserWarning, match="Scale the features first"):
        warn_if_few_features_dominate(X, "the others count for nothing")
