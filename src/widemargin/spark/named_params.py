"""Declaration of Params as class attributes."""

from __future__ import annotations

from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters


class NamedByAttribute(Param):  # type: ignore[misc]
    """A Param whose name is that of the class attribute it is assigned to."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name


def param(doc: str, convert: Any = TypeConverters.toString) -> Any:
    """Declare a Param, of text unless another converter is given."""
    return NamedByAttribute(Params._dummy(), "", doc, typeConverter=convert)
