"""What training on Spark costs: beside MLlib, beside the local engine, on a cluster.

::

    WIDEMARGIN_DATA=folder python -m benchmarks.speed.spark.linear [--only PART ...] [--quick]
    WIDEMARGIN_DATA=folder python -m benchmarks.speed.spark.kernel [--only PART ...] [--quick]
    WIDEMARGIN_DATA=folder python -m benchmarks.speed.spark.classes [--only PART ...] [--quick]
    python -m benchmarks.speed.spark.linear render
    python -m benchmarks.speed.spark.kernel render
    python -m benchmarks.speed.spark.classes render

:mod:`.sessions` starts Spark on two cores, or a cluster of separate processes; :mod:`.parquet` puts
rows where Spark reads them; :mod:`.watching` measures the engine's verbs, Spark's own metrics, and
the memory of driver and executors.
"""
