"""What every division owes: all rows once, the same for every form of the data and thread count."""

import numpy as np
import pytest
from rows_to_divide import (
    DIVISIONS,
    KERNELS,
    as_csr,
    clouds,
    divide,
    matrix,
    part_of_rows,
    same_parts,
    samples,
)

from reference.landmarks import spread
from widemargin.engines import LocalEngine
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import Division, InputSpaceStrata
from widemargin.kernel.samples import Samples

divisions = pytest.mark.parametrize("division", DIVISIONS.values(), ids=DIVISIONS)
kernels = pytest.mark.parametrize("name", KERNELS)


@divisions
@kernels
@pytest.mark.parametrize("n_parts", [2, 7])
def test_every_row_is_in_one_part(division: Division, name: str, n_parts: int) -> None:
    X, label = clouds()
    divided = divide(division, samples(X, label, KERNELS[name]), n_parts)
    part_of_rows(divided.parts, len(X))
    assert divided.n_parts == len(divided.parts)
    for part in divided.parts:
        assert part.net_dual.shape == part.rows.shape
        assert part.mass == pytest.approx(part.n_rows)
        assert part.report is None


@divisions
@kernels
def test_csr_and_float32_give_the_same_parts(division: Division, name: str) -> None:
    X, label = clouds()
    X = X.astype(np.float32)
    dense = divide(division, samples(X.astype(np.float64), label, KERNELS[name]), 4)
    same_parts(
        divide(division, samples(as_csr(X.astype(np.float64)), label, KERNELS[name]), 4), dense
    )
    if name != "linear":  # of low rank, where float32's rounding chooses landmarks
        same_parts(divide(division, samples(X, label, KERNELS[name]), 4), dense)
        same_parts(divide(division, samples(as_csr(X), label, KERNELS[name]), 4), dense)


@pytest.mark.parametrize("form", ["random", "landmarks", "clusters"])
@kernels
def test_precomputed_gives_the_same_parts(form: str, name: str) -> None:
    """As long as the kernel is not narrower than the data, where clusters widen it."""
    X, label = clouds()
    kernel = Kernel(name, 0.05) if name in ("rbf", "laplacian") else KERNELS[name]
    by_name = divide(DIVISIONS[form], samples(X, label, kernel), 4)
    values = matrix(kernel, X)
    by_values = divide(DIVISIONS[form], samples(values, label, Kernel("precomputed")), 4)
    same_parts(by_values, by_name)
    if by_name.router is not None:
        assert by_values.router is not None
        np.testing.assert_array_equal(by_values.router.basis_rows, by_name.router.basis_rows)
        np.testing.assert_array_equal(
            by_values.router.assign_values(values[:, by_values.router.basis_rows]),
            by_name.router.assign(X),
        )


def test_input_space_refuses_kernel_values() -> None:
    X, label = clouds()
    set_ = samples(X @ X.T, label, Kernel("precomputed"))
    with pytest.raises(ValueError, match=r"clusters the features themselves.*'stratified'"):
        divide(InputSpaceStrata(4), set_, 4)


@divisions
def test_seeds_and_threads(division: Division) -> None:
    X, label = clouds(500)
    set_ = samples(X, label)
    first = divide(division, set_, 4, seed=3)
    same_parts(divide(division, set_, 4, seed=3), first)
    same_parts(divide(division, set_, 4, seed=3, threads=2), first)
    other = divide(division, set_, 4, seed=4)
    assert any(
        not np.array_equal(a.rows, b.rows) for a, b in zip(first.parts, other.parts, strict=False)
    )


@divisions
def test_mass_follows_weights(division: Division) -> None:
    X, label = clouds()
    weight = np.random.default_rng(0).uniform(0.1, 5.0, size=len(X))
    set_ = Samples(X, KERNELS["rbf"], label, weight, samples(X, label).loss)
    for part in divide(division, set_, 4).parts:
        assert part.mass == pytest.approx(weight[part.rows].sum())


@pytest.mark.parametrize("form", ["random", "landmarks", "input space"])
def test_labels_keep_their_shares(form: str) -> None:
    """Also a rare label: eleven positives among 300 rows, for eight parts."""
    X, _ = clouds(300)
    label = np.where(np.arange(300) < 11, 1.0, -1.0)
    divided = divide(DIVISIONS[form], samples(X, label), 8)
    part = part_of_rows(divided.parts, 300)
    assert spread(np.zeros(300, dtype=np.int64), part, 8) <= 1
    # Dealt by label in every stratum, so that up to one positive per stratum may be amiss.
    most = {"random": 1, "landmarks": 12, "input space": 12}[form]
    assert spread((label > 0).astype(np.int64), part, 8) <= most


def test_input_space_strata_are_clusters_of_the_features() -> None:
    """Clouds apart, whatever the kernel says of them: every part gets its share of each."""
    rng = np.random.default_rng(0)
    cloud = np.repeat(np.arange(4), 60)
    X = rng.normal(size=(240, 2)) * 0.1 + 10 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[cloud]
    label = np.where(rng.random(240) < 0.5, 1.0, -1.0)
    for seed in range(5):
        divided = divide(InputSpaceStrata(4), samples(X, label, KERNELS["rbf"]), 5, seed=seed)
        part = part_of_rows(divided.parts, 240)
        assert spread(cloud, part, 5) <= 1
        assert spread(2 * cloud + (label > 0), part, 5) <= 1


@divisions
def test_parts_divided_anew(division: Division) -> None:
    """Divisions also start from several parts, which keep what they carry."""
    X, label = clouds(240)
    set_ = samples(X, label)
    engine = LocalEngine(2)
    net_dual = np.linspace(-1.0, 1.0, 240)
    eight = divide(DIVISIONS["random"], set_, 8)
    parts = [type(part)(part.rows, net_dual[part.rows], part.mass, set_) for part in eight.parts]
    divided = division(engine, parts, 8, 3, np.random.default_rng(0))
    part_of_rows(divided.parts, 240)
    assert divided.n_parts == len(divided.parts)
    assert sum(part.mass for part in divided.parts) == pytest.approx(240)
    for part in divided.parts:
        np.testing.assert_array_equal(part.net_dual, net_dual[part.rows])
