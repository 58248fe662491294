r"""Methods made of Pegasos steps: Pegasos and CHOCO-SGD. GADGET SVM as printed is the library's.

**CHOCO-SGD** (Koloskova, Stich and Jaggi 2019): every site and its neighbours keep a public copy
:math:`\hat w_i` of its model, and only what changes it is sent:

.. math:: q_i = Q(w_i - \hat w_i), \quad \hat w_i \leftarrow \hat w_i + q_i, \quad
          w_i \leftarrow w_i + \gamma \sum_j P_{ij} (\hat w_j - \hat w_i)

Q is that of QSGD (Alistarh et al. 2017): every value becomes one of s = 2ᵇ - 1 multiples of ‖v‖ / s
or zero, drawn so that the mean is right, b bits for the multiple and one for the sign. CHOCO needs
a contraction, hence the division by τ; its γ is not printed in the comparison: 1/τ, which is one
without quantisation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .problem import HEADER_BYTES, VALUE_BYTES, DividedProblem, Outcome
from .stepping import MAX_ROUNDS, NormRule, Silence, run


def pegasos(
    problem: DividedProblem,
    *,
    batch: int | None = 1,
    rule: NormRule | None = None,
    max_rounds: int = MAX_ROUNDS,
    **settings: Any,
) -> Outcome:
    """Run Pegasos on all rows in one place; nothing is sent."""
    rule = NormRule() if rule is None else rule
    return run(
        problem.pooled(), Silence(), batch=batch, rule=rule, max_rounds=max_rounds, **settings
    )


BITS = 3


def quantised(values: np.ndarray, bits: int, rng: np.random.Generator) -> np.ndarray:
    """Round every row to multiples of its norm; the mean over draws is the row itself."""
    levels = 2**bits - 1
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    scale = np.divide(levels, norms, out=np.zeros_like(norms), where=norms > 0)
    rounded = np.floor(np.abs(values) * scale + rng.random(values.shape))
    return np.asarray(np.sign(values) * rounded * norms / levels)


def contraction(size: int, bits: int) -> float:
    """Return τ, a bound of the second moment of a quantised vector over its own."""
    levels = 2**bits - 1
    return 1.0 + float(min(size / levels**2, np.sqrt(size) / levels))


def message_bytes(size: int, bits: int | None) -> int:
    """Return the size of a message: a norm, then sign and multiple of each value."""
    if bits is None:
        return HEADER_BYTES + size * VALUE_BYTES
    return HEADER_BYTES + VALUE_BYTES + -(-size * (bits + 1) // 8)


class Compressed:
    """The exchange; without bits nothing is quantised."""

    def __init__(
        self, problem: DividedProblem, bits: int | None, gamma: float | None, seed: int
    ) -> None:
        self.messages = self.bytes_sent = 0
        self._bits, self._rng = bits, np.random.default_rng(seed)
        self._tau = 1.0 if bits is None else contraction(problem.size, bits)
        self._pull = (1.0 / self._tau if gamma is None else gamma) * (
            problem.mixing - np.eye(problem.n_sites)
        )
        self._links = problem.links
        self._public = np.zeros((problem.n_sites, problem.size))

    def mix(self, models: np.ndarray) -> np.ndarray:
        """Send what changes the public copies, and step towards those of the neighbours."""
        news = models - self._public
        if self._bits is not None:
            news = quantised(news, self._bits, self._rng) / self._tau
        self._public = self._public + news
        self.messages += self._links
        self.bytes_sent += self._links * message_bytes(models.shape[1], self._bits)
        return models + self._pull @ self._public


def choco(
    problem: DividedProblem,
    *,
    bits: int | None = BITS,
    gamma: float | None = None,
    batch: int | None = 1,
    seed: int = 0,
    rule: NormRule | None = None,
    max_rounds: int = MAX_ROUNDS,
    **settings: Any,
) -> Outcome:
    """Run CHOCO-SGD until every site has converged once by the rule, if there is one."""
    exchange = Compressed(problem, bits, gamma, seed)
    return run(
        problem, exchange, batch=batch, seed=seed, rule=rule, max_rounds=max_rounds, **settings
    )
