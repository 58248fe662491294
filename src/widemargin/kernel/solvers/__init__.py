"""Solvers of the kernel problem, one file each; :mod:`.binary` picks one and runs it.

A solver has the form ``solve(problem, start, budget, history) -> Solution[Duals]``. It starts from
duals inside the loss's domain, and leaves its last complete state in ``history.latest``.
"""
