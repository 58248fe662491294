"""Estimators whose parameters are declared once: type, default, allowed values, documentation.

scikit-learn reads an estimator's parameters from the signature of ``__init__``. Here that method is
generated from annotated class variables, as by :mod:`dataclasses`, so that base classes can declare
parameters which several estimators share.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from dataclasses import dataclass, field, fields
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from sklearn.utils._param_validation import Interval

Class = TypeVar("Class")

# Constraints that many parameters have.
POSITIVE = Interval(Real, 0.0, None, closed="neither")
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")

# Sections of a docstring that a class inherits entry by entry.
INHERITED = ("Parameters", "Attributes")
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def with_parameters(cls: type[Class]) -> type[Class]:
    """Generate the constructor of a class, and complete its constraints and its docstring.

    Annotated class variables are keyword-only parameters, unless declared by
    ``field(default=..., kw_only=False)``. Entries of ``_parameter_constraints``, and of the
    sections *Parameters* and *Attributes* of the docstrings, are joined with those of the base
    classes; a class replaces an inherited entry by one of the same name. Names in
    ``_parameter_order``, separated by spaces, come in that order, others after them.

    ``_elsewhere`` maps names of parameters that similar classes of other libraries have to what to
    do instead; the constructor refuses them with that advice.
    """
    doc = cls.__doc__  # None under `python -OO`, where a dataclass would write one
    made: Any = dataclass(eq=False, repr=False, kw_only=True)(cls)
    for each in fields(made):
        if each.name in vars(made):
            delattr(made, each.name)  # an instance has the value; the class itself has none
    made.__init__ = _refusing(made.__init__)
    names = _sort_signature(made.__init__, getattr(made, "_parameter_order", "").split())
    constraints: dict[str, Any] = {}
    for base in reversed(made.__mro__):
        constraints.update(vars(base).get("_parameter_constraints", {}))
    made._parameter_constraints = {n: constraints[n] for n in names if n in constraints}
    made.__doc__ = None if doc is None else _composed(made, doc, names)
    return cls


def _refusing(init: Any) -> Any:
    """Return a constructor that first refuses parameters of other libraries, with advice."""

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        advice = advice_on(type(self), kwargs)
        if advice is not None:
            raise TypeError(advice)
        init(self, *args, **kwargs)

    return checked


def advice_on(cls: type[Any], names: Collection[str]) -> str | None:
    """Say what to do instead of setting a parameter that only other libraries have, if any is."""
    elsewhere: dict[str, str] = getattr(cls, "_elsewhere", {})
    for name in names:
        if name in elsewhere and name not in cls._parameter_constraints:
            return f"{cls.__name__} has no parameter {name!r}: {elsewhere[name]}"
    return None


def _sort_signature(init: Any, order: list[str]) -> list[str]:
    """Show keyword-only parameters in the given order, and return the names of all as shown."""
    signature = inspect.signature(init)
    place = {name: k for k, name in enumerate(order)}

    def key(each: inspect.Parameter) -> tuple[int, int]:
        named = each.kind == each.KEYWORD_ONLY
        return each.kind, place.get(each.name, len(place)) if named else 0

    shown = sorted(signature.parameters.values(), key=key)
    init.__signature__ = signature.replace(parameters=shown)
    return [each.name for each in shown[1:]]


def _composed(cls: type[Any], doc: str, names: list[str]) -> str:
    """Return the docstring of a class with the entries it inherits."""
    found: dict[str, dict[str, str]] = {title: {} for title in INHERITED}
    for base in reversed(cls.__mro__):
        for title, text in _sections(vars(base).get("__doc__")).items():
            if title in found:
                found[title].update((_name(entry), entry) for entry in _ENTRY.split(text)[1:])
    described = found["Parameters"]
    ordered = [*(name for name in names if name in described), *described]
    found["Parameters"] = {name: described[name] for name in ordered}
    return assembled(doc, {title: list(entries.values()) for title, entries in found.items()})


def assembled(doc: str, entries: dict[str, list[str]]) -> str:
    """Return a docstring with sections of the given entries in place of its own, if any."""
    sections = _sections(doc)
    parts = [sections.pop("").strip()]
    joined = {title: "\n".join(each.rstrip() for each in of) for title, of in entries.items()}
    for title, text in (joined | {t: x for t, x in sections.items() if t not in joined}).items():
        if text:
            parts.append(f"{title}\n{'-' * len(title)}\n{text.rstrip()}")
    return "\n\n".join(parts) + "\n"


def _sections(doc: str | None) -> dict[str, str]:
    """Split a docstring into its sections; the text before the first has an empty title."""
    first, *rest = _HEADING.split(inspect.cleandoc(doc or ""))
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def _name(entry: str) -> str:
    return entry.split(" :", 1)[0].split("\n", 1)[0].strip()
