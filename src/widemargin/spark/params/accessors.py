"""Getters and setters of Params, one pair for each, as pyspark's own estimators have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.ml.param import Param


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
