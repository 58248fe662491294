"""Finished levels on the cluster's file system, so that a fit whose driver died goes on.

All files of a fit are rows of one Parquet table, to which a write adds: what is there is never
touched, and what a killed write left behind is never seen. A file is several chunks; one that
lacks some is skipped. The bytes are those of :mod:`widemargin.kernel.divide.checkpoints`, which
hold numbers under a checksum: reading them runs no code.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F

from ...core.fit import warn
from ...engines.spark_tasks import CHUNK_BYTES

log = logging.getLogger("widemargin.spark")

FILES = pa.schema(
    [
        ("name", pa.string()),
        ("written", pa.string()),
        ("chunk", pa.int32()),
        ("chunks", pa.int32()),
        ("data", pa.binary()),
    ]
)
FILES_DDL = "name string, written string, chunk int, chunks int, data binary"


class ClusterCheckpoints:
    """The folder of one fit.

    Parameters
    ----------
    session : SparkSession
        Reads and writes.
    folder : str
        Folder that the user named, on any file system that Spark knows.
    identity : str
        Hash of data and settings.
    """

    def __init__(self, session: Any, folder: str, identity: str) -> None:
        self.session, self.folder = session, f"{folder.rstrip('/')}/{identity}"
        self._complained = False

    def __str__(self) -> str:
        return self.folder

    def write(self, name: str, data: bytes) -> None:
        """Add a file, or say once why that is not possible."""
        chunks = [data[k : k + CHUNK_BYTES] for k in range(0, len(data), CHUNK_BYTES)]
        table = pa.table(
            {
                "name": [name] * len(chunks),
                "written": [f"{time.time_ns():020d}"] * len(chunks),
                "chunk": range(len(chunks)),
                "chunks": [len(chunks)] * len(chunks),
                "data": chunks,
            },
            schema=FILES,
        )
        try:
            frame = self.session.createDataFrame(table).coalesce(1)
            frame.write.mode("append").parquet(self.folder)
        except PySparkException as error:
            self._complain(error)

    def names(self) -> list[str]:
        """Return the names of the files there are."""
        try:
            found = self._files().select("name").distinct().collect()
        except AnalysisException:  # there is no such folder yet
            return []
        except PySparkException as error:
            self._complain(error)
            return []
        return sorted(row["name"] for row in found if row["name"] is not None)

    def read(self, name: str) -> bytes:
        """Return what was last written whole under a name."""
        try:
            rows = self._files().where(F.col("name") == name).collect()
        except PySparkException as error:
            raise OSError(_first_line(error)) from error
        for written in sorted({row["written"] for row in rows}, reverse=True):
            own = sorted((r for r in rows if r["written"] == written), key=lambda r: r["chunk"])
            if [row["chunk"] for row in own] == list(range(own[0]["chunks"])):
                log.info("found %s in %s, and go on from there", name, self.folder)
                return b"".join(bytes(row["data"]) for row in own)
        raise OSError("it was not written to its end")

    def _files(self) -> Any:
        return self.session.read.schema(FILES_DDL).parquet(self.folder)

    def _complain(self, error: PySparkException) -> None:
        if not self._complained:
            self._complained = True
            warn(
                f"Levels cannot be kept in {self.folder!r} ({_first_line(error)}); the fit goes on "
                "without. Make room there, or name another folder with `checkpointDir`."
            )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
