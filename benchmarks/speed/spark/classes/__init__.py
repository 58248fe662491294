"""All classes in one problem on Spark: text in parts, in bundles of classes, and in one task.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.spark.classes [--only PART ...] [--quick]
python -m benchmarks.speed.spark.classes render

:mod:`.fits` trains on a cluster of three workers, and :mod:`.passes` in one process, where it
counts what passes cost and what they would move.
"""
