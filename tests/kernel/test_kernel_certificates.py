"""Certificates from single-precision kernel values never claim more than those in float64."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.core.outcome import certify
from widemargin.kernel import certificates
from widemargin.kernel.certificates import FEWEST_ROWS, certified_margins, rounding_of_margins
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import KernelProblem

LOSSES = [Hinge(), SquaredHinge(), MarginDistribution(0.5, 0.2)]
losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def posed(loss: Loss, sparse: bool = False) -> tuple[KernelProblem, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((FEWEST_ROWS, 40)).astype(np.float32)
    label = np.where(X[:, 0] + 0.5 * random.standard_normal(len(X)) > 0, 1.0, -1.0)
    terms = loss.terms(np.full(len(X), 5.0))
    rows = sp.csr_matrix(np.where(np.abs(X) < 1, 0, X)) if sparse else X
    problem = KernelProblem(rows, Kernel("rbf", 0.01, constant=1.0), label, terms, threads=2)
    return problem, terms.nearest(random.uniform(0, 0.02, len(X)))


@losses
@pytest.mark.parametrize("sparse", [False, True])
def test_the_gap_covers_the_rounding(loss: Loss, sparse: bool) -> None:
    problem, net_dual = posed(loss, sparse)
    margin = problem.margins(net_dual, single=True)
    exact = problem.margins(net_dual)
    rounding = rounding_of_margins(problem, net_dual, margin)
    assert 0 < np.abs(margin - exact).mean() <= 0.5 * rounding <= 1e-3
    proved = certify(problem.terms, net_dual, margin, rounding)
    assert proved.gap >= certify(problem.terms, net_dual, exact).gap
    assert proved.gap >= certify(problem.terms, net_dual, margin).gap


@losses
def test_any_margins_so_near_have_no_larger_gap(loss: Loss) -> None:
    problem, net_dual = posed(loss)
    margin, random = problem.margins(net_dual), np.random.default_rng(1)
    proved = certify(problem.terms, net_dual, margin, 0.05)
    for _ in range(5):
        near = margin + random.choice([-0.05, 0.0, 0.05], len(margin))
        losses_there = problem.terms.primal(near) + problem.terms.phi(net_dual)
        assert float(np.sum(net_dual * near + losses_there)) <= proved.gap


def test_float64_is_used_where_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, net_dual = posed(Hinge())
    exact = certify(problem.terms, net_dual, problem.margins(net_dual)).relative_gap
    single = problem.margins(net_dual, single=True)
    # Far from `tol`, whatever the rounding is: no float64.
    for tol in (2 * exact, 0.5 * exact):
        margin, certificate = certified_margins(problem, net_dual, tol)
        np.testing.assert_array_equal(margin, single)
        assert (certificate.relative_gap <= tol) == (exact <= tol)
    # The gap is within `tol`, but by less than the rounding.
    monkeypatch.setattr(certificates, "SAFETY", 1e5)
    margin, certificate = certified_margins(problem, net_dual, (1 + 1e-5) * exact)
    np.testing.assert_array_equal(margin, problem.margins(net_dual))
    assert certificate.relative_gap == exact
