"""The watch page: what it is made from, and what a browser makes of it."""

import base64
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from pretended import answering, status

from widemargin.sites.watch import LocalServer, Watcher, page_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
EVIL = "<img src=x onerror=document.title='owned'>"


def test_a_site_that_went_down_is_remembered_and_its_history_continued(tmp_path):
    folder = tmp_path / "plant-3"
    folder.mkdir()
    (folder / "site.toml").write_text('name = "Plant 3"\n')
    watcher = Watcher([folder])

    def seen():
        watcher._asked = 0.0
        return watcher.view()["sites"][0]

    never = seen()
    assert (never["name"], never["running"], never["history"]) == ("Plant 3", False, [])
    with answering(
        folder, {"status": status(history=[[1.0, 0.5, 0.4, 0.7], [2.0, 0.4, 0.3, 0.8]])}
    ):
        up = seen()
    assert up["running"]
    assert [link["connected"] for link in up["links"]] == [True, True]
    down = seen()
    assert not down["running"]
    assert [link["connected"] for link in down["links"]] == [False, False]
    assert down["n_rows"] == 8140
    with answering(folder, {"status": status(history=[[9.0, 0.4, 0.3, None]])}):
        assert [point[0] for point in seen()["history"]] == [1.0, 2.0, 9.0]


def test_only_figures_leave_and_all_of_them_are_json():
    said = status(distance=float("nan"), weights=[1.0, 2.0], objective_estimate=float("inf"))
    said["history"][0][1] = float("inf")
    watcher = Watcher([Path("anywhere")], lambda folder: said)
    text = page_of(watcher)["/network.json"].content()
    site = json.loads(text, parse_constant=lambda word: 1 / 0)["sites"][0]
    assert site["distance"] is None
    assert not {"weights", "pid", "public_key", "folder"} & set(site)
    assert "address" not in site["links"][0]


def test_histories_stay_short():
    long = [[float(t), 0.1, 0.1, 0.9] for t in range(5000)]
    watcher = Watcher([Path("anywhere")], lambda folder: status(history=long))
    history = watcher.view()["sites"][0]["history"]
    assert len(history) <= 1024
    assert (history[0][0], history[-1][0]) == (0.0, 4999.0)


def test_the_policy_admits_the_page_and_nothing_else():
    with LocalServer(0, page_of(Watcher([Path("anywhere")], lambda folder: status()))) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        connection.request("GET", "/")
        answer = connection.getresponse()
        policy, document = answer.getheader("Content-Security-Policy"), answer.read().decode()
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", document, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    outside = set(re.findall(r"https?://[^\"'\s]+", document)) - {"http://www.w3.org/2000/svg"}
    assert not outside
    assert not re.search(r'\s(style|onclick|onload)="', document)


def rendered(url, folder):
    """Return the document as headless Chromium has it after some seconds of the page's own time."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [
        f"--user-data-dir={folder}",
        "--virtual-time-budget=4000",
        "--enable-logging=stderr",
    ]
    process = subprocess.Popen(
        [*command, url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser(tmp_path):
    names = ["plant-0", "plant-1", "plant-2", EVIL]
    folders = [Path(f"plant-{k}") for k in range(4)]

    def ask(folder):
        k = folders.index(folder)
        if k == 2:
            raise ValueError("down")
        around = [names[k - 1], names[(k + 1) % 4]]
        return status(names[k], around, agreed=k == 0, n_rows=1000 + k)

    watcher = Watcher(folders, ask)
    began = time.monotonic()
    with LocalServer(0, page_of(watcher)) as server:
        address = f"http://127.0.0.1:{server.port}/"
        document, console = rendered(address, tmp_path / "first")
        if not document:  # Chromium itself ended early, as it may on a busy machine
            document, console = rendered(address, tmp_path / "second")
    assert time.monotonic() - began < 180
    assert "Refused to" not in console  # what the policy would have to say of the page itself
    assert "Uncaught" not in console
    assert "owned" not in re.search("<title>.*?</title>", document).group()
    assert "<img" not in document
    assert "&lt;img src=x" in document
    assert ">3 of 4<" in document  # sites running
    assert "read-only, as of" in document
    assert document.count('class="node ') == 4
    assert document.count('class="node agreed"') == document.count('class="node down"') == 1
    assert document.count('class="link"') == 2
    assert document.count('class="link silent"') == 2
    assert document.count("<polyline") == 6  # three sites in two charts
    assert ">1,003<" in document
