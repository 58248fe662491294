"""A billion rows on a hundred nodes: a model, computed from measured growth. Nothing was run there.

What grows with rows, with parts or with tasks was measured on two workers at several sizes. A line
through the two largest sizes gives the growth, which is continued to a billion rows. A resource of
the cluster is then compared with what the fit would take of it: the largest share breaks first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.linear_odm.speed_up import Network

ROWS = 1_000_000_000
NETWORK = Network()
# Rows of the largest clusters of 'auto', and parts merged into one from level to level.
AUTO_PART_ROWS, FAN_IN = 8_000, 4
# Rows of the tree for each cluster, where clusters are thousands.
TREE_ROWS = 4
# Seconds to begin a wave of tasks, one on each core; an assumption.
SECONDS_OF_A_WAVE = 0.5


@dataclass(frozen=True)
class Cluster:
    """An assumption: machines as they are rented by the hour, and a small driver."""

    nodes: int = 100
    cores: int = 16
    executor_bytes: float = 48e9
    disk_bytes: float = 500e9
    driver_bytes: float = 2e9
    split_bytes: float = 128e6  # of a file that a task reads
    bytes_per_second: float = NETWORK.bytes_per_second

    @property
    def tasks(self) -> int:
        """Tasks that run at a time."""
        return self.nodes * self.cores


@dataclass(frozen=True)
class Line:
    """A value that grows evenly: what it is without any, and for each."""

    fixed: float
    each: float

    @classmethod
    def through(cls, x: list[float], y: list[float]) -> Line:
        """Return the line through the last two points; one that falls is level."""
        each = max(0.0, (y[-1] - y[-2]) / (x[-1] - x[-2])) if len(x) > 1 else y[-1] / x[-1]
        return cls(y[-1] - each * x[-1], each)

    def at(self, x: float) -> float:
        """Return the value."""
        return self.fixed + self.each * x


@dataclass(frozen=True)
class Need:
    """What a fit takes of a resource of the cluster."""

    what: str
    grows_with: str
    takes: float
    there: float | None  # None: it takes time, and there is no limit
    unit: str
    setting: str

    @property
    def share(self) -> float | None:
        """What it takes of what is there."""
        return None if self.there is None else self.takes / self.there


def auto_parts(rows: int) -> int:
    """Return the number of clusters of 'auto'."""
    levels = 1
    while rows > AUTO_PART_ROWS * FAN_IN**levels:
        levels += 1
    return int(FAN_IN**levels)


def needs(
    fits: list[dict[str, Any]], features: int, rows: int = ROWS, cluster: Cluster = Cluster()
) -> Iterator[Need]:
    """Yield what a fit of DC with so many rows would take, given fits of ever more rows."""
    n = [float(fit["rows"]) for fit in fits]
    parts = [float(fit["parts"]) for fit in fits]
    n_parts = auto_parts(rows)

    def grown(key: str, by: list[float], to: float, *, counted: bool = False) -> float:
        values = [float((fit["counted"] if counted else fit)[key]) for fit in fits]
        return Line.through(by, values).at(to)

    bytes_of_rows = rows * (8.0 * features + 16.0)
    blocks = bytes_of_rows / cluster.split_bytes
    work = grown("python_worker_seconds", n, rows, counted=True)
    shuffled = 1e6 * grown("shuffled_mb", n, rows, counted=True)
    driver = 1e6 * sum(grown(f"driver_{each}_mb", parts, n_parts) for each in ("python", "java"))
    tree = n_parts * TREE_ROWS * 8.0 * features
    jobs = grown("jobs", parts, n_parts)
    yield Need(
        "driver, memory",
        "parts",
        driver,
        cluster.driver_bytes,
        "bytes",
        "fewer levels; spark.driver.memory, spark.driver.maxResultSize",
    )
    yield Need(
        "tree of clusters in the tasks of a node",
        "parts",
        tree * cluster.cores,
        cluster.executor_bytes,
        "bytes",
        "fewer levels; spark.executor.memoryOverhead",
    )
    yield Need(
        "rows that executors keep, twice",
        "rows",
        2.0 * bytes_of_rows / cluster.nodes,
        0.6 * cluster.executor_bytes,
        "bytes",
        "float32 features; spark.local.dir takes the rest",
    )
    yield Need(
        "shuffled bytes on a node's disk",
        "rows",
        shuffled / cluster.nodes,
        cluster.disk_bytes,
        "bytes",
        "spark.local.dir on larger disks",
    )
    yield Need(
        "pieces that a task sends, of the rows it has",
        "parts",
        float(n_parts),
        rows / blocks,
        "pieces",
        "larger partitions of the DataFrame; fewer levels",
    )
    yield Need("Python workers", "rows", work / cluster.tasks, None, "seconds", "more cores")
    sending = shuffled / (cluster.nodes * cluster.bytes_per_second)
    yield Need("network", "rows", sending, None, "seconds", "fewer, larger nodes")
    started = jobs * (blocks / cluster.tasks + 1.0) * SECONDS_OF_A_WAVE
    yield Need(
        f"{jobs:.0f} jobs of {blocks:,.0f} tasks and more, begun",
        "tasks",
        started,
        None,
        "seconds",
        "larger partitions of the DataFrame",
    )
