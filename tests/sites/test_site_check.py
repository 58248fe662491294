"""`site check`: what a site would contribute, and why it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prepared_tables import PreparingNetwork, dealt, wine_frame, write_tables
from typer.testing import CliRunner

from widemargin.cli import app
from widemargin.sites.preparation.table_report import table_report
from widemargin.sites.studies.schema import Schema, schema_of
from widemargin.sites.studies.study import read_study

FRAME = wine_frame()


def run(*arguments: Any, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["site", "check", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def report(*arguments: Any, code: int = 0) -> dict[str, Any]:
    return dict(json.loads(run(*arguments, "--json", code=code).splitlines()[-1]))


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    return write_tables(tmp_path, dealt(FRAME, 3))


def test_a_file_says_what_it_would_contribute(tables: list[Path], tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    text = run(tables[0], "--write-schema", schema)
    assert "60 (first: " in text
    assert "can take part" in text
    assert Schema.from_dict(json.loads(schema.read_text())) == schema_of(tables[0])
    found = report(tables[1], "--study", schema)
    assert found["problems"] == []
    assert found["rows"] == 59
    assert sum(found["classes"].values()) == 59
    part = FRAME.iloc[1::3]
    assert found["numbers"]["ash"]["missing"] == part["ash"].isna().sum()
    assert found["numbers"]["proline"]["mean"] == pytest.approx(part["proline"].mean())
    assert found["categories"]["region"] == {"levels": 3, "rare": 0, "missing": 0}
    assert any("names of levels" in each for each in found["told"])


def test_problems_end_with_code_1(tables: list[Path], tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    run(tables[0], "--write-schema", schema)
    lacking = tmp_path / "lacking.csv"
    FRAME.drop(columns=["hue"]).to_csv(lacking, index=False)
    text = run(lacking, "--study", schema, code=1)
    assert "missing: 'hue'" in text
    assert "cannot take part" in text
    few = report(tables[1], "--study", schema, "--min-rows", 100, code=1)
    assert few["problems"] == [
        "a site needs at least 100 rows to take part, by --min-rows of `widemargin study create`; "
        "this one has 59."
    ]
    run(tmp_path / "no.csv", "--study", schema, code=1)
    run(tables[1], "--study", tmp_path / "no.json", code=1)
    run(tables[1], "--study", schema, "--folder", tmp_path, code=2)


def test_what_is_odd_is_told(tables: list[Path], tmp_path: Path) -> None:
    schema = schema_of(tables[0])
    odd = FRAME.assign(
        extra=1,
        alcohol=FRAME["alcohol"] * 10.0,
        region=np.where(FRAME.index < 3, "west", FRAME["region"]),
    )
    odd = odd[odd["class"] == "other"]
    path = tmp_path / "odd.csv"
    odd.to_csv(path, index=False)
    sites = PreparingNetwork(tables, schema)
    sites.until_done()
    made = sites.phases[0].preparation
    said = " | ".join(table_report(path, schema, preparation=made)["warnings"])
    assert "no rows of the classes 'first'" in said
    assert "are ignored: 'extra'" in said
    assert "values of 'alcohol' are more than 8 deviations" in said
    assert "'region' that the study does not have count as rare: 'west'" in said
    assert "proline" not in said
    declared = schema.with_ranges({"alcohol": (10.0, 15.0)})
    warnings = table_report(path, declared)["warnings"]
    assert any("outside of the declared range, 10 to 15" in each for each in warnings)
    assert table_report(tables[2], schema, preparation=made)["warnings"] == []


def test_rows_without_names_are_described(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "rows.npz", X=rng.standard_normal((9, 3)), y=np.arange(9) % 2)
    found = report(tmp_path / "rows.npz")
    assert found["n_columns"] == 3
    assert found["classes"] == {"0": 5, "1": 4}
    assert "can take part" in run(tmp_path / "rows.npz")


def test_a_study_takes_the_schema_and_declared_ranges(tables: list[Path], tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    run(tables[0], "--write-schema", schema)
    options = ["--schema", schema, "--range", "alcohol=10:16", "--sites", 3, "--folder", tmp_path]

    def create(*arguments: Any) -> Any:
        return CliRunner().invoke(app, ["study", "create", *map(str, arguments)])

    made = create("wine", *options)
    assert made.exit_code == 0, made.output
    study = read_study(tmp_path / "wine.study")
    assert study.schema == schema_of(tables[0]).with_ranges({"alcohol": (10, 16)})
    assert study.settings["least_sites"] == 3
    found = report(tables[2], "--study", tmp_path / "wine.study")
    assert found["problems"] == []
    assert not any("alcohol" in each for each in found["told"])
    few = tmp_path / "few.csv"
    FRAME.head(49).to_csv(few, index=False)
    assert "needs at least 50 rows" in run(few, "--study", tmp_path / "wine.study", code=1)
    assert create("other", *options, "--data", tables[0]).exit_code == 2
    assert create("other", "--sites", 3, "--schema", schema, "--range", "alcohol=10").exit_code == 2
    assert create("other", "--sites", 3, "--schema", schema, "--range", "wine=1:2").exit_code == 1
