"""Python values as JSON, with arrays set aside under names.

Text, integers, finite floats, booleans, None, lists and dictionaries with text keys are
themselves in JSON. Everything else is an object with one key that starts with ``$``:

================================== =========================================================
``{"$float": "nan"}``              NaN and the infinities, which JSON lacks
``{"$scalar": [dtype, value]}``    a NumPy scalar; its type decides how results are promoted
``{"$tuple": [...]}``              a tuple
``{"$dict": [[key, value]]}``      a dictionary whose keys are not all text, such as class weights
``{"$array": name}``               an array of the container
``{"$strings": [...]}``            a one-dimensional array of fixed-width text
``{"$objects": [...]}``            the same of dtype object, as pandas makes them
``{"$csr": {...}}``                a CSR matrix: three arrays of the container, a shape, a kind
``{"$strategy": [name, {...}]}``   a strategy of this library, by its class and parameters
``{"$gossip": [name, {...}]}``     a method, faults or a topology of a network, likewise
``{"$estimator": [name, {...}]}``  an estimator, by its class, ``params`` and ``fitted``
``{"$mixed": {...}}``              an array of objects that are not all text: items and a shape
``{"$slice": [...]}``              a slice: start, stop, step
``{"$dtype": name}``               a dtype of NumPy
``{"$type": name}``                a type, such as numpy.float64
``{"$function": name}``            a function that `known_steps` lists
``{"$selector": {...}}``           scikit-learn's ``make_column_selector``, by its parameters
================================== =========================================================

Those from ``$estimator`` on came with version 2 of the format.

`widemargin.persistence.decoding` turns these forms back into values.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ..gossip import (
    Consensus,
    Gadget,
    NetworkFaults,
    PrintedGadget,
    PrivateDescent,
    Topology,
    Tracking,
)
from ..kernel.divide.strategies import STRATEGIES, Strategy
from .container import STORABLE_DTYPES, Arrays
from .known_steps import FUNCTIONS, TYPES, function_name

GOSSIP_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Consensus,
        Gadget,
        PrintedGadget,
        Tracking,
        PrivateDescent,
        NetworkFaults,
        Topology,
    )
}

# NumPy pads fixed-width text to the longest string. Without a bound, one long string among many
# short ones would let a small file ask for all the memory there is.
MAX_PADDED_CHARACTERS = 1 << 26


def encode_value(value: Any, path: str, arrays: Arrays) -> Any:
    """Return `value` as JSON, adding its arrays to `arrays` under names that start with `path`.

    Raises TypeError if it, or a part of it, is of a type that a model file cannot hold.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)  # plain text also from numpy.str_
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return _encode_scalar(value, path)
    if isinstance(value, float):
        return _encode_float(value)
    if isinstance(value, np.ndarray):
        return _encode_array(value, path, arrays)
    if sparse.issparse(value) and value.format == "csr":
        return _encode_csr(value, path, arrays)
    if isinstance(value, dict):
        return _encode_dict(value, path, arrays)
    if isinstance(value, list | tuple):
        places = _places(value, path)
        items = [
            encode_value(item, place, arrays) for item, place in zip(value, places, strict=True)
        ]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, Strategy):
        return _encode_strategy(value, path, arrays)
    if type(value) in GOSSIP_KINDS.values():
        name, parts = parts_of(value)
        return {"$gossip": [name, encode_value(parts, path, arrays)]}
    if isinstance(value, BaseEstimator):
        return _encode_estimator(value, path, arrays)
    if isinstance(value, slice):
        return {"$slice": [encode_value(part, path, arrays) for part in _ends(value)]}
    if isinstance(value, np.dtype):
        return _encode_dtype(value, path)
    if type(value).__name__ == "Index" and type(value).__module__.startswith("pandas"):
        return encode_value(value.to_numpy(dtype=object), path, arrays)
    if type(value).__name__ == "make_column_selector":
        return {"$selector": encode_value(dict(vars(value)), path, arrays)}
    if isinstance(value, type) and value in TYPES.values():
        return {"$type": next(name for name, kind in TYPES.items() if kind is value)}
    if callable(value) and function_name(value) is not None:
        return {"$function": function_name(value)}
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        raise TypeError(
            f"`{path}` is a function ({name}), and a model file holds no code, so this model "
            "cannot be saved. Use what the function computes instead (for a kernel, "
            'kernel="precomputed" and the kernel matrix; for a step, columns that you add before '
            "the pipeline; for targets, transform them before the fit, and the predictions back), "
            "a function that a file can name "
            f"({', '.join(FUNCTIONS)}), or keep the estimator with pickle."
        )
    raise TypeError(
        f"`{path}` is of type {type(value).__qualname__}, which a model file cannot hold. It "
        "holds text, numbers, None, lists, dictionaries, arrays of numbers or text, and "
        "estimators that it knows."
    )


def _places(items: list[Any] | tuple[Any, ...], path: str) -> list[str]:
    """Return the paths of items: steps by their names, other items by their positions."""
    match items:
        # Not compared with a text unless it is one: an array would compare its elements.
        case (str(), BaseEstimator() | str("passthrough" | "drop"), *rest):
            return [f"{path}.name", path, *[f"{path}.columns"] * len(rest)]
    names = [str(i) for i in range(len(items))]
    for i, item in enumerate(items):
        match item:
            case (str(name), BaseEstimator(), *_) if name.isidentifier():
                names[i] = str(name)
    return [f"{path}.{name}" for name in names]


def _ends(value: slice) -> tuple[Any, Any, Any]:
    return value.start, value.stop, value.step


def _encode_estimator(value: Any, path: str, arrays: Arrays) -> Any:
    # Not at the top: that module uses this one.
    from .estimator_state import check_estimator_state, name_of, parts_of_estimator

    name = name_of(value, path)
    params, fitted = (
        {key: encode_value(item, f"{path}.{key}", arrays) for key, item in part.items()}
        for part in parts_of_estimator(value, name)
    )
    try:
        check_estimator_state(value, name)
    except ValueError as error:
        raise ValueError(f"`{path}`: {error}") from error
    return {"$estimator": [name, {"params": params, "fitted": fitted}]}


def _encode_dtype(value: np.dtype[Any], path: str) -> Any:
    if value in STORABLE_DTYPES or value.kind == "O":
        return {"$dtype": value.name}
    if value.kind == "U" and value.itemsize // 4 <= MAX_PADDED_CHARACTERS:
        return {"$dtype": f"<U{value.itemsize // 4}"}
    raise TypeError(f"`{path}` is the dtype {value}, which a model file cannot hold.")


def _encode_strategy(value: Strategy, path: str, arrays: Arrays) -> Any:
    if type(value) not in STRATEGIES.values():
        raise TypeError(
            f"`{path}` is a {type(value).__qualname__}, no strategy of widemargin; a model file "
            "holds no code, so this model cannot be saved."
        )
    params = value.get_params(deep=False)
    encoded = {key: encode_value(item, f"{path}.{key}", arrays) for key, item in params.items()}
    return {"$strategy": [type(value).__name__, encoded]}


def _encode_float(value: float) -> Any:
    return value if math.isfinite(value) else {"$float": str(value)}


def _encode_scalar(value: np.generic, path: str) -> Any:
    if value.dtype not in STORABLE_DTYPES:
        raise TypeError(f"`{path}` is of dtype {value.dtype}, which a model file cannot hold.")
    plain = value.item()
    if isinstance(plain, float):
        plain = _encode_float(plain)
    return {"$scalar": [value.dtype.name, plain]}


def _encode_array(value: NDArray[Any], path: str, arrays: Arrays) -> Any:
    if value.dtype.kind == "U" and value.ndim == 1:
        return _encode_text(value, path)
    if value.dtype.kind == "O":
        return _encode_objects(value, path, arrays)
    if value.dtype.newbyteorder("=") not in STORABLE_DTYPES:
        raise TypeError(
            f"`{path}` is an array of dtype {value.dtype}, which a model file cannot hold. "
            "Convert it to numbers or text before fitting."
        )
    name = path
    while name in arrays:  # two paths may read alike: {"a.b": …} and {"a": {"b": …}}
        name += "+"
    arrays[name] = value
    return {"$array": name}


def _encode_text(value: NDArray[Any], path: str) -> Any:
    if value.nbytes // 4 > MAX_PADDED_CHARACTERS:
        raise TypeError(
            f"`{path}` takes {value.nbytes:,} bytes as fixed-width text, more than a model file "
            "may ask for when it is read. Convert it to dtype object before fitting."
        )
    return {"$strings": value.tolist()}


def _encode_objects(value: NDArray[Any], path: str, arrays: Arrays) -> Any:
    if value.ndim == 1 and all(isinstance(item, str) for item in value):
        return {"$objects": [str(item) for item in value]}
    items = [encode_value(item, f"{path}.{i}", arrays) for i, item in enumerate(value.flat)]
    return {"$mixed": {"shape": list(value.shape), "items": items}}


def _encode_csr(value: Any, path: str, arrays: Arrays) -> Any:
    if not value.has_canonical_format:
        value = value.copy()
        value.sum_duplicates()
    names = {
        part: _encode_array(getattr(value, part), f"{path}.{part}", arrays)["$array"]
        for part in ("data", "indices", "indptr")
    }
    kind = "matrix" if sparse.isspmatrix(value) else "array"
    return {"$csr": {**names, "shape": [int(size) for size in value.shape], "kind": kind}}


def _encode_dict(value: dict[Any, Any], path: str, arrays: Arrays) -> Any:
    items = [
        # Other keys than names could not be part of the name of an array.
        encode_value(item, f"{path}.{key if str(key).isidentifier() else i}", arrays)
        for i, (key, item) in enumerate(value.items())
    ]
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {str(key): item for key, item in zip(value, items, strict=True)}
    for key in value:
        if not (key is None or isinstance(key, str | int | float | np.bool_ | np.number)):
            raise TypeError(
                f"`{path}` has a key of type {type(key).__qualname__}; the keys of a dictionary "
                "in a model file are text or numbers."
            )
    keys = [encode_value(key, path, arrays) for key in value]
    return {"$dict": [list(pair) for pair in zip(keys, items, strict=True)]}


def parts_of(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of an object's class and the arguments of its constructor."""
    if is_dataclass(value):
        arguments = {field.name: getattr(value, field.name) for field in fields(value)}
    else:
        arguments = value.get_params(deep=False)
    return type(value).__name__, arguments
