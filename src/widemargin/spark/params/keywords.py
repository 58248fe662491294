"""Signature and documentation of a classifier's constructor, from its Params.

A constructor is declared as ``__init__(self, **params: Unpack[Keywords])``, which type checkers
understand; defaults and texts are those of the Params, and are not repeated.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import Any, TypeVar, get_args, get_type_hints

from ...core.parameters import assembled

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
    "featuresCol": "column of vectors, dense or sparse, or of arrays of float or double.",
    "labelCol": "column of labels 0, 1, ….",
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
