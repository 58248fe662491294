"""A read-only page that shows a network of sites during training."""

from .watcher import Watcher, name_of, page_of

__all__ = ["Watcher", "name_of", "page_of"]
