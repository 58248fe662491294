"""Linear machines on Spark: beside MLlib's ``LinearSVC``, beside the local engine, on a cluster.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.spark.linear [--only PART ...] [--quick]
python -m benchmarks.speed.spark.linear render

:mod:`.beside_mllib` measures both on the same rows in one session, :mod:`.large` millions of rows
on a cluster whose driver is a process of its own; :mod:`.page` shows them.
"""
