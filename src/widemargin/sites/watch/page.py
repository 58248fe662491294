"""The page itself: one document, its style and its program within it."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files

from ..runtime.local_http import Page
from .watcher import Watcher

__all__ = ["page_of"]


def page_of(watcher: Watcher) -> dict[str, Page]:
    """Return the pages that show what a watcher sees: the document, and its figures as JSON."""
    style, script = _file("page.css"), _file("page.js")
    document = _file("page.html").replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)
    # Nothing runs, and nothing styles the page, but these two texts; nothing is loaded but figures.
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
