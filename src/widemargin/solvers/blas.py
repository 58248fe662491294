"""Dense algebra whose result does not depend on the number of BLAS threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # scanning the loaded libraries takes milliseconds: once


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run NumPy's and SciPy's linear algebra on one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
