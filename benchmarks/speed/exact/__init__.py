"""Exact training and prediction against public peers, all scored by one formula.

::

    WIDEMARGIN_DATA=folder python -m benchmarks.speed.exact [--only SET ...] [--repeats 3] [--quick]
    python -m benchmarks.speed.exact render

A data set with its C and gamma is a case (:mod:`.cases`); who is measured on it is in
:mod:`.contestants`. Every fit runs in a process of its own (:mod:`.worker`, started by
:mod:`benchmarks.speed.measuring`), where its duality gap is computed from its own coefficients
(:mod:`.scoring`, :mod:`.binary_problems`). Peers stop by rules of their own, so each gets the
loosest ``tol`` whose gap is small enough (:mod:`.ladder`), and ours are then asked for that very
gap (:mod:`.rounds`). Every fit is a cell of a JSON file, written as soon as it is measured;
:mod:`.tables` and :mod:`.curves` turn the file into what the documentation shows.
"""
