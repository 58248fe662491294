"""The landmark partition against the papers' formulas, written naively."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows_to_divide import (
    KERNELS,
    as_csr,
    clouds,
    divide,
    matrix,
    part_of_rows,
    same_parts,
    samples,
)

from reference import landmarks as reference
from widemargin.core.random_draws import shuffled
from widemargin.engines import LocalEngine
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import Division, LandmarkStrata, RandomParts, strata
from widemargin.kernel.partition.dealing import deal
from widemargin.kernel.partition.division import Drawn
from widemargin.kernel.partition.strata import landmarks
from widemargin.kernel.samples import whole_set

# The sigmoid's matrix is indefinite: no determinant to make large.
DEFINITE = [name for name in KERNELS if name != "sigmoid"]
kernels = pytest.mark.parametrize("name", DEFINITE)
N_STRATA = 9


FORMS = [(name, form) for name in DEFINITE for form in ("dense", "csr", "float32", "precomputed")]


@pytest.mark.parametrize(("name", "form"), FORMS)
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_landmarks_and_strata_equal_the_reference(name: str, form: str, constant: float) -> None:
    """An intercept, a constant in the kernel, moves nothing."""
    X, _ = clouds()
    if form == "float32":
        X = X.astype(np.float32).astype(np.float64)
    kernel = KERNELS[name]
    K = matrix(kernel, X)
    data = {"dense": X, "csr": as_csr(X), "float32": X.astype(np.float32), "precomputed": K}[form]
    spec = Kernel("precomputed" if form == "precomputed" else name, *list_of(kernel), constant)
    found = landmarks(spec, Drawn(np.arange(len(X)), data), N_STRATA)

    expected = reference.landmarks(K, N_STRATA)
    assert found.basis_rows.tolist() == expected
    set_ = samples(data, np.ones(len(X)), spec)
    assigned = found.assign_samples(set_, np.arange(len(X)))
    np.testing.assert_array_equal(assigned, reference.strata(K, expected))


def list_of(kernel: Kernel) -> tuple[float, float, int]:
    return kernel.gamma, kernel.coef0, kernel.degree


@kernels
def test_first_landmark(name: str) -> None:
    """SODM takes the first row; where κ(x, x) varies, DiODM takes the largest."""
    X, _ = clouds()
    X[57] *= 10
    found = landmarks(KERNELS[name], Drawn(np.arange(len(X)), X), 1)
    assert found.basis_rows.tolist() == [0 if name in ("rbf", "laplacian") else 57]


@kernels
@pytest.mark.parametrize("n_parts", [2, 5, 8])
def test_parts_differ_by_at_most_one_row_of_anything(name: str, n_parts: int) -> None:
    """Of a stratum, of a label in a stratum, and in size; by the reference's strata."""
    X, label = clouds(203)
    K = matrix(KERNELS[name], X)
    stratum = reference.strata(K, reference.landmarks(K, N_STRATA))
    divided = divide(LandmarkStrata(N_STRATA), samples(X, label, KERNELS[name]), n_parts)
    assert divided.n_parts == len(divided.parts) == n_parts
    assert divided.router is None
    part = part_of_rows(divided.parts, len(X))
    assert reference.spread(np.zeros(len(X), dtype=np.int64), part, n_parts) <= 1
    assert reference.spread(stratum, part, n_parts) <= 1
    assert reference.spread(2 * stratum + (label > 0), part, n_parts) <= 1


@given(st.data())
def test_dealing_equals_the_reference(data: st.DataObject) -> None:
    n_rows = data.draw(st.integers(0, 40))
    small = st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows)
    stratum = np.array(data.draw(small), dtype=np.int64)
    label = np.where(np.array(data.draw(small), dtype=np.int64) > 1, 1.0, -1.0)
    n_parts, seed = data.draw(st.integers(1, 7)), data.draw(st.integers(0, 9))
    part = deal(stratum, label, n_parts, np.random.default_rng(seed))
    cell, drawn = 2 * stratum + (label > 0), int(np.random.default_rng(seed).integers(2**31))
    chance = np.zeros(n_rows)
    for own in np.unique(cell):
        n_own = int(np.sum(cell == own))
        chance[cell == own] = shuffled(np.arange(n_own), n_own, [drawn, int(own)])
    np.testing.assert_array_equal(part, reference.deal(stratum, label, n_parts, chance))


@pytest.mark.parametrize("division", [LandmarkStrata(8), RandomParts()], ids=["strata", "random"])
def test_turns_are_the_same_wherever_rows_lie(division: Division) -> None:
    X, label = clouds(500)
    set_, engine = samples(X, label), LocalEngine(2)
    blocks = [piece for _, piece in whole_set(set_).pieces(np.arange(500) // 73)]
    one = division(engine, [whole_set(set_)], 1, 7, np.random.default_rng(5))
    many = division(engine, blocks, len(blocks), 7, np.random.default_rng(5))
    same_parts(one, many)


def test_rows_of_a_stratum_are_dealt_at_random() -> None:
    """Neighbours in the file end up together no more often than others."""
    X, label = clouds(400)
    apart = []
    for seed in range(30):
        divided = divide(LandmarkStrata(8), samples(X, label), 4, seed=seed)
        part = part_of_rows(divided.parts, len(X))
        apart.append(np.mean(part[:-1] == part[1:]))
    assert np.mean(apart) == pytest.approx(0.25, abs=0.02)  # a standard error is 0.004


def test_fewer_landmarks_than_asked_for() -> None:
    """The linear kernel in four dimensions has rank four; equal rows are one."""
    X, label = clouds(100)
    rows = np.arange(100)
    assert landmarks(KERNELS["linear"], Drawn(rows, X), 30).n_groups == 4
    assert (
        landmarks(KERNELS["rbf"], Drawn(rows, np.repeat(X[:7], 15, axis=0)[:100]), 30).n_groups == 7
    )
    divided = divide(LandmarkStrata(30), samples(np.ones((100, 2)), label), 4)
    part = part_of_rows(divided.parts, 100)
    assert reference.spread((label > 0).astype(np.int64), part, 4) <= 1
    assert landmarks(KERNELS["rbf"], Drawn(rows[:5], X[:5]), 30).n_groups == 5


def test_landmarks_among_few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large sets choose among a sample; what is chosen still divides every row."""
    monkeypatch.setattr(strata, "CANDIDATE_BYTES", 8 * 6 * 40)
    X, label = clouds(300)
    drawn: list[int] = []
    choose = strata.landmarks

    def listening(kernel, candidates, n_strata, threads):
        drawn.append(candidates.rows.size)
        return choose(kernel, candidates, n_strata, threads)

    monkeypatch.setattr(strata, "landmarks", listening)
    divided = divide(LandmarkStrata(6), samples(X, label), 4)
    assert drawn == [40]
    part = part_of_rows(divided.parts, 300)
    assert reference.spread((label > 0).astype(np.int64), part, 4) <= 6  # one per stratum


NO_POSITIVE_DIAGONAL = {
    "linear": (Kernel("linear"), np.zeros((30, 2))),
    "poly": (Kernel("poly", 1.0, 0.0, 3), np.zeros((30, 2))),
    "sigmoid": (Kernel("sigmoid", 0.1, -5.0), np.random.default_rng(0).normal(size=(30, 2))),
    "precomputed": (Kernel("precomputed"), np.zeros((30, 30))),
}


@pytest.mark.parametrize("name", NO_POSITIVE_DIAGONAL)
def test_kernel_without_a_positive_diagonal(name: str) -> None:
    kernel, X = NO_POSITIVE_DIAGONAL[name]
    label = np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    divided = divide(LandmarkStrata(4), samples(X, label, kernel), 3)
    assert [part.n_rows for part in divided.parts] == [10, 10, 10]
