"""
The margin distribution of ten classes
======================================

With several classes, the margin of a row is the score of its class minus the best other score.
:class:`~widemargin.MulticlassODMClassifier` fits all classes together so that margins are near 1;
multi-class SVMs only keep them from being small.

"""

# %%
# Handwritten digits, ten classes; half of the rows are held out for the pictures.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from widemargin import (
    MarginDistributionDisplay,
    MulticlassODMClassifier,
    MulticlassSVMClassifier,
)

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)

# %%
# The band of margins that cost nothing, 1 − θ to 1 + θ, is shaded. Crammer and Singer's SVM lets
# margins grow; the ODM draws them together from both sides.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
odm = MulticlassODMClassifier(C=1.0).fit(X_train, y_train)
svm = MulticlassSVMClassifier("cs", C=1.0).fit(X_train, y_train)
for model, wanted in ((odm, (0.8, 1.2)), (svm, None)):
    MarginDistributionDisplay.from_estimator(model, X_test, y_test, ax=axes[0], wanted=wanted)
    print(f"{type(model).__name__}: accuracy {model.score(X_test, y_test):.3f}")
axes[0].set_title("margins of test rows")

# %%
# Margins that are too large make the problem non-convex. The fit solves a series of convex
# problems, each to a certified gap; the objective falls from round to round, and the last problem
# certifies the model.

for C in (0.1, 1.0, 10.0):
    model = MulticlassODMClassifier(C=C).fit(X_train, y_train)
    axes[1].semilogy(model.objectives_ / model.objective_ - 1 + 1e-5, marker="o", label=f"C={C:g}")
    print(f"C={C:<4g} {model.n_rounds_} rounds, relative gap {model.relative_gap_:.1e}")
axes[1].set(xlabel="round", ylabel="objective, relative to the last, + 1e-5")
axes[1].legend()
plt.show()
