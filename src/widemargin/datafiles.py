"""The earlier name of :mod:`widemargin.data.formats`."""

from .data.formats import *  # noqa: F403
