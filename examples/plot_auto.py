"""
Choosing a classifier automatically
===================================

``AutoClassifier`` prepares a table, races kernels and linear classifiers on few rows, goes on with
the better ones on more, and calibrates the winner. ``leaderboard_`` has all that it tried.
"""

# %%
# A table of twelve columns of which two matter, and only together: no column alone says anything
# about the class.

import matplotlib.pyplot as plt
import numpy as np

from widemargin import AutoClassifier
from widemargin.inspection import LeaderboardDisplay

random = np.random.default_rng(0)
X = random.normal(size=(1500, 12))
y = np.where(X[:, 3] * X[:, 7] > 0, "same sign", "opposite")
train, test = slice(0, 500), slice(500, None)

model = AutoClassifier(max_time=30, random_state=0).fit(X[train], y[train])
print(f"chosen: {model.leaderboard_['name'][0]}, {model.leaderboard_['params'][0]}")
print(f"accuracy in cross-validation {model.best_score_:.3f}, on fresh rows", end=" ")
print(f"{model.score(X[test], y[test]):.3f}")

# %%
# Left: every trial by its time, score and family; larger marks were trained on more rows. Families
# on features weighted by relevance are ahead here. Right: those weights; they find the two columns.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
LeaderboardDisplay.from_estimator(model, ax=axes[0])
weights = np.ones(12) if model.feature_weights_ is None else model.feature_weights_
axes[1].bar(np.arange(12), weights)
axes[1].set(xlabel="feature", ylabel="weight", xticks=np.arange(12))
plt.show()
