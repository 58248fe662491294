"""Train a kernel machine on Spark, and save a small model that is served without it.

    spark-submit train_kernel.py --data hdfs:///rings --checkpoints hdfs:///levels --model rings.wm

or ``python train_kernel.py`` with the same arguments. The data are Parquet files of numeric
columns, one of them called label, with the values 0 and 1, and one called id, which identifies
rows; without ``--data`` rows are generated. A run that was killed resumes from its last level if
it is started again with the same arguments.
"""

import argparse
import logging

from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from widemargin.spark import SparkODMClassifier


def generated(spark, rows):
    """Return points of a plane, labelled by alternating rings around the origin."""
    frame = spark.range(rows).select("id", F.randn(1).alias("x"), F.randn(2).alias("y"))
    radius = F.sqrt(F.expr("x * x + y * y")) + F.randn(3) / 10
    return frame.withColumn("label", (radius * 2).cast("int") % 2)


def main():
    """Read, train, compress the model, evaluate on held-out rows, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of Parquet files; unset: rows are generated")
    parser.add_argument("--rows", type=int, default=100_000, help="number of rows to generate")
    parser.add_argument("--levels", type=int, help="unset: parts have at most 2,000 rows")
    parser.add_argument("--stop-level", type=int, default=1, help="level to stop at")
    parser.add_argument("--points", type=int, default=500, help="points of the small model")
    parser.add_argument("--checkpoints", help="folder for finished levels; unset: none are stored")
    parser.add_argument("--model", required=True, help="file on this machine for load_model")
    given = parser.parse_args()

    logging.basicConfig()
    logging.getLogger("widemargin.spark").setLevel(logging.INFO)
    spark = SparkSession.builder.appName("train_kernel").getOrCreate()
    frame = spark.read.parquet(given.data) if given.data else generated(spark, given.rows)
    names = [name for name in frame.columns if name not in ("id", "label")]
    assembled = VectorAssembler(inputCols=names, outputCol="features").transform(frame)
    train, test = assembled.randomSplit([0.8, 0.2], seed=0)

    classifier = SparkODMClassifier(
        strategy="sodm",
        levels=given.levels,
        stopLevel=given.stop_level,
        C=10.0,
        gamma=2.0,
        idCol="id",
        checkpointDir=given.checkpoints,
    )
    model = classifier.fit(train)
    small = model.compress(given.points)
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    for each in (model, small):
        accuracy = evaluator.evaluate(each.transform(test))
        print(f"{each.numSupportVectors} support vectors, accuracy {accuracy:.4f}")
    small.toLocal().save(given.model)


if __name__ == "__main__":
    main()
