"""Fit, predict, save and load over Spark Connect; run as a script with the folder of a model."""

import os
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import StandardScaler
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark.frames import three_classes, two_classes, vector_frame
from widemargin import (
    Clustered,
    LinearODMClassifier,
    MulticlassSVMClassifier,
    ODMClassifier,
    Stratified,
)
from widemargin.engines.spark import SparkEngine
from widemargin.spark import (
    SparkLinearODMClassifier,
    SparkLinearODMModel,
    SparkLinearSVMClassifier,
    SparkMulticlassSVMClassifier,
    SparkMulticlassSVMModel,
    SparkODMClassifier,
    SparkODMModel,
)


def main(folder: Path) -> None:
    """Raise if anything differs from what a classic session does."""
    spark = SparkSession.builder.remote("local[3]").getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect"), "this is a classic session"
    assert SparkEngine(spark).cores == 3
    X, y = two_classes()
    frame = vector_frame(spark, X, y).persist()

    from_classic = SparkLinearODMModel.load(str(folder / "classic"))
    model = SparkLinearODMClassifier(solver="newton", tol=1e-10, idCol="id", nParts=2).fit(frame)
    local = LinearODMClassifier(tol=1e-10).fit(X, y)
    for each in (model, from_classic):
        np.testing.assert_allclose(each.coefficientMatrix.toArray(), local.coef_, atol=1e-7)
    scored = model.transform(frame)
    rows = sorted(scored.select("id", "prediction").collect(), key=lambda row: row["id"])
    np.testing.assert_array_equal([row["prediction"] for row in rows], local.predict(X))
    assert BinaryClassificationEvaluator().evaluate(scored) > 0.97

    for _ in range(2):
        model.write().overwrite().save(str(folder / "connect"))
    assert SparkLinearODMModel.load(str(folder / "connect")).coefficients == model.coefficients
    scaler = StandardScaler(inputCol="features", outputCol="scaled")
    fitted = Pipeline(stages=[scaler, SparkLinearSVMClassifier(featuresCol="scaled")]).fit(frame)
    fitted.write().overwrite().save(str(folder / "pipeline"))
    loaded = PipelineModel.load(str(folder / "pipeline"))
    assert loaded.stages[1].coefficients == fitted.stages[1].coefficients
    probabilities_and_summaries(frame, X, y)
    columns_and_errors(frame, model, local, X)
    kernel_machines(frame, X, y, folder)
    all_classes_together(spark, folder)
    print("done", flush=True)


def probabilities_and_summaries(frame: Any, X: Any, y: Any) -> None:
    """The same with probabilities: in one task, where rows lie, and of models that stay."""
    local = LinearODMClassifier(tol=1e-10, calibrate="sigmoid", random_state=0).fit(X, y)
    model = SparkLinearODMClassifier(tol=1e-10, calibrate="sigmoid").fit(frame)
    rows = sorted(model.transform(frame).collect(), key=lambda row: row["id"])
    found = [row["probability"].toArray() for row in rows]
    np.testing.assert_allclose(found, local.predict_proba(X), atol=1e-4)
    for summary in (model.summary, model.evaluate(frame)):
        assert summary.accuracy == np.mean(local.predict(X) == y)
        assert summary.areaUnderROC > 0.97
        assert summary.logLoss < 0.2
        roc = np.array(summary.roc.collect())
        area = np.trapezoid(roc[:, 1], roc[:, 0])
        assert abs(area - summary.areaUnderROC) < 1e-3
    assert model.summary.jobs > 1
    divided = SparkODMClassifier(
        strategy="sodm", levels=1, stopLevel=1, calibrate="sigmoid", maxModelRows=50, compressTo=0
    ).fit(frame)
    assert divided.distributed
    assert divided.evaluate(frame).logLoss < 0.2
    divided.unpersist()


def columns_and_errors(frame: Any, model: Any, local: Any, X: Any) -> None:
    """Columns are found as Spark finds them, and what is wrong is told in one line."""
    nested = frame.select("id", F.struct("features", (F.col("label") > 0).alias("y")).alias("s"))
    named = SparkLinearODMClassifier(featuresCol="S.features", labelCol="s.Y", tol=1e-10).fit(
        nested
    )
    np.testing.assert_allclose(named.coefficientMatrix.toArray(), local.coef_, atol=1e-7)
    scored = named.transform(nested.pandas_api(index_col="id"))["prediction"].to_pandas()
    np.testing.assert_array_equal(scored.sort_index(), local.predict(X))
    for params, message in (
        ({"weightCol": "nowhere"}, "^`weightCol` must name a column"),
        ({"featuresCol": "feature"}, r"Did you mean 'features'\?$"),
        (
            {"labelCol": "half"},
            r"^column 'half' must hold labels 0, 1, … up to .*; got 0\.5\. Index",
        ),
        ({"weightCol": "none"}, r"^column 'none' must hold a weight above 0 .* got 0 in all 569\."),
    ):
        more = frame.withColumn("half", F.lit(0.5)).withColumn("none", F.lit(0))
        with pytest.raises(ValueError, match=message):
            SparkLinearODMClassifier(**params).fit(more)
    with pytest.raises(PySparkException) as told:
        model.transform(frame.withColumn("features", F.array(F.lit(1.0)))).collect()
    assert "column 'features' must hold vectors of 10 f" in str(told.value).splitlines()[0]
    engine = SparkEngine(frame.sparkSession)

    def fails(part: int) -> int:
        raise ValueError(f"`max_iter` of part {part} is wrong.")

    with pytest.raises(ValueError, match=r"^`max_iter` of part 3 is wrong\.$") as raised:
        engine.reduce(engine.scatter([3]), fails, max)
    assert isinstance(raised.value.__cause__, PySparkException)
    with pytest.raises(RuntimeError, match=r"^a Python worker of Spark died"):
        engine.reduce(engine.scatter([3]), lambda _: os.kill(os.getpid(), 9), max)
    engine.release()


def kernel_machines(frame: Any, X: Any, y: Any, folder: Path) -> None:
    """The same with kernels: by parts and by clusters, with levels kept, and models that stay."""
    for strategy, kind in (("sodm", Stratified), ("dc", Clustered)):
        classifier = SparkODMClassifier(
            strategy=strategy,
            levels=1,
            stopLevel=1,
            idCol="id",
            nParts=1,
            checkpointDir=str(folder / "levels"),
        )
        local = ODMClassifier(strategy=kind(levels=1, stop_level=1), random_state=0).fit(X, y)
        large = classifier.copy().setMaxModelRows(50).setCompressTo(0)
        for fit in (classifier, large):  # the second one goes on from the level of the first
            model = fit.fit(frame)
            path = str(folder / f"kernel-{strategy}")
            model.write().overwrite().save(path)
            loaded = SparkODMModel.load(path)
            assert loaded.distributed == (fit is large)
            found = {r["id"]: r["prediction"] for r in loaded.transform(frame).collect()}
            np.testing.assert_array_equal([found[i] for i in range(len(y))], local.predict(X))


def all_classes_together(spark: Any, folder: Path) -> None:
    """The same with several classes in one problem, solved where rows lie and in one task."""
    X, y = three_classes()
    frame = vector_frame(spark, X, y).persist()
    for formulation, solver, most in (
        ("ww", "tournament", 1),
        ("llw", "newton", 100),
        ("cs", "auto", 100),
    ):
        settings = {"C": 0.1, "solver": solver, "tol": 0.1}
        local = MulticlassSVMClassifier(formulation, random_state=0, max_iter=most, **settings)
        local.fit(X, y)
        model = SparkMulticlassSVMClassifier(formulation=formulation, maxIter=most, **settings)
        path = str(folder / f"classes-{formulation}")
        model.fit(frame).write().overwrite().save(path)
        loaded = SparkMulticlassSVMModel.load(path)
        np.testing.assert_allclose(loaded.toLocal().coef_, local.coef_, rtol=0, atol=1e-9)
        found = {r["id"]: r["prediction"] for r in loaded.transform(frame).collect()}
        np.testing.assert_array_equal([found[i] for i in range(len(y))], local.predict(X))


if __name__ == "__main__":
    status = 1
    try:
        main(Path(sys.argv[1]))
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        SparkSession.active().stop()
        # Models of Spark's own would ask the server to forget them, which is gone by then.
        sys.stderr.flush()
        os._exit(status)
