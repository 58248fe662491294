"""Exact fits of ever more rows of covtype: seconds, kernel values, gap, memory, accuracy.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.growth [--only 50000 ...] [--quick]
python -m benchmarks.speed.growth render

The rows are drawn from the 464,809 training rows (80 %) of covtype_binary, scaled to [0, 1];
C = 32, gamma = 32, tol = 1e-3 and the default ``memory_limit`` of 1 GiB. Every fit has a process of
its own, limited to two cores.
"""
