"""Settings that differential privacy rules out, since they let out more than the account says.

The account is of noisy gradients alone. Whatever else sites told each other about their rows would
be told without noise: so the scales and levels of all columns must be known beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...gossip.private import PrivateDescent
from ...tables.notes import listed
from ..settings import ConfigError
from ..studies.schema import Schema

__all__ = ["check_private"]

# Columns that a message names; each of them has to be declared.
MOST_NAMED = 100
_OF_ACCOUNT = ("epsilon", "delta", "row_norm", "releases")


def check_private(values: Mapping[str, Any], schema: Schema | None) -> None:
    """Raise ConfigError unless sites with these settings let out noisy gradients alone.

    Parameters
    ----------
    values : mapping
        Settings by name; those that are left out have their defaults.
    schema : Schema or None
        The columns; None if rows are taken as they are.
    """
    given = {name: values[name] for name in _OF_ACCOUNT if name in values}
    try:
        PrivateDescent(**given).account()
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if isinstance(values.get("C"), tuple | list) or values.get("holdout"):
        raise ConfigError(
            "`model.solver` = 'private' needs one value of `model.C` and no `model.holdout`: "
            "accuracies on held-out rows are sent without noise. Choose C on public rows."
        )
    if values.get("total_rows") is None:
        raise ConfigError(
            "`model.solver` = 'private' needs `network.total_rows` (`study create --total-rows`): "
            "the sites do not count their rows together. Give about as many as all of them have."
        )
    if schema is not None and not schema.declared:
        raise ConfigError(_undeclared(schema))


def _undeclared(schema: Schema) -> str:
    why = "`model.solver` = 'private' needs a schema that declares all columns: what sites find "
    why += "out together about the others is sent without noise. "
    if not schema.columns:
        return why + 'Set `scale` = "none" in the schema: features are then taken as they are.'
    ranges = [each.name for each in schema.undeclared if each.kind != "category"]
    levels = [each.name for each in schema.undeclared if each.kind == "category"]
    ways = []
    if ranges:
        ways.append(f"the ranges of {listed(ranges, MOST_NAMED)} (`--range COLUMN=LOW:HIGH`)")
    if levels:
        ways.append(f"the levels of {listed(levels, MOST_NAMED)} (`--levels COLUMN=A,B,C`)")
    return (
        f"{why}Declare {' and '.join(ways)}, as they are known without looking at the rows: when "
        "the study is created, or in the file of the schema."
    )
