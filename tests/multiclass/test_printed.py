"""The published algorithms for ww and llw, multiplier by multiplier against their listings."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
from multiclass_cases import Case, case_of, solved

from multiclass_oracle import optimum
from widemargin import MulticlassSVMClassifier
from widemargin.core.outcome import Outcome
from widemargin.multiclass.solvers.class_bundles import ClassBundles

Array = npt.NDArray[np.float64]


def case(formulation: str, k: int, *, C: float = 0.7, threads: int = 1, **kind: object) -> Case:
    random = np.random.default_rng(k)
    codes = np.concatenate([np.arange(k), random.integers(0, k, 33)]).astype(np.int64)
    X = random.normal(size=(k, 4))[codes] + random.normal(size=(len(codes), 4))
    form = {"sparse": False, "dtype": np.float64, "threads": threads} | kind
    return case_of(X, codes, k, formulation, C, 1.0, **form)


@pytest.fixture
def unshuffled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave rows in their order, which the listings are then given too."""
    monkeypatch.setattr(ClassBundles, "shuffle", lambda self, seed: None)
    return iter(())


def match_class(n: int, c: int, r: int) -> int:
    """Algorithm 5 with indices from 1, its modulus corrected."""
    if n % 2 == 0 and c == n:
        return r
    if c == r:
        return n if n % 2 == 0 else c
    around = n - 1 if n % 2 == 0 else n
    return (2 * r - c - 1) % around + 1


def solve_ww(X: Array, codes: npt.NDArray[np.int64], k: int, C: float, epochs: int) -> Array:
    """Algorithms 3 and 4: ε is zero, and so many epochs instead of an optimum."""
    W, alpha = np.zeros((k, X.shape[1])), np.zeros((len(X), k))

    def solve_one(i: int, c: int) -> None:
        g = (W[codes[i]] - W[c]) @ X[i] - 1
        delta = 0.0
        if g < 0 and alpha[i, c] < C:
            delta = min(C - alpha[i, c], -g / (2 * X[i] @ X[i]))
        if g > 0 and alpha[i, c] > 0:
            delta = max(-alpha[i, c], -g / (2 * X[i] @ X[i]))
        W[codes[i]] += delta * X[i]
        W[c] -= delta * X[i]
        alpha[i, c] += delta

    for _ in range(epochs):
        for r in range(1, k if k % 2 == 0 else k + 1):
            for c in range(1, k + 1):
                other = match_class(k, c, r)
                if other > c:
                    for i in np.flatnonzero(codes == c - 1):
                        solve_one(i, other - 1)
                    for i in np.flatnonzero(codes == other - 1):
                        solve_one(i, c - 1)
    return alpha


def solve_llw(X: Array, codes: npt.NDArray[np.int64], k: int, C: float, epochs: int) -> Array:
    """Algorithms 1 and 2 with one sign throughout; the mean is updated ten times an epoch."""
    V, alpha, mean = np.zeros((k, X.shape[1])), np.zeros((len(X), k)), np.zeros(X.shape[1])
    n = len(X)
    for _ in range(epochs):
        for part in range(10):
            for i in range(part * n // 10, (part + 1) * n // 10):
                for c in (c for c in range(k) if c != codes[i]):
                    slope = 1 + (mean - V[c]) @ X[i]
                    delta = np.clip(slope / (X[i] @ X[i]), -alpha[i, c], C - alpha[i, c])
                    V[c] += delta * X[i]
                    alpha[i, c] += delta
            mean = V.mean(axis=0)
    return alpha


LISTINGS: dict[str, Callable[..., Array]] = {"ww": solve_ww, "llw": solve_llw}


@pytest.mark.parametrize("formulation", LISTINGS)
@pytest.mark.parametrize("k", [3, 4, 5, 8])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("unshuffled")
def test_multipliers_are_those_of_the_listing(formulation: str, k: int, threads: int) -> None:
    given = case(formulation, k, threads=threads)
    for epochs in (1, 4):
        found = solved(given, "printed", tol=1e-12, max_iter=epochs)
        expected = LISTINGS[formulation](given.all_features, given.codes, k, 0.7, epochs)
        assert found.outcome is Outcome.ITERATIONS
        np.testing.assert_allclose(found.iterate.duals.toarray(), expected, atol=1e-10)


@pytest.mark.usefixtures("unshuffled")
def test_sparse_rows_give_the_same() -> None:
    a = solved(case("ww", 5), "printed", tol=1e-12, max_iter=3)
    b = solved(case("ww", 5, sparse=True), "printed", tol=1e-12, max_iter=3)
    np.testing.assert_allclose(a.iterate.duals.toarray(), b.iterate.duals.toarray(), atol=1e-10)


def test_rows_come_in_another_order_in_every_epoch() -> None:
    given = case("ww", 5)
    ordered = solve_ww(given.all_features, given.codes, 5, 0.7, 2)
    found = solved(given, "printed", tol=1e-12, max_iter=2)
    assert np.abs(found.iterate.duals.toarray() - ordered).max() > 1e-6
    other = solved(given, "printed", tol=1e-12, max_iter=2, seed=1)
    assert np.abs((found.iterate.duals - other.iterate.duals).toarray()).max() > 1e-6


@pytest.mark.parametrize("k", [2, 3, 6])
def test_it_goes_to_the_optimum(k: int) -> None:
    given = case("ww", k)
    found = solved(given, "printed", tol=1e-6, max_iter=20_000)
    best = optimum(given.all_features, given.codes, k, given.bound, "ww")
    assert found.outcome is Outcome.CONVERGED
    assert found.certificate.primal == pytest.approx(best, rel=2e-6)
    assert found.solver == "printed"


def test_estimator() -> None:
    given = case("ww", 4)
    model = MulticlassSVMClassifier("ww", C=0.7, solver="printed").fit(given.X, given.codes)
    auto = MulticlassSVMClassifier("ww", C=0.7).fit(given.X, given.codes)
    assert model.solver_ == "printed"
    assert model.relative_gap_ <= model.tol
    np.testing.assert_allclose(model.coef_, auto.coef_, atol=0.1)
    for formulation in ("cs", "ovr"):
        with pytest.raises(ValueError, match=r"'printed'.*formulation='ww' or 'llw'; got"):
            MulticlassSVMClassifier(formulation, solver="printed").fit(given.X, given.codes)
