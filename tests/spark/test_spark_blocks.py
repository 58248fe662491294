"""Batches of a partition become blocks; no Spark is started."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("pyspark")
import pyarrow as pa

from widemargin.spark.rows.block_summary import (
    Summary,
    check_classes,
    check_rows,
    spread_of,
    summary_of,
    warn_if_few_dominate,
)
from widemargin.spark.rows.block_tasks import HELD_OUT, BlocksOfPartition
from widemargin.spark.rows.blocks import AsKind
from widemargin.spark.rows.columns import FrameColumns

ALL = FrameColumns("x", "y", weight="w", identity="key")


def batches(features, labels, size=3, **more):
    lists = [None if row is None else list(row) for row in features]
    features = pa.array(lists, pa.list_(pa.float64()))
    table = pa.table({"features": features, "label": pa.array(labels, pa.float64()), **more})
    return table.to_batches(max_chunksize=size)


def blocks(features, labels, columns=None, skip=False, size=3, first=0, limits=(), **more):
    task = BlocksOfPartition("fit", columns or FrameColumns("x", "y"), skip, summary_of, *limits)
    return list(task.blocks(batches(features, labels, size, **more), first))


def summed(found):
    total = summary_of(found[0])
    for block in found[1:]:
        total = total.plus(summary_of(block))
    return total


ROWS = np.arange(40.0).reshape(20, 2)
LABELS = [0.0, 1.0] * 10


def test_batches_join_to_one_block():
    (block,) = blocks(ROWS, LABELS)
    np.testing.assert_array_equal(block.X, ROWS)
    np.testing.assert_array_equal(block.codes, LABELS)
    assert block.weight is None


@pytest.mark.parametrize("limits", [(7, 10**6), (10**6, 7 * 16)])
def test_blocks_end_at_the_same_rows_whatever_the_batches(limits):
    cut = [blocks(ROWS, LABELS, size=size, limits=limits) for size in (1, 4, 20)]
    for found in cut:
        assert [b.n_rows for b in found] == [7, 7, 6]
        np.testing.assert_array_equal(np.vstack([b.X for b in found]), ROWS)
        assert [b.name for b in found] == [b.name for b in cut[0]]


def test_a_row_larger_than_a_block_is_a_block():
    assert [b.n_rows for b in blocks(ROWS, LABELS, limits=(100, 1))] == [1] * 20


def test_names_tell_contents_apart():
    (one,), (other,) = blocks(ROWS, LABELS), blocks(ROWS[::-1], LABELS)
    assert one.name != other.name


def test_numbers_count_from_the_partition():
    found = blocks(ROWS, LABELS, first=5 << 32, limits=(10, 10**6))
    assert [b.number for b in found] == [5 << 32, (5 << 32) + 1]
    assert pickle.loads(pickle.dumps(found[1])).number == (5 << 32) + 1


def test_an_empty_partition_has_no_blocks():
    assert blocks([], []) == []


def test_rows_of_weight_zero_are_left_out():
    weights = [0.0, 2.0] * 10
    (block,) = blocks(ROWS, LABELS, FrameColumns("x", "y", weight="w"), weight=weights)
    np.testing.assert_array_equal(block.X, ROWS[1::2])
    np.testing.assert_array_equal(block.weight, [2.0] * 10)


def test_rows_of_weight_zero_alone_are_told_of():
    named = FrameColumns("x", "y", weight="w")
    features = [[1.0], [np.nan], [2.0]]
    (block,) = blocks(features, [0, 1, 1], named, skip=True, weight=[0.0, 1.0, 0.0])
    assert (block.n_rows, block.skipped, block.weightless) == (0, 1, 2)
    with pytest.raises(ValueError, match=r"column 'w' .* got 0 in all 2, and 1 were left out"):
        check_rows(summary_of(block), named)


@pytest.mark.parametrize(
    ("features", "labels", "weights", "name"),
    [
        ([[1.0], None], [0, 1], [1, 1], "x"),
        ([[1.0], [np.nan]], [0, 1], [1, 1], "x"),
        ([[1.0], [2.0]], [0, None], [1, 1], "y"),
        ([[1.0], [2.0]], [0, np.nan], [1, 1], "y"),
        ([[1.0], [2.0]], [0, 1], [1, None], "w"),
    ],
)
def test_invalid_rows_are_an_error_or_skipped(features, labels, weights, name):
    given = {
        "columns": FrameColumns("x", "y", weight="w"),
        "weight": pa.array(weights, pa.float64()),
    }
    (told,) = blocks(features, labels, **given)
    assert told.n_rows == 0
    assert told.problem.startswith(f"column '{name}' must hold finite numbers in every row; got ")
    assert "handleInvalid='skip'" in told.problem
    (block,) = blocks(features, labels, skip=True, **given)
    assert (block.n_rows, block.skipped, block.problem) == (1, 1, None)
    np.testing.assert_array_equal(block.X, [[1.0]])


def test_a_partition_of_skipped_rows_tells_their_number():
    (block,) = blocks([None, None], [0, 1], skip=True)
    assert (block.n_rows, block.skipped) == (0, 2)
    with pytest.raises(ValueError, match="no valid rows to train on; 2 were left out"):
        check_rows(summary_of(block), FrameColumns("x", "y"))


@pytest.mark.parametrize("label", [-1.0, 0.5, 2e9, np.inf])
@pytest.mark.parametrize("skip", [True, False])
def test_labels_that_are_none_are_a_problem(label, skip):
    (told,) = blocks([[1.0], [2.0]], [0, label], skip=skip)
    assert told.problem == (
        f"column 'y' must hold labels 0, 1, … up to 1,000,000; got {label:g}. Index labels with "
        "StringIndexer."
    )


@pytest.mark.parametrize("weight", [-2.0, np.inf])
def test_weights_that_are_none_are_a_problem(weight):
    (told,) = blocks([[1.0]], [0], FrameColumns("x", "y", weight="w"), weight=[weight])
    assert told.problem == (
        f"column 'w' must hold weights that are finite and not negative; got {weight:g}. Give rows "
        "to leave out the weight 0."
    )


def test_sizes_that_differ_between_batches_are_a_problem():
    (told,) = blocks([[1.0], [2.0, 3.0]], [0, 1], size=1)
    assert told.problem.startswith("column 'x' must hold vectors of one size; got sizes 1 and 2. ")


@pytest.mark.parametrize("size", [1, 4])
def test_ids_that_do_not_tell_rows_apart_are_a_problem(size):
    named = FrameColumns("x", "y", identity="key")
    (told,) = blocks([[1.0]] * 3, [0, 1, 1], named, size=size, id=[1, 2, 2])
    assert told.problem.startswith("column 'key' must tell rows apart; got 2 twice. Give every ")
    (told,) = blocks([[1.0]] * 2, [0, 1], named, size=size, id=pa.array(["a", None]))
    assert told.problem.startswith("column 'key' must tell rows apart; got null. Give every row")
    (block,) = blocks([[1.0]] * 3, [0, 1, 1], named, size=size, id=["a", "b", "c"])
    assert block.n_rows == 3


def test_a_validation_indicator_of_null_is_a_problem():
    named = FrameColumns("x", "y", validation="held_out")
    (told,) = blocks([[1.0]], [0], named, validation=pa.array([None], pa.bool_()))
    assert told.problem == "column 'held_out' must be true or false in every row; got null."


def test_validation_rows_are_blocks_of_their_own():
    named = FrameColumns("x", "y", validation="held_out")
    held_out = np.arange(20) % 4 == 0
    found = blocks(ROWS, LABELS, named, limits=(10, 10**6), first=8, validation=held_out)
    by_number = {block.number: block for block in found}
    assert sorted(by_number) == [8, 9, 8 + HELD_OUT]
    training = np.vstack([by_number[8].X, by_number[9].X])
    np.testing.assert_array_equal(training, ROWS[~held_out])
    np.testing.assert_array_equal(by_number[8 + HELD_OUT].X, ROWS[held_out])
    np.testing.assert_array_equal(by_number[8 + HELD_OUT].codes, np.array(LABELS)[held_out])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_the_spread_of_blocks_is_that_of_all_rows(make):
    X = np.random.default_rng(0).normal(1e6, [1.0, 2.0, 30.0], (300, 3))
    X -= 1e6 if make is sp.csr_matrix else 0.0
    joined = spread_of(make(X[:50])).plus(spread_of(make(X[50:80]))).plus(spread_of(make(X[80:])))
    np.testing.assert_allclose(joined.mean, X.mean(axis=0))
    np.testing.assert_allclose(joined.squares / 300, X.var(axis=0), rtol=1e-6)


def test_a_feature_that_dominates_is_told_of():
    X = np.random.default_rng(0).normal(size=(300, 3)) * [1.0, 100.0, 1.0]
    with pytest.warns(UserWarning, match=r"Feature 1 of column 'x' carries 99\.\d+ % of the var"):
        warn_if_few_dominate(spread_of(X), "x")


def test_features_alike_are_not_told_of(recwarn):
    X = np.random.default_rng(0).normal(size=(300, 3))
    warn_if_few_dominate(spread_of(X), "x")
    warn_if_few_dominate(spread_of(X * [0.0, 1.0, 0.0]), "x")  # nothing else to count
    warn_if_few_dominate(None, "x")
    assert not recwarn


def test_summaries_add_up():
    weights = np.arange(1.0, 21.0)
    found = blocks(
        ROWS, LABELS, FrameColumns("x", "y", weight="w"), limits=(8, 10**6), weight=weights.tolist()
    )
    total = summed(found)
    assert (total.rows, total.stored, total.sizes, total.empty) == (20, 320, (2,), ())
    assert total.counts.tolist() == [10, 10]
    np.testing.assert_allclose(total.weights, [weights[::2].sum(), weights[1::2].sum()])


def of_classes(*counts):
    counts = np.array(counts)
    weights = counts.astype(float)
    return Summary(1, 8, 1, 0, (1,), frozenset([False]), counts, weights, (), (), None, None)


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="column 'y' must hold labels of at least two classes"):
        check_classes(of_classes(0, 5), FrameColumns("x", "y"))
    without = replace(of_classes(0, 5), weightless=3, skipped=2)
    message = r"only 1 in 1 rows \(without 3 of weight 0 in 'w' and 2 that are invalid\)\. Look"
    with pytest.raises(ValueError, match=message):
        check_classes(without, FrameColumns("x", "y", weight="w"))


def test_classes_that_do_not_occur_are_told(caplog):
    check_classes(of_classes(3, 0, 5), FrameColumns("x", "y"))
    assert "column 'y' has no rows of the classes 1" in caplog.text


def test_labels_that_look_like_numbers_of_something_else_are_an_error():
    with pytest.raises(ValueError, match="the largest is 200, and 199 smaller ones do not occur"):
        check_classes(of_classes(3, *[0] * 199, 5), FrameColumns("x", "y"))


@pytest.mark.parametrize(("share", "dense"), [(0.9, True), (0.1, False)])
def test_mixed_blocks_are_settled_by_their_density(share, dense):
    random = np.random.default_rng(0)
    X = random.random((50, 20)) * (random.random((50, 20)) < share)
    (block,) = blocks(X, [0.0, 1.0] * 25)
    sparse = AsKind(dense=False)(block)
    assert sp.issparse(sparse.X)
    total = summary_of(sparse)
    assert total.dense == dense
    np.testing.assert_array_equal(AsKind(dense=True)(sparse).X, X)
