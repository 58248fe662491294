"""What Spark itself counts while a fit runs: seconds in Python, bytes to and from it, shuffles."""

from __future__ import annotations

import re
from typing import Any

# Names of Spark's metrics, and what they are called here; times and bytes add up over tasks.
COUNTED = {
    "time to execute Python code": "python_code_seconds",
    "time to run Python workers": "python_worker_seconds",
    "data sent to Python workers": "to_python_mb",
    "data returned from Python workers": "from_python_mb",
    "shuffle bytes written": "shuffled_mb",
}
SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
MEGABYTES = {"B": 1e-6, "KiB": 2**10 / 1e6, "MiB": 2**20 / 1e6, "GiB": 2**30 / 1e6}


class Counted:
    """Adds up the metrics of all queries since it was made."""

    def __init__(self, session: Any) -> None:
        self._store = session._jsparkSession.sharedState().statusStore()
        self._before = {each.executionId() for each in self._queries()}

    def _queries(self) -> list[Any]:
        found = self._store.executionsList()
        return [found.apply(k) for k in range(found.size())]

    def totals(self) -> dict[str, float]:
        """Return the sums so far, and the number of queries."""
        queries = [each for each in self._queries() if each.executionId() not in self._before]
        sums = dict.fromkeys(COUNTED.values(), 0.0)
        for query in queries:
            metrics = query.metrics()
            names = {
                metrics.apply(k).accumulatorId(): metrics.apply(k).name()
                for k in range(metrics.size())
            }
            values = self._store.executionMetrics(query.executionId()).iterator()
            while values.hasNext():
                pair = values.next()
                key = COUNTED.get(names.get(pair._1(), ""))
                if key is not None:
                    sums[key] += number(pair._2())
        return {"queries": float(len(queries)), **sums}


def number(text: str) -> float:
    """Read a metric as Spark shows it: seconds or megabytes, the total where there is one."""
    shown = text.splitlines()[-1]
    found = re.match(r"([\d,.]+) ?([A-Za-z]+)", shown)
    if found is None:
        raise ValueError(f"expected a number with a unit; got {text!r}.")
    value, unit = float(found[1].replace(",", "")), found[2]
    return value * (SECONDS | MEGABYTES)[unit]
