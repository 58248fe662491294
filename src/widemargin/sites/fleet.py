"""All sites of a network as processes on this machine, for demonstrations and tests."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..gossip import Topology
from ..persistence.model_file import load_model
from .config import Neighbour, write_template
from .control import ControlError, ask
from .network.keys import make_keys

__all__ = ["LocalFleet", "SiteProcess", "free_ports"]

SECONDS_FOR_A_STATUS = 5.0
SECONDS_TO_STOP = 15.0
SECONDS_FOR_A_MODEL = 30.0
PORTS = range(16_000, 32_000)


@dataclass
class SiteProcess:
    """One site: its folder, and its process if it has one."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether its process is running."""
        return self.process is not None and self.process.poll() is None


class LocalFleet:
    """Sites on 127.0.0.1, as a context manager that ends all processes.

    Parameters
    ----------
    folder : Path
        Parent of the folders of the sites.
    parts : sequence of (X, y)
        Rows and labels of every site.
    topology : Topology
        Graph of the sites.
    settings : mapping
        Settings of every site, as in site.toml.
    """

    def __init__(
        self,
        folder: Path,
        parts: Sequence[tuple[Any, Any]],
        topology: Topology,
        settings: Mapping[str, Any],
    ) -> None:
        if topology.active is not None:
            raise ValueError(
                "Real sites must have one graph whose links lead both ways; got links that lead "
                "one way, or a list of graphs, which only the simulation knows."
            )
        self.sites = [SiteProcess(f"site-{k}", folder / f"site-{k}") for k in range(len(parts))]
        keys = []
        for site in self.sites:
            site.folder.mkdir(mode=0o700)
            keys.append(make_keys(site.folder))
        addresses = [f"tcp://127.0.0.1:{port}" for port in free_ports(len(parts))]
        network = _agreed_on(parts, topology)
        for k, (site, (X, y)) in enumerate(zip(self.sites, parts, strict=True)):
            data = site.folder / "rows.npz"
            np.savez(data, X=X, y=y)
            others = topology.other[topology.start[k] : topology.start[k + 1]]
            write_template(
                site.folder,
                site.name,
                listen=addresses[k],
                data=data.name,
                neighbours=[
                    Neighbour(self.sites[j].name, addresses[j], keys[j]) for j in others.tolist()
                ],
                **{**network, **settings},
            )

    def start(self, site: SiteProcess) -> None:
        """Start the process of a site, or start it again."""
        command = [sys.executable, "-m", "widemargin", "site", "run", "--json-log"]
        command += ["--config", str(site.folder / "site.toml")]
        command += ["--log", str(site.folder / "site.log")]
        with open(site.folder / "output.txt", "ab") as output:
            site.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C goes to the parent process only, which then stops the sites.
                start_new_session=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )

    def kill(self, site: SiteProcess) -> None:
        """End a process at once, without saving anything."""
        assert site.process is not None
        site.process.send_signal(signal.SIGKILL)
        site.process.wait()

    def status(self, site: SiteProcess) -> dict[str, Any] | None:
        """Return the status of a site; empty if it does not answer, None if it does not run."""
        if not site.running:
            return None
        try:
            return dict(ask(site.folder, "status", timeout=SECONDS_FOR_A_STATUS))
        except ControlError:
            return {}

    def statuses(self) -> dict[str, dict[str, Any] | None]:
        """Return the statuses of all sites."""
        return {site.name: self.status(site) for site in self.sites}

    def model(self, site: SiteProcess) -> Any:
        """Return the model of a running site, through a file."""
        path = site.folder / "model.wm"
        ask(site.folder, "model", timeout=SECONDS_FOR_A_MODEL, path=str(path))
        return load_model(path)

    def last_output(self, site: SiteProcess) -> str:
        """Return the end of a process's output."""
        text = (site.folder / "output.txt").read_text(errors="replace").strip()
        return text[-500:] or f"{site.name} printed nothing; its log is {site.folder / 'site.log'}."

    def stop(self) -> None:
        """Stop all sites gracefully; kill those that take too long."""
        running = [site.process for site in self.sites if site.process and site.running]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:  # a second Ctrl-C must not leave processes behind
            for site in self.sites:
                if site.process is not None and site.running:
                    self.kill(site)


def _agreed_on(parts: Sequence[tuple[Any, Any]], topology: Topology) -> dict[str, Any]:
    """Return the settings that all sites share."""
    total = sum(len(y) for _, y in parts)
    square = sum(float(np.square(X).sum()) for X, _ in parts) / total
    return {
        "n_sites": len(parts),
        "total_rows": total,
        "n_features": parts[0][0].shape[1],
        "classes": np.unique(np.concatenate([y for _, y in parts])).tolist(),
        "diameter": max(1, topology.diameter),
        "n_links": topology.n_links,
        "row_square": square + 1.0,  # the constant feature
    }


def free_ports(count: int) -> list[int]:
    """Return free ports; all are held until the last is found.

    They are below the ephemeral ports of outgoing connections, which could otherwise take the port
    of a site while it is down.
    """
    found: list[int] = []
    with ExitStack() as stack:
        for port in random.sample(PORTS, len(PORTS)):
            with suppress(OSError):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
                found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"{count} free ports from {PORTS[0]} to {PORTS[-1]} are needed; too few are.")
