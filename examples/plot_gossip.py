"""
Sites that keep their rows: gossip over an unreliable network
=============================================================

Ten plants measure the same quantities and may not send their measurements anywhere. Most have seen
only one kind of outcome. Links lose a third of the messages, and two plants are down for a while.
They still end with the model of all rows together.

"""

# %%
# The rows are sorted by outcome, so that most plants have rows of one class only.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from widemargin import GossipClassifier, LinearSVMClassifier
from widemargin.gossip import Gadget, NetworkFaults
from widemargin.inspection import NetworkDisplay, PerformanceProfileDisplay

X, y = make_classification(
    6000, 20, n_informative=8, flip_y=0.1, weights=[0.7, 0.3], random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

rng = np.random.default_rng(0)
order = np.argsort(y_train + 0.3 * rng.normal(size=len(y_train)))
sites = np.empty(len(y_train), dtype=int)
sites[order] = np.arange(len(y_train)) * 10 // len(y_train)
for site in range(10):
    print(f"plant {site}: {np.mean(y_train[sites == site]):4.0%} of its rows are failures")

# %%
# The model of all rows together, and the models of single plants from their own rows.

C = 1.0 / (1e-3 * len(y_train))
pooled = LinearSVMClassifier(loss="hinge", C=C).fit(X_train, y_train)
print(f"all rows in one place: accuracy {pooled.score(X_test, y_test):.3f}")
for site in (3, 6):
    own = sites == site
    alone = LinearSVMClassifier(loss="hinge", C=10 * C).fit(X_train[own], y_train[own])
    print(f"plant {site} alone:        accuracy {alone.score(X_test, y_test):.3f}")

# %%
# Now the plants exchange messages. A third of them are lost, and plants 2 and 7 are down for a
# hundred rounds.

faults = NetworkFaults(
    loss=0.3,
    schedule=[(20, "crash", 2), (30, "crash", 7), (120, "return", 2), (130, "return", 7)],
)
settings = {"n_sites": 10, "topology": "ring", "C": C, "faults": faults, "random_state": 0}
model = GossipClassifier(**settings).fit(X_train, y_train, sites=sites)
scores = model.score_sites(X_test, y_test)
print(f"{model.n_iter_} rounds, {model.n_messages_} messages, {model.n_bytes_ / 1e6:.1f} MB")
print(f"accuracy {scores.min():.3f} to {scores.max():.3f}, certified gap {model.relative_gap_:.1e}")

# %%
# GADGET, the published method, averages models between gradient steps. With one exchange per step,
# the models of sites with different rows diverge as fast as the exchanges bring them together.

gadget = GossipClassifier(
    **settings, solver=Gadget(batch_size=32), stopping="never", max_iter=model.n_iter_
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that it has not converged, and why
    gadget.fit(X_train, y_train, sites=sites)

figure, axes = plt.subplots(1, 3, figsize=(13, 4))
for name, each, axis in (("consensus", model, axes[0]), ("GADGET", gadget, axes[1])):
    PerformanceProfileDisplay.from_estimator(each, ax=axis)
    axis.set_title(name)
    axis.set_ylim(0.4, 1.0)
NetworkDisplay.from_estimator(gadget, ax=axes[2])
axes[2].set_title("GADGET: how far each plant\nis from the mean model")
figure.tight_layout()
plt.show()
