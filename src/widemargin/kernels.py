"""The earlier name of :mod:`widemargin.kernel.kernels`."""

from .core.rows import as_rows
from .kernel.kernels import Kernel

__all__ = ["Kernel", "as_rows"]
