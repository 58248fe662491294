"""Metrics, and the local server behind them: right figures, for this machine alone."""

import http.client
import math
import re

import pytest
from pretended import answering, status

from widemargin.sites.status import metrics_text, served_metrics
from widemargin.sites.watch import LocalServer, Page

SAMPLE = re.compile(r'^(\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)+)\} (\S+)$')


def samples(text):
    """Read the text format: name and labels to value; every sample must follow its TYPE."""
    found, known = {}, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kind in ("gauge", "counter")
            assert name.endswith("_total") == (kind == "counter")
            assert name not in known, "samples of a metric belong together"
            known.add(name)
        elif not line.startswith("# HELP "):
            name, labels, value = SAMPLE.match(line).groups()
            assert name in known
            found[name.removeprefix("widemargin_site_"), labels] = float(value)
    return found


def test_figures_are_those_of_the_status():
    said = status(estimated_gap=math.nan, training_accuracy=None, mass=1 / 3)
    found = samples(metrics_text(said, "plant-3"))
    here = 'site="plant-3"'
    assert found["up", here] == 1
    assert found["rounds_total", here] == 1234
    assert found["mass", here] == 1 / 3
    assert math.isnan(found["estimated_gap", here])
    assert ("training_accuracy", here) not in found  # not known is not zero
    assert found["link_rejected_total", here + ',neighbour="plant-1"'] == 2
    assert found["link_connected", here + ',neighbour="plant-2"'] == 1


def test_names_cannot_forge_samples():
    evil = 'x"} 1\nwidemargin_site_up{site="other"} 0\n\\'
    found = samples(metrics_text(status(neighbours=[evil]), evil))
    assert {labels.partition(",")[0] for _, labels in found} == {
        r'site="x\"} 1\nwidemargin_site_up{site=\"other\"} 0\n\\"'
    }


def test_a_site_that_does_not_answer_is_down(tmp_path):
    with served_metrics(tmp_path, "plant-3", 0) as server:
        answer = get(server.port, "/metrics")
        assert samples(answer.read().decode()) == {("up", 'site="plant-3"'): 0}
        with answering(tmp_path, {"status": status()}):
            answer = get(server.port, "/metrics")
            assert answer.getheader("Content-Type").startswith("text/plain; version=0.0.4")
            assert samples(answer.read().decode())["up", 'site="plant-3"'] == 1


@pytest.fixture
def server():
    with LocalServer(0, {"/here": Page("text/plain", lambda: "hello")}) as served:
        yield served


def get(port, path, method="GET", host="127.0.0.1"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request(method, path, headers={"Host": host})
    return connection.getresponse()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_nothing_but_get(server, method):
    assert get(server.port, "/here", method).status == 501


def test_only_what_is_there_and_only_under_a_name_of_this_machine(server):
    assert get(server.port, "/here?x=1").read() == b"hello"
    assert get(server.port, "/here", host=f"localhost:{server.port}").status == 200
    assert get(server.port, "/").status == 404
    assert get(server.port, "/../../etc/passwd").status == 404
    rebound = get(server.port, "/here", host="evil.example")
    assert (rebound.status, b"hello" in rebound.read()) == (403, False)
    assert get(server.port, "/here").getheader("X-Content-Type-Options") == "nosniff"


def test_a_port_that_is_taken_is_named(server):
    with pytest.raises(OSError, match=f"Port {server.port} .* Choose another"):
        LocalServer(server.port, {})
