import os
import platform
from importlib import metadata

import numpy as np
import pytest

import widemargin
from widemargin.core import versions as versions_module
from widemargin.core.versions import show_versions, versions


def test_reports_the_running_interpreter_and_installed_packages():
    found = versions()
    assert found["widemargin"] == metadata.version("widemargin")
    assert found["python"].startswith(platform.python_version())
    assert found["platform"] == platform.platform()
    assert found["dependencies"]["numpy"] == np.__version__


def test_lists_every_dependency_once_and_only_the_extras_users_install():
    found = versions()
    assert set(found["dependencies"]) == {
        "numpy",
        "scipy",
        "scikit-learn",
        "rich",
        "typer",
        "safetensors",
        "pandas",
    }
    assert found["extras"]["plot"].keys() == {"matplotlib"}
    assert found["extras"]["arrow"].keys() == {"pyarrow"}
    assert found["extras"].keys().isdisjoint({"test", "lint", "docs"})


def test_names_a_known_instruction_set_and_a_possible_number_of_cores():
    found = versions()
    assert found["instruction_set"] in {"avx512", "avx2", "baseline"}
    assert 1 <= found["usable_cores"] <= (os.cpu_count() or 1)


def test_a_missing_package_has_no_version(monkeypatch):
    monkeypatch.setattr(
        versions_module.metadata,
        "requires",
        lambda _: ["no-such-project-here>=1", 'no.such.extra (>=2) ; extra == "plot"'],
    )
    found = versions()
    assert found["dependencies"] == {"no-such-project-here": None}
    assert found["extras"] == {"plot": {"no.such.extra": None}}


def test_the_report_has_a_line_for_each_item_and_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(
        versions_module.metadata,
        "requires",
        lambda _: ["numpy>=2.0", "no-such-project-here", 'absent; extra == "plot"'],
    )
    show_versions()
    lines = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert lines["widemargin"] == metadata.version("widemargin")
    assert lines["Python"].startswith(platform.python_version())
    assert lines["numpy"] == np.__version__
    assert lines["no-such-project-here"] == "missing"
    assert lines["absent"] == "not installed  [plot]"


def test_show_versions_is_public():
    assert widemargin.show_versions is show_versions


def test_a_requirement_without_a_name_is_refused(monkeypatch):
    monkeypatch.setattr(versions_module.metadata, "requires", lambda _: [">=1.0"])
    with pytest.raises(ValueError, match="must begin with a project name"):
        versions()
