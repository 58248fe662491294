"""From `site init` to two sites that run, by the commands that an operator types."""

import json
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from typer.testing import CliRunner

from widemargin import load_model
from widemargin.cli import app
from widemargin.sites.control import ControlError, ask
from widemargin.sites.demo import generated
from widemargin.sites.fleet import free_ports

COMMAND = [sys.executable, "-m", "widemargin", "site"]


def site(*arguments):
    done = CliRunner().invoke(app, ["site", *map(str, arguments)])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def until(condition, seconds=90):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except ControlError:
            pass  # not up yet
        time.sleep(0.2)
    raise AssertionError("it took too long")


@pytest.fixture
def two_sites(tmp_path):
    """Make two sites that know each other; yield their folders, and end what was started."""
    X, y = generated(300, 0)
    ports = free_ports(3)
    keys, folders = [], [tmp_path / "one", tmp_path / "two"]
    for k, folder in enumerate(folders):
        np.savez(tmp_path / f"{k}.npz", X=X[k::2], y=np.where(y[k::2], 1, -1))
        options = ["--listen", f"tcp://127.0.0.1:{ports[k]}", "--data", tmp_path / f"{k}.npz"]
        options += ["--lam", 0.01, "--sites", 2, "--total-rows", 300, "--features", 20]
        options += ["--metrics-port", ports[2] if k == 0 else 0, "--json"]
        made = site("init", "--name", folder.name, "--folder", folder, *options)
        keys.append(json.loads(made)["public_key"])
    address = f"tcp://127.0.0.1:{ports[1]}"
    site("add-neighbour", "two", address, "--key", keys[1], "--folder", folders[0])
    running = []
    for folder in folders:
        files = ["--config", folder / "site.toml", "--log", folder / "log"]
        running.append(subprocess.Popen([*COMMAND, "run", *files]))
    try:
        yield folders, ports, keys, running
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_two_sites_from_init_to_stop(two_sites, tmp_path):
    (one, two), ports, keys, running = two_sites
    until(lambda: ask(two, "status")["refused_keys"] > 0)  # it does not know the other yet
    address = f"tcp://127.0.0.1:{ports[0]}"
    site("add-neighbour", "one", address, "--key", keys[0], "--folder", two)
    assert site("reload", "--folder", two) == "new neighbours: one\n"
    until(lambda: all(ask(folder, "status")["agreed"] for folder in (one, two)))

    shown = site("status", "--folder", one)
    assert "agreed" in shown
    assert "tcp://" in shown
    with urllib.request.urlopen(f"http://127.0.0.1:{ports[2]}/metrics", timeout=10) as answer:
        metrics = answer.read().decode()
    assert 'widemargin_site_agreed{site="one"} 1\n' in metrics
    assert 'widemargin_site_link_connected{site="one",neighbour="two"} 1\n' in metrics

    models = []
    for folder in (one, two):
        path = tmp_path / f"{folder.name}.wm"
        assert site("model", "-o", path, "--folder", folder) == f"saved {path}\n"
        models.append(load_model(path))
    apart = np.linalg.norm(models[0].coef_ - models[1].coef_)
    assert apart < 0.05 * np.linalg.norm(models[0].coef_)

    for folder, process in zip((one, two), running, strict=True):
        assert site("stop", "--folder", folder) == "stopped\n"
        assert process.wait(30) == 0
    events = [json.loads(line) for line in (two / "log").read_text().splitlines()]
    names = [event["event"] for event in events]
    assert (names[0], names[-1]) == ("started", "stopped")
    assert "reloaded" in names
    (refused,) = (event for event in events if event["event"] == "refused")
    assert (refused["level"], refused["public_key"]) == ("warning", keys[0])
