"""A read-only page that draws a network of sites while it learns."""

from .page import page_of
from .watcher import Watcher

__all__ = ["Watcher", "page_of"]
