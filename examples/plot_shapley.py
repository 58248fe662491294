"""
Which features decided
======================

A kernel machine weighs all features at once. Shapley values divide its decision about a row among
the features: they sum to the decision, minus a base value that belongs to no feature. For the
kernels ``"rbf"`` and ``"laplacian"``, :func:`~widemargin.inspection.shapley_values` computes them
exactly, in time polynomial in the number of features.

The rows are tumours, described by 30 measurements of cells; class 1 is benign.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import ODMClassifier
from widemargin.inspection import ShapleyDisplay, shapley_values

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), ODMClassifier(C=8.0)).fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}")

# %%
# What a feature adds is judged against what it might have been. ``background`` gives rows for that:
# features that do not take part have the values of these rows. The base value is then the mean
# decision about them.

found = shapley_values(model, X_test, background=X_train[::10])
total = found.base_values + found.values.sum(axis=1)
print(f"largest error {np.abs(total - model.decision_function(X_test)).max():.0e}")

# %%
# Every mark is a row. On the left are features that speak for a malignant tumour. High values of
# the worst texture and radius do so, low ones speak for a benign one.

display = ShapleyDisplay.from_values(found, max_features=10)
display.figure_.set_size_inches(8, 4.5)
display.figure_.tight_layout()

# %%
# One row, from the base value to its decision: the row that the model is least sure of.

unsure = int(np.argmin(np.abs(model.decision_function(X_test))))
_, axes = plt.subplots(figsize=(8, 4.5))
ShapleyDisplay.from_values(found, kind="waterfall", row=unsure, max_features=10, ax=axes)
plt.tight_layout()
plt.show()
