"""Kernel machines on Spark: beside the local engine, on two cores and on a cluster.

::

    WIDEMARGIN_DATA=folder python -m benchmarks.speed.spark.kernel [--only PART ...] [--quick]
    python -m benchmarks.speed.spark.kernel render

:mod:`.cases` names sets and settings, :mod:`.fits` trains in a process of its own, :mod:`.large`
does so on millions of rows, :mod:`.bundles` counts what Weston and Watkins's formulation moves,
:mod:`.cost_model` computes what a larger cluster would take from what was measured, and
:mod:`.tables` writes what the documentation shows.
"""
