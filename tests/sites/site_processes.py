"""Sites as processes of this machine, and a network between them that misbehaves."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import zmq
from site_folders import Folders

from widemargin.sites.config import Neighbour, read_config
from widemargin.sites.control import ControlError, ask
from widemargin.sites.network.keys import read_secret_key
from widemargin.sites.site import run_site
from widemargin.sites.training.participant import SavedState, read_state

# Children of a process that has imported everything start at once.
_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["widemargin.sites.site", "site_processes"])
PATIENCE = 120.0
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET


def _run(folder: str, namespace: str | None) -> None:
    if namespace is not None:
        with open(f"/run/netns/{namespace}") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _NEW_NETWORK):
                raise OSError(ctypes.get_errno(), "setns")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with open(os.path.join(folder, "events.jsonl"), "a", buffering=1) as file:
        run_site(
            read_config(folder),
            listener=lambda event, **fields: print(json.dumps([event, fields]), file=file),
        )


class Processes:
    """Runs the sites of some folders."""

    def __init__(self, folders: Folders, namespaces: dict[int, str] | None = None) -> None:
        self.folders, self._namespaces = folders, namespaces or {}
        self.running: dict[int, Any] = {}

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running.values():
            process.kill()
            process.join()

    def start(self, *which: int) -> None:
        for k in which or range(self.folders.n_sites):
            arguments = (str(self.folders.folder(k)), self._namespaces.get(k))
            process = _forking.Process(target=_run, args=arguments)
            process.start()
            self.running[k] = process

    def kill(self, k: int) -> None:
        process = self.running.pop(k)
        os.kill(process.pid, signal.SIGKILL)
        process.join()

    def status(self, k: int) -> dict[str, Any]:
        """Ask a site, which may still be starting."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return ask(self.folders.folder(k), "status")
            except ControlError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def statuses(self) -> list[dict[str, Any]]:
        return [self.status(k) for k in sorted(self.running)]

    def until(
        self, wanted: Callable[[list[dict[str, Any]]], bool], seconds: float = PATIENCE
    ) -> list[dict[str, Any]]:
        """Wait until the sites are as wanted."""
        deadline = time.monotonic() + seconds
        while not wanted(found := self.statuses()):
            assert time.monotonic() < deadline, [{**s, "history": None} for s in found]
            time.sleep(0.1)
        return found

    def until_agreed(self, seconds: float = PATIENCE) -> list[dict[str, Any]]:
        return self.until(lambda found: all(s["agreed"] for s in found), seconds)

    def excess(self) -> float:
        """Return by how much the worst model is worse than the pooled optimum."""
        from widemargin import load_model

        worst = 0.0
        for k in self.running:
            path = self.folders.root / f"model-{k}.wm"
            ask(self.folders.folder(k), "model", path=str(path))
            model = load_model(path)
            value = self.folders.objective(model.coef_[0], float(model.intercept_[0]))
            worst = max(worst, value / self.folders.best - 1.0)
        return worst

    def states(self) -> list[SavedState]:
        return [read_state(self.folders.folder(k)) for k in range(self.folders.n_sites)]

    def events(self, k: int) -> list[tuple[str, dict[str, Any]]]:
        path = self.folders.folder(k) / "events.jsonl"
        return [tuple(json.loads(line)) for line in path.read_text().splitlines()]


class MeanNetwork:
    """Proxies, one per direction of a link, that drop, repeat, delay and reorder frames.

    Frames are encrypted from end to end, so that only one who has the keys of both can do so frame
    by frame: a test.
    """

    def __init__(self, folders: Folders, *, loss: float, repeat: float, delay: float) -> None:
        self.loss, self.repeat, self.delay = loss, repeat, delay
        self.counts = {"passed": 0, "lost": 0, "repeated": 0, "late": 0}
        self._random = random.Random(0)
        self._context = zmq.Context()
        self._ways: dict[zmq.Socket[bytes], zmq.Socket[bytes]] = {}
        for k in range(folders.n_sites):
            through = [
                Neighbour(
                    f"site-{j}",
                    self._way(folders, k, j),
                    folders.keys[j],
                )
                for j in folders.neighbours[k]
            ]
            folders.write(k, through)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._pass_on, daemon=True)

    def __enter__(self) -> MeanNetwork:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._context.destroy(0)

    def _way(self, folders: Folders, sender: int, to: int) -> str:
        entry: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        entry.curve_server = True
        entry.curve_secretkey = read_secret_key(folders.folder(to)).encode()
        port = entry.bind_to_random_port("tcp://127.0.0.1")
        leaving: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        leaving.curve_publickey = folders.keys[sender].encode()
        leaving.curve_secretkey = read_secret_key(folders.folder(sender)).encode()
        leaving.curve_serverkey = folders.keys[to].encode()
        leaving.connect(folders.address(to))
        self._ways[entry] = leaving
        return f"tcp://127.0.0.1:{port}"

    def _pass_on(self) -> None:
        poller = zmq.Poller()
        for entry in self._ways:
            poller.register(entry, zmq.POLLIN)
        waiting: list[tuple[float, zmq.Socket[bytes], bytes]] = []
        while not self._ended.is_set():
            for entry, _ in poller.poll(10):
                frame = entry.recv_multipart()[1]
                copies = 1
                if self._random.random() < self.repeat:
                    self.counts["repeated"] += 1
                    copies = 2
                if self._random.random() < self.loss:
                    self.counts["lost"] += 1
                    copies -= 1
                for _ in range(copies):
                    late = self._random.random() * self.delay
                    waiting.append((time.monotonic() + late, self._ways[entry], frame))
            now = time.monotonic()
            due = [each for each in waiting if each[0] <= now]
            waiting = [each for each in waiting if each[0] > now]
            self._random.shuffle(due)
            for _, leaving, frame in due:
                try:
                    leaving.send(frame, zmq.DONTWAIT)
                    self.counts["passed"] += 1
                except zmq.Again:
                    self.counts["lost"] += 1
