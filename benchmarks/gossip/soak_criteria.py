"""What a soak run must come to."""

from __future__ import annotations

from typing import Any

import numpy as np

WITHIN = 0.01
# Of memory that a process may gain from its first tenth of the time to its last; allocators settle.
GROWTH = 0.05
GROWTH_BYTES = 4e6
LONGEST_STALL = 30.0
# What rounding may add up to in an hour of running sums; a message that is lost is some tenths.
ROUNDING = 1e-7


def judged(report: dict[str, Any]) -> dict[str, Any]:
    """Return the criteria, what was measured of each, and whether all are met."""
    criteria = {
        "no leak": no_leak(report),
        "no deadlock": no_deadlock(report),
        "no site ended by itself": none_ended(report),
        "all agreed in the end": agreed(report),
        "models within 1 % of the pooled optimum": within(report),
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
    passed = off <= ROUNDING * mass["expected"] and mass["least_between"] >= -ROUNDING
    shown = (
        f"{mass['total']!r} in all states and between them, {mass['expected']!r} expected; least "
        f"between two {mass['least_between']:.1e}; {mass['unmatched_links']} links in a new epoch"
    )
    return {"passed": passed and not mass["unmatched_links"], "measured": shown}
