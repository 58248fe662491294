"""The values that the JSON of a model file stands for, checked as they are built.

The forms are listed in `widemargin.persistence.encoding`. For any JSON, building a
value takes no more memory than a small multiple of the file, runs no code that the file names,
and raises nothing but `ModelFileError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..gossip import NetworkFaults, Topology
from ..kernel.divide.strategies import STRATEGIES
from .checks import demand
from .container import STORABLE_DTYPES, Arrays, ModelFileError
from .encoding import GOSSIP_KINDS, MAX_PADDED_CHARACTERS
from .known_steps import FUNCTIONS, TYPES, named

MAX_DEPTH = 64  # a pipeline in columns in a pipeline takes about twenty
_DTYPES = {dtype.name: dtype for dtype in STORABLE_DTYPES}
_STRATEGIES = {strategy.__name__: strategy for strategy in STRATEGIES.values()}
_TEXT_DTYPE = re.compile(r"<U[1-9][0-9]{0,8}")
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def decode_value(node: Any, arrays: Arrays, depth: int = 0) -> Any:
    """Return the value that `node` stands for, taking its arrays out of `arrays`."""
    if depth > MAX_DEPTH:
        raise _damaged("values are nested too deeply")
    if isinstance(node, list):
        return [decode_value(item, arrays, depth + 1) for item in node]
    if not isinstance(node, dict):
        return node
    tag = next((key for key in node if key.startswith("$")), None)
    if tag is None:
        return {key: decode_value(item, arrays, depth + 1) for key, item in node.items()}
    if len(node) > 1 or tag not in _DECODERS:
        raise _damaged(f"there is no kind of value {tag!r}")
    return _DECODERS[tag](node[tag], arrays, depth + 1)


def _damaged(reason: str) -> ModelFileError:
    return ModelFileError(f"the file is damaged: {reason}")


def _decode_float(name: Any, arrays: Arrays, depth: int) -> float:
    if not isinstance(name, str) or name not in _FLOATS:
        raise _damaged(f"{name!r} is no number")
    return _FLOATS[name]


def _decode_scalar(node: Any, arrays: Arrays, depth: int) -> Any:
    match node:
        case [str(name), value] if name in _DTYPES:
            plain = decode_value(value, arrays, depth)
        case _:
            raise _damaged("a scalar has no known type")
    expected = {"b": bool, "f": float}.get(_DTYPES[name].kind, int)
    if type(plain) is not expected:
        raise _damaged(f"a scalar of type {name} has the value {plain!r}")
    try:
        return _DTYPES[name].type(plain)
    except OverflowError as error:
        raise _damaged(f"{plain} does not fit in {name}") from error


def _decode_tuple(node: Any, arrays: Arrays, depth: int) -> tuple[Any, ...]:
    return tuple(decode_value(item, arrays, depth) for item in _list(node))


def _decode_dict(node: Any, arrays: Arrays, depth: int) -> dict[Any, Any]:
    decoded = {}
    for pair in _list(node):
        if len(_list(pair)) != 2:
            raise _damaged("a dictionary has something else than pairs")
        key, item = (decode_value(part, arrays, depth) for part in pair)
        if not (key is None or isinstance(key, str | int | float | np.generic)):
            raise _damaged("a dictionary has a key that is neither text nor a number")
        decoded[key] = item
    if len(decoded) < len(node):
        raise _damaged("a dictionary has a key twice")
    return decoded


def _decode_array(name: Any, arrays: Arrays, depth: int) -> NDArray[Any]:
    if not isinstance(name, str) or name not in arrays:
        raise _damaged(f"array {name!r} is missing or used twice")
    return arrays.pop(name)


def _decode_strings(node: Any, arrays: Arrays, depth: int) -> NDArray[Any]:
    texts = _texts(node)
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > MAX_PADDED_CHARACTERS:
        raise _damaged("an array of text is too large")
    return np.array(texts, dtype=f"<U{longest}")


def _decode_objects(node: Any, arrays: Arrays, depth: int) -> NDArray[Any]:
    return np.array(_texts(node), dtype=object)


def _decode_csr(node: Any, arrays: Arrays, depth: int) -> Any:
    match node:
        case {
            "data": data_name,
            "indices": indices_name,
            "indptr": indptr_name,
            "shape": [int(n_rows), int(n_columns)],
            "kind": "matrix" | "array" as kind,
        } if len(node) == 5:
            data = _decode_array(data_name, arrays, depth)
            indices = _decode_array(indices_name, arrays, depth)
            indptr = _decode_array(indptr_name, arrays, depth)
        case _:
            raise _damaged("a sparse matrix is not described in full")
    _check_csr(data, indices, indptr, n_rows, n_columns)
    csr = sparse.csr_matrix if kind == "matrix" else sparse.csr_array
    matrix = csr((data, indices, indptr), shape=(n_rows, n_columns))
    matrix.has_canonical_format = True  # checked above; saves SciPy a pass at the first use
    return matrix


def _named(
    node: Any, arrays: Arrays, depth: int, known: Collection[str], otherwise: str
) -> tuple[str, dict[str, Any]]:
    """Return the name of a class and the arguments of its constructor."""
    match node:
        case [str(name), dict(parts)] if name in known:
            return name, {key: decode_value(item, arrays, depth) for key, item in parts.items()}
    raise _damaged(f"it names {otherwise}")


def _decode_estimator(node: Any, arrays: Arrays, depth: int) -> Any:
    from .estimator_state import built_estimator, is_known  # which uses this module

    match node:
        case [str(name), {"params": dict(params), "fitted": dict(fitted)}] if len(node[1]) == 2:
            pass
        case _:
            raise _damaged("an estimator is not described in full")
    if not is_known(name):
        raise ModelFileError(f"the file holds a {name!r}, which this version does not know")
    decoded = [
        {key: decode_value(item, arrays, depth) for key, item in part.items()}
        for part in (params, fitted)
    ]
    try:
        return built_estimator(name, *decoded)
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"not a valid {name.rpartition('.')[2]}: {error}") from error


def _decode_mixed(node: Any, arrays: Arrays, depth: int) -> NDArray[Any]:
    match node:
        case {"shape": list(shape), "items": list(items)} if len(node) == 2:
            sizes = all(type(size) is int and size >= 0 for size in shape)
        case _:
            raise _damaged("an array of objects is not described in full")
    if not sizes or not 1 <= len(shape) <= 8 or math.prod(shape) != len(items):
        raise _damaged("an array of objects has another shape than its items")
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = decode_value(item, arrays, depth)
    return array.reshape(shape)


def _decode_slice(node: Any, arrays: Arrays, depth: int) -> slice:
    ends = [decode_value(part, arrays, depth) for part in _list(node)]
    if len(ends) != 3 or not all(end is None or type(end) in (int, str) for end in ends):
        raise _damaged("a slice has ends of another kind")
    return slice(*ends)


def _decode_dtype(name: Any, arrays: Arrays, depth: int) -> np.dtype[Any]:
    if isinstance(name, str):
        if name in _DTYPES:
            return _DTYPES[name]
        if name == "object":
            return np.dtype(object)
        if _TEXT_DTYPE.fullmatch(name) and int(name[2:]) <= MAX_PADDED_CHARACTERS:
            return np.dtype(name)
    raise _damaged(f"{name!r} is no dtype")


def _decode_type(name: Any, arrays: Arrays, depth: int) -> type[Any]:
    if not isinstance(name, str) or name not in TYPES:
        raise _damaged(f"{name!r} is no type")
    return TYPES[name]


def _decode_function(name: Any, arrays: Arrays, depth: int) -> Any:
    if not isinstance(name, str) or name not in FUNCTIONS:
        raise _damaged(f"{name!r} is no function that a file may name")
    return named(name)


def _decode_selector(node: Any, arrays: Arrays, depth: int) -> Any:
    from sklearn.compose import make_column_selector

    parts = decode_value(node, arrays, depth)
    if not isinstance(parts, dict) or set(parts) != {"pattern", "dtype_include", "dtype_exclude"}:
        raise _damaged("a selection of columns is not described in full")
    if not isinstance(parts["pattern"], str | None):
        raise _damaged("a selection of columns has a pattern that is no text")
    return make_column_selector(**parts)


def _decode_strategy(node: Any, arrays: Arrays, depth: int) -> Any:
    name, decoded = _named(node, arrays, depth, _STRATEGIES, "no strategy of this library")
    try:
        strategy = _STRATEGIES[name](**decoded)
        strategy._validate_params()
    except (TypeError, ValueError) as error:
        raise _damaged(f"a strategy has wrong parameters ({error})") from error
    return strategy


def _decode_gossip(node: Any, arrays: Arrays, depth: int) -> Any:
    unknown = "nothing of a network that this library knows"
    name, decoded = _named(node, arrays, depth, GOSSIP_KINDS, unknown)
    try:
        return _rebuilt(name, decoded)
    except (TypeError, ValueError) as error:
        raise _damaged(f"a part of a network is wrong ({error})") from error


def _rebuilt(name: str, arguments: dict[str, Any]) -> Any:
    """Rebuild an object; raise ValueError or TypeError if the arguments cannot be right."""
    kind = GOSSIP_KINDS[name]
    value = kind(**arguments)
    if kind is Topology:
        _check_topology(value)
    elif kind is not NetworkFaults:  # whose numbers are checked against those of the sites
        for key, argument in arguments.items():
            plain = argument is None or isinstance(argument, bool | int | float | str)
            demand(plain, f"{name}.{key}", "a number, a text or None")
    return value


def _check_topology(value: Topology) -> None:
    """Demand that every link leads to a site and has its reverse."""
    for name in ("start", "other", "reverse"):
        array = getattr(value, name)
        whole = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 1
        demand(whole, f"Topology.{name}", "a vector of integers")
    start, other, reverse = value.start, value.other, value.reverse
    ascending = start.size > 1 and start[0] == 0 and bool(np.all(np.diff(start) >= 0))
    right = ascending and start[-1] == other.size == reverse.size
    demand(right, "Topology.start", "ascending from 0 to the number of links")
    for name, array, end in (("other", other, start.size - 1), ("reverse", reverse, other.size)):
        inside = array.size == 0 or (array.min() >= 0 and array.max() < end)
        demand(bool(inside), f"Topology.{name}", f"numbers below {end}")
    both_ways = bool(np.all(other[reverse] == value.site)) and bool(
        np.all(reverse[reverse] == np.arange(reverse.size))
    )
    demand(both_ways, "Topology.reverse", "the opposite link of every link")
    for name, kind in (("active", np.bool_), ("given", np.float64)):
        array = getattr(value, name)
        period = 1 if value.active is None else len(value.active)
        fits = array is None or (
            isinstance(array, np.ndarray)
            and array.dtype == kind
            and array.shape == (period, other.size)
            and period > 0
        )
        demand(fits, f"Topology.{name}", "None or a row of links for every round of a period")
    labels = value.labels
    named = labels is None or (isinstance(labels, tuple) and len(labels) == value.n_sites)
    demand(named, "Topology.labels", "None or a name for every site")


def _check_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_rows: int, n_columns: int
) -> None:
    if not data.ndim == indices.ndim == indptr.ndim == 1 or indices.size != data.size:
        raise _damaged("the arrays of a sparse matrix differ in shape")
    if not {indices.dtype, indptr.dtype} <= {np.dtype(np.int32), np.dtype(np.int64)}:
        raise _damaged("the indices of a sparse matrix are no integers")
    if not 0 <= n_columns <= np.iinfo(np.int64).max or indptr.size != n_rows + 1:
        raise _damaged("a sparse matrix has another shape than its arrays")
    if indptr[0] != 0 or indptr[-1] != data.size or np.any(indptr[1:] < indptr[:-1]):
        raise _damaged("the rows of a sparse matrix overlap")
    if indices.size and not 0 <= indices.min() <= indices.max() < n_columns:
        raise _damaged("a sparse matrix has entries beyond its last column")
    ascending = indices[1:] > indices[:-1]
    row_starts = indptr[(indptr > 0) & (indptr < indices.size)]
    ascending[row_starts - 1] = True
    if not ascending.all():
        raise _damaged("the entries of a sparse matrix are not in order")


def _list(node: Any) -> list[Any]:
    if not isinstance(node, list):
        raise _damaged(f"a list was expected, not {type(node).__name__}")
    return node


def _texts(node: Any) -> list[str]:
    texts = _list(node)
    if not all(isinstance(text, str) for text in texts):
        raise _damaged("an array of text holds something else")
    return texts


_DECODERS: dict[str, Callable[[Any, Arrays, int], Any]] = {
    "$float": _decode_float,
    "$scalar": _decode_scalar,
    "$tuple": _decode_tuple,
    "$dict": _decode_dict,
    "$array": _decode_array,
    "$strings": _decode_strings,
    "$objects": _decode_objects,
    "$csr": _decode_csr,
    "$strategy": _decode_strategy,
    "$gossip": _decode_gossip,
    "$estimator": _decode_estimator,
    "$mixed": _decode_mixed,
    "$slice": _decode_slice,
    "$dtype": _decode_dtype,
    "$type": _decode_type,
    "$function": _decode_function,
    "$selector": _decode_selector,
}
