"""Read-only pages for this machine alone: what the metrics and the watch page are served by.

The server listens on 127.0.0.1, answers nothing but GET, and only requests that name this machine:
a page of somebody else's, open in a browser here, could otherwise have its own name resolved to
127.0.0.1 and read along.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["HOST", "LocalServer", "Page"]

HOST = "127.0.0.1"
SECONDS_FOR_A_REQUEST = 10.0
OF_EVERY_PAGE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Page:
    """What one path is answered with.

    Attributes
    ----------
    kind : str
        Media type.
    content : callable
        Makes the body, anew for every request.
    headers : mapping
        Added to those of every page, or instead of them.
    """

    kind: str
    content: Callable[[], str]
    headers: Mapping[str, str] = field(default_factory=dict)


class LocalServer:
    """Serve pages on 127.0.0.1 from threads of their own, between ``with`` and its end.

    Parameters
    ----------
    port : int
        0 takes a free one; `port` then says which.
    pages : mapping from path to Page
        All there is; other paths are answered with 404.

    Raises
    ------
    OSError
        If the port is taken.
    """

    def __init__(self, port: int, pages: Mapping[str, Page]) -> None:
        handler = type("Handler", (_Handler,), {"pages": dict(pages)})
        try:
            self._server = ThreadingHTTPServer((HOST, port), handler)
        except OSError as error:
            raise OSError(
                f"Port {port} of {HOST} is needed for pages and cannot be had "
                f"({error.strerror}). Choose another port, or 0 for any."
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        """Port that is listened on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    pages: Mapping[str, Page] = {}
    server_version = "widemargin"
    sys_version = ""
    timeout = SECONDS_FOR_A_REQUEST  # an idle connection must not hold a thread

    def do_GET(self) -> None:
        """Answer with a page."""
        name = self.headers.get("Host", "").rsplit(":", 1)[0]
        if name not in (HOST, "localhost"):
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", f"Ask for {HOST} or localhost.\n", {})
            return
        page = self.pages.get(self.path.partition("?")[0])
        if page is None:
            there = ", ".join(sorted(self.pages))
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", f"There are: {there}.\n", {})
            return
        self._answer(HTTPStatus.OK, page.kind, page.content(), page.headers)

    def _answer(self, status: HTTPStatus, kind: str, text: str, headers: Mapping[str, str]) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {**OF_EVERY_PAGE, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: a poll every second is no news."""
