"""Small training sets, and the parts that a division makes of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from reference import kernels as naive
from widemargin.core.losses import Hinge
from widemargin.engines import LocalEngine
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import (
    Clusters,
    Divided,
    Division,
    InputSpaceStrata,
    LandmarkStrata,
    NearestGroup,
    RandomParts,
)
from widemargin.kernel.samples import Part, Samples, whole_set

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

KERNELS = {
    "rbf": Kernel("rbf", 0.4),
    "laplacian": Kernel("laplacian", 0.3),
    "linear": Kernel("linear"),
    "poly": Kernel("poly", 0.5, 1.0, 2),
    "sigmoid": Kernel("sigmoid", 0.1, 0.2),
}
DIVISIONS: dict[str, Division] = {
    "random": RandomParts(),
    "landmarks": LandmarkStrata(12),
    "input space": InputSpaceStrata(12),
    "clusters": Clusters(100),
}


def matrix(kernel: Kernel, X: Array, Z: Array | None = None) -> Array:
    """Evaluate a kernel with the reference, in float64."""
    Z = X if Z is None else Z
    values = {
        "rbf": lambda: naive.rbf(X, Z, kernel.gamma),
        "laplacian": lambda: naive.laplacian(X, Z, kernel.gamma),
        "linear": lambda: naive.linear(X, Z),
        "poly": lambda: naive.polynomial(X, Z, kernel.gamma, kernel.degree, kernel.coef0),
        "sigmoid": lambda: naive.sigmoid(X, Z, kernel.gamma, kernel.coef0),
    }
    return np.asarray(values[kernel.name]() + kernel.constant)


def clouds(n_rows: int = 200, n_features: int = 4, seed: int = 0) -> tuple[Array, Array]:
    """Rows with some zeros, and labels of which a third are positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.8)
    return X, np.where(rng.random(n_rows) < 1 / 3, 1.0, -1.0)


def samples(X: Any, label: Array, kernel: Kernel = KERNELS["rbf"]) -> Samples:
    return Samples(X, kernel, label, np.ones(len(label)), Hinge())


def divide(
    division: Division, set_: Samples, n_parts: int, *, seed: int = 0, threads: int = 1
) -> Divided:
    """Divide a whole training set."""
    engine = LocalEngine(threads)
    whole = engine.scatter([whole_set(set_)])
    return division(engine, whole, 1, n_parts, np.random.default_rng(seed))


def part_of_rows(parts: Sequence[Part], n_rows: int) -> Numbers:
    """Number the part of each row; every row is in exactly one."""
    found = np.full(n_rows, -1)
    for k, part in enumerate(parts):
        assert np.all(np.diff(part.rows) > 0), "rows are ascending"
        assert np.all(found[part.rows] == -1), "no row is in two parts"
        found[part.rows] = k
    assert found.min() >= 0, "every row is in a part"
    return found


def same_parts(a: Divided, b: Divided) -> None:
    assert len(a.parts) == len(b.parts)
    for one, other in zip(a.parts, b.parts, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def as_csr(X: Array) -> Any:
    return sp.csr_matrix(X)


def router_of(divided: Divided) -> NearestGroup:
    assert divided.router is not None
    return divided.router
