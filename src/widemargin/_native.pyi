"""Types of the native core; see native/bindings.

A class for each type of row values, such as ``Rows32`` and ``Rows64``, has all of its methods in a
private base, which exists in this file only.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", np.float32, np.float64)
_Floats: TypeAlias = NDArray[np.float64]
_Integers: TypeAlias = NDArray[np.int64]

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

class _Rows(Generic[_Scalar]):
    @overload
    def __init__(self, values: NDArray[_Scalar]) -> None: ...
    @overload
    def __init__(
        self,
        data: NDArray[_Scalar],
        indices: NDArray[np.int32] | _Integers,
        indptr: _Integers,
        features: int,
    ) -> None: ...
    count: Final[int]
    features: Final[int]
    sparse: Final[bool]

class Rows32(_Rows[np.float32]): ...
class Rows64(_Rows[np.float64]): ...

_AnyRows: TypeAlias = Rows32 | Rows64

def column_moments(rows: _AnyRows) -> tuple[_Floats, _Floats]: ...
def row_keys(rows: _AnyRows, label: _Integers, threads: int = 1) -> NDArray[np.uint64]: ...
def copies(
    rows: _AnyRows, label: _Integers, key_bits: int = 64, threads: int = 1
) -> tuple[_Integers, _Integers]: ...

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
    a: _AnyRows,
    b: _AnyRows,
    spec: KernelSpec,
    a_rows: _Integers | None = None,
    b_rows: _Integers | None = None,
    threads: int = 1,
) -> NDArray[Any]: ...
def kernel_matrix(
    rows: _AnyRows, spec: KernelSpec, order: _Integers | None, out: NDArray[Any], threads: int = 1
) -> None: ...
def kernel_product(
    queries: _AnyRows,
    basis: _AnyRows,
    spec: KernelSpec,
    coef: _Floats,
    basis_rows: _Integers | None = None,
    threads: int = 1,
    query_rows: _Integers | None = None,
) -> _Floats: ...
def nearest_group(
    queries: _AnyRows,
    basis: _AnyRows,
    spec: KernelSpec,
    coef: _Floats,
    group_start: _Integers,
    offset: _Floats,
    threads: int = 1,
    query_rows: _Integers | None = None,
) -> tuple[_Integers, _Floats]: ...
def routed_product(
    queries: _AnyRows,
    basis: _AnyRows,
    spec: KernelSpec,
    coef: _Floats,
    query_rows: _Integers,
    query_start: _Integers,
    basis_start: _Integers,
    threads: int = 1,
) -> _Floats: ...
def kernel_diagonal(rows: _AnyRows, spec: KernelSpec) -> _Floats: ...
def descend(
    rows: _AnyRows,
    spec: KernelSpec,
    label: _Floats,
    diagonal: _Floats,
    lower_margin: float,
    upper_margin: float,
    below: _Floats,
    above: _Floats,
    bound: _Floats,
    floor: _Floats,
    net_dual: _Floats,
    margin: _Floats,
    options: DescentOptions,
    report: Callable[[int, float, float, int, int], bool],
    near: NearGroups | None = None,
    offset: _Floats | None = None,
) -> str: ...
def fill_block(
    rows: _AnyRows,
    spec: KernelSpec,
    block_rows: _Integers,
    slots: _Integers,
    kernel: NDArray[Any],
    threads: int = 1,
) -> None: ...

class NearGroups:
    @property
    def share(self) -> float: ...
    @property
    def n_groups(self) -> int: ...
    @property
    def group(self) -> _Integers: ...

def near_groups(
    rows: _AnyRows, spec: KernelSpec, cutoff: float, threads: int = 1
) -> NearGroups: ...
def near_queries(
    queries: _AnyRows, near: NearGroups, spec: KernelSpec, cutoff: float, threads: int = 1
) -> NearGroups: ...
def near_product(
    queries: _AnyRows,
    basis: _AnyRows,
    spec: KernelSpec,
    coef: _Floats,
    basis_rows: _Integers,
    near: NearGroups,
    threads: int = 1,
) -> tuple[_Floats, int]: ...
def solve_block(
    kernel: NDArray[Any],
    label: _Floats,
    diagonal: _Floats,
    lower_margin: float,
    upper_margin: float,
    below: _Floats,
    above: _Floats,
    bound: _Floats,
    floor: _Floats,
    net_dual: _Floats,
    margin: _Floats,
    *,
    gap: float,
    sets: int,
    working_set: int,
    threads: int,
    seed: int,
) -> int: ...
def measure_class_rows(
    formulation: str,
    code: _Integers,
    bound: _Floats,
    diagonal: _Floats,
    coef: _Floats,
    score: _Floats,
    error: float = 0.0,
    threads: int = 1,
) -> _Floats: ...
def solve_class_block(
    kernel: NDArray[Any],
    formulation: str,
    code: _Integers,
    bound: _Floats,
    diagonal: _Floats,
    coef: _Floats,
    score: _Floats,
    *,
    gap: float,
    sets: int,
    working_set: int,
    threads: int,
    seed: int,
) -> int: ...
def solve_small_problems(
    kernel: _Floats | None,
    diagonal: _Floats,
    code: NDArray[np.int64],
    lower_margin: float,
    upper_margin: float,
    below: _Floats,
    above: _Floats,
    bound: _Floats,
    floor: _Floats,
    positive: NDArray[np.int64],
    negative: NDArray[np.int64],
    coef: _Floats,
    *,
    relative_gap: float,
    last_digits: bool,
    sets: int,
    working_set: int,
    whole_set: int,
    threads: int,
    seed: int,
    stop: Callable[[], bool],
    points: Rows64 | None = None,
    spec: KernelSpec | None = None,
    order: _Integers | None = None,
) -> tuple[_Floats, _Floats, NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]: ...
def decide_small_folds(
    kernel: _Floats,
    diagonal: _Floats,
    code: NDArray[np.int64],
    out: NDArray[np.int64],
    lower_margin: float,
    upper_margin: float,
    below: _Floats,
    above: _Floats,
    bound: _Floats,
    floor: _Floats,
    positive: NDArray[np.int64],
    negative: NDArray[np.int64],
    coef: _Floats,
    *,
    relative_gap: float,
    sets: int,
    working_set: int,
    whole_set: int,
    threads: int,
    seed: int,
    stop: Callable[[], bool],
) -> tuple[_Floats, _Floats]: ...

class _LinearProblem:
    def __init__(
        self,
        rows: _AnyRows,
        label: NDArray[np.int8],
        weight: _Floats | None,
        multiplier: _Floats | None,
        *,
        lower_margin: float,
        upper_margin: float,
        below: float,
        above: float,
        bound: float,
        floor: float,
        constant: float,
        target: _Floats | None = None,
    ) -> None: ...
    size: Final[int]
    count: Final[int]
    def evaluate(
        self,
        w: _Floats,
        dual: _Floats | None = None,
        piece: NDArray[np.int8] | None = None,
        gram: _Floats | None = None,
        threads: int = 1,
    ) -> tuple[float, float, float, int, _Floats]: ...
    def curvature_product(
        self, piece: NDArray[np.int8], p: _Floats, threads: int = 1
    ) -> _Floats: ...
    def curvature_diagonal(self, piece: NDArray[np.int8], threads: int = 1) -> _Floats: ...
    def losses_along(
        self,
        w: _Floats,
        p: _Floats,
        steps: _Floats,
        threads: int = 1,
    ) -> _Floats: ...
    def total_loss(self, w: _Floats, threads: int = 1) -> float: ...
    def weighted_sum(self, coef: _Floats, threads: int = 1) -> _Floats: ...
    def squared_norms(self, threads: int = 1) -> _Floats: ...
    def dual_epoch(
        self,
        squares: _Floats,
        slack: float,
        seed: int,
        order: _Integers,
        active: int,
        dual: _Floats,
        w: _Floats,
    ) -> tuple[int, float, float, float]: ...
    def svrg_steps(
        self,
        order: _Integers,
        smoothness: _Floats,
        total: float,
        dual: _Floats,
        v: _Floats,
        step: float,
        average_from: int,
        w: _Floats,
        sum: _Floats,
    ) -> None: ...
    def sgd_steps(
        self,
        order: _Integers,
        batch: int,
        first: float,
        offset: float,
        radius: float,
        dual: _Floats,
        w: _Floats,
        sum: _Floats,
    ) -> None: ...
    def score_models(self, models: _Floats, threads: int = 1) -> tuple[_Floats, _Floats]: ...

class LinearProblem32(_LinearProblem): ...
class LinearProblem64(_LinearProblem): ...

def draw_rows(share: _Floats, count: int, seed: int) -> _Integers: ...

class ClassBundle:
    def __init__(self, first: int, width: int, size: int, dense: bool, rows: _Integers) -> None: ...
    first: Final[int]
    width: Final[int]
    n_rows: Final[int]
    def shuffle(self, seed: int) -> None: ...
    def clear_weights(self) -> None: ...
    def release_weights(self) -> None: ...
    def squared_norm(self, mean: _Floats | None = None) -> float: ...
    def weight_count(self) -> int: ...
    def class_sum(self) -> _Floats: ...
    def dense_weights(self) -> _Floats: ...
    def add_dense_weights(self, weights: _Floats) -> None: ...
    def sparse_weights(
        self,
    ) -> tuple[_Floats, NDArray[np.int32] | _Integers, _Integers]: ...
    def duals(self) -> tuple[_Floats, NDArray[np.int32], _Integers]: ...
    def set_duals(
        self,
        values: _Floats,
        classes: NDArray[np.int32],
        start: _Integers,
    ) -> None: ...
    def dual_sum(self) -> float: ...
    stride: Final[int]
    def proximal_norms(
        self, mean: _Floats | None, anchor: _Floats, strength: float, threads: int = 1
    ) -> tuple[float, float]: ...
    def move_anchor(
        self,
        mean: _Floats | None,
        anchor: _Floats,
        last: _Floats,
        strength: float,
        momentum: float,
        threads: int = 1,
    ) -> None: ...

class _MulticlassProblem:
    def __init__(
        self,
        rows: Any,
        label: NDArray[np.int32],
        bound: _Floats,
        square: _Floats,
        classes: int,
        constant: float,
    ) -> None: ...
    def visit(
        self,
        formulation: str,
        home: ClassBundle,
        away: ClassBundle,
        mean: _Floats | None = None,
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
        mean: _Floats | None,
        scales: Sequence[float],
        threads: int = 1,
    ) -> list[float]: ...

class MulticlassProblem32(_MulticlassProblem): ...
class MulticlassProblem64(_MulticlassProblem): ...

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
    def consensus(
        cls,
        *arguments: Any,
        rho: float,
        levels: int,
        relaxation: float,
        epochs: int,
        liars: int,
        strict: bool,
        single: bool,
    ) -> Self: ...
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
        total: float = 0.0,
    ) -> Self: ...
    @classmethod
    def private_descent(
        cls,
        *arguments: Any,
        noise: float,
        bound: float,
        reach: float,
        releases: int,
        interval: int,
        step: float,
        momentum: float,
        key: bytes,
    ) -> Self: ...

class _GossipNetwork(_GossipMethods):
    @classmethod
    def average(cls, *arguments: Any, values: _Floats) -> _GossipNetwork: ...
    def run(self, rounds: int, stopping: Callable[[], bool] | None = None) -> int: ...
    def models(self) -> _Floats: ...
    def dual(self) -> _Floats | None: ...
    def total(self) -> _Floats: ...
    def sites(self) -> _Floats: ...
    round: Final[int]
    messages: Final[int]
    message_size: Final[int]
    message_singles: Final[int]
    stopped: Final[bool]

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
    def prepare(self, fraction: _Floats) -> None: ...
    def write(self, link: int) -> _Floats: ...
    def read(self, link: int, message: _Floats) -> None: ...
    def combine(self) -> None: ...
    def open(self, link: int) -> None: ...
    def abandon(self, link: int) -> None: ...
    def disregard(self, link: int) -> None: ...
    def save(self) -> bytes: ...
    def restore(self, state: bytes) -> None: ...
    def model(self) -> _Floats: ...
    def dual(self) -> _Floats | None: ...
    def links(self) -> _Floats: ...
    def sums(self, models: bool = False) -> tuple[_Floats, _Floats, _Floats] | None: ...
    estimate: Final[float]
    agreement: Final[float]
    apart: Final[float]
    content: Final[bool]
    counter: Final[int]
    steps: Final[int]
    releases: Final[int]
    def spend(self, releases: int) -> None: ...
    message_size: Final[int]
    body_size: Final[int]

class GossipSite32(_GossipSite): ...
class GossipSite64(_GossipSite): ...
