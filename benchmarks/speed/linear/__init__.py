"""Linear machines against public peers: seconds to an equal objective.

::

    WIDEMARGIN_DATA=folder python -m benchmarks.speed.linear [--only SET ...] [--quick]
    python -m benchmarks.speed.linear render

A data set is a case (:mod:`.cases`, :mod:`.generated`). Who is measured, and the ladder of settings
each one climbs, is in :mod:`.contestants`; how each one is called, in :mod:`.adapters`. All solve
the same problem, and one function values what they return (:mod:`.objective`). A long run gives the
optimum; everybody is then measured with the first rung of the ladder that comes within 1e-3 of it
(:mod:`.rounds`), in a process of its own (:mod:`.worker`). :mod:`.tables` writes what the
documentation shows.
"""
