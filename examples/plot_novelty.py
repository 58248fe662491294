"""
Novelty: where do rows usually lie?
===================================

``OneClassSVM`` learns from rows without labels where most of them lie. ``nu`` is the share of the
training rows that may stay outside, and every fit is certified.
"""

# %%
# Two half moons, with a few rows strewn over the plane.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from widemargin import OneClassSVM

random = np.random.default_rng(0)
moons, _ = make_moons(2000, noise=0.08, random_state=0)
strewn = random.uniform([-1.8, -1.3], [2.8, 1.8], size=(100, 2))
X = np.vstack([moons, strewn])

# %%
# The border is where the decision function is zero. A larger ``nu`` leaves more rows outside, a
# larger ``gamma`` follows them more closely.

grid_x, grid_y = np.meshgrid(np.linspace(-1.8, 2.8, 200), np.linspace(-1.3, 1.8, 150))
grid = np.column_stack([grid_x.ravel(), grid_y.ravel()])
settings = [(0.05, 3.0), (0.2, 3.0), (0.05, 30.0)]

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True, layout="constrained")
for ax, (nu, gamma) in zip(axes, settings, strict=True):
    model = OneClassSVM(nu=nu, gamma=gamma).fit(X)
    decision = model.decision_function(grid).reshape(grid_x.shape) / model.offset_
    inside = model.predict(X) == 1
    ax.contourf(grid_x, grid_y, decision, levels=20, cmap="Blues", alpha=0.7)
    ax.contour(grid_x, grid_y, decision, levels=[0.0], colors="black")
    ax.scatter(*X[inside].T, s=3, color="tab:blue")
    ax.scatter(*X[~inside].T, s=6, color="tab:red")
    ax.set(title=f"nu = {nu}, gamma = {gamma:g}: {np.mean(~inside):.1%} outside")
    print(
        f"nu {nu}, gamma {gamma:g}: {np.mean(~inside):.1%} outside, {len(model.support_)} support "
        f"vectors, relative gap {model.relative_gap_:.1e}"
    )
plt.show()

# %%
# Scores rank rows. Those that were strewn mostly come first, the lowest score of all first.

model = OneClassSVM(nu=0.05, gamma=3.0).fit(X)
first = np.argsort(model.score_samples(X))[:50]
print(f"{np.mean(first >= len(moons)):.0%} of the 50 rows of the lowest scores were strewn")
