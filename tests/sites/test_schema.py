"""Schemas: found from an example, kept as values, and refused with the key that is wrong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from widemargin.data import DataFileError
from widemargin.sites.settings import ConfigError
from widemargin.sites.studies.schema import Schema, SchemaColumn, schema_of

VALUES = {
    "label": "class",
    "classes": ["no", "yes"],
    "columns": [
        {"name": "age", "kind": "number", "range": [0, 100]},
        {"name": "job", "kind": "category", "levels": ["cook", "clerk"]},
    ],
}


def write_example(path: Any, n_rows: int = 90) -> Any:
    rng = np.random.default_rng(0)
    lines = ["id,age,job,member,since,amount,site,remark,class"]
    for k in range(n_rows):
        job = ("cook", "clerk", "smith")[k % 3]
        amount = f"{np.exp(3 * rng.standard_normal()):.4g}" if k else "1e7"
        lines.append(
            f"{1000 + k},{20 + k % 37},{job},{'yes' if k % 2 else 'no'},"
            f"{1 + k % 28:02d}.{1 + k % 12:02d}.2024,{amount},7,word{k} and {k} more,{k % 3}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_schema_of_an_example_has_the_kinds_of_its_columns(tmp_path: Any) -> None:
    schema = schema_of(write_example(tmp_path / "example.csv"))
    assert {column.name: column.kind for column in schema.columns} == {
        "age": "number",
        "job": "category",
        "member": "boolean",
        "since": "date",
        "amount": "number",
        "site": "number",  # constant here, not everywhere
    }
    by_name = {column.name: column for column in schema.columns}
    assert by_name["member"].words == ("no", "yes")
    assert by_name["since"].form == "%d.%m.%Y"
    assert by_name["amount"].unit is not None
    assert by_name["age"].unit is None
    assert schema.ignored == ("id", "remark")
    assert schema.label == "class"
    assert schema.classes == (0, 1, 2)
    assert schema_of(tmp_path / "example.csv", label="job").classes == ("clerk", "cook", "smith")


def test_rows_without_names_have_a_number_of_features(tmp_path: Any) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("+1 1:0.5 7:1\n-1 2:3\n")
    assert schema_of(path) == Schema((), None, (-1, 1), n_features=7)
    np.savez(tmp_path / "rows.npz", X=np.zeros((4, 3)), y=np.array([0, 1, 0, 1]))
    assert schema_of(tmp_path / "rows.npz").n_features == 3


def test_an_example_of_one_class_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n1,x\n2,x\n")
    with pytest.raises(DataFileError, match="2 to 1,000 classes, found 1"):
        schema_of(path)


def test_values_come_back(tmp_path: Any) -> None:
    schema = schema_of(write_example(tmp_path / "example.csv"))
    values = json.loads(json.dumps(schema.to_dict()))
    assert Schema.from_dict(values) == schema
    assert Schema.from_dict(values).digest == schema.digest
    rows = Schema((), None, (-1, 1), n_features=7)
    assert Schema.from_dict(rows.to_dict()) == rows


def test_equal_schemas_have_one_digest_however_they_are_written() -> None:
    same = json.loads(json.dumps(VALUES))
    same["columns"][0]["range"] = [0.0, 1e2]
    same["columns"][1]["levels"].reverse()
    same |= {"scale": "standard", "min_count": 5, "classes": ["yes", "no"]}
    assert Schema.from_dict(same).digest == Schema.from_dict(VALUES).digest
    same["columns"].reverse()
    assert Schema.from_dict(same).digest != Schema.from_dict(VALUES).digest


def test_a_schema_that_declares_everything_says_so() -> None:
    schema = Schema.from_dict(VALUES)
    assert schema.declared
    column = SchemaColumn("size", "number")
    wider = Schema((*schema.columns, column), "class", ("no", "yes"))
    assert not wider.declared
    assert wider.with_ranges({"size": (1, 2)}).declared
    with pytest.raises(ConfigError, match="no column 'weight'"):
        wider.with_ranges({"weight": (1, 2)})


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"classes": ["no"]}, "schema.classes"),
        ({"classes": ["no", 1]}, "schema.classes"),
        ({"classes": [["no"], ["yes"]]}, "schema.classes"),
        ({"classes": "no"}, "schema.classes"),
        ({"label": 3}, "schema.label"),
        ({"label": "age"}, "schema.columns"),
        ({"colour": 3}, "colour"),
        ({"columns": []}, "schema.columns"),
        ({"columns": {}}, "schema.columns"),
        ({"columns": [7]}, r"schema.columns\[1\]"),
        ({"columns": [{"name": "a"}]}, r"schema.columns\[1\].kind"),
        ({"columns": [{"name": "a", "kind": "text"}]}, r"schema.columns\[1\].kind"),
        ({"columns": [{"name": "a", "kind": "number", "levels": []}]}, r"columns\[1\].levels"),
        ({"columns": [{"name": "a", "kind": "number", "range": [2, 1]}]}, "columns.a.range"),
        ({"columns": [{"name": "a", "kind": "number", "range": [2]}]}, "columns.a.range"),
        ({"columns": [{"name": "a", "kind": "number", "unit": 0}]}, "columns.a.unit"),
        ({"columns": [{"name": "a", "kind": "date", "form": "%x"}]}, "columns.a.form"),
        ({"columns": [{"name": "a", "kind": "date", "parts": ["hour"]}]}, "columns.a.parts"),
        ({"columns": [{"name": "a", "kind": "category", "levels": ["x", "x"]}]}, "a.levels"),
        ({"columns": [{"name": "a\n", "kind": "number"}]}, "schema.columns.name"),
        ({"scale": "robust"}, "schema.scale"),
        ({"min_count": 0}, "schema.min_count"),
        ({"min_count": True}, "schema.min_count"),
        ({"ignored": ["age"]}, "schema.columns"),
        ({"n_features": 3}, "schema.columns"),
    ],
)
def test_errors_name_the_key(change: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        Schema.from_dict(VALUES | change)
