"""
Margin distributions, and what θ and υ do to them
=================================================

The margin of a row is its label (±1) times its decision: negative if the row is misclassified, and
larger the more confident the decision. :class:`~widemargin.MarginDistributionDisplay` draws the
distribution of margins and marks those that the loss does not penalise.

"""

# %%
# Breast cancer data, scaled; half of the rows are held out for the pictures.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import MarginDistributionDisplay, ODMClassifier, SVMClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# ODM concentrates the margins around 1; the SVM lets them grow. The display also accepts pipelines
# and any classifier with a decision function, such as scikit-learn's SVC.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for classifier in (ODMClassifier(C=4.0), SVMClassifier(C=4.0)):
    model = make_pipeline(StandardScaler(), classifier).fit(X_train, y_train)
    MarginDistributionDisplay.from_estimator(model, X_test, y_test, ax=axes[0])
axes[0].set_title("cumulative")
model = make_pipeline(StandardScaler(), ODMClassifier(C=4.0)).fit(X_train, y_train)
MarginDistributionDisplay.from_estimator(model, X_test, y_test, ax=axes[1], kind="both", bins=40)
axes[1].set_title("histogram and cumulative curve of ODM")
plt.show()

# %%
# ``theta`` is the deviation from 1 that costs nothing, so it sets the width of the band.
# ``upsilon`` is the weight of margins above the band relative to those below: with a small value
# large margins may grow; with 1 they are penalised as strongly as small ones.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
for ax, parameter, values in (
    (axes[0], "theta", (0.0, 0.2, 0.6)),
    (axes[1], "upsilon", (0.01, 0.1, 1.0)),
):
    for value in values:
        model = make_pipeline(StandardScaler(), ODMClassifier(C=4.0, **{parameter: value}))
        model.fit(X_train, y_train)
        MarginDistributionDisplay.from_estimator(
            model,
            X_test,
            y_test,
            ax=ax,
            name=f"{parameter}={value:g}",
            wanted="auto" if parameter == "theta" else None,
        )
    ax.set_title(f"effect of {parameter}")
plt.show()
