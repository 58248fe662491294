"""A billion rows on a hundred nodes: a model, computed from measured growth. Nothing was run there.

Work and shuffled bytes were measured on two workers at several sizes; a line through the two
largest gives their growth, which is continued to a billion rows. What the driver took did not grow
then, neither in these fits nor in those with the defaults, which compress; what must grow with
clusters is added: copies of their tree. A resource of the cluster is compared with what the fit
would take of it: the largest share breaks first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.linear_odm.speed_up import Network
from widemargin.kernel.partition.tree_growth import levels_of

ROWS = 1_000_000_000
NETWORK = Network()
# Rows of the largest clusters of 'auto', and parts merged into one from level to level.
AUTO_PART_ROWS, FAN_IN = 8_000, 4
# Rows of the tree for each cluster, where clusters are thousands; copies of it on the driver, as
# arrays, joined with further nodes, pickled, and in the JVM. Assumptions.
TREE_ROWS, TREE_COPIES = 4, 5
# Bytes of a pickled piece of a part beside its rows, and jobs of each further level of the tree.
PIECE_BYTES, JOBS_OF_A_LEVEL = 700, 2
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
    fits: list[dict[str, Any]],
    features: int,
    rows: int = ROWS,
    cluster: Cluster = Cluster(),
    driver_mb: float = 0.0,
) -> Iterator[Need]:
    """Yield what a fit of DC with so many rows would take, given fits of ever more rows.

    ``driver_mb`` is what the driver took in a fit that compressed its model, if that is more.
    """
    n, last, n_parts = [float(fit["rows"]) for fit in fits], fits[-1], auto_parts(rows)
    bytes_of_rows = rows * (8.0 * features + 16.0)
    blocks = bytes_of_rows / cluster.split_bytes

    def by_rows(key: str) -> float:
        return Line.through(n, [float(fit["counted"][key]) for fit in fits]).at(rows)

    # The work on a row grows with the rows of its part.
    work = by_rows("python_worker_seconds") * (rows / n_parts) / (last["rows"] / last["parts"])
    shuffled = 1e6 * by_rows("shuffled_mb") + n_parts * blocks * PIECE_BYTES
    tree = n_parts * TREE_ROWS * 8.0 * features
    measured = max(driver_mb, last["driver_python_mb"] + last["driver_java_mb"])
    driver = 1e6 * measured + TREE_COPIES * tree
    jobs = last["jobs"] + JOBS_OF_A_LEVEL * (levels_of(n_parts) - 1)
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
