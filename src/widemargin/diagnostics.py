"""The earlier name of :mod:`widemargin.inspection`."""

from .inspection import *  # noqa: F403
