"""When Newton's method fits the memory, and when it is likely to be the fastest solver."""

from __future__ import annotations

from ...core.resources import DIRECT_SIZE
from ..problem import MulticlassObjective, MulticlassProblem
from .newton_directions import PRODUCTS_BYTES, keeps_products
from .newton_losses import BYTES_PER_LOSS

FORMULATIONS = ("llw", "ww")
# Weights that one Hessian is of: `ww` couples all classes, and has just one.
MOST_WEIGHTS = {"llw": DIRECT_SIZE, "ww": 3 * DIRECT_SIZE}
# The number of epochs of ascent grows with the mean of C‖x‖², that of Newton steps hardly; but a
# step costs more, as a Hessian has more numbers than a row stores. Means of equal time for llw:
# satimage .4 and 4, letter 2 and 17, usps 2 and 21, dna 5 and 47, iris 20 and 200; 800 generated
# features 100 and more, or about 2000 where one in 50 is stored. For ww, where they grow faster
# with the cost of a step: letter .4 and 4, usps 200, dna 50 and 500, iris 6; splice, glass and
# satimage below 6.
LEAST_MEAN, LEAST_MEAN_PER_COST = 10.0, 0.1
LEAST_MEAN_COUPLED, LEAST_MEAN_PER_SQUARED_COST = 3.0, 0.02
# Where rows are few for the weights, classes are mostly separable and ascent ends soon for any
# C: digits (3 rows per weight) takes it .7 s with C = 10, Newton 3.0 s. Small ones cost little.
ROWS_PER_WEIGHT, FEW_WEIGHTS = 5, 100
# Losses of a row that are curved, over the steps of a solve.
CURVED = 3


def weights_together(objective: MulticlassObjective) -> int:
    """Return the number of weights that a Hessian is of."""
    return objective.size * (objective.n_classes if objective.formulation == "ww" else 1)


def hessian_bytes(objective: MulticlassObjective) -> int:
    """Return the memory for the Hessians: of every class, or sums, laid out and factorised."""
    if objective.formulation == "ww":
        return 32 * weights_together(objective) ** 2
    return 8 * objective.n_classes * objective.size**2


def small_enough(objective: MulticlassObjective, memory: int) -> bool:
    """Return whether Hessians can be factorised and kept, wherever the rows are."""
    small = weights_together(objective) <= MOST_WEIGHTS[objective.formulation]
    return small and hessian_bytes(objective) <= memory


def bytes_needed(problem: MulticlassProblem) -> int:
    """Return the memory for the multipliers and scores of all rows and the Hessians."""
    objective = problem.objective
    products = objective.formulation == "ww" and keeps_products(objective, problem.n_rows)
    losses = objective.n_classes * BYTES_PER_LOSS * problem.n_rows
    return losses + (PRODUCTS_BYTES if products else 0) + hessian_bytes(objective)


def fits(problem: MulticlassProblem, memory: int) -> bool:
    """Return whether Hessians are small enough, and there is room for them and all losses."""
    return small_enough(problem.objective, memory) and bytes_needed(problem) <= memory


def pays(problem: MulticlassProblem, memory: int) -> bool:
    """Return whether this is likely to be faster than ascent in the dual, on rows in memory."""
    rows, objective = problem.in_memory, problem.objective
    mean = float(rows.bound @ rows.squared_norms) / problem.n_rows
    if objective.formulation == "ww":
        least = max(LEAST_MEAN_COUPLED, LEAST_MEAN_PER_SQUARED_COST * _cost_coupled(problem) ** 2)
        weights = weights_together(objective)
        if weights > FEW_WEIGHTS and problem.n_rows < ROWS_PER_WEIGHT * weights:
            return False
    else:
        cost = objective.size**2 * problem.n_rows / max(problem.stored, 1)
        least = max(LEAST_MEAN, LEAST_MEAN_PER_COST * cost)
    return mean >= least and fits(problem, memory)


def _cost_coupled(problem: MulticlassProblem) -> float:
    """Return the operations of a step, divided by those of an epoch."""
    size, n_classes = problem.objective.size, problem.objective.n_classes
    products = 8 * problem.n_rows * n_classes * size
    grams = 2 * CURVED * problem.n_rows * size**2
    factor = weights_together(problem.objective) ** 3 / 3
    return (products + grams + factor) / (4 * max(problem.stored, 1) * n_classes)


def require_fit(problem: MulticlassProblem, memory: int) -> None:
    """Raise if Hessians are too large, or a problem in this process does not fit the memory."""
    objective = problem.objective
    most = MOST_WEIGHTS[objective.formulation]
    if weights_together(objective) > most:
        times = f" times {objective.n_classes} classes" if objective.formulation == "ww" else ""
        raise ValueError(
            f"`solver='newton'` takes at most {most} weights at a time: features, the intercept "
            f"included, for 'ww' times classes; got {objective.size}{times}. Use solver='dual'."
        )
    if problem.engine.in_process and not fits(problem, memory):
        raise ValueError(
            f"`solver='newton'` needs {bytes_needed(problem) / 2**20:.0f} MiB for "
            f"{problem.n_rows} rows, {objective.size} features and {objective.n_classes} classes; "
            f"`memory_limit` is {memory / 2**20:.0f} MiB. Raise it, or use solver='dual'."
        )
