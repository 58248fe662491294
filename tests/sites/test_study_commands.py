"""A study by the commands that operators give, with real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from site_folders import free_ports, generated_rows
from study_folders import pooled_best, pooled_objective

from widemargin import load_model
from widemargin.sites.control import ControlError, ask

COMMAND = [sys.executable, "-m", "widemargin"]
PATIENCE = 240.0
X, Y = generated_rows(300, 4)


def write_rows(path: Path, rows: slice) -> None:
    header = ",".join([*(f"x{j}" for j in range(4)), "outcome"])
    table = np.column_stack([X[rows], Y[rows]])
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")


class Operators:
    """Runs commands in a folder, some of them in the background."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.commands = 0

    def run(self, *arguments: str, code: int = 0) -> str:
        self.commands += 1
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def begin(self, name: str, *arguments: str) -> None:
        self.commands += 1
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [*COMMAND, *arguments], cwd=self.folder, stdout=log, stderr=log
            )

    def logged(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def until(self, wanted: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not wanted():
            logs = "\n".join(self.logged(name)[-1500:] for name in self.processes)
            assert time.monotonic() < deadline, logs
            time.sleep(0.2)

    def status(self, site: str) -> dict[str, Any]:
        try:
            return ask(self.folder / site, "status", timeout=60.0)
        except ControlError:
            return {}

    def agreed(self, sites: list[str]) -> bool:
        found = [self.status(site) for site in sites]
        return all(
            each.get("agreed") and each.get("n_sites") == len(sites) and len(each["links"]) > 0
            for each in found
        )

    def excess(self, sites: list[str], rows: Any) -> float:
        """By how much the worst model exceeds the pooled optimum of these rows."""
        best, worst = pooled_best(X[rows], Y[rows]), 0.0
        for site in sites:
            path = self.folder / f"{site}.wm"
            ask(self.folder / site, "model", path=str(path), timeout=60.0)
            model = load_model(path)
            w = np.append(model.coef_[0], model.intercept_[0])
            worst = max(worst, pooled_objective(X[rows], Y[rows], w) / best - 1.0)
        return worst

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def operators(tmp_path: Path) -> Iterator[Operators]:
    made = Operators(tmp_path)
    yield made
    made.close()


def test_five_sites_in_seven_commands(operators: Operators) -> None:
    for k in range(5):
        write_rows(operators.folder / f"rows-{k}.csv", slice(k, None, 5))
    desk = f"tcp://127.0.0.1:{free_ports(1)[0]}"
    operators.run(
        "study", "create", "risk", "--data", "rows-0.csv", "--label", "outcome", "--desk", desk,
        "--C", "0.1",
    )  # fmt: skip
    operators.begin("desk", "study", "host", "risk.study")
    sites = [f"site-{k}" for k in range(5)]
    for k, site in enumerate(sites):
        operators.begin(
            site, "site", "join", "risk.study", "--name", site, "--data", f"rows-{k}.csv"
        )
    assert operators.commands == 7
    operators.until(lambda: operators.agreed(sites))
    assert operators.excess(sites, np.arange(300)) < 0.01
    assert os.stat(operators.folder / "site-0" / "secret.key").st_mode & 0o777 == 0o600

    # A second process in one folder is told what is wrong, and a doctor finds nothing.
    said = operators.run("site", "run", "--config", "site-0/site.toml", code=1)
    assert "runs in" in said
    found = json.loads(operators.run("site", "doctor", "--folder", "site-1", "--json"))["findings"]
    assert {each["check"] for each in found} > {"folder", "keys", "desk", "clock", "rows", "disk"}
    assert [each for each in found if each["right"] is False] == []


def test_members_come_and_go(operators: Operators) -> None:
    for k in range(4):
        write_rows(operators.folder / f"rows-{k}.csv", slice(k, None, 4))
    desk = f"tcp://127.0.0.1:{free_ports(1)[0]}"
    operators.run(
        "study", "create", "risk", "--data", "rows-0.csv", "--label", "outcome", "--desk", desk,
        "--C", "0.1", "--topology", "ring",
    )  # fmt: skip
    operators.begin("desk", "study", "host", "risk.study")
    for k in range(3):
        operators.begin(
            f"site-{k}", "site", "join", "risk.study", "--name", f"site-{k}",
            "--data", f"rows-{k}.csv",
        )  # fmt: skip
    operators.until(lambda: operators.agreed(["site-0", "site-1", "site-2"]))
    rows = np.arange(300)
    assert operators.excess(["site-0"], rows[rows % 4 != 3]) < 0.01
    steps = operators.status("site-0")["steps"]

    operators.begin(
        "site-3", "site", "join", "risk.study", "--name", "site-3", "--data", "rows-3.csv"
    )
    four = [f"site-{k}" for k in range(4)]
    operators.until(lambda: operators.agreed(four))
    assert operators.excess(four, rows) < 0.01
    assert operators.status("site-0")["steps"] > steps

    assert "3 members" in operators.run("site", "leave", "--folder", "site-1")
    operators.until(lambda: operators.processes["site-1"].poll() is not None)
    assert operators.processes["site-1"].returncode == 0
    three = ["site-0", "site-2", "site-3"]
    operators.until(lambda: operators.agreed(three))
    assert operators.excess(three, rows[rows % 4 != 1]) < 0.01
    for site in three:
        assert "state_set_aside" not in operators.logged(site)


def test_the_commands_of_the_container_files_run(operators: Operators) -> None:
    """The files themselves need an engine; what they run does not."""
    yaml = pytest.importorskip("yaml")
    deploy = Path(__file__).parents[2] / "deploy"
    compose = yaml.safe_load((deploy / "compose.yaml").read_text())
    assert "\nUSER 10001" in (deploy / "Containerfile").read_text()
    ports = dict(zip(("7000", "7001"), map(str, free_ports(2)), strict=True))

    def outside(words: list[str]) -> list[str]:
        """Put defaults in place of variables, and folders and ports of here in place of those."""
        plain = [
            word.replace("${STUDY:-risk}", "risk").replace("${SITE:-site}", "site")
            for word in words
        ]
        plain = [word.replace("${ADDRESS:-}", "") for word in plain]
        for folder in ("study", "data", "state"):
            plain = [word.replace(f"/{folder}/", f"{operators.folder}/{folder}/") for word in plain]
        for port, free in ports.items():
            plain = [word.replace(f"0.0.0.0:{port}", f"127.0.0.1:{free}") for word in plain]
        return plain

    for folder in ("study", "data", "state"):
        (operators.folder / folder).mkdir(mode=0o700)
    write_rows(operators.folder / "data" / "rows.csv", slice(None))
    operators.run(
        "study", "create", "risk", "--data", "data/rows.csv", "--label", "outcome", "--folder",
        "study", "--desk", f"tcp://127.0.0.1:{ports['7000']}",
    )  # fmt: skip
    services = compose["services"]
    operators.begin("desk", *outside(services["desk"]["command"]))
    site = outside(services["site"]["command"])
    operators.begin("site", *site)
    check = outside(services["site"]["healthcheck"]["test"])
    assert check[:2] == ["CMD", "widemargin"]
    operators.until(lambda: bool(operators.status("state/site")))
    operators.run(*check[2:])

    # Started again, as after a crash, it needs no desk.
    for name in ("desk", "site"):
        operators.processes[name].kill()
        operators.processes[name].wait()
    operators.run(*check[2:], code=1)
    operators.begin("site", *site)
    operators.until(lambda: bool(operators.status("state/site")))
    assert "state_restored" in operators.logged("site")
