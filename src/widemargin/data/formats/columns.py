"""Choose the columns of a table that are features and the one that holds the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .blocks import Request

#: Names that mark the label column. `y` comes second because it may be a coordinate.
LABEL_NAMES = (("label", "target", "class"), ("y",))


@dataclass(frozen=True)
class ChosenColumns:
    """Positions of the feature columns, in the order of the matrix, and of the label column."""

    features: tuple[int, ...]
    label: int | None
    notes: tuple[str, ...]


def check_names(request: Request, names: Sequence[str], line: int | None = None) -> None:
    """Raise a `DataFileError` unless every column has a name of its own."""
    for position, name in enumerate(names):
        if not name:
            raise request.error(
                f"column {position + 1} of the header has no name. If it is the row index of a "
                "data frame, leave it out when writing (pandas: `to_csv(..., index=False)`); "
                "otherwise name it.",
                line,
            )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise request.error(f"two columns are called {twice!r}. Rename one of them.", line)


def choose_columns(request: Request, names: Sequence[str] | None, width: int) -> ChosenColumns:
    """Choose the feature columns and the label column of a table of `width` columns.

    `names` is None without a header, the chosen ``label`` is None if labels are not requested.
    """
    requested = None if request.label is None else _locate(request, request.label, names, width)
    if request.feature_names is not None and names is not None:
        features = _by_name(request, request.feature_names, names)
        label = _label_beside(request, requested, features, names) if request.labelled else None
    else:
        label = _label_by_position(request, requested, names, width)
        features = tuple(i for i in range(width) if i != label)
        if not features:
            raise request.error("expected feature columns besides the label, found one column.")
        if not request.labelled:
            return ChosenColumns(features, None, _left_out(request, requested, names, label))
    if label is None or requested is not None:  # nothing was decided here
        return ChosenColumns(features, label, ())
    described = f"column {label + 1}" if names is None else f"column {names[label]!r}"
    return ChosenColumns(features, label, (f"labels are taken from {described}",))


def _left_out(
    request: Request, requested: int | None, names: Sequence[str] | None, label: int | None
) -> tuple[str, ...]:
    """Note that a column was taken for labels, which nobody asked for, where features are found."""
    known = request.n_features is not None or request.feature_names is not None
    if label is None or names is None or requested is not None or known:
        return ()
    return (
        f"column {names[label]!r} is taken for labels, which are not learnt from: rename it if it "
        "is a feature",
    )


def _locate(request: Request, label: str | int, names: Sequence[str] | None, width: int) -> int:
    """Position of the column that the caller named or numbered."""
    if isinstance(label, str) and names is not None and label in names:
        return names.index(label)
    try:
        position = int(label)
    except ValueError:
        found = (
            f"the file has no header and {width} columns; give the position (from 0) instead"
            if names is None
            else f"found {_listed(names)}"
        )
        raise request.error(f"no column is called {label!r}; {found}.") from None
    if not -width <= position < width:
        raise request.error(
            f"the label column must be in 0 … {width - 1} (or -{width} … -1, from the end); "
            f"got {position}."
        )
    return position % width


def _by_name(request: Request, wanted: tuple[str, ...], names: Sequence[str]) -> tuple[int, ...]:
    position = {name: i for i, name in enumerate(names)}
    missing = [name for name in wanted if name not in position]
    if missing:
        raise request.error(
            f"expected the {len(wanted)} feature columns of the model; missing: "
            f"{_listed(missing)}. Found {_listed(names)}."
        )
    return tuple(position[name] for name in wanted)


def _label_beside(
    request: Request, requested: int | None, features: tuple[int, ...], names: Sequence[str]
) -> int:
    """Position of the label column when the features are known by name."""
    if requested is not None:
        if requested in features:
            raise request.error(
                f"column {names[requested]!r} is a feature of the model and cannot be the label."
            )
        return requested
    others = [i for i in range(len(names)) if i not in set(features)]
    if len(others) == 1:
        return others[0]
    named = _named_label(request, [names[i] for i in others])
    if named is not None:
        return others[named]
    found = _listed([names[i] for i in others]) if others else "none"
    raise request.error(
        f"expected one label column besides the features, found {found}. Name the label column."
    )


def _label_by_position(
    request: Request, requested: int | None, names: Sequence[str] | None, width: int
) -> int | None:
    """Position of the label column when the features are all the others."""
    if request.n_features is not None:
        optional = not request.labelled and requested is None
        if optional and width == request.n_features:
            return None
        if width != request.n_features + 1:
            label = ", with or without a label column" if optional else " and a label column"
            raise request.error(
                f"expected {request.n_features} feature columns{label}; found {width} columns."
            )
    if requested is not None:
        return requested
    named = None if names is None else _named_label(request, names)
    if named is not None:
        return named
    # Without a model to say how many features there are, an unmarked column is a feature.
    if not request.labelled and request.n_features is None:
        return None
    return width - 1


def _named_label(request: Request, names: Sequence[str]) -> int | None:
    for group in LABEL_NAMES:
        found = [i for i, name in enumerate(names) if name.lower() in group]
        if len(found) == 1:
            return found[0]
        if found:
            raise request.error(
                f"{_listed([names[i] for i in found])} could each be the label. "
                'Name the label column: `label="NAME"`, or --label NAME on the command line.'
            )
    return None


def _listed(names: Sequence[str], at_most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"
