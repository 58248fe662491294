"""Linear machines against public peers: seconds to an equal objective.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.linear [--only SET ...] [--quick]
python -m benchmarks.speed.linear render

All solve the same problem (:mod:`.libraries`), and :func:`benchmarks.race.objective.objective`
values what they return. Long runs give the optimum; everybody is measured with the first rung of
its ladder (:mod:`.contestants`) that comes within 1e-3 of it.
"""
