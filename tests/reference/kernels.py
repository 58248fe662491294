"""Kernels: each function takes rows X and Z and returns the matrix of all κ(xᵢ, zⱼ)."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def linear(X: Array, Z: Array) -> Array:
    """κ(x, z) = xᵀz."""
    return X @ Z.T


def polynomial(X: Array, Z: Array, gamma: float, degree: int, coef0: float) -> Array:
    """κ(x, z) = (gamma·xᵀz + coef0)^degree."""
    return (gamma * (X @ Z.T) + coef0) ** degree


def sigmoid(X: Array, Z: Array, gamma: float, coef0: float) -> Array:
    """κ(x, z) = tanh(gamma·xᵀz + coef0); its matrix is not always positive semi-definite."""
    return np.tanh(gamma * (X @ Z.T) + coef0)


def rbf(X: Array, Z: Array, gamma: float) -> Array:
    """κ(x, z) = exp(−gamma·‖x − z‖²)."""
    squared_distances: Array = np.sum((X[:, None, :] - Z[None, :, :]) ** 2, axis=2)
    return np.exp(-gamma * squared_distances)


def laplacian(X: Array, Z: Array, gamma: float) -> Array:
    """κ(x, z) = exp(−gamma·‖x − z‖₁)."""
    distances: Array = np.sum(np.abs(X[:, None, :] - Z[None, :, :]), axis=2)
    return np.exp(-gamma * distances)


def with_intercept(K: Array) -> Array:
    """Add one to a kernel matrix, as a constant feature would: the intercept is then Σ yᵢγᵢ."""
    return K + 1.0


def signed(K: Array, y: Array) -> Array:
    """Q = YKY for labels y = ±1: row i of Qγ is the margin yᵢ f(xᵢ)."""
    return y[:, None] * K * y[None, :]
