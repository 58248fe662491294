"""Demands that fitted attributes must meet before they are written or used."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

_INT64_MAX = np.iinfo(np.int64).max
REAL = (np.float32, np.float64)


def demand(satisfied: bool, name: str, requirement: str) -> None:
    """Raise ValueError unless an attribute is as required."""
    if not satisfied:
        raise ValueError(f"`{name}` must be {requirement}")


def is_integer(value: Any) -> bool:
    """Tell whether a value is an integer that int64 can hold."""
    integral = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return integral and -_INT64_MAX <= value <= _INT64_MAX


def check_counts(array: Any, name: str) -> None:
    """Demand a vector of integers that are not negative."""
    integers = isinstance(array, np.ndarray) and array.dtype in (np.int32, np.int64)
    demand(integers and array.ndim == 1, name, "an array of integers")
    demand(bool((array >= 0).all()), name, "integers that are not negative")


def check_reals(array: Any, name: str, shape: tuple[int, ...], *dtypes: type) -> None:
    """Demand finite numbers of one of some types, in a shape."""
    names = " or ".join(dtype.__name__ for dtype in dtypes)
    demand(isinstance(array, np.ndarray) and array.dtype in dtypes, name, f"an array of {names}")
    demand(array.shape == shape, name, f"of shape {shape}; it is {array.shape}")
    demand(bool(np.isfinite(array).all()), name, "finite")


def check_matrix(array: Any, name: str, shape: tuple[int, int]) -> None:
    """Demand rows of finite numbers, dense or CSR."""
    if sparse.issparse(array):
        demand(array.format == "csr", name, "in CSR format")
        demand(array.shape == shape, name, f"of shape {shape}")
        check_reals(array.data, name, array.data.shape, *REAL)
    else:
        check_reals(array, name, shape, *REAL)
