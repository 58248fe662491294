"""Read-only pages for this machine.

The server listens on 127.0.0.1 and answers GET requests that name this machine. Otherwise a foreign
page in a local browser could resolve its own host name to 127.0.0.1 and read the pages (DNS
rebinding).
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["HOST", "LocalServer", "Page"]

HOST = "127.0.0.1"
SECONDS_FOR_A_REQUEST = 10.0
SECONDS_BETWEEN_ATTEMPTS = 0.1
MOST_REQUESTS = 16
OF_EVERY_PAGE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Page:
    """Answer to requests for one path."""

    kind: str  # media type
    content: Callable[[], str]  # returns the body, for every request
    # Added to the headers of every page, or replacing them.
    headers: Mapping[str, str] = field(default_factory=dict)


class LocalServer:
    """Context manager that serves pages on 127.0.0.1 from its own threads.

    Port 0 takes a free one, which is then in `port`. Paths without a page are answered with 404.
    OSError if the port is taken.
    """

    def __init__(self, port: int, pages: Mapping[str, Page]) -> None:
        handler = type("Handler", (_Handler,), {"pages": dict(pages)})
        try:
            self._server = _BoundedServer((HOST, port), handler)
        except OSError as error:
            raise OSError(
                f"Port {port} of {HOST} is needed for pages and cannot be had "
                f"({error.strerror}). Choose another port, or 0 for any."
            ) from None
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


class _BoundedServer(ThreadingHTTPServer):
    """Server with a bounded number of threads, each for a bounded time.

    Any user of this machine can connect. When there are too many requests, the oldest is given up:
    an honest one takes milliseconds.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._requests: dict[socket.socket, float] = {}  # with the time of their end
        self._lock = threading.Lock()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection; pause where the system has no descriptor for it."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a request in a thread, unless there are too many."""
        with self._lock:
            room = len(self._requests) < 2 * MOST_REQUESTS  # some end soon, given up already
            oldest = list(self._requests)[:-MOST_REQUESTS]
            if room:
                self._requests[request] = time.monotonic() + SECONDS_FOR_A_REQUEST
        for each in oldest:
            self._give_up(each)
        if room:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Give up requests that take too long, however busily they send a byte now and then."""
        with self._lock:
            late = [each for each, end in self._requests.items() if end < time.monotonic()]
        for each in late:
            self._give_up(each)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._requests.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print faults of pages, but nothing for those who hang up."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def _give_up(self, request: socket.socket) -> None:
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)  # its thread ends, and closes it


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
