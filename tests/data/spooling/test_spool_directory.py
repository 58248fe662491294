"""The spool goes where it is told, and goes away."""

import subprocess
import sys
import tempfile

import numpy as np
import pytest

from widemargin.data import spool

X = np.arange(12.0).reshape(6, 2)
Y = [0, 1, 0, 1, 0, 1]


def batches_then(error):
    yield X, Y
    raise error


def test_where_it_is_told(tmp_path):
    rows = spool([(X, Y)], spool_dir=tmp_path)
    (directory,) = tmp_path.iterdir()
    assert rows.nbytes == sum(file.stat().st_size for file in directory.iterdir())
    rows.close()
    assert list(tmp_path.iterdir()) == []
    rows.close()


def test_where_temporary_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with spool([(X, Y)]):
        assert [path.name[:17] for path in tmp_path.iterdir()] == ["widemargin-spool-"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
def test_removed_after_an_error_of_the_source(tmp_path, error):
    with pytest.raises(error):
        spool(batches_then(error()), spool_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", [[(X, Y), (X[:, :1], Y)], [(X, np.ones(6))], [], "absent.svm"])
def test_removed_after_a_refusal(tmp_path, source):
    with pytest.raises(ValueError, match=r"."):
        spool(source, spool_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_removed_after_an_error_within_the_block_of_the_caller(tmp_path):
    with pytest.raises(ZeroDivisionError), spool([(X, Y)], spool_dir=tmp_path):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_interrupted_by_a_report(tmp_path):
    def report(*progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spool([(X, Y)], spool_dir=tmp_path, report=report)
    assert list(tmp_path.iterdir()) == []


def test_no_such_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"`spool_dir` must be a folder .* got .*absent"):
        spool([(X, Y)], spool_dir=tmp_path / "absent")


# The limit on the size of a file stands in for the size of the disk.
FULL_DISK = """
import resource, sys
import numpy as np
from widemargin.data import spool

X, y = np.ones((40_000, 10)), np.arange(40_000) % 2
np.savez_compressed("data.npz", X=X, y=y)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
for source in ((X.astype("i2"), y), [(X, y)], "data.npz"):
    try:
        spool(source, spool_dir=sys.argv[1], block_bytes=400_000)
    except OSError as error:
        print(error.strerror)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_full_disk(tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(room)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    messages = done.stdout.splitlines()
    assert len(messages) == 3
    for message in messages:
        assert message.startswith(f"No room for the spool in {room}: ")
        assert "more do not fit. Free some room, or give `spool_dir` on a larger disk" in message
    # The size of the matrix is known, so that what it needs can be told.
    needed = int(messages[0].split("; about ")[1].split(" bytes")[0].replace(",", ""))
    assert needed == pytest.approx(40_000 * (10 * 8 + 2), rel=0.05)
    assert list(room.iterdir()) == []
