"""
A band that holds nine targets in ten
=====================================

:class:`~widemargin.QuantileSVMRegressor` learns a quantile of the targets at every point. Two of
them are a band whose width follows the noise; a regression of the mean says nothing about that.
"""

# %%
# A wave whose noise grows to the right, and is skewed: large deviations are upwards.

import matplotlib.pyplot as plt
import numpy as np

from widemargin import ODMRegressor, QuantileSVMRegressor

random = np.random.default_rng(0)


def draw(n_rows):
    """Draw rows and targets."""
    x = random.uniform(0, 10, n_rows)
    noise = random.gamma(1.5, 0.1 + 0.08 * x)
    return x[:, None], np.sin(x) + noise


X, y = draw(1500)
X_test, y_test = draw(5000)

# %%
# One fit per quantile, each solved to a certified gap.

models = {
    q: QuantileSVMRegressor(quantile=q, C=10.0, gamma=0.3).fit(X, y) for q in (0.05, 0.5, 0.95)
}
mean = ODMRegressor(C=10.0, gamma=0.3, theta=0.0).fit(X, y)
for q, model in models.items():
    below = np.mean(y_test <= model.predict(X_test))
    print(f"quantile {q}: {below:.3f} of fresh targets below, gap {model.relative_gap_:.0e}")

# %%
# The median lies below the mean, which a few large targets pull up.

grid = np.linspace(0, 10, 400)[:, None]
figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
axis.scatter(X[:, 0], y, s=6, color="0.7", label="training rows")
low, median, high = (models[q].predict(grid) for q in (0.05, 0.5, 0.95))
axis.fill_between(grid[:, 0], low, high, alpha=0.3, label="quantiles 0.05 to 0.95")
axis.plot(grid[:, 0], median, label="median")
axis.plot(grid[:, 0], mean.predict(grid), "--", label="mean (ODMRegressor, θ = 0)")
axis.set(xlabel="x", ylabel="target")
axis.legend()
plt.show()
