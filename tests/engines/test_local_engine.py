"""The five verbs of the local engine, against plain loops."""

import sys
import threading
import time
from collections.abc import Callable
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest

from widemargin import LinearODMClassifier
from widemargin.engines import Engine, LocalEngine, resolve

threads = pytest.mark.parametrize("n_threads", [1, 2, 5])


def test_engines_are_recognised() -> None:
    assert isinstance(LocalEngine(), Engine)
    engine = LocalEngine(3)
    assert resolve(engine, 7) is engine
    local = resolve("local", 7)
    assert isinstance(local, LocalEngine)
    assert local.threads == 7
    for wrong in ("cloud", 3, object(), None):
        with pytest.raises(
            ValueError, match="`engine` must be 'local', 'spark' or an object with the verbs"
        ):
            resolve(wrong, 1)


@threads
def test_map_keeps_the_order(n_threads: int) -> None:
    """Large parts are worked on first, which the result does not show."""
    engine = LocalEngine(n_threads)
    parts = engine.scatter([SimpleNamespace(n_rows=n, name=str(n)) for n in (3, 50, 7, 50, 1, 0)])

    def work(part: SimpleNamespace) -> str:
        time.sleep(0.002 * (part.n_rows % 5))
        return f"<{part.name}>"

    assert engine.map(parts, work) == [work(part) for part in parts]
    assert engine.map(engine.scatter([]), work) == []
    assert engine.map([1, 2, 3], lambda part: part * 2) == [2, 4, 6]


def test_large_parts_first() -> None:
    engine = LocalEngine(2)
    begun: list[int] = []
    parts = [SimpleNamespace(n_rows=n) for n in (1, 5, 3, 9, 2)]
    engine.map(parts, lambda part: begun.append(part.n_rows))
    assert sorted(begun[:2], reverse=True) == [9, 5]


@threads
def test_map_works_on_parts_at_the_same_time(n_threads: int) -> None:
    engine = LocalEngine(n_threads)
    lock, now, most = threading.Lock(), [0], [0]

    def work(_: int) -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1

    engine.map(list(range(12)), work)
    assert most[0] == n_threads


@threads
def test_regroup_equals_a_loop(n_threads: int) -> None:
    engine = LocalEngine(n_threads)
    parts = [list(range(k, k + 5)) for k in range(7)]

    def split(number: int, part: list[int]) -> list[tuple[int, tuple[int, int]]]:
        return [((value * 5) % 11, (number, value)) for value in part]

    expected: dict[int, list[tuple[int, int]]] = {}
    for number, part in enumerate(parts):
        for target, piece in split(number, part):
            expected.setdefault(target, []).append(piece)
    result = engine.regroup(parts, split, list, 20)
    assert result == [expected[target] for target in sorted(expected)]  # numbers left out: no part
    assert engine.regroup(parts, lambda number, part: [(0, number)], list, 1) == [list(range(7))]
    assert engine.regroup(parts, lambda number, part: [], list, 3) == []


@threads
def test_reduce_goes_in_order(n_threads: int) -> None:
    engine = LocalEngine(n_threads)
    parts = ["b", "a", "d", "c"]
    assert engine.reduce(parts, str.upper, lambda a, b: a + b) == "BADC"
    values = [0.1, 1e16, -1e16, 0.7]
    assert engine.reduce(values, float, float.__add__) == reduce(float.__add__, values)
    assert engine.reduce([3], lambda part: part, max) == 3


@threads
def test_visit_passes_a_value_on(n_threads: int) -> None:
    engine = LocalEngine(n_threads)
    parts, value = [2, 3, 5], 1
    for i in (2, 0, 1, 1):
        value = engine.visit(parts, i, lambda part, value: value * part, value)
    assert value == 5 * 2 * 3 * 3


@threads
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_what_is_raised_in_a_part_is_raised(n_threads: int, error: type[BaseException]) -> None:
    """Work not yet begun is dropped, work in progress is told to stop, the engine lives on."""
    engine = LocalEngine(n_threads)
    done: list[int] = []

    def work(part: int) -> int:
        if part == 1:
            raise error("part one")
        deadline = time.perf_counter() + 5.0
        while part > 1 and not engine.stopping() and time.perf_counter() < deadline:
            time.sleep(0.001)
        done.append(part)
        return part

    began = time.perf_counter()
    with pytest.raises(error, match="part one"):
        engine.map(list(range(40)), work)
    assert time.perf_counter() - began < 4.0
    assert len(done) <= 1 + 2 * n_threads
    assert engine.map([0], work) == [0]
    assert not engine.stopping()


@pytest.mark.parametrize("verb", ["split", "combine"])
def test_errors_in_regroup(verb: str) -> None:
    def fail(*_: object) -> list[tuple[int, int]]:
        raise RuntimeError("no")

    split: Callable[..., list[tuple[int, int]]] = fail if verb == "split" else lambda k, p: [(0, p)]
    combine = fail if verb == "combine" else list
    with pytest.raises(RuntimeError, match="no"):
        LocalEngine(2).regroup([1, 2], split, combine, 2)


@pytest.mark.parametrize("n_parts", [1, 2, 3, 9, 1000])
def test_share(n_parts: int) -> None:
    """Never more threads than there are; memory is shared out whatever they are."""
    shares = {n_threads: LocalEngine(n_threads).share(n_parts) for n_threads in (1, 2, 4, 64)}
    (sharers,) = {share.sharers for share in shares.values()}
    assert 1 <= sharers <= n_parts
    for n_threads, share in shares.items():
        at_a_time = min(sharers, n_threads)
        assert share.threads >= 1
        assert share.threads * at_a_time <= n_threads
    assert LocalEngine(4).share(1).threads == 4


@threads
def test_listener_hears_of_every_part(n_threads: int) -> None:
    engine = LocalEngine(n_threads)
    heard: list[tuple[int, int]] = []
    main = threading.current_thread()

    def listener(done: int, of: int) -> None:
        assert threading.current_thread() is main
        heard.append((done, of))

    engine.map([1, 2, 3, 4], lambda part: part, listener)
    assert heard[-1] == (4, 4)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    heard.clear()
    engine.map([1], lambda part: part, listener)
    assert heard == []  # one part reports for itself


def test_spark_without_pyspark_says_what_to_install(monkeypatch):
    for module in ("pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, module, None)
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = LinearODMClassifier(engine="spark")
    with pytest.raises(ImportError, match=r'pip install "widemargin\[spark\]"'):
        model.fit(X, X[:, 0] > 0)
