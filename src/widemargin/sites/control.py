"""Commands to a running site: a socket in its folder, one JSON object per line."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = [
    "ControlClosed",
    "ControlError",
    "ControlServer",
    "ask",
    "check_not_running",
    "socket_path",
]

LOCK_NAME = "site.lock"
# Longest question in bytes.
_LONGEST_QUESTION = 65536
_MOST_CLIENTS = 16
_IDLE_SECONDS = 30.0
# Seconds until the next attempt to accept a client, or to reach a site.
_PAUSE = 0.1
# A site listens anew when it passes from gathering to preparing, and from there to training: one
# that cannot be reached for so many seconds does not run.
_UNREACHABLE_SECONDS = 2.0

Answer = dict[str, Any]


class ControlError(ValueError):
    """A site that does not answer, or a command that failed."""


class ControlClosed(ControlError):
    """A question that came too late to be looked at; whoever asked may ask again."""


def socket_path(folder: str | os.PathLike[str]) -> Path:
    """Return the path of the socket of the site in a folder."""
    return Path(folder) / "control.sock"


def ask(
    folder: str | os.PathLike[str], command: str, *, timeout: float = 10.0, **fields: Any
) -> Answer:
    """Send a command to the site that runs in a folder.

    Parameters
    ----------
    folder : path-like
        The folder of the site.
    command : {'status', 'reload', 'stop', 'leave', 'model'}
        The command.
    timeout : float, default=10.0
        Seconds to wait for the answer.
    **fields
        Parameters of the command, such as ``path`` for 'model'.

    Returns
    -------
    dict
        The answer.

    Raises
    ------
    ControlError
        If no site runs there, it does not answer in time, or the command fails.
    """
    question = json.dumps({"command": command, **fields}).encode() + b"\n"
    last = time.monotonic() + min(timeout, _UNREACHABLE_SECONDS)
    while True:
        try:
            answer = _answered(folder, question, timeout)
        except (FileNotFoundError, ConnectionError):
            if time.monotonic() > last or not (Path(folder) / "site.toml").exists():
                raise _nobody_there(folder) from None
        else:
            if not answer.get("closed") or time.monotonic() > last:
                break
        time.sleep(_PAUSE)
    if not answer.get("ok"):
        raise ControlError(str(answer.get("error", "no reason given")))
    return answer


def _answered(folder: str | os.PathLike[str], question: bytes, timeout: float) -> Answer:
    try:
        with _connected(folder, timeout) as link:
            link.sendall(question)
            with link.makefile("rb") as lines:
                return dict(json.loads(lines.readline()))
    except TimeoutError:
        raise ControlError(
            f"The site in {folder} did not answer within {timeout:g} seconds. It may be in a long "
            "step over its rows: try again."
        ) from None
    except ValueError:
        raise ControlError(f"The site in {folder} ended before it answered.") from None


def _nobody_there(folder: str | os.PathLike[str]) -> ControlError:
    if not (Path(folder) / "site.toml").exists():
        return ControlError(
            f"{Path(folder).resolve()} holds no site: it has no site.toml. Name a site's "
            "folder with --folder, or make one with `widemargin site init`."
        )
    return ControlError(
        f"No site runs in {Path(folder).resolve()}. Start it with `widemargin site run "
        f"--config {Path(folder) / 'site.toml'}`, or name its folder with --folder."
    )


def check_not_running(folder: str | os.PathLike[str]) -> None:
    """Raise ControlError if a site runs in a folder."""
    os.close(_locked(Path(folder)))


class ControlServer:
    """Answers commands, with one thread per client.

    ``answer`` takes a question and returns an answer; it is called from other threads. ValueError
    and OSError become answers.
    """

    def __init__(
        self, folder: str | os.PathLike[str], answer: Callable[[dict[str, Any]], Answer]
    ) -> None:
        self._path, self._answer = socket_path(folder), answer
        self._places = threading.Semaphore(_MOST_CLIENTS)
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._closing = False
        self._lock = _locked(Path(folder))
        self._listening = self._listen(Path(folder))
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._closing = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(1.0)
        # Current answers are sent, and no more questions are read.
        for link, thread in list(self._clients.items()):
            with suppress(OSError):
                link.shutdown(socket.SHUT_RD)
            thread.join(1.0)
        with suppress(OSError):
            self._path.unlink()
        os.close(self._lock)

    def _listen(self, folder: Path) -> socket.socket:
        with suppress(FileNotFoundError):
            self._path.unlink()  # left behind by a site that was killed
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _within(folder) as name:
            mask = os.umask(0o177)
            try:
                listening.bind(name)
            finally:
                os.umask(mask)
        listening.listen(_MOST_CLIENTS)
        return listening

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listening.accept()
            except OSError:
                if self._closing:
                    return
                time.sleep(_PAUSE)  # no descriptor or memory now, or gone already
                continue
            if not self._places.acquire(blocking=False):
                link.close()
                continue
            thread = threading.Thread(target=self._converse, args=(link,), daemon=True)
            self._clients[link] = thread
            try:
                thread.start()
            except RuntimeError:  # no more threads now
                self._clients.pop(link)
                self._places.release()
                link.close()

    def _converse(self, link: socket.socket) -> None:
        try:
            link.settimeout(_IDLE_SECONDS)
            with link, link.makefile("rb") as lines, suppress(OSError):
                while question := lines.readline(_LONGEST_QUESTION):
                    link.sendall(json.dumps(self._reply(question)).encode() + b"\n")
        finally:
            self._clients.pop(link, None)
            self._places.release()

    def _reply(self, line: bytes) -> Answer:
        try:
            question = json.loads(line)
            if not isinstance(question, dict):
                raise ValueError("a question must be a JSON object with a `command`.")
            return {"ok": True, **self._answer(question)}
        except (ValueError, OSError, RecursionError) as error:
            closed = isinstance(error, ControlClosed)
            return {"ok": False, "error": str(error), "closed": closed}


def _locked(folder: Path) -> int:
    """Take the lock of a folder, which the system releases when the process ends in any way.

    Two processes with one state would contradict each other under one name.
    """
    lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise ControlError(
            f"A site runs in {folder} already. Stop it with `widemargin site stop`, or give this "
            "one a folder of its own."
        ) from None
    return lock


def _connected(folder: str | os.PathLike[str], timeout: float) -> socket.socket:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(timeout)
    try:
        with _within(Path(folder)) as name:
            link.connect(name)
    except BaseException:
        link.close()
        raise
    return link


@contextmanager
def _within(folder: Path) -> Iterator[str]:
    """Yield a short name of the socket: the system allows about a hundred characters."""
    name = str(socket_path(folder))
    if len(os.fsencode(name)) < 100 or not os.path.isdir("/proc/self/fd"):
        yield name
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{socket_path('.').name}"
    finally:
        os.close(descriptor)
