"""
Solvers of linear problems
==========================

The linear classifiers have several solvers for one problem. Their costs differ: a pass of Newton's
method over all rows replaces many cheap steps on single rows. ``history_`` counts the *gradients of
single rows* that each evaluates, which measures the work independently of the machine's speed.

"""

# %%
# Even against odd digits, with the products of neighbouring pixels as additional features.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from widemargin import LinearODMClassifier

images, digit = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8) / 16
products = [images[:, :, 1:] * images[:, :, :-1], images[:, 1:] * images[:, :-1]]
X = np.column_stack([each.reshape(len(digit), -1) for each in (images, *products)])
y = digit % 2
print(X.shape)

# %%
# All solvers approach the same optimum and prove how far they are from it. Gradient steps of
# shrinking length (Pegasos) reach a rough solution quickly and are slow from there; variance
# reduction (SVRG, and DSVRG on parts of the rows) continues at the same rate.

axes = plt.subplots(layout="constrained")[1]
for solver in ("newton", "dual", "svrg", "dsvrg", "sampled_svrg", "pegasos"):
    model = LinearODMClassifier(solver=solver, tol=1e-6, max_iter=300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # Pegasos stops at `max_iter`
        model.fit(X, y)
    history = model.history_
    passes = history["gradient_evaluations"] / len(y)
    axes.loglog(passes, history["relative_gap"], label=solver)
    print(f"{solver}: {passes[-1]:.0f} passes, relative gap {model.relative_gap_:.1e}")
axes.set(xlabel="gradients of single rows / rows", ylabel="relative gap", title="solvers")
axes.legend()
plt.show()

# %%
# Rows that come in batches and are not kept: ``partial_fit`` summarises them by the second
# derivatives of their loss, and one pass comes close to the optimum over all rows.

best = LinearODMClassifier(tol=1e-8).fit(X, y)
axes = plt.subplots(layout="constrained")[1]
for n_batches in (5, 20, 80):
    model, seen, scores = LinearODMClassifier(), [], []
    for rows in np.array_split(np.random.default_rng(0).permutation(len(y)), n_batches):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
        seen.append(model.n_samples_seen_)
        scores.append(model.score(X, y))
    axes.plot(seen, scores, label=f"{n_batches} batches")
axes.axhline(best.score(X, y), color="0.5", linestyle="--", linewidth=1.0, label="fit")
axes.set(xlabel="rows seen", ylabel="accuracy on all rows", title="partial_fit")
axes.legend()
plt.show()
