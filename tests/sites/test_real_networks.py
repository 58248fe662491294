"""Slow tests of sites: benchmark data, cut cables, an eavesdropper."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import zmq
from site_folders import Folders, free_ports, generated_rows
from site_processes import Processes

pytestmark = pytest.mark.slow

ROWS = generated_rows(400, 8)


@pytest.mark.skipif("WIDEMARGIN_DATA" not in os.environ, reason="needs WIDEMARGIN_DATA")
@pytest.mark.timeout(900)
def test_four_sites_on_a9a(tmp_path: Path) -> None:
    with np.load(Path(os.environ["WIDEMARGIN_DATA"]) / "a9a.npz", allow_pickle=False) as parts:
        from scipy.sparse import csr_matrix

        X = csr_matrix(
            (parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"])
        ).astype(np.float64)
        y = np.where(parts["y"] > 0, 1, -1)
    settings = {"C": 0.1, "row_square": 15.0, "diameter": 2}
    with Processes(Folders(tmp_path, X, y, settings=settings)) as sites:
        sites.start()
        sites.until(lambda found: all(s["rounds"] > 10 for s in found), 300)
        sites.kill(2)
        masses = [s.total_mass for s in sites.states()]
        sites.start(2)
        sites.until_agreed(600)
        masses += [s.total_mass for s in sites.states()]
        assert masses == pytest.approx([1.0] * 8, abs=1e-9)
        assert sites.excess() < 0.01


@pytest.fixture
def two_islands() -> Iterator[tuple[str, str]]:
    """Make two network namespaces and a cable between them."""

    def run(command: str) -> None:
        subprocess.run(command.split(), check=True, capture_output=True, timeout=20)

    names = (f"wm{os.getpid()}a", f"wm{os.getpid()}b")
    try:
        for name in names:
            run(f"ip netns add {name}")
        run(f"ip -n {names[0]} link add cable type veth peer name cable netns {names[1]}")
    except (OSError, subprocess.CalledProcessError) as error:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        pytest.skip(f"network namespaces are not permitted here: {error}")
    for k, name in enumerate(names):
        run(f"ip -n {name} link set lo up")
        run(f"ip -n {name} addr add 10.77.{k + 1}.1/32 dev lo")
        run(f"ip -n {name} addr add 10.77.0.{k + 1}/30 dev cable")
    yield names
    for name in names:
        run(f"ip netns del {name}")


def plug(names: tuple[str, str], state: str) -> None:
    """Cut or heal the cable."""
    for k, name in enumerate(names):
        subprocess.run(["ip", "-n", name, "link", "set", "cable", state], check=True)
        if state == "up":
            route = f"10.77.{2 - k}.1 via 10.77.0.{2 - k} onlink dev cable src 10.77.{k + 1}.1"
            subprocess.run(["ip", "-n", name, "route", "add", *route.split()], check=True)


def test_a_cut_cable_heals(tmp_path: Path, two_islands: tuple[str, str]) -> None:
    """Sites 0 and 1 are on one island, 2 and 3 on the other; positives are on one only."""
    order = np.argsort(ROWS[1], kind="stable")
    order = order.reshape(4, -1).T.ravel()  # dealt out in turn: each gets rows of one class
    X, y = ROWS[0][order], ROWS[1][order]
    hosts = {0: "10.77.1.1", 1: "10.77.1.1", 2: "10.77.2.1", 3: "10.77.2.1"}
    folders = Folders(tmp_path, X, y, hosts=hosts, settings={"diameter": 2})
    islands = {k: two_islands[k // 2] for k in range(4)}
    with Processes(folders, islands) as sites:
        plug(two_islands, "up")
        sites.start()
        sites.until(lambda found: all(link["received"] > 0 for s in found for link in s["links"]))
        plug(two_islands, "down")

        def apart(found: list[dict[str, object]]) -> bool:
            return all(
                sorted(link["silent"] > 20 for link in s["links"]) == [False, True]  # type: ignore[attr-defined]
                for s in found
            )

        sites.until(apart)
        assert [s.total_mass for s in sites.states()] == pytest.approx([1.0] * 4, abs=1e-9)
        plug(two_islands, "up")
        sites.until(lambda found: all(link["silent"] <= 6 for s in found for link in s["links"]))
        sites.until_agreed()
        assert sites.excess() < 0.01
        assert [s.total_mass for s in sites.states()] == pytest.approx([1.0] * 4, abs=1e-9)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_an_eavesdropper_sees_no_weights(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "sites", *ROWS, n_sites=2)
    plain = free_ports(1)[0]
    capture = tmp_path / "capture.pcap"
    ports = " or ".join(f"tcp port {port}" for port in [*folders.ports, plain])
    ear = subprocess.Popen(
        ["tshark", "-i", "lo", "-w", str(capture), "-f", ports],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert ear.stderr is not None
        line = ear.stderr.readline()
        while "Capturing" not in line:
            if not line:
                pytest.skip("tshark may not capture here")
            line = ear.stderr.readline()
        time.sleep(2.0)
        with Processes(folders) as sites, zmq.Context() as context:
            sites.start()
            sites.until_agreed()
            sites.excess()
            from widemargin import load_model

            model = load_model(tmp_path / "sites" / "model-0.wm")
            secrets = [struct.pack("<d", w) for w in (*model.coef_[0], *model.intercept_)]
            # To show that it would be seen: the same weights without encryption.
            here, there = context.socket(zmq.PULL), context.socket(zmq.PUSH)
            here.bind(f"tcp://127.0.0.1:{plain}")
            there.connect(f"tcp://127.0.0.1:{plain}")
            there.send(b"".join(secrets))
            here.recv()
            received = sites.status(0)["bytes_received"]
        time.sleep(2.0)
    finally:
        ear.terminate()
        ear.wait(20)

    def heard(port: int) -> bytes:
        fields = ["-T", "fields", "-e", "tcp.payload"]
        out = subprocess.run(
            ["tshark", "-r", str(capture), "-Y", f"tcp.port == {port}", *fields],
            capture_output=True,
            check=True,
            text=True,
        )
        return bytes.fromhex(out.stdout.replace("\n", ""))

    assert all(secret in heard(plain) for secret in secrets)
    encrypted = heard(folders.ports[0])
    assert len(encrypted) > received > 1000
    assert b"CURVE" in encrypted  # of the handshake
    agreement = struct.pack("<Q", folders.config(0).agreement)  # in every frame
    rows = [row[:2].tobytes() for row in ROWS[0]]
    for secret in (b"WMGS", agreement, *secrets, *rows):
        assert secret not in encrypted
