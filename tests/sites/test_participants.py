"""Sites without processes: what a network may do to messages, and kills, change no result."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_frames import hostile, numbers_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from site_folders import Folders, generated_rows, on_the_way

from widemargin.gossip.simulation import numbers_bytes
from widemargin.sites.network.packed_numbers import packed_numbers
from widemargin.sites.network.wire import HEADER_BYTES, decode
from widemargin.sites.training.local_site import LocalSite, read_rows
from widemargin.sites.training.participant import Participant, read_state

ROWS = generated_rows(240, 5)


class Network:
    """Participants, and the frames between them, to which anything may happen."""

    def __init__(self, folders: Folders, seed: int = 0, **faults: float) -> None:
        self.folders, self.random, self.faults = folders, random.Random(seed), faults
        self.events: list[tuple[int, str]] = []
        self.on_the_way: list[tuple[int, int, bytes]] = []
        self.members: list[Participant] = []
        self.members = [self.start(k) for k in range(folders.n_sites)]

    def start(self, k: int) -> Participant:
        def listener(event: str, **fields: Any) -> None:
            self.events.append((k, event))

        config = self.folders.config(k)
        return Participant(LocalSite(config, read_rows(config)), self.folders.keys[k], listener)

    def kill(self, k: int) -> None:
        """End a site without a word, and start it again from what is on its disk."""
        self.members[k] = self.start(k)

    def restart(self, k: int) -> None:
        """Stop a site as an operator does, and start it again."""
        self.members[k].put_away()
        self.kill(k)

    def lose(self, k: int) -> None:
        """The same, and the state is lost."""
        (self.folders.folder(k) / "state.wms").unlink()
        self.kill(k)

    def round(self, k: int) -> None:
        for key, frame in self.members[k].round().items():
            to = self.folders.keys.index(key)
            for _ in range(1 + (self.random.random() < self.faults.get("repeat", 0.0))):
                self.on_the_way.append((k, to, frame))

    def deliver(self) -> None:
        """Hand over what is on its way, some of it, in any order."""
        self.random.shuffle(self.on_the_way)
        late = []
        for sender, to, frame in self.on_the_way:
            if self.random.random() < self.faults.get("loss", 0.0):
                continue
            if self.random.random() < self.faults.get("delay", 0.0):
                late.append((sender, to, frame))
                continue
            self.members[to].receive(self.folders.keys[sender], frame)
        self.on_the_way = late

    def all_round(self, times: int = 1) -> None:
        for _ in range(times):
            for k in self.random.sample(range(len(self.members)), len(self.members)):
                self.round(k)
            self.deliver()

    def check_mass(self) -> None:
        """From the files on disk: nothing lost, nothing doubled."""
        states = [read_state(self.folders.folder(k)) for k in range(len(self.members))]
        for each in states:
            assert each.total_mass == pytest.approx(1.0, abs=1e-9)
        # What came was sent before, and is on the sender's disk.
        assert all(mass >= -1e-9 for mass in on_the_way(states))

    def check_nothing_is_missing(self) -> None:
        """When the network is sound for a while, all that was ever sent has come, bit for bit."""
        self.faults = {}
        self.all_round(6)
        assert not self.on_the_way
        total = 0.0
        for member in self.members:
            sums = member.site.sums()
            assert sums is not None
            total += sums[0][-1]
            for link in member.links.by_key.values():
                other = self.members[self.folders.keys.index(link.neighbour.public_key)]
                back = other.links.by_key[member.public_key]
                theirs = other.site.sums()
                assert theirs is not None
                assert (link.epoch, link.their_epoch) == (back.their_epoch, back.epoch)
                np.testing.assert_array_equal(sums[1][link.slot], theirs[2][back.slot])
        assert total == pytest.approx(len(self.members), abs=1e-9)

    @property
    def excess(self) -> float:
        return max(self.folders.excess(member.site.model()) for member in self.members)

    def until_agreed(self, most: int = 600) -> None:
        for _ in range(most):
            self.all_round()
            if all(m.site.counter > m.config.longest_path for m in self.members):
                return
        raise AssertionError([m.site.counter for m in self.members])


def network(tmp_path: Path, seed: int = 0, *, n_sites: int = 4, **options: Any) -> Network:
    faults = {k: options.pop(k) for k in ("loss", "repeat", "delay") if k in options}
    folders = Folders(tmp_path, *ROWS, n_sites, options)
    return Network(folders, seed, **faults)


def test_sites_reach_the_pooled_optimum(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.until_agreed()
    assert sites.excess < 0.01
    sites.check_mass()


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_frames_take_no_more_bytes_than_a_simulation_counts(tmp_path: Path, tol: float) -> None:
    sites = network(tmp_path, tol=tol)
    sites.all_round(20)
    member = sites.members[0]
    size, count = member.local.problem.size, max(member.message_sizes)
    for frame in member.round().values():
        vector = numbers_of(frame)[:size]
        single = vector.astype(np.float32) == vector
        assert single.all() if tol >= 1e-4 else not single.all()
        counted = numbers_bytes(count, size if tol >= 1e-4 else int(single.sum()))
        # The rest has whole numbers, which are exact in single precision.
        assert counted - 4 * (count - size) <= len(frame) - HEADER_BYTES <= counted


@pytest.mark.parametrize("solver", ["gadget", "tracking"])
def test_other_methods_come_near_it(tmp_path: Path, solver: str) -> None:
    sites = network(tmp_path, solver=solver, C=0.01)
    sites.all_round(300)
    assert sites.excess < 0.05
    sites.check_mass()
    masses = [read_state(sites.folders.folder(k)).header["model_masses"] for k in range(4)]
    own = [m["held"] + sum(m["sent"]) - sum(m["received"]) for m in masses]
    assert own == pytest.approx([1.0] * 4, abs=1e-9)


def test_loss_delay_repetition_and_order_change_no_result(tmp_path: Path) -> None:
    sites = network(tmp_path, loss=0.3, repeat=0.3, delay=0.3)
    sites.until_agreed()
    assert sites.excess < 0.01
    sites.check_nothing_is_missing()


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**32 - 1),
    actions=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("rrrrdddkl")), min_size=20, max_size=80
    ),
)
def test_mass_is_exact_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, seed: int, actions: list[tuple[int, str]]
) -> None:
    sites = network(tmp_path_factory.mktemp("mass"), seed)
    sites.all_round(3)  # they know each other, and share
    sites.faults = {"loss": 0.2, "repeat": 0.3, "delay": 0.4}
    for k, action in actions:
        if action == "r":
            sites.round(k)
        elif action == "d":
            sites.deliver()
        elif action == "k":
            sites.kill(k)
        else:
            sites.lose(k)
        sites.check_mass()
    sites.check_nothing_is_missing()


def test_a_restarted_site_goes_on_bit_for_bit(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(20)
    before = sites.members[1]
    before.save()  # else what was read since the last round would be forgotten
    sites.kill(1)
    after = sites.members[1]
    assert (1, "state_restored") in sites.events
    for _ in range(3):
        one, two = before.round(), after.round()
        assert one == two
    np.testing.assert_array_equal(before.site.model(), after.site.model())
    assert before.site.save() == after.site.save()


def test_what_was_told_is_on_disk_before(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(5)
    sites.round(0)
    sites.deliver()
    for k in (1, 2, 3):
        sites.round(k)  # they have read it, and that is on their disks
    sites.check_mass()
    told = {
        key: sites.members[sites.folders.keys.index(key)].site.links()
        for key in sites.members[0].links.by_key
    }
    sites.kill(0)
    written = sites.members[0].site.links()
    for key, theirs in told.items():
        back = sites.members[sites.folders.keys.index(key)].links.by_key[sites.folders.keys[0]]
        slot = sites.members[0].links.by_key[key].slot
        assert written[slot, 3] == theirs[back.slot, 4]  # the last number that it wrote, and read


@pytest.mark.parametrize("solver", ["consensus", "gadget", "tracking"])
def test_native_state_goes_around(tmp_path: Path, solver: str) -> None:
    sites = network(tmp_path, solver=solver)
    sites.all_round(10)
    member = sites.members[0]
    again = member.local.native(2)
    again.restore(member.site.save())
    assert again.save() == member.site.save()
    with pytest.raises(ValueError, match="another site or version"):
        member.local.native(2).restore(member.site.save()[:-1])
    with pytest.raises(ValueError, match="another site or version"):
        member.local.native(2).restore(member.site.save() + b"\0")
    with pytest.raises(ValueError, match="another site or version"):
        member.local.native(1).restore(member.site.save())
    larger = member.local.native(3)
    larger.restore(member.site.save())
    np.testing.assert_array_equal(larger.links()[:2], member.site.links())
    assert larger.links()[2, 0] == 0  # closed


def test_kills_on_the_way_change_no_result(tmp_path: Path) -> None:
    sites = network(tmp_path, loss=0.1)
    for k in range(12):
        sites.all_round(3)
        sites.kill(k % 4)
        sites.check_mass()
    sites.until_agreed()
    assert sites.excess < 0.01


def test_a_site_that_lost_its_state_is_known_as_new(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(30)
    sites.lose(2)
    sites.until_agreed()
    told = sorted(k for k, event in sites.events if event == "neighbour_began_anew")
    assert told == [1, 3]
    assert sites.excess < 0.01
    sites.check_nothing_is_missing()


@pytest.mark.parametrize("harm", ["cut", "flip", "version", "empty"])
def test_a_damaged_state_is_set_aside(tmp_path: Path, harm: str) -> None:
    sites = network(tmp_path)
    sites.all_round(10)
    path = sites.folders.folder(0) / "state.wms"
    data = bytearray(path.read_bytes())
    if harm == "cut":
        del data[-7:]
    elif harm == "flip":
        data[len(data) // 2] ^= 1
    elif harm == "version":
        data[6] += 1
    else:
        data.clear()
    path.write_bytes(bytes(data))
    sites.kill(0)
    assert (0, "state_set_aside") in sites.events
    assert (sites.folders.folder(0) / "state.damaged-1.wms").read_bytes() == bytes(data)
    assert sites.members[0].site.steps == 0
    sites.until_agreed()
    assert sites.excess < 0.01


def test_a_state_of_other_rows_or_settings_is_set_aside(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(5)
    np.savez(sites.folders.folder(0) / "rows.npz", X=ROWS[0][1::4], y=ROWS[1][1::4])
    sites.kill(0)
    sites.folders.settings["C"] = 0.2
    sites.folders.write(1)
    sites.kill(1)
    assert sites.events.count((0, "state_set_aside")) == 1
    assert sites.events.count((1, "state_set_aside")) == 1


def test_an_older_copy_of_a_state_is_found_out(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(10)
    path = sites.folders.folder(0) / "state.wms"
    old = path.read_bytes()
    sites.all_round(20)
    path.write_bytes(old)
    sites.kill(0)
    sites.all_round(6)
    assert (0, "state_behind") in sites.events
    sites.check_nothing_is_missing()
    sites.until_agreed()
    assert sites.excess < 0.01


def test_a_clock_set_back_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sites = network(tmp_path)
    sites.all_round(10)
    monkeypatch.setattr("widemargin.sites.training.links.time.time_ns", lambda: 1)
    sites.lose(0)
    sites.until_agreed()
    assert (0, "state_behind") in sites.events
    assert sites.excess < 0.01
    sites.check_nothing_is_missing()


def test_neighbours_come_and_go(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(10)
    folders = sites.folders
    # A link across the ring, then one of the ring's is cut.
    for a, b in ((0, 2), (2, 0)):
        folders.neighbours[a].append(b)
        folders.write(a)
        assert sites.members[a].set_neighbours(folders.config(a))["added"] == [f"site-{b}"]
    sites.all_round(10)
    for a, b in ((0, 1), (1, 0)):
        folders.neighbours[a].remove(b)
        folders.write(a)
        assert sites.members[a].set_neighbours(folders.config(a))["removed"] == [f"site-{b}"]
    sites.check_nothing_is_missing()
    sites.check_mass()
    sites.kill(0)
    sites.until_agreed()
    assert sites.excess < 0.01
    assert sites.members[0].links.degree == 2


def test_other_settings_are_refused(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.folders.settings["C"] = 0.2
    sites.folders.write(1)
    sites.kill(1)
    sites.all_round(5)
    link = sites.members[0].links.by_key[sites.folders.keys[1]]
    assert link.reasons == {"agreement": 5}
    assert link.received == 0
    assert sites.events.count((0, "frame_rejected")) == 1


def test_ten_thousand_hostile_frames_change_little(tmp_path: Path) -> None:
    """Site 1 of two lies: what it says is bounded, message by message."""
    sites = network(tmp_path, n_sites=2)
    sites.all_round(5)
    member, enemy = sites.members[0], sites.folders.keys[1]
    link = member.links.by_key[enemy]
    sound = next(iter(sites.members[1].round().values()))
    numbers = numbers_of(sound)
    numbers[-1] = 0.0  # it acknowledges nothing
    sound = sound[:40] + bytes(8) + sound[48:64] + packed_numbers(numbers)
    rng = np.random.default_rng(0)
    limits, size = member.local.limits, member.site.body_size
    most = 0.0
    for k in range(10_000):
        if k % 8 == 5:  # sound numbers of the link, so that only its contents are wrong
            sound = sound[:24] + link.epoch.to_bytes(8, "little") + sound[32:]
            sound = sound[:16] + max(1, link.their_epoch).to_bytes(8, "little") + sound[24:]
        before = member.site.sums()
        member.receive(enemy, hostile(sound, rng, k))
        after = member.site.sums()
        assert before is not None
        assert after is not None
        if link.their_epoch == int.from_bytes(sound[16:24], "little"):
            change = np.abs(after[0] - before[0]).max()
            assert change <= 200 * limits.mass * limits.figure
        if k % 100 == 0:
            member.round()
            most = max(most, float(np.linalg.norm(member.site.model())))
    assert link.received > 100  # it was believed, too
    assert {"length", "magic", "version", "finite", "magnitude", "number", "travel"} <= set(
        link.reasons
    )
    own = 0.1 * np.sqrt(member.local.problem.squared_norms).sum()
    setting = member.local._setting(1)
    rho = member.local.method.rho(  # type: ignore[attr-defined]
        setting.problem.constants, setting.total_square, setting.n_links
    )
    assert most <= (limits.norm + own) / (0.5 + rho)
    state = member.site.save()
    assert len(state) < 64 * 8 * 6 + 40 * 8 * size + 8 * 4 * member.local.n_rows + 4096
    assert any(event == "neighbour_out_of_limits" for _, event in sites.events)
    # When the neighbour is itself again, and the operator has looked, both find back.
    sites.restart(0)
    sites.until_agreed()
    assert sites.excess < 0.01


def test_robust_exchange_follows_no_neighbour_farther_than_clipping_allows(tmp_path: Path) -> None:
    sites = network(tmp_path, solver="gadget", robust="clip", C=0.01, clip=1.0)
    sites.all_round(30)
    member, (liar, other) = sites.members[0], (sites.folders.keys[k] for k in (1, 3))
    for key in (liar, other):
        sound = sites.members[sites.folders.keys.index(key)].round()[member.public_key]
        if key == liar:
            numbers = numbers_of(sound)
            numbers[: member.site.body_size] = 1e3
            sound = sound[:64] + packed_numbers(numbers)
        else:
            frame = decode(
                sound,
                agreement=member.config.agreement,
                dimension=member.local.problem.size,
                count=member.site.message_size,
            )
            honest = frame.numbers[: member.site.body_size]
        member.receive(key, sound)
    own = member.site.sums(models=True)
    assert own is None  # models are told, not pushed
    before = sites.members[0].site.save()
    member.site.combine()
    assert member.site.save() != before
    # A third of the way to each of two neighbours, no farther than to the nearer.
    assert member.site.apart <= 2 / 3 * np.linalg.norm(honest - before_model(sites, before)) + 1e-9


def before_model(sites: Network, state: bytes) -> Any:
    again = sites.members[0].local.native(2)
    again.restore(state)
    message = again.write(0)
    return message[: again.body_size]
