"""What a fit would take on more cores: a model, from what it took on two.

Tasks are spread evenly over the cores, a part at a time; what two cores spent outside of them does
not shrink; rows that are shuffled cross the network once, unless they stay on their machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.papers.speed_up import Network

# Those of [SODM]: five workers.
CORES_PER_WORKER, WORKERS = 16, 5
CORES = (1, 2, 4, 8, 16, 32, CORES_PER_WORKER * WORKERS)
MEASURED_CORES = 2
NETWORK = Network()


@dataclass(frozen=True)
class CostModel:
    """A fit as it was measured on two cores.

    Attributes
    ----------
    seconds : float
        From beginning to end.
    work : float
        Seconds of all tasks in Python's workers, rows on their way there and back included.
    parts : int
        Parts that can be worked on at the same time.
    shuffled : float
        Bytes that change partitions.
    network : Network
        What sending costs; an assumption.
    """

    seconds: float
    work: float
    parts: int
    shuffled: float
    network: Network = NETWORK

    @property
    def fixed(self) -> float:
        """Seconds that more cores do not change: the driver, jobs, reading."""
        return max(0.0, self.seconds - self.work * self._share(MEASURED_CORES))

    def on(self, cores: int) -> float:
        """Return the seconds on a number of cores."""
        workers = -(-cores // CORES_PER_WORKER)
        crossing = self.shuffled * (workers - 1) / workers
        sending = crossing / (workers * self.network.bytes_per_second)
        return self.fixed + self.work * self._share(cores) + sending

    def _share(self, cores: int) -> float:
        """Return the longest share of the work that a core has: whole parts, as even as can be."""
        return -(-self.parts // cores) / self.parts

    def speed_up(self, cores: int) -> float:
        """Return how many times faster it is than on one core."""
        return self.on(1) / self.on(cores)
