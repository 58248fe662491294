"""Checkpoints: a fit that is killed at any moment goes on from the last level it finished.

Fits to be killed run in processes of their own and kill themselves with SIGKILL at a chosen
moment. The same fit then runs again here, and must solve only what was lost and end with the
model of a fit that was never interrupted, bit for bit.
"""

from __future__ import annotations

import copy
import errno
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.kernel.divide import checkpoints
from widemargin.kernel.divide import loop as divide_and_conquer
from widemargin.persistence import atomic_write, dumps

STRATEGIES = {
    "stratified": (ODMClassifier, Stratified(levels=2, fan_in=2, n_strata=4)),
    "clustered": (SVMClassifier, Clustered(levels=2, fan_in=2)),
    "cascade": (SVMClassifier, Cascade(levels=2, fan_in=2)),
    "preserving": (ODMClassifier, Preserving(levels=2, fan_in=2, n_strata=4)),
}
EVERY_STRATEGY = pytest.mark.parametrize("name", STRATEGIES)


def blobs(n_classes=2, n_rows=240):
    random = np.random.default_rng(5)
    y = np.arange(n_rows) % n_classes
    return random.normal(size=(n_rows, 4)) + 0.7 * y[:, None], y


def estimator_of(name, **params):
    cls, strategy = STRATEGIES[name]
    return copy.deepcopy(cls(**{"strategy": strategy, "random_state": 3, **params}))


def bits(model):
    """Return all there is of a fitted model but the time it took."""
    model = copy.deepcopy(model)
    model.history_["seconds"][:] = 0
    return dumps(model)


def levels_in(folder):
    return sorted(path.name for path in Path(folder).glob("*/*.wml"))


@pytest.fixture
def solved(monkeypatch):
    """Return the list that gets the number of rows of every part solved in this process."""
    rows = []
    solve = divide_and_conquer.solve_part

    def counted(part, **settings):
        rows.append(part.n_rows)
        return solve(part, **settings)

    monkeypatch.setattr(divide_and_conquer, "solve_part", counted)
    return rows


# --- fits that are killed -------------------------------------------------------------------

needs_sigkill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def die():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # a thread may run on for a moment


def die_after_writing(number):
    write = checkpoints.Checkpoints.write

    def write_and_die(self, name, data):
        write(self, name, data)
        written[0] += 1
        if written[0] == number:
            die()

    written = [0]
    checkpoints.Checkpoints.write = write_and_die


def die_within_a_write(number):
    """Die when half of a file is on disk."""

    class Half:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def write(self, data):
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            die()

    def open_half(path, mode, **options):
        opened[0] += 1
        file = open(path, mode, **options)  # noqa: SIM115
        return Half(file) if opened[0] == number else file

    opened = [0]
    atomic_write.open = open_half


def die_within_a_level(number):
    """Die at the second part of the level after ``number - 1`` have been kept."""
    write, solve = checkpoints.Checkpoints.write, divide_and_conquer.solve_part
    written, begun = [0], [0]

    def counting_write(self, name, data):
        write(self, name, data)
        written[0] += 1

    def solve_or_die(part, **settings):
        if written[0] == number - 1:
            begun[0] += 1
            if begun[0] == 2:
                die()
        return solve(part, **settings)

    checkpoints.Checkpoints.write = counting_write
    divide_and_conquer.solve_part = solve_or_die


def fit_in_child(estimator, X, y, moment, number, begun):
    if moment is not None:
        moment(number)
    begun.set()
    estimator.fit(X, y)


def start_fit(estimator, X, y, moment=None, number=0):
    """Begin a fit in another process; return the process once the fit itself begins."""
    # A server that has imported everything forks the children: no second of imports for each.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["widemargin.estimators.kernel", "sklearn.utils", "pytest"])
    begun = context.Event()
    process = context.Process(target=fit_in_child, args=(estimator, X, y, moment, number, begun))
    process.start()
    assert begun.wait(60)
    return process


def killed_fit(estimator, X, y, moment, number):
    process = start_fit(estimator, X, y, moment, number)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


# Moment, which level or write, levels kept by then, and parts that are left to solve.
MOMENTS = [
    (die_after_writing, 1, 1, 3),
    (die_after_writing, 2, 2, 1),
    (die_within_a_level, 1, 0, 7),
    (die_within_a_level, 2, 1, 3),
    (die_within_a_write, 2, 1, 3),
    (die_within_a_write, 3, 2, 1),
]


@needs_sigkill
@EVERY_STRATEGY
def test_a_killed_fit_goes_on_from_the_last_level(name, tmp_path, solved):
    X, y = blobs()
    expected = bits(estimator_of(name).fit(X, y))
    assert len(solved) == 7
    for moment, number, kept, left in MOMENTS:
        folder = tmp_path / f"{moment.__name__}-{number}"
        estimator = estimator_of(name, checkpoint=folder)
        killed_fit(estimator, X, y, moment, number)
        assert len(levels_in(folder)) == kept
        leftovers = list(folder.glob("*/.*.wm.tmp"))
        assert len(leftovers) == (moment is die_within_a_write)
        solved.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert bits(estimator.fit(X, y)) == expected
        assert len(solved) == left
        solved.clear()
        assert bits(estimator.fit(X, y)) == expected
        assert solved == []  # everything is there now


@needs_sigkill
@pytest.mark.parametrize("name", ["stratified", "clustered"])
def test_a_fit_killed_again_and_again_comes_to_its_end(name, tmp_path):
    """Killed from outside, at moments that nothing in the fit knows of."""
    X, y = blobs(n_rows=1500)
    began = time.perf_counter()
    expected = bits(estimator_of(name).fit(X, y))
    seconds = time.perf_counter() - began
    estimator = estimator_of(name, checkpoint=tmp_path)
    for share in (0.2, 0.4, 0.6, 0.8):
        process = start_fit(estimator, X, y)
        process.join(share * seconds)
        process.kill()
        process.join()
    assert bits(estimator.fit(X, y)) == expected


@needs_sigkill
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_finished_problems_are_not_solved_again(multi_class, tmp_path, solved):
    X, y = blobs(n_classes=3)
    estimator = estimator_of("clustered", multi_class=multi_class, checkpoint=tmp_path)
    expected = bits(estimator_of("clustered", multi_class=multi_class).fit(X, y))
    assert len(solved) == 21
    killed_fit(estimator, X, y, die_after_writing, 5)  # three levels of a problem, two of the next
    solved.clear()
    assert bits(estimator.fit(X, y)) == expected
    assert len(solved) == 1 + 7


@needs_sigkill
def test_several_processes_in_one_folder(tmp_path, solved):
    X, y = blobs()
    estimator = estimator_of("clustered", checkpoint=tmp_path)
    processes = [start_fit(estimator, X, y) for _ in range(3)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert bits(estimator.fit(X, y)) == bits(estimator_of("clustered").fit(X, y))
    assert len(solved) == 7  # of the second fit alone
    assert len(os.listdir(tmp_path)) == 1
    assert not list(tmp_path.glob("*/.*"))


# --- what is kept and what is resumed -------------------------------------------------------


@EVERY_STRATEGY
def test_a_fit_goes_on_from_a_level_it_was_told_to_stop_at(name, tmp_path, solved):
    X, y = blobs()
    estimator = estimator_of(name, checkpoint=tmp_path)
    counts = []
    for stop_level in (2, 1, 0, 2):
        estimator.strategy.stop_level = stop_level
        early = estimator_of(name)
        early.strategy.stop_level = stop_level
        expected = bits(early.fit(X, y))
        solved.clear()
        assert bits(estimator.fit(X, y)) == expected
        counts.append(len(solved))
    assert counts == [4, 2, 1, 0]


def fits_of_all_kinds():
    X, y = blobs()
    Z, z = blobs(n_classes=3)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], size=len(y))
    kernel = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    yield "csr", "clustered", {}, (sparse.csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X)), y)
    yield "float32", "clustered", {}, (X.astype(np.float32), y)
    yield "precomputed", "clustered", {"kernel": "precomputed"}, (kernel, y)
    yield "intercept", "clustered", {"fit_intercept": True}, (X, y)
    yield "sample weights", "stratified", {}, (X, y, weight)
    yield "object labels", "stratified", {}, (Z, np.array(["c", "a", "b"], dtype=object)[z])
    yield "class weights", "cascade", {"class_weight": {np.int64(0): 2.0, "x": 1.0}}, (X, y)
    yield "indefinite", "stratified", {"kernel": "sigmoid", "coef0": -1.0}, (X, y)
    yield (
        "rows held out",
        "stratified",
        {"strategy": Stratified(2, 2, validation_fraction=0.3)},
        (
            X,
            y,
        ),
    )
    yield "printed", "cascade", {"strategy": Cascade(2, 2, printed=True)}, (X, y)


@pytest.mark.filterwarnings("ignore:The kernel matrix")
@pytest.mark.parametrize(
    ("name", "params", "data"),
    [kind[1:] for kind in fits_of_all_kinds()],
    ids=[kind[0] for kind in fits_of_all_kinds()],
)
def test_every_kind_of_fit_resumes(name, params, data, tmp_path, solved):
    """Stop above the root, then go on: the same as in one go."""
    expected = estimator_of(name, **params).fit(*data)
    full = len(solved)
    early = estimator_of(name, **params, checkpoint=tmp_path)
    early.strategy.stop_level = 1
    early.fit(*data)
    solved.clear()
    resumed = estimator_of(name, **params, checkpoint=tmp_path).fit(*data)
    assert len(solved) < full
    assert len(os.listdir(tmp_path)) == 1
    assert bits(resumed) == bits(expected)


def test_history_goes_on(tmp_path):
    X, y = blobs()
    estimator = estimator_of("stratified", checkpoint=tmp_path)
    estimator.strategy.stop_level = 1
    before = estimator.fit(X, y).history_
    estimator.strategy.stop_level = 0
    after = estimator.fit(X, y).history_
    assert after["level"].tolist() == [2, 1, 0]
    assert after["seconds"][:2].tolist() == before["seconds"].tolist()
    assert np.all(np.diff(after["seconds"]) > 0)


def test_threads_do_not_matter_to_a_resumed_fit(tmp_path, solved):
    X, y = blobs()
    expected = bits(estimator_of("clustered", n_jobs=2).fit(X, y))
    estimator = estimator_of("clustered", n_jobs=1, checkpoint=tmp_path)
    estimator.strategy.stop_level = 1
    estimator.fit(X, y)
    solved.clear()
    estimator.strategy.stop_level = 0
    assert bits(estimator.set_params(n_jobs=2).fit(X, y)) == expected
    assert len(solved) == 1


def test_a_fit_goes_on_where_its_time_was_over(tmp_path, monkeypatch, solved):
    write = checkpoints.Checkpoints.write

    def slow_write(self, name, data):
        write(self, name, data)
        time.sleep(1.0)

    X, y = blobs()
    with monkeypatch.context() as slow:
        slow.setattr(checkpoints.Checkpoints, "write", slow_write)
        with pytest.warns(ConvergenceWarning, match="stopped at level 2 of 2"):
            estimator_of("stratified", checkpoint=tmp_path, max_time=1.0).fit(X, y)
    solved.clear()
    resumed = estimator_of("stratified", checkpoint=tmp_path).fit(X, y)
    assert len(solved) == 3
    assert bits(resumed) == bits(estimator_of("stratified").fit(X, y))


def test_a_generator_makes_the_choices_of_its_state(tmp_path, solved):
    X, y = blobs()
    for state in (3, np.random.RandomState(3)):
        estimator_of("stratified", random_state=state, checkpoint=tmp_path).fit(X, y)
    assert len(os.listdir(tmp_path)) == 1
    assert len(solved) == 7


def test_without_a_seed_the_choices_are_the_same_again(tmp_path, solved):
    X, y = blobs()
    for _ in range(2):
        estimator_of("stratified", random_state=None, checkpoint=tmp_path).fit(X, y)
    assert len(os.listdir(tmp_path)) == 1
    assert len(solved) == 7


# --- a checkpoint changes nothing but the time ----------------------------------------------


def product_kernel(A, B):
    return A @ B.T


def test_functions_of_equal_values_are_the_same_kernel(tmp_path, solved):
    """A function is another object in every process."""
    X, y = blobs()
    for kernel in (product_kernel, lambda A, B: A @ B.T):
        estimator_of("stratified", kernel=kernel, checkpoint=tmp_path).fit(X, y)
    assert len(os.listdir(tmp_path)) == 1
    assert len(solved) == 7


def judged_fit(X, y, stop_level=0, **params):
    estimator = estimator_of("stratified", **params)
    estimator.strategy.stop_level = stop_level
    return estimator.fit(X[:180], y[:180], X_val=X[180:], y_val=y[180:])


def test_validation_rows_are_part_of_a_fit(tmp_path):
    X, y = blobs()
    early = estimator_of("stratified", checkpoint=tmp_path)
    early.strategy.stop_level = 2
    early.fit(X[:180], y[:180])
    resumed = judged_fit(X, y, checkpoint=tmp_path)
    assert bits(resumed) == bits(judged_fit(X, y))


def test_the_start_is_part_of_a_fit(tmp_path):
    X, y = blobs()
    models = []
    for folder in (None, tmp_path):
        estimator = estimator_of("stratified", warm_start=True, checkpoint=folder)
        models.append(bits(estimator.fit(X, y).fit(X, y)))
    assert models[0] == models[1]


def test_a_level_that_validation_refused_is_not_solved_again(tmp_path, solved):
    X, y = blobs()
    fits = (judged_fit(X, y, random_state=seed) for seed in range(30))
    # Of which the last level was no better.
    seed = next(s for s, fit in enumerate(fits) if fit.level_ > fit.history_["level"].min())
    first = judged_fit(X, y, random_state=seed, checkpoint=tmp_path)
    solved.clear()
    again = judged_fit(X, y, random_state=seed, checkpoint=tmp_path)
    assert solved == []
    assert bits(again) == bits(first) == bits(judged_fit(X, y, random_state=seed))
    stopped = judged_fit(X, y, random_state=seed, stop_level=first.level_, checkpoint=tmp_path)
    assert bits(stopped) == bits(judged_fit(X, y, random_state=seed, stop_level=first.level_))


def test_a_fit_that_stood_still_stays_there(tmp_path):
    X, y = blobs()
    expected = estimator_of("cascade", tol=0.5).fit(X, y)
    assert expected.level_ > 0
    estimator = estimator_of("cascade", tol=0.5, checkpoint=tmp_path)
    for _ in range(2):
        assert bits(estimator.fit(X, y)) == bits(expected)


# --- which fits are the same ----------------------------------------------------------------


def small_fit(folder, *, cls=ODMClassifier, X=None, y=None, sample_weight=None, **params):
    given_X, given_y = blobs(n_classes=3, n_rows=60)
    params = {"strategy": Stratified(1, 2, n_strata=4), "random_state": 0, **params}
    estimator = cls(checkpoint=folder, **params)
    X, y = given_X if X is None else X, given_y if y is None else y
    return estimator.fit(X, y, sample_weight)


@pytest.mark.parametrize(
    "params",
    [
        {"n_jobs": 1},
        {"n_jobs": 2},
        {"max_time": 3600.0},
        {"verbose": 0},
        {"decision_function_shape": "ovr"},
        {"strategy": Stratified(1, 2, stop_level=1, n_strata=4)},
        {"y": np.array(["a", "b", "c"])[blobs(3, 60)[1]]},
        {"X": np.asfortranarray(blobs(3, 60)[0])},
        {"sample_weight": np.ones(60)},
    ],
    ids=lambda params: next(iter(params)),
)
def test_what_does_not_shape_the_levels_leaves_the_folder(params, tmp_path):
    small_fit(tmp_path)
    small_fit(tmp_path, **params)
    assert len(os.listdir(tmp_path)) == 1


X60, y60 = blobs(3, 60)
DIFFERENT = [
    {"C": 2.0},
    {"lam": 10.0},
    {"theta": 0.1},
    {"upsilon": 0.25},
    {"gamma": 0.5},
    {"kernel": "laplacian"},
    {"kernel": "poly", "degree": 2},
    {"kernel": "poly", "coef0": 0.5},
    {"fit_intercept": True},
    {"multi_class": "ovo"},
    {"tol": 1e-4},
    {"max_iter": 77},
    {"solver": "newton"},
    {"memory_limit": "500MB"},
    {"class_weight": "balanced", "sample_weight": 1.0 + y60},
    {"class_weight": {0: 2.0}},
    {"sample_weight": 1.0 + y60},
    {"random_state": 1},
    {"cls": SVMClassifier},
    {"cls": SVMClassifier, "loss": "squared_hinge"},
    {"strategy": Stratified(2, 2, n_strata=4)},
    {"strategy": Stratified(1, 3, n_strata=4)},
    {"strategy": Stratified(1, 2, n_strata=5)},
    {"strategy": Stratified(1, 2, n_strata=4, printed=True)},
    {"strategy": Stratified(1, 2, n_strata=4, validation_fraction=0.2)},
    {"strategy": Preserving(1, 2, n_strata=4)},
    {"strategy": Cascade(1, 2)},
    {"strategy": Clustered(1, 2)},
    {"strategy": Clustered(1, 2, n_sample=50)},
    {"X": X60.astype(np.float32)},
    {"X": np.nextafter(X60, np.inf)},
    {"X": X60[::-1]},
    {"X": sparse.csr_array(X60)},
    {"X": sparse.csr_array(np.hstack([X60, np.zeros((60, 1))]))},
    {"X": sparse.csr_array(np.hstack([X60, np.zeros((60, 2))]))},
    {"y": np.roll(y60, 1)},
    {"y": np.where(y60 == 2, 0, y60)},
]


def test_what_shapes_the_levels_is_in_the_name_of_the_folder(tmp_path):
    small_fit(tmp_path)
    for count, params in enumerate(DIFFERENT, start=1):
        assert len(os.listdir(tmp_path)) == count
        small_fit(tmp_path, **params)
    assert len(os.listdir(tmp_path)) == len(DIFFERENT) + 1


# --- folders and files that cannot be used --------------------------------------------------


def warned_once(estimator, X, y, message):
    with pytest.warns(UserWarning, match=message) as caught:
        estimator.fit(X, y)
    assert len(caught) == 1
    return bits(estimator)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_reported_and_the_fit_goes_on(step, tmp_path, monkeypatch):
    def no_space(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    X, y = blobs()
    estimator = estimator_of("clustered", checkpoint=tmp_path)
    monkeypatch.setattr(os, step, no_space)
    got = warned_once(estimator, X, y, r"could not be kept .*No space left.*goes on without")
    assert got == bits(estimator_of("clustered").fit(X, y))
    assert not list(tmp_path.glob("*/*"))


def test_levels_are_kept_again_once_there_is_space(tmp_path, monkeypatch, solved):
    sync, calls = os.fsync, []

    def no_space_at_first(descriptor):
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    X, y = blobs()
    estimator = estimator_of("cascade", checkpoint=tmp_path)
    monkeypatch.setattr(os, "fsync", no_space_at_first)
    expected = warned_once(estimator, X, y, "No space left")
    assert levels_in(tmp_path) == ["problem-0-level-0.wml", "problem-0-level-1.wml"]
    solved.clear()
    assert bits(estimator.fit(X, y)) == expected
    assert solved == []


FIT_ON_A_SMALL_DISK = """
import sys, warnings
sys.path[:0] = [{tests!r}]
from test_checkpoints import bits, blobs, estimator_of, levels_in

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = estimator_of("stratified", checkpoint={folder!r}).fit(*blobs())
assert ["No space left" in str(warning.message) for warning in caught] == [True], caught
assert bits(model) == bits(estimator_of("stratified").fit(*blobs()))
assert len(levels_in({folder!r})) in (1, 2)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs Linux's unshare")
def test_a_disk_that_fills_up(tmp_path):
    """A file system of its own with room for one or two of the three levels."""
    mount = ["unshare", "--user", "--mount", "--map-root-user", "sh", "-c"]
    disk = f"mount -t tmpfs -o size=20k tmpfs {tmp_path}"
    if subprocess.run([*mount, disk], capture_output=True).returncode != 0:
        pytest.skip("mounting is not permitted here")
    program = FIT_ON_A_SMALL_DISK.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    finished = subprocess.run(
        [*mount, f'{disk} && exec "$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").write_text("in the way")
    X, y = blobs()
    estimator = estimator_of("stratified", checkpoint=tmp_path / "file")
    got = warned_once(estimator, X, y, r"could not be kept in .*\(Not a directory\)")
    assert got == bits(estimator_of("stratified").fit(X, y))


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user whom permissions bind"
)
def test_a_folder_without_permission_is_reported(tmp_path):
    tmp_path.chmod(0o500)
    X, y = blobs()
    estimator = estimator_of("stratified", checkpoint=tmp_path)
    warned_once(estimator, X, y, r"could not be kept in .*\(Permission denied\)")
    tmp_path.chmod(0o700)


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


def emptied(path):
    path.write_bytes(b"")


def one_bit_flipped(path):
    data = bytearray(path.read_bytes())
    data[-50] ^= 1
    path.write_bytes(data)


def replaced_by_a_model(path):
    ODMClassifier().fit(*blobs()).save(path)


def replaced_by_a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage", [cut_short, emptied, one_bit_flipped, replaced_by_a_model, replaced_by_a_folder]
)
def test_damaged_files_are_passed_over(damage, tmp_path, solved):
    X, y = blobs()
    estimator = estimator_of("clustered", checkpoint=tmp_path)
    estimator.strategy.stop_level = 1
    estimator.fit(X, y)
    estimator.strategy.stop_level = 0
    (last,) = tmp_path.glob("*/problem-0-level-1.wml")
    damage(last)
    expected = bits(estimator_of("clustered").fit(X, y))
    solved.clear()
    message = "problem-0-level-1.wml' cannot be used and is passed over"
    with pytest.warns(UserWarning, match=message) as caught:
        estimator.fit(X, y)
    assert len(caught) == 1 + (damage is replaced_by_a_folder)  # where no file can be written
    assert len(solved) == 3  # from the level before, which is whole
    assert bits(estimator) == expected
    if damage is not replaced_by_a_folder:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            estimator.fit(X, y)  # it was written anew


def test_a_level_of_a_larger_training_set_is_passed_over(tmp_path):
    X, y = blobs()
    large = estimator_of("cascade", checkpoint=tmp_path / "large").fit(X, y)
    small = estimator_of("cascade", checkpoint=tmp_path / "small").fit(X[:60], y[:60])
    expected = bits(small)
    (source,) = (tmp_path / "large").glob("*/problem-0-level-2.wml")
    (folder,) = (tmp_path / "small").iterdir()
    for path in folder.iterdir():
        path.unlink()
    shutil.copy(source, folder)
    with pytest.warns(UserWarning, match="rows that the training set lacks"):
        small.fit(X[:60], y[:60])
    assert bits(small) == expected != bits(large)


def test_leftovers_of_killed_writes_are_removed_once_they_are_old(tmp_path):
    X, y = blobs()
    estimator = estimator_of("cascade", checkpoint=tmp_path)
    estimator.strategy.stop_level = 2
    estimator.fit(X, y)
    (folder,) = tmp_path.iterdir()
    old, young = folder / ".0123.wm.tmp", folder / ".4567.wm.tmp"
    for path in (old, young):
        path.write_bytes(b"half a level")
    hours_ago = time.time() - 2 * checkpoints.SECONDS_OF_A_WRITE
    os.utime(old, (hours_ago, hours_ago))
    estimator.strategy.stop_level = 0
    estimator.fit(X, y)
    assert not old.exists()
    assert young.exists()  # another process may be writing it


def test_numbers_that_json_lacks_are_kept(tmp_path):
    X, y = blobs()
    estimator = estimator_of("stratified", kernel="sigmoid", coef0=-1.0, checkpoint=tmp_path)
    with pytest.warns(UserWarning, match="indefinite"):
        first = estimator.fit(X, y).history_
    with pytest.warns(UserWarning, match="indefinite"):
        again = estimator.fit(X, y).history_
    assert np.isnan(first["worst_gap"]).any()
    np.testing.assert_array_equal(first["worst_gap"], again["worst_gap"])


def test_the_folder_is_made_in_one_that_exists(tmp_path):
    X, y = blobs()
    estimator_of("cascade", checkpoint=str(tmp_path / "new")).fit(X, y)
    assert (tmp_path / "new").is_dir()
    with pytest.raises(FileNotFoundError, match=r"no folder '.*such'\. Create it first"):
        estimator_of("cascade", checkpoint=str(tmp_path / "no" / "such" / "path")).fit(X, y)
    assert not (tmp_path / "no").exists()
