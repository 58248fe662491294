"""The ``widemargin`` command."""

import csv
import importlib.metadata
import inspect
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_iris
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler

import widemargin
from widemargin import ODMClassifier, SVMClassifier, load_model
from widemargin.cli import main
from widemargin.core.progress import FitProgress
from widemargin.data import read
from widemargin.kernel.divide.strategies import STRATEGIES

#: Without a classifier of one's choice, `train` would choose one itself.
EXACT = ("--algorithm", "odm")


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    """Run the command in a folder of its own; return exit code, standard output and error."""
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["widemargin", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run_command


@pytest.fixture
def iris(tmp_path):
    """Write iris as CSV, with named columns and text labels."""
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "iris.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sepal length", "sepal width", "petal length", "petal width", "species"])
        writer.writerows([*row, f"class {label}"] for row, label in zip(X.tolist(), y, strict=True))
    return path


@pytest.fixture
def cancer(tmp_path):
    """Write breast cancer, scaled, as LIBSVM: training and test file."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for name, rows in (("cancer.svm", slice(0, 400)), ("cancer.t", slice(400, None))):
        dump_svmlight_file(X[rows], 2 * y[rows] - 1, str(tmp_path / name), zero_based=False)
    return tmp_path / "cancer.svm", tmp_path / "cancer.t"


@pytest.fixture
def cancer_model(run, cancer):
    code, _, _ = run("train", "cancer.svm", "--model", "m.wm", "-C", 8)
    assert code == 0
    return "m.wm"


class TestTrain:
    def test_model_is_the_estimators(self, run, cancer):
        code, out, err = run("train", "cancer.svm", "--model", "m.wm", "-C", 8)
        assert (code, err) == (0, "")
        X, y = read("cancer.svm").X.toarray(), read("cancer.svm").y
        expected = ODMClassifier(C=8.0).fit(X, y)
        model = load_model("m.wm")
        assert model.get_params() == expected.get_params()
        np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
        for part in ("400", "30", "2: -1, 1", f"{len(model.support_)} (", "m.wm ("):
            assert part in out

    def test_defaults_are_the_estimators(self, run, cancer):
        for algorithm, estimator in (("odm", ODMClassifier), ("svm", SVMClassifier)):
            assert run("train", "cancer.svm", "-m", "m.wm", "--algorithm", algorithm)[0] == 0
            assert load_model("m.wm").get_params() == estimator().get_params()

    @pytest.mark.parametrize(
        ("options", "parameters"),
        [
            (["-C", "2.5"], {"C": 2.5}),
            (["--lam", "512"], {"lam": 512.0}),
            (["--upsilon", "0.3", "--theta", "0.1"], {"upsilon": 0.3, "theta": 0.1}),
            (["--kernel", "poly", "--degree", "2"], {"kernel": "poly", "degree": 2}),
            (["-k", "poly", "--coef0", "1"], {"kernel": "poly", "coef0": 1.0}),
            (["--gamma", "0.25"], {"gamma": 0.25}),
            (["-g", "auto"], {"gamma": "auto"}),
            (["--class-weight", "balanced"], {"class_weight": "balanced"}),
            (["--class-weight", "-1=3"], {"class_weight": {-1: 3.0}}),
            (["--fit-intercept"], {"fit_intercept": True}),
            (["--multi-class", "ovo"], {"multi_class": "ovo"}),
            (["--solver", "coordinate"], {"solver": "coordinate"}),
            (["--tol", "1e-5", "--max-iter", "500"], {"tol": 1e-5, "max_iter": 500}),
            (["--max-time", "60"], {"max_time": 60.0}),
            (["--memory-limit", "100MB"], {"memory_limit": "100MB"}),
            (["--jobs", "1", "--seed", "3"], {"n_jobs": 1, "random_state": 3}),
        ],
    )
    def test_options(self, run, cancer, options, parameters):
        assert run("train", *EXACT, "cancer.svm", "-m", "m.wm", *options)[0] == 0
        assert load_model("m.wm").get_params() == {**ODMClassifier().get_params(), **parameters}

    def test_options_of_svm(self, run, cancer):
        options = ["--algorithm", "svm", "--loss", "squared_hinge"]
        assert run("train", "cancer.svm", "-m", "m.wm", *options)[0] == 0
        expected = SVMClassifier(loss="squared_hinge").get_params()
        assert load_model("m.wm").get_params() == expected

    def test_every_setting_of_the_estimators_has_an_option_or_a_reason(self):
        from widemargin.cli.train import train

        without = {
            "printed": "for comparisons with the papers",
            "engine": "one choice so far",
            "decision_function_shape": "concerns Python callers",
            "warm_start": "a command fits once",
            "keep_rows": "a model file does not hold them",
            "verbose": "the progress line tells",
        }
        for settings in (ODMClassifier, SVMClassifier, *STRATEGIES.values()):
            for name in inspect.signature(settings).parameters:
                assert (name in inspect.signature(train).parameters) != (name in without)

    def test_json(self, run, iris):
        code, out, err = run("train", *EXACT, "iris.csv", "-m", "m.wm", "--json")
        assert code == 0
        summary = json.loads(out)
        model = load_model("m.wm")
        assert summary["rows"] == 150
        assert summary["features"] == 4
        assert summary["classes"] == ["class 0", "class 1", "class 2"]
        assert summary["support_vectors"] == len(model.support_)
        assert summary["relative_gap"] == model.relative_gap_
        assert summary["converged"] is True
        assert summary["interrupted"] is False
        assert summary["file_bytes"] == os.path.getsize("m.wm")
        assert summary["parameters"]["kernel"] == "rbf"
        assert summary["seconds"] > 0
        assert out.count("\n") == 1
        assert err == "note: labels are taken from column 'species'\n"

    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npz", ".csv.gz"])
    def test_formats(self, run, tmp_path, suffix):
        X, y = load_iris(return_X_y=True)
        path = tmp_path / f"iris{suffix}"
        if suffix == ".npz":
            np.savez(path, X=X, y=y)
        else:
            pandas = pytest.importorskip("pandas")
            frame = pandas.DataFrame(X, columns=list("abcd")).assign(label=y)
            if suffix == ".parquet":
                frame.to_parquet(path)
            else:
                frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
        assert run("train", *EXACT, path, "-m", "m.wm")[0] == 0
        expected = ODMClassifier().fit(X, y)
        np.testing.assert_allclose(load_model("m.wm").dual_coef_, expected.dual_coef_)

    def test_sparse_data_stay_sparse(self, run, tmp_path):
        lines = [f"{i % 2} {i % 7 + 1}:1 {500 + i % 3}:{i % 2 + 0.5}\n" for i in range(60)]
        (tmp_path / "wide.svm").write_text("".join(lines))
        assert run("train", *EXACT, "wide.svm", "-m", "m.wm")[0] == 0
        assert hasattr(load_model("m.wm").support_vectors_, "indptr")
        code, out, _ = run("evaluate", "m.wm", "wide.svm", "--json")
        assert code == 0
        assert json.loads(out)["accuracy"] == 1.0

    def test_warnings_are_messages(self, run, cancer):
        options = ["--solver", "coordinate", "--max-iter", "1", "--tol", "1e-12", "-C", "1000"]
        code, out, err = run("train", "cancer.svm", "-m", "m.wm", "--json", *options)
        summary = json.loads(out)
        assert code == 0
        assert summary["converged"] is False
        assert err.startswith("warning: ODMClassifier did not converge")
        assert summary["warnings"] == [err.removeprefix("warning: ").rstrip("\n")]
        assert not load_model("m.wm").converged_

    def test_replaces_a_model(self, run, cancer_model):
        assert run("train", "cancer.svm", "-m", cancer_model, "-C", 2)[0] == 0
        assert load_model(cancer_model).C == 2.0

    def test_replaces_nothing_else(self, run, cancer, tmp_path):
        (tmp_path / "notes.txt").write_text("keep me")
        code, _, err = run("train", "cancer.svm", "-m", "notes.txt")
        assert code == 2
        assert "exists and is not a model" in err
        assert (tmp_path / "notes.txt").read_text() == "keep me"
        assert run("train", *EXACT, "cancer.svm", "-m", "notes.txt", "--force")[0] == 0
        assert isinstance(load_model("notes.txt"), ODMClassifier)


class TestUsage:
    """Wrong usage ends with 2, before the data are read."""

    @pytest.fixture
    def run_train(self, run, monkeypatch):
        def refuse(*args, **kwargs):
            raise AssertionError("the data were read")

        monkeypatch.setattr("widemargin.data.read", refuse)
        return lambda *options: run("train", "data.svm", *options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--theta", "1.2"], "theta"),
            (["-C", "0"], "C"),
            (["--upsilon", "0"], "upsilon"),
            (["--kernel", "foo"], "kernel"),
            (["--gamma", "wide"], "gamma"),
            (["--solver", "foo"], "solver"),
            (["--memory-limit", "much"], "memory_limit"),
            (["--jobs", "0"], "n_jobs"),
            (["-C", "1", "--lam", "2"], "-C and --lam set the same weight"),
            (["--loss", "hinge"], "--loss is no setting of --algorithm odm"),
            (["--algorithm", "svm", "--theta", "0.1"], "--theta is no setting of --algorithm svm"),
            (["--algorithm", "svm", "--loss", "foo"], "loss"),
            (["--algorithm", "foo"], "algorithm"),
            (["--tol", "abc"], "tol"),
            (["--nonsense"], "nonsense"),
        ],
    )
    def test_settings(self, run_train, options, message):
        code, out, err = run_train("-m", "m.wm", *options)
        assert (code, out) == (2, "")
        assert message in err
        assert "Traceback" not in err

    def test_folder_of_the_model_is_missing(self, run_train):
        code, _, err = run_train("-m", "nowhere/m.wm")
        assert code == 2
        assert "nowhere must be a directory; found nothing" in err

    def test_model_is_a_folder(self, run_train, tmp_path):
        (tmp_path / "m.wm").mkdir()
        code, _, err = run_train("-m", "m.wm")
        assert code == 2
        assert "found a directory" in err

    @pytest.mark.skipif(
        os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions bind"
    )
    def test_folder_of_the_model_is_read_only(self, run_train, tmp_path):
        (tmp_path / "locked").mkdir(mode=0o500)
        code, _, err = run_train("-m", "locked/m.wm")
        assert code == 2
        assert "no permission to write in locked" in err

    def test_model_is_the_data(self, run, cancer):
        before = cancer[0].read_bytes()
        code, _, err = run("train", "cancer.svm", "-m", "./cancer.svm", "--force")
        assert code == 2
        assert "this is an input file" in err
        assert cancer[0].read_bytes() == before

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--format", "arff"], "`format` must be one of libsvm, csv"),
            (["--label", "y"], "the label begins each line"),
            (["--class-weight", "heavy"], "`balanced` or LABEL=WEIGHT"),
            (["--class-weight", "1=-2"], "`balanced` or LABEL=WEIGHT"),
            (["--class-weight", "7=2"], "no row is labelled '7'; found -1, 1"),
            (["--class-weight", "1=2", "--class-weight", "1=3"], "gives '1' twice"),
        ],
    )
    def test_options_that_do_not_suit_the_data(self, run, cancer, options, message):
        code, _, err = run("train", "cancer.svm", "-m", "m.wm", *options)
        assert code == 2
        assert message in err
        assert not os.path.exists("m.wm")

    def test_no_command(self, run):
        assert run("nonsense")[0] == 2


class TestBadFiles:
    """Files that cannot be used end with 1 and one line."""

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "no such file"),
            (b"", "the file has no rows"),
            (b"1 1:1\n1 1:x\n", "data.svm, line 2: expected `index:value`"),
            (b"1 1:1\n1 1:2\n", "at least two classes"),
        ],
    )
    def test_training_data(self, run, tmp_path, content, message):
        if content is not None:
            (tmp_path / "data.svm").write_bytes(content)
        code, out, err = run("train", *EXACT, "data.svm", "-m", "m.wm")
        assert (code, out) == (1, "")
        assert err.startswith("error: ")
        assert message in err
        assert err.count("\n") == 1
        assert not os.path.exists("m.wm")

    @pytest.mark.parametrize(
        "command",
        [["predict", "m.wm", "cancer.t"], ["evaluate", "m.wm", "cancer.t"], ["info", "m.wm"]],
    )
    @pytest.mark.parametrize("damage", ["missing", "foreign", "cut short"])
    def test_model(self, run, cancer_model, command, damage, tmp_path):
        model = tmp_path / cancer_model
        data = model.read_bytes()
        model.unlink()
        if damage != "missing":
            model.write_bytes(b"1 1:1\n" * 10 if damage == "foreign" else data[: len(data) // 2])
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert err.startswith("error: ")
        assert "m.wm" in err

    @pytest.mark.parametrize("command", ["predict", "evaluate"])
    def test_more_features_than_the_model(self, run, cancer_model, command, tmp_path):
        (tmp_path / "wide.svm").write_text("1 1:1\n1 31:1\n")
        code, _, err = run(command, cancer_model, "wide.svm")
        assert code == 1
        assert "wide.svm, line 2: expected 30 features" in err

    def test_missing_columns(self, run, iris, tmp_path):
        assert run("train", *EXACT, "iris.csv", "-m", "m.wm")[0] == 0
        (tmp_path / "other.csv").write_text("sepal length,petal length\n1,2\n")
        code, _, err = run("predict", "m.wm", "other.csv")
        assert code == 1
        assert "missing: 'sepal width', 'petal width'" in err


class TestPredict:
    def test_to_standard_output(self, run, cancer_model, cancer):
        code, out, err = run("predict", cancer_model, "cancer.t")
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert lines[0] == "prediction"
        expected = load_model(cancer_model).predict(read(cancer[1]).X.toarray())
        assert [int(line) for line in lines[1:]] == expected.tolist()

    def test_to_a_file(self, run, cancer_model):
        _, expected, _ = run("predict", cancer_model, "cancer.t")
        code, out, err = run("predict", cancer_model, "cancer.t", "-o", "out.csv")
        assert (code, out) == (0, "")
        assert err == "169 predictions written to out.csv\n"
        with open("out.csv", newline="") as file:
            assert file.read() == expected

    def test_decisions_of_two_classes(self, run, cancer_model, cancer):
        _, out, _ = run("predict", cancer_model, "cancer.t", "--decision")
        rows = list(csv.DictReader(io.StringIO(out)))
        expected = load_model(cancer_model).decision_function(read(cancer[1]).X.toarray())
        assert list(rows[0]) == ["prediction", "decision"]
        assert [float(row["decision"]) for row in rows] == expected.tolist()

    @pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
    def test_decisions_of_more_classes(self, run, iris, multi_class):
        run("train", "iris.csv", "-m", "m.wm", "--multi-class", multi_class)
        _, out, _ = run("predict", "m.wm", "iris.csv", "--decision")
        rows = list(csv.DictReader(io.StringIO(out)))
        for row in rows:
            decisions = {
                name: float(row[f"decision_{name}"]) for name in load_model("m.wm").classes_
            }
            assert row["prediction"] == max(decisions, key=decisions.get)

    def test_decisions_of_pairs(self, run, iris):
        table = read(iris)
        model = ODMClassifier(multi_class="ovo", decision_function_shape="ovo")
        model.fit(table.X, table.y).save("m.wm")
        _, out, _ = run("predict", "m.wm", "iris.csv", "--decision")
        header, first = out.splitlines()[:2]
        assert header == (
            "prediction,decision_class 0_class 1,decision_class 0_class 2,decision_class 1_class 2"
        )
        expected = model.decision_function(table.X[:1])[0]
        assert [float(cell) for cell in first.split(",")[1:]] == expected.tolist()

    def test_columns_by_name_without_labels(self, run, iris, tmp_path):
        run("train", *EXACT, "iris.csv", "-m", "m.wm")
        _, expected, _ = run("predict", "m.wm", "iris.csv")
        with open(iris, newline="") as file:
            rows = list(csv.reader(file))
        with open(tmp_path / "shuffled.csv", "w", newline="") as file:
            csv.writer(file).writerows(
                [f"id{i}" if i else "id", *row[3::-1]] for i, row in enumerate(rows)
            )
        code, out, err = run("predict", "m.wm", "shuffled.csv")
        assert (code, out, err) == (0, expected, "")

    def test_labels_with_commas_are_quoted(self, run, tmp_path):
        (tmp_path / "data.csv").write_text('a,label\n-1,"x, y"\n1,"say ""z"""\n')
        run("train", *EXACT, "data.csv", "-m", "m.wm")
        _, out, _ = run("predict", "m.wm", "data.csv")
        assert [row["prediction"] for row in csv.DictReader(io.StringIO(out))] == [
            "x, y",
            'say "z"',
        ]

    def test_folder_of_the_output_is_missing(self, run, cancer_model):
        code, _, err = run("predict", cancer_model, "cancer.t", "-o", "nowhere/out.csv")
        assert code == 2
        assert "nowhere must be a directory" in err

    @pytest.mark.parametrize("target", ["cancer.t", "m.wm"])
    def test_output_is_an_input(self, run, cancer_model, target, tmp_path):
        before = (tmp_path / target).read_bytes()
        assert run("predict", cancer_model, "cancer.t", "-o", target)[0] == 2
        assert (tmp_path / target).read_bytes() == before

    @pytest.mark.skipif(os.name != "posix", reason="needs /dev/null")
    def test_output_to_a_device(self, run, cancer_model):
        assert run("predict", cancer_model, "cancer.t", "-o", os.devnull)[0] == 0
        assert not os.path.isfile(os.devnull)

    def test_zero_based_indices(self, run, tmp_path):
        (tmp_path / "a.svm").write_text("1 0:2 2:1\n-1 1:2 2:1\n" * 3)
        code, _, err = run("train", *EXACT, "a.svm", "-m", "m.wm")
        assert (code, err) == (0, "note: feature indices count from 0\n")
        (tmp_path / "b.svm").write_text("0 1:2 2:1\n")
        # The model remembers, although index 0 does not occur.
        assert run("predict", "m.wm", "b.svm")[1] == "prediction\n-1\n"
        assert run("predict", "m.wm", "b.svm", "--zero-based")[1] == "prediction\n-1\n"
        assert run("predict", "m.wm", "b.svm", "--one-based")[1] == "prediction\n1\n"


class TestEvaluate:
    def test_json(self, run, cancer_model, cancer):
        code, out, err = run("evaluate", cancer_model, "cancer.t", "--json")
        assert (code, err) == (0, "")
        result = json.loads(out)
        test = read(cancer[1])
        predicted = load_model(cancer_model).predict(test.X.toarray())
        assert result["rows"] == 169
        assert result["accuracy"] == np.mean(predicted == test.y)
        assert result["balanced_accuracy"] == pytest.approx(
            balanced_accuracy_score(test.y, predicted)
        )
        for position, entry in enumerate(result["classes"]):
            label = entry["label"]
            hits = int(np.sum((predicted == label) & (test.y == label)))
            assert entry["rows"] == np.sum(test.y == label)
            assert entry["precision"] == pytest.approx(hits / np.sum(predicted == label))
            assert entry["recall"] == pytest.approx(hits / entry["rows"])
            assert result["confusion"][position][position] == hits

    def test_text(self, run, iris):
        run("train", *EXACT, "iris.csv", "-m", "m.wm")
        code, out, _ = run("evaluate", "m.wm", "iris.csv")
        assert code == 0
        for part in ("accuracy", "balanced accuracy", "precision", "class 2", "predicted"):
            assert part in out

    def test_many_classes_have_no_matrix(self, run, tmp_path):
        X = np.arange(60.0).reshape(-1, 1)
        np.savez(tmp_path / "data.npz", X=X, y=np.arange(60) // 3)
        run("train", *EXACT, "data.npz", "-m", "m.wm")
        _, out, _ = run("evaluate", "m.wm", "data.npz")
        assert "predicted" not in out

    def test_unknown_labels_are_errors(self, run, cancer_model, tmp_path):
        (tmp_path / "t.svm").write_text("1 1:-1\n5 1:-1\n")
        code, out, err = run("evaluate", cancer_model, "t.svm", "--json")
        assert code == 0
        assert "warning: rows with labels that the model does not know: 1 (5)." in err
        assert json.loads(out)["accuracy"] <= 0.5

    def test_no_known_label_at_all(self, run, cancer_model, tmp_path):
        (tmp_path / "t.svm").write_text("4 1:-1\n5 1:-1\n")
        code, _, err = run("evaluate", cancer_model, "t.svm")
        assert code == 1
        assert "no label is a class of the model. Expected -1, 1; found 4, 5" in err

    def test_text_labels_that_look_like_numbers(self, run, tmp_path):
        (tmp_path / "a.csv").write_text("a,label\n-1,01\n1,x\n")
        (tmp_path / "b.csv").write_text("a,label\n-1,01\n-2,01\n")
        run("train", *EXACT, "a.csv", "-m", "m.wm")
        _, out, _ = run("evaluate", "m.wm", "b.csv", "--json")
        assert json.loads(out)["accuracy"] == 1.0

    def test_numbers_and_booleans_across_formats(self, run, tmp_path):
        X, y = np.array([[-1.0], [1.0]]), np.array([False, True])
        np.savez(tmp_path / "a.npz", X=X, y=y)
        (tmp_path / "b.csv").write_text("a,label\n-1,False\n1,True\n")
        run("train", *EXACT, "a.npz", "-m", "m.wm")
        code, out, _ = run("evaluate", "m.wm", "b.csv", "--json")
        assert code == 0
        assert json.loads(out)["accuracy"] == 1.0


class TestInfo:
    def test_text(self, run, cancer_model):
        code, out, _ = run("info", cancer_model)
        assert code == 0
        for part in ("ODMClassifier", "kernel=rbf, C=8.0", "2: -1, 1", "30"):
            assert part in out

    def test_json(self, run, iris):
        run("train", "iris.csv", "-m", "m.wm", "--algorithm", "svm", "--kernel", "linear")
        code, out, _ = run("info", "m.wm", "--json")
        assert code == 0
        result = json.loads(out)
        model = load_model("m.wm")
        assert result["estimator"] == "SVMClassifier"
        assert result["parameters"] == model.get_params()
        assert result["feature_names"] == model.feature_names_in_.tolist()
        assert result["support_vectors_per_class"] == model.n_support_.tolist()

    def test_numbers_that_json_lacks(self, run, cancer_model):
        model = load_model(cancer_model)
        model.relative_gap_ = float("nan")
        model.save(cancer_model)
        _, out, _ = run("info", cancer_model, "--json")
        assert json.loads(out, parse_constant=pytest.fail)["relative_gap"] is None
        assert "not certified" in run("info", cancer_model)[1]


class TestInterrupt:
    def test_saves_what_is_fitted(self, run, cancer, monkeypatch):
        def interrupt(self, iteration, *args):
            if iteration >= 2:
                raise KeyboardInterrupt

        monkeypatch.setattr(FitProgress, "report", interrupt)
        code, out, err = run(
            "train", "cancer.svm", "-m", "m.wm", "--json", "--solver", "coordinate", "--tol", "1e-9"
        )
        assert code == 130
        assert "interrupted: m.wm holds the model as far as it was fitted" in err
        assert json.loads(out)["interrupted"] is True
        model = load_model("m.wm")
        assert not model.converged_
        assert run("predict", "m.wm", "cancer.t")[0] == 0

    def test_an_existing_model_is_not_replaced(self, run, cancer, monkeypatch):
        train = ("train", "cancer.svm", "-m", "m.wm", "--solver", "coordinate")
        assert run(*train)[0] == 0
        with open("m.wm", "rb") as file:
            before = file.read()

        def interrupt(self, iteration, *args):
            if iteration >= 2:
                raise KeyboardInterrupt

        monkeypatch.setattr(FitProgress, "report", interrupt)
        code, _, err = run(*train, "--tol", "1e-9")
        assert code == 130
        assert "interrupted: m.partial.wm holds the model as far as it was fitted" in err
        with open("m.wm", "rb") as file:
            assert file.read() == before
        partial = load_model("m.partial.wm")
        assert not partial.converged_
        assert partial.solver_ == "coordinate"
        assert partial.n_iter_ >= 1

    def test_nothing_fitted_yet(self, run, cancer, monkeypatch):
        def interrupt(self, X, y):
            raise KeyboardInterrupt

        monkeypatch.setattr(ODMClassifier, "fit", interrupt)
        code, out, err = run("train", *EXACT, "cancer.svm", "-m", "m.wm", "--json")
        assert (code, out) == (130, "")
        assert err == "interrupted before anything was fitted: no model saved\n"
        assert not os.path.exists("m.wm")

    @pytest.mark.parametrize("command", [["predict", "m.wm", "cancer.t"], ["info", "m.wm"]])
    def test_other_commands(self, run, cancer_model, monkeypatch, command):
        def interrupt(path):
            raise KeyboardInterrupt

        monkeypatch.setattr("widemargin.persistence.load_model", interrupt)
        code, out, err = run(*command)
        assert (code, out, err) == (130, "", "interrupted\n")

    @pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
    def test_signal(self, tmp_path):
        rng = np.random.default_rng(0)
        noise = np.column_stack([rng.normal(size=(10_000, 5)), rng.integers(2, size=10_000)])
        np.savetxt(tmp_path / "noise.csv", noise, delimiter=",")
        # Random labels and a large C: this fit takes many times longer than the wait below.
        command = "train noise.csv -m m.wm --algorithm svm -C 1000000 -g 0.1 --tol 1e-10"
        with subprocess.Popen(
            [sys.executable, "-m", "widemargin", *command.split()],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr.readline().startswith("note: labels are taken from")
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "m.wm holds the model as far as it was fitted" in err
        assert not load_model(tmp_path / "m.wm").converged_


class TestStart:
    def test_version(self, run):
        code, out, _ = run("--version")
        assert (code, out) == (0, f"widemargin {widemargin.__version__}\n")

    @pytest.mark.parametrize(
        "command",
        [[], ["train"], ["predict"], ["evaluate"], ["info"], ["gossip"], ["gossip", "simulate"]],
    )
    def test_help_imports_nothing_heavy(self, command):
        code = (
            "import sys\n"
            "from widemargin.cli import main\n"
            f"sys.argv = ['widemargin', *{command!r}, '--help']\n"
            "try:\n"
            "    main()\n"
            "except SystemExit as ended:\n"
            "    assert not ended.code\n"
            "heavy = {'sklearn', 'numpy', 'scipy', 'pyarrow'} & set(sys.modules)\n"
            "assert not heavy, heavy\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 0, result.stderr
        assert "Usage: widemargin" in result.stdout

    def test_help_states_the_exit_codes(self, run):
        _, out, _ = run("--help")
        assert "Exit codes: 0" in out
        assert "130" in out

    def test_module(self):
        result = subprocess.run(
            [sys.executable, "-m", "widemargin", "--version"], capture_output=True, timeout=60
        )
        assert result.returncode == 0
        assert result.stdout.startswith(b"widemargin ")

    def test_entry_point(self):
        points = importlib.metadata.entry_points(group="console_scripts", name="widemargin")
        assert [point.load() for point in points] == [main]

    @pytest.mark.skipif(os.name != "posix", reason="needs a shell with pipes")
    def test_reader_of_a_pipe_may_leave(self, tmp_path):
        X = np.arange(20_000.0).reshape(-1, 1)
        np.savez(tmp_path / "data.npz", X=X, y=X.ravel() > 10_000)
        ODMClassifier().fit(X[9900:10100], X[9900:10100].ravel() > 10_000).save(tmp_path / "m.wm")
        command = f"{sys.executable} -m widemargin predict m.wm data.npz --decision | head -1"
        result = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert result.stdout == "prediction,decision\n"
        assert "Traceback" not in result.stderr

    @pytest.mark.skipif(os.name != "posix", reason="needs pipes")
    @pytest.mark.parametrize("options", [(), ("--json",), ("--holdout", "0.5")])
    def test_training_is_done_though_nobody_reads_on(self, iris, tmp_path, options):
        reading, writing = os.pipe()
        os.close(reading)
        command = ("train", "iris.csv", "-m", "m.wm", "--algorithm", "svm", *options)
        done = subprocess.run(
            [sys.executable, "-m", "widemargin", *command],
            cwd=tmp_path,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (
            0,
            "note: labels are taken from column 'species'\n",
        )
        assert load_model(tmp_path / "m.wm").converged_
