"""``widemargin site``: what is asked of a running site, and what is said when there is none."""

import json
import sys

import pytest
import zmq
from pretended import KEY, answering, status
from typer.testing import CliRunner

from widemargin.cli import app
from widemargin.sites.config import read_config
from widemargin.sites.network.keys import make_keys
from widemargin.sites.template import unit_text


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["widemargin", *arguments])
        result = CliRunner().invoke(app, list(arguments))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.mark.parametrize("command", ["status", "model", "reload", "stop"])
def test_without_a_site_it_says_how_to_start_one(run, tmp_path, command):
    arguments = ["site", command, *(["-o", "m.wm"] if command == "model" else [])]
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert "widemargin site init" in err
    (tmp_path / "site.toml").touch()
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert "widemargin site run --config" in err


def test_status_once_where_no_terminal_watches(run, tmp_path):
    with answering(tmp_path, {"status": status()}):
        for arguments in ([], ["--watch"]):
            code, out, err = run("site", "status", *arguments)
            assert (code, err) == (0, "")
            assert KEY in out
            assert "plant-2" in out
            assert "\x1b" not in out


def test_status_for_programs(run, tmp_path):
    with answering(tmp_path, {"status": status(estimated_gap=float("nan"))}):
        code, out, _ = run("site", "status", "--json")
    answer = json.loads(out)
    assert (code, answer["name"], answer["estimated_gap"]) == (0, "plant-3", None)
    assert run("site", "status", "--json", "--watch")[0] == 2


def test_status_of_several_sites(run, tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    asking = [argument for folder in folders for argument in ("-f", str(folder))]
    with answering(folders[0], {"status": status("one")}):
        code, out, _ = run("site", "status", *asking)
        assert code == 1  # one does not answer
        assert [line.split()[:2] for line in out.splitlines()[-2:]] == [
            ["one", "content"],
            ["two", "down"],
        ]
        with answering(folders[1], {"status": status("two")}):
            assert run("site", "status", *asking)[0] == 0


def test_model_is_saved_where_the_user_is(run, tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    with answering(folder, {"model": {"ok": True, "agreed": False}}) as asked:
        code, out, _ = run("site", "model", "-o", "m.wm", "--folder", "site")
    assert (code, out) == (0, "saved m.wm; sites do not agree yet\n")
    assert asked == [{"command": "model", "path": str(tmp_path / "m.wm")}]
    assert run("site", "model", "-o", "nowhere/m.wm")[0] == 2


def test_what_the_site_refuses_is_passed_on(run, tmp_path):
    refusal = {"ok": False, "error": "site.toml: `lam` must be positive; got -1."}
    with answering(tmp_path, {"reload": refusal}):
        code, _, err = run("site", "reload")
    assert (code, err) == (1, "error: site.toml: `lam` must be positive; got -1.\n")


def test_reload_tells_what_changed(run, tmp_path):
    with answering(tmp_path, {"reload": {"ok": True, "added": ["plant-7"], "removed": []}}):
        assert run("site", "reload")[1] == "new neighbours: plant-7\n"


def test_missing_transport_is_named(run, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    commands = ["site init --name x", "site run", "site status", "site model -o m", "site reload"]
    commands += ["site stop", "site add-neighbour a b --key c", "gossip demo", "gossip watch x"]
    for command in commands:
        code, _, err = run(*command.split())
        assert code == 2
        assert 'pip install "widemargin[gossip]"' in err


def test_watch_wants_folders_of_sites(run):
    code, _, err = run("gossip", "watch", ".")
    assert code == 2
    assert "no site.toml" in err


def test_the_unit_copes_with_odd_folders(tmp_path):
    folder = tmp_path / "50% off $x"
    folder.mkdir()
    text = unit_text(folder, "plant-3")
    assert "NoNewPrivileges=yes" in text
    assert "ProtectSystem=strict" in text
    assert f"WorkingDirectory={str(folder).replace('%', '%%')}\n" in text
    assert f'"{str(folder).replace("%", "%%").replace("$", "$$")}/site.toml"' in text


def test_init_makes_a_site_and_says_what_is_left_to_do(run, tmp_path):
    options = "--listen tcp://127.0.0.1:7003 --data rows.csv --sites 3 --total-rows 900"
    code, out, err = run("site", "init", "--name", "plant-3", *options.split())
    assert (code, err) == (0, "")
    folder = tmp_path / "plant-3"
    key = (folder / "public.key").read_text().strip()
    assert f"public key  {key}\n" in out
    assert "Set n_features in plant-3/site.toml." in out
    assert (folder / "secret.key").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o077 == 0
    assert "ExecStart=" in (folder / "widemargin-site.service").read_text()
    config = read_config(folder)
    assert (config.name, config.listen, config.n_sites) == ("plant-3", "tcp://127.0.0.1:7003", 3)
    assert config.data == tmp_path / "rows.csv"
    again = run("site", "init", "--name", "plant-3")
    assert again[0] == 2
    assert "there is a site already" in again[2]
    assert (folder / "public.key").read_text().strip() == key


def new_key():
    return zmq.curve_keypair()[0].decode()


def test_neighbours_are_added_below_the_comments(run, tmp_path):
    keys = [new_key(), new_key()]
    while not keys[0].startswith("-"):
        keys[0] = new_key()
    run("site", "init", "--name", "plant-3")
    path = tmp_path / "plant-3" / "site.toml"
    before = path.read_text()
    for k, key in enumerate(keys):
        address = f"tcp://10.0.0.{k}:7001"
        added = run("site", "add-neighbour", f"plant-{k}", address, "--key", key, "-f", "plant-3")
        assert added[0] == 0, added
    assert path.read_text().startswith(before.rstrip("\n"))
    assert [(each.name, each.public_key) for each in read_config(path).neighbours] == [
        ("plant-0", keys[0]),
        ("plant-1", keys[1]),
    ]
    kept = path.read_text()
    for name, address, key in (
        ("plant-0", "tcp://10.0.0.9:7001", new_key()),  # name is taken
        ("plant-9", "10.0.0.9", keys[0]),
        ("plant-9", "tcp://10.0.0.9:7001", "short"),
    ):
        code, _, err = run("site", "add-neighbour", name, address, "--key", key, "-f", "plant-3")
        assert code == 1
        assert "site.toml: " in err
        assert ".new" not in err
    assert path.read_text() == kept
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "public.key",
        "secret.key",
        "site.toml",
        "widemargin-site.service",
    ]


def test_init_takes_every_agreed_setting(run, tmp_path):
    options = (
        "--data rows.csv --sites 3 --total-rows 900 --features 4 --label outcome --C 2 --loss odm "
        "--theta 0.1 --classes no,yes --fit-intercept false --penalty 3.5 --tol 1e-2"
    )
    code, _, err = run("site", "init", "--name", "plant-3", *options.split())
    assert (code, err) == (0, "")
    config = read_config(tmp_path / "plant-3")
    assert (config.C, config.loss, config.theta, config.label) == (2, "odm", 0.1, "outcome")
    assert (config.classes, config.fit_intercept) == (("no", "yes"), False)
    assert (config.penalty, config.tol) == (3.5, 0.01)
    code, _, err = run("site", "init", "--name", "plant-4", "--loss", "log")
    assert code == 2
    assert "--loss must be one of 'hinge'" in err
    assert "--loss VALUE" in run("site", "init", "--help")[1]
    assert not (tmp_path / "plant-4").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--name", "a\nb", "--folder", "f"), "`name` must be a name"),
        (("--name", "a" * 65, "--folder", "f"), "`name` must be a name"),
        (("--name", "a", "--listen", "tcp://127.0.0.1:99999"), "`listen` must be an address"),
        (("--name", "a", "--listen", "tcp://127.0.0.1:0"), "`listen` must be an address"),
    ],
)
def test_init_refuses_names_and_ports_that_are_none(run, tmp_path, options, said):
    code, _, err = run("site", "init", *options)
    assert code == 1
    assert said in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o720])
def test_init_refuses_a_folder_that_others_can_write(run, tmp_path, mode):
    folder = tmp_path / "plant-3"
    folder.mkdir()
    folder.chmod(mode)
    code, _, err = run("site", "init", "--name", "plant-3")
    assert code == 1
    assert "can be written by others" in err
    assert not list(folder.iterdir())


def test_init_does_not_follow_a_link(run, tmp_path):
    folder, precious = tmp_path / "plant-3", tmp_path / "precious"
    folder.mkdir(mode=0o700)
    precious.write_text("mine")
    (folder / "public.key").symlink_to(precious)
    code, _, err = run("site", "init", "--name", "plant-3")
    assert code == 1
    assert "public.key" in err
    assert precious.read_text() == "mine"
    assert not (folder / "secret.key").exists()


def test_a_second_process_hears_of_the_lock_not_of_the_port(run, tmp_path):
    import socket

    from widemargin.sites.control import ControlServer

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        options = ["--sites", "1", "--total-rows", "9", "--features", "2", "--data", "rows.csv"]
        run("site", "init", "--name", "plant-3", "--metrics-port", port, *options)
        server = ControlServer(tmp_path / "plant-3", lambda question: {})
        try:
            code, _, err = run("site", "run", "--config", "plant-3/site.toml")
        finally:
            server.close()
    assert code == 1
    assert "A site runs in" in err


def test_study_commands_report_what_is_wrong(run, tmp_path):
    assert "give an example" in run("study", "create", "risk", "--sites", "2")[2]
    made = run(
        "study", "create", "risk", "--sites", "2", "--features", "3", "--classes", "0,1", "--C", "2"
    )
    assert made[0] == 0, made
    assert (
        "exists already"
        in run("study", "create", "risk", "--sites", "2", "--features", "3", "--classes", "0,1")[2]
    )
    code, out, _ = run("study", "show", "risk.study", "--json")
    shown = json.loads(out)
    assert (code, shown["settings"]["C"], shown["schema"]["classes"]) == (0, 2, [0, 1])
    key = new_key()
    admitted = run("study", "admit", "risk.study", "--name", "a", "--key", key)
    assert "version 2" in admitted[1]
    assert f"dials only  {key}" in run("study", "show", "risk.study")[1]
    assert "no such member" in run("study", "remove", "risk.study", "--name", "b")[2]
    assert "version 3" in run("study", "remove", "risk.study", "--name", "a")[1]
    (tmp_path / "risk.study").write_bytes(
        (tmp_path / "risk.study").read_bytes().replace(b'"nearest"', b'"complete"')
    )
    assert "signature" in run("study", "show", "risk.study")[2]


def test_a_study_with_too_few_neighbours_to_outvote_liars_is_refused(run, tmp_path):
    code, _, err = run(
        *("study", "create", "risk", "--sites", "6", "--features", "3", "--classes", "0,1"),
        *("--robust", "2"),
    )
    assert (code, "'complete'" in err) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_the_first_member_joins_a_study_that_tolerates_a_liar(run, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,label\n" + "1,2,yes\n0,1,no\n" * 30)
    made = run(
        *("study", "create", "risk", "--data", "rows.csv", "--label", "label", "--sites", "4"),
        *("--robust", "1"),
    )
    assert made[0] == 0, made
    (tmp_path / "a").mkdir(mode=0o700)
    make_keys(tmp_path / "a")
    key = (tmp_path / "a" / "public.key").read_text().strip()
    run("study", "admit", "risk.study", "--name", "a", "--key", key)
    joined = run("site", "join", "risk.study", "--name", "a", "--data", "rows.csv", "--no-run")
    assert joined[0] == 0, joined


def test_rows_are_checked_before_anyone_is_told(run, tmp_path):
    (tmp_path / "example.csv").write_text("a,b,label\n" + "1,2,yes\n0,1,no\n" * 30)
    (tmp_path / "rows.csv").write_text("a,c,label\n" + "1,2,yes\n0,1,maybe\n" * 30)
    made = run(
        "study", "create", "risk", "--data", "example.csv", "--label", "label", "--sites", "1"
    )
    assert made[0] == 0, made
    code, _, err = run("site", "join", "risk.study", "--name", "x", "--data", "rows.csv")
    assert code == 1
    assert "rows.csv" in err  # the desk, which does not run, was not asked
    assert "desk" not in err
    assert not (tmp_path / "x").exists()
    (tmp_path / "x").mkdir(mode=0o700)
    key = make_keys(tmp_path / "x")
    assert run("site", "join", "risk.study", "--name", "x", "--data", "rows.csv")[0] == 1
    assert (tmp_path / "x" / "public.key").read_text().strip() == key  # it was there before


def test_a_site_with_few_rows_hears_of_the_option(run, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,label\n" + "1,2,yes\n0,1,no\n" * 5)
    run("study", "create", "risk", "--data", "rows.csv", "--label", "label", "--sites", "1")
    code, _, err = run("site", "join", "risk.study", "--name", "x", "--data", "rows.csv")
    assert code == 1
    assert "--min-rows" in " ".join(err.split())
    code, out, err = run("site", "check", "rows.csv", "--study", "risk.study")
    assert code == 1
    assert "--min-rows" in " ".join((out + err).split())


def test_a_member_that_was_admitted_joins_without_desk_and_invitation(run, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,label\n" + "1,2,yes\n0,1,no\n" * 30)
    run("study", "create", "risk", "--data", "rows.csv", "--label", "label", "--sites", "1")
    (tmp_path / "risk.invitation").rename(tmp_path / "kept.invitation")
    join = ("site", "join", "risk.study", "--name", "a", "--data", "rows.csv", "--no-run")
    code, _, err = run(*join)
    assert code == 1
    key = (tmp_path / "a" / "public.key").read_text().strip()
    assert key in err
    run("study", "admit", "risk.study", "--name", "a", "--key", key)
    code, out, err = run(*join)
    assert code == 0, err
    assert "1 member;" in out + err
    code, _, err = run(*join, "--listen", "tcp://127.0.0.1:7199")  # the others must be told
    assert (code, "invitation" in err) == (1, True)


def test_values_of_a_list_are_taken_with_and_without_brackets(run):
    for name, text in (("a", "[0.1, 1, 10]"), ("b", "0.1,1,10")):
        made = run(
            *("study", "create", name, "--sites", "2", "--features", "3", "--classes", "0,1"),
            *("--C", text),
        )
        assert made[0] == 0, made
        shown = json.loads(run("study", "show", f"{name}.study", "--json")[1])
        assert shown["settings"]["C"] == [0.1, 1, 10]


def test_a_doctor_names_what_is_wrong(run, tmp_path):
    code, out, _ = run("site", "doctor")
    assert code == 1
    assert "WRONG  site.toml" in out
    run("site", "init", "--name", "plant-3", "--data", "rows.csv", "--sites", "1")
    (tmp_path / "plant-3" / "secret.key").chmod(0o644)
    code, out, _ = run("site", "doctor", "--folder", "plant-3")
    assert code == 1
    assert "chmod 600" in out
