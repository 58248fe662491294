"""Studies with differential privacy: what is declared, and that nothing else is told."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from benchmarks.sites.neighbour_attack import binary_rows
from prepared_tables import write_tables
from site_folders import free_ports
from study_folders import StudyNetwork, made_study
from test_preparing_sites import running
from test_site_loop import until
from typer.testing import CliRunner

from widemargin import load_model
from widemargin.cli import app
from widemargin.sites.config import Neighbour, read_config, write_template
from widemargin.sites.control import ask
from widemargin.sites.network.keys import make_keys
from widemargin.sites.preparation.agreed_preparation import declared_preparation
from widemargin.sites.preparation.column_statistics import ColumnStatistics
from widemargin.sites.settings import ConfigError
from widemargin.sites.studies.enrolment import Desk
from widemargin.sites.studies.joining import join_study
from widemargin.sites.studies.schema import Schema, SchemaColumn
from widemargin.sites.studies.study import read_study
from widemargin.sites.studies.study_owner import StudyOwner

PRIVATE = {"solver": "private", "epsilon": 3.0, "row_norm": 2.0, "releases": 30, "C": 1.0}
WARDS = ("north", "south", "west")


def patients(n_rows: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    age, dose = rng.uniform(20, 90, n_rows), rng.uniform(0, 5, n_rows)
    smoker, ward = rng.random(n_rows) < 0.4, rng.choice(WARDS, n_rows)
    risk = (age - 55) / 20 + smoker - 0.5 + (ward == "north") + 0.3 * rng.standard_normal(n_rows)
    frame = {"age": age, "dose": dose, "smoker": np.where(smoker, "yes", "no"), "ward": ward}
    return pandas.DataFrame({**frame, "outcome": np.where(risk > 0.2, "ill", "healthy")})


def create(folder: Path, *arguments: str) -> Any:
    command = ["study", "create", "trial", "--folder", str(folder), "--sites", "3"]
    return CliRunner().invoke(app, [*command, *arguments])


def declared(folder: Path, *more: str, desk: str = "tcp://127.0.0.1:7000") -> Any:
    return create(
        folder, "--data", str(folder / "site-0.csv"), "--label", "outcome", "--desk", desk,
        "--solver", "private", "--epsilon", "3", "--row-norm", "2", "--total-rows", "1200",
        "--releases", "30", "--range", "age=0:120", "--range", "dose=0:5",
        "--levels", "ward=north,south,west", *more,
    )  # fmt: skip


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    frame = patients(1200)
    return write_tables(tmp_path, [frame.iloc[k::3] for k in range(3)])


def test_sites_of_a_private_study_train_without_telling_anything_first(
    tmp_path: Path, tables: list[Path]
) -> None:
    made = declared(tmp_path, desk=f"tcp://127.0.0.1:{free_ports(1)[0]}")
    assert made.exit_code == 0, made.output
    study = tmp_path / "trial.study"
    folders = [tmp_path / f"folder-{k}" for k in range(3)]
    with ExitStack() as stack:
        desk = Desk(StudyOwner(study), read_study(study).desk.address, lambda *_, **__: None)
        stack.callback(desk.close)
        events = []
        for k, folder in enumerate(folders):
            config = join_study(
                study,
                folder,
                name=f"site-{k}",
                invitation=study.with_suffix(".invitation"),
                data=str(tables[k]),
                sync=False,
                heartbeat=0.3,
                study_interval=0.2,
            )
            events.append(stack.enter_context(running(folder, config)))
        until(lambda: all((each / "state.wms").exists() for each in folders))
        until(lambda: all(_spent(each) for each in folders))
        check_what_is_shown(folders, tmp_path)
    for happened in events:
        names = [event for event, _ in happened]
        assert "preparing" not in names  # no phase in which rows are counted
        assert names.count("privacy_budget_spent") == 1
        assert "frame_rejected" not in names
    assert not list(tmp_path.glob("folder-*/prepar*"))


def _spent(folder: Path) -> bool:
    account = ask(folder, "status").get("privacy")
    return bool(account) and account["releases_made"] == 30


def check_what_is_shown(folders: list[Path], tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = run(app, ["site", "status", "-f", str(folders[0]), "--json"])
    account = json.loads(shown.output)["privacy"]
    assert account["epsilon_spent"] == pytest.approx(3.0)
    assert account["row_norm"] == 2.0
    table = run(app, ["site", "status", "-f", str(folders[0])]).output
    assert "ε 3 of 3 spent at δ 1e-06, 30 of 30 releases" in table
    several = run(app, ["site", "status", *(f"-f{each}" for each in folders)]).output
    assert "ε spent" in several
    assert several.count("3 of 3") == 3
    model = tmp_path / "model.wm"
    ask(folders[1], "model", path=str(model))
    loaded = load_model(model)
    assert loaded[-1].privacy_["releases_made"] == 30
    frame = patients(500, seed=1)
    assert np.mean(loaded.predict(frame) == frame["outcome"]) > 0.8
    described = run(app, ["info", str(model)])
    assert "ε 3 of 3 spent at δ 1e-06, 30 of 30 releases" in described.output
    assert json.loads(run(app, ["info", str(model), "--json"]).output)["privacy"]["epsilon"] == 3.0


def test_nothing_of_the_example_but_names_is_in_a_private_study(
    tmp_path: Path, tables: list[Path]
) -> None:
    frame = patients(400)
    frame["dose"] = np.random.default_rng(0).lognormal(0, 3, 400)  # a long tail
    frame.to_csv(tables[0], index=False)
    assert declared(tmp_path).exit_code == 0
    study = read_study(tmp_path / "trial.study")
    assert study.schema.declared
    assert {each.name: each.unit for each in study.schema.columns if each.kind == "number"} == {
        "age": None,
        "dose": None,
    }
    assert "row_square" not in study.settings
    assert study.settings["total_rows"] == 1200


def test_a_study_that_declares_too_little_names_the_columns(
    tmp_path: Path, tables: list[Path]
) -> None:
    example = ["--data", str(tables[0]), "--label", "outcome", "--solver", "private"]
    said = create(tmp_path, *example, "--total-rows", "1200", "--range", "age=0:120")
    assert said.exit_code != 0
    flat = " ".join(said.output.split())
    assert "the ranges of 'dose' (`--range COLUMN=LOW:HIGH`)" in flat
    assert "the levels of 'ward' (`--levels COLUMN=A,B,C`)" in flat
    assert "smoker" not in flat  # true and false are 0 and 1
    assert "'age'" not in flat
    assert not (tmp_path / "trial.study").exists()
    ranges = ["--range", "age=0:120", "--range", "dose=0:5", "--levels", "ward=north,south"]
    said = create(tmp_path, *example, *ranges)
    assert "--total-rows" in said.output
    said = create(tmp_path, *example, *ranges, "--total-rows", "9", "--C", "0.1,1")
    assert "one value of `model.C`" in " ".join(said.output.split())


def test_rows_without_names_are_taken_as_they_are(tmp_path: Path) -> None:
    made = create(
        tmp_path, "--features", "5", "--classes=-1,1", "--solver", "private", "--total-rows", "240"
    )
    assert made.exit_code == 0, made.output
    assert read_study(tmp_path / "trial.study").schema.as_is
    with pytest.raises(ConfigError, match='`scale` = "none"'):
        made_study(
            tmp_path,
            settings={**PRIVATE, "total_rows": 240},
            schema=Schema((), None, (-1, 1), n_features=5),
        )


@pytest.mark.parametrize("option", ["--range=ward=0:1", "--levels=age=a,b", "--levels=ward"])
def test_declarations_must_suit_the_column(tmp_path: Path, tables: list[Path], option: str) -> None:
    said = create(tmp_path, "--data", str(tables[0]), "--label", "outcome", option)
    assert said.exit_code != 0
    assert "categor" in said.output or "--levels must be" in said.output


def test_check_says_that_nothing_is_told(tmp_path: Path, tables: list[Path]) -> None:
    assert declared(tmp_path).exit_code == 0
    said = CliRunner().invoke(
        app, ["site", "check", str(tables[1]), "--study", str(tmp_path / "trial.study"), "--json"]
    )
    assert json.loads(said.output)["told"] == ["nothing before training"]


def test_members_of_a_private_study_come_and_go(tmp_path: Path) -> None:
    rows = binary_rows(1600)
    network = StudyNetwork(
        tmp_path / "study",
        *rows,
        4,
        settings={**PRIVATE, "row_norm": 4.0, "total_rows": 1600, "n_links": 8},
        schema=Schema((), None, (-1, 1), n_features=rows[0].shape[1], scale="none"),
    )
    for k in range(3):
        network.enrol(k)
    for k in range(3):
        network.owner.study().save(tmp_path / "study" / f"site-{k}" / "risk.study")
        network.start(k)
    network.all_round(20)
    made = [each.site.releases for each in network.members.values()]  # type: ignore[union-attr]
    assert all(0 < each < 30 for each in made)
    newest = network.enrol(3)
    late = network.start(3)
    next(iter(network.members.values())).membership.offer(newest.to_bytes())
    network.all_round(120)
    network.leave(1)
    network.all_round(60)
    assert {each.config.n_sites for each in network.members.values()} == {3}
    for each in network.members.values():
        assert each.budget is not None
        status = each.budget.status()
        assert status["releases_made"] == 30
        assert status["epsilon_spent"] == pytest.approx(3.0)
    w = late.site.model()
    assert np.mean((rows[0] @ w[:-1] + w[-1] > 0) == (rows[1] > 0)) > 0.8
    assert not any(event == "frame_rejected" for _, event, _ in network.events)


class TableFolder:
    """A single private site by hand, with a schema of its own."""

    def __init__(self, folder: Path, schema: Schema, **settings: Any) -> None:
        self.folder = folder
        folder.mkdir()
        key = make_keys(folder)
        assert key
        patients(100).to_csv(folder / "rows.csv", index=False)
        (folder / "schema.json").write_text(json.dumps(schema.to_dict()))
        other = Neighbour("other", "tcp://127.0.0.1:7999", "a" * 40)
        write_template(
            folder, "one", neighbours=[other], data="rows.csv", schema="schema.json", n_sites=2,
            **PRIVATE, **settings,
        )  # fmt: skip


def schema(**changes: Any) -> Schema:
    columns = {
        "age": SchemaColumn("age", "number", range=(0, 120)),
        "dose": SchemaColumn("dose", "number", range=(0, 5)),
        "smoker": SchemaColumn("smoker", "boolean", range=(0, 1), words=("no", "yes")),
        "ward": SchemaColumn("ward", "category", levels=WARDS),
    }
    return Schema(tuple({**columns, **changes}.values()), "outcome", ("healthy", "ill"))


def test_a_schema_of_its_own_must_be_declared_too(tmp_path: Path) -> None:
    site = TableFolder(tmp_path / "one", schema(), total_rows=200)
    config = read_config(site.folder)
    assert config.preparation == declared_preparation(schema(), 200)
    assert (config.n_features, config.total_rows) == (6, 200)
    other = TableFolder(
        tmp_path / "two", schema(dose=SchemaColumn("dose", "number")), total_rows=200
    )
    with pytest.raises(ConfigError, match="the ranges of 'dose'"):
        read_config(other.folder)
    missing = TableFolder(tmp_path / "three", schema())
    with pytest.raises(ConfigError, match=r"total_rows. is missing"):
        read_config(missing.folder)


def test_a_preparation_from_before_is_not_passed_on(tmp_path: Path) -> None:
    from widemargin.sites.preparation.kept_preparation import kept_preparation

    site = TableFolder(tmp_path / "one", schema(), total_rows=200)
    agreed = {"sums": {"rows": 77, "present": [], "mean": [], "names": {}}}
    kept = {"schema": schema().digest, "digest": "", "agreed": agreed}
    (site.folder / "preparation.json").write_text(json.dumps(kept))
    assert kept_preparation(read_config(site.folder)) is None


def test_a_range_is_that_of_the_values_in_the_table() -> None:
    """Also where the logarithm is taken of them first."""
    column = SchemaColumn("dose", "number", range=(-10.0, 1000.0), unit=10.0)
    ranges = ColumnStatistics(schema(dose=column)).ranges
    assert ranges[1] == pytest.approx((-np.log(2.0), np.log(101.0)))
