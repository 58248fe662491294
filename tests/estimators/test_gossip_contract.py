"""GossipClassifier keeps scikit-learn's contract, without exceptions."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import GossipClassifier
from widemargin.gossip import Consensus, Gadget, NetworkFaults, Tracking

CHECKED = [
    GossipClassifier(),
    GossipClassifier(loss="odm", topology="complete", solver=Consensus(epochs=2)),
    GossipClassifier(solver="gadget"),
    GossipClassifier(loss="squared_hinge", solver=Gadget(batch_size=None), exchanges=5),
    GossipClassifier(solver="tracking"),
    GossipClassifier(loss="odm", solver=Tracking(step=0.5), faults=NetworkFaults(loss=0.2)),
    GossipClassifier(asynchronous=True, partners="one", faults=NetworkFaults(delay=2)),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]
