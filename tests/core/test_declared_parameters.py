"""Constructors, constraints and docstrings that are generated from declarations."""

import inspect
from dataclasses import field
from typing import ClassVar

import pytest

from widemargin.core.parameters import assembled, with_parameters


@with_parameters
class Shape:
    """A shape.

    Parameters
    ----------
    colour : str, default='red'
        Colour of all of it.
    size : int, default=1
        Size.

    Attributes
    ----------
    area_ : float
        Area.
    """

    _parameter_order: ClassVar[str] = "corners size"
    _parameter_constraints: ClassVar[dict] = {"colour": [str], "size": [int]}

    colour: str = "red"
    size: int = 1


@with_parameters
class Star(Shape):
    """A star.

    Parameters
    ----------
    corners : int, default=5
        Number of corners.
    colour : str, default='gold'
        Colour of its edge.
    name : str, default=None
        Name.

    Notes
    -----
    Stars have no circumference.
    """

    _parameter_constraints: ClassVar[dict] = {"corners": [int], "name": [str, None]}

    name: str | None = field(default=None, kw_only=False)
    corners: int = 5
    colour: str = "gold"


def test_parameters_of_bases_come_in_the_declared_order():
    assert [
        (each.name, each.default, each.kind.name)
        for each in inspect.signature(Star).parameters.values()
    ] == [
        ("name", None, "POSITIONAL_OR_KEYWORD"),
        ("corners", 5, "KEYWORD_ONLY"),
        ("size", 1, "KEYWORD_ONLY"),
        ("colour", "gold", "KEYWORD_ONLY"),
    ]
    assert vars(Star("Vega", size=2)) == {"name": "Vega", "corners": 5, "size": 2, "colour": "gold"}
    with pytest.raises(TypeError, match="positional"):
        Star("Vega", 5)


def test_constraints_are_joined():
    expected = {"name": [str, None], "corners": [int], "size": [int], "colour": [str]}
    assert Star._parameter_constraints == expected
    assert list(Star._parameter_constraints) == list(expected)
    assert Shape._parameter_constraints == {"size": [int], "colour": [str]}


def test_entries_of_docstrings_are_inherited_unless_replaced():
    assert (
        Star.__doc__
        == inspect.cleandoc(
            """A star.

        Parameters
        ----------
        name : str, default=None
            Name.
        corners : int, default=5
            Number of corners.
        size : int, default=1
            Size.
        colour : str, default='gold'
            Colour of its edge.

        Attributes
        ----------
        area_ : float
            Area.

        Notes
        -----
        Stars have no circumference.
        """
        )
        + "\n"
    )


def test_sections_are_put_before_the_others():
    doc = "Summary.\n\n    Notes\n    -----\n    None.\n"
    done = assembled(doc, {"Parameters": ["a : int\n    One."], "Attributes": []})
    assert done == "Summary.\n\nParameters\n----------\na : int\n    One.\n\nNotes\n-----\nNone.\n"
