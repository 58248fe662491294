"""Dates and times: found in text, and turned into numbers."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

ISO = "iso"
#: Forms other than ISO 8601, in the order in which they are tried; the first that suits all wins.
FORMS = (
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
)
DAY = 86_400.0
YEAR_DAYS = 365.2425
#: Days of the cycles that parts of dates lie in.
PERIODS = {"year": YEAR_DAYS, "week": 7.0, "hour": 1.0}
#: Dates must be spread over this many days for the season to be a feature.
SEASONS_DAYS = 180.0

Parts = tuple[str, ...]


def date_form(texts: list[str], counts: NDArray[np.int64], share: float) -> str | None:
    """Return the form in which at least `share` of the rows are dates, or None."""
    total = counts.sum()
    if not sum(map(_has_digits, texts[:100])) > 0.5 * min(len(texts), 100):
        return None
    for form in (ISO, *FORMS):
        if np.isnan(_day(texts[0], form)) and np.isnan(_day(texts[-1], form)):
            continue  # most columns are no dates, and are found out by two cells
        found = ~np.isnan(parse_days(texts, form))
        if counts[found].sum() >= share * total:
            return form
    return None


def parse_days(texts: list[str], form: str) -> NDArray[np.float64]:
    """Return the days since 1970 of every text; NaN where it is no date of this form."""
    return np.array([_day(text, form) for text in texts], dtype=np.float64)


def days_of_times(values: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Return the days since 1970 of points in time; NaN where one is missing."""
    days = (values - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    return np.asarray(days, dtype=np.float64)


def date_parts(days: NDArray[np.float64]) -> Parts:
    """Choose the features of dates: when, and where in a year, week and day if these differ."""
    present = days[np.isfinite(days)]
    parts = ["day"]
    if np.ptp(present) > SEASONS_DAYS:
        parts += ["year_sin", "year_cos"]
    if np.unique(np.floor(present[:10_000]) % 7).size > 2:
        parts += ["week_sin", "week_cos"]
    if np.unique(present[:10_000] % 1.0).size > 2:
        parts += ["hour_sin", "hour_cos"]
    return tuple(parts)


def date_features(days: NDArray[np.float64], parts: Parts) -> list[NDArray[np.float64]]:
    """Return a column for each part: days, or sine and cosine of the place in a cycle."""
    columns = []
    for part in parts:
        if part == "day":
            columns.append(days)
            continue
        cycle, function = part.split("_")
        # Hours move within a day; year and week are those of the day as a whole.
        within = days if cycle == "hour" else np.floor(days)
        angle = 2.0 * np.pi * (within / PERIODS[cycle])
        columns.append(np.sin(angle) if function == "sin" else np.cos(angle))
    return columns


def _day(text: str, form: str) -> float:
    try:
        moment = datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)
    except ValueError:
        return float("nan")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() / DAY


def _has_digits(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 3
