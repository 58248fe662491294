"""The published tables, ours beside theirs.

::

    WIDEMARGIN_DATA=folder python -m benchmarks.papers sodm [--only SET] [--quick] [--again]
    WIDEMARGIN_DATA=folder python -m benchmarks.papers dc [--only SET] [--quick] [--again]
    WIDEMARGIN_DATA=folder python -m benchmarks.papers linear [--only SET] [--quick] [--again]
    WIDEMARGIN_DATA=folder python -m benchmarks.papers solvers [--only SET] [--quick] [--again]
    WIDEMARGIN_DATA=folder python -m benchmarks.papers speed_up [--only SET] [--quick] [--again]
    WIDEMARGIN_DATA=folder python -m benchmarks.papers multiclass [--only SET] [--quick] [--again]
    WIDEMARGIN_DATA=folder python -m benchmarks.papers gossip [--only SET] [--quick] [--again]
    python -m benchmarks.papers render

Data sets (:mod:`.preparation`), methods (:mod:`.contestants`, :mod:`.combinations`) and the score
(:mod:`.scoring`) know nothing of each other; :mod:`.sodm_tables`, :mod:`.dc_tables`,
:mod:`.linear_tables`, :mod:`.solver_curves`, :mod:`.speed_up`, :mod:`.multiclass_tables` and
:mod:`.gossip_tables` bring them together and keep every cell in a JSON file as soon as it is
measured (:mod:`.results`).
"""
