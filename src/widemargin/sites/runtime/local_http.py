"""A server of read-only pages on this machine, for the metrics and the watch page.

It listens on 127.0.0.1 and answers GET requests that name this machine. Otherwise a foreign page in
a local browser could resolve its own host name to 127.0.0.1 and read the pages (DNS rebinding).
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
    """Answer to requests for one path.

    Attributes
    ----------
    kind : str
        Media type.
    content : callable
        Returns the body, for every request.
    headers : mapping
        Added to the headers of every page, or replacing them.
    """

    kind: str
    content: Callable[[], str]
    headers: Mapping[str, str] = field(default_factory=dict)


class LocalServer:
    """Context manager that serves pages on 127.0.0.1 from its own threads.

    Parameters
    ----------
    port : int
        Port to listen on; 0 takes a free one, which is then in `port`.
    pages : mapping from path to Page
        The pages; other paths are answered with 404.

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
        """Port of the server."""
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
        """Log nothing: pages are polled every second."""
