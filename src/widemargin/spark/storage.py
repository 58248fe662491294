"""Estimators and models on the file system of a cluster, written and read by Spark.

A folder ``metadata`` holds one line of JSON, as for all stages of pyspark. A model also has a
folder ``data``, a Parquet table with the bytes of its ``.wm`` file, and one that stays on the
cluster a folder ``support`` with its support vectors. Loading checks them and runs no code of them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pyarrow as pa
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from ..engines.spark_tasks import CHUNK_BYTES
from ..persistence import ModelFileError, dumps, loads
from .kernel import support_table
from .kernel.large_expansion import LargeExpansion

# Package in which classes are looked up, wherever they are defined.
PACKAGE = "widemargin.spark"
CHUNKS = pa.schema([("chunk", pa.int32()), ("data", pa.binary())])


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
    """Writes a model: its Params, the bytes of its ``.wm`` file, a table of support vectors."""

    def saveImpl(self, path: str) -> None:
        """Write the model to a folder."""
        more: dict[str, Any] = {}
        large = getattr(self.stage, "_large", None)
        if large is not None:
            large.frame.write.mode(self._mode).parquet(f"{path}/support")
            more["supportRows"] = large.n_support
        data = dumps(self.stage._fitted)
        chunks = [data[k : k + CHUNK_BYTES] for k in range(0, len(data), CHUNK_BYTES)]
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
        metadata = self._metadata(path)
        return self._with_params(self.kind(), metadata)

    def _metadata(self, path: str) -> dict[str, Any]:
        row = self.sparkSession.read.text(f"{path}/metadata").first()
        metadata = json.loads("{}" if row is None else row[0])
        wanted, found = f"{PACKAGE}.{self.kind.__name__}", metadata.get("class")
        if found != wanted:
            raise ModelFileError(f"{path!r} holds a {found}; load it with that class.")
        return dict(metadata)

    @staticmethod
    def _with_params(stage: Any, metadata: dict[str, Any]) -> Any:
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        return stage


class ModelReader(StageReader):
    """Reads a model that :class:`ModelWriter` wrote."""

    def load(self, path: str) -> Any:
        """Read the model from a folder."""
        metadata = self._metadata(path)
        rows = self.sparkSession.read.parquet(f"{path}/data").collect()
        data = b"".join(bytes(row["data"]) for row in sorted(rows, key=lambda row: row["chunk"]))
        if hashlib.sha256(data).hexdigest() != metadata.get("sha256"):
            raise _damaged(path)
        more = [] if "supportRows" not in metadata else [self._large(path, metadata)]
        return self._with_params(self.kind(loads(data), *more), metadata)

    def _large(self, path: str, metadata: dict[str, Any]) -> LargeExpansion:
        """Read the support vectors of a model that stays on the cluster."""
        frame = self.sparkSession.read.schema(support_table.DDL).parquet(f"{path}/support")
        n_support = metadata["supportRows"]
        # The contents of each row are checked when it is used.
        if frame.agg({"n": "sum"}).first()[0] != n_support:
            raise _damaged(path)
        return LargeExpansion(frame, n_support)


def _damaged(path: str) -> ModelFileError:
    return ModelFileError(
        f"the model in {path!r} is damaged or was not written to its end. Save it again."
    )
