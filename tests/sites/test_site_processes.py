"""Sites as processes over CURVE on loopback: killed, lied to, attacked."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import zmq
from hostile_frames import hostile
from site_folders import Folders, free_ports, generated_rows, on_the_way
from site_processes import MeanNetwork, Processes

from widemargin import load_model
from widemargin.sites.control import ControlError, ask
from widemargin.sites.network.keys import make_keys, read_secret_key
from widemargin.sites.network.wire import Frame, Kind, encode

ROWS = generated_rows(400, 8)


def check_mass(sites: Processes) -> None:
    assert [s.total_mass for s in sites.states()] == pytest.approx([1.0] * 4, abs=1e-9)


def test_sites_agree_are_killed_and_agree_again(tmp_path: Path) -> None:
    with Processes(Folders(tmp_path, *ROWS)) as sites:
        sites.start()
        sites.until(lambda found: all(s["rounds"] > 3 for s in found))
        check_mass(sites)
        sites.kill(1)
        check_mass(sites)
        sites.start(1)
        sites.until_agreed()
        check_mass(sites)
        assert sites.excess() < 0.01
        assert [event for event, _ in sites.events(1)][:4].count("state_restored") == 1
        resting = sites.until(lambda found: all(s["resting"] for s in found))
        # Once agreed, they are there and quiet.
        time.sleep(2.0)
        later = sites.statuses()
        for one, two in zip(resting, later, strict=True):
            assert two["rounds"] - one["rounds"] <= 25
        for k in range(4):
            ask(sites.folders.folder(k), "stop")
            sites.running[k].join(20)
            assert sites.running[k].exitcode == 0
            assert sites.events(k)[-1][0] == "stopped"
            assert not (sites.folders.folder(k) / "control.sock").exists()
        with pytest.raises(ControlError, match="widemargin site run"):
            ask(sites.folders.folder(0), "status")
        # All that is not held is in the last messages, which came too late.
        waiting = on_the_way(sites.states())
        assert len(waiting) == 8
        assert all(-1e-9 <= mass < 1.0 for mass in waiting)
        held = sum(s.header["masses"]["held"] for s in sites.states())
        assert held + sum(waiting) == pytest.approx(4.0, abs=1e-9)


def test_sigterm_stops_a_site_in_good_order(tmp_path: Path) -> None:
    with Processes(Folders(tmp_path, *ROWS, n_sites=2)) as sites:
        sites.start(0)
        sites.status(0)
        sites.running[0].terminate()
        sites.running[0].join(20)
        assert sites.running[0].exitcode == 0
        assert sites.events(0)[-1][0] == "stopped"


def test_a_mean_network_and_kills_change_no_result(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *ROWS)
    rng = random.Random(0)
    with MeanNetwork(folders, loss=0.2, repeat=0.2, delay=0.1) as mean, Processes(folders) as sites:
        sites.start()
        sites.until(lambda found: all(s["rounds"] > 2 for s in found))
        for _ in range(4):
            k = rng.randrange(4)
            sites.kill(k)
            check_mass(sites)
            sites.start(k)
            time.sleep(rng.random())
            check_mass(sites)
        sites.until_agreed()
        check_mass(sites)
        assert sites.excess() < 0.01
        assert all(mean.counts[what] > 20 for what in ("passed", "lost", "repeated"))


def test_strangers_get_nothing_and_disturb_nothing(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "sites", *ROWS)
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    key = make_keys(stranger)
    with Processes(folders) as sites, zmq.Context() as context:
        sites.start()
        sites.until_agreed()
        before = [load_model_of(sites, k) for k in range(4)]
        knocking = []
        for kind in ("unknown key", "wrong server key", "no key", "plain"):
            dealer = context.socket(zmq.DEALER)
            dealer.linger = 0
            if kind in ("unknown key", "wrong server key"):
                dealer.curve_publickey = key.encode()
                dealer.curve_secretkey = read_secret_key(stranger).encode()
                right = kind == "unknown key"
                dealer.curve_serverkey = (folders.keys[0] if right else key).encode()
            if kind == "plain":
                dealer.plain_username, dealer.plain_password = b"a", b"b"
            dealer.connect(folders.address(0))
            knocking.append(dealer)
        frame = Frame(Kind.GREETING, folders.config(0).agreement, 1, 0, 0, 0, 1, 9, np.empty(0))
        for _ in range(30):
            for dealer in knocking:
                with suppress(zmq.Again):  # libzmq knows that it was refused
                    dealer.send(encode(frame), zmq.DONTWAIT)
                assert not dealer.poll(10)  # nobody answers
        status = sites.until(lambda found: found[0]["refused_keys"] >= 2)[0]
        assert {link["name"] for link in status["links"]} == {"site-1", "site-3"}
        told = [fields for event, fields in sites.events(0) if event == "refused"]
        assert [f for f in told if f.get("public_key") == key] == [
            {"public_key": key, "address": "127.0.0.1"}
        ]
        assert len(told) <= 4
        assert sum(link["rejected"] for link in status["links"]) == 0
        sites.until_agreed()
        for k in range(4):
            assert np.linalg.norm(load_model_of(sites, k) - before[k]) <= 0.02 * np.linalg.norm(
                before[k]
            )
        for dealer in knocking:
            dealer.close(0)


def load_model_of(sites: Processes, k: int) -> np.ndarray:
    path = sites.folders.root / "now.wm"
    ask(sites.folders.folder(k), "model", path=str(path))
    model = load_model(path)
    return np.append(model.coef_[0], model.intercept_)


def test_ten_thousand_hostile_frames_of_a_neighbour(tmp_path: Path) -> None:
    """Site 1 of two is in the hands of an enemy, who has its keys."""
    folders = Folders(tmp_path, *ROWS, n_sites=2, settings={"rate_limit": 1e6})
    config = folders.config(0)
    # Weights and their level, figures with their mass, counter, numbers of messages.
    count = ROWS[0].shape[1] + 1 + 1 + 5 + 3
    rng = np.random.default_rng(0)
    with Processes(folders) as sites, zmq.Context() as context:
        sites.start(0)
        started = sites.status(0)
        dealer = enemy(context, folders)
        memory = resident(started["pid"])
        sound = Frame(
            Kind.EXCHANGE,
            config.agreement,
            7,
            started["links"][0]["epoch"],
            1,
            0,
            1,
            9,
            np.concatenate([np.zeros(count - 2), [1.0, 0.0]]),
        )
        for k in range(10_000):
            dealer.send(hostile(encode(sound), rng, k))
            if k % 500 == 0:
                time.sleep(0.05)
        # It reads them all, or drops them, and goes on.
        deadline = time.monotonic() + 60
        seen = -1
        while time.monotonic() < deadline:
            status = sites.status(0)
            link = status["links"][0]
            if seen == link["rejected"] and link["rejected"] > 100:
                break
            seen = link["rejected"]
            time.sleep(0.5)
        assert sites.running[0].is_alive()
        assert {"length", "magic", "version", "finite", "magnitude"} <= set(link["reasons"])
        assert resident(status["pid"]) - memory < 64 * 2**20
        assert np.isfinite(load_model_of(sites, 0)).all()
        # The model keeps within what the limits on single messages allow.
        from widemargin.sites.training.local_site import LocalSite, read_rows

        local = LocalSite(config, read_rows(config))
        rho = local.method.rho(local.problem.constants, local._setting(1).total_square, 4)
        kappa = local.n_rows / config.total_rows + rho
        own = 0.1 * np.sqrt(local.problem.squared_norms).sum()
        assert status["model_norm"] <= (local.limits.norm + own) / kappa
        assert len([e for e, _ in sites.events(0) if e == "frame_rejected"]) == len(
            link["reasons"].keys() - {"rate"}
        )
        dealer.close(0)


def enemy(context: zmq.Context[zmq.Socket[bytes]], folders: Folders) -> zmq.Socket[bytes]:
    """Return a connection to site 0 of one who has the keys of site 1."""
    dealer: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    dealer.curve_publickey = folders.keys[1].encode()
    dealer.curve_secretkey = read_secret_key(folders.folder(1)).encode()
    dealer.curve_serverkey = folders.keys[0].encode()
    dealer.sndhwm, dealer.linger = 20_000, 0
    dealer.connect(folders.address(0))
    return dealer


def resident(pid: int) -> int:
    """Return the bytes of memory that a process uses, where the system tells."""
    path = Path(f"/proc/{pid}/statm")
    return int(path.read_text().split()[1]) * 4096 if path.exists() else 0


def test_neighbours_are_reloaded(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=3, links=((0, 1), (1, 2)))
    with Processes(folders) as sites:
        sites.start()
        sites.until_agreed()
        for a, b in ((0, 2), (2, 0)):
            folders.neighbours[a].append(b)
            folders.write(a)
            answer = ask(folders.folder(a), "reload")
            assert (answer["added"], answer["removed"]) == ([f"site-{b}"], [])
        sites.until(lambda found: found[2]["links"][-1]["received"] > 2)
        folders.settings["tol"] = 1e-2
        folders.write(0)
        with pytest.raises(ControlError, match="tol"):
            ask(folders.folder(0), "reload")
        sites.until_agreed()
        assert sites.excess() < 0.01


def test_a_folder_has_one_site_and_a_port_one_folder(tmp_path: Path) -> None:
    from widemargin.sites.site import run_site

    folders = Folders(tmp_path, *ROWS, n_sites=2)
    with Processes(folders) as sites:
        sites.start(0)
        sites.status(0)
        with pytest.raises(ControlError, match=r"runs in .* already"):
            run_site(folders.config(0))
        folders.ports[1] = folders.ports[0]
        folders.write(1)
        with pytest.raises(OSError, match="`listen`"):
            run_site(folders.config(1))
        folders.ports[1] = free_ports(1)[0]
        for question, said in (
            ({"command": "dance"}, "`command`"),
            ({"command": "model"}, "absolute path"),
            ({"command": "model", "path": "/nowhere/at/all.wm"}, "No such file"),
        ):
            with pytest.raises(ControlError, match=said):
                ask(folders.folder(0), **question)
