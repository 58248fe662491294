"""Getters, setters and constructor signatures, derived from the Params of a class.

A constructor is declared as ``__init__(self, **params: Unpack[Keywords])``, which type checkers
understand; defaults and texts are those of the Params, and are not repeated.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_type_hints

from pyspark.ml.param import Param

from ..core.parameters import assembled


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


Class = TypeVar("Class")

# The order of keywords in signatures and documentation.
ORDER = (
    "featuresCol labelCol predictionCol rawPredictionCol weightCol validationIndicatorCol idCol "
    "handleInvalid formulation kernel loss C lam upsilon theta gamma degree coef0 fitIntercept "
    "interceptScaling strategy levels fanIn stopLevel nStrata nSample solver tol maxIter maxTime "
    "seed memoryLimit classWeight nParts checkpointDir maxModelRows"
)
# Texts of pyspark's own Params that say more than theirs.
COLUMNS = {
    "featuresCol": "column of vectors, dense or sparse, or of arrays of numbers.",
    "labelCol": "column of labels 0, 1, …, or false and true.",
    "predictionCol": "column that the model adds: the label.",
    "rawPredictionCol": "column that the model adds: a vector of the decision for each class.",
}
WIDTH = 92


def with_keywords(cls: type[Class]) -> type[Class]:
    """Complete the signature and the docstring of a class whose constructor takes keywords."""
    made: Any = cls
    (settings,) = get_args(get_type_hints(made.__init__)["params"])
    stage, order, parameters, entries = made(), ORDER.split(), [], []
    for name in sorted(settings.__annotations__, key=order.index):
        kind = settings.__annotations__[name].__forward_arg__
        default = stage.getOrDefault(name) if stage.hasDefault(name) else None
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
            )
        )
        shown = "optional" if default is None else f"default={default!r}"
        text = COLUMNS.get(name, stage.getParam(name).doc)
        lines = textwrap.fill(text[0].upper() + text[1:], WIDTH, break_on_hyphens=False)
        kind = kind.removesuffix(" | None").replace(" | ", " or ")
        entries.append(f"{name} : {kind}, {shown}\n{textwrap.indent(lines, '    ')}")
    receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    made.__init__.__signature__ = inspect.Signature([receiver, *parameters])
    if made.__doc__ is not None:  # None under `python -OO`
        made.__doc__ = assembled(made.__doc__, {"Parameters": entries})
    return cls
