"""
Quick start
===========

From a table as it comes to a tuned, calibrated and saved model, in a few minutes. Every step is
also one command in a shell; they stand at the end.

"""

# %%
# A messy table
# -------------
#
# Customers of a telephone company: an identifier, a date, categories, blanks, question marks and
# numbers in text. In your own work this would be ``pandas.read_csv("customers.csv")``.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

random = np.random.default_rng(0)
n = 2_000
months = random.integers(1, 72, n)
fee = random.gamma(4.0, 12.0, n).round(2)
contract = random.choice(["monthly", "one year", "two years"], n, p=[0.6, 0.25, 0.15])
joined = pd.Timestamp("2026-06-30") - pd.to_timedelta(30 * months, unit="D")
calls = random.poisson(1.5, n)
unhappy = 0.5 * calls + 0.02 * fee - 0.06 * months + 1.2 * (contract == "monthly") - 0.8
table = pd.DataFrame(
    {
        "customer": [f"C-{k:05d}" for k in range(n)],
        "joined": joined.strftime("%Y-%m-%d"),
        "contract": np.where(random.random(n) < 0.05, "?", contract),
        "fee": [f"{value:.2f}" if random.random() > 0.03 else "" for value in fee],
        "calls": np.where(random.random(n) < 0.1, np.nan, calls),
        "country": "NL",
        "left": np.where(random.random(n) < 1 / (1 + np.exp(-unhappy)), "yes", "no"),
    }
)
table.head()

# %%
# Train
# -----
#
# :class:`~widemargin.AutoClassifier` makes numbers of the columns, tries linear and kernel machines
# on growing samples, and trains the best on all rows. It takes two minutes at the most, or as many
# seconds as ``max_time`` says.

from widemargin import AutoClassifier

X, y = table.drop(columns="left"), table["left"]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = AutoClassifier(max_time=20, random_state=0).fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}")
print(model.model_)

# %%
# What became of the columns, and why:

for note in model.preprocessor_.notes_:
    print("-", note)

# %%
# What was tried:

from widemargin import LeaderboardDisplay

LeaderboardDisplay.from_estimator(model)
plt.show()

# %%
# Probabilities
# -------------
#
# The decisions are calibrated on rows that a model has not seen. Among customers with a probability
# of .3, about three of ten leave.

from sklearn.calibration import CalibrationDisplay

probability = model.predict_proba(X_test)
print(f"log loss {log_loss(y_test, probability):.3f}")
CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=6, name="AutoClassifier")
plt.show()

# %%
# Save, load, serve
# -----------------
#
# One file holds the preparation of the table and the model. Loading it runs no code that the file
# could bring along.

import tempfile
from pathlib import Path

from widemargin import load_model

path = Path(tempfile.mkdtemp()) / "customers.wm"
model.save(path)
served = load_model(path)
assert np.array_equal(served.predict(X_test), model.predict(X_test))
print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")
print(served.predict(X_test.head(3)))

# %%
# The same in a shell::
#
#     widemargin train customers.csv --label left --report customers.html
#     widemargin predict customers.wm new_customers.csv --proba -o predictions.csv
#
# Next: :doc:`which class to choose </user_guide/choosing>`,
# :doc:`moving from SVC </user_guide/from_svc>`, :doc:`more rows than fit into memory
# </user_guide/bigger_than_memory>`.
