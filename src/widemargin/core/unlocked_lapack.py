"""LAPACK's Cholesky method with the interpreter's lock released.

SciPy's wrappers of LAPACK hold the lock, so threads that factorise parts wait for each other. SciPy
publishes the same routines as addresses for Cython; a call through :mod:`ctypes` releases the lock
and gives the same bits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Letters of the routines' names.
_LETTERS = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}


def solve_positive_definite(matrix: NDArray[Any], target: NDArray[Any]) -> NDArray[Any] | None:
    """Solve ``matrix`` x = ``target`` for a symmetric positive definite matrix.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Float32 or float64, contiguous; its lower triangle in column order, which is the upper one
        in row order, is read, and overwritten by the factor.
    target : array of shape (n,)
        Converted to the matrix's type.

    Returns
    -------
    array of shape (n,) or None
        None if the matrix is not positive definite, or not by enough for its precision.
    """
    order = ctypes.c_int(matrix.shape[0])
    if not (matrix.flags.c_contiguous or matrix.flags.f_contiguous):
        raise ValueError("`matrix` must be contiguous, as it is factorised in place.")
    solution = np.array(target, dtype=matrix.dtype)
    one, failed = ctypes.c_int(1), ctypes.c_int(0)
    factorise, substitute = _routines(_LETTERS[matrix.dtype])
    factorise(b"L", order, matrix.ctypes.data, order, failed)
    if failed.value:
        return None
    substitute(b"L", order, one, matrix.ctypes.data, order, solution.ctypes.data, order, failed)
    return solution if np.all(np.isfinite(solution)) else None


@cache
def _routines(letter: str) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the routines that factorise and substitute, by the letter of their precision."""
    number, values = ctypes.POINTER(ctypes.c_int), ctypes.c_void_p
    factorise = _routine(f"{letter}potrf", ctypes.c_char_p, number, values, number, number)
    substitute = _routine(
        f"{letter}potrs", ctypes.c_char_p, number, number, values, number, values, number, number
    )
    return factorise, substitute


def _routine(name: str, *arguments: Any) -> Callable[..., None]:
    """Return a routine of SciPy's LAPACK; calls of a ``CFUNCTYPE`` release the lock."""
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))(
        capsule
    )
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )(capsule, signature)
    return ctypes.CFUNCTYPE(None, *arguments)(address)
