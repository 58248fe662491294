"""
Follow the data: rows added to and removed from a fitted model
==============================================================

A kernel classifier fitted with ``keep_rows=True`` need not be fitted anew when its data change:
``add_rows`` and ``remove_rows`` start from the solution that is there, and end with a certificate
for the rows that are there now.

"""

# %%
# A stream of 6,000 rows, of which the model always knows the last 4,000: it forgets the oldest 100
# when 100 new ones come. The boundary between the classes turns slowly.

import time

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVMClassifier

random = np.random.default_rng(0)
X = random.normal(size=(6000, 2))
angle = np.linspace(0.0, np.pi / 2, 6000)
side = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
y = np.where(side + 0.2 * random.normal(size=6000) > 0, 1, 0)

model = SVMClassifier(C=1.0, gamma=0.5, keep_rows=True).fit(X[:4000], y[:4000])
frozen = SVMClassifier(C=1.0, gamma=0.5).fit(X[:4000], y[:4000])

# %%
# Every step is judged on the next 100 rows, before they are learnt.

ahead, updates, fits, steps = {"follows": [], "frozen": []}, [], [], range(4000, 6000, 100)
for first in steps:
    new = slice(first, first + 100)
    ahead["follows"].append(model.score(X[new], y[new]))
    ahead["frozen"].append(frozen.score(X[new], y[new]))
    began = time.process_time()
    model.add_rows(X[new], y[new]).remove_rows(np.arange(100))
    updates.append(time.process_time() - began)
    began = time.process_time()
    window = slice(first - 3900, first + 100)
    again = SVMClassifier(C=1.0, gamma=0.5).fit(X[window], y[window])
    fits.append(time.process_time() - began)
    assert model.relative_gap_ <= model.tol

same = np.mean(model.predict(X) == again.predict(X))
print(f"rows: {model.n_samples_fit_}, relative gap: {model.relative_gap_:.1e}")
print(f"labels as those of a fit from scratch: {same:.2%}")

# %%
# The model that follows stays right. A step of 5 % of its rows, half of them added and half
# removed, takes about half the time of a fit; smaller steps, and larger sets, a smaller part.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for name, scores in ahead.items():
    axes[0].plot(steps, scores, label=name)
axes[0].set(xlabel="rows seen", ylabel="accuracy on the next 100 rows")
axes[0].legend()
axes[1].plot(steps, 1000 * np.array(updates), label="add_rows and remove_rows")
axes[1].plot(steps, 1000 * np.array(fits), label="fit from scratch")
axes[1].set(xlabel="rows seen", ylabel="CPU milliseconds", ylim=(0, None))
axes[1].legend()
plt.show()
