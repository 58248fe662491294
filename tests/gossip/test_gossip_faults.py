"""What a network is told to suffer: schedules that make sense, and those that do not."""

import re

import pytest

from widemargin.gossip import NetworkFaults

CONTRADICTIONS = {
    "returns for nothing": (
        [(9, "return", 3)],
        "site 3 has 'return' in round 9 and nothing before. Only a site that is down can return: "
        "have it 'crash' first.",
    ),
    "returns twice": (
        [(1, "crash", 3), (5, "return", 3), (9, "return", 3)],
        "site 3 has 'return' in round 9 after 'return' in round 5. Only a site that is down",
    ),
    "crashes while down": (
        [(9, "crash", 3), (5, "crash", 3)],
        "site 3 has 'crash' in round 9 after 'crash' in round 5. Only a site that is up can crash: "
        "have it 'return' first.",
    ),
    "leaves twice": (
        [(5, "leave", 3), (9, "leave", 3)],
        "site 3 has 'leave' in round 9 after 'leave' in round 5. A site that left is gone for good",
    ),
    "comes back": (
        [(5, "leave", 3), (9, "join", 3)],
        "site 3 has 'join' in round 9 after 'leave' in round 5. A site that left is gone for good",
    ),
    "crashes when gone": (
        [(5, "leave", 3), (9, "crash", 3)],
        "site 3 has 'crash' in round 9 after 'leave' in round 5. A site that left is gone for good",
    ),
    "joins twice": (
        [(5, "join", 3), (9, "join", 3)],
        "site 3 has 'join' in round 9 after 'join' in round 5. A site joins once, and nothing",
    ),
    "crashes before it joins": (
        [(5, "crash", 3), (9, "join", 3)],
        "site 3 has 'join' in round 9 after 'crash' in round 5. A site joins once, and nothing",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_schedules_that_contradict_themselves(case):
    schedule, message = CONTRADICTIONS[case]
    other_site = [(5, "crash", 1), (7, "return", 1)]
    with pytest.raises(ValueError, match=re.escape(message)):
        NetworkFaults(schedule=[*other_site, *schedule]).check(5)


@pytest.mark.parametrize(
    "schedule",
    [
        [(9, "return", 3), (5, "crash", 3), (20, "return", 3), (12, "crash", 3)],  # in any order
        [(5, "crash", 3), (5, "return", 3)],
        [(5, "join", 3), (7, "crash", 3), (9, "leave", 3)],
        [(5, "crash", 3), (5, "leave", 4), (5, "join", 2), (5, "crash", 1)],
    ],
)
def test_schedules_that_make_sense(schedule):
    NetworkFaults(schedule=schedule).check(5)


def test_liars_without_a_lie_are_refused():
    message = "`lies` must say how each site lies, such as {3: 'noise'}; got [3]."
    with pytest.raises(ValueError, match=re.escape(message)):
        NetworkFaults(lies=[3]).check(5)
