"""
Searching C and gamma: the whole table in one picture
=====================================================

``ODMClassifierCV`` scores every pair of C and gamma on every fold and keeps the scores, so that the
best pair can be compared with the pairs that are nearly as good.

"""

# %%
# Two overlapping half-moons. ``Cs`` and ``gammas`` may be numbers of values, between 0.01 and 1,000
# and around "scale"; here both are lists, to draw a finer grid.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from widemargin import ODMClassifierCV

X, y = make_moons(600, noise=0.3, random_state=0)
X_test, y_test = make_moons(5000, noise=0.3, random_state=1)

search = ODMClassifierCV(Cs=np.geomspace(0.01, 1000, 11), gammas=np.geomspace(0.03, 30, 7))
search.fit(X, y)
print(
    f"best: C={search.C_:.3g}, gamma={search.gamma_:.3g}, accuracy {search.best_score_:.3f} in "
    f"cross-validation, {search.score(X_test, y_test):.3f} on fresh rows"
)

# %%
# ``scores_`` has one entry per gamma, C and fold. Left: the mean over the folds. Good pairs lie on
# a ridge, since a narrower kernel (larger gamma) fits as closely with a smaller C. Right: the
# individual folds for the best gamma. They differ more than neighbouring values of C do, so the
# exact value matters little.


def edges(values: np.ndarray) -> np.ndarray:
    """Bounds of cells around evenly spaced values of a logarithmic axis."""
    half = np.sqrt(values[1] / values[0])
    return np.append(values / half, values[-1] * half)


mean = search.scores_.mean(axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
mesh = axes[0].pcolormesh(edges(search.Cs_), edges(search.gammas_), mean, vmin=mean.max() - 0.1)
axes[0].plot(search.C_, search.gamma_, "o", color="white", markeredgecolor="black", label="best")
axes[0].set(xscale="log", yscale="log", xlabel="C", ylabel="gamma", title="mean accuracy")
axes[0].legend()
figure.colorbar(mesh, ax=axes[0], extend="min")

best = np.flatnonzero(search.gammas_ == search.gamma_)[0]
axes[1].plot(search.Cs_, search.scores_[best], color="0.7", linewidth=1.0)
axes[1].plot(search.Cs_, mean[best], color="C0", marker="o", label="mean of the folds")
axes[1].axvline(search.C_, color="black", linestyle="--", linewidth=1.0, label="best C")
axes[1].set(xscale="log", xlabel="C", ylabel="accuracy", title=f"gamma = {search.gamma_:.3g}")
axes[1].legend()
plt.show()
