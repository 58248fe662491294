"""The published tables, ours beside theirs.

::

    WIDEMARGIN_DATA=folder python -m benchmarks.papers sodm [--only SET] [--quick] [--again]
    python -m benchmarks.papers render

The other commands are theorems, dc, linear, solvers, speed_up, multiclass, multiclass_speed_up,
mcodm and gossip. Each folder of this package is a paper: the figures it prints, what is measured,
and the page with ours beside theirs.
"""
