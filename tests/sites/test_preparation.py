"""The preparation: the same bits at all sites, equal to what the pooled table gives."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prepared_tables import PreparingNetwork, dealt, key_of, pooled, wine_frame, write_tables
from sklearn.pipeline import make_pipeline

from widemargin import LinearSVMClassifier, TablePreprocessor, load_model, save
from widemargin.sites.network.wire import FrameError
from widemargin.sites.preparation.agreed_checks import check_agreed
from widemargin.sites.preparation.column_statistics import ColumnStatistics
from widemargin.sites.preparation.preparation import Preparation
from widemargin.sites.preparation.prepare_frames import decode_prepare, encode_prepare
from widemargin.sites.preparation.running_sums import RunningSums
from widemargin.sites.settings import ConfigError
from widemargin.sites.studies.schema import Schema, SchemaColumn, schema_of

FRAME = wine_frame()


def network(tmp_path: Path, n_sites: int = 3, seed: int = 0, **options: Any) -> PreparingNetwork:
    paths = write_tables(tmp_path, dealt(FRAME, n_sites))
    schema = options.pop("schema", None) or schema_of(paths[0])
    return PreparingNetwork(paths, schema, seed, **options)


def check_alike(sites: PreparingNetwork) -> Preparation:
    """All sites have the same bits."""
    made = [phase.preparation for phase in sites.phases]
    assert len({json.dumps(each.to_dict()) for each in made}) == 1
    assert len({each.digest for each in made}) == 1
    return made[0]


def check_pooled(sites: PreparingNetwork, made: Preparation) -> None:
    """The values are those of all rows in one place."""
    frame = pooled(sites.paths)
    numbers = frame[[c.name for c in sites.schema.columns if c.kind == "number"]]
    assert made.total_rows == len(frame)
    np.testing.assert_array_equal(made.missing, numbers.isna().sum())
    filled = numbers.fillna(dict(zip(numbers.columns, made.fill, strict=True)))
    np.testing.assert_allclose(made.centre, filled.mean(), rtol=1e-8)
    np.testing.assert_allclose(made.scale, filled.std(ddof=0), rtol=1e-8)
    gappy = np.array(made.missing) > 0
    apart = (np.array(made.fill) - numbers.median())[gappy] / numbers.std()[gappy]
    assert np.abs(apart).max() < 0.02
    assert made.levels == (("east", "north", "south"),)


def test_sites_agree_on_the_statistics_of_all_rows(tmp_path: Path) -> None:
    sites = network(tmp_path)
    assert sites.until_done() < 60
    check_pooled(sites, check_alike(sites))
    sites.all_round(3)
    assert not sites.on_the_way  # nobody asks any more
    assert not sites.errors


def test_loss_delay_repetition_and_order_change_no_bit(tmp_path: Path) -> None:
    sites = network(tmp_path, 5, loss=0.3, delay=0.3, repeat=0.3)
    sites.until_done()
    check_pooled(sites, check_alike(sites))
    undisturbed = network(tmp_path, 5)
    undisturbed.until_done()
    assert check_alike(undisturbed).digest == check_alike(sites).digest


@pytest.mark.parametrize("seed", range(3))
def test_kills_and_lost_states_change_no_result(tmp_path: Path, seed: int) -> None:
    sites = network(tmp_path, 4, seed, loss=0.2, delay=0.2)
    for k in range(24):
        sites.all_round(sites.random.randrange(1, 6))
        who = sites.random.randrange(4)
        sites.lose(who) if k % 3 == 0 else sites.kill(who)
    sites.until_done()
    made = check_alike(sites)
    check_pooled(sites, made)
    # A site that has lost everything adopts what was agreed.
    sites.lose(2)
    assert not sites.phases[2].done
    assert sites.until_done() < 20
    assert check_alike(sites).digest == made.digest


def test_a_site_that_comes_later_adopts_what_was_agreed(tmp_path: Path) -> None:
    sites = network(tmp_path, 4, links=[(0, 1), (1, 2), (0, 2), (2, 3)])
    sites.neighbours[2].remove(3)
    sites.phases = [sites.start(k) for k in range(3)]
    for phase in sites.phases:
        phase.n_sites = 3
    sites.until_done()
    made = check_alike(sites)
    assert made.total_rows < len(FRAME)
    sites.phases[2].set_neighbours([key_of(k) for k in (0, 1, 3)])
    sites.phases.append(sites.start(3))
    assert sites.until_done() < 10
    assert check_alike(sites).digest == made.digest


def test_the_member_that_concludes_may_leave(tmp_path: Path) -> None:
    """Without it the others conclude, from their own rows, once all know that it has left."""
    sites = network(tmp_path, 4, links=[(a, b) for a in range(4) for b in range(a)])
    leader = sites.keys.index(min(sites.keys))
    for phase in sites.phases:
        phase.set_members(sites.keys, 1)
    sites.all_round(4)
    assert not any(phase.agreed for phase in sites.phases)
    others = [k for k in range(4) if k != leader]
    sites.on_the_way = []
    for k in others:
        sites.phases[k].set_neighbours([sites.keys[j] for j in others if j != k])
        sites.phases[k].set_members([sites.keys[j] for j in others], 2)
    for _ in range(200):
        for k in others:
            sites.round(k)
        sites.deliver()
    made = [sites.phases[k].preparation for k in others]
    assert len({each.digest for each in made}) == 1
    assert made[0].total_rows == sum(sites.phases[k].table.n_rows for k in others)


def test_nothing_is_told_before_enough_sites_are_there(tmp_path: Path) -> None:
    sites = network(tmp_path)
    for phase in sites.phases:
        phase.least_sites = 4
    sites.all_round(30)
    # Only masks have been sent, which have no mass.
    for phase in sites.phases:
        assert phase._sums.held[-1] == 1.0
        assert phase._counter == 0
    for phase in sites.phases:
        phase.least_sites = 3
    sites.until_done()
    check_pooled(sites, check_alike(sites))


def test_nothing_is_concluded_before_all_neighbours_are_heard(tmp_path: Path) -> None:
    sites = network(tmp_path, 4)
    sites.phases.pop()
    for _ in range(200):
        for k in range(3):
            sites.round(k)
        sites.on_the_way = [each for each in sites.on_the_way if each[1] != 3]
        sites.deliver()
    assert not any(phase.agreed for phase in sites.phases)
    sites.phases.append(sites.start(3))
    sites.until_done()
    check_pooled(sites, check_alike(sites))


def test_rounding_while_sites_wait_does_not_keep_them_from_agreeing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums that run for long lose digits; large masks bring that about sooner."""
    monkeypatch.setattr("widemargin.sites.preparation.running_sums.MASK", 1000.0)
    test_nothing_is_concluded_before_all_neighbours_are_heard(tmp_path)


def test_rounding_does_not_move_a_median_at_the_edge_of_a_bin() -> None:
    statistics = ColumnStatistics(Schema((SchemaColumn("a", "number"),), "y", (0, 1)))
    agreed: Any = {
        "sums": {"rows": 9, "present": [8], "mean": [1.5], "names": {}},
        "squares": {"deviation": [2.0], "levels": [], "rare": []},
    }
    counts = np.zeros(statistics.size("sketch", agreed))
    counts[[20, 40]] = 4.0
    found = {
        statistics.conclusion("sketch", counts + noise, {}, agreed)["median"][0]
        for noise in (-1e-9, 0.0, 1e-9)
    }
    assert len(found) == 1


def test_one_site_agrees_with_itself(tmp_path: Path) -> None:
    sites = network(tmp_path, 1)
    sites.all_round()
    check_pooled(sites, check_alike(sites))


def test_prepared_rows_are_those_of_the_pooled_pipeline(tmp_path: Path) -> None:
    """Columns in another order, decimal commas, missing values and text: within 1 %."""
    sites = network(tmp_path)
    sites.until_done()
    made = check_alike(sites)
    tables = [phase.table for phase in sites.phases]
    X = np.vstack([made.transform(table) for table in tables])
    y = np.concatenate([table.codes for table in tables])
    frame = pooled(sites.paths)
    preprocessor = TablePreprocessor()
    expected = preprocessor.fit_transform(frame[list(sites.schema.names)])
    assert made.feature_names(tables[0]) == tuple(preprocessor.get_feature_names_out())
    np.testing.assert_allclose(X, expected, atol=0.02)
    assert made.n_features == X.shape[1]
    assert made.row_square == pytest.approx(np.square(X).sum(axis=1).mean(), rel=1e-6)
    machine = LinearSVMClassifier(loss="hinge", tol=1e-8, max_iter=100_000)
    ours, best = machine.fit(X, y).coef_.copy(), machine.fit(expected, y).coef_
    assert np.linalg.norm(ours - best) < 0.01 * np.linalg.norm(best)


def test_the_step_of_an_exported_model_reads_a_table_as_it_is(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.until_done()
    made = check_alike(sites)
    frame = pooled(sites.paths)
    table = sites.phases[0].table
    classifier = LinearSVMClassifier().fit(made.transform(table), table.codes)
    model = make_pipeline(made.step(table), classifier)
    save(model, tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    features = model[0].transform(frame.iloc[: table.n_rows])
    np.testing.assert_array_equal(features, made.transform(table))
    # Rows of another order of columns, with a level that no site had.
    strange = frame.assign(region="west")[frame.columns[::-1]]
    with pytest.warns(UserWarning, match="'region' has categories unseen"):
        assert loaded.predict(strange).shape == (len(frame),)


def test_rare_levels_never_leave_a_site_and_are_joined(tmp_path: Path) -> None:
    frame = FRAME.copy()
    frame.loc[frame.index[:4], "region"] = "secret"
    frame.loc[frame.index[4:7], "region"] = np.nan
    paths = write_tables(tmp_path, dealt(frame, 3))
    sites = PreparingNetwork(paths, schema_of(paths[0]))
    told: list[bytes] = []
    while not all(phase.done for phase in sites.phases):
        for k in range(3):
            sites.round(k)
        told += [data for _, _, data in sites.on_the_way]
        sites.deliver()
    made = check_alike(sites)
    assert made.levels == (("east", "north", "south"),)
    assert made.rare == (True,)
    assert not any(b"secret" in data for data in told)
    assert any(b"north" in data for data in told)
    table = sites.phases[0].table
    X, names = made.transform(table), made.feature_names(table)
    assert names is not None
    joined = X[:, names.index("region_infrequent_sklearn")]
    missing_or_rare = ~np.isin(table.cleaned.category_matrix[:, 0], made.levels[0])
    np.testing.assert_array_equal(joined == 1.0, missing_or_rare)


def test_declared_columns_tell_nothing(tmp_path: Path) -> None:
    """With all ranges and levels declared, sites exchange the number of rows only."""
    paths = write_tables(tmp_path, dealt(FRAME, 3))
    found = schema_of(paths[0])
    numbers = [c.name for c in found.columns if c.kind == "number"]
    limits = {name: (float(FRAME[name].min()), float(FRAME[name].max())) for name in numbers}
    levels = {"region": ("east", "north", "south")}
    schema = found.with_ranges(limits).with_levels(levels)
    assert schema.declared
    statistics = ColumnStatistics(schema)
    assert statistics.size("sums", {}) == 1
    sites = PreparingNetwork(paths, schema)
    sites.until_done()
    made = check_alike(sites)
    assert made.total_rows == len(FRAME)
    assert made.row_square is None
    for phase in sites.phases:
        X = made.transform(phase.table)
        assert np.abs(X).max() <= 1.0 + 1e-12
    everything = {stage: set(values) for stage, values in sites.phases[0].agreed.items()}
    assert everything == {"sums": {"rows", "present", "mean", "names"}}
    assert sites.phases[0].agreed["sums"]["mean"] == []


def test_rows_without_names_are_scaled_if_features_differ_in_size(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 4)) * [1.0, 2.0, 500.0, 0.0]
    y = np.where(X[:, 0] > 0, 1, -1)
    paths = []
    for k in range(3):
        paths.append(tmp_path / f"rows-{k}.npz")
        np.savez(paths[-1], X=X[k::3], y=y[k::3])
    sites = PreparingNetwork(paths, schema_of(paths[0]))
    sites.until_done()
    made = check_alike(sites)
    np.testing.assert_allclose(made.scale[:3], np.sqrt(np.square(X[:, :3]).mean(0)), rtol=1e-8)
    assert made.scale[3] == 1.0
    np.testing.assert_array_equal(made.transform(sites.phases[1].table), X[1::3] / made.scale)
    assert made.row_square == pytest.approx(3.0)
    alike = PreparingNetwork(paths, replace(schema_of(paths[0]), scale="none"))
    alike.until_done()
    assert check_alike(alike).scale == ()
    assert check_alike(alike).step(alike.phases[0].table) is None


def test_what_neighbours_read_is_masked() -> None:
    """Nothing that goes through one of two links says what the site holds, but for its size."""
    value, told = np.array([1000.0, 3.0]), []
    for seed in range(400):
        sums = RunningSums(value, np.ones(2), np.random.default_rng(seed))
        for key in "ab":
            sums.open(key)
        sums.give(dict.fromkeys("ab", 1 / 3))
        first = sums.sent["a"].copy()
        mask = sums.sent["b"] - sums.sent["a"]  # anything that b could know does not help a
        assert np.abs(mask[:2]).min() > 0
        told.append(first[:2])
    told_array = np.array(told)
    assert np.abs(told_array.mean(axis=0)).max() < 0.2 * told_array.std(axis=0).max()
    assert (told_array.std(axis=0) > 50.0 * value).all()


def test_a_leader_that_lies_is_not_believed(tmp_path: Path) -> None:
    sites = network(tmp_path)
    leader = sites.keys.index(min(sites.keys))
    honest = sites.phases[leader]._conclusion
    sites.phases[leader]._conclusion = lambda: {**honest(), "rows": 10_000}
    with pytest.raises(AssertionError):
        sites.until_done(200)
    assert any("the rows that was concluded differs" in error for error in sites.errors)
    assert not any(phase.agreed for k, phase in enumerate(sites.phases) if k != leader)


def test_frames_that_are_wrong_are_refused(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(5)
    sender = sites.keys[1]
    sites.round(1)
    good = next(data for k, to, data in sites.on_the_way if (k, to) == (1, 0))
    for at in range(0, 64, 3):
        for value in (0x00, 0x7F, 0xFF):
            data = bytearray(good)
            data[at] = value
            sites.kill(0)
            with suppress(FrameError):  # a neighbour may name other epochs
                sites.phases[0].receive(sender, bytes(data))
    sites.kill(0)
    phase = sites.phases[0]
    before = phase.saved()[1]
    frame = decode_prepare(good, agreement=7)
    text = {"leader": sender, "known": "", "version": 0}
    for change in (
        {"agreed": {"sketch": {}}},
        {"agreed": {"sums": {"rows": 0, "present": [], "mean": [], "names": {}}}},
        {"agreed": []},
        {"leader": "x"},
        {"known": 3},
        {"version": -1},
        {"more": 3},
    ):
        with pytest.raises(FrameError):
            phase.receive(sender, encode_prepare(replace(frame, text={**text, **change})))
    for sums in (frame.sums[:-1], np.append(frame.sums[:-1], np.nan)):
        with pytest.raises(FrameError):
            phase.receive(sender, encode_prepare(replace(frame, sums=sums, number=99)))
        phase = sites.phases[0] = sites.start(0)
    for cut in (0, 10, 63, 64, 70, len(good) - 1):
        with pytest.raises(FrameError):
            phase.receive(sender, good[:cut])
    with pytest.raises(FrameError):
        phase.receive(sender, good + b" ")
    assert phase.saved()[1] == before


def test_a_preparation_is_kept_as_values(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.until_done()
    made = check_alike(sites)
    values = json.loads(json.dumps(made.to_dict()))
    assert Preparation.from_dict(values) == made
    for key, value in (
        ("total_rows", 0),
        ("centre", [1.0]),
        ("scale", [0.0] * 13),
        ("fill", ["a"] * 13),
        ("missing", [-1] * 13),
        ("levels", []),
        ("levels", [["b", "a"]]),
        ("rare", [1]),
        ("row_square", -1.0),
        ("schema", {}),
    ):
        with pytest.raises(ConfigError, match="schema" if key == "schema" else key):
            Preparation.from_dict({**values, key: value})
    with pytest.raises(ConfigError, match="total_rows"):
        Preparation.from_dict({k: v for k, v in values.items() if k != "total_rows"})


def test_conclusions_of_strangers_are_checked() -> None:
    schema = Schema((SchemaColumn("a", "number"), SchemaColumn("b", "category")), "y", (0, 1))
    statistics = ColumnStatistics(schema)
    good: Any = {
        "sums": {"rows": 9, "present": [8], "mean": [1.5], "names": {"b": ["u", "v"]}},
        "squares": {"deviation": [2.0], "levels": [["u"]], "rare": [True]},
        "sketch": {"median": [1.0]},
    }
    check_agreed(statistics, good)
    for stage, name, value in (
        ("sums", "rows", 9.5),
        ("sums", "present", [8, 8]),
        ("sums", "mean", [float("nan")]),
        ("sums", "names", {"b": ["v", "u"]}),
        ("sums", "names", {"c": []}),
        ("squares", "deviation", [-1.0]),
        ("squares", "levels", [["w"]]),
        ("squares", "rare", [0]),
        ("sketch", "median", []),
    ):
        with pytest.raises(ValueError, match=name):
            check_agreed(statistics, {**good, stage: {**good[stage], name: value}})
    with pytest.raises(ValueError, match="no stage 'squares'"):
        check_agreed(statistics, {"squares": good["squares"]})
