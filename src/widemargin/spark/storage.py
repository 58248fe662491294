"""Estimators, models and checkpoints on the file system of a cluster, written and read by Spark.

A stage has a folder ``metadata`` of one line of JSON, as all stages of pyspark. A model also has a
folder ``data``, a Parquet table with the bytes of its ``.wm`` file, and one that stays on the
cluster a folder ``support`` with its support vectors. Loading checks them and runs no code of them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter
from pyspark.sql import functions as F

from ..core.fit import warn
from ..engines.spark_tasks import CHUNK_BYTES, arrow_schema
from ..persistence import ModelFileError, dumps, loads
from .kernel import support
from .kernel.distributed_model import DistributedExpansion
from .params import FORMER_NAMES

# Package in which classes are looked up, wherever they are defined.
PACKAGE = "widemargin.spark"
log = logging.getLogger(PACKAGE)

CHUNKS = arrow_schema("chunk int, data binary")
FILES_DDL = "name string, written string, chunk int, chunks int, data binary"
FILES = arrow_schema(FILES_DDL)


class StageWriter(MLWriter):  # type: ignore[misc]
    """Writes the Params of an estimator."""

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self.stage = stage

    def _handleOverwrite(self, path: str) -> None:
        """Do nothing: the writers of the folders overwrite, over Connect too."""

    def saveImpl(self, path: str) -> None:
        """Write the stage to a folder."""
        self._write_metadata(path, {})

    def _write_metadata(self, path: str, more: dict[str, Any]) -> None:
        own = {"class": f"{PACKAGE}.{type(self.stage).__name__}", **more}
        line = DefaultParamsWriter._get_metadata_to_save(self.stage, self.sparkSession, own)
        frame = self.sparkSession.createDataFrame([(line,)], ["value"])
        frame.coalesce(1).write.mode(self._mode).text(f"{path}/metadata")

    @property
    def _mode(self) -> str:
        return "overwrite" if self.shouldOverwrite else "error"


class ModelWriter(StageWriter):
    """Writes a model: its Params, the bytes of its ``.wm`` file, a table of support vectors.

    ``more`` is added to the metadata.
    """

    def __init__(self, stage: Any, more: dict[str, Any] | None = None) -> None:
        super().__init__(stage)
        self.more = more or {}

    def saveImpl(self, path: str) -> None:
        """Write the model to a folder."""
        more = dict(self.more)
        large = getattr(self.stage, "_large", None)
        if large is not None:
            large.frame.write.mode(self._mode).parquet(f"{path}/support")
            more["supportRows"] = large.n_support
        data = dumps(self.stage._fitted)
        chunks = _chunks(data)
        table = pa.table({"chunk": range(len(chunks)), "data": chunks}, schema=CHUNKS)
        frame = self.sparkSession.createDataFrame(table).coalesce(1)
        frame.write.mode(self._mode).parquet(f"{path}/data")
        # Written last, with the digest, so that an incomplete folder is never taken for a model.
        self._write_metadata(path, {"sha256": hashlib.sha256(data).hexdigest(), **more})


class StageReader(MLReader):  # type: ignore[misc]
    """Reads an estimator that :class:`StageWriter` wrote."""

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Read the stage from a folder."""
        metadata = self.metadata(path)
        return self._with_params(self.kind(), metadata)

    def metadata(self, path: str) -> dict[str, Any]:
        """Read the metadata of a folder; raise unless it is of this kind of stage."""
        row = self.sparkSession.read.text(f"{path}/metadata").first()
        metadata = json.loads("{}" if row is None else row[0])
        wanted, found = f"{PACKAGE}.{self.kind.__name__}", metadata.get("class")
        if found != wanted:
            raise ModelFileError(f"{path!r} holds a {found}; load it with that class.")
        return dict(metadata)

    @staticmethod
    def _with_params(stage: Any, metadata: dict[str, Any]) -> Any:
        stage._resetUid(metadata["uid"])
        for kind in ("paramMap", "defaultParamMap"):
            given = metadata.get(kind, {})
            metadata[kind] = {FORMER_NAMES.get(name, name): v for name, v in given.items()}
        DefaultParamsReader.getAndSetParams(stage, metadata)
        return stage


class ModelReader(StageReader):
    """Reads a model that :class:`ModelWriter` wrote."""

    def load(self, path: str) -> Any:
        """Read the model from a folder."""
        metadata = self.metadata(path)
        rows = self.sparkSession.read.parquet(f"{path}/data").collect()
        data = b"".join(bytes(row["data"]) for row in sorted(rows, key=lambda row: row["chunk"]))
        if hashlib.sha256(data).hexdigest() != metadata.get("sha256"):
            raise _damaged(path)
        more = [] if "supportRows" not in metadata else [self._large(path, metadata)]
        return self._with_params(self.kind(loads(data), *more), metadata)

    def _large(self, path: str, metadata: dict[str, Any]) -> DistributedExpansion:
        """Read the support vectors of a model that stays on the cluster."""
        frame = self.sparkSession.read.schema(support.DDL).parquet(f"{path}/support")
        n_support = metadata["supportRows"]
        # The contents of each row are checked when it is used.
        if frame.agg({"n": "sum"}).first()[0] != n_support:
            raise _damaged(path)
        return DistributedExpansion(frame, n_support)


class ClusterCheckpoints:
    """Finished levels of a fit, so that one whose driver died goes on.

    All files are rows of one Parquet table in ``folder``/``identity``, to which a write adds: what
    is there is never touched, and what a killed write left behind is never seen. A file is several
    chunks; one that lacks some is skipped. The bytes are those of
    :mod:`widemargin.kernel.divide.checkpoints`, which hold numbers under a checksum.
    """

    def __init__(self, session: Any, folder: str, identity: str) -> None:
        self.session, self.folder = session, f"{folder.rstrip('/')}/{identity}"
        self._warned = False

    def __str__(self) -> str:
        return self.folder

    def write(self, name: str, data: bytes) -> None:
        """Add a file, or say once why that is not possible."""
        chunks = _chunks(data)
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
            self._warn_once(error)

    def names(self) -> list[str]:
        """Return the names of the files there are."""
        try:
            found = self._files().select("name").distinct().collect()
        except AnalysisException:  # there is no such folder yet
            return []
        except PySparkException as error:
            self._warn_once(error)
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

    def _warn_once(self, error: PySparkException) -> None:
        if not self._warned:
            self._warned = True
            warn(
                f"Levels cannot be kept in {self.folder!r} ({_first_line(error)}); the fit goes on "
                "without. Make room there, or name another folder with `checkpointDir`."
            )


def _chunks(data: bytes) -> list[bytes]:
    return [data[k : k + CHUNK_BYTES] for k in range(0, len(data), CHUNK_BYTES)]


def _damaged(path: str) -> ModelFileError:
    return ModelFileError(
        f"the model in {path!r} is damaged or was not written to its end. Save it again."
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
