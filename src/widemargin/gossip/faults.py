"""Faults of a simulated network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

EVENTS = {"crash": 0, "return": 1, "leave": 2, "join": 3}
LIES = {"opposite": 1, "noise": 2, "push": 3, "drift": 4, "swing": 5, "figures": 6}
# The events that an event of a site may follow (None: none at all), and advice otherwise.
BEFORE: dict[str, tuple[set[str | None], str]] = {
    "crash": (
        {None, "return", "join"},
        "Only a site that is up can crash: have it 'return' first.",
    ),
    "return": ({"crash"}, "Only a site that is down can return: have it 'crash' first."),
    "leave": ({None, "crash", "return", "join"}, ""),
    "join": ({None}, "A site joins once, and nothing happens to it before: drop one of the two."),
}
GONE = "A site that left is gone for good: drop one of the two, or let it 'crash' instead of leave."


@dataclass(frozen=True)
class NetworkFaults:
    """Lost and late messages, sites that are slow, come and go, or send false models.

    Parameters
    ----------
    loss : float in [0, 1), default=0
        Probability that a message is lost, unnoticed by sender and receiver.
    duplication : float in [0, 1], default=0
        Probability that a message arrives twice.
    delay : int, default=0
        Maximum delay in rounds. That of each message is drawn from 0 to ``delay``, so that
        messages overtake each other.
    schedule : sequence of (round, event, site), default=()
        'crash': the site is silent and loses what is sent to it, but keeps its state, like a
        process that saves it; 'return': it continues. 'leave': it announces its departure, and its
        rows no longer count; 'join': it is absent before that round. Sites are given by their
        position in ``sites_``, from 0, not by their names. Sites do not stop before the last event.
        Events of a site in the same round happen in the order of this list.
    lies : mapping from site to kind of lie, default={}
        'opposite': the site sends the opposite of its vector; 'noise': random numbers. Liars that
        know of defences shift a true vector against their model instead: 'push' always alike,
        'drift' by another hundredth of it with every message, 'swing' to and fro. 'figures': the
        model is true, but the figures and counters by which sites stop are not.
    scale : float, default=10
        Length of what faulty sites send, or of the shift, relative to the true vector.
    speeds : mapping from site to float in (0, 1], default={}
        Share of the rounds that slow sites take part in, others in all: a site of speed 0.25 steps,
        reads and sends in every fourth round. With ``asynchronous=True`` it wakes a quarter as
        often, at random.

    Examples
    --------
    >>> from widemargin.gossip import NetworkFaults
    >>> NetworkFaults(loss=0.3, schedule=[(100, "crash", 3), (200, "return", 3)])
    NetworkFaults(loss=0.3, duplication=0.0, delay=0, schedule=[(100, 'crash', 3), \
(200, 'return', 3)], lies={}, scale=10.0, speeds={})
    """

    loss: float = 0.0
    duplication: float = 0.0
    delay: int = 0
    schedule: Sequence[tuple[int, str, int]] = ()
    lies: Mapping[int, str] = field(default_factory=dict)
    scale: float = 10.0
    speeds: Mapping[int, float] = field(default_factory=dict)

    def check(self, n_sites: int) -> None:
        """Raise if a parameter is out of range."""
        _within("loss", self.loss, 0.0, 1.0, open_above=True)
        _within("duplication", self.duplication, 0.0, 1.0)
        if not isinstance(self.delay, Integral) or self.delay < 0:
            raise ValueError(f"`delay` must be a number of rounds, 0 or more; got {self.delay!r}.")
        if not isinstance(self.scale, Real) or not 0 < self.scale < np.inf:
            raise ValueError(f"`scale` must be positive and finite; got {self.scale!r}.")
        for entry in self.schedule:
            _check_entry(entry, n_sites)
        self._check_order()
        if not isinstance(self.lies, Mapping):
            raise ValueError(
                f"`lies` must say how each site lies, such as {{3: 'noise'}}; got {self.lies!r}."
            )
        for site, lie in self.lies.items():
            _check_site(site, n_sites, "lies")
            if lie not in LIES:
                raise ValueError(
                    f"A site of `lies` must be one of {sorted(LIES)}; got {lie!r} for site {site}."
                )
        self._check_speeds(n_sites)
        for rounds in (0, *(1 + np.unique(self.events[:, 0])).tolist()):
            if not self.members(n_sites, rounds).any():
                raise ValueError(
                    "One site at least must be there all the time, from the beginning; by "
                    f"`schedule` there is none after {rounds} rounds."
                )

    def _check_speeds(self, n_sites: int) -> None:
        if not isinstance(self.speeds, Mapping):
            raise ValueError(
                f"`speeds` must have the speed of each slow site, such as {{3: 0.25}}; got "
                f"{self.speeds!r}."
            )
        for site, speed in self.speeds.items():
            _check_site(site, n_sites, "speeds")
            if not isinstance(speed, Real) or not 0 < float(speed) <= 1:
                raise ValueError(
                    f"A speed must be in (0, 1], a share of the rounds; got {speed!r} for site "
                    f"{site}."
                )

    def _check_order(self) -> None:
        """Raise if an event of a site contradicts its previous one."""
        last: dict[int, tuple[int, str]] = {}
        for when, site, number in self.events.tolist():
            event = list(EVENTS)[number]
            then, before = last.get(site, (0, None))
            allowed, advice = BEFORE[event]
            if before not in allowed:
                earlier = f"after {before!r} in round {then}" if before else "and nothing before"
                raise ValueError(
                    f"`schedule` must not contradict itself; site {site} has {event!r} in round "
                    f"{when} {earlier}. {GONE if before == 'leave' else advice}"
                )
            last[site] = when, event

    @property
    def events(self) -> NDArray[np.int64]:
        """The schedule as (round, site, number of the event), sorted by round."""
        rows = sorted((int(r), int(s), EVENTS[e]) for r, e, s in self.schedule)
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    @property
    def disturbing(self) -> bool:
        """Whether messages or sites may be missing from a round."""
        slow = any(speed < 1 for speed in self.speeds.values())
        return bool(self.loss or self.duplication or self.delay or len(self.schedule) or slow)

    def speed_of_sites(self, n_sites: int) -> NDArray[np.float64]:
        """Return the speed of every site."""
        speed = np.ones(n_sites)
        for site, value in self.speeds.items():
            speed[int(site)] = value
        return speed

    def members(self, n_sites: int, rounds: int) -> NDArray[np.bool_]:
        """Return which sites are members after some rounds, up or crashed."""
        member = np.ones(n_sites, dtype=np.bool_)
        events = self.events
        member[events[events[:, 2] == EVENTS["join"], 1]] = False
        for _, site, event in events[events[:, 0] < rounds]:
            if event in (EVENTS["join"], EVENTS["leave"]):
                member[site] = event == EVENTS["join"]
        return member

    def kinds_of_lies(self, n_sites: int) -> NDArray[np.uint8]:
        """Return the kind of lie of each site as a number, 0 for none."""
        kinds = np.zeros(n_sites, dtype=np.uint8)
        for site, lie in self.lies.items():
            kinds[int(site)] = LIES[lie]
        return kinds


def _within(
    name: str, value: Any, lowest: float, highest: float, *, open_above: bool = False
) -> None:
    inside = isinstance(value, Real) and lowest <= float(value) <= highest
    if not inside or (open_above and value == highest):
        end = ")" if open_above else "]"
        raise ValueError(f"`{name}` must be in [{lowest:g}, {highest:g}{end}; got {value!r}.")


def _check_entry(entry: Any, n_sites: int) -> None:
    try:
        when, event, site = entry
    except (TypeError, ValueError):
        raise ValueError(
            "`schedule` must hold tuples such as (100, 'crash', 3): round, event, site; got "
            f"{entry!r}."
        ) from None
    if not isinstance(when, Integral) or when < 0:
        raise ValueError(f"A round of `schedule` must be an integer from 0; got {when!r}.")
    if event not in EVENTS:
        raise ValueError(f"An event of `schedule` must be one of {list(EVENTS)}; got {event!r}.")
    _check_site(site, n_sites, "schedule")


def _check_site(site: Any, n_sites: int, where: str) -> None:
    if not isinstance(site, Integral) or not 0 <= int(site) < n_sites:
        raise ValueError(
            f"A site of `{where}` must be a number from 0 to {n_sites - 1}, its position in "
            f"`sites_`; got {site!r}."
        )
