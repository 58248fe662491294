r"""Dual ascent in all parts of the rows at the same time, towards agreed weights.

For rows on an engine. In a pass every part improves its own multipliers
(:mod:`.block_ascent`), and what travels are weights to the parts and sums of weights back.
Multipliers stay with the rows, and no matrix is larger than the weights.

The parts share the problem by agreeing on weights Z: the alternating direction method of
multipliers for

.. math:: \min \tfrac12 \lVert Z \rVert^2 + \sum_k \sum_{i \in k} C_i\, \ell(x_i, y_i; W_k)
          \quad \text{with } W_{kf} = Z_f \text{ for each of the } n_f \text{ parts that have
          feature } f .

The multipliers of this constraint are, for every part, weights of its rows' multipliers: with a of
the last pass, their over-relaxed average :math:`b \leftarrow (1 - \lambda) b + \lambda a`, and
:math:`\bar Z = Z + (1 - \lambda) c`,

.. math:: Z \leftarrow \frac{n \bar Z + \sigma W(b)}{n + \sigma}, \qquad
          c \leftarrow \bar Z - Z_\mathrm{new}, \qquad U = Z - c ,

each for every feature, and U is sent. So this process keeps a few matrices of the weights' size,
whatever the number of rows. The multipliers a are feasible, and W(a) is added up anew in every
pass, so every pass has an exact dual bound; the objective is evaluated at U. The solution is the
best U so far.

A small :math:`\sigma` makes parts agree sooner and move less: it falls from pass to pass. All parts
move the constant feature the same way, so it has a smaller one.

Cost of a pass: five visits of every row, and one job of an engine that works elsewhere. Passes to
a gap of 1e-2 with 8 parts of 20 classes of CLINC150: 22 (``cs``, C = 1), 25 (``ww``), 27 (``ovr``),
28 (``llw``, C = 10). Adding up steps of parts that count the change of each feature as often as
parts have it (Ma et al., 2015), with Nesterov's extrapolation, left ``cs`` a gap of .06 after 40.

Reference: Boyd et al. (2011), sections 7.2 and 3.4.3. Departures: :math:`\sigma` of each feature;
parts are solved by a few epochs; the multipliers of the constraint are never formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Outcome, Solution
from ..problem import ClassWeights, MulticlassProblem, StoredWeights
from .ascent_rows import DealByContents, known_sums, part_count
from .block_ascent import Improve, SumUp, added_up, times
from .bundles import DENSE_BYTES, SPARSE_BYTES, BundleLayout, best_scale
from .newton_blocks import added

# Share of the new multipliers in their average. With 1 instead of 1.7, `cs` took 38 passes for 24.
RELAXATION = 1.7
# sigma halves in this many passes, and ends here: with 4 passes `ww` takes 34 instead of 25, with
# a constant sigma of 1, .5 and .25 `cs` 23, 24 and 38 instead of 22, but `llw` (C = 100) has a gap
# of .17 after 40 passes, and .08 with a falling one.
HALVING, SMALLEST = 8, 0.1
# sigma of the constant feature, in multiples of that of others divided by the number of parts.
OF_CONSTANT = 0.5
# Matrices of the size of the weights in this process.
MATRICES = 6


def bytes_needed(problem: MulticlassProblem) -> int:
    """Return the memory for weights that are dense whatever the rows are; 0 if they need not be."""
    objective = problem.objective
    if objective.formulation != "llw":
        return 0
    return MATRICES * DENSE_BYTES * objective.size * objective.n_classes


def require_fit(problem: MulticlassProblem, memory: int) -> None:
    """Raise if dense weights do not fit the memory."""
    objective, needed = problem.objective, bytes_needed(problem)
    if needed > memory:
        raise ValueError(
            f"`solver='blocks'` needs {needed / 2**20:.0f} MiB for {objective.size} features and "
            f"{objective.n_classes} classes, as the weights of formulation='llw' are dense; "
            f"`memory_limit` is {memory / 2**20:.0f} MiB. Raise it, or use another formulation."
        )


def solve(problem: MulticlassProblem, budget: Budget, history: History) -> Solution[ClassWeights]:
    """Minimise the objective on rows that an engine keeps, from zero."""
    require_fit(problem, budget.memory)
    state = AgreedWeights(problem, budget)
    try:
        return _ascend(state, budget, history)
    finally:
        state.release()


class AgreedWeights:
    """Weights that all parts agree on, in this process; rows and multipliers are elsewhere.

    Attributes
    ----------
    certificate : Certificate
        Smallest objective and largest bound so far.
    bytes_moved : int
        Bytes of the weights sent, once for each pass, and of the sum that comes back.
    """

    def __init__(self, problem: MulticlassProblem, budget: Budget) -> None:
        self.engine, objective = problem.engine, problem.objective
        classes = (np.arange(objective.n_classes),)
        self._layout = BundleLayout.within(budget.memory, classes, objective.size)
        self._centred = objective.formulation == "llw"
        deal = DealByContents(objective, part_count(problem, budget.memory))
        self._parts = self.engine.regroup(problem.blocks, deal.split, deal.combine, deal.n_parts)
        known = self.engine.reduce(self._parts, known_sums, added)
        n_parts, occurring, self._fixed_loss, at_zero = known
        self._occurring = np.maximum(occurring, 1.0)
        self._relative = np.ones(objective.size)
        if objective.constant:
            self._relative[-1] = OF_CONSTANT / n_parts
        self._threads = self.engine.share(n_parts).threads
        self._seed, self._done = budget.seed, 0
        zero = self._as_kept(sp.csr_array((objective.n_classes, objective.size)))
        self._agreed = self._lag = self._averaged = self._best = zero
        self.certificate = Certificate(at_zero, self._fixed_loss)
        self.bytes_moved = 0

    def take_pass(self) -> None:
        """Let all parts improve their multipliers; certify where they began."""
        begin = self._agreed - self._lag
        sent, sigma = lighter(begin), self._sigma(self._done)
        seed = self._seed + 1_009 * self._done
        improve = Improve(self._layout, sent, sigma, RELAXATION, seed, self._threads)
        before, self._parts = self._parts, self.engine.map(self._parts, improve)
        found = self.engine.reduce(self._parts, SumUp(self._layout), added_up)
        self.engine.release(before)
        weights, total, losses = found
        self._done += 1
        self.bytes_moved += bytes_of_weights(sent) + bytes_of_weights(weights)
        implied = self._as_kept(weights)
        self._certify(begin, losses, self._fixed_loss + total - half_norm(implied))
        self._agree(implied, sigma)

    def _certify(self, begin: Any, losses: Array, dual: float) -> None:
        """Keep the best weights and the best bound."""
        dual = max(dual, self.certificate.dual)
        scale, found = best_scale(half_norm(begin), losses.tolist(), dual)
        if found.primal < self.certificate.primal:
            self._best = scale * begin
        self.certificate = Certificate(min(found.primal, self.certificate.primal), dual)

    def _agree(self, implied: Any, sigma: Array) -> None:
        """Move the agreed weights towards those of the averaged multipliers."""
        stay, parts = 1.0 - RELAXATION, self._occurring
        self._averaged = stay * self._averaged + RELAXATION * implied
        middle = self._agreed + stay * self._lag
        own = times(middle, parts / (parts + sigma))
        agreed = own + times(self._averaged, sigma / (parts + sigma))
        # The lag is in units of sigma.
        self._lag = times(middle - agreed, self._sigma(self._done) / sigma)
        self._agreed = agreed

    def _sigma(self, done: int) -> Array:
        """Return what a feature's change costs parts, in multiples of its true cost."""
        return max(SMALLEST, HALVING / (HALVING + done)) * self._relative

    def _as_kept(self, weights: Any) -> Any:
        """Return a sum of weights as this process keeps it: centred, and dense or sparse."""
        if not self._layout.dense:
            return sp.csr_array(weights)
        dense = weights.toarray() if sp.issparse(weights) else weights
        return dense - dense.mean(axis=0) if self._centred else dense

    @property
    def weights(self) -> Any:
        """The best weights, sparse where most are zero."""
        best = self._best
        stored = best.nnz if sp.issparse(best) else np.count_nonzero(best)
        if self._layout.is_sparse(int(stored)):
            return sp.csr_array(best)
        return best.toarray() if sp.issparse(best) else best

    @property
    def duals(self) -> None:
        """None: multipliers stay with the rows."""
        return None

    def release(self) -> None:
        """Free the parts."""
        self.engine.release(self._parts)


def _ascend(state: AgreedWeights, budget: Budget, history: History) -> Solution[ClassWeights]:
    """Take passes until the gap is small enough."""
    travelling = not state.engine.in_process
    done, outcome = 0, None
    while outcome is None:
        certificate = state.certificate
        history.record(
            state,
            iteration=done,
            primal=certificate.primal,
            dual=certificate.dual,
            relative_gap=certificate.relative_gap,
            **({"bytes_moved": state.bytes_moved} if travelling else {}),
        )
        history.iterations = done
        if certificate.relative_gap <= budget.tol:
            outcome = Outcome.CONVERGED
        elif done >= budget.max_iter or budget.out_of_time:
            outcome = Outcome.ITERATIONS if done >= budget.max_iter else Outcome.TIME
        else:
            done += 1
            state.take_pass()
    found = history.latest = StoredWeights(state.weights)
    return Solution(found, certificate, outcome, done)


def half_norm(weights: Any) -> float:
    """Return ½‖W‖²."""
    values = weights.data if sp.issparse(weights) else weights
    return 0.5 * float(np.vdot(values, values))


def lighter(weights: Any) -> Any:
    """Return weights as an array or a CSR array, whichever takes less."""
    if sp.issparse(weights):
        return weights
    if SPARSE_BYTES * np.count_nonzero(weights) >= DENSE_BYTES * weights.size:
        return weights
    return sp.csr_array(weights)


def bytes_of_weights(weights: Any) -> int:
    """Return the bytes that weights take."""
    if sp.issparse(weights):
        return int(weights.data.nbytes + weights.indices.nbytes + weights.indptr.nbytes)
    return int(weights.nbytes)
