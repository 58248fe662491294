"""
Decision boundaries: SVM and ODM
================================

An SVM penalises margins below 1 and ignores how large the others are. The optimal margin
distribution machine (ODM) keeps margins near 1: it penalises margins that are too small and, with
less weight, those that are too large. Here both use the same rows, kernel and ``C``.

"""

# %%
# Two interleaved half-moons that overlap.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from widemargin import ODMClassifier, SVMClassifier

X, y = make_moons(400, noise=0.3, random_state=0)
X_test, y_test = make_moons(5000, noise=0.3, random_state=1)

# %%
# Both are trained to a certified relative gap of at most ``tol``, here the default 1e-3. The
# accuracy is measured on new rows.

models = {
    "SVM": SVMClassifier(C=10.0, gamma=2.0).fit(X, y),
    "ODM": ODMClassifier(C=10.0, gamma=2.0).fit(X, y),
}
for name, model in models.items():
    print(
        f"{name}: relative gap {model.relative_gap_:.0e}, {len(model.support_)} support vectors, "
        f"accuracy {model.score(X_test, y_test):.3f}"
    )

# %%
# Colours show the decision function, the black line is where it is zero, and the dotted lines are
# where it is ±1. The SVM's decision function rises well above 1 among easy rows; the ODM's stays as
# close to ±1 as the kernel allows wherever there are rows.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    display = DecisionBoundaryDisplay.from_estimator(
        model,
        X,
        response_method="decision_function",
        plot_method="contourf",
        grid_resolution=300,
        eps=0.3,
        levels=np.linspace(-2.5, 2.5, 21),
        cmap="RdBu_r",
        extend="both",
        alpha=0.9,
        ax=ax,
    )
    ax.contour(
        display.xx0,
        display.xx1,
        display.response,
        levels=[-1.0, 0.0, 1.0],
        colors="black",
        linewidths=[0.8, 1.6, 0.8],
        linestyles=["dotted", "solid", "dotted"],
    )
    ax.scatter(*X.T, c=y, cmap="RdBu_r", edgecolors="white", linewidths=0.5, s=16)
    accuracy = model.score(X_test, y_test)
    ax.set(title=f"{name}: accuracy {accuracy:.3f}", xlabel="feature 0", aspect="equal")
axes[0].set_ylabel("feature 1")
figure.colorbar(display.surface_, ax=axes, label="decision function", ticks=[-2, -1, 0, 1, 2])
plt.show()
