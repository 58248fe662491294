"""What the documentation shows must run as it stands."""

import csv
import doctest
import importlib
import re
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_moons

import widemargin
from widemargin.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PACKAGE = Path(widemargin.__file__).parent
BUILT = {"_build", "auto_examples", "generated", "_templates"}


def holding(example, paths):
    return sorted(path for path in paths if re.search(example, path.read_text(encoding="utf-8")))


PAGES = holding(
    ">>>|code-block:: python",
    (path for path in (ROOT / "docs").rglob("*.rst") if not BUILT & set(path.parts)),
)
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in holding(">>>", PACKAGE.rglob("*.py"))
]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


def page_name(path):
    return str(path.relative_to(ROOT))


def run_doctests(tests):
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    report = []
    for test in tests:
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    run_doctests(doctest.DocTestFinder().find(importlib.import_module(name)))


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_examples_in_pages(path):
    if path.stem == "onnx":
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
    text = path.read_text(encoding="utf-8")
    run_doctests([doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)])
    for block in re.findall(r"\.\. code-block:: python\n\n((?:(?: {3}.*)?\n)+)", text):
        exec(compile(dedent(block), str(path), "exec"), {})


def test_examples_are_found():
    assert {"index", "choosing", "data", "certificates", "saving"} <= {p.stem for p in PAGES}
    assert {"widemargin.estimators.kernel", "widemargin.inspection"} <= set(MODULES)


def test_python_in_the_readme():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})


@pytest.mark.parametrize(
    "path", [README, ROOT / "docs" / "user_guide" / "command_line.rst"], ids=page_name
)
def test_command_lines(path, monkeypatch, capfd):
    X, y = make_moons(80, noise=0.2, random_state=0)
    for name in ("train.svm", "test.svm"):
        dump_svmlight_file(X, np.where(y, 1, -1), name, zero_based=False)
    for name in ("people.csv", "people_test.csv"):
        cells = [
            f"{a:.3f},{'cook' if b > 0 else '?'},{b:.3f},{c}"
            for (a, b), c in zip(X, y, strict=True)
        ]
        Path(name).write_text("\n".join(["age,job,size,income", *cells]) + "\n")
    text = path.read_text(encoding="utf-8")
    lines = re.findall(
        r"^ *(?:\$ )?widemargin ((?:train|predict|evaluate|info|gossip simulate) .*)$", text, re.M
    )
    commands = {"train", "predict", "evaluate", "info", "gossip"}
    assert {line.split()[0] for line in lines} == commands
    for line in lines:
        monkeypatch.setattr(sys, "argv", ["widemargin", *line.split("  #")[0].split()])
        with pytest.raises(SystemExit) as ended:  # in this process: starting one takes longer
            main()
        assert not ended.value.code, f"{line}\n{capfd.readouterr().err}"
    assert len(Path("predictions.csv").read_text().splitlines()) == 81


def test_early_levels_in_the_readme_are_those_measured():
    table = ROOT / "docs" / "benchmarks" / "tables" / "early_levels.csv"
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if rows[0]["Exact fit"] == "–":
        pytest.skip("python -m benchmarks.speed.early_levels has not been run")
    before, expected = "", []
    for row in rows:
        start = f"| {row['Data']} | {row['Training rows']}" if row["Data"] != before else "| |"
        fits = f"{row['Exact fit']} {row['Exact: s']} s | {row['Exact: accuracy']}"
        early = f"{row['Early level']} | {row['Early: s']} s | {row['Early: accuracy']} |"
        expected.append(f"{start} | {fits} | {early}")
        before = row["Data"]
    lines = README.read_text(encoding="utf-8").splitlines()
    assert [each for each in expected if each not in lines] == []


STATES = {
    "reproduced",
    "reproduced on substitutes",
    "not reproducible here",
    "not measured yet",
}
RECORDS = sorted((ROOT / "docs" / "benchmarks" / "tables").glob("record_*.csv"))


@pytest.mark.parametrize("path", RECORDS, ids=page_name)
def test_records_of_the_papers_have_a_state_and_a_place(path):
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["Paper item", "State", "Where", "Remark"]
    pages = (ROOT / "docs" / "benchmarks").glob("*.rst")
    labels = set(re.findall(r"^\.\. _([\w-]+):$", "\n".join(map(Path.read_text, pages)), re.M))
    for row in rows:
        assert row["State"] in STATES, row
        assert None not in row.values(), row
        places = re.findall(r":(\w+):`(?:[^<`]*<)?~?([\w./-]+)>?`", row["Where"])
        assert places or row["State"] == "not reproducible here", row
        for kind, place in places:
            folder = ROOT / "docs" / ("" if place.startswith("/") else "benchmarks")
            assert kind != "ref" or place in labels, row
            assert kind != "doc" or (folder / f"{place.lstrip('/')}.rst").exists(), row


def test_every_record_is_shown_by_the_index():
    text = (ROOT / "docs" / "benchmarks" / "index.rst").read_text(encoding="utf-8")
    assert RECORDS
    assert [path.name for path in RECORDS if f"tables/{path.name}" not in text] == []


def test_links_in_the_readme_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README.read_text(encoding="utf-8"))
    assert targets
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (ROOT / target).exists()] == []


def test_files_named_by_the_architecture_exist():
    text = (ROOT / "docs" / "architecture.rst").read_text(encoding="utf-8")
    named = set(re.findall(r"``([\w/]+(?:/|\.(?:py|[ch]pp|rst|toml)))``", text))
    assert {"kernel/divide/loop.py", "core/", "native/"} <= named
    missing = [name for name in named if not any((at / name).exists() for at in (PACKAGE, ROOT))]
    assert sorted(missing) == []


def test_public_names_have_a_page_in_the_reference():
    text = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
    listed = {name.rsplit(".", 1)[-1] for name in re.findall(r"^   ([\w.]+)$", text, re.M)}
    spark = re.findall(r'^    "(\w+)",$', (PACKAGE / "spark" / "__init__.py").read_text(), re.M)
    assert spark
    assert (set(widemargin.__all__) - {"__version__"}) | set(spark) <= listed


def test_a_class_name_means_one_class():
    names = [
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.M)
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []
