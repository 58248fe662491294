"""Calibrated models in files."""

from __future__ import annotations

import numpy as np
import pytest
from test_persistence import assert_same_model, blobs

from widemargin import (
    LinearODMClassifier,
    LinearSVMClassifierCV,
    MulticlassSVMClassifier,
    ODMClassifier,
    SVMClassifier,
    SVMClassifierCV,
    load_model,
)
from widemargin.persistence import ModelFileError, dumps, loads
from widemargin.persistence.container import pack, unpack


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "model",
    [
        ODMClassifier(),
        SVMClassifier(multi_class="ovo"),
        LinearODMClassifier(),
        MulticlassSVMClassifier(),
        SVMClassifierCV(Cs=[1.0], gammas=1),
        LinearSVMClassifierCV(Cs=[1.0]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_round_trip_is_bit_identical(model, n_classes, method, tmp_path):
    X, y = blobs(n_classes)
    fitted = model.set_params(calibrate=method).fit(X, y)
    fitted.save(tmp_path / "model.wm")
    assert_same_model(load_model(tmp_path / "model.wm"), fitted, X)


def test_a_model_without_calibrators_can_be_saved():
    X, y = blobs(2)
    fitted = SVMClassifier().fit(X, y).set_params(calibrate="sigmoid")
    assert not hasattr(loads(dumps(fitted)), "calibration_")


def damaged(method, change):
    """Return the bytes of a model of three classes whose calibrators are changed."""
    X, y = blobs(3)
    header, arrays = unpack(dumps(LinearODMClassifier(calibrate=method).fit(X, y)), "0")
    change(header["fitted"]["calibration_"], arrays)
    return pack(
        {k: header[k] for k in ("library_version", "estimator", "params", "fitted")}, arrays
    )


def shorter(name):
    def change(_, arrays):
        arrays[f"calibration_.{name}"] = arrays[f"calibration_.{name}"][1:].copy()

    return change


def entry(name, k, value):
    def change(_, arrays):
        arrays[f"calibration_.{name}"] = arrays[f"calibration_.{name}"].copy()
        arrays[f"calibration_.{name}"][k] = value

    return change


def key(name, value):
    def change(header, _):
        header[name] = value

    return change


@pytest.mark.parametrize(
    ("method", "change", "reason"),
    [
        ("sigmoid", shorter("slope"), "slope"),
        ("sigmoid", shorter("offset"), "offset"),
        ("sigmoid", entry("slope", 1, -1.0), "not negative"),
        ("sigmoid", entry("offset", 1, np.nan), "finite"),
        ("sigmoid", key("method", "isotonic"), "dictionary of"),
        ("sigmoid", key("method", "spline"), "method"),
        ("sigmoid", key("scheme", "binary"), "3 classes"),
        ("sigmoid", key("scheme", []), "scheme"),
        ("sigmoid", key("more", 1), "dictionary of"),
        ("isotonic", shorter("start"), "start"),
        ("isotonic", shorter("decision"), "decision"),
        ("isotonic", shorter("probability"), "probability"),
        ("isotonic", entry("start", 1, 0), "start"),
        ("isotonic", entry("start", -1, 10**6), "decision"),
        ("isotonic", entry("decision", 0, 1e9), "ascending"),
        ("isotonic", entry("probability", 0, 1.5), "between 0 and 1"),
        ("isotonic", entry("probability", 0, 0.9999), "ascending"),
    ],
)
def test_damaged_calibrators_are_refused(method, change, reason):
    with pytest.raises(ModelFileError, match=f"calibration_.*{reason}"):
        loads(damaged(method, change))


def test_undamaged_ones_are_read():
    assert loads(damaged("isotonic", lambda *_: None)).calibration_["method"] == "isotonic"
