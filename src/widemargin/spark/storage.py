"""Estimators and models on the file system of a cluster, written and read by Spark.

A folder ``metadata`` holds one line of JSON, as all of pyspark's stages have it; that of a model
also a folder ``data``, a Parquet table of the bytes of its ``.wm`` file. Loading runs no code of
either, and checks both.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pyarrow as pa
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from ..engines.spark_tasks import CHUNK_BYTES
from ..persistence import ModelFileError, dumps, loads

# Where classes are looked up, whatever the file that defines them.
PACKAGE = "widemargin.spark"
CHUNKS = pa.schema([("chunk", pa.int32()), ("data", pa.binary())])


class StageWriter(MLWriter):  # type: ignore[misc]
    """Writes the Params of an estimator."""

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self.stage = stage

    def _handleOverwrite(self, path: str) -> None:
        """Leave it to the writers of the folders, which work over Connect too."""

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
    """Writes a model: its Params, and the bytes of its ``.wm`` file."""

    def saveImpl(self, path: str) -> None:
        """Write the model to a folder."""
        data = dumps(self.stage._fitted)
        chunks = [data[k : k + CHUNK_BYTES] for k in range(0, len(data), CHUNK_BYTES)]
        table = pa.table({"chunk": range(len(chunks)), "data": chunks}, schema=CHUNKS)
        frame = self.sparkSession.createDataFrame(table).coalesce(1)
        frame.write.mode(self._mode).parquet(f"{path}/data")
        # Last, and with the digest, so that a folder cut short is never taken for a model.
        self._write_metadata(path, {"sha256": hashlib.sha256(data).hexdigest()})


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
            raise ModelFileError(
                f"the model in {path!r} is damaged or was not written to its end. Save it again."
            )
        return self._with_params(self.kind(loads(data)), metadata)
