"""Copies of parts on a worker's disk; no Spark is started."""

import os
import pickle
import stat
import time

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("pyarrow")
pytest.importorskip("fcntl")
import pyarrow as pa

from widemargin.engines import part_files, spark_tasks
from widemargin.engines.part_files import PartFiles
from widemargin.engines.spark_tasks import chunk_rows, folded, parts_of

LIMIT = 10**7
# Larger than parts that stay whole.
X = np.arange(40_000.0).reshape(4_000, 10)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    return tmp_path / part_files.FOLDER


@pytest.fixture
def files():
    return PartFiles("fit", "parts", LIMIT)


def data_of(size):
    return memoryview(bytearray(size))


def stored(root):
    return sorted(path for path in root.glob("*/*/*") if path.is_file())


def heads(rows):
    """Return rows as Spark sends them to workers that have copies."""
    none = pa.array([None], pa.binary())
    return [
        pa.RecordBatch.from_arrays([*row.columns[:3], none], schema=spark_tasks.CHUNKS)
        for row in rows[:1]
    ]


def total(part):
    return float(part.sum())


def asked(files, batches):
    """Return the answers of a task, as (numbers of its parts, value) and what was lost."""
    rows = [
        row for batch in folded(files, parts_of, total, max, batches) for row in batch.to_pylist()
    ]
    return [(row["chunk"] == spark_tasks.LOST, pickle.loads(row["data"])) for row in rows]


@pytest.mark.parametrize(
    "part",
    [
        X,
        X.astype(np.float32),
        {"X": X, "same": X, "small": np.arange(3), "none": np.empty((0, 5)), "text": "θ"},
        np.asfortranarray(X),
        sp.random(3_000, 100, 0.2, format="csr", random_state=0),
        X[::2, 1::2],
        np.arange(5),
    ],
    ids=["dense", "float32", "mixed", "columns first", "csr", "strided", "small"],
)
def test_a_part_is_the_same_from_rows_and_from_a_copy(part, files, monkeypatch):
    monkeypatch.setattr(spark_tasks, "CHUNK_BYTES", 100_000)
    rows = list(chunk_rows(7, part, files))
    for found in (*parts_of(rows), *parts_of(heads(rows), files)):
        assert found[0] == 7
        assert pickle.dumps(found[1]) == pickle.dumps(part)


def test_a_worker_changes_its_own_arrays_alone(files):
    rows = list(chunk_rows(0, X, files))
    for source in (rows, heads(rows)):
        ((_, first),) = parts_of(source, files)
        first[:] = -1.0
        ((_, second),) = parts_of(source, files)
        np.testing.assert_array_equal(second, X)


def test_small_parts_need_no_file(files, root):
    rows = list(chunk_rows(0, X[:100], files))
    assert stored(root) == []
    assert asked(files, heads(rows)) == [(False, ([0], total(X[:100])))]


def test_a_part_that_is_made_again_has_a_file_of_its_own(files, root):
    list(chunk_rows(0, X, files))
    list(chunk_rows(0, X + 1, files))
    assert len({path.name for path in stored(root)}) == 2


def test_rows_that_were_sent_are_kept(files, root):
    rows = list(chunk_rows(3, X))
    assert stored(root) == []
    assert asked(files, heads(rows)) == [(True, (3, 3, False))]
    assert asked(files, rows) == [(False, ([3], total(X)))]
    assert asked(files, heads(rows)) == [(False, ([3], total(X)))]


@pytest.mark.parametrize("damage", ["gone", "cut", "longer", "link"])
def test_a_damaged_copy_is_lost(damage, files, root):
    rows = list(chunk_rows(3, X, files))
    (path,) = stored(root)
    if damage == "gone":
        path.unlink()
    elif damage == "link":
        path.rename(root / "elsewhere")
        path.symlink_to(root / "elsewhere")
    else:
        os.truncate(path, path.stat().st_size + (-1 if damage == "cut" else 1))
    assert asked(files, heads(rows)) == [(True, (3, 3, False))]


def test_a_task_that_lost_a_copy_reads_on_and_names_all_its_parts(files, root):
    rows = [list(chunk_rows(number, X, files)) for number in (4, 5, 6)]
    gone = pickle.loads(rows[1][0].column("head")[0].as_py())[2]
    (root / "fit" / "parts" / gone).unlink()
    batches = iter([batch for each in rows for batch in heads(each)])
    assert asked(files, batches) == [(True, (4, 6, False))]
    assert next(batches, None) is None


def test_files_hold_nothing_that_is_unpickled(files, root):
    """Whatever is in a file becomes numbers."""
    rows = list(chunk_rows(0, X, files))
    (path,) = stored(root)
    evil = pickle.dumps(pytest.fail, protocol=5)
    path.write_bytes(evil + path.read_bytes()[len(evil) :])
    ((_, part),) = parts_of(heads(rows), files)
    assert part.dtype == X.dtype
    assert part.shape == X.shape


def test_files_are_for_their_user_alone(files, root):
    before = os.umask(0)
    try:
        list(chunk_rows(0, X, files))
    finally:
        os.umask(before)
    for path in (root, *root.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize("other", ["open to all", "a link"])
def test_a_folder_of_others_is_not_used(other, files, root, tmp_path):
    if other == "a link":
        (tmp_path / "real").mkdir(mode=0o700)
        root.symlink_to(tmp_path / "real")
    else:
        root.mkdir()
        root.chmod(0o777)
    assert not files.write("name", data_of(10))
    assert files.read("name", 10) is None
    assert not files.has_room(10)
    files.tidy()
    files.remove()


def test_no_folder_no_copies(files, monkeypatch):
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    assert not files.write("name", data_of(10))
    assert asked(files, heads(list(chunk_rows(1, X)))) == [(True, (1, 1, True))]


def test_all_fits_together_keep_to_the_limit(root):
    one, other = PartFiles("one", "parts", 1_000), PartFiles("other", "parts", 1_000)
    assert one.write("a", data_of(600))
    assert not other.write("b", data_of(500))
    assert not other.has_room(500)
    assert other.write("c", data_of(400))
    assert not one.has_room(1)
    one.remove()
    assert [path.name for path in stored(root)] == ["c"]
    assert one.write("d", data_of(600))


def test_released_parts_make_room(root):
    first = PartFiles("fit", "first", 1_000)
    assert first.write("a", data_of(900))
    second = PartFiles("fit", "second", 1_000, released=("first",))
    assert not second.write("b", data_of(900))
    second.tidy()
    assert second.write("b", data_of(900))


@pytest.mark.parametrize("after", [10.0, 2 * part_files.STALE_SECONDS])
def test_what_a_dead_fit_left_is_removed_after_a_while(after, root):
    dead, alive = PartFiles("dead", "parts", 1_000), PartFiles("alive", "parts", 1_000)
    assert dead.write("a", data_of(900))
    then = time.time() - after
    os.utime(root / "dead", (then, then))
    assert alive.write("b", data_of(900)) == (after > part_files.STALE_SECONDS)
    assert (root / "dead").exists() != (after > part_files.STALE_SECONDS)


def test_a_full_disk_stays_as_free_as_it_is(files, monkeypatch):
    usage = part_files.shutil.disk_usage("/")
    monkeypatch.setattr(
        part_files.shutil, "disk_usage", lambda _: usage._replace(total=10**12, free=10**11)
    )
    assert not files.write("name", data_of(10))


def test_a_write_that_fails_leaves_nothing(files, root, monkeypatch):
    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(part_files.Path, "rename", fail)
    assert not files.write("name", data_of(1_000))
    assert stored(root) == []
    assert files.has_room(LIMIT)
