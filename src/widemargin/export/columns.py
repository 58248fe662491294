"""The columns that flow through a graph, and the inputs that they come from.

Rows of numbers are one input, ``X``. A table with text or dates has an input of one column for
every column that is used, named like it. A missing number is NaN, a missing text the empty one:
ONNX knows no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import Graph

# What a column holds. Days are float64 in any case: float32 would round them to minutes.
NUMBER, DAY, TEXT = "number", "day", "text"


@dataclass(frozen=True)
class Columns:
    """A value of the graph with some columns, float64 or text."""

    name: str
    width: int
    text: bool = False


class GraphTable:
    """Columns in their order, from one value or from many."""

    def __init__(self, graph: Graph, blocks: list[Columns | None]) -> None:
        # None stands for a column that nothing uses.
        self._graph, self._blocks = graph, blocks

    def select(self, numbers: list[int]) -> Columns:
        """Return some columns as one value."""
        if len(self._blocks) == 1 and (whole := self._blocks[0]) is not None:
            if numbers == list(range(whole.width)):
                return whole
            name = self._graph.columns(whole.name, numbers)
            return Columns(name, len(numbers), whole.text)
        chosen = [block for block in (self._blocks[i] for i in numbers) if block is not None]
        return joined(self._graph, chosen)

    def whole(self) -> Columns:
        """Return all columns as one value."""
        return joined(self._graph, [block for block in self._blocks if block is not None])


def joined(graph: Graph, blocks: list[Columns]) -> Columns:
    """Put values side by side."""
    if len(blocks) == 1:
        return blocks[0]
    if len({block.text for block in blocks}) > 1:
        raise ValueError(
            "Columns of numbers and of text cannot be exported as one block. Take them apart by a "
            "ColumnTransformer, with a step for each kind."
        )
    name = graph.op("Concat", *(block.name for block in blocks), axis=1)
    return Columns(name, sum(block.width for block in blocks), blocks[0].text)


def add_inputs(
    graph: Graph, kinds: list[str | None], names: list[str] | None, dtype: Any
) -> tuple[GraphTable, list[str]]:
    """Make the inputs of a model; return them and their names.

    ``kinds`` says of every column what it holds; None, that it is not used.
    """
    if not {TEXT, DAY} & set(kinds):
        rows = graph.input("X", dtype, len(kinds))
        return GraphTable(graph, [Columns(_double(graph, rows, dtype), len(kinds))]), ["X"]
    named = [f"x{i}" for i in range(len(kinds))] if names is None else names
    blocks: list[Columns | None] = []
    used = []
    for name, kind in zip(named, kinds, strict=True):
        if kind is None:
            blocks.append(None)
            continue
        used.append(name)
        if kind == TEXT:
            blocks.append(Columns(graph.input(name, str, 1), 1, text=True))
        else:
            given = np.float64 if kind == DAY else dtype
            value = graph.input(name, given, 1)
            blocks.append(Columns(_double(graph, value, given), 1))
    return GraphTable(graph, blocks), used


def _double(graph: Graph, value: str, dtype: Any) -> str:
    return value if dtype == np.float64 else graph.cast(value, np.float64)
