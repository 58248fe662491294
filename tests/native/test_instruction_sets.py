"""Every version of the native loops, also those a machine would not choose by itself."""

import os
import subprocess
import sys

import pytest

from widemargin import _native

COMPARE = """
import numpy as np, scipy.sparse as sp
from reference import kernels as naive
from widemargin import ODMClassifier, _native
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.model.shapley import integration_rule
random = np.random.default_rng(0)
X, Z = random.normal(size=(53, 9)), random.normal(size=(31, 9))
coef = random.normal(size=(2, 31))
expected = {
    "rbf": naive.rbf(X, Z, 0.3),
    "laplacian": naive.laplacian(X, Z, 0.3),
    "poly": naive.polynomial(X, Z, 0.3, 3, 0.5),
    "sigmoid": naive.sigmoid(X, Z, 0.3, 0.5),
    "linear": naive.linear(X, Z),
}
for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-5)):
    for name, K in expected.items():
        kernel = Kernel(name, 0.3, 0.5, 3)
        for form in (np.asarray, sp.csr_matrix):
            a, b = as_rows(form(X.astype(dtype))), as_rows(form(Z.astype(dtype)))
            scale = np.abs(K).max()
            assert np.abs(kernel.block(a, b) - K).max() <= tolerance * scale, (name, dtype)
            error = np.abs(kernel.product(a, b, coef) - coef @ K.T).max()
            assert error <= 31 * tolerance * scale, (name, dtype)
            starts, everyone = np.array([0, 1, 5, 5, 31]), np.arange(53)
            scores = np.add.reduceat(np.c_[coef[0] * K, np.zeros(53)], starts[:-1], axis=1)
            scores[:, 2] = 0.0  # the empty group
            best, score = kernel.nearest_group(a, b, coef[0], starts, np.zeros(4))
            assert np.abs(score - scores.max(axis=1)).max() <= 31 * tolerance * scale
            assert np.abs(score - scores[everyone, best]).max() <= 31 * tolerance * scale
            own = kernel.routed_product(a, b, coef[0], everyone, np.array([0, 9, 9, 9, 53]), starts)
            expected_own = np.where(everyone < 9, scores[:, 0], scores[:, 3])
            assert np.abs(own - expected_own).max() <= 31 * tolerance * scale
node, weight = integration_rule(9)
for name in ("rbf", "laplacian"):
    kernel = Kernel(name, 0.3)
    a, b, columns = as_rows(X), as_rows(Z), np.ascontiguousarray(coef.T)
    values = _native.shapley_values(a, b, kernel.spec, columns, node, weight)
    decided = kernel.product(a, b, coef).T
    assert np.abs(values.sum(axis=1) + coef.sum(axis=1) - decided).max() <= 1e-12, name
    values = _native.shapley_values(a, b, kernel.spec, columns, node, weight, as_rows(X[:3]))
    assert np.abs(values.sum(axis=1) + decided[:3].mean(axis=0) - decided).max() <= 1e-12, name
y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, 0)
model = ODMClassifier(solver="coordinate", C=10.0).fit(X, y)
assert model.relative_gap_ < 1e-10, model.relative_gap_
print(_native.instruction_set())
"""


@pytest.mark.parametrize("name", ["baseline", "avx2", "avx512"])
def test_versions_agree_with_the_reference(name):
    order = ["baseline", "avx2", "avx512"]
    if order.index(name) > order.index(_native.instruction_set()):
        pytest.skip(f"this machine has no {name}")
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "WIDEMARGIN_INSTRUCTION_SET": name, "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, "-c", COMPARE], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == name
