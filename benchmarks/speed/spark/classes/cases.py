"""The fits: sets of text, formulations and solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks.race.data import load

SETS = {"clinc150": "CLINC150", "sector": "sector", "news20_bydate": "news20"}
TOL = 1e-2
CASES = (("cs", 1.0), ("ww", 1.0), ("llw", 10.0), ("llw", 100.0))
QUICK_ROWS = 300


def rows_of(name: str, quick: bool) -> tuple[Any, np.ndarray]:
    """Return rows of unit length and their labels."""
    data = load(name)
    X, y = data.X, data.y
    if quick:
        X, y = X[:QUICK_ROWS], y[:QUICK_ROWS]
    return normalize(sp.csr_matrix(X)), y


def solvers_of(formulation: str) -> tuple[str, ...]:
    """Return the solvers of a formulation; 'auto' brings rows of these sets into one task."""
    return ("blocks", "tournament", "auto") if formulation == "ww" else ("blocks", "auto")


def settings_of(formulation: str, C: float, solver: str, tol: float) -> dict[str, Any]:
    """Return the parameters of a fit."""
    return {
        "formulation": formulation,
        "C": C,
        "solver": solver,
        "tol": tol,
        "random_state": 0,
    }
