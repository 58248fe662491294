"""Multi-class machines against public peers: seconds to an equal gap.

::

    WIDEMARGIN_DATA=folder python -m benchmarks.speed.multiclass [--only SET ...] [--quick]
    python -m benchmarks.speed.multiclass render

A data set is a case (:mod:`.cases`). Who is measured, and the ladder of settings each one climbs,
is in :mod:`.contestants`; how each one is called, in :mod:`.adapters`. One function values what
they return (:mod:`.objective`). Formulations have different objectives: each contestant is held
against a lower bound of its own, and is measured with the first rung that proves a relative gap of
1e-2 (:mod:`.rounds`), in a process of its own (:mod:`.worker`). C is 1, and what cross-validation
finds (:mod:`.best_c`). :mod:`.tables` writes what the documentation shows.
"""
