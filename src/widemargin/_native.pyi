"""Types of the native core; see native/bindings.cpp."""

from collections.abc import Callable, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

def instruction_set() -> str: ...

class KernelSpec:
    def __init__(
        self,
        kind: str,
        gamma: float = 1.0,
        coef0: float = 0.0,
        degree: int = 3,
        constant: float = 0.0,
    ) -> None: ...

class _Rows:
    @property
    def count(self) -> int: ...
    @property
    def features(self) -> int: ...
    @property
    def sparse(self) -> bool: ...

class Rows32(_Rows):
    @overload
    def __init__(self, values: NDArray[np.float32]) -> None: ...
    @overload
    def __init__(
        self,
        data: NDArray[np.float32],
        indices: NDArray[np.int32] | NDArray[np.int64],
        indptr: NDArray[np.int64],
        features: int,
    ) -> None: ...

class Rows64(_Rows):
    @overload
    def __init__(self, values: NDArray[np.float64]) -> None: ...
    @overload
    def __init__(
        self,
        data: NDArray[np.float64],
        indices: NDArray[np.int32] | NDArray[np.int64],
        indptr: NDArray[np.int64],
        features: int,
    ) -> None: ...

class DescentOptions:
    def __init__(
        self,
        *,
        relative_gap: float,
        max_iterations: int,
        block: int,
        working_set: int,
        cache_bytes: int,
        shrinking: bool,
        threads: int,
        seed: int,
    ) -> None: ...

def kernel_block(
    a: Rows32 | Rows64,
    b: Rows32 | Rows64,
    spec: KernelSpec,
    a_rows: NDArray[np.int64] | None = None,
    b_rows: NDArray[np.int64] | None = None,
    threads: int = 1,
) -> NDArray[Any]: ...
def kernel_product(
    queries: Rows32 | Rows64,
    basis: Rows32 | Rows64,
    spec: KernelSpec,
    coef: NDArray[np.float64],
    basis_rows: NDArray[np.int64] | None = None,
    threads: int = 1,
) -> NDArray[np.float64]: ...
def nearest_group(
    queries: Rows32 | Rows64,
    basis: Rows32 | Rows64,
    spec: KernelSpec,
    coef: NDArray[np.float64],
    group_start: NDArray[np.int64],
    offset: NDArray[np.float64],
    threads: int = 1,
    query_rows: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def routed_product(
    queries: Rows32 | Rows64,
    basis: Rows32 | Rows64,
    spec: KernelSpec,
    coef: NDArray[np.float64],
    query_rows: NDArray[np.int64],
    query_start: NDArray[np.int64],
    basis_start: NDArray[np.int64],
    threads: int = 1,
) -> NDArray[np.float64]: ...
def kernel_diagonal(rows: Rows32 | Rows64, spec: KernelSpec) -> NDArray[np.float64]: ...
def descend(
    rows: Rows32 | Rows64,
    spec: KernelSpec,
    label: NDArray[np.float64],
    diagonal: NDArray[np.float64],
    lower_margin: float,
    upper_margin: float,
    below: NDArray[np.float64],
    above: NDArray[np.float64],
    bound: NDArray[np.float64],
    net_dual: NDArray[np.float64],
    margin: NDArray[np.float64],
    options: DescentOptions,
    report: Callable[[int, float, float, int, int], bool],
) -> str: ...
def solve_block(
    kernel: NDArray[Any],
    label: NDArray[np.float64],
    diagonal: NDArray[np.float64],
    lower_margin: float,
    upper_margin: float,
    below: NDArray[np.float64],
    above: NDArray[np.float64],
    bound: NDArray[np.float64],
    net_dual: NDArray[np.float64],
    margin: NDArray[np.float64],
    *,
    gap: float,
    sets: int,
    working_set: int,
    threads: int,
    seed: int,
) -> int: ...

class _LinearProblem:
    def __init__(
        self,
        rows: Rows32 | Rows64,
        label: NDArray[np.int8],
        weight: NDArray[np.float64] | None,
        multiplier: NDArray[np.float64] | None,
        *,
        lower_margin: float,
        upper_margin: float,
        below: float,
        above: float,
        bound: float,
        constant: float,
    ) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def count(self) -> int: ...
    def evaluate(
        self,
        w: NDArray[np.float64],
        dual: NDArray[np.float64] | None = None,
        piece: NDArray[np.int8] | None = None,
        gram: NDArray[np.float64] | None = None,
        threads: int = 1,
    ) -> tuple[float, float, float, int, NDArray[np.float64]]: ...
    def curvature_product(
        self, piece: NDArray[np.int8], p: NDArray[np.float64], threads: int = 1
    ) -> NDArray[np.float64]: ...
    def curvature_diagonal(
        self, piece: NDArray[np.int8], threads: int = 1
    ) -> NDArray[np.float64]: ...
    def losses_along(
        self,
        w: NDArray[np.float64],
        p: NDArray[np.float64],
        steps: NDArray[np.float64],
        threads: int = 1,
    ) -> NDArray[np.float64]: ...
    def weighted_sum(self, coef: NDArray[np.float64], threads: int = 1) -> NDArray[np.float64]: ...
    def squared_norms(self, threads: int = 1) -> NDArray[np.float64]: ...
    def dual_epoch(
        self,
        squares: NDArray[np.float64],
        slack: float,
        seed: int,
        order: NDArray[np.int64],
        active: int,
        dual: NDArray[np.float64],
        w: NDArray[np.float64],
    ) -> tuple[int, float, float]: ...
    def svrg_steps(
        self,
        order: NDArray[np.int64],
        smoothness: NDArray[np.float64],
        total: float,
        dual: NDArray[np.float64],
        v: NDArray[np.float64],
        step: float,
        average_from: int,
        w: NDArray[np.float64],
        sum: NDArray[np.float64],
    ) -> None: ...
    def sgd_steps(
        self,
        order: NDArray[np.int64],
        batch: int,
        first: float,
        offset: float,
        radius: float,
        dual: NDArray[np.float64],
        w: NDArray[np.float64],
        sum: NDArray[np.float64],
    ) -> None: ...
    def score_models(
        self, models: NDArray[np.float64], threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

class LinearProblem32(_LinearProblem): ...
class LinearProblem64(_LinearProblem): ...

def draw_rows(share: NDArray[np.float64], count: int, seed: int) -> NDArray[np.int64]: ...

class ClassBundle:
    def __init__(
        self, first: int, width: int, size: int, dense: bool, rows: NDArray[np.int64]
    ) -> None: ...
    @property
    def first(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    def shuffle(self, seed: int) -> None: ...
    def clear_weights(self) -> None: ...
    def squared_norm(self, mean: NDArray[np.float64] | None = None) -> float: ...
    def weight_count(self) -> int: ...
    def class_sum(self) -> NDArray[np.float64]: ...
    def dense_weights(self) -> NDArray[np.float64]: ...
    def sparse_weights(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...
    def duals(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]: ...
    def set_duals(
        self,
        values: NDArray[np.float64],
        classes: NDArray[np.int32],
        start: NDArray[np.int64],
    ) -> None: ...
    def dual_sum(self) -> float: ...

class _MulticlassProblem:
    def visit(
        self,
        formulation: str,
        home: ClassBundle,
        away: ClassBundle,
        mean: NDArray[np.float64] | None = None,
        *,
        seed: int = 0,
        part: int = 0,
        parts: int = 1,
        active_only: bool = False,
        skip_below: float = 0.0,
        fewest_new: int = 0,
        new_mass: float = 0.0,
        stopping: Callable[[], bool] | None = None,
    ) -> tuple[float, float]: ...
    def add_weights(self, formulation: str, home: ClassBundle, away: ClassBundle) -> None: ...
    def total_losses(
        self,
        formulation: str,
        bundles: list[ClassBundle],
        mean: NDArray[np.float64] | None,
        scales: Sequence[float],
        threads: int = 1,
    ) -> list[float]: ...

class MulticlassProblem32(_MulticlassProblem):
    def __init__(
        self,
        rows: Any,
        label: NDArray[np.int32],
        bound: NDArray[np.float64],
        square: NDArray[np.float64],
        classes: int,
        constant: float,
    ) -> None: ...

class MulticlassProblem64(_MulticlassProblem):
    def __init__(
        self,
        rows: Any,
        label: NDArray[np.int32],
        bound: NDArray[np.float64],
        square: NDArray[np.float64],
        classes: int,
        constant: float,
    ) -> None: ...

class StoppingRule:
    def __init__(self, *, tol: float, diameter: float, epsilon: float, quiet: int) -> None: ...

class NetworkOptions:
    def __init__(
        self,
        *,
        one: bool,
        exchanges: int,
        asynchronous: bool,
        loss: float,
        repeat: float,
        delay: int,
        fault_scale: float,
        patience: int,
        paper_rule: bool,
        seed: int,
        threads: int,
    ) -> None: ...

class _GossipMethods:
    @classmethod
    def consensus(cls, *arguments: Any, rho: float, relaxation: float, epochs: int) -> Self: ...
    @classmethod
    def gradient(
        cls,
        *arguments: Any,
        tracking: bool,
        batch: int,
        offset: float,
        decay: float,
        radius: float,
        averaging: bool,
        exchange: str,
        clip: float,
        trim: int,
    ) -> Self: ...

class _GossipNetwork(_GossipMethods):
    @classmethod
    def average(cls, *arguments: Any, values: NDArray[np.float64]) -> _GossipNetwork: ...
    def run(self, rounds: int, stopping: Callable[[], bool] | None = None) -> int: ...
    def models(self) -> NDArray[np.float64]: ...
    def dual(self) -> NDArray[np.float64] | None: ...
    def total(self) -> NDArray[np.float64]: ...
    def sites(self) -> NDArray[np.float64]: ...
    @property
    def round(self) -> int: ...
    @property
    def messages(self) -> int: ...
    @property
    def message_size(self) -> int: ...
    @property
    def stopped(self) -> bool: ...

class GossipNetwork32(_GossipNetwork): ...
class GossipNetwork64(_GossipNetwork): ...

class SiteSettings:
    def __init__(
        self,
        *,
        links: int,
        number: int,
        sites: float,
        share: float,
        seed: int,
        stopping: StoppingRule,
    ) -> None: ...

class _GossipSite(_GossipMethods):
    def step(self) -> None: ...
    def prepare(self, fraction: NDArray[np.float64]) -> None: ...
    def write(self, link: int) -> NDArray[np.float64]: ...
    def read(self, link: int, message: NDArray[np.float64]) -> None: ...
    def combine(self) -> None: ...
    def open(self, link: int) -> None: ...
    def abandon(self, link: int) -> None: ...
    def save(self) -> bytes: ...
    def restore(self, state: bytes) -> None: ...
    def model(self) -> NDArray[np.float64]: ...
    def dual(self) -> NDArray[np.float64] | None: ...
    def links(self) -> NDArray[np.float64]: ...
    def sums(
        self, models: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None: ...
    @property
    def estimate(self) -> float: ...
    @property
    def agreement(self) -> float: ...
    @property
    def apart(self) -> float: ...
    @property
    def content(self) -> bool: ...
    @property
    def counter(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def message_size(self) -> int: ...
    @property
    def body_size(self) -> int: ...

class GossipSite32(_GossipSite): ...
class GossipSite64(_GossipSite): ...
