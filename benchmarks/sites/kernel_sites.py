"""Real sites that learn a kernel machine by random features, against the exact one of all rows.

    python -m benchmarks.sites.kernel_sites --data ijcnn1 --rows 5000 --sites 4

Every site is a process on this machine, in a ring. Rows are ordered by class, so that no site has
all of them; one site is killed and started again. Prints accuracies on test rows, the bytes that
all sites sent, and how long it took.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from benchmarks.race.data import load
from widemargin import LinearSVMClassifier, RandomFeatures, SVMClassifier
from widemargin.gossip import graph_of
from widemargin.sites.fleet import LocalFleet

ROUNDS_BEFORE_THE_KILL = 20
SECONDS_DOWN = 3.0


def main() -> None:
    options = parsed()
    X, y, X_test, y_test = rows_of(options)
    given: dict[str, Any] = {"gamma": options.gamma, "n_components": options.components}
    exact = SVMClassifier(C=options.C[-1], gamma=options.gamma, random_state=0).fit(X, y)
    pooled = make_pipeline(
        RandomFeatures("rbf", random_state=0, **given),
        LinearSVMClassifier(loss="hinge", C=options.C[-1], max_iter=10_000, random_state=0),
    ).fit(X, y)
    with tempfile.TemporaryDirectory(prefix="widemargin-kernel-") as folder:
        measured = trained(options, X, y, X_test, y_test, Path(folder))
    result = {
        "exact_kernel_machine": float(exact.score(X_test, y_test)),
        "random_features_of_pooled_rows": float(pooled.score(X_test, y_test)),
        **measured,
    }
    print(json.dumps(result, indent=1))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.kernel_sites")
    parser.add_argument("--data", default="ijcnn1")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--test-rows", type=int, default=20_000)
    parser.add_argument("--sites", type=int, default=4)
    parser.add_argument("--components", type=int, default=1000)
    parser.add_argument("--gamma", type=float, default=0.25)
    parser.add_argument("--C", type=float, nargs="+", default=[100.0], help="several: chosen")
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--minutes", type=float, default=10.0)
    return parser.parse_args()


def rows_of(options: argparse.Namespace) -> tuple[Any, Any, Any, Any]:
    data = load(options.data)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(data.y))
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    X = np.asarray(X, dtype=np.float32)
    train, test = chosen[: options.rows], chosen[options.rows :][: options.test_rows]
    order = train[np.argsort(data.y[train], kind="stable")]
    return X[order], data.y[order], X[test], data.y[test]


def trained(
    options: argparse.Namespace, X: Any, y: Any, X_test: Any, y_test: Any, folder: Path
) -> dict[str, Any]:
    settings = {
        "kernel": "rbf",
        "gamma": options.gamma,
        "n_components": options.components,
        "C": options.C if len(options.C) > 1 else options.C[0],
        "tol": options.tol,
        "sync": False,
    }
    parts = [(X[here], y[here]) for here in np.array_split(np.arange(len(y)), options.sites)]
    with LocalFleet(folder, parts, graph_of("ring", options.sites), settings) as fleet:
        for site in fleet.sites:
            fleet.start(site)
        began, victim, down_until = time.monotonic(), fleet.sites[1], None
        killed = False
        while time.monotonic() < began + 60.0 * options.minutes:
            time.sleep(0.5)
            seen = fleet.statuses()
            status = seen[victim.name]
            if not killed and status and status["rounds"] >= ROUNDS_BEFORE_THE_KILL:
                fleet.kill(victim)
                killed, down_until = True, time.monotonic() + SECONDS_DOWN
            elif down_until is not None and time.monotonic() >= down_until:
                fleet.start(victim)
                down_until = None
            if killed and down_until is None and all(s and s["agreed"] for s in seen.values()):
                break
        seconds = time.monotonic() - began
        models = [fleet.model(site) for site in fleet.sites]
        last = [status or {} for status in fleet.statuses().values()]
    return {
        "sites": [float(model.score(X_test, y_test)) for model in models],
        "C": float(models[0][-1].C),
        "held_out_accuracy": last[0].get("scores"),
        "rounds": [status.get("rounds") for status in last],
        "agreed": [status.get("agreed") for status in last],
        "megabytes_sent": sum(status.get("bytes_sent", 0) for status in last) / 1e6,
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()
