"""How far a result may be from the exact one, in one table.

Each number is about ten times the largest error measured on the tests' own data, so that another
compiler or instruction set passes and a lost digit does not.
"""

from typing import NamedTuple


class Tolerance(NamedTuple):
    """Errors allowed of one precision."""

    exponential: float  # exp inside rbf, relative to the value
    kernel: float  # a value, relative to the largest; in sums, times Σ|coefficient|
    objective: float  # a solver's objective against the oracle's, relative to it
    objective_of_dual: float  # an objective as reported and as recomputed, relative to it


TOLERANCES = {
    "float32": Tolerance(7e-7, 2e-6, 1e-6, 1e-9),
    "float64": Tolerance(2e-15, 4e-15, 1e-6, 1e-12),
}

# After the polish only rounding separates a solution from the oracle's, whose own gap is 1e-10.
POLISHED_OBJECTIVE = 1e-9
# Decisions of problems that are the same but for how they are written (a weight, or the row twice).
SAME_DECISION = 1e-7
# A `tol` this small asks for the last digits of problems of up to 1,000 rows.
LAST_DIGITS = 1e-10
