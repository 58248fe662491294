"""The tables of `benchmarks.tables`, and how LightGBM gets them."""

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.race.store import stamp
from benchmarks.tables import __main__ as command
from benchmarks.tables import adult as census
from benchmarks.tables.messy import MESSY
from benchmarks.tables.peers import natural

from widemargin import TablePreprocessor


@pytest.mark.parametrize("name", MESSY)
def test_tables_are_untidy_and_both_sides_see_the_same_columns(name):
    make, label, _ = MESSY[name]
    train, test = make(600)
    assert list(train.columns) == list(test.columns)
    assert train[label].nunique() >= 2
    X = train.drop(columns=label).rename(columns={"": "Unnamed: 0"})
    plans = TablePreprocessor().fit(X).columns_
    by_hand, by_hand_test = natural(train.drop(columns=label), test.drop(columns=label))
    kept = [name for name, plan in plans.items() if plan["role"] != "dropped"]
    assert len(kept) == by_hand.shape[1]
    assert list(by_hand.dtypes) == list(by_hand_test.dtypes)
    for name, column in zip(kept, by_hand, strict=True):
        category = str(by_hand[column].dtype) == "category"
        assert category == (plans[name]["role"] in ("category", "boolean"))


def test_the_census_says_what_its_indicators_say(monkeypatch):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(50):
        row, first = np.zeros(123), 0
        for _, width, _ in census.GROUPS:
            if rng.random() > 0.1:
                row[first + rng.integers(width)] = 1
            first += width
        rows.append(row)
    X, y = sp.csr_matrix(np.array(rows)), np.where(rng.random(50) < 0.5, 1, -1)
    data = type("Data", (), {"X": X, "y": y, "X_test": X[:10], "y_test": y[:10]})
    monkeypatch.setattr(census, "load", lambda name: data)
    table, test = census.adult()
    assert len(test) == 10
    assert (table.income == ">50K").tolist() == (y > 0).tolist()
    dense = X.toarray()
    np.testing.assert_array_equal(table["workclass"] == "?", dense[:, 5:13].sum(axis=1) == 0)
    ages = table.age[dense[:, 1] == 1].astype(int)
    assert ages.between(26, 32).all()


def test_rows_of_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(command.pages, "FOLDER", tmp_path)
    store = command.Store(tmp_path / "results.json")
    ours = {"accuracy": 0.8, "held_out": 0.81, "seconds": 12.0, "chosen": "ODMClassifier"}
    store.put("loans/widemargin", {}, ours, {**stamp(), "quiet": True})
    store.put(
        "loans/lightgbm",
        {},
        {"accuracy": 0.82, "rows": 7000, "version": "x 1"},
        {**stamp(), "quiet": True},
    )
    command.render(store)
    lines = (tmp_path / "tables.csv").read_text("utf-8").splitlines()
    assert lines[1:] == ['loans,"7,000",80.00,81.00,82.00,**-2.00**,12,ODMClassifier']
