"""Getters and setters of Params, as pyspark's own stages have them, and a former name of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.ml.param import Param

from ...core.fit import warn


def add_accessors(cls: type[Any], verb: str, make: Callable[[str], Any]) -> None:
    """Give a class getters or setters of those Params that lack one."""
    for name in dir(cls):
        if isinstance(getattr(cls, name, None), Param):
            accessor = f"{verb}{name[0].upper()}{name[1:]}"
            if not hasattr(cls, accessor):
                method = make(name)
                method.__name__, method.__qualname__ = accessor, f"{cls.__qualname__}.{accessor}"
                setattr(cls, accessor, method)


def getter(name: str) -> Any:
    """Make the getter of a Param."""

    def get(self: Any) -> Any:
        return self.getOrDefault(name)

    get.__doc__ = f"Get the value of ``{name}``, or its default."
    return get


def setter(name: str) -> Any:
    """Make the setter of a Param."""

    def set_value(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    set_value.__doc__ = f"Set the value of ``{name}``, and return this object."
    return set_value


class FormerPartitions:
    """The Param ``nParts`` under its former name ``nPartitions``."""

    nParts: Any

    @property
    def nPartitions(self) -> Any:
        """The Param ``nParts``; deprecated.

        pyspark looks Params up by attribute, so that keywords, grids and saved stages which say
        ``nPartitions`` end here.
        """
        warn("`nPartitions` has been renamed: use `nParts`.", FutureWarning)
        return self.nParts

    def getNPartitions(self: Any) -> Any:
        """Get the value of ``nParts``; deprecated."""
        return self.getOrDefault(self.nPartitions)

    def setNPartitions(self: Any, value: int) -> Any:
        """Set the value of ``nParts``; deprecated."""
        return self._set(nPartitions=value)
