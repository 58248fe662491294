r"""An hour of a real network whose sites are killed again and again.

    python -m benchmarks.sites.soak --sites 10 --minutes 60 --kill-every 30
    python -m benchmarks.sites.soak --sites 10 --minutes 60 --kill-every 30 --classes 3 \
        --kernel rbf --components 200 --liars 1 --idle-connections 2000

Every site is a process as ``widemargin site run`` runs it, with keys of its own, talking over CURVE
on 127.0.0.1. One of them, drawn at random, is killed (SIGKILL) at every interval and started again
after some seconds. The last ``--spare`` sites are never killed, so that a slow leak has the whole
time to show. ``--idle-connections`` are held to the sites by an outsider. In the end all are left
alone until they agree, every model is compared with the optimum of all rows, all are stopped, and
the mass in their states is added up.

``--liars`` of the first sites are liars (`benchmarks.sites.liar`), which are never killed; then
sites cannot agree, and the models of the others are judged by their accuracy.

Rows are generated, or those of ``--data NAME`` (see benchmarks/race/data.py). Writes a report as
JSON, prints a summary, and ends with exit code 1 if a criterion is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from widemargin import RandomFeatures
from widemargin.gossip import graph_of
from widemargin.sites.config import read_config
from widemargin.sites.demo import PooledProblem, dealt_out, generated
from widemargin.sites.fleet import LocalFleet, SiteProcess
from widemargin.sites.network.addresses import parse_address

from .outsiders import IdleConnections
from .soak_report import Samples, judged

LAM = 1e-3
TOL = 2e-3
SECONDS_BETWEEN_SAMPLES = 5.0
SHORTEST_DOWN, LONGEST_DOWN = 1.0, 10.0
MINUTES_TO_AGREE = 10.0
MINUTES_BESIDE_LIARS = 2.0


def main() -> int:
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the processes are ended then, too
    with tempfile.TemporaryDirectory(prefix="widemargin-soak-") as folder:
        report = soak(options, Path(folder) if options.folder is None else options.folder)
    options.output.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nReport: {options.output}")
    for name, criterion in report["criteria"].items():
        print(f"{'pass' if criterion['passed'] else 'FAIL'}  {name}: {criterion['measured']}")
    return 0 if report["passed"] else 1


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.soak")
    parser.add_argument("--sites", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--kill-every", type=float, default=30.0, help="seconds")
    parser.add_argument("--spare", type=int, default=2, help="sites that are never killed")
    parser.add_argument("--idle-connections", type=int, default=0, help="held by an outsider")
    parser.add_argument("--rows", type=int, default=20_000, help="of all sites, if generated")
    parser.add_argument("--data", help="name of a data set in WIDEMARGIN_DATA")
    parser.add_argument("--classes", type=int, default=2, help="if rows are generated")
    parser.add_argument("--kernel", choices=("linear", "rbf", "laplacian"), default="linear")
    parser.add_argument("--components", type=int, default=200, help="random features of a kernel")
    parser.add_argument("--gamma", type=float, default=0.05)
    parser.add_argument("--liars", type=int, default=0, help="sites that lie about their models")
    parser.add_argument(
        "--alike",
        action="store_true",
        help="deal rows at random: sites that differ cannot tell a liar from an honest site",
    )
    parser.add_argument("--round-interval", type=float, default=0.1, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="of the sites, kept; temporary if left out")
    parser.add_argument("--output", type=Path, default=Path("soak.json"))
    options = parser.parse_args()
    if not 0 <= options.spare < options.sites - options.liars:
        parser.error(f"--spare must leave a site to kill; got {options.spare} of {options.sites}.")
    if options.folder is not None:
        options.folder.mkdir(parents=True)
    return options


def soak(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    X, y = rows_of(options)
    features = features_of(options, X)
    problem = PooledProblem(X if features is None else features.transform(X), y, LAM)
    optimum = problem.solved()
    degree = min(4, options.sites - 1)
    topology = graph_of(("random_regular", {"degree": degree}), options.sites, options.seed)
    settings = {
        "loss": "hinge",
        "lam": LAM,
        "tol": TOL,
        "round_interval": options.round_interval,
        "heartbeat": options.round_interval,  # no rest once all are content
        "sync": False,
    }
    if features is not None:
        settings |= {"kernel": options.kernel, "gamma": options.gamma}
        settings |= {"n_components": options.components, "feature_seed": options.seed}
    dealt = dealt_out(X, y, options.sites)
    if options.alike:
        order = np.random.default_rng(options.seed).permutation(len(y))
        dealt = [np.sort(part) for part in np.array_split(order, options.sites)]
    parts = [(X[here], y[here]) for here in dealt]
    with LocalFleet(folder, parts, topology, settings) as fleet:
        samples = Samples(fleet)
        for k, site in enumerate(fleet.sites):
            start_liar(site) if k < options.liars else fleet.start(site)
        ports = [parse_address(read_config(site.folder).listen).port for site in fleet.sites]
        with IdleConnections(ports, options.idle_connections) as outsider:
            kills = disturbed(fleet, samples, options)
        agreed_after = left_in_peace(fleet, samples, liars=options.liars)
        models = [fleet.model(site) for site in fleet.sites[options.liars :]]
        final = {
            "agreed_after_seconds": agreed_after,
            "excess": [problem.excess(classifier_in(model), optimum) for model in models],
            "accuracy": [float(model.score(X, y)) for model in models],
            "pooled_accuracy": float(optimum.score(problem.X, y)),
        }
        fleet.stop()
        final["mass"] = samples.mass_in_states()
    report = {
        "settings": {k: str(v) if isinstance(v, Path) else v for k, v in vars(options).items()},
        "rows": len(y),
        "features": X.shape[1],
        "kills": kills,
        "idle_connections_opened": outsider.opened,
        "final": final,
        **samples.report(),
    }
    return {**report, **judged(report)}


def rows_of(options: argparse.Namespace) -> tuple[Any, Any]:
    if options.data is None:
        return generated(options.rows, options.seed, options.classes)
    from benchmarks.race.data import load

    data = load(options.data)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    return np.asarray(X, dtype=np.float64), data.y


def features_of(options: argparse.Namespace, X: Any) -> RandomFeatures | None:
    """Return the map that sites draw from the settings."""
    if options.kernel == "linear":
        return None
    return RandomFeatures(
        options.kernel,
        n_components=options.components,
        gamma=options.gamma,
        random_state=options.seed,
    ).fit(X[:1])


def classifier_in(model: Any) -> Any:
    """Return the classifier at the end of a pipeline."""
    return model[-1] if hasattr(model, "steps") else model


def start_liar(site: SiteProcess) -> None:
    command = [sys.executable, "-m", "benchmarks.sites.liar"]
    command += ["--config", str(site.folder / "site.toml")]
    with open(site.folder / "output.txt", "ab") as output:
        site.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )


def disturbed(
    fleet: LocalFleet, samples: Samples, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Kill and restart sites until the time is over; return what was killed when."""
    draw = random.Random(options.seed)
    victims = fleet.sites[options.liars : options.sites - options.spare]
    kills: list[dict[str, Any]] = []
    down: dict[str, tuple[float, SiteProcess]] = {}
    end = 60.0 * options.minutes
    next_kill, next_sample, next_line = options.kill_every, 0.0, 0.0
    while samples.seconds < end:
        now = samples.seconds
        for name, (until, site) in list(down.items()):
            if now >= until:
                del down[name]
                fleet.start(site)
                samples.started(site)
        if now >= next_kill:
            next_kill += options.kill_every
            site = draw.choice([site for site in victims if site.name not in down])
            fleet.kill(site)
            down[site.name] = (now + draw.uniform(SHORTEST_DOWN, LONGEST_DOWN), site)
            kills.append({"seconds": round(now, 1), "site": site.name})
        if now >= next_sample:
            next_sample = now + SECONDS_BETWEEN_SAMPLES
            samples.take(expected_down=set(down))
        if now >= next_line:
            next_line = now + 60.0
            print(f"{now / 60:5.1f} min  {len(kills):4d} kills  {samples.line()}", flush=True)
        time.sleep(0.2)
    for _, site in down.values():
        fleet.start(site)
        samples.started(site)
    return kills


def left_in_peace(fleet: LocalFleet, samples: Samples, *, liars: int) -> float | None:
    """Wait until all sites agree; return how long that took, None if they did not.

    Beside liars, which do not let them agree, wait for a shorter time.
    """
    began = samples.seconds
    minutes = MINUTES_BESIDE_LIARS if liars else MINUTES_TO_AGREE
    while samples.seconds < began + 60.0 * minutes:
        time.sleep(1.0)
        statuses = samples.take(expected_down=set())
        if all(status and status["agreed"] for status in statuses.values()):
            return round(samples.seconds - began, 1)
    return None


if __name__ == "__main__":
    raise SystemExit(main())
