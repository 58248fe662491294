"""Python values as JSON, with arrays set aside under names.

Text, integers, finite floats, booleans, None, lists and dictionaries with text keys are
themselves in JSON. Everything else is an object with one key that starts with ``$``:

================================ =========================================================
``{"$float": "nan"}``            NaN and the infinities, which JSON lacks
``{"$scalar": [dtype, value]}``  a NumPy scalar; its type decides how results are promoted
``{"$tuple": [...]}``            a tuple
``{"$dict": [[key, value]]}``    a dictionary whose keys are not all text, such as class weights
``{"$array": name}``             an array of the container
``{"$strings": [...]}``          a one-dimensional array of fixed-width text
``{"$objects": [...]}``          the same of dtype object, as pandas makes them
``{"$csr": {...}}``              a CSR matrix: three arrays of the container, a shape, a kind
``{"$strategy": [name, {...}]}`` a strategy of this library, by its class and parameters
``{"$gossip": [name, {...}]}``   a method, faults or a topology of a network, likewise
================================ =========================================================

`widemargin.persistence.decoding` turns these forms back into values.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..gossip import Consensus, Gadget, NetworkFaults, Topology, Tracking
from ..kernel.divide.strategies import STRATEGIES, Strategy
from .container import STORABLE_DTYPES, Arrays

GOSSIP_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Consensus, Gadget, Tracking, NetworkFaults, Topology)
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
        items = [encode_value(item, f"{path}.{i}", arrays) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, Strategy):
        return _encode_strategy(value, path, arrays)
    if type(value) in GOSSIP_KINDS.values():
        name, parts = parts_of(value)
        return {"$gossip": [name, encode_value(parts, path, arrays)]}
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        raise TypeError(
            f"`{path}` is a function ({name}), and a model file holds no code, so this model "
            "cannot be saved. Use what the function computes instead (for a kernel, "
            'kernel="precomputed" and the kernel matrix), or keep the estimator with pickle.'
        )
    raise TypeError(
        f"`{path}` is of type {type(value).__qualname__}, which a model file cannot hold. It "
        "holds text, numbers, None, lists, dictionaries, and arrays of numbers or text."
    )


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
    if value.dtype.kind in "UO" and value.ndim == 1:
        return _encode_text(value, path)
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
    strays = {type(item).__qualname__ for item in value.tolist() if not isinstance(item, str)}
    if strays:
        raise TypeError(
            f"`{path}` holds {', '.join(sorted(strays))} as objects; a model file holds arrays "
            "of numbers or of text. Convert them to one of these before fitting."
        )
    if value.dtype.kind == "O":
        return {"$objects": [str(item) for item in value]}
    if value.nbytes // 4 > MAX_PADDED_CHARACTERS:
        raise TypeError(
            f"`{path}` takes {value.nbytes:,} bytes as fixed-width text, more than a model file "
            "may ask for when it is read. Convert it to dtype object before fitting."
        )
    return {"$strings": value.tolist()}


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
