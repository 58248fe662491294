"""Numbers written as text: with decimal point or comma, thousands separators, signs of units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Style = Literal["point", "thousands", "comma"]

_UNITS = re.compile(r"^[€$£]\s*|\s*[€$£%]$")
_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)?,\d+([eE][+-]?\d+)?")
_COMMA_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_CODE = re.compile(r"0\d+")


def number_style(texts: Iterable[str]) -> Style:
    """Return how the numbers among `texts` are written.

    ``1,234`` and ``12,345.6`` have separators of thousands; ``3,14`` and ``1.234,5`` a decimal
    comma, as has ``0,125``. A column in which every comma could be either is taken to separate
    thousands.
    """
    style: Style = "point"
    for text in texts:
        if "," not in text:
            continue
        bare = _UNITS.sub("", text)
        if _COMMA.fullmatch(bare) and not _THOUSANDS.fullmatch(bare):
            return "comma"
        if _THOUSANDS.fullmatch(bare):
            style = "thousands"
    return style


def parse_numbers(texts: list[str], style: Style) -> NDArray[np.float64]:
    """Return the number that each text stands for; NaN where it is none."""
    if style == "point":
        # Most columns are plain numbers, which Python reads ten times as fast.
        with suppress(ValueError):
            numbers = np.array([float(text) for text in texts], dtype=np.float64)
            if not any("_" in text or not text.isascii() for text in texts):
                return numbers
    return np.array([_number(text, style) for text in texts], dtype=np.float64)


def are_codes(texts: Iterable[str]) -> bool:
    """Return whether digits are names, not amounts: some have zeros in front, as postal codes."""
    return any(text[0] == "0" and _CODE.fullmatch(text) for text in texts if text)


def _number(text: str, style: Style) -> float:
    text = _UNITS.sub("", text)
    if style == "comma" and _COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    elif style == "comma" and _COMMA_THOUSANDS.fullmatch(text):
        text = text.replace(".", "")
    elif style == "thousands" and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    return float(text) if _POINT.fullmatch(text) else np.nan
