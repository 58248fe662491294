"""Kernel machines on Spark: beside the local engine, on two cores and on a cluster.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.spark.kernel [--only PART ...] [--quick]
python -m benchmarks.speed.spark.kernel render

:mod:`.fits` trains on the sets, :mod:`.large` on millions of rows, :mod:`.growth` on ever more in
parts of one size, :mod:`.bundles` counts what Weston and Watkins's formulation moves; :mod:`.page`
shows them, with models of larger clusters: the paper's, and one for a billion rows
(:mod:`.billion`).
"""
