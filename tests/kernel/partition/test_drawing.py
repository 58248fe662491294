"""Rows drawn at random, wherever they lie."""

from typing import Any

import numpy as np
import pytest
from rows_to_divide import KERNELS, as_csr, clouds, matrix, samples

from widemargin.engines import LocalEngine
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import division
from widemargin.kernel.partition.division import Drawn, draw, draw_numbers
from widemargin.kernel.samples import Part, Samples, whole_set


def spread_out(set_: Samples, owner: np.ndarray, net_dual: np.ndarray | None = None) -> list[Part]:
    whole = whole_set(set_, net_dual)
    return [piece for _, piece in whole.pieces(owner)]


def drawn_from(parts: list[Part], size: int, seed: int = 0) -> Drawn:
    return draw(LocalEngine(1), parts, len(parts), size, np.random.default_rng(seed))[0]


def numbers_from(parts: list[Part], size: int, **options: Any) -> np.ndarray:
    return draw_numbers(
        LocalEngine(1), parts, len(parts), size, np.random.default_rng(0), **options
    )[0]


@pytest.mark.parametrize("form", ["dense", "csr", "precomputed"])
@pytest.mark.parametrize("size", [1, 37, 119, 120, 500])
def test_draw_does_not_depend_on_how_rows_are_spread(form: str, size: int) -> None:
    X, label = clouds(120)
    K = matrix(KERNELS["rbf"], X)
    data = {"dense": X, "csr": as_csr(X), "precomputed": K}[form]
    kernel = Kernel("precomputed") if form == "precomputed" else KERNELS["rbf"]
    set_ = samples(data, label, kernel)
    expected = drawn_from([whole_set(set_)], size)
    assert expected.rows.size == min(size, 120)
    assert np.all(np.diff(expected.rows) > 0)
    rows = expected.rows
    values = {"dense": X[rows], "csr": X[rows], "precomputed": K[np.ix_(rows, rows)]}[form]
    owners = [
        np.arange(120) % 7,
        np.arange(120) // 50,
        np.random.default_rng(1).integers(9, size=120),
    ]
    for parts in [[whole_set(set_)], *[spread_out(set_, owner) for owner in owners]]:
        found = drawn_from(parts, size)
        np.testing.assert_array_equal(found.rows, rows)
        given = found.X.toarray() if form == "csr" else found.X
        np.testing.assert_array_equal(given, values)


@pytest.mark.parametrize("support", [False, True])
def test_many_parts_offer_few_rows_each(monkeypatch: pytest.MonkeyPatch, support: bool) -> None:
    X, label = clouds(4000)
    net_dual = np.where(np.arange(4000) % 3 == 0, 1.0, 0.0)
    parts = spread_out(samples(X, label), np.arange(4000) // 100, net_dual)
    expected = numbers_from(parts, 60, support=support)
    monkeypatch.setattr(division, "MANY_PARTS", 10)
    offered = []
    lowest = division.lowest
    monkeypatch.setattr(
        division, "lowest", lambda rows, *more: offered.append(rows.size) or lowest(rows, *more)
    )
    np.testing.assert_array_equal(numbers_from(parts, 60, support=support), expected)
    assert sum(offered) < 600  # of 40 × (100 + 33) rows


def test_every_row_is_drawn_equally_often() -> None:
    """Alone and in pairs: 12 of 30 rows, 4,000 times."""
    X, label = clouds(30)
    parts = spread_out(samples(X, label), np.arange(30) // 11)
    random = np.random.default_rng(0)
    hits = np.zeros((4000, 30))
    for k in range(4000):
        hits[k, draw(LocalEngine(1), parts, len(parts), 12, random)[0].rows] = 1.0
    share, pairs = 12 / 30, 12 * 11 / (30 * 29)
    error = np.sqrt(share * (1 - share) / 4000)
    assert np.abs(hits.mean(axis=0) - share).max() < 4 * error
    together = (hits.T @ hits / 4000)[np.triu_indices(30, 1)]
    assert np.abs(together - pairs).max() < 4.5 * np.sqrt(pairs * (1 - pairs) / 4000)


def test_same_seed_same_rows() -> None:
    X, label = clouds(100)
    parts = [whole_set(samples(X, label))]
    rows = drawn_from(parts, 10, seed=1).rows
    np.testing.assert_array_equal(drawn_from(parts, 10, seed=1).rows, rows)
    assert not np.array_equal(drawn_from(parts, 10, seed=2).rows, rows)


def test_rows_with_a_dual_are_drawn_if_these_are_enough() -> None:
    """Rows without a dual are not drawn then, also where a part has no other."""
    X, label = clouds(90)
    net_dual = np.where(np.arange(90) % 3 == 0, -0.5, 0.0)
    net_dual[:30] = 0.0
    for data in (X, as_csr(X)):
        parts = spread_out(samples(data, label), np.arange(90) // 30, net_dual)
        assert not parts[0].net_dual.any()
        everything = numbers_from(parts, 20, support=True)
        np.testing.assert_array_equal(everything, np.flatnonzero(net_dual))
        some = numbers_from(parts, 8, support=True)
        assert some.size == 8
        assert set(some) <= set(everything)
        too_few = numbers_from(parts, 21, support=True)
        np.testing.assert_array_equal(too_few, numbers_from(parts, 21))


def test_all_rows_are_counted() -> None:
    parts = spread_out(samples(*clouds(90)), np.arange(90) // 30, np.zeros(90))
    assert draw_numbers(LocalEngine(1), parts, 3, 8, np.random.default_rng(0))[1] == 90
