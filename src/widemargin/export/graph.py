"""An ONNX graph, built operator by operator from the standard operators.

Values are known by their names. Numbers are float64 inside, whatever the inputs are: an operator
that uses float32 says so by a cast.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

# onnxruntime 1.15 (2023) and later read these; equality of texts is new in this operator set.
OPERATOR_SET = 19
IR_VERSION = 9
# Protocol buffers cannot be longer; a little is left for the graph itself.
LARGEST_MODEL = 2**31 - 2**20
# Below this many numbers a cast costs more room than it saves.
WORTH_A_CAST = 64


def import_onnx() -> ModuleType:
    """Import onnx, or say how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "Exporting needs the package onnx. Install it with: pip install 'widemargin[onnx]'"
        ) from error
    return onnx  # type: ignore[no-any-return]


class Graph:
    """Nodes, constants, inputs and outputs; every method returns the name of its value."""

    def __init__(self, reserved: set[str]) -> None:
        self._onnx = import_onnx()
        self._names = set(reserved)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._bytes = 0

    def input(self, name: str, dtype: Any, width: int) -> str:
        """Add an input of some columns; ``dtype`` is a NumPy type, ``str`` for text."""
        if name in self._names:
            raise ValueError(
                f"A column called {name!r} cannot be an input of the graph: the name occurs twice, "
                "or is that of an output. Rename the column and fit again."
            )
        self._names.add(name)
        self._inputs.append(self._info(name, dtype, ["rows", width]))
        return name

    def output(self, name: str, value: str, dtype: Any, width: int | None) -> None:
        """Make a value an output: a matrix of some columns, or a vector if ``width`` is None."""
        if dtype in (np.float32, np.float64):
            value = self.cast(value, dtype)
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        shape: list[Any] = ["rows"] if width is None else ["rows", width]
        self._outputs.append(self._info(name, dtype, shape))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Apply an operator."""
        name = self._new(kind)
        node = self._onnx.helper.make_node(kind, list(inputs), [name], name=name, **attributes)
        self._nodes.append(node)
        return name

    def cast(self, value: str, dtype: Any) -> str:
        """Turn numbers into another type."""
        return self.op("Cast", value, to=self._type(dtype))

    def constant(self, array: Any) -> str:
        """Add numbers or text; float64 that float32 holds exactly is stored as such."""
        array = np.asarray(array)
        narrow = None
        if array.dtype == np.float64 and array.size >= WORTH_A_CAST:
            with np.errstate(over="ignore"):
                single = array.astype(np.float32)
            narrow = single if np.array_equal(single, array) else None
        stored = array if narrow is None else narrow
        self._reserve(stored)
        name = self._new("constant")
        if stored.dtype.kind in "OU":
            text = [str(value).encode() for value in stored.ravel()]
            tensor = self._onnx.helper.make_tensor(
                name, self._onnx.TensorProto.STRING, stored.shape, text
            )
        else:
            tensor = self._onnx.numpy_helper.from_array(np.ascontiguousarray(stored), name)
        self._constants.append(tensor)
        return name if narrow is None else self.cast(name, np.float64)

    def for_each_row(self, rows: str, dtype: Any, width: int, body: Callable[[str], str]) -> str:
        """Apply ``body`` to one row after another; ``width`` is that of its results."""
        first = self.constant(np.array([0]))
        count = self.op("Squeeze", self.op("Gather", self.op("Shape", rows), first), first)
        outer, self._nodes = self._nodes, []
        number, before, after = (self._new(name) for name in ("row", "before", "after"))
        result = body(self.op("Gather", rows, number, axis=0))
        make = self._onnx.helper
        self._nodes.append(make.make_node("Identity", [before], [after]))
        subgraph = make.make_graph(
            self._nodes,
            self._new("body"),
            [self._info(number, np.int64, []), self._info(before, np.bool_, [])],
            [self._info(after, np.bool_, []), self._info(result, dtype, [width])],
        )
        self._nodes = outer
        # Not a Scan, which onnxruntime refuses to run on no rows.
        return self.op("Loop", count, "", body=subgraph)

    def affine(self, x: str, weights: NDArray[Any], constant: NDArray[Any]) -> str:
        """Multiply rows with weights of shape (features, outputs) and add constants."""
        product = self.op("MatMul", x, self.constant(np.asarray(weights, dtype=np.float64)))
        return self.op("Add", product, self.constant(np.asarray(constant, dtype=np.float64)))

    def largest(self, value: str, count: int) -> str:
        """Return the largest entries of each row, in descending order."""
        name, places = self._new("TopK"), self._new("places")
        inputs = [value, self.constant(np.array([count]))]
        self._nodes.append(self._onnx.helper.make_node("TopK", inputs, [name, places], axis=1))
        return name

    def columns(self, value: str, numbers: Any) -> str:
        """Select columns of a matrix."""
        return self.op("Gather", value, self.constant(np.asarray(numbers, dtype=np.int64)), axis=1)

    def model(self, name: str, version: str, about: str, metadata: dict[str, str]) -> Any:
        """Return the finished ``ModelProto``."""
        make = self._onnx.helper
        graph = make.make_graph(
            self._nodes, name, self._inputs, self._outputs, initializer=self._constants
        )
        model = make.make_model(
            graph,
            producer_name="widemargin",
            producer_version=version,
            doc_string=about,
            opset_imports=[make.make_opsetid("", OPERATOR_SET)],
            ir_version=IR_VERSION,
        )
        make.set_model_props(model, metadata)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _reserve(self, array: NDArray[Any]) -> None:
        self._bytes += array.nbytes
        if self._bytes > LARGEST_MODEL:
            raise ValueError(
                "An ONNX file holds at most 2 GiB; this model needs more. For a kernel classifier, "
                "export `model.compress(n_basis)`, which has fewer vectors."
            )

    def _new(self, kind: str) -> str:
        number = len(self._names)
        while (name := f"{kind}_{number}") in self._names:
            number += 1
        self._names.add(name)
        return name

    def _type(self, dtype: Any) -> int:
        if dtype is str:
            return int(self._onnx.TensorProto.STRING)
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _info(self, name: str, dtype: Any, shape: list[Any]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), shape)
