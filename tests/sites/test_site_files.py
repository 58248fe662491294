"""Keys, configurations, rows and the control socket of a site."""

from __future__ import annotations

import json
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from site_folders import Folders, generated_rows

from widemargin import LinearODMClassifier, LinearSVMClassifier, load_model
from widemargin.data import DataFileError
from widemargin.sites.config import ConfigError, Neighbour, read_config, write_template
from widemargin.sites.control import ControlError, ControlServer, ask, socket_path
from widemargin.sites.network.keys import (
    MOST_STRANGERS,
    Gate,
    TokenBucket,
    check_public_key,
    make_keys,
    read_public_key,
    read_secret_key,
)
from widemargin.sites.settings import SETTINGS
from widemargin.sites.training.local_site import LocalSite, classifier_of, read_rows
from widemargin.sites.training.participant import StateError, StateStore, read_state

REQUIRED: dict[str, Any] = {"data": "rows.npz", "n_sites": 4, "total_rows": 100, "n_features": 5}


# --- keys ----------------------------------------------------------------------------------------


def test_keys_are_made_once_and_for_their_owner(tmp_path: Path) -> None:
    public = make_keys(tmp_path)
    assert read_public_key(tmp_path) == public
    assert len(public) == 40
    assert read_secret_key(tmp_path) != public
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError, match="exists already"):
        make_keys(tmp_path)
    (tmp_path / "secret.key").chmod(0o644)
    with pytest.raises(PermissionError, match="chmod 600"):
        read_secret_key(tmp_path)
    (tmp_path / "secret.key").write_text("short")
    with pytest.raises(ValueError, match="is damaged"):
        read_secret_key(tmp_path)
    with pytest.raises(FileNotFoundError, match="widemargin site init"):
        read_public_key(tmp_path / "elsewhere")


@pytest.mark.parametrize("key", ["", "a" * 39, "a" * 41, "~" * 40, "é" * 40, "%" * 40, None, 7])
def test_what_is_no_key_is_refused(key: object) -> None:
    with pytest.raises(ValueError, match=r"public\.key"):
        check_public_key(key)


# --- configuration -------------------------------------------------------------------------------


def neighbour(tmp_path: Path, name: str = "b") -> Neighbour:
    folder = tmp_path / f"keys-of-{name}"
    folder.mkdir()
    return Neighbour(name, "tcp://10.0.0.2:7001", make_keys(folder))


def test_a_template_says_all_there_is(tmp_path: Path) -> None:
    other = neighbour(tmp_path)
    path = write_template(tmp_path, "plant é", neighbours=[other], **REQUIRED, lam=1e-5, tol=0.01)
    config = read_config(tmp_path)
    assert config == read_config(path)
    assert (config.name, config.lam, config.tol) == ("plant é", 1e-5, 0.01)
    assert config.data == tmp_path / "rows.npz"
    assert config.neighbours == (other,)
    text = path.read_text()
    for setting in SETTINGS:
        assert setting.comment in text
        if setting.default is not None and setting.name not in ("tol", "classes"):
            assert getattr(config, setting.name) == setting.default
    # What stands there as a comment is what holds without it.
    plain = "\n".join(
        line[2:] if line.startswith("# ") and "Left out" not in line and " = " in line else line
        for line in text.splitlines()
        if not line.startswith(
            (
                "# lam",
                "# robust",
                "# max_norm",
                "# max_travel",
                "# zero_based",
                "# label",
                "# study",
            )
        )
    )
    path.write_text(plain)
    assert read_config(path) == config


def test_a_template_must_be_completed(tmp_path: Path) -> None:
    path = write_template(tmp_path, "a")
    assert path.read_text().count("TO BE SET") == 4
    with pytest.raises(ConfigError, match="no setting `colour`"):
        write_template(tmp_path, "a", colour="red")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("name = 3", "`name` must be a name of at most 64"),
        ('listen = "nowhere"', "`listen` must be an address"),
        ("metrics_port = 70000", "`metrics_port` must be a whole number from 0 to 65535"),
        ("colour = 1", "no setting `colour`"),
        ("[model]\nC = -1", "`model.C` must be a positive number, or a list"),
        ("[model]\nC = inf", "`model.C` must be"),
        ("[model]\ntol = true", "`model.tol` must be"),
        ("[model]\nupsilon = 2.0", "upsilon"),
        ("[model]\nrelaxtion = 0.5", "no setting `model.relaxtion`"),
        ('[model]\nloss = "log"', "`model.loss` must be one of"),
        ('[model]\nrobust = "clip"', "`model.robust` = 'clip' is not for"),
        ('[model]\nsolver = "gadget"\nloss = "odm"', "needs `model.loss` = 'hinge'"),
        ('[model]\nsolver = "gadget"\nrobust = "trim"', "`model.trim` = 1 leaves out 2"),
        ("[network]\nclasses = [1, 1]", "`network.classes` must be two to 1000 different labels"),
        ('[running]\nmax_memory = "much"', "memory_limit"),
        ("neighbours = 3", "`neighbours` must be tables"),
        ('[[neighbours]]\nname = "b"', "neighbour 1 must have"),
        (
            '[[neighbours]]\nname = "b"\naddress = "tcp://h:1"\npublic_key = "short"',
            "`public_key` of neighbour 1, b",
        ),
        ("this is no toml", "is no TOML"),
    ],
)
def test_errors_name_the_key(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "site.toml"
    tables = {
        "data": 'path = "rows.npz"',
        "network": "n_sites = 4\ntotal_rows = 100\nn_features = 5",
    }
    for table in tables:
        if line.startswith(f"[{table}]"):
            tables[table] += "\n" + line.partition("\n")[2]
            line = ""
    top = line if not line.startswith("[") else ""
    rest = line if line.startswith("[") else ""
    name = "" if top.startswith("name") else 'name = "a"\n'
    body = "\n".join(f"[{table}]\n{lines}" for table, lines in tables.items())
    path.write_text(f"{name}{top}\n{body}\n{rest}\n")
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="widemargin site init"):
        read_config(tmp_path)
    (tmp_path / "site.toml").write_text('name = "a"\n[data]\npath = "x"\n[network]\nn_sites = 2')
    with pytest.raises(ConfigError, match=r"`network\.total_rows` is missing: Rows of all"):
        read_config(tmp_path)


def test_neighbours_are_unlike_each_other(tmp_path: Path) -> None:
    one = neighbour(tmp_path)
    write_template(tmp_path, "a", neighbours=[one, one], **REQUIRED)
    with pytest.raises(ConfigError, match="two neighbours have the `name` 'b'"):
        read_config(tmp_path)


def test_sites_agree_if_and_only_if_they_solve_one_problem(tmp_path: Path) -> None:
    def agreement(**changes: Any) -> int:
        write_template(tmp_path, "a", **(REQUIRED | changes))
        return read_config(tmp_path).agreement

    first = agreement()
    assert agreement(seed=3, round_interval=1.0, data="other.csv", metrics_port=9) == first
    assert agreement(diameter=3, n_links=8) == first  # as where they are left out
    for change in ({"C": 2.0}, {"total_rows": 101}, {"classes": [0, 1]}, {"penalty": 5.0}):
        assert agreement(**change) != first


# --- rows ----------------------------------------------------------------------------------------


def rows_of(tmp_path: Path, text: str, **changes: Any) -> Any:
    (tmp_path / "rows.csv").write_text(text)
    settings = {"data": "rows.csv", "n_sites": 2, "total_rows": 3, "n_features": 2}
    settings["min_rows"] = 1
    write_template(tmp_path, "a", **(settings | changes))
    return read_rows(read_config(tmp_path))


def test_rows_are_read(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "p,q,label\n1,2,0\n3,4,1\n", classes=[0, 1])
    assert rows.codes.tolist() == [0, 1]
    assert rows.feature_names == ("p", "q")
    again = rows_of(tmp_path, "p,q,label\n1,2,0\n3,4,1\n", classes=[0, 1])
    other = rows_of(tmp_path, "p,q,label\n1,2,0\n3,5,1\n", classes=[0, 1])
    assert rows.fingerprint == again.fingerprint != other.fingerprint
    assert rows_of(tmp_path, "1,2,01\n3,4,1\n", classes=["01", "1"]).codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2,0\n3,4,1\n", "found 0"),
        ("1,2,a\n3,4,b\n", "found text such as 'a'"),
        ("1,2,1\n1,2,1\n1,2,-1\n1,2,-1\n", "4 rows"),
        ("1,2,3,1\n3,4,5,-1\n", "2 feature columns"),
    ],
)
def test_rows_that_do_not_belong_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataFileError, match=said):
        rows_of(tmp_path, text)


def test_memory_for_neighbours_is_limited(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *generated_rows(8, 5), n_sites=2, settings={"max_memory": "2kB"})
    config = folders.config(0)
    with pytest.raises(ConfigError, match="max_memory"):
        LocalSite(config, read_rows(config)).check_memory(14, 1)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "odm"])
def test_a_model_is_exported(tmp_path: Path, loss: str) -> None:
    write_template(tmp_path, "a", **REQUIRED, loss=loss, intercept_scaling=2.0)
    names = tuple("abcde")
    w = np.arange(6.0)
    model = classifier_of(read_config(tmp_path), w, 17, True, names)
    model.save(tmp_path / "m.wm")
    again = load_model(tmp_path / "m.wm")
    assert type(again) is (LinearODMClassifier if loss == "odm" else LinearSVMClassifier)
    X = np.random.default_rng(0).standard_normal((9, 5))
    assert again.feature_names_in_.tolist() == list(names)
    del again.feature_names_in_  # X has none
    np.testing.assert_array_equal(again.decision_function(X), X @ w[:5] + 2.0 * w[5])
    assert again.predict(X).tolist() == np.where(X @ w[:5] + 10.0 > 0, 1, -1).tolist()
    assert again.converged_ is True
    assert np.isnan(again.relative_gap_)


# --- state ---------------------------------------------------------------------------------------


def test_states_replace_each_other_whole(tmp_path: Path) -> None:
    store = StateStore(tmp_path, sync=True)
    assert store.load() is None
    store.save({"a": 0.1}, b"native")
    saved = store.load()
    assert saved is not None
    assert (saved.header, saved.native) == ({"a": 0.1}, b"native")
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    (tmp_path / ".0123.wm.tmp").write_bytes(b"half")  # of a process that was killed
    StateStore(tmp_path, sync=False).save({}, b"")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["state.wms"]
    whole = store.path.read_bytes()
    for k in range(len(whole)):
        store.path.write_bytes(whole[:k])
        with pytest.raises(StateError):
            read_state(tmp_path)
        harmed = bytearray(whole)
        harmed[k] ^= 0x10
        store.path.write_bytes(harmed)
        with pytest.raises(StateError):
            read_state(store.path)
    assert store.set_aside().name == "state.damaged-1.wms"
    store.save({}, b"")
    assert store.set_aside().name == "state.damaged-2.wms"
    assert store.load() is None


# --- who may connect -----------------------------------------------------------------------------


def test_the_gate_lets_in_those_on_the_list(tmp_path: Path) -> None:
    from zmq.utils import z85

    told: list[tuple[str, dict[str, Any]]] = []
    gate = Gate(lambda event, **fields: told.append((event, fields)))
    known, stranger = (neighbour(tmp_path, name).public_key for name in "ab")

    def ask_for(key: str, mechanism: bytes = b"CURVE") -> list[bytes]:
        question = [b"1.0", b"7", b"widemargin", b"10.0.0.9", b"", mechanism]
        return gate.answer([*question, z85.decode(key.encode())])

    assert ask_for(known)[2] == b"400"
    gate.admit([known])
    assert ask_for(known) == [b"1.0", b"7", b"200", b"ok", known.encode(), b""]
    for _ in range(3):
        assert ask_for(stranger)[2:5] == [b"400", b"no", b""]
    assert ask_for(known, b"PLAIN")[2] == b"400"
    assert gate.answer([b"1.0", b"1"])[2] == b"500"
    assert gate.refused == 5
    strangers = [fields["public_key"] for _, fields in told]
    assert strangers == [known, stranger, ""]
    # One that connects over and over again has to wait, and memory stays bounded.
    assert {ask_for(known)[2] for _ in range(100)} == {b"200", b"300"}
    for number in range(3 * MOST_STRANGERS):
        gate.refuse(address=number)
    assert len(told) <= MOST_STRANGERS


def test_a_bucket_fills_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("widemargin.sites.network.keys.time.monotonic", lambda: now[0])
    bucket = TokenBucket(2.0, 3.0)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [bucket.take() for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


# --- control -------------------------------------------------------------------------------------


def test_a_site_is_asked(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)  # longer than the name of a socket may be
    deep.mkdir()
    with pytest.raises(ControlError, match="widemargin site init"):
        ask(deep, "status")

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        if question["command"] == "fail":
            raise ValueError("it cannot")
        return {"got": question}

    server = ControlServer(deep, answer)
    try:
        assert stat.S_IMODE(socket_path(deep).stat().st_mode) == 0o600
        assert ask(deep, "model", path="x")["got"] == {"command": "model", "path": "x"}
        with pytest.raises(ControlError, match="it cannot"):
            ask(deep, "fail")
        with pytest.raises(ControlError, match=r"runs in .* already"):
            ControlServer(deep, answer)
    finally:
        server.close()
    assert not socket_path(deep).exists()
    socket_path(deep).touch()  # as a killed site leaves it
    ControlServer(deep, answer).close()


def test_nonsense_on_the_socket_is_answered(tmp_path: Path) -> None:
    server = ControlServer(tmp_path, lambda question: {})
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(str(socket_path(tmp_path)))
    with link, link.makefile("rb") as lines:
        for nonsense in (b"hello", b"[1]", b"\xff\xfe", b'{"command"'):
            link.sendall(nonsense + b"\n")
            assert json.loads(lines.readline())["ok"] is False
        link.sendall(b'{"command": "status"}\n')
        assert json.loads(lines.readline()) == {"ok": True}
        before = threading.active_count()
        server.close()  # ends the conversation, too
        assert lines.readline() == b""
        assert threading.active_count() == before - 2
