"""Three tables made to be as untidy as those of people's own files.

Each is drawn from a known rule with noise, so that the best accuracy is below 1; what makes it
untidy is added afterwards, and takes information away only where cells are blank.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

Table = tuple[pd.DataFrame, pd.DataFrame]


def customers(rows: int = 12_000, seed: int = 1) -> Table:
    """Return customers who leave or stay: semicolons, decimal commas, German dates, ids, blanks."""
    rng = np.random.default_rng(seed)
    begun = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, rows), unit="D")
    tariff = rng.choice(
        ["basic", "plus", "family", "business", "pensioner"], rows, p=[0.4, 0.25, 0.2, 0.1, 0.05]
    )
    fee = np.select(
        [tariff == "basic", tariff == "plus", tariff == "family"], [19.0, 29.0, 45.0], 60.0
    )
    fee = fee * rng.normal(1.0, 0.12, rows)
    calls = rng.poisson(1.2, rows)
    region = rng.choice([f"region {k}" for k in range(16)], rows)
    bonus = rng.choice(["ja", "nein"], rows, p=[0.3, 0.7])
    used = rng.gamma(2.0, 9.0, rows)
    years = (pd.Timestamp("2024-01-01") - begun).days / 365.25
    effect = dict(zip([f"region {k}" for k in range(16)], rng.normal(0, 0.5, 16), strict=True))
    score = (
        0.9 * (calls - 1.2)
        - 0.35 * (years - 4.0)
        + 0.05 * (fee - 30.0)
        - 0.8 * (bonus == "ja")
        + np.vectorize(effect.get)(region)
        - 1.2 * np.exp(-(((used - 18.0) / 8.0) ** 2))
        + 0.6 * ((calls > 2) & (tariff == "business"))
    )
    leaves = rng.random(rows) < _sigmoid(1.8 * score)
    table = pd.DataFrame(
        {
            "Kundennummer": 100_000 + rng.permutation(rows),
            "Vertragsbeginn": begun.strftime("%d.%m.%Y"),
            "Tarif": tariff,
            "Gebühr": [f"{x:.2f}".replace(".", ",") for x in fee],
            "Anrufe": calls.astype(str),
            "Verbrauch": [f"{x:.3f}".replace(".", ",") for x in used],
            "Region": region,
            "Bonus": bonus,
            "Währung": "EUR",
            "gekündigt": np.where(leaves, "ja", "nein"),
        }
    )
    _blank(table, {"Verbrauch": 0.08, "Tarif": 0.03, "Gebühr": 0.05}, "", rng)
    return _split(table, rng)


def loans(rows: int = 10_000, seed: int = 2) -> Table:
    """Return loans of three outcomes: long tails, dollars and thousands, ISO dates, free text."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10.8, 0.7, rows)
    amount = rng.lognormal(9.2, 0.9, rows)
    opened = pd.Timestamp("2018-01-01") + pd.to_timedelta(
        rng.integers(0, 2000 * 24, rows), unit="h"
    )
    purpose = rng.choice(["car", "house", "debts", "school", "holiday", "other"], rows)
    grade = rng.choice(list("ABCDE"), rows, p=[0.25, 0.3, 0.25, 0.15, 0.05])
    owns = rng.random(rows) < 0.4
    age = rng.integers(18, 80, rows)
    burden = np.log(amount / income) + 1.6
    risk = (
        1.1 * burden
        + 0.5 * np.array([list("ABCDE").index(g) for g in grade])
        - 0.7 * owns
        + 0.5 * (purpose == "debts")
        + 0.0009 * (age - 45.0) ** 2
        - 1.2
    )
    noise = rng.gumbel(0.0, 0.55, (rows, 3))
    choice = np.column_stack([1.2 - risk, 0.8 * np.ones(rows) - 0.4 * np.abs(risk), risk - 0.3])
    outcome = np.array(["paid", "late", "default"])[(choice + noise).argmax(axis=1)]
    words = np.array(["please", "urgent", "thanks", "family", "new", "home", "bank", "soon"])
    table = pd.DataFrame(
        {
            "loan_id": [f"L-{k:06d}" for k in rng.permutation(rows)],
            "opened": opened.strftime("%Y-%m-%d %H:%M:%S"),
            "income": [f"${x:,.0f}" for x in income],
            "amount": [f"{x:,.2f}" for x in amount],
            "purpose": purpose,
            "grade": grade,
            "owns_home": np.where(owns, "Yes", "No"),
            "age": age.astype(str),
            "remark": [" ".join(rng.choice(words, 6)) + f" {k}" for k in rng.permutation(rows)],
            "outcome": outcome,
        }
    )
    _blank(table, {"income": 0.06, "age": 0.02, "grade": 0.04}, "NA", rng)
    return _split(table, rng)


def machines(rows: int = 15_000, seed: int = 3) -> Table:
    """Return machines that fail or run: sensors with blanks, time stamps, many levels."""
    rng = np.random.default_rng(seed)
    times = pd.date_range("2023-03-01", periods=rows, freq="37min")
    machine = rng.choice([f"M{k:03d}" for k in range(60)], rows)
    wear = dict(zip([f"M{k:03d}" for k in range(60)], rng.normal(0, 1.0, 60), strict=True))
    temperature = rng.normal(70.0, 8.0, rows)
    pressure = 3.0 + 0.02 * (temperature - 70.0) + rng.normal(0, 0.3, rows)
    vibration = rng.gamma(2.0, 0.6, rows)
    speed = rng.uniform(800, 1600, rows)
    night = np.asarray(times.hour) < 6
    score = (
        1.5 * (np.abs(temperature - 70.0) / 8.0 - 1.0)
        + 1.1 * np.sin(speed / 120.0)
        + 0.9 * (vibration - 1.2)
        + 0.7 * np.vectorize(wear.get)(machine)
        + 0.8 * night
        - 0.9 * (pressure - 3.0) * (vibration - 1.2)
    )
    fails = rng.random(rows) < _sigmoid(2.0 * score)
    table = pd.DataFrame(
        {
            "": np.arange(rows),
            "time": times.strftime("%Y-%m-%dT%H:%M:%S"),
            "machine": machine,
            "temperature": temperature.round(2).astype(str),
            "pressure": pressure.round(3).astype(str),
            "vibration": vibration.round(4).astype(str),
            "speed": speed.round(0).astype(int).astype(str),
            "firmware": "v2.1",
            "failed": fails.astype(int).astype(str),
        }
    )
    _blank(table, {"temperature": 0.04, "vibration": 0.07, "machine": 0.01}, "null", rng)
    return _split(table, rng)


#: Each with its label column and the delimiter of its files.
MESSY: dict[str, tuple[Callable[[], Table], str, str]] = {
    "customers": (customers, "gekündigt", ";"),
    "loans": (loans, "outcome", ","),
    "machines": (machines, "failed", ","),
}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def _blank(
    table: pd.DataFrame, shares: dict[str, float], mark: str, rng: np.random.Generator
) -> None:
    for name, share in shares.items():
        table.loc[rng.random(len(table)) < share, name] = mark


def _split(table: pd.DataFrame, rng: np.random.Generator) -> Table:
    test = rng.random(len(table)) < 0.3
    return table[~test].reset_index(drop=True), table[test].reset_index(drop=True)
