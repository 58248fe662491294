"""
Accuracy over time, level by level
==================================

A divided fit yields a model at every level: from the leaves, which are fast, to the root, which is
exact for the methods that carry every dual. This example compares the eight methods, four divisions
with two losses each.

"""

# %%
# A blurred checkerboard of 10 × 10 squares. A leaf of 62 rows that has to represent the whole board
# has less than one row per square: a hard case for small copies.

import matplotlib.pyplot as plt
import numpy as np

from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.inspection import LevelsDisplay


def checkerboard(rows, seed):
    """Draw rows from a board whose squares alternate in class and blur at their edges."""
    random = np.random.default_rng(seed)
    X = random.uniform(0.0, 10.0, (rows, 2))
    y = np.floor(X).sum(axis=1) % 2
    return X + random.normal(0.0, 0.04, X.shape), y


X, y = checkerboard(4000, seed=0)
X_test, y_test = checkerboard(5000, seed=1)

# %%
# Points are levels; their numbers count the divisions, so 3 stands for the 64 leaves and 0 for the
# whole set. In :func:`~widemargin.inspection.fit_levels`, which the display uses, every level
# starts from the one before. The black point is the exact solver without any division.

options = {"C": 32.0, "gamma": 8.0, "random_state": 0}
names = {
    SVMClassifier: ("Ca-SVM", "DiP-SVM", "SSVM", "DC-SVM"),
    ODMClassifier: ("Ca-ODM", "DiP-ODM", "SODM", "DC-ODM"),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained", sharey=True)
for ax, (classifier, methods) in zip(axes, names.items(), strict=True):
    for strategy, name in zip((Cascade, Preserving, Stratified, Clustered), methods, strict=True):
        model = classifier(strategy=strategy(levels=3), **options)
        LevelsDisplay.from_estimator(model, X, y, X_test, y_test, name=name, ax=ax)
    exact = classifier(strategy="exact", **options).fit(X, y)
    LevelsDisplay.from_models(
        [exact],
        X_test,
        y_test,
        name="exact",
        ax=ax,
        line_kw={"color": "black", "marker": "*", "markersize": 12},
    )
    ax.set_title(classifier.__name__)
plt.show()

# %%
# Clusters (DC) are accurate from the start, because each contains every row of its region. The
# means of small copies (SODM, SSVM, Cascade, DiP) begin lower and improve as parts grow. SSVM, SODM
# and both DC methods end at the exact solution; Cascade and DiP drop rows along the way and need
# not. At this size the exact solver is faster than any level of similar accuracy: division pays off
# on sets that are too large for the exact solver, where there is time for early levels only.
