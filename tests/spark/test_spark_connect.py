"""The same over Spark Connect, in a process of its own: a process has one kind of session."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("grpc")

from spark.frames import two_classes
from widemargin import LinearODMClassifier
from widemargin.spark import SparkLinearODMModel

# A server and a second session take a minute to start.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


def test_fit_predict_save_and_load_over_connect(spark, tmp_path):
    local = LinearODMClassifier(tol=1e-10).fit(*two_classes())
    SparkLinearODMModel.fromLocal(local).save(str(tmp_path / "classic"))
    tests = Path(__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-m", "spark.over_connect", str(tmp_path)],
        cwd=tests,
        capture_output=True,
        text=True,
        timeout=550,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.endswith("done\n")
    loaded = SparkLinearODMModel.load(str(tmp_path / "connect"))
    assert loaded.numFeatures == 10
