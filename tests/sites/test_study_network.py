"""Members that come and go while a study runs, without processes: nothing is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from site_folders import Folders, free_ports, generated_rows
from study_folders import StudyNetwork

from widemargin.sites.agreement import Agreement, read_digests
from widemargin.sites.config import SiteConfig, read_config
from widemargin.sites.network.wire import Kind, bytes_frame
from widemargin.sites.training.local_site import LocalSite, read_rows
from widemargin.sites.training.participant import Participant, read_state

ROWS = generated_rows(240, 5)


def test_members_join_and_leave_while_it_runs(tmp_path: Path) -> None:
    network = StudyNetwork(tmp_path / "study", *ROWS, 4)
    for k in range(3):
        network.enrol(k)
    for k in range(3):
        network.owner.study().save(tmp_path / "study" / f"site-{k}" / "risk.study")
        network.start(k)
    network.all_round(120)
    assert network.excess() < 1e-3
    steps = {key: each.site.steps for key, each in network.members.items()}

    # A fourth joins; one of the others hears of it from the desk, the rest from each other.
    newest = network.enrol(3)
    network.start(3)
    next(iter(network.members.values())).membership.offer(newest.to_bytes())
    network.all_round(150)
    assert {each.config.n_sites for each in network.members.values()} == {4}
    assert all(each.site.steps > steps.get(key, 0) for key, each in network.members.items())
    assert not any(event == "state_set_aside" for _, event, _ in network.events)
    assert network.excess() < 1e-3

    # One leaves: the model becomes that of the other three.
    network.leave(1)
    network.all_round(150)
    assert {each.config.n_sites for each in network.members.values()} == {3}
    assert network.excess() < 1e-3
    for each in network.members.values():
        assert read_state(each.config.folder).total_mass == pytest.approx(1.0, abs=1e-9)
        sums = each.site.sums()
        assert sums is not None
        assert each.config.n_sites * sums[0][0] / sums[0][-1] > 0


def test_a_state_outlasts_changes_of_the_members(tmp_path: Path) -> None:
    network = StudyNetwork(tmp_path / "study", *ROWS, 3)
    network.enrol(0)
    network.start(0)
    network.all_round(20)
    newest = network.enrol(1)
    newest.save(tmp_path / "study" / "site-0" / "risk.study")
    again = network.start(0)
    assert (again.site.steps, len(again.links.by_key)) == (20, 1)
    assert [e for _, e, _ in network.events if e.startswith("state")] == ["state_restored"]


def test_a_study_without_the_owners_signature_is_not_adopted(tmp_path: Path) -> None:
    network = StudyNetwork(tmp_path / "study", *ROWS, 3)
    study = network.enrol(0)
    member = network.start(0)
    other = StudyNetwork(tmp_path / "other", *ROWS, 3)
    other.enrol(0), other.enrol(1)
    forged = other.owner.study()
    assert forged.version > study.version
    member.membership.hear("key", forged.version, forged.to_bytes())
    member.membership.hear("key", 99, study.to_bytes()[:-9])
    assert member.membership.take() is None
    assert [event for _, event, _ in network.events] == ["study_refused"] * 2


def test_a_neighbour_cannot_make_a_site_check_signatures_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from widemargin.sites.studies import membership

    network = StudyNetwork(tmp_path / "study", *ROWS, 3)
    network.enrol(0)
    member, checked = network.start(0), []
    monkeypatch.setattr(
        membership.Study,
        "from_bytes",
        lambda *a, **k: checked.append(a) or 1 / 0,  # type: ignore
    )
    for version in range(1000):
        try:
            member.membership.hear("key", version, b"{}")
        except ZeroDivisionError:
            continue
    assert 0 < len(checked) <= 5


def test_equal_numbers_have_equal_digests(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=2)
    digests = set()
    for text in ("1", "1.0", "1e0"):
        file = folders.folder(0) / "site.toml"
        folders.write(0)
        lines = file.read_text().splitlines()
        file.write_text(
            "\n".join(f"C = {text}" if each.startswith("C = ") else each for each in lines)
        )
        digests.add(folders.config(0).agreement)
    assert len(digests) == 1
    assert Agreement({"a": (1, 2.0)}).digest == Agreement({"a": [1.0, 2]}).digest
    assert Agreement({"a": True}).digest != Agreement({"a": 1}).digest


def started(folders: Folders, k: int, events: list[tuple[str, dict]]) -> Participant:
    config = folders.config(k)
    return Participant(
        LocalSite(config, read_rows(config)),
        folders.keys[k],
        lambda event, **fields: events.append((event, fields)),
    )


def test_a_refusal_names_the_settings_that_differ(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=2)
    folders.settings = {"C": 2.0, "loss": "odm"}
    folders.write(1)
    events: list[tuple[str, dict]] = []
    mine, theirs = started(folders, 0, []), started(folders, 1, events)
    for _ in range(50):
        for frame in theirs.round().values():
            mine.receive(folders.keys[1], frame)
    answers = mine.answers()
    assert len(answers) == 1  # once, however often frames are refused
    for _, frame in answers:
        theirs.receive(folders.keys[0], frame)
        theirs.receive(folders.keys[0], frame)
    told = [fields for event, fields in events if event == "settings_differ"]
    assert told == [{"neighbour": "site-0", "settings": ["C", "loss"]}]


@pytest.mark.parametrize(
    "payload",
    [b"[]", b"{", b'{"C": 1}', b'{"C": "zz"}', b'{"\\n": "0123456789abcdef"}', b"[" * 9000],
)
def test_answers_that_are_none_are_refused(tmp_path: Path, payload: bytes) -> None:
    with pytest.raises(ValueError, match="must"):
        read_digests(payload)
    folders = Folders(tmp_path, *ROWS, n_sites=2)
    site = started(folders, 0, [])
    site.receive(folders.keys[1], bytes_frame(Kind.DIFFERENCE, payload))
    assert site.links.by_key[folders.keys[1]].rejected == 1


def test_columns_in_another_order_are_not_agreed_upon(tmp_path: Path) -> None:
    X, y = ROWS
    folders = Folders(tmp_path, X, y, n_sites=2, settings={"data": "rows.csv", "label": "y"})
    names = [f"x{j}" for j in range(5)]
    for k, order in enumerate(([0, 1, 2, 3, 4], [1, 0, 2, 3, 4])):
        header = ",".join([*(names[j] for j in order), "y"])
        table = np.column_stack([X[k::2][:, order], y[k::2]])
        np.savetxt(folders.folder(k) / "rows.csv", table, delimiter=",", header=header, comments="")
    events: list[tuple[str, dict]] = []
    mine, theirs = started(folders, 0, []), started(folders, 1, events)
    for frame in theirs.round().values():
        assert mine.receive(folders.keys[1], frame) is None
    for _, frame in mine.answers():
        theirs.receive(folders.keys[0], frame)
    assert ("settings_differ", {"neighbour": "site-0", "settings": ["columns"]}) in events


def test_a_site_waits_for_those_that_begin_with_it(tmp_path: Path) -> None:
    from widemargin.cli.status_table import progress_of
    from widemargin.sites.control import ask
    from widemargin.sites.studies.enrolment import Desk
    from widemargin.sites.studies.gathering import GatheringSite, founding

    desk = f"tcp://127.0.0.1:{free_ports(1)[0]}"
    network = StudyNetwork(tmp_path / "study", *ROWS, 3, desk=desk, least_sites=2)
    network.enrol(0)
    folder = tmp_path / "study" / "site-0"
    waiting = GatheringSite(read_config(folder), lambda event, **fields: None)
    done: list[SiteConfig | None] = []
    thread = threading.Thread(target=lambda: done.append(waiting.run()))
    thread.start()
    assert progress_of(ask(folder, "status")) == "gathering"
    office = Desk(network.owner, desk, lambda event, **fields: None)
    try:
        network.enrol(1)
        thread.join(60.0)
    finally:
        office.close()
    config = done[0]
    assert config is not None
    assert [each.name for each in config.neighbours] == ["site-1"]
    # Whoever joins meanwhile changes nothing for those that began.
    network.enrol(2)
    network.owner.study().save(folder / "risk.study")
    later = read_config(folder)
    assert (later.n_sites, len(later.neighbours)) == (3, 2)
    first = founding(later)
    assert (first.n_sites, first.neighbours) == (2, config.neighbours)
    third = read_config(tmp_path / "study" / "site-2")
    assert founding(third) == third
