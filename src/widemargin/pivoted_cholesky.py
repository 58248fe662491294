"""The earlier name of :mod:`widemargin.kernel.pivoted_cholesky`."""

from .kernel.pivoted_cholesky import PivotedCholesky, pivoted_cholesky

__all__ = ["PivotedCholesky", "pivoted_cholesky"]
