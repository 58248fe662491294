"""``widemargin gossip demo``: real processes that learn, one of them killed on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from widemargin.sites.demo import PooledProblem, dealt_out, generated
from widemargin.sites.fleet import LocalFleet

DEMO = [sys.executable, "-m", "widemargin", "gossip", "demo"]


def processes_with(text):
    """Return the processes that have a text in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "TMPDIR": str(tmp_path)}


def test_all_have_the_pooled_model_though_one_was_killed(environment, tmp_path):
    X, y = generated(500, 0)
    np.savez(tmp_path / "rows.npz", X=X, y=np.where(y, "good", "bad"))
    command = [*DEMO, str(tmp_path / "rows.npz"), "--sites", "3", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["agreed"]
    assert result["passed"]
    assert [site["rows"] for site in result["sites"]] == [167, 167, 166]
    assert max(site["excess"] for site in result["sites"]) < 0.01
    news = ("site-1 killed", "site-1 started", "all sites agreed")
    places = [done.stderr.index(words) for words in news]
    assert places == sorted(places)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npz"]
    assert not processes_with(str(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing_behind(environment, tmp_path, number):
    command = [*DEMO, "--sites", "2", "--rows", "400"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert "2 processes started" in process.stdout.readline()
        deadline = time.monotonic() + 30
        while len(processes_with(str(tmp_path))) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(processes_with(str(tmp_path))) == 2
        process.send_signal(number)
        assert process.wait(60) == 130
    assert not processes_with(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_labels_must_be_classes(tmp_path):
    X, _ = generated(200, 0)
    np.savez(tmp_path / "many.npz", X=X, y=np.arange(200))
    command = [*DEMO, str(tmp_path / "many.npz")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "takes two to 20 classes; there are 200" in done.stderr


def test_sites_see_different_rows_and_alone_learn_something_else():
    X, y = generated(2000, 0)
    rows = dealt_out(X, y, 4)
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(2000))
    problem = PooledProblem(X, y, 1e-3)
    optimum = problem.solved()
    assert abs(problem.excess(optimum, optimum)) < 1e-12
    alone = [problem.excess(problem.solved(here), optimum) for here in rows]
    assert max(alone) > 0.2  # what the network has to make up for


def test_the_worst_of_several_classes_counts():
    X, y = generated(600, 0, 3)
    problem = PooledProblem(X, y, 1e-3)
    optimum = problem.solved()
    other = problem.solved()
    other.coef_ = optimum.coef_.copy()
    assert abs(problem.excess(optimum, optimum)) < 1e-12
    other.coef_[2] *= 1.5
    assert problem.excess(other, optimum) > 0.01


def test_a_fleet_ends_its_processes_whatever_happens(tmp_path):
    from widemargin.gossip import graph_of

    X, y = generated(100, 0)
    parts = [(X[here], y[here]) for here in dealt_out(X, y, 2)]
    fleet = LocalFleet(tmp_path, parts, graph_of("ring", 2), {"lam": 0.1})

    def run():
        with fleet:
            for site in fleet.sites:
                fleet.start(site)
            raise RuntimeError("on the way")

    with pytest.raises(RuntimeError, match="on the way"):
        run()
    assert not any(site.running for site in fleet.sites)
    assert fleet.statuses() == {"site-0": None, "site-1": None}
