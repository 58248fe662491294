"""A site that is gone for good before training: who is missing is said, and the others go on."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from prepared_tables import PreparingNetwork, dealt, wine_frame, write_tables
from site_folders import free_ports
from study_folders import made_study
from test_preparing_sites import running
from test_site_loop import until
from typer.testing import CliRunner

from widemargin.cli import app
from widemargin.sites import absence
from widemargin.sites.control import ask
from widemargin.sites.studies.enrolment import Desk
from widemargin.sites.studies.joining import join_study
from widemargin.sites.studies.schema import schema_of
from widemargin.sites.studies.study import Member, StudyError
from widemargin.sites.studies.study_owner import StudyOwner

FRAME = wine_frame()


def joined(root: Path, paths: list[Path], k: int) -> Any:
    return join_study(
        root / "risk.study",
        root / f"member-{k}",
        name=f"site-{k}",
        invitation=root / "risk.invitation",
        data=str(paths[k]),
        sync=False,
        heartbeat=0.1,
        study_interval=0.2,
    )


def shown(*arguments: str) -> str:
    said = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "400"})
    return " ".join(said.output.split())


def test_a_founder_that_is_gone_is_named_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absence, "PATIENCE", 4.0)
    paths = write_tables(tmp_path, dealt(FRAME, 3))
    desk = f"tcp://127.0.0.1:{free_ports(1)[0]}"
    settings = {"C": 0.1, "total_rows": 100, "min_rows": 40}
    owner = made_study(
        tmp_path, least_sites=3, desk=desk, settings=settings, schema=schema_of(paths[0])
    )
    folders = [tmp_path / f"member-{k}" for k in range(2)]
    with ExitStack() as stack:
        office = Desk(owner, desk, lambda *_, **__: None)
        stack.callback(office.close)
        configs = [joined(tmp_path, paths, k) for k in range(3)]  # the third never runs
        for folder, config in zip(folders, configs, strict=False):
            stack.enter_context(running(folder, config))
        until(lambda: [each["name"] for each in missing(folders[0])] == ["site-2"])
        assert not missing(folders[0])[0]["heard"]
        said = shown("site", "status", "-f", str(folders[0]))
        assert "site-2, not heard since 20" in said
        assert "`widemargin study remove risk.study --name site-2`" in said
        check_doctor(folders[0])
        assert not (folders[0] / "preparation.json").exists()
        said = shown("study", "remove", str(tmp_path / "risk.study"), "--name", "site-2")
        assert "the 2 that are left go on" in said
        until(lambda: all((folder / "state.wms").exists() for folder in folders))
        until(lambda: all(ask(folder, "status")["agreed"] for folder in folders))
        assert missing(folders[0]) == []
    kept = {(folder / "preparation.json").read_text() for folder in folders}
    assert len(kept) == 1
    rows = json.loads(kept.pop())["agreed"]["sums"]["rows"]
    assert rows == sum(len(FRAME.iloc[k::3]) for k in range(2))


def missing(folder: Path) -> list[dict[str, Any]]:
    return list(ask(folder, "status").get("missing", []))


def check_doctor(folder: Path) -> None:
    said = CliRunner().invoke(app, ["site", "doctor", "--folder", str(folder), "--json"])
    found = {each["check"]: each for each in json.loads(said.output)["findings"]}
    assert found["neighbour site-1"]["right"]
    assert found["neighbour site-2"]["right"] is False
    assert "not heard since" in found["neighbour site-2"]["said"]
    assert "study remove risk.study --name site-2" in found["neighbour site-2"]["advice"]


def member(k: int) -> Member:
    return Member(f"site-{k}", "0123456789"[k] * 40, None)


def test_only_a_complete_study_goes_on_with_fewer(tmp_path: Path) -> None:
    owner: StudyOwner = made_study(tmp_path, least_sites=3)
    for k in range(2):
        owner.admit(member(k))
    assert owner.remove("site-1").least_sites == 3  # it still gathers
    for k in range(1, 4):
        before = owner.admit(member(k))
    # One too many: another one takes the place.
    assert owner.remove("site-0").least_sites == 3
    # A site that leaves by itself does not lower what the others were promised.
    assert owner.remove("site-1", public_key=member(1).public_key).least_sites == 3
    owner.admit(member(1))
    fewer = owner.remove("site-1")
    before.check_successor(fewer)
    assert (fewer.least_sites, fewer.may_begin) == (2, True)
    alone = owner.remove("site-2")
    assert (alone.least_sites, alone.may_begin) == (2, False)
    with pytest.raises(StudyError, match="`least_sites` must be from 2 to 2; got 3"):
        fewer.check_successor(before)


def test_sites_that_are_left_count_anew(tmp_path: Path) -> None:
    """What was concluded with a third site does not mix with what two conclude."""
    paths = write_tables(tmp_path, dealt(FRAME, 3))
    network = PreparingNetwork(paths, schema_of(paths[0]))
    for phase in network.phases:
        phase.set_members(network.keys, 1)
    while not any("sums" in phase.agreed for phase in network.phases[:2]):
        for k in range(3):
            network.round(k)
        network.deliver()
    late = network.phases[1].saved()
    left = network.keys[:2]
    for k in (0, 1):
        network.phases[k].set_neighbours(left[1 - k : 2 - k])
        network.phases[k].set_members(left, 2)
        assert network.phases[k].agreed == {}
    with pytest.raises(ValueError, match="other sites take part"):
        network.phases[1].restore(*late)
    for _ in range(400):
        for k in (0, 1):
            network.round(k)
        network.deliver()
    assert all(phase.done for phase in network.phases[:2])
    expected = sum(len(FRAME.iloc[k::3]) for k in range(2))
    assert {phase.preparation.total_rows for phase in network.phases[:2]} == {expected}
