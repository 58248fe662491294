"""Training sets, solved parts and problems of every loss."""

import numpy as np
import numpy.typing as npt

from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.samples import Part, Samples, whole_set

Array = npt.NDArray[np.float64]

RBF = Kernel("rbf", 0.3)

LOSSES: dict[str, Loss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "odm": MarginDistribution(upsilon=0.4, theta=0.2),
}


def two_clouds(n_rows: int, seed: int = 0) -> tuple[Array, Array]:
    """Overlapping clouds, and labels of ±1 of which some are wrong."""
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(n_rows) < 0.5, 1.0, -1.0)
    return rng.normal(size=(n_rows, 3)) + 0.7 * label[:, None], label


def training_set(
    n_rows: int = 60, loss: str = "odm", seed: int = 0, kernel: Kernel = RBF
) -> Samples:
    """Rows of unequal weight."""
    X, label = two_clouds(n_rows, seed)
    weight = np.random.default_rng(seed + 1).uniform(0.2, 3.0, size=n_rows)
    return Samples(X, kernel, label, weight, LOSSES[loss])


def parts_of(set_: Samples, owner: npt.NDArray[np.int64], net_dual: Array) -> list[Part]:
    """Break a training set up by the owner of each row."""
    return [piece for _, piece in whole_set(set_, net_dual).pieces(owner)]


def random_duals(set_: Samples, seed: int = 0, scale: float = 1.0) -> Array:
    """Draw duals inside the loss's domain, a third of them zero."""
    rng = np.random.default_rng(seed)
    drawn = scale * rng.normal(size=set_.n_rows) * (rng.random(set_.n_rows) < 2 / 3)
    return set_.loss.terms(set_.weight).nearest(drawn)


def rings(n_rows: int, seed: int = 0) -> tuple[Array, Array]:
    """A ring around a disc, labelled 1 and 0."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n_rows) < 0.5).astype(np.float64)
    angle, radius = rng.uniform(0, 2 * np.pi, n_rows), label + 0.3 * rng.random(n_rows)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label
