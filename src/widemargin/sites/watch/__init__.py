"""A page for this machine that shows a network in training."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..control import ask as ask_site
from .server import HOST, LocalServer, Page

__all__ = ["HOST", "LocalServer", "Page", "Watcher", "name_of", "page_of"]

SECONDS_BETWEEN_QUESTIONS = 0.5
SECONDS_FOR_AN_ANSWER = 2.0
MOST_POINTS = 1024
MOST_AT_ONCE = 16
# The parts of a status that the page gets: figures, never weights or rows.
OF_A_SITE = (
    "uptime_seconds",
    "rounds",
    "estimated_gap",
    "content",
    "agreed",
    "distance",
    "training_accuracy",
    "n_rows",
    "n_features",
    "mass",
    "bytes_sent",
    "bytes_received",
    "refused_keys",
)
OF_A_LINK = ("name", "connected", "sent", "received", "rejected", "distance")
Ask = Callable[[Path], Mapping[str, Any]]


class Watcher:
    """Latest known statuses of the sites in some folders.

    ``ask`` returns the status of the site in a folder, or raises ValueError or OSError if there is
    none.
    """

    def __init__(self, folders: Sequence[Path], ask: Ask | None = None) -> None:
        self._folders = list(folders)
        self._ask = _ask_the_site if ask is None else ask
        self._lock = threading.Lock()
        self._asked = -math.inf
        self._sites = [
            {"name": name_of(folder), "running": False, "links": [], "history": []}
            for folder in self._folders
        ]

    def view(self) -> dict[str, Any]:
        """Return the data of the page; sites are asked at most twice a second."""
        with self._lock:  # several pages may be open
            if time.monotonic() - self._asked >= SECONDS_BETWEEN_QUESTIONS:
                with ThreadPoolExecutor(min(MOST_AT_ONCE, len(self._folders))) as pool:
                    self._sites = list(pool.map(self._seen, self._folders, self._sites))
                self._asked = time.monotonic()
            return {"time": time.time(), "sites": self._sites}

    def _seen(self, folder: Path, before: Mapping[str, Any]) -> dict[str, Any]:
        try:
            status = self._ask(folder)
        except (OSError, ValueError):
            links = [{**link, "connected": False} for link in before["links"]]
            return {**before, "running": False, "links": links}
        return {
            "name": str(status["name"]),
            "running": True,
            **_chosen(status, OF_A_SITE),
            "links": [_chosen(link, OF_A_LINK) for link in status.get("links", ())],
            "history": _continued(before["history"], status.get("history", ())),
        }


def name_of(folder: Path) -> str:
    """Return the name of a site in its file, or else that of its folder."""
    try:
        with open(folder / "site.toml", "rb") as file:
            return str(tomllib.load(file)["name"])
    except (OSError, KeyError, ValueError):
        return folder.resolve().name


def _ask_the_site(folder: Path) -> Mapping[str, Any]:
    return ask_site(folder, "status", timeout=SECONDS_FOR_AN_ANSWER)


def _chosen(source: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: _as_json(source.get(key)) for key in keys}


def _as_json(value: Any) -> Any:
    """Replace numbers that JSON cannot represent by null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _continued(before: list[Any], now: Sequence[Sequence[Any]]) -> list[Any]:
    """Append a site's history to that before its restart, thinned if it is long."""
    points = [[_as_json(value) for value in point] for point in now]
    began = points[0][0] if points else math.inf
    points = [point for point in before if point[0] < began] + points
    while len(points) > MOST_POINTS:
        points = [*points[:-1:2], points[-1]]
    return points


def page_of(watcher: Watcher) -> dict[str, Page]:
    """Return the pages of a watcher: the document, and its data as JSON."""
    style, script = _file("page.css"), _file("page.js")
    document = _file("page.html").replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)
    # Only these two texts may run or style the page, and only the data may be loaded.
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )
    return {
        "/": Page("text/html", lambda: document, {"Content-Security-Policy": policy}),
        "/network.json": Page("application/json", lambda: json.dumps(watcher.view())),
    }


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
