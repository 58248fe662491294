import re
import sys

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from widemargin import SVMClassifier
from widemargin.cli import demo

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def board():
    return demo.checkerboard(400)


def test_demo_trains_prints_a_table_and_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(demo, "SVC_ROWS", 300)
    assert demo.main(["--rows", "400", "--output", str(tmp_path / "new" / "folder")]) == 0
    out = capsys.readouterr().out
    assert "All solve one problem per pair of classes." in " ".join(out.split())
    picture = tmp_path / "new" / "folder" / demo.PICTURE
    assert f"Picture: {picture}" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    # model, rows, accuracy, seconds to fit, seconds to test, gap, support vectors
    number = r" +([\d.,]+)"
    lines = re.findall(rf"(ODM|SVM|SVC){number}{number}{number}{number} +(\S+){number}", out)
    assert [(line[0], line[1]) for line in lines] == [
        ("ODM", "1,347"),
        ("SVM", "1,347"),
        ("SVM", "300"),
        ("SVC", "300"),
        ("ODM", "400"),
        ("SVM", "400"),
        ("SVM", "300"),
        ("SVC", "300"),
    ]
    assert all(float(accuracy) > 0.9 for _, _, accuracy, *_ in lines[:4])
    assert all(float(accuracy) > 0.6 for _, _, accuracy, *_ in lines[4:])
    assert lines[3][5] == "–"  # several classes: SVC's gap is not measured
    assert all(float(line[5]) <= 1e-3 for line in lines if line[0] != "SVC")


def test_formulations_are_those_of_the_fitted_models(board):
    def told(**settings):
        model = SVMClassifier(C=board.C, gamma=board.gamma, **settings).fit(board.X, board.y % 2)
        return demo.formulations([demo.Measurement(board, model, 0.0, 0.0, 0.0, 0.0)])

    assert "except SVM on 400 rows of checkerboard." in told(fit_intercept=False)
    assert "except" not in told(fit_intercept=True)


def test_board_has_as_many_rows_as_asked_for_and_both_colours(board):
    assert board.X.shape == (400, 2)
    assert board.X_test.shape == (demo.TEST_ROWS, 2)
    assert np.mean(board.y) == pytest.approx(0.5, abs=0.1)
    assert np.array_equal(board.X, demo.checkerboard(400).X)


def test_gap_of_svc_agrees_with_the_kernel_matrix(board):
    tight = SVC(C=board.C, gamma=board.gamma, tol=1e-6).fit(board.X, board.y)
    loose = SVC(C=board.C, gamma=board.gamma, tol=0.5).fit(board.X, board.y)
    label = np.where(board.y == 1, 1.0, -1.0)
    kernel = rbf_kernel(board.X, gamma=board.gamma)
    for model in (tight, loose):
        alpha = np.zeros(len(label))
        alpha[model.support_] = model.dual_coef_[0] * label[model.support_]
        norm = (alpha * label) @ kernel @ (alpha * label)
        margin = label * (kernel @ (alpha * label) + model.intercept_)
        primal = norm / 2 + board.C * np.maximum(0, 1 - margin).sum()
        dual = alpha.sum() - norm / 2
        expected = (primal - dual) / primal
        assert demo.svc_relative_gap(model, board) == pytest.approx(expected, abs=1e-9)
    assert 0 <= demo.svc_relative_gap(tight, board) < 1e-5
    assert demo.svc_relative_gap(loose, board) > 1e-3


def test_too_few_rows_are_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        demo.main(["--rows", "5"])
    assert stop.value.code == 2
    assert "--rows must be at least 100; got 5." in capsys.readouterr().err


def test_missing_matplotlib_is_said_before_anything_is_trained(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert demo.main([]) == 1
    out = capsys.readouterr().out
    assert "pip install matplotlib" in out
    assert "rows" not in out
