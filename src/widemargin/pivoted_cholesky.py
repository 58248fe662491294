"""The earlier name of :mod:`widemargin.kernel.cholesky`."""

from .kernel.cholesky import PivotedCholesky, pivoted_cholesky

__all__ = ["PivotedCholesky", "pivoted_cholesky"]
