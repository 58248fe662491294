"""``widemargin train`` with strategies that divide the rows, and what is told of their models."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from widemargin import Cascade, Clustered, ODMClassifier, Preserving, Stratified, load_model
from widemargin.cli import main
from widemargin.core.progress import FitProgress


def blobs(n_classes, n_rows=240):
    y = np.arange(n_rows) % n_classes
    return np.random.default_rng(3).normal(size=(n_rows, 3)) + 0.8 * y[:, None], y


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    """Run the command beside two.npz and three.npz; return exit code, output and error."""
    monkeypatch.chdir(tmp_path)
    for name, n_classes in (("two.npz", 2), ("three.npz", 3)):
        X, y = blobs(n_classes)
        np.savez(name, X=X, y=y)

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["widemargin", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run_command


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "strategy"),
        [
            ("--strategy sodm", "sodm"),
            ("--strategy exact", "exact"),
            ("--strategy sodm --levels 2 --fan-in 2", Stratified(2, 2)),
            ("--strategy stratified --levels 1 --strata 7", Stratified(1, n_strata=7)),
            (
                "--strategy dc --levels 1 --stop-level 1 --sample 99",
                Clustered(1, 4, 1, n_sample=99),
            ),
            ("--strategy cascade --fan-in 3", Cascade(fan_in=3)),
            (
                "--strategy dip --levels 1 --strata 5 --validation-fraction 0.25",
                Preserving(1, n_strata=5, validation_fraction=0.25),
            ),
        ],
    )
    def test_model_is_the_estimators(self, run, options, strategy):
        code, _, err = run("train", "two.npz", "-m", "m.wm", "--seed", 1, *options.split())
        assert (code, err) == (0, "")
        expected = ODMClassifier(strategy=strategy, random_state=1).fit(*blobs(2))
        model = load_model("m.wm")
        assert repr(model.get_params()) == repr(expected.get_params())
        assert model.level_ == expected.level_
        np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("--strategy foo", "'strategy' parameter"),
            ("--strategy foo --levels 2", "'strategy' parameter"),
            ("--levels 2", "--levels says how the rows are divided; give a --strategy"),
            ("--strategy auto --fan-in 2", "--fan-in says how"),
            ("--strategy exact --stop-level 1", "--stop-level says how"),
            ("--strategy cascade --strata 4", "--strata is no setting of --strategy cascade"),
            ("--strategy sodm --sample 100", "--sample is no setting of --strategy sodm"),
            ("--strategy dc --strata 4", "--strata is no setting of --strategy dc"),
            ("--strategy dc --levels -1", "levels"),
            ("--strategy dc --fan-in 1", "fan_in"),
            ("--strategy dc --validation-fraction 1", "validation_fraction"),
            ("--strategy dc --levels 1 --stop-level 2", "`stop_level` must be at most `levels`"),
            ("--strategy exact --checkpoint kept", "--strategy exact has none"),
            ("--strategy dc --checkpoint two.npz", "expected a folder, found a file"),
        ],
    )
    def test_wrong_usage_ends_before_the_data_are_read(self, run, monkeypatch, options, message):
        def refuse(*args, **kwargs):
            raise AssertionError("the data were read")

        monkeypatch.setattr("widemargin.data.read", refuse)
        code, out, err = run("train", "two.npz", "-m", "m.wm", *options.split())
        assert (code, out) == (2, "")
        assert message in err
        assert "Traceback" not in err

    def test_more_parts_than_the_rows_allow(self, run):
        code, _, err = run("train", "two.npz", "-m", "m.wm", "--strategy", "dc", "--levels", 4)
        assert code == 1
        assert err.startswith("error: fan_in ** levels = 256 parts need at least two rows each")


class TestDescription:
    def train(self, run, data, options, *more):
        code, out, _ = run("train", data, "-m", "m.wm", "--seed", 1, *options.split(), *more)
        assert code == 0
        return out

    def lines(self, out):
        return dict(line.split("  ", 1) for line in out.splitlines())

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ("--strategy exact", "exact"),
            ("--strategy sodm --levels 2 --fan-in 2", "stratified, level 0 of 2, 1 part"),
            (
                "--strategy sodm --levels 2 --fan-in 3 --stop-level 1",
                "stratified, level 1 of 2, 3 parts",
            ),
            ("--strategy cascade --levels 2 --stop-level 2", "cascade, level 2 of 2, 16 parts"),
        ],
    )
    def test_level_and_parts(self, run, options, text):
        trained = self.lines(self.train(run, "two.npz", options))
        shown = self.lines(run("info", "m.wm")[1])
        for lines in (trained, shown):
            assert lines["strategy"].strip() == text
            certified = "level 1" not in text and "level 2 of" not in text
            assert (lines["relative gap"].strip() != "not certified") == certified

    def test_json_has_values_alone(self, run):
        options = "--strategy dc --levels 2 --fan-in 2 --stop-level 1 --sample 64"
        trained = json.loads(self.train(run, "three.npz", options, "--json"))
        shown = json.loads(run("info", "m.wm", "--json")[1], parse_constant=pytest.fail)
        model = load_model("m.wm")
        for summary in (trained, shown):
            assert summary["parameters"]["strategy"] == {
                "name": "Clustered",
                "levels": 2,
                "fan_in": 2,
                "stop_level": 1,
                "n_sample": 64,
                "validation_fraction": None,
                "printed": False,
            }
            assert summary["strategy"] == "clustered"
            assert (summary["level"], summary["levels"]) == (1, 2)
            parts = model.history_["parts"][model.history_["level"] == 1]
            assert summary["parts"] == parts.tolist()
            assert len(summary["parts"]) == 3
            assert summary["relative_gap"] is None
            assert summary["dual_gap"] is None

    def test_parts_that_differ_between_classes(self, run):
        self.train(run, "three.npz", "--strategy sodm --levels 2 --fan-in 2 --stop-level 1")
        model = load_model("m.wm")
        model.history_["parts"][model.history_["level"] == 1] = [2, 3, 2]
        model.save("m.wm")
        assert "level 1 of 2, 2 to 3 parts" in run("info", "m.wm")[1]

    def test_a_compressed_model(self, run):
        self.train(run, "two.npz", "--strategy dc --levels 1 --stop-level 1")
        model = load_model("m.wm")
        small = model.compress(20)
        small.save("small.wm")
        text = self.lines(run("info", "small.wm")[1])
        assert text["support vectors"].split()[0] == "20"
        assert f"n_basis=20, n_support_before={len(model.support_)}, er" in text["compression"]
        summary = json.loads(run("info", "small.wm", "--json")[1])
        assert summary["compression"] == small.compression_

    def test_predict_and_evaluate(self, run):
        self.train(run, "three.npz", "--strategy dc --levels 1 --stop-level 1")
        model = load_model("m.wm")
        X, y = blobs(3)
        _, out, _ = run("evaluate", "m.wm", "three.npz", "--json")
        assert json.loads(out)["accuracy"] == np.mean(model.predict(X) == y)
        _, out, _ = run("predict", "m.wm", "three.npz")
        assert [int(line) for line in out.split()[1:]] == model.predict(X).tolist()


class TestCheckpoint:
    options = ("--strategy", "cascade", "--levels", 2, "--fan-in", 2, "--checkpoint", "kept")

    def test_the_same_command_goes_on(self, run, monkeypatch):
        command = ("train", "two.npz", "-m", "m.wm", *self.options)
        assert run(*command, "--stop-level", 1)[0] == 0
        (folder,) = os.listdir("kept")
        levels = [f"problem-0-level-{number}.wml" for number in (1, 2)]
        assert sorted(os.listdir(f"kept/{folder}")) == levels
        before = load_model("m.wm").history_["seconds"].tolist()
        assert run(*command)[0] == 0
        model = load_model("m.wm")
        assert model.level_ == 0
        assert model.history_["seconds"].tolist()[:2] == before  # resumed, not solved again
        assert model.checkpoint is None  # nobody else's fits should write there
        assert os.listdir("kept") == [folder]

    def test_a_folder_in_none_is_an_error(self, run):
        command = ["train", "two.npz", "-m", "m.wm", "--json", "--strategy", "dc"]
        code, _, err = run(*command, "--levels", 1, "--checkpoint", "none/kept")
        assert code != 0
        assert "there is no folder 'none'" in err
        assert not os.path.exists("none")

    def test_a_set_that_was_not_divided_has_nothing_to_keep(self, run):
        code, _, err = run("train", "two.npz", "-m", "m.wm", "--checkpoint", "kept")
        assert code == 0
        assert err.startswith("warning: `checkpoint` is for a training set that is divided")
        assert not os.path.exists("kept")


class TestInterrupt:
    def interrupt_at(self, monkeypatch, level):
        def interrupt(self, number, done, parts):
            if number == level and done > 0:
                raise KeyboardInterrupt

        monkeypatch.setattr(FitProgress, "report_parts", interrupt)

    def test_saves_the_last_complete_level(self, run, monkeypatch):
        options = ["--strategy", "sodm", "--levels", 2, "--fan-in", 2, "--checkpoint", "kept"]
        assert run("train", "two.npz", "-m", "early.wm", *options, "--stop-level", 2)[0] == 0
        expected = load_model("early.wm")
        self.interrupt_at(monkeypatch, 1)
        code, out, err = run("train", "two.npz", "-m", "m.wm", *options)
        assert code == 130
        assert "stratified, level 2 of 2, 4 parts" in out
        assert "interrupted: m.wm holds the model as far as it was fitted" in err
        assert "the same command goes on from the levels in kept\n" in err
        model = load_model("m.wm")
        X = blobs(2)[0]
        assert model.level_ == 2
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))

    def test_no_level_is_complete(self, run, monkeypatch):
        self.interrupt_at(monkeypatch, 2)
        options = ["--strategy", "sodm", "--levels", 2, "--fan-in", 2]
        code, out, err = run("train", "two.npz", "-m", "m.wm", *options)
        assert (code, out) == (130, "")
        assert err == "interrupted before anything was fitted: no model saved\n"
        assert not os.path.exists("m.wm")

    @pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
    def test_signal(self, tmp_path):
        random = np.random.default_rng(0)
        X, y = random.normal(size=(4000, 5)), random.integers(2, size=4000)
        np.savez(tmp_path / "noise.npz", X=X, y=y)
        # Random labels and a large C: the level above the leaves takes many times longer.
        command = (
            "train noise.npz -m m.wm --algorithm svm -C 1000 -g 0.1 --tol 1e-2 --checkpoint kept "
            "--strategy cascade --levels 2 --fan-in 8"
        )
        with subprocess.Popen(
            [sys.executable, "-m", "widemargin", *command.split()],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            deadline = time.monotonic() + 60
            while not list(tmp_path.glob("kept/*/problem-0-level-2.wml")):
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        model = load_model(tmp_path / "m.wm")
        assert model.level_ == 2
        assert "cascade, level 2 of 2, 64 parts" in out
