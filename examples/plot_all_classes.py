"""
All classes in one problem
==========================

With several classes, a kernel machine usually solves binary problems: a class against the rest, or
pairs of classes. ``multi_class="ww"`` and ``"cs"`` of :class:`~widemargin.SVMClassifier`, and
``"all"`` of :class:`~widemargin.ODMClassifier`, learn a function for every class in one certified
problem.

"""

# %%
# Three classes in a row. No line separates the one in the middle from the rest, so that one-vs-rest
# with a linear kernel loses a part of it to its neighbours. Functions that are learnt together only
# have to be the largest of the three where their class is.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import train_test_split

from widemargin import ODMClassifier, SVMClassifier

X, y = make_blobs(300, centers=[[-4, -1], [0, 0], [4, 1]], cluster_std=0.8, random_state=0)
grid_x, grid_y = np.meshgrid(np.linspace(-7, 7, 200), np.linspace(-4, 4, 120))
grid = np.column_stack([grid_x.ravel(), grid_y.ravel()])

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), sharey=True, layout="constrained")
for ax, (kind, scheme) in zip(
    axes, ((SVMClassifier, "ovr"), (SVMClassifier, "ww"), (ODMClassifier, "all")), strict=True
):
    model = kind("linear", C=1.0, multi_class=scheme, fit_intercept=True).fit(X, y)
    ax.contourf(grid_x, grid_y, model.predict(grid).reshape(grid_x.shape), levels=2, alpha=0.3)
    ax.scatter(*X.T, c=y, s=8)
    ax.set_title(f'{kind.__name__}, "{scheme}": {model.score(X, y):.1%} right')
plt.show()

# %%
# With an rbf kernel binary problems are as accurate. One problem of all classes keeps
# fewer rows as support vectors, each with one coefficient for every class.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
for kind, schemes in ((SVMClassifier, ("ovr", "ovo", "ww", "cs")), (ODMClassifier, ("ovr", "all"))):
    for scheme in schemes:
        model = kind(C=4.0, multi_class=scheme).fit(X_train, y_train)
        print(
            f"{kind.__name__} {scheme:>3}: accuracy {model.score(X_test, y_test):.3f}, "
            f"{len(model.support_):>5} support vectors, relative gap {model.relative_gap_:.0e}"
        )
