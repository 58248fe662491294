"""Prediction by onnxruntime against our own, on one thread: file size and CPU time.

python -m benchmarks.speed.onnx_graphs [--rows 15000] [--repeats 20]

Needs ``pip install "widemargin[onnx]" onnxruntime``. A scaler and a classifier are trained on
generated rows of 20 features; the whole model, compressed ones and a linear one predict batches of
float32 rows. Milliseconds are CPU time, the best of the repeats; ``float32`` says whether kernel
values of the graph are.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import LinearSVMClassifier, ODMClassifier, SVMClassifier, to_onnx

BATCHES = (1, 100, 5000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    try:
        import onnxruntime
    except ImportError:
        raise SystemExit("This needs onnxruntime: pip install onnxruntime") from None
    one_thread = onnxruntime.SessionOptions()
    one_thread.intra_op_num_threads = 1
    X, y = make_classification(
        options.rows + max(BATCHES),
        20,
        n_informative=15,
        n_redundant=0,
        class_sep=0.7,
        flip_y=0.05,
        random_state=0,
    )
    X = X.astype(np.float32)
    test, truth = np.ascontiguousarray(X[options.rows :]), y[options.rows :]
    heads = " ".join(f"{f'{batch} onnx':>9} {'ours':>7}" for batch in BATCHES)
    print(f"{'':>22} {'vectors':>7} {'MB':>6} {'accuracy':>8} {heads} error same float32")
    for name, model in models(X[: options.rows], y[: options.rows]):
        proto = to_onnx(model)
        session = onnxruntime.InferenceSession(
            proto.SerializeToString(), one_thread, providers=["CPUExecutionProvider"]
        )
        times = []
        for batch in BATCHES:
            rows = test[:batch]
            theirs = best(partial(session.run, None, {"X": rows}), options.repeats)
            ours = best(partial(model.predict, rows), options.repeats)
            times.append(f"{theirs:>9.3f} {ours:>7.3f}")
        label, decision = session.run(None, {"X": test})
        error = np.abs(decision - model.decision_function(test.astype(np.float64))).max()
        single = any(node.op_type == "Exp" for node in proto.graph.node) and all(
            constant.data_type == 1 for constant in proto.graph.initializer if constant.dims[1:]
        )
        print(
            f"{name:>22} {len(getattr(model[-1], 'support_', [])):>7} "
            f"{proto.ByteSize() / 1e6:>6.3f} {np.mean(label == truth):>8.4f} {' '.join(times)} "
            f"{error:.0e} {np.mean(label == model.predict(test)):.4f} {single}",
            flush=True,
        )


def models(X: np.ndarray, y: np.ndarray) -> list[tuple[str, Any]]:
    """Return fitted pipelines by name."""
    found = []
    for kind in (SVMClassifier, ODMClassifier):
        whole = make_pipeline(StandardScaler(), kind(n_jobs=1, random_state=0)).fit(X, y)
        found.append((kind.__name__, whole))
        for n_basis in (1000, 200):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the table shows what is lost
                small = whole[-1].compress(n_basis)
            found.append((f"compressed to {n_basis}", Pipeline([*whole.steps[:-1], ("it", small)])))
    linear = make_pipeline(StandardScaler(), LinearSVMClassifier(n_jobs=1)).fit(X, y)
    return [*found, ("LinearSVMClassifier", linear)]


def best(predict: Callable[[], Any], repeats: int) -> float:
    """Return the least CPU milliseconds of a call."""
    predict()
    least = np.inf
    for _ in range(repeats):
        start = time.process_time()
        predict()
        least = min(least, time.process_time() - start)
    return 1e3 * float(least)


if __name__ == "__main__":
    main()
