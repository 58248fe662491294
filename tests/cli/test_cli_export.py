"""``widemargin export``."""

import json
import sys

import pytest
from sklearn.datasets import load_iris

from widemargin import LinearSVMClassifier, ODMClassifier
from widemargin.cli import main

pytest.importorskip("onnx")
X, Y = load_iris(return_X_y=True)


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exported_files_predict(run, dtype):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = ODMClassifier().fit(X, Y)
    model.save("model.wm")
    code, out, _ = run("export", "model.wm", "-o", "model.onnx", "--dtype", dtype)
    assert code == 0
    assert "label, decision" in out
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    (label,) = session.run(["label"], {"X": X.astype(dtype)})
    assert label.tolist() == model.predict(X).tolist()


def test_fewer_points(run):
    ODMClassifier().fit(X, Y).save("model.wm")
    sizes = []
    for extra in ((), ("--compress", 20)):
        code, out, _ = run("export", "model.wm", "-o", "model.onnx", "--json", *extra)
        assert code == 0
        summary = json.loads(out)
        assert summary["inputs"] == ["X"]
        sizes.append(summary["file_bytes"])
    assert sizes[1] < sizes[0] / 2


def test_what_cannot_be_done(run, monkeypatch):
    LinearSVMClassifier().fit(X, Y).save("linear.wm")
    code, _, error = run("export", "linear.wm", "-o", "model.onnx", "--compress", 10)
    assert code == 2
    assert "no support vectors" in error
    code, _, error = run("export", "linear.wm", "-o", "linear.wm")
    assert code == 2
    assert "input file" in error
    ODMClassifier("precomputed").fit(X @ X.T, Y).save("kernel.wm")
    code, _, error = run("export", "kernel.wm", "-o", "model.onnx")
    assert code == 1
    assert "keeps no rows" in error
    monkeypatch.setitem(sys.modules, "onnx", None)
    code, _, error = run("export", "linear.wm", "-o", "model.onnx")
    assert code == 1
    assert "widemargin[onnx]" in error
