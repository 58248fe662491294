"""Train on Spark, and save a model that is served without it.

    spark-submit train.py --pipeline hdfs:///models/churn --model churn.wm --data hdfs:///churn

or ``python train.py`` with the same arguments. The data are Parquet files of numeric columns, one
of them called label, with the values 0 and 1; without ``--data`` rows are generated.
"""

import argparse

import numpy as np
from pyspark.ml import Pipeline
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import StandardScaler, VectorAssembler
from pyspark.ml.tuning import ParamGridBuilder, TrainValidationSplit
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from widemargin.spark import SparkLinearODMClassifier


def generated(spark, rows):
    """Return rows of four features on different scales, and a label that depends on three."""
    features = {"age": 10.0, "calls": 3.0, "income": 1e4, "noise": 1.0}
    frame = spark.range(rows).select(
        *(
            (F.randn(seed) * scale).alias(name)
            for seed, (name, scale) in enumerate(features.items())
        )
    )
    score = F.expr("age / 10 - calls / 3 + income / 10000") + F.randn(9) / 2
    return frame.withColumn("label", (score > 0).cast("int"))


def servable(assembler, scaler, classifier):
    """Return the classifier without Spark, for unscaled rows."""
    local = classifier.toLocal()
    mean, deviation = scaler.mean.toArray(), scaler.std.toArray()
    # A constant feature was scaled to 0 and has no effect.
    factor = np.divide(1.0, deviation, out=np.zeros_like(mean), where=deviation > 0)
    local.coef_ = local.coef_ * factor
    local.intercept_ = local.intercept_ - local.coef_ @ mean
    local.feature_names_in_ = np.array(assembler.getInputCols(), dtype=object)
    return local


def main():
    """Read, search C, evaluate on held-out rows, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of Parquet files; unset: rows are generated")
    parser.add_argument("--rows", type=int, default=100_000, help="number of rows to generate")
    parser.add_argument("--pipeline", required=True, help="folder for the fitted pipeline")
    parser.add_argument("--model", required=True, help="file on this machine for serve.py")
    given = parser.parse_args()

    spark = SparkSession.builder.appName("train").getOrCreate()
    frame = spark.read.parquet(given.data) if given.data else generated(spark, given.rows)
    train, test = frame.randomSplit([0.8, 0.2], seed=0)
    train = train.persist()  # every fit reads it

    names = [name for name in frame.columns if name != "label"]
    classifier = SparkLinearODMClassifier(featuresCol="scaled")
    stages = [
        VectorAssembler(inputCols=names, outputCol="features"),
        StandardScaler(inputCol="features", outputCol="scaled", withMean=True),
        classifier,
    ]
    evaluator = BinaryClassificationEvaluator()
    search = TrainValidationSplit(  # or CrossValidator, slower by the number of folds
        estimator=Pipeline(stages=stages),
        estimatorParamMaps=ParamGridBuilder().addGrid(classifier.C, [0.01, 1.0]).build(),
        evaluator=evaluator,
        seed=0,
    )
    best = search.fit(train).bestModel
    area = evaluator.evaluate(best.transform(test))
    print(f"C {best.stages[-1].getC()}, area under ROC {area:.4f}")
    best.write().overwrite().save(given.pipeline)
    servable(*best.stages).save(given.model)


if __name__ == "__main__":
    main()
