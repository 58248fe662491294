"""The signed description of a study, and its owner's changes of the members."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zmq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_folders import made_study

from widemargin.sites.studies.signing import make_signer, public_of
from widemargin.sites.studies.study import Member, Study, StudyError, read_study
from widemargin.sites.studies.study_owner import StudyOwner


def member(number: int) -> Member:
    key = zmq.curve_keypair()[0].decode()
    return Member(f"site-{number}", key, f"tcp://127.0.0.1:{7001 + number}")


def rewritten(path: Path, change: Any) -> bytes:
    whole = json.loads(path.read_bytes())
    change(whole)
    return json.dumps(whole).encode()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    owner = made_study(tmp_path)
    changed = owner.admit(member(1))
    assert read_study(tmp_path / "risk.study") == changed
    assert changed.version == 2
    for secret in ("risk.owner", "risk.invitation"):
        assert (tmp_path / secret).stat().st_mode & 0o777 == 0o600
    signer = json.loads((tmp_path / "risk.owner").read_text())["signing_key"]
    assert signer not in (tmp_path / "risk.study").read_text()


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w["study"]["settings"].update(C=2.0),
        lambda w: w["study"].update(version=9),
        lambda w: w["study"]["members"].append(vars(member(2))),
        lambda w: w.update(signature="00" * 64),
        lambda w: w.update(signature=None),
        lambda w: w["study"].update(owner=public_of(make_signer())),
    ],
)
def test_a_change_breaks_the_signature(tmp_path: Path, change: Any) -> None:
    made_study(tmp_path).admit(member(1))
    with pytest.raises(StudyError, match="signature"):
        Study.from_bytes(rewritten(tmp_path / "risk.study", change))


def test_another_owner_is_not_believed(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir(), second.mkdir()
    mine, theirs = made_study(first).study(), made_study(second).admit(member(1))
    with pytest.raises(StudyError, match="signature"):
        Study.from_bytes(theirs.to_bytes(), owner=mine.owner)
    with pytest.raises(StudyError, match="another owner"):
        mine.check_successor(theirs)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"settings": {"colour": 1}}, "no setting `colour`"),
        ({"settings": {"C": -1.0}}, "`model.C` must be"),
        ({"settings": {"lam": 0.1}}, "`lam` depends on the number of all rows"),
        ({"settings": {"n_sites": 3}}, "no setting `n_sites`"),
        ({"topology": "star"}, "`topology` must be one of"),
        ({"desk": "tcp://127.0.0.1:99999"}, "`desk.address` must be"),
        ({"name": "two\nlines"}, "`name` must be a name"),
    ],
)
def test_errors_name_the_key(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made_study(tmp_path, **change)
    assert not list(tmp_path.iterdir())


@given(data=st.binary(max_size=200))
def test_garbage_is_no_study(data: bytes) -> None:
    with pytest.raises(StudyError):
        Study.from_bytes(data)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(flips=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=4))
def test_altered_files_are_refused_or_equal(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]]
) -> None:
    owner = made_study(tmp_path_factory.mktemp("study"))
    data = bytearray(owner.path.read_bytes())
    for position, value in flips:
        data[position % len(data)] = value
    with suppress(StudyError):
        assert Study.from_bytes(bytes(data)) == owner.study()


def test_deep_json_is_refused() -> None:
    with pytest.raises(StudyError):
        Study.from_bytes(b"[" * 100_000)
    with pytest.raises(StudyError, match="twice"):
        Study.from_bytes(b'{"format": 1, "format": 2}')


def test_a_name_has_one_key_and_a_key_one_name(tmp_path: Path) -> None:
    owner, first = made_study(tmp_path), member(1)
    owner.admit(first)
    with pytest.raises(StudyError, match="with another key"):
        owner.admit(Member("site-1", member(2).public_key))
    with pytest.raises(StudyError, match="'site-1'"):
        owner.admit(Member("site-2", first.public_key))
    assert owner.admit(first).version == 2  # the same again changes nothing
    moved = Member("site-1", first.public_key, "tcp://10.0.0.1:1")
    assert owner.admit(moved).members == (moved,)


def test_one_who_was_removed_has_no_invitation(tmp_path: Path) -> None:
    owner, first = made_study(tmp_path), member(1)
    owner.admit(first)
    before = owner.invitation()
    owner.remove("site-1")
    assert owner.invitation() != before
    owner.admit(first)
    before = owner.invitation()
    owner.remove("site-1", public_key=first.public_key)  # left by itself
    assert owner.invitation() == before
    with pytest.raises(StudyError, match="no such member"):
        owner.remove("site-1")


def test_keys_that_others_can_read_are_refused(tmp_path: Path) -> None:
    made_study(tmp_path)
    (tmp_path / "risk.owner").chmod(0o644)
    with pytest.raises(PermissionError, match="chmod 600"):
        StudyOwner(tmp_path / "risk.study")


@pytest.mark.parametrize("topology", ["ring", "nearest", "complete"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 9])
def test_neighbours_list_each_other(tmp_path: Path, topology: str, count: int) -> None:
    study = made_study(tmp_path, topology=topology).study()
    study = study.with_members([member(k) for k in range(count)])
    near = {
        m.public_key: {n.public_key for n in study.neighbours_of(m.public_key)}
        for m in study.members
    }
    assert all(a in near[b] for a in near for b in near[a])
    degree = {"ring": 2, "nearest": 4}.get(topology, count)
    assert {len(each) for each in near.values()} == {min(degree, count - 1)}
    # Every member is reached within the longest path.
    reached = {study.members[0].public_key}
    for _ in range(study.longest_path):
        reached |= {b for a in reached for b in near[a]}
    assert len(reached) == count


def test_few_links_change_when_one_comes(tmp_path: Path) -> None:
    study = made_study(tmp_path, topology="nearest").study()
    few = study.with_members([member(k) for k in range(10)])
    more = few.with_members([*few.members, member(10)])

    def links(of: Study) -> set[frozenset[str]]:
        keys = [m.public_key for m in of.members]
        return {frozenset((k, n.public_key)) for k in keys for n in of.neighbours_of(k)}

    assert len(links(few) - links(more)) == 2
    assert len(links(more) - links(few)) == 4


def test_files_with_a_quorum_are_refused_with_a_reason(tmp_path: Path) -> None:
    """Version 1 said twice how many sites begin together."""
    study = made_study(tmp_path, least_sites=3).study()
    assert study.least_sites == 3
    assert not study.may_begin
    whole = json.loads(study.to_bytes())
    assert "quorum" not in whole["study"]
    old = {**whole, "format_version": 1, "study": {**whole["study"], "quorum": 3}}
    with pytest.raises(StudyError, match=r"`quorum`.*`least_sites`.*study create"):
        Study.from_bytes(json.dumps(old).encode())
