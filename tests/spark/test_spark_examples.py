"""The scripts in examples/spark run from end to end."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyspark")
from pyspark.ml import PipelineModel

from widemargin import load_model

EXAMPLES = Path(__file__).parents[2] / "examples" / "spark"

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_from_a_table_to_a_served_model(spark, tmp_path, monkeypatch, capsys):
    data, pipeline, model = (str(tmp_path / name) for name in ("data", "pipeline", "model.wm"))
    make = runpy.run_path(str(EXAMPLES / "train.py"))["generated"]
    make(spark, 300).coalesce(2).write.parquet(data)
    arguments = ["--data", data, "--pipeline", pipeline, "--model", model]
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    runpy.run_path(str(EXAMPLES / "train.py"), run_name="__main__")
    assert float(capsys.readouterr().out.split("ROC ")[1]) > 0.9

    rows = spark.read.parquet(data).limit(20).collect()
    lines = "".join(json.dumps(row.asDict()) + "\n" for row in rows)
    # Another process, which shows that Spark is not imported.
    ran = subprocess.run(
        [sys.executable, "-c", SERVE_WITHOUT_SPARK, str(EXAMPLES / "serve.py"), model],
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    served = [json.loads(line) for line in ran.stdout.splitlines()]
    scored = PipelineModel.load(pipeline).transform(spark.createDataFrame(rows)).collect()
    assert [answer["label"] for answer in served] == [row["prediction"] for row in scored]
    np.testing.assert_allclose(
        [answer["decision"] for answer in served], [row["rawPrediction"][1] for row in scored]
    )


def test_a_kernel_machine_and_a_small_model_of_it(spark, tmp_path, monkeypatch, capsys):
    data, model, kept = (str(tmp_path / name) for name in ("data", "model.wm", "levels"))
    script = str(EXAMPLES / "train_kernel.py")
    runpy.run_path(script)["generated"](spark, 600).coalesce(2).write.parquet(data)
    arguments = ["--data", data, "--levels", "1", "--points", "100", "--checkpoints", kept]
    monkeypatch.setattr(sys, "argv", [script, *arguments, "--model", model])
    runpy.run_path(script, run_name="__main__")
    large, small = capsys.readouterr().out.splitlines()
    assert float(large.split("accuracy ")[1]) > 0.7
    assert float(small.split("accuracy ")[1]) > float(large.split("accuracy ")[1]) - 0.05
    assert len(load_model(model).support_) <= 100


SERVE_WITHOUT_SPARK = """
import runpy, sys
sys.modules["pyspark"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
