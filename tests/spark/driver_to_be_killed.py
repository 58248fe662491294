"""A driver that dies while a fit is at its last level; run as a script."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading

from pyspark.sql import SparkSession

from widemargin.spark import SparkODMClassifier


def classifier(folder: str) -> SparkODMClassifier:
    """Return what is fitted."""
    return SparkODMClassifier(
        strategy="sodm",
        levels=3,
        stopLevel=1,
        idCol="id",
        nParts=2,
        checkpointDir=folder,
    )


class Killer(logging.Handler):
    """Kills this process soon after a line of the log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Look at a line."""
        if "level 1," in record.getMessage():
            threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGKILL]).start()


if __name__ == "__main__":
    table, folder = sys.argv[1:]
    log = logging.getLogger("widemargin.spark")
    log.addHandler(Killer())
    log.setLevel(logging.INFO)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    classifier(folder).fit(session.read.parquet(table))
    print("the fit was over before anything was killed")
