"""Figures of a site with several problems: of each class, and of each value of C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .choice import Choice
from .columns import AnySite, columns_of
from .local_site import LocalSite

__all__ = ["choice_figures", "class_figures", "finite", "gap_figures", "relative_distance"]


def finite(value: float) -> float | None:
    """Return a number, or None if JSON cannot represent it."""
    return float(value) if math.isfinite(value) else None


def gap_figures(site: AnySite, tol: float) -> dict[str, Any]:
    """Return the estimated gap, and whether the site is within its tolerance.

    No gap is negative. An estimate well below zero comes from sums that lack a site, one that died
    with its share of them: neither is known then.
    """
    estimate = float(site.estimate)
    if estimate < -tol:
        return {"estimated_gap": None, "content": False}
    return {"estimated_gap": finite(max(estimate, 0.0)), "content": bool(site.content)}


def relative_distance(site: AnySite) -> float | None:
    """Return the largest distance to a neighbour's model, relative to the norm of this one."""
    found = []
    for part in columns_of(site):
        norm = float(np.linalg.norm(part.model()))
        if norm > 0:
            found.append(part.apart / norm)
    return finite(max(found)) if found else None


def class_figures(local: LocalSite, site: AnySite) -> dict[str, Any]:
    """Return figures of every class, if there are more than two."""
    if local.n_problems == 1:
        return {}
    parts = columns_of(site)
    if isinstance(site, Choice) and site.chosen is None:
        parts = parts[site.best * local.n_problems :][: local.n_problems]
    counts = np.bincount(local.rows.codes, minlength=local.n_problems)
    return {
        "classes": [
            {
                "label": label,
                "n_rows": int(count),
                **gap_figures(part, local.config.tol),
                "distance": relative_distance(part),
            }
            for label, count, part in zip(local.config.classes, counts, parts, strict=True)
        ]
    }


def choice_figures(site: AnySite) -> dict[str, Any]:
    """Return the state of the choice of C, if there is one."""
    if not isinstance(site, Choice):
        return {}
    known = site.accuracies
    accuracies: list[float | None] = [None] * len(site.values) if known is None else [*known]
    return {
        "C": None if site.chosen is None else site.values[site.chosen],
        "scores_settled": site.chosen is not None or site.scores.settled,
        "scores": [
            {"C": value, "held_out_accuracy": accuracy}
            for value, accuracy in zip(site.values, accuracies, strict=True)
        ],
    }
