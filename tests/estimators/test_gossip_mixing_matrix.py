"""A mixing matrix of the user's own: what sites do with it, and which matrices are refused."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification

from widemargin import GossipClassifier, LinearODMClassifier, LinearSVMClassifier, load_model
from widemargin.gossip import PrintedGadget, graph_of
from widemargin.gossip.mixing_matrix import mixing_matrix, with_mixing_matrix

Array = npt.NDArray[np.float64]

X, y = make_classification(60, 4, n_informative=3, n_redundant=0, random_state=0)
SITE = np.arange(60) % 4
# Doubly stochastic, not symmetric, on a ring of four sites.
B = np.array(
    [[0.4, 0.5, 0.0, 0.1], [0.2, 0.3, 0.5, 0.0], [0.0, 0.2, 0.2, 0.6], [0.4, 0.0, 0.3, 0.3]]
)


def fitted(weights: Any = B, **parameters: Any) -> GossipClassifier:
    settings = {
        "solver": PrintedGadget(batch_size=None),
        "lam": 0.1,
        "fit_intercept": False,
        "stopping": "never",
        "max_iter": 6,
        "tol": 100.0,
    }
    return GossipClassifier(weights=weights, **settings | parameters).fit(X, y, sites=SITE)


def gadget(matrix: Array, rounds: int, lam: float = 0.1) -> Array:
    """Algorithm 3 of GADGET with all rows of a site in a step, and one exchange by B."""
    label = np.where(y == 1, 1.0, -1.0)
    W = np.zeros((4, X.shape[1]))
    for t in range(1, rounds + 1):
        for s in range(4):
            own = s == SITE
            wrong = label[own] * (X[own] @ W[s]) < 1
            step = (label[own] * wrong) @ X[own] / own.sum()
            W[s] = (1 - 1 / t) * W[s] + step / (lam * t)
        mass = matrix.T @ np.ones(4)
        W = (matrix.T @ W) / mass[:, None]
    return W


def test_sites_average_by_the_matrix() -> None:
    """Exactly, round by round; Metropolis weights give something else."""
    for rounds in (1, 2, 6):
        model = fitted(max_iter=rounds)
        np.testing.assert_allclose(model.site_coef_[0], gadget(B, rounds), rtol=1e-10)
    assert np.abs(fitted("metropolis").site_coef_[0] - gadget(B, 6)).max() > 1e-3


@pytest.mark.parametrize("form", [sp.csr_matrix, np.ndarray.tolist, lambda b: b.astype(np.float32)])
def test_forms_of_the_matrix(form: Any) -> None:
    np.testing.assert_allclose(fitted(form(B)).site_coef_, fitted().site_coef_, rtol=1e-5)


def test_the_matrix_says_how_many_sites_there_are_and_how_fast_they_agree() -> None:
    model = fitted()
    assert len(model.sites_) == 4
    second = np.sort(np.abs(np.linalg.eigvals(B)))[-2]
    assert model.mixing_time_ == pytest.approx(-1 / np.log(second))
    np.testing.assert_allclose(model.topology_.weights("given").own, np.diag(B))


def test_it_defines_the_graph_where_it_is_the_topology_too() -> None:
    full = np.full((4, 4), 0.25)
    np.testing.assert_allclose(
        fitted(full, topology=full).site_coef_[0], gadget(full, 6), rtol=1e-10
    )
    np.testing.assert_array_equal(
        fitted("given", topology=full).site_coef_, fitted(full, topology=full).site_coef_
    )


def test_links_without_a_share_carry_nothing() -> None:
    """A complete graph, of which B uses a directed circle."""
    circle = 0.5 * (np.eye(4) + np.roll(np.eye(4), 1, axis=1))
    model = fitted(circle, topology="complete")
    np.testing.assert_allclose(model.site_coef_[0], gadget(circle, 6), rtol=1e-10)
    assert model.topology_.n_links == 4
    assert model.n_messages_ == 4 * 6
    # Two sites that swap what they have: entries of 1 are shares here, not mere links.
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert graph_of(swap, 2).given is None
    np.testing.assert_array_equal(with_mixing_matrix(graph_of("ring", 2), swap).given, [[1.0, 1.0]])


@pytest.mark.parametrize("solver", ["consensus", "gadget", "tracking"])
def test_other_solvers(solver: str) -> None:
    loss = "odm" if solver == "tracking" else "hinge"
    even = 0.5 * (B + B.T)
    model = GossipClassifier(
        solver=solver, weights=even, loss=loss, C=0.1, max_iter=3000, tol=0.05, stopping="never"
    ).fit(X, y, sites=SITE)
    kind = LinearODMClassifier if loss == "odm" else partial(LinearSVMClassifier, loss="hinge")
    best = kind(C=0.1, tol=1e-8).fit(X, y).history_["primal"][-1]
    assert model.history_["max_objective"][-1] <= 1.02 * best


def test_clones_and_files(tmp_path: Any) -> None:
    model = fitted()
    np.testing.assert_array_equal(clone(model).weights, B)
    model.save(tmp_path / "model.wm")
    again = load_model(tmp_path / "model.wm")
    np.testing.assert_array_equal(again.weights, B)
    np.testing.assert_array_equal(again.site_coef_, model.site_coef_)


REFUSED = {
    "not square": (np.ones((2, 3)) / 3, "must be square, of numbers"),
    "text": (np.full((4, 4), "a"), "must be square, of numbers"),
    "negative": (np.array([[1.5, -0.5], [-0.5, 1.5]]), "must be finite and 0 or more; got -0.5"),
    "nan": (np.full((2, 2), np.nan), "must be finite and 0 or more; got nan"),
    "rows": (0.9 * B, "rows and columns that sum to 1; got 0.9 as the sum of row"),
    "columns": (
        np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [0.5, 0, 0, 0.5]]),
        "as the sum of column 0",
    ),
    "strangers": (np.full((4, 4), 0.25), "from site 0 to 2, between which `topology` has no link"),
    "size": (np.eye(3), "it has 3 rows, and there are 4 sites"),
    "apart": (np.kron(np.eye(2), np.full((2, 2), 0.5)), "The graph must be connected"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_matrices_are_refused(name: str) -> None:
    matrix, message = REFUSED[name]
    sites = {"n_sites": 4} if name == "size" else {}
    with pytest.raises(ValueError, match=message):
        fitted(matrix, **sites)


def test_what_a_matrix_does_not_go_with() -> None:
    with pytest.raises(ValueError, match=r"must have `partners`='all'; got partners='one'"):
        fitted(partners="one")
    with pytest.raises(ValueError, match=r"is for one graph; `topology` is a list of 2"):
        fitted(topology=["ring", "ring"], n_sites=4)
    with pytest.raises(ValueError, match="weights"):
        fitted(3.0)


def test_sums_may_be_rounded() -> None:
    rounded = np.round(np.full((3, 3), 1 / 3), 7)
    assert mixing_matrix(rounded).dtype == np.float64
