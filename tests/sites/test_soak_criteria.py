"""The soak run's criteria tell good runs from bad ones."""

import copy

import pytest
from benchmarks.sites.soak_report import judged

MB = 1_000_000
GOOD = {
    "kills": [{"seconds": 30.0, "site": "site-0"}],
    "courses": {
        "site-0": {
            "resident_bytes": [200 * MB] * 100,
            "rounds": list(range(100)),
            "descriptors": [60] * 100,
        },
        "site-1": {
            "resident_bytes": [200 * MB] * 100,
            "rounds": list(range(100)),
            "descriptors": [60] * 100,
        },
    },
    "stalls_seconds": {"site-0": 5.0, "site-1": 0.0},
    "ended_by_themselves": [],
    "account": {"states_read": 9, "damaged": 0, "largest_error": 1e-12},
    "final": {
        "agreed_after_seconds": 12.0,
        "excess": [0.001, -1e-6],
        "mass": {
            "total": 2.0 + 1e-12,
            "expected": 2.0,
            "least_between": 0.0,
            "unmatched_links": 0,
        },
    },
}


def test_a_good_run():
    assert judged(GOOD)["passed"]


def test_beside_liars_accuracy_counts():
    report = copy.deepcopy(GOOD)
    report["settings"] = {"liars": 1}
    report["final"] |= {"agreed_after_seconds": None, "excess": [0.2, 0.1]}
    report["final"] |= {"pooled_accuracy": 0.9, "accuracy": [0.895, 0.91]}
    assert judged(report)["passed"]
    report["final"]["accuracy"][0] = 0.88
    assert not judged(report)["passed"]


@pytest.mark.parametrize(
    ("criterion", "place", "value"),
    [
        (
            "no leak",
            ("courses", "site-1", "resident_bytes"),
            [200 * MB + k * MB for k in range(100)],
        ),
        ("no leak", ("kills",), [{"site": "site-0"}, {"site": "site-1"}]),
        ("descriptors bounded", ("courses", "site-1", "descriptors"), [60] * 50 + [1020] * 50),
        ("no deadlock", ("stalls_seconds", "site-1"), 31.0),
        ("no site ended by itself", ("ended_by_themselves",), [{"site": "site-1", "said": "oh"}]),
        ("all agreed in the end", ("final", "agreed_after_seconds"), None),
        ("models within 1 % of the pooled optimum", ("final", "excess"), [0.0, 0.011]),
        ("mass exact throughout", ("account", "damaged"), 1),
        ("mass exact throughout", ("account", "largest_error"), 1e-3),
        ("mass exact in the end", ("final", "mass", "total"), 1.999),
        ("mass exact in the end", ("final", "mass", "least_between"), -0.001),
    ],
)
def test_what_is_wrong_is_found(criterion, place, value):
    report = copy.deepcopy(GOOD)
    *path, last = place
    within = report
    for key in path:
        within = within[key]
    within[last] = value
    result = judged(report)
    assert not result["passed"]
    assert [name for name, each in result["criteria"].items() if not each["passed"]] == [criterion]
