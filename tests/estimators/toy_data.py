"""Data that a kernel separates and a line does not."""

import numpy as np
from sklearn.datasets import make_circles


def circles(n_rows: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return make_circles(n_rows, noise=0.1, factor=0.4, random_state=seed)
