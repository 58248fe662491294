import tempfile
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.inspection import (
    accuracy_over_time,
    fit_levels,
    leaf_partition,
    partition_quality,
    support_vector_recall,
    theorem1_bounds,
    theorem2_bound,
)
from widemargin.kernel.kernels import Kernel

STRATEGIES = [Stratified, Clustered, Cascade, Preserving]


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.25, random_state=0)


def same(a, b):
    return all(
        np.allclose(getattr(a, name), getattr(b, name), equal_nan=True)
        for name in ("sizes", "class_shares", "first_moment", "second_moment", "between", "angle")
    )


# ------------------------------------------------------------------------------------- partitions


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("classifier", [ODMClassifier, SVMClassifier])
def test_leaves_are_those_of_the_fit(strategy, classifier, moons):
    X, y = moons
    model = classifier(
        gamma=3.0,
        fit_intercept=True,
        class_weight="balanced",
        strategy=strategy(levels=2, stop_level=2),
        random_state=7,
    )
    leaves = leaf_partition(model, X, y)
    model.fit(X, y)
    assert np.array_equal(leaves.part[model.support_], model.support_part_[0])
    assert leaves.n_parts == model.history_["parts"][0]
    assert leaves.kernel == Kernel("rbf", 3.0)


@pytest.mark.parametrize("strategy", [Stratified, Preserving])
def test_strata_are_those_that_were_dealt_out(strategy, moons):
    X, y = moons
    model = SVMClassifier(strategy=strategy(levels=1, n_strata=9), random_state=3)
    leaves = leaf_partition(model, X, y)
    assert np.unique(leaves.stratum).size == 9
    counts = np.zeros((9, 2, 4), dtype=int)
    np.add.at(counts, (leaves.stratum, y, leaves.part), 1)
    # Other strata than these would have been divided unevenly.
    assert np.ptp(counts, axis=2).max() <= 1
    assert np.ptp(counts.sum(axis=1), axis=1).max() <= 1


def test_landmarks_are_rows_and_clusters_have_centres(moons):
    X, y = moons
    strata = leaf_partition(ODMClassifier(strategy=Stratified(levels=1)), X, y).groups
    assert np.array_equal(strata.basis, X[strata.basis_rows])
    clusters = leaf_partition(ODMClassifier(strategy="dc", random_state=0), X, y)
    assert clusters.stratum is None
    assert leaf_partition(ODMClassifier(strategy="cascade"), X, y).groups is None


def test_a_precomputed_kernel_is_divided_too(moons):
    X, y = moons
    gram = rbf_kernel(X, gamma=2.0)
    values = ODMClassifier("precomputed", strategy=Stratified(levels=2), random_state=0)
    rows = ODMClassifier(gamma=2.0, strategy=Stratified(levels=2), random_state=0)
    assert np.array_equal(leaf_partition(values, gram, y).part, leaf_partition(rows, X, y).part)


def test_one_leaf_is_the_whole_set(moons):
    leaves = leaf_partition(ODMClassifier(strategy=Clustered(levels=0)), *moons)
    assert leaves.n_parts == 1
    assert leaves.groups is None


# ---------------------------------------------------------------------------------------- quality


def test_moments_equal_those_of_the_features():
    random = np.random.default_rng(0)
    X, y, part = random.normal(size=(60, 3)), random.integers(3, size=60), np.arange(60) % 4
    quality = partition_quality(X, y, part, Kernel("linear"))
    products = np.einsum("ij,ik->ijk", X, X).reshape(60, 9)
    for rows, distances in ((X, quality.first_moment), (products, quality.second_moment)):
        spread = np.sqrt(np.mean(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1)))
        for k in range(4):
            shift = np.linalg.norm(rows[part == k].mean(axis=0) - rows.mean(axis=0))
            assert distances[k] == pytest.approx(shift / spread)
    for k in range(4):
        shares = np.array([np.mean(y[part == k] == c) for c in range(3)])
        overall = np.array([np.mean(y == c) for c in range(3)])
        assert np.allclose(quality.class_shares[k], shares)
        assert quality.share_distance[k] == pytest.approx(np.abs(shares - overall).sum() / 2)
    assert quality.rows_used == 60


def test_angle_and_kernel_between_parts_equal_naive_ones():
    random = np.random.default_rng(1)
    X, part, stratum = random.normal(size=(40, 2)), np.arange(40) % 2, random.integers(5, size=40)
    kernel = Kernel("poly", gamma=0.5, coef0=1.0, degree=2)
    gram = (0.5 * X @ X.T + 1.0) ** 2
    cosine = gram / np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))
    for groups, given in ((part, None), (stratum, stratum)):
        quality = partition_quality(X, part, part, kernel, stratum=given)
        expected = np.arccos(cosine[groups[:, None] != groups].max())
        assert quality.angle == pytest.approx(expected)
    assert quality.between == pytest.approx(gram[part[:, None] != part].sum() / gram.sum())
    alone = partition_quality(X, part, np.zeros(40, dtype=int), kernel)
    assert np.isnan(alone.angle)
    assert alone.between == pytest.approx(0.0, abs=1e-12)
    assert alone.first_moment[0] == pytest.approx(0.0, abs=1e-7)


def test_chance_is_what_chance_gives(moons):
    X, y = moons[0][:100], moons[1][:100]
    random = np.random.default_rng(0)
    squares = []
    for _ in range(300):
        part = (random.permutation(100) >= 20).astype(int)
        quality = partition_quality(X, y, part, Kernel("rbf", 2.0))
        squares.append(np.stack([quality.first_moment, quality.second_moment]) ** 2)
    assert np.mean(squares, axis=0) == pytest.approx(np.tile(quality.chance**2, (2, 1)), rel=0.15)


def test_strata_keep_the_distribution_and_clusters_do_not(moons):
    X, y = moons
    ratios = {}
    for strategy in STRATEGIES:
        model = ODMClassifier(gamma=2.0, strategy=strategy(levels=1), random_state=0)
        leaves = leaf_partition(model, X, y)
        quality = partition_quality(X, y, leaves.part, leaves.kernel)
        ratios[strategy] = np.sqrt(np.mean((quality.first_moment / quality.chance) ** 2))
    assert max(ratios[Stratified], ratios[Preserving]) < 0.7 < ratios[Cascade] < 1.5
    assert ratios[Clustered] > 4.0


def test_more_rows_than_allowed_are_sampled(moons):
    X, y = moons
    part, stratum = np.arange(400) % 4, (X[:, 0] > 0.5).astype(int)
    every = partition_quality(X, y, part, Kernel("rbf", 1.0), stratum=stratum)
    some = partition_quality(X, y, part, Kernel("rbf", 1.0), stratum=stratum, max_rows=60)
    assert (every.rows_used, some.rows_used) == (400, 60)
    assert np.array_equal(every.class_shares, some.class_shares)
    assert some.angle > every.angle
    again = partition_quality(X, y, part, Kernel("rbf", 1.0), stratum=stratum, max_rows=60)
    assert same(some, again)


def test_quality_does_not_depend_on_the_form_of_the_data(moons):
    X, y = moons
    part = np.arange(400) % 3
    kernel = Kernel("rbf", 1.0)
    dense = partition_quality(X, y, part, kernel, n_jobs=1)
    assert same(dense, partition_quality(X, y, part, kernel, n_jobs=2))
    assert same(dense, partition_quality(sp.csr_matrix(X), y, part, kernel))
    gram = rbf_kernel(X, gamma=1.0)
    assert same(dense, partition_quality(gram, y, part, Kernel("precomputed")))


def test_quality_refuses_what_makes_no_partition(moons):
    X, y = moons
    for part in (np.full(400, -1), np.full(400, 0.5), np.zeros((400, 1), dtype=int)):
        with pytest.raises(ValueError, match="`part` must be a one-dimensional array of numbers"):
            partition_quality(X, y, part, Kernel("linear"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        partition_quality(X, y, np.zeros(3, dtype=int), Kernel("linear"))
    with pytest.raises(ValueError, match=r"square kernel matrix; got shape \(400, 2\)"):
        partition_quality(X, y, y, Kernel("precomputed"))
    with pytest.raises(ValueError, match="`max_rows` must be at least 2; got 1"):
        partition_quality(X, y, y, Kernel("linear"), max_rows=1)


# --------------------------------------------------------------------------------------- theorems


def dual_objective(model, gram, label, net_dual):
    """Minimised form of the dual, from the papers rather than from the library."""
    quadratic = 0.5 * (label * net_dual) @ gram @ (label * net_dual)
    if isinstance(model, SVMClassifier):
        return quadratic - net_dual.sum()
    above, below = np.maximum(net_dual, 0.0), np.maximum(-net_dual, 0.0)
    squares = above @ above + below @ below / model.upsilon
    linear = (1.0 - model.theta) * above.sum() - (1.0 + model.theta) * below.sum()
    return quadratic + 0.5 * squares / model.C - linear


def net_duals(model, X, y):
    model.fit(X, y)
    out = np.zeros(len(y))
    out[model.support_] = model.dual_coef_[0]
    return out * np.where(y == 1, 1.0, -1.0)


@pytest.mark.parametrize("classifier", [ODMClassifier, SVMClassifier])
def test_gaps_equal_those_of_separate_fits(classifier):
    random = np.random.default_rng(2)
    X, y, part = random.normal(size=(80, 4)), random.integers(2, size=80), np.arange(80) % 4
    label, gram = np.where(y == 1, 1.0, -1.0), rbf_kernel(X, gamma=0.7)
    settings = {"gamma": 0.7, "fit_intercept": False}
    model = classifier(C=3.0, **settings)
    result = theorem1_bounds(model, X, y, part)
    whole = net_duals(model, X, y)
    best = dual_objective(model, gram, label, whole)
    parts = np.zeros(80)
    for k in range(4):
        # A quarter of the rows stands for all of them, or is a block of the one problem.
        weight = 12.0 if classifier is ODMClassifier else 3.0
        local = classifier(C=weight, **settings)
        parts[part == k] = net_duals(local, X[part == k], y[part == k])
    for given, net_dual in (
        (result.gap, parts),
        (result.divided_gap, parts / 4),
        (result.zero_gap, np.zeros(80)),
    ):
        expected = dual_objective(model, gram, label, net_dual) - best
        assert given == pytest.approx(expected, rel=1e-6)
    sides = [np.maximum(s * parts, 0) - np.maximum(s * whole, 0) for s in (1, -1)]
    assert result.distance == pytest.approx(sum(side @ side for side in sides), rel=1e-6)
    between = np.abs(gram)[part[:, None] != part].sum()
    if classifier is SVMClassifier:
        assert result.source == "DC-SVM"
        assert result.gap_bound == pytest.approx(0.5 * 3.0**2 * between)
        assert result.distance_bound == pytest.approx(
            3.0**2 * between / np.linalg.eigvalsh(gram)[0], rel=1e-6
        )
    else:
        assert result.source == "SODM"
        lam = 3.0 * 80 * (1 - model.theta) ** 2
        c = (1 - model.theta) ** 2 / (lam * model.upsilon)
        largest = max(np.abs(parts).max(), np.abs(whole).max())
        printed = largest**2 * (between + 80 * (80 - 20) * c)
        assert result.gap_bound == pytest.approx(printed)
        assert result.distance_bound == pytest.approx(2 * printed / (80 * c * model.upsilon))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("classifier", [ODMClassifier, SVMClassifier])
def test_bounds_hold_for_any_partition(classifier, seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(50, 3)), random.integers(2, size=50)
    model = classifier(C=10.0 ** random.uniform(-1, 2), gamma=random.uniform(0.2, 5.0))
    model.set_params(class_weight={0: 1.0, 1: 3.0})
    result = theorem1_bounds(model, X, y, random.integers(5, size=50))
    assert 0 <= result.gap <= result.gap_bound
    assert 0 < result.distance <= result.distance_bound


def test_one_part_has_no_gap_and_duplicates_no_bound_on_the_distance(moons):
    X, y = moons[0][:60], moons[1][:60]
    result = theorem1_bounds(ODMClassifier(), X, y, np.zeros(60, dtype=int))
    assert result.gap == pytest.approx(0.0, abs=1e-9)
    assert result.gap_bound == result.distance_bound == pytest.approx(0.0, abs=1e-12)
    twice = np.repeat(np.arange(30), 2)
    result = theorem1_bounds(SVMClassifier(), X[twice], y[twice], np.arange(60) % 2)
    assert result.distance_bound == np.inf


def test_clusters_are_a_better_start_for_the_svm_than_chance(moons):
    X, y = moons
    model = SVMClassifier(gamma=5.0, C=2.0, random_state=0)
    gaps = {}
    for strategy in (Clustered, Cascade):
        leaves = leaf_partition(model.set_params(strategy=strategy(levels=2)), X, y)
        gaps[strategy] = theorem1_bounds(model, X, y, leaves.part)
    assert gaps[Clustered].gap < gaps[Clustered].zero_gap < gaps[Cascade].gap
    assert gaps[Cascade].divided_gap < gaps[Cascade].gap


def test_theorems_refuse_what_they_do_not_cover(moons):
    X, y = moons
    part = np.arange(400) % 2
    with pytest.raises(ValueError, match="at most 1000 rows; got 1001"):
        theorem1_bounds(ODMClassifier(), np.zeros((1001, 2)), np.zeros(1001), np.zeros(1001))
    with pytest.raises(ValueError, match="got loss='squared_hinge'"):
        theorem1_bounds(SVMClassifier(loss="squared_hinge"), X, y, part)
    with pytest.raises(ValueError, match=r"one number per row, 400; got shape \(3,\)"):
        theorem1_bounds(ODMClassifier(), X, y, part[:3])
    with pytest.raises(ValueError, match="positive semi-definite"):
        theorem1_bounds(ODMClassifier("sigmoid", gamma=3.0, coef0=-1.0), X[:50], y[:50], part[:50])
    with pytest.raises(ValueError, match="proved for ODM; got the loss 'hinge'"):
        theorem2_bound(SVMClassifier(), X, y, part, part)
    with pytest.raises(ValueError, match="rows of equal weight"):
        theorem2_bound(ODMClassifier(class_weight={0: 1.0, 1: 2.0}), X, y, part, part)
    with pytest.raises(ValueError, match="Use rbf or laplacian"):
        theorem2_bound(ODMClassifier("linear"), X, y, part, part)
    with pytest.raises(ValueError, match="`stratum` must have one number per row, 400"):
        theorem2_bound(ODMClassifier(), X, y, part, part[:3])


def test_theorem_2_equals_its_print_on_separate_fits():
    random = np.random.default_rng(5)
    X, y = random.normal(size=(80, 3)), random.integers(2, size=80)
    part, stratum = np.arange(80) % 4, np.arange(80) // 20
    X[:, 0] += 3.0 * stratum  # strata that lie apart
    settings = {"gamma": 0.7, "fit_intercept": False, "upsilon": 0.3}
    model = ODMClassifier(C=3.0, **settings)
    result = theorem2_bound(model, X, y, part, stratum)
    label, gram = np.where(y == 1, 1.0, -1.0), rbf_kernel(X, gamma=0.7)
    whole = net_duals(model, X, y)
    optimum, largest = dual_objective(model, gram, label, whole), np.abs(whole).max()
    assert result.optimum == pytest.approx(optimum, rel=1e-6)
    for k in range(4):
        here, local = part == k, ODMClassifier(C=12.0, **settings)
        dual = net_duals(local, X[here], y[here])
        own = dual_objective(local, gram[np.ix_(here, here)], label[here], dual)
        assert result.gaps[k] == pytest.approx(own - optimum, rel=1e-6)
        largest = max(largest, np.abs(dual).max())
    assert result.largest_dual == pytest.approx(largest, rel=1e-6)
    apart = stratum[:, None] != stratum
    cosine, pairs = gram[apart].max(), apart.sum()
    assert result.angle == pytest.approx(np.arccos(cosine))
    lam = 3.0 * 80 * (1 - model.theta) ** 2
    c = (1 - model.theta) ** 2 / (lam * model.upsilon)
    rest = largest**2 * 80**2 * c + 2 * largest * 80
    printed = 0.5 * largest**2 * (80**2 + cosine * (2 * pairs - 80**2)) + rest
    assert result.bound == pytest.approx(printed, rel=1e-6)
    assert result.plain_bound == pytest.approx(largest**2 * 80**2 + rest, rel=1e-6)


@pytest.mark.parametrize("strata", [1, 6])
def test_theorem_2_bounds_the_parts_of_a_fit(moons, strata):
    X, y = moons
    strategy = Stratified(levels=1, n_strata=strata)
    model = ODMClassifier(C=8.0, gamma=20.0, strategy=strategy, random_state=0)
    leaves = leaf_partition(model, X, y)
    result = theorem2_bound(model, X, y, leaves.part, leaves.stratum)
    assert result.gaps.shape == (4,)
    assert result.gaps.max() <= result.bound <= result.plain_bound
    assert np.isnan(result.angle) == (strata == 1)


# ----------------------------------------------------------------------------------------- levels


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_levels_are_the_fits_that_stop_there(strategy, moons):
    X, y = moons
    model = ODMClassifier(gamma=2.0, strategy=strategy(levels=2), random_state=5)
    before = repr(model.get_params())
    for each in fit_levels(model, X, y):
        stopped = ODMClassifier(
            gamma=2.0, strategy=strategy(levels=2, stop_level=each.level_), random_state=5
        ).fit(X, y)
        assert np.array_equal(each.support_, stopped.support_)
        assert np.array_equal(each.dual_coef_, stopped.dual_coef_)
        assert each.checkpoint is None
    assert each.level_ == 0
    assert repr(model.get_params()) == before
    assert not hasattr(model, "level_")


def test_levels_end_where_the_strategy_does(moons):
    model = SVMClassifier(strategy=Clustered(levels=2, stop_level=1))
    assert [each.level_ for each in fit_levels(model, *moons)] == [2, 1]
    printed = ODMClassifier(strategy=Stratified(levels=2, printed=True))
    assert [each.level_ for each in fit_levels(printed, *moons)] == [2, 1]


def test_levels_end_where_validation_says_so(moons):
    X, y = moons
    strategy = Stratified(levels=2, validation_fraction=0.3)
    model = SVMClassifier(C=10.0, strategy=strategy, random_state=0).fit(X, y)
    levels = [each.level_ for each in fit_levels(model, X, y)]
    assert levels == list(range(2, model.level_ - 1, -1))


def test_levels_are_solved_once_and_leave_nothing_behind(moons, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model = ODMClassifier(strategy=Stratified(levels=2))
    models = list(fit_levels(model, *moons))
    assert list(tmp_path.iterdir()) == []
    # A level that was read carries the time it took before.
    for before, after in pairwise(models):
        count = len(before.history_["seconds"])
        assert np.array_equal(before.history_["seconds"], after.history_["seconds"][:count])
    kept = tmp_path / "kept"
    for each in fit_levels(model.set_params(checkpoint=kept), *moons):
        assert each.checkpoint == kept
    assert len(list(kept.glob("*/*.wml"))) == 3


def test_levels_of_several_classes():
    X, y = load_iris(return_X_y=True)
    models = list(fit_levels(SVMClassifier(strategy=Stratified(levels=1)), X, y))
    course = accuracy_over_time(models, X, y)
    assert course["level"].tolist() == [1, 0]
    assert course["parts"].tolist() == [4, 1]
    history = models[-1].history_
    assert course["seconds"][-1] == pytest.approx(history["seconds"][history["level"] == 0].sum())


def test_support_vector_recall_equals_a_count(moons):
    X, y = moons
    exact = SVMClassifier(gamma=2.0, strategy="exact").fit(X, y)
    models = list(fit_levels(SVMClassifier(gamma=2.0, strategy=Clustered(levels=2)), X, y))
    table = support_vector_recall(iter(models), exact)
    for k, model in enumerate(models):
        found, wanted = set(model.support_.tolist()), set(exact.support_.tolist())
        assert table["precision"][k] == len(found & wanted) / len(found)
        assert table["recall"][k] == len(found & wanted) / len(wanted)
        assert table["support_vectors"][k] == len(found)
    assert table["level"].tolist() == [2, 1, 0]
    assert table["recall"][-1] > table["recall"][0]
    perfect = support_vector_recall([exact], exact)
    assert (perfect["level"][0], perfect["parts"][0]) == (0, 1)
    assert perfect["recall"][0] == perfect["precision"][0] == 1.0


def test_accuracy_over_time_equals_scores(moons):
    X, y = moons
    exact = ODMClassifier(strategy="exact").fit(X, y)
    models = list(fit_levels(ODMClassifier(strategy=Stratified(levels=2)), X, y))
    course = accuracy_over_time([*models, exact], X[:100], y[:100])
    assert course["accuracy"].tolist() == [m.score(X[:100], y[:100]) for m in [*models, exact]]
    assert np.all(np.diff(course["seconds"][:3]) > 0)
    assert course["seconds"][3] == exact.history_["seconds"][-1]
    assert course["parts"].tolist() == [16, 4, 1, 1]


def test_levels_refuse_what_they_cannot_follow(moons):
    X, y = moons
    exact = SVMClassifier(strategy="exact")
    with pytest.raises(ValueError, match=r"got strategy='exact', which solves 400 rows as a whole"):
        next(fit_levels(exact, X, y))
    with pytest.raises(TypeError, match=r"got Pipeline.*pass the last step"):
        next(fit_levels(make_pipeline(exact), X, y))
    with pytest.raises(ValueError, match="got 3 classes"):
        leaf_partition(ODMClassifier(strategy="dc"), *load_iris(return_X_y=True))
    with pytest.raises(NotFittedError):
        accuracy_over_time([exact], X, y)
    exact.fit(X, y)
    with pytest.raises(ValueError, match="At least one model is needed"):
        support_vector_recall([], exact)
    with pytest.raises(ValueError, match="fitted to the same rows; got 400 rows and 300"):
        support_vector_recall([exact], SVMClassifier().fit(X[:300], y[:300]))
