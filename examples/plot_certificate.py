"""
The certificate: how the duality gap shrinks
============================================

A fit ends when the *relative duality gap* (P − D) / P is at most ``tol``. The gap bounds how much
the objective could still decrease, so its final value, ``relative_gap_``, is a proof of quality.
``history_`` records the gap during the fit.

"""

# %%
# A noisy problem of 4,000 rows, solved with all three losses by coordinate descent.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from widemargin import ODMClassifier, SVMClassifier

X, y = make_classification(4000, n_features=10, n_informative=6, flip_y=0.05, random_state=0)
X = StandardScaler().fit_transform(X)

options = {"C": 4.0, "tol": 1e-4, "solver": "coordinate", "random_state": 0}
models = {
    "ODM": ODMClassifier(**options),
    "SVM, hinge": SVMClassifier(**options),
    "SVM, squared hinge": SVMClassifier(loss="squared_hinge", **options),
}

# %%
# An iteration is one working set of rows. Kernel values are computed once and kept, so the number
# of *passes* (kernel values computed, over rows squared) measures the work independently of the
# speed of the machine. The right picture shows the objectives of one fit: the primal objective P
# falls, though not monotonically, the dual objective D rises, and the optimum lies in between.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for name, model in models.items():
    model.fit(X, y)
    print(f"{name}: {model.n_iter_} iterations, relative gap {model.relative_gap_:.1e}")
    axes[0].semilogy(model.history_["passes"], model.history_["relative_gap"], label=name)
axes[0].axhline(1e-4, color="0.5", linestyle="--", linewidth=1.0, label="tol")
axes[0].set(xlabel="passes over the kernel matrix", ylabel="relative gap", title="certificate")
axes[0].legend()

history = models["ODM"].history_
axes[1].plot(history["iteration"], history["primal"], label="primal P")
axes[1].plot(history["iteration"], history["dual"], label="dual D")
axes[1].fill_between(history["iteration"], history["dual"], history["primal"], alpha=0.15)
axes[1].set(xlabel="iteration", ylabel="objective", title="ODM", ylim=(0, None))
axes[1].legend()
plt.show()
