"""Neighbours that are missing: since when, what that means, and which command to give."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .config import SiteConfig
from .settings import Neighbour

__all__ = ["absence_text", "missing_neighbours"]

# Seconds without a message, beside three heartbeats, after which a neighbour is missing.
PATIENCE = 30.0


def missing_neighbours(
    config: SiteConfig, heard: Mapping[str, float | None], started: float, *, trains: bool
) -> list[dict[str, Any]]:
    """Return who has not been heard for long, as JSON values.

    Parameters
    ----------
    config : SiteConfig
        Configuration of this site.
    heard : mapping
        When a neighbour was last heard, by its public key, in seconds of `time.monotonic`.
    started : float
        When this process began; a neighbour that it never heard is missing since then at least.
    trains : bool
        Whether training has begun: before it, nobody goes on without the others.
    """
    now, found = time.monotonic(), []
    for each in config.neighbours:
        last = heard.get(each.public_key)
        ago = now - (started if last is None else last)
        if ago > PATIENCE + 3.0 * config.heartbeat:
            found.append(
                {
                    "name": each.name,
                    "since": time.time() - ago,
                    "heard": last is not None,
                    "advice": _advice(config, each, trains),
                }
            )
    return found


def absence_text(missing: Mapping[str, Any]) -> str:
    """Say since when a neighbour is missing."""
    since = datetime.fromtimestamp(missing["since"], UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"not heard since {since}" + ("" if missing["heard"] else ", when this site started")


def _advice(config: SiteConfig, neighbour: Neighbour, trains: bool) -> str:
    waits = "" if trains else "No site trains before it is back. "
    if config.study_file is not None:
        command = (
            "tell the owner of the study, who runs `widemargin study remove "
            f"{config.study_file.name} --name {neighbour.name}`; the others then go on."
        )
    elif trains:
        command = "remove it from `site.toml` and run `widemargin site reload`."
    else:
        command = (
            "stop all sites, remove it from their `site.toml`, set `network.n_sites`, and start "
            "them again."
        )
    return f"{waits}Start it again; if it is gone for good, {command}"
