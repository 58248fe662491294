"""Model files of divided fits: unfinished levels, routers, strategies with their parameters."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse
from test_persistence import (
    assert_same_model,
    assert_same_value,
    described_strategy,
    edited,
    refuse,
    set_array,
    set_fitted,
    set_param,
    with_entry,
)

from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
    load_model,
)
from widemargin.kernel.partition import tree_growth
from widemargin.persistence import dumps, loads
from widemargin.persistence.container import unpack

ROUTED = Clustered(levels=1, fan_in=3, stop_level=1, n_sample=48)
STRATEGIES = [
    ROUTED,
    Clustered(levels=2, fan_in=2),
    Clustered(levels=2, fan_in=2, stop_level=2, validation_fraction=0.25),
    Stratified(levels=1, fan_in=3, stop_level=1, n_strata=5),
    Stratified(levels=2, fan_in=2, printed=True),
    Cascade(levels=2, fan_in=2, stop_level=1),
    Cascade(levels=None, fan_in=7),
    Preserving(levels=1, fan_in=4, stop_level=1, n_strata=3, validation_fraction=0.2),
]


def blobs(n_classes=3, n_rows=90, n_features=4):
    random = np.random.default_rng(7)
    y = np.arange(n_rows) % n_classes
    X = random.normal(size=(n_rows, n_features)) + 1.2 * y[:, None]
    X[np.abs(X) < 0.4] = 0
    return X, y


def fit(strategy, X, y, cls=SVMClassifier, **params):
    return cls(strategy=strategy, random_state=2, **params).fit(X, y)


def saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "model.wm")
    return load_model(tmp_path / "model.wm")


# --- round trips ----------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("cls", [ODMClassifier, SVMClassifier])
def test_every_strategy(strategy, cls, tmp_path):
    X, y = blobs()
    fitted = fit(strategy, X, y, cls)
    loaded = saved_and_loaded(fitted, tmp_path)
    assert_same_model(loaded, fitted, X)
    assert described_strategy(loaded.strategy) == described_strategy(strategy)
    assert dumps(loaded) == dumps(fitted)


@pytest.mark.parametrize("strategy", [ROUTED, Stratified(1, 3, 1)], ids=["routed", "mean"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_every_form_of_data(strategy, multi_class, dtype, container, tmp_path):
    X, y = blobs()
    X = container(X.astype(dtype))
    fitted = fit(strategy, X, y, multi_class=multi_class, fit_intercept=True)
    assert fitted.level_ == 1
    assert (fitted.routing_ is not None) == (strategy is ROUTED)
    assert_same_model(saved_and_loaded(fitted, tmp_path), fitted, X)


@pytest.mark.parametrize("strategy", [ROUTED, Stratified(1, 3, 1)], ids=["routed", "mean"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_precomputed_kernel(strategy, n_classes, tmp_path):
    X, y = blobs(n_classes)
    fitted = fit(strategy, X @ X.T, y, kernel="precomputed", fit_intercept=True)
    assert_same_model(saved_and_loaded(fitted, tmp_path), fitted, X @ X.T)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_every_kernel_routes_alike(kernel, tmp_path):
    X, y = blobs()
    fitted = fit(ROUTED, X, y, kernel=kernel, gamma=3.0, coef0=0.5, degree=2)
    assert_same_model(saved_and_loaded(fitted, tmp_path), fitted, X)


def fit_tree(monkeypatch, X, y, **params):
    monkeypatch.setattr(tree_growth, "MOST_CLUSTERS", 3)
    return fit(Clustered(levels=2, fan_in=3, stop_level=2, n_sample=48), X, y, **params)


def test_a_tree_of_clusters(tmp_path, monkeypatch):
    X, y = blobs()
    fitted = fit_tree(monkeypatch, X, y)
    assert all("child" in routing for routing in fitted.routing_)
    assert_same_model(saved_and_loaded(fitted, tmp_path), fitted, X)


def test_a_tree_is_resumed_from(tmp_path, monkeypatch):
    """A level kept with its tree, and one solved now."""
    X, y = blobs(2)
    fitted = fit_tree(monkeypatch, X, y, checkpoint=tmp_path)
    again = fit_tree(monkeypatch, X, y, checkpoint=tmp_path)
    assert "child" in again.routing_[0]
    assert_same_value(again.decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("child", with_entry(9)),
        ("child", with_entry(-2)),
        ("child", with_entry(0)),
        ("child", lambda a: np.where(a == 1, 2, a)),
        ("child", lambda a: a[1:]),
        ("child", lambda a: a.astype(np.int32)),
        ("child", lambda a: a[::-1].copy()),
        ("node_start", with_entry(1)),
        ("node_start", with_entry(0, 1)),
        ("node_start", lambda a: a[:-1]),
        ("node_start", lambda a: a.astype(np.float64)),
    ],
)
def test_damaged_trees_are_refused(monkeypatch, name, edit):
    X, y = blobs(2)
    fitted = fit_tree(monkeypatch, X, y)
    refuse(edited(fitted, set_array(f"routing_.0.{name}", edit)), f"routing_ {name}|routing_")


def test_weights_and_rows_left_out(tmp_path):
    X, y = blobs(2)
    weight = np.where(np.arange(len(y)) % 5, 1.5, 0.0)
    fitted = SVMClassifier(strategy=ROUTED, random_state=0).fit(X, y, weight)
    assert_same_model(saved_and_loaded(fitted, tmp_path), fitted, X)


def test_a_compressed_model(tmp_path):
    X, y = blobs()
    small = fit(ROUTED, X, y).compress(12)
    loaded = saved_and_loaded(small, tmp_path)
    assert_same_model(loaded, small, X)
    assert loaded.compression_ == small.compression_


def test_a_loaded_model_fits_and_starts_warm_like_the_saved_one(tmp_path):
    X, y = blobs()
    fitted = fit(ROUTED, X, y, warm_start=True)
    loaded = saved_and_loaded(fitted, tmp_path)
    assert_same_value(loaded.fit(X, y).dual_coef_, fitted.fit(X, y).dual_coef_)
    assert loaded.set_params(strategy__levels=2).strategy.levels == 2


def test_numbers_of_a_strategy_keep_their_types(tmp_path):
    X, y = blobs(2)
    strategy = Clustered(np.int64(1), fan_in=np.int32(2), stop_level=1)
    loaded = saved_and_loaded(fit(strategy, X, y), tmp_path)
    for name, value in vars(strategy).items():
        assert_same_value(getattr(loaded.strategy, name), value)


# --- what is not kept, and what cannot be ---------------------------------------------------


def test_the_checkpoint_folder_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = blobs(2)
    fitted = fit(ROUTED, X, y, checkpoint="levels")
    assert os.listdir() == ["levels"]
    data = dumps(fitted)
    assert fitted.checkpoint == "levels"
    assert unpack(data, "0")[0]["params"]["checkpoint"] is None
    assert loads(data).checkpoint is None


@pytest.mark.parametrize(
    "forged", ["elsewhere", {"$tuple": ["elsewhere"]}, 7, {"$float": "nan"}, ["elsewhere"]]
)
def test_a_file_that_names_a_folder_makes_nobody_write_there(forged, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = blobs(2)
    loaded = loads(edited(fit(ROUTED, X, y), set_param("checkpoint", forged)))
    assert loaded.checkpoint is None
    loaded.fit(X, y)
    assert os.listdir() == []


def test_a_file_chooses_no_engine():
    X, y = blobs(2)
    assert loads(edited(fit(ROUTED, X, y), set_param("engine", "spark"))).engine == "local"


def test_a_strategy_of_another_class_is_refused():
    class Mine(Cascade):
        pass

    X, y = blobs(2)
    with pytest.raises(TypeError, match=r"`strategy` is a .*Mine, no strategy of widemargin"):
        dumps(fit(Mine(levels=1), X, y))


# --- contents that do not fit together ------------------------------------------------------


def set_routing(name, value):
    return lambda header, arrays: header["fitted"]["routing_"][0].update({name: value})


def drop_routing(name):
    return lambda header, arrays: header["fitted"]["routing_"][0].pop(name)


HUGE = 2**31 - 1


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_fitted("level_", -1), "level_"),
        (set_fitted("level_", 10**30), "level_"),
        (set_fitted("level_", True), "level_"),
        (set_fitted("level_", "1"), "level_"),
        (set_array("support_class_", with_entry(HUGE)), "support_class_"),
        (set_array("support_class_", with_entry(-1)), "support_class_"),
        (set_array("support_class_", with_entry(2)), "support_class_"),
        (set_array("support_class_", lambda a: a.astype(np.int64) + 2**62), "support_class_"),
        (set_array("support_class_", lambda a: a[:-1]), "support_class_"),
        (set_array("support_class_", lambda a: a[::-1] * 0), "support_class_"),
        (set_array("support_part_", with_entry(HUGE)), "support_part_"),
        (set_array("support_part_", with_entry(-2)), "support_part_"),
        (set_array("support_part_", lambda a: a * 0 - 1), "support_part_"),
        (set_array("support_part_", lambda a: a.astype(np.int64)), "support_part_"),
        (set_array("support_part_", lambda a: a[:, 1:]), "support_part_"),
        (set_array("support_part_", lambda a: a.T), "support_part_"),
        (set_array("history_.parts", with_entry(-1)), "history_ parts"),
        (set_array("history_.parts", lambda a: a.astype(np.float64)), "history_ parts"),
        (set_array("history_.level", lambda a: a.astype(bool)), "history_ level"),
        (set_array("history_.level", lambda a: a[:-1]), "history_"),
        (set_fitted("compression_", [1]), "compression_"),
        (set_fitted("compression_", {"error": "much"}), "compression_"),
        (drop_routing("gamma"), "routing_"),
        (set_routing("more", 1), "routing_"),
        (set_routing("gamma", -1.0), "routing_ gamma"),
        (set_routing("gamma", {"$float": "nan"}), "routing_ gamma"),
        (set_routing("gamma", 1), "routing_ gamma"),
        (set_array("routing_.0.group_start", with_entry(1)), "routing_ group_start"),
        (set_array("routing_.0.group_start", with_entry(HUGE, 1)), "routing_ group_start"),
        (set_array("routing_.0.group_start", with_entry(-1, 1)), "routing_ group_start"),
        (set_array("routing_.0.group_start", lambda a: a[:-1]), "routing_ group_start"),
        (set_array("routing_.0.group_start", lambda a: a[:0]), "routing_ group_start"),
        (set_array("routing_.0.group_start", lambda a: a.astype(np.int32)), "group_start"),
        (set_array("routing_.0.rows", with_entry(-1)), "routing_ rows"),
        (set_array("routing_.0.rows", lambda a: a[1:]), "routing_"),
        (set_array("routing_.0.coef", with_entry(np.nan)), "routing_ coef"),
        (set_array("routing_.0.coef", lambda a: a[1:]), "routing_ coef"),
        (set_array("routing_.0.coef", lambda a: a.astype(np.float32)), "routing_ coef"),
        (set_array("routing_.0.offset", lambda a: a[1:]), "routing_ offset"),
        (set_array("routing_.0.offset", with_entry(np.inf)), "routing_ offset"),
        (set_array("routing_.0.basis", lambda a: a[:, 1:]), "routing_ basis"),
        (set_array("routing_.0.basis", lambda a: a[1:]), "routing_ basis"),
        (set_array("routing_.0.basis", with_entry(np.nan)), "routing_ basis"),
        (set_array("routing_.0.basis", lambda a: a.astype(np.int64)), "routing_ basis"),
        (set_fitted("routing_", 5), "routing_|nothing uses"),
        (lambda header, _: header["fitted"]["routing_"].append(None), "routing_"),
        (lambda header, _: header["fitted"]["routing_"].pop(), "routing_|nothing uses"),
        (set_param("strategy", {"$strategy": ["Strategy", {}]}), "no strategy of this library"),
        (set_param("strategy", {"$strategy": ["os.system", {}]}), "no strategy of this library"),
        (set_param("strategy", {"$strategy": ["Cascade"]}), "no strategy of this library"),
        (set_param("strategy", {"$strategy": [["Cascade"], {}]}), "no strategy of this library"),
        (set_param("strategy", {"$strategy": ["Cascade", {"n_strata": 3}]}), "wrong parameters"),
        (set_param("strategy", {"$strategy": ["Cascade", {"levels": 21}]}), "wrong parameters"),
        (set_param("strategy", {"$strategy": ["Cascade", {"fan_in": "2"}]}), "wrong parameters"),
        (set_param("strategy", {"$strategy": ["Cascade", {"": None}]}), "wrong parameters"),
        (set_param("strategy", ["Cascade", {}]), "strategy"),
        (set_param("C", {"$strategy": ["Cascade", {}]}), "C"),
        (set_fitted("gamma_", {"$strategy": ["Cascade", {}]}), "gamma_"),
    ],
)
def test_inconsistent_contents(edit, message):
    X, y = blobs(2)
    refuse(edited(fit(ROUTED, X, y), edit), message)


def test_a_router_without_the_parts_it_routes_to():
    def drop_parts(header, arrays):
        header["fitted"]["support_part_"] = None
        del arrays["support_part_"]

    X, y = blobs(2)
    refuse(edited(fit(ROUTED, X, y), drop_parts), "`support_part_` must be given")


def test_rows_of_a_router_beyond_the_kernel_matrix():
    X, y = blobs(2)
    fitted = fit(ROUTED, X @ X.T, y, kernel="precomputed")
    refuse(edited(fitted, set_array("routing_.0.rows", with_entry(90))), "routing_ rows")


@pytest.mark.parametrize(
    ("part", "entry"), [("indices", 4), ("indices", -1), ("indptr", HUGE), ("data", np.nan)]
)
def test_a_sparse_basis_of_a_router_is_checked(part, entry):
    X, y = blobs(2)
    fitted = fit(ROUTED, sparse.csr_matrix(X), y)
    edit = set_array(f"routing_.0.basis.{part}", with_entry(entry, 1))
    refuse(edited(fitted, edit), "sparse matrix|routing_ basis")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_basis_of_another_form_than_the_support_vectors_predicts_the_same(container):
    """Not written by this library, but valid: rows may be dense or sparse, wherever they are."""
    X, y = blobs(2)
    fitted = fit(ROUTED, X, y)
    expected = fitted.predict(X)
    fitted.routing_[0]["basis"] = sparse.csr_matrix(fitted.routing_[0]["basis"])
    loaded = loads(dumps(fitted))
    assert loaded.predict(container(X)).tolist() == expected.tolist()


def test_a_part_beyond_the_router_is_never_asked():
    """Clusters that could not be told apart are dealt out over parts after the router's."""
    X, y = blobs(2)
    fitted = fit(ROUTED, X, y)
    loaded = loads(edited(fitted, set_array("support_part_", lambda a: a + np.int32(3))))
    assert not loaded.decision_function(X).any()
