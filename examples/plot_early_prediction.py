"""
Early prediction: stop before the whole set
===========================================

DC-SVM divides the rows into clusters and can predict long before the whole problem is solved: each
row is classified by the model of its nearest cluster alone, which takes a fraction of the kernel
values that the whole model needs.

"""

# %%
# Half-moons, 16 clusters at level 2, four at level 1, the whole set at level 0.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from widemargin import Cascade, Clustered, SVMClassifier
from widemargin.inspection import (
    accuracy_over_time,
    fit_levels,
    support_vector_recall,
)

X, y = make_moons(3000, noise=0.25, random_state=0)
X_test, y_test = make_moons(10_000, noise=0.25, random_state=1)
options = {"C": 10.0, "gamma": 4.0, "tol": 1e-4, "random_state": 0}

models = list(fit_levels(SVMClassifier(strategy=Clustered(levels=2), **options), X, y))
exact = SVMClassifier(strategy="exact", **options).fit(X, y)
course = accuracy_over_time(models, X_test, y_test)
found = support_vector_recall(models, exact)
for k, parts in enumerate(course["parts"]):
    print(
        f"level {course['level'][k]}: {parts} parts, accuracy {course['accuracy'][k]:.4f}, "
        f"{found['recall'][k]:.0%} of the exact support vectors"
    )
print(f"exact: accuracy {exact.score(X_test, y_test):.4f}")

# %%
# The decision function of an unfinished level has seams where the region of one cluster ends and
# the next begins. Near the class boundary neighbouring models agree, so few predictions change.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", sharey=True)
for ax, model in zip(axes, models, strict=True):
    display = DecisionBoundaryDisplay.from_estimator(
        model,
        X,
        response_method="decision_function",
        plot_method="contourf",
        grid_resolution=250,
        eps=0.2,
        levels=np.linspace(-2.5, 2.5, 21),
        cmap="PuOr",
        extend="both",
        ax=ax,
    )
    ax.contour(display.xx0, display.xx1, display.response, levels=[0.0], colors="black")
    parts = model.history_["parts"][-1]
    title = "the whole set" if parts == 1 else f"{parts} clusters"
    ax.set(title=f"level {model.level_}: {title}", xlabel="feature 0", aspect="equal")
axes[0].set_ylabel("feature 1")
figure.colorbar(display.surface_, ax=axes, label="decision function", ticks=[-2, -1, 0, 1, 2])
plt.show()

# %%
# Early levels also show which rows will matter. Clusters find most of the support vectors of the
# whole problem, and correct errors at later levels. A cascade of random parts carries only support
# vectors to the next level, so a row that it misses once is lost.

cascade = fit_levels(SVMClassifier(strategy=Cascade(levels=2), **options), X, y)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for colour, (name, fitted) in enumerate({"DC-SVM": models, "Cascade SVM": cascade}.items()):
    table = support_vector_recall(fitted, exact)
    for share, line in {"recall": "o-", "precision": "o--"}.items():
        ax.plot(table["parts"], table[share], line, color=f"C{colour}", label=f"{name}: {share}")
ax.set_xscale("log", base=2)
ax.set_xticks(table["parts"], [str(parts) for parts in table["parts"]])
ax.invert_xaxis()
ax.set(ylim=(0, 1.02), xlabel="number of parts", ylabel="share of support vectors")
ax.legend(fontsize="small")
plt.show()

# %%
# To stop early in practice, set the level, or let validation rows decide: the fit continues while
# the score on them improves.

early = SVMClassifier(strategy=Clustered(levels=2, stop_level=2), **options).fit(X, y)
chosen = SVMClassifier(strategy=Clustered(levels=2, validation_fraction=0.2), **options).fit(X, y)
print(f"stopped by hand at level {early.level_}, by validation at level {chosen.level_}")
