"""Run exported graphs, and compare them with the models that they come from."""

import numpy as np
import pytest

from widemargin import to_onnx

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def run_graph(proto, inputs):
    """Return the outputs of a graph by name; a matrix is the input X."""
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    fed = inputs if isinstance(inputs, dict) else {"X": inputs}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, fed), strict=True))


def assert_same_predictions(model, X, dtype="float32"):
    """Compare the graph of a model with the model, on rows that both take in one precision."""
    X = np.ascontiguousarray(X, dtype=dtype)
    proto = to_onnx(model, dtype=dtype)
    outputs = run_graph(proto, X)
    wanted = model.decision_function(X)
    assert outputs["decision"].dtype == dtype
    assert outputs["decision"].shape == wanted.shape
    assert (np.abs(outputs["decision"] - wanted) <= 1e-5 * np.maximum(1.0, np.abs(wanted))).all()
    settled = ~tied(wanted)
    assert settled.mean() > 0.5
    assert outputs["label"][settled].tolist() == model.predict(X)[settled].tolist()
    return proto


def tied(decisions):
    """Find rows whose label depends on the order in which rounded numbers are added."""
    if decisions.ndim == 1:
        return np.abs(decisions) < 1e-12
    best = np.sort(decisions, axis=1)[:, -2:]
    return best[:, 1] - best[:, 0] < 1e-12 * np.maximum(1.0, np.abs(best[:, 1]))


def frame_inputs(frame, dtype=np.float32):
    """Return one input per column: numbers, or text with "" for a missing one."""
    inputs = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind in "fiub":
            inputs[name] = column.to_numpy(dtype=dtype)[:, None]
        else:
            text = column.astype(object).where(column.notna(), "")
            inputs[name] = text.to_numpy(dtype=object)[:, None]
    return inputs
