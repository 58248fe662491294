"""The earlier name of :mod:`widemargin.data.spool`."""

from .data.spool import *  # noqa: F403
