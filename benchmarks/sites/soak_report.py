"""Samples of a fleet of sites while it runs, and the criteria that a soak run must meet."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.sites.fleet import LocalFleet, SiteProcess
from widemargin.sites.training.participant import StateError, read_state

# A process that has just begun still imports and reads its rows, on a machine that may be busy.
SECONDS_TO_BEGIN = 60.0


@dataclass
class Observed:
    """One site over time; lists have an entry per sample."""

    seconds: list[float] = field(default_factory=list)
    resident_bytes: list[int | None] = field(default_factory=list)
    descriptors: list[int | None] = field(default_factory=list)
    rounds: list[int | None] = field(default_factory=list)
    estimated_gap: list[float | None] = field(default_factory=list)


class Samples:
    """Samples of all sites at intervals.

    Attributes
    ----------
    stalls : dict
        Longest time that each site ran without a round, in seconds, beyond its beginning.
    ended : list
        Sites that ended by themselves, with their last messages.
    account : dict
        Of the states on disk at all samples: how many were read, how many were damaged, and by how
        much what a site holds, plus what it sent, minus what it received, was off 1 at most.
    """

    def __init__(self, fleet: LocalFleet) -> None:
        self._fleet = fleet
        self._began = time.monotonic()
        self._courses = {site.name: Observed() for site in fleet.sites}
        self._progress = {site.name: (-1, self._began + SECONDS_TO_BEGIN) for site in fleet.sites}
        self._last: Mapping[str, Mapping[str, Any] | None] = {}
        self.stalls = {site.name: 0.0 for site in fleet.sites}
        self.ended: list[dict[str, Any]] = []
        self.account = {"states_read": 0, "damaged": 0, "largest_error": 0.0}

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._began

    def started(self, site: SiteProcess) -> None:
        """Note that a site was started again."""
        self._progress[site.name] = (-1, time.monotonic() + SECONDS_TO_BEGIN)

    def take(self, expected_down: set[str]) -> Mapping[str, Mapping[str, Any] | None]:
        """Sample all sites; return their statuses."""
        self._last = self._fleet.statuses()
        for site in self._fleet.sites:
            status, course = self._last[site.name], self._courses[site.name]
            course.seconds.append(round(self.seconds, 1))
            course.resident_bytes.append(_resident_bytes(site))
            course.descriptors.append(_descriptors(site))
            course.rounds.append(int(status["rounds"]) if status else None)
            course.estimated_gap.append(status["estimated_gap"] if status else None)
            self._check_state(site)
            if site.name not in expected_down:
                self._watch(site, status)
        return self._last

    def _check_state(self, site: SiteProcess) -> None:
        try:
            error = abs(read_state(site.folder).total_mass - 1.0)
        except FileNotFoundError:
            return  # it has just begun
        except StateError:
            self.account["damaged"] += 1
            return
        self.account["states_read"] += 1
        self.account["largest_error"] = max(self.account["largest_error"], error)

    def _watch(self, site: SiteProcess, status: Mapping[str, Any] | None) -> None:
        now = time.monotonic()
        if not site.running:
            self.ended.append({"site": site.name, "said": self._fleet.last_output(site)})
            self._fleet.start(site)  # as systemd would
            self.started(site)
            return
        rounds, since = self._progress[site.name]
        if status and status["rounds"] != rounds:
            self._progress[site.name] = (int(status["rounds"]), now)
        else:
            self.stalls[site.name] = max(self.stalls[site.name], now - since)

    def line(self) -> str:
        """Summarise the last sample."""
        answering = [status for status in self._last.values() if status]
        memory = [course.resident_bytes[-1] or 0 for course in self._courses.values()]
        gaps = [status["estimated_gap"] for status in answering if status["estimated_gap"]]
        return (
            f"{len(answering)} of {len(self._courses)} up, {sum(s['agreed'] for s in answering)} "
            f"agreed, largest gap {max(gaps, default=float('nan')):.1e}, "
            f"largest process {max(memory) / 1e6:.0f} MB, {len(self.ended)} ended by themselves"
        )

    def mass_in_states(self) -> dict[str, Any]:
        """Add up what the saved states of all sites hold, and what is between them.

        Each site began with 1. What one end of a link reports as sent, the other must not have
        received more than once: what is between them is never below zero.
        """
        states = {
            (site.folder / "public.key").read_text().strip(): read_state(site.folder).header
            for site in self._fleet.sites
        }
        held = sum(state["masses"]["held"] for state in states.values())
        between, unmatched = [], 0
        for key, state in states.items():
            for link in state["links"]:
                there = states[link["public_key"]]
                back = next(each for each in there["links"] if each["public_key"] == key)
                # Otherwise one end started again and the other does not know yet.
                if (link["epoch"], link["their_epoch"]) != (back["their_epoch"], back["epoch"]):
                    unmatched += 1
                    continue
                sent = state["masses"]["sent"][link["slot"]]
                between.append(sent - there["masses"]["received"][back["slot"]])
        return {
            "total": float(held + sum(between)),
            "expected": float(len(states)),
            "least_between": min(between, default=0.0),
            "unmatched_links": unmatched,
        }

    def report(self) -> dict[str, Any]:
        """Return all that was observed."""
        return {
            "stalls_seconds": self.stalls,
            "ended_by_themselves": self.ended,
            "account": self.account,
            "courses": {name: vars(course) for name, course in self._courses.items()},
        }


def _resident_bytes(site: SiteProcess) -> int | None:
    """Return the memory of a process, None if it is gone."""
    if site.process is None:
        return None
    try:
        for line in Path(f"/proc/{site.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return 1024 * int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return None


def _descriptors(site: SiteProcess) -> int | None:
    """Return the number of open descriptors of a process, None if it is gone."""
    try:
        return None if site.process is None else len(os.listdir(f"/proc/{site.process.pid}/fd"))
    except (FileNotFoundError, ProcessLookupError):
        return None


# ----------------------------------------------------------------------------------- criteria

WITHIN = 0.01
# Of memory that a process may gain from its first tenth of the time to its last; allocators settle.
GROWTH = 0.05
GROWTH_BYTES = 4e6
LONGEST_STALL = 30.0
# Those of 512 connections from outside, and what a site has beside.
MOST_DESCRIPTORS = 1800
# What rounding may add up to in an hour of running sums; a message that is lost is some tenths.
ROUNDING = 1e-7


def judged(report: dict[str, Any]) -> dict[str, Any]:
    """Return the criteria, what was measured of each, and whether all are met."""
    lied_to = bool(report.get("settings", {}).get("liars"))
    criteria = {
        "no leak": no_leak(report),
        "descriptors bounded": descriptors_bounded(report),
        "no deadlock": no_deadlock(report),
        "no site ended by itself": none_ended(report),
    }
    if lied_to:
        criteria["models within 1 point of the pooled accuracy"] = accurate(report)
    else:
        criteria["all agreed in the end"] = agreed(report)
        criteria["models within 1 % of the pooled optimum"] = within(report)
    criteria |= {
        "mass exact throughout": account_exact(report),
        "mass exact in the end": mass_exact(report),
    }
    return {"criteria": criteria, "passed": all(each["passed"] for each in criteria.values())}


def no_leak(report: dict[str, Any]) -> dict[str, Any]:
    """Compare the memory of the sites that were never killed, early and late."""
    killed = {kill["site"] for kill in report["kills"]}
    growth = {}
    for name, course in report["courses"].items():
        both = zip(course["resident_bytes"], course["rounds"], strict=True)
        memory = [each for each, rounds in both if each and rounds]
        if name not in killed and len(memory) >= 20:
            tenth = len(memory) // 10
            # In the first tenth buffers are made that stay.
            early, late = np.median(memory[tenth : 2 * tenth]), np.median(memory[-tenth:])
            growth[name] = (float(early), float(late))
    passed = bool(growth) and all(
        late <= early + max(GROWTH * early, GROWTH_BYTES) for early, late in growth.values()
    )
    shown = ", ".join(f"{n} {a / 1e6:.1f} to {b / 1e6:.1f} MB" for n, (a, b) in growth.items())
    return {"passed": passed, "measured": shown or "too short a run, or no site was spared"}


def descriptors_bounded(report: dict[str, Any]) -> dict[str, Any]:
    """Compare the descriptors of all processes with the bound."""
    most = max(n or 0 for each in report["courses"].values() for n in each["descriptors"])
    return {"passed": most <= MOST_DESCRIPTORS, "measured": f"{most} at most"}


def no_deadlock(report: dict[str, Any]) -> dict[str, Any]:
    name, longest = max(report["stalls_seconds"].items(), key=lambda item: item[1])
    shown = f"longest time without a round {longest:.1f} s ({name})"
    return {"passed": longest <= LONGEST_STALL, "measured": shown}


def none_ended(report: dict[str, Any]) -> dict[str, Any]:
    ended = report["ended_by_themselves"]
    kills = len(report["kills"])
    return {"passed": not ended, "measured": f"{kills} kills, {len(ended)} ended by themselves"}


def agreed(report: dict[str, Any]) -> dict[str, Any]:
    seconds = report["final"]["agreed_after_seconds"]
    shown = "they did not" if seconds is None else f"{seconds:.0f} s after the last kill"
    return {"passed": seconds is not None, "measured": shown}


def within(report: dict[str, Any]) -> dict[str, Any]:
    excess = report["final"]["excess"]
    shown = f"{100 * min(excess):.4f} to {100 * max(excess):.4f} % above"
    return {"passed": max(excess) <= WITHIN, "measured": shown}


def accurate(report: dict[str, Any]) -> dict[str, Any]:
    final = report["final"]
    lost = final["pooled_accuracy"] - min(final["accuracy"])
    excess = final["excess"]
    shown = (
        f"{100 * lost:.2f} points below {final['pooled_accuracy']:.4f} at most; objectives "
        f"{100 * min(excess):.3g} to {100 * max(excess):.3g} % above"
    )
    return {"passed": lost <= WITHIN, "measured": shown}


def account_exact(report: dict[str, Any]) -> dict[str, Any]:
    account = report["account"]
    passed = (
        account["states_read"] > 0
        and account["damaged"] == 0
        and account["largest_error"] <= ROUNDING
    )
    shown = (
        f"{account['states_read']} states read while sites ran or lay dead, {account['damaged']} "
        f"damaged; held + sent - received was off 1 by {account['largest_error']:.1e} at most"
    )
    return {"passed": passed, "measured": shown}


def mass_exact(report: dict[str, Any]) -> dict[str, Any]:
    mass = report["final"]["mass"]
    off = abs(mass["total"] - mass["expected"])
    # Neighbours refuse what a liar stirs up; the shares in it are taken back, and may have arrived.
    least = -np.inf if report.get("settings", {}).get("liars") else -ROUNDING
    passed = off <= ROUNDING * mass["expected"] and mass["least_between"] >= least
    shown = (
        f"{mass['total']!r} in all states and between them, {mass['expected']!r} expected; least "
        f"between two {mass['least_between']:.1e}; {mass['unmatched_links']} links in a new epoch"
    )
    return {"passed": passed and not mass["unmatched_links"], "measured": shown}
