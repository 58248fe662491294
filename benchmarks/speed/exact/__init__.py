"""Exact training and prediction against public peers, all scored by one formula.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.exact [--only SET ...] [--repeats 3] [--quick]
python -m benchmarks.speed.exact render

The duality gap of every fit is computed from its own coefficients (:mod:`.gap`). Peers stop by
rules of their own, so each climbs a ladder of ``tol`` to the loosest whose gap is small enough
(:mod:`.contestants`), and ours are then asked for that very gap (:mod:`.race`).
"""
