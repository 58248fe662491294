"""Weights, what goes up, and folding neighbours together."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts_to_merge import LOSSES, parts_of, random_duals, training_set
from widemargin.engines import LocalEngine
from widemargin.kernel.divide.methods import (
    Fold,
    block_of_whole,
    every_dual,
    small_copy,
    support_vectors,
)
from widemargin.kernel.samples import Part, join, whole_set

losses = pytest.mark.parametrize("loss", LOSSES)


def fold(parts: list[Part], n_to: int, divided: bool) -> list[Part]:
    result = Fold(divided)(LocalEngine(1), parts, len(parts), n_to, np.random.default_rng(0))
    assert result.n_parts == len(result.parts) == n_to
    assert result.router is None
    return result.parts


def decision(part: Part, net_dual: np.ndarray) -> np.ndarray:
    """Decisions of a part's model at all rows of the training set."""
    set_ = part.source
    expanded = np.zeros(set_.n_rows)
    expanded[part.rows] = net_dual
    return set_.label * set_.problem(1.0, 1).margins(expanded)


@losses
@pytest.mark.parametrize("n_to", [1, 2, 4])
def test_divided_duals_are_the_mean_of_the_local_models(loss: str, n_to: int) -> None:
    """Weighed by what each part stands for, also after rows were dropped."""
    set_ = training_set(80, loss)
    owner = np.random.default_rng(5).integers(8, size=80)
    parts = [support_vectors(part) for part in parts_of(set_, owner, random_duals(set_))]
    for k, merged in enumerate(fold(parts, n_to, divided=True)):
        neighbours = parts[k * 8 // n_to : (k + 1) * 8 // n_to]
        masses = np.array([part.mass for part in neighbours])
        assert merged.mass == pytest.approx(masses.sum())
        local = np.array([decision(part, part.net_dual) for part in neighbours])
        mean = (masses / masses.sum()) @ local
        np.testing.assert_allclose(decision(merged, merged.net_dual), mean, atol=1e-12)


def test_equal_parts_are_divided_by_their_number() -> None:
    set_ = replace(training_set(40), weight=np.ones(40))
    net_dual = random_duals(set_)
    parts = parts_of(set_, np.arange(40) % 4, net_dual)
    (merged,) = fold(parts, 1, divided=True)
    np.testing.assert_allclose(merged.net_dual, net_dual / 4, rtol=1e-15)
    np.testing.assert_array_equal(merged.rows, np.arange(40))


def test_glued_duals_stay() -> None:
    set_ = training_set(40)
    net_dual = random_duals(set_)
    for merged in fold(parts_of(set_, np.arange(40) % 8, net_dual), 2, divided=False):
        np.testing.assert_array_equal(merged.net_dual, net_dual[merged.rows])


@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 9))
def test_folding_step_by_step_is_folding_at_once(fan_in: int, levels: int, seed: int) -> None:
    """Neighbours of neighbours are neighbours, and shares multiply."""
    set_ = training_set(300, seed=seed)
    n_leaves = fan_in**levels
    owner = np.concatenate(
        [np.arange(n_leaves), np.random.default_rng(seed).integers(n_leaves, size=300)]
    )
    leaves = parts_of(set_, owner[:300], random_duals(set_, seed))
    parts = leaves
    for level in range(levels - 1, -1, -1):
        parts = fold(parts, fan_in**level, divided=True)
    (at_once,) = fold(leaves, 1, divided=True)
    np.testing.assert_array_equal(parts[0].rows, at_once.rows)
    np.testing.assert_allclose(parts[0].net_dual, at_once.net_dual, rtol=1e-12)
    assert parts[0].mass == pytest.approx(set_.weight.sum())


@losses
def test_support_vectors_go_up(loss: str) -> None:
    set_ = training_set(60, loss)
    net_dual = random_duals(set_)
    for part in parts_of(set_, np.arange(60) % 4, net_dual):
        carried = support_vectors(part)
        np.testing.assert_array_equal(carried.rows, part.rows[part.net_dual != 0])
        np.testing.assert_array_equal(carried.net_dual, part.net_dual[part.net_dual != 0])
        assert carried.mass == part.mass  # it still stands for the rows that were dropped
        assert every_dual(part) is part


def test_part_without_support_vectors_stays_a_part() -> None:
    set_ = training_set(20)
    whole = whole_set(set_)
    carried = support_vectors(whole)
    assert carried.rows.tolist() == [0]
    assert carried.mass == whole.mass
    assert whole.n_rows == 20


def test_weights() -> None:
    """A small copy weighs as much as the whole; a block weighs what it does in the whole."""
    set_ = training_set(60, "hinge")
    total = float(set_.weight.sum())
    for part in parts_of(set_, np.arange(60) % 3, np.zeros(60)):
        weight = set_.weight[part.rows]
        copy = part.samples().problem(small_copy(total, part.mass), 1)
        assert copy.terms.bound.sum() == pytest.approx(total)
        np.testing.assert_allclose(copy.terms.bound / weight, total / weight.sum())
        block = part.samples().problem(block_of_whole(total, part.mass), 1)
        np.testing.assert_array_equal(block.terms.bound, weight)
    assert small_copy(12.0, 12.0) == 1.0


def test_pieces_share_the_mass_by_weight() -> None:
    """Also that of rows dropped before."""
    set_ = training_set(60)
    part = support_vectors(whole_set(set_, random_duals(set_)))
    target = np.arange(part.n_rows) % 3
    pieces = part.pieces(target)
    assert [number for number, _ in pieces] == [0, 1, 2]
    for number, piece in pieces:
        np.testing.assert_array_equal(piece.rows, part.rows[target == number])
        share = set_.weight[piece.rows].sum() / set_.weight[part.rows].sum()
        assert piece.mass == pytest.approx(share * part.mass)
    whole = join([piece for _, piece in reversed(pieces)])
    np.testing.assert_array_equal(whole.rows, part.rows)
    np.testing.assert_array_equal(whole.net_dual, part.net_dual)
    assert whole.mass == pytest.approx(part.mass)
