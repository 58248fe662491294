"""
Many classes of text: four multi-class machines
===============================================

Which module does a documented function belong to? The docstrings of SciPy, scikit-learn and NumPy
are a text collection available wherever this library runs: dozens of classes of very uneven size,
and sparse features.

"""

# %%
# Every public function and class with a docstring becomes a row; its class is the module that
# documents it.

import importlib
import inspect
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from widemargin import MulticlassSVMClassifier

MODULES = {
    "numpy": "fft linalg ma polynomial random",
    "scipy": "cluster.hierarchy cluster.vq fft fftpack integrate interpolate io linalg ndimage "
    "optimize signal sparse sparse.csgraph sparse.linalg spatial spatial.distance special stats "
    "stats.mstats",
    "sklearn": "cluster covariance datasets decomposition ensemble feature_extraction "
    "feature_selection gaussian_process linear_model manifold metrics metrics.pairwise mixture "
    "model_selection naive_bayes neighbors neural_network pipeline preprocessing svm tree utils",
}
modules = [f"{package}.{name}" for package, names in MODULES.items() for name in names.split()]

texts, labels = [], []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # deprecated names
    for module in modules:
        for name, thing in inspect.getmembers(importlib.import_module(module)):
            doc = inspect.getdoc(thing) if callable(thing) and not name.startswith("_") else None
            if doc and len(doc) > 200:
                texts.append(doc.split("Parameters\n")[0][:600])  # the purpose, not the parameters
                labels.append(module)

texts_train, texts_test, y_train, y_test = train_test_split(
    texts, labels, test_size=0.3, random_state=0
)
vectorizer = TfidfVectorizer(sublinear_tf=True)
X_train, X_test = vectorizer.fit_transform(texts_train), vectorizer.transform(texts_test)
print(f"{X_train.shape[0]} rows, {X_train.shape[1]} words, {len(set(labels))} modules")

# %%
# Four formulations of one idea: the score of the right class should exceed the others. ``ww`` sums
# the losses of all wrong classes, ``cs`` takes the worst, ``ovr`` solves one problem per class, and
# ``llw`` pushes the scores of wrong classes below −1 while all scores sum to zero. The first three
# work well with a ``C`` of about 1; ``llw`` needs a much larger one.

scores: dict[str, list[tuple[float, float, float]]] = {}
for formulation in ("ww", "cs", "ovr", "llw"):
    for C in (0.01, 0.1, 1.0, 10.0, 100.0):
        start = time.perf_counter()
        model = MulticlassSVMClassifier(formulation, C=C, tol=1e-2).fit(X_train, y_train)
        seconds = time.perf_counter() - start
        predicted = model.predict(X_test)
        scores.setdefault(formulation, []).append(
            (C, np.mean(predicted == y_test), f1_score(y_test, predicted, average="macro"))
        )
        print(
            f"{formulation:3s} C={C:<5g} accuracy {scores[formulation][-1][1]:.3f}, weights that "
            f"differ from zero {model.density_:.2f}, gap {model.relative_gap_:.1e}, {seconds:.2f} s"
        )

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True)
for formulation, rows in scores.items():
    Cs, accuracy, macro = zip(*rows, strict=True)
    axes[0].semilogx(Cs, accuracy, marker="o", label=formulation)
    axes[1].semilogx(Cs, macro, marker="o", label=formulation)
axes[0].set(xlabel="C", ylabel="accuracy on test rows")
axes[1].set(xlabel="C", ylabel="macro-F1 on test rows")
axes[0].legend()
plt.show()

# %%
# The scores of several classes are more informative than the best label alone. ``predict_top_k``
# returns the best few; the right module is among the first three far more often than it is the
# first.

model = MulticlassSVMClassifier("ww", C=1.0, tol=1e-2).fit(X_train, y_train)
best = model.predict_top_k(X_test, 5)
hits = np.cumsum(best == np.array(y_test)[:, None], axis=1).mean(axis=0)
for k, share in enumerate(hits, start=1):
    print(f"among the first {k}: {share:.3f}")
