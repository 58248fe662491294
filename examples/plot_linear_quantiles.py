"""
A band of linear quantiles
==========================

Noise that grows with the target cannot be told by one line through the middle. Linear quantile
regression draws several: each has its share of the targets below it, and each is proved optimal.

"""

# %%
# A feature and its square, and noise that grows with it.

import matplotlib.pyplot as plt
import numpy as np

from widemargin import LinearQuantileSVMRegressor, LinearSVMRegressor

random = np.random.default_rng(0)
x = np.sort(random.uniform(0, 4, 2000))
y = 1000 + 30 * x + 10 * (1 + x) * random.standard_t(4, len(x))
X = np.column_stack([x, x**2])
X = (X - X.mean(axis=0)) / X.std(axis=0)

# %%
# Targets near a thousand need no preparation: a fit measures them from their middle.

axes = plt.subplots(layout="constrained")[1]
axes.plot(x, y, ".", markersize=2, color="0.7")
for quantile in (0.05, 0.25, 0.5, 0.75, 0.95):
    model = LinearQuantileSVMRegressor(quantile=quantile, C=10.0, tol=1e-4).fit(X, y)
    below = np.mean(y <= model.predict(X))
    print(f"quantile {quantile}: {below:.3f} below, relative gap {model.relative_gap_:.1e}")
    axes.plot(x, model.predict(X), label=f"{quantile}")
axes.set(xlabel="x", ylabel="target", ylim=(850, 1350), title="linear quantiles")
axes.legend()
plt.show()

# %%
# The ε-insensitive loss of support vector regression finds the middle, whatever the outliers.

middle = LinearSVMRegressor(C=10.0, epsilon=5.0).fit(X, y)
median = LinearQuantileSVMRegressor(C=10.0).fit(X, y)
print(f"largest difference: {np.abs(middle.predict(X) - median.predict(X)).max():.1f}")
