"""The ``.wm`` container: a JSON header and named arrays as one safetensors file.

Layout, which is safetensors' own: eight bytes with the length of a JSON table of arrays
(little-endian), the table, then the arrays. Our header is text in that table, under
``__metadata__`` / ``widemargin``:

=================== =======================================================================
``format``          always ``"widemargin-model"``
``format_version``  1, or 2 for a file with steps of scikit-learn, nested estimators or other
                    forms of value that came with it; a reader refuses larger ones than its own
``sha256``          digest of the rest of the header and of every array
=================== =======================================================================

The digest finds damage (a flipped bit in a coefficient would otherwise go unnoticed). It is no
protection against forgery: whoever can write the file can write the digest.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from typing import Any, NoReturn

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

FORMAT = "widemargin-model"
FORMAT_VERSION = 2  # the newest that is read; a file carries the oldest that can hold it
_FORMS_OF_VERSION_2 = frozenset(
    ("$estimator", "$mixed", "$slice", "$dtype", "$type", "$function", "$selector")
)
METADATA_KEY = "widemargin"
# safetensors writes longer tables than this without complaint, then refuses to read them.
MAX_TABLE_BYTES = 100_000_000
# The types every version of safetensors can store; also what a reader accepts.
STORABLE_DTYPES = frozenset(
    np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"),
    )
)

GET_IT_AGAIN = "Copy or download it again, or save the model again; `save` never leaves a part."

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class ModelFileError(ValueError):
    """A model file is unreadable, damaged, of another kind, or from a newer version."""


def pack(header: Header, arrays: Arrays) -> bytes:
    """Return the bytes of a model file; equal contents give equal bytes."""
    arrays = {name: _as_stored(array) for name, array in arrays.items()}
    header = {"format": FORMAT, "format_version": _version_for(header), **header}
    header["sha256"] = _digest(header, arrays)
    data = safetensors.numpy.save(arrays, metadata={METADATA_KEY: _json_text(header)})
    (table_length,) = struct.unpack_from("<Q", data)
    if table_length > MAX_TABLE_BYTES:
        raise ValueError(
            f"the names and labels of a model must fit in {MAX_TABLE_BYTES:,} bytes of JSON; "
            f"these take {table_length:,}. Shorten the feature names or fit on plain arrays."
        )
    return data


def _version_for(header: Header) -> int:
    """Return the oldest version of the format whose readers understand a header."""
    return 2 if "sklearn_version" in header or _has_form(header, _FORMS_OF_VERSION_2) else 1


def holds_estimators(node: Any) -> bool:
    """Whether the JSON of a value holds an estimator."""
    return _has_form(node, frozenset(("$estimator",)))


def _has_form(node: Any, forms: frozenset[str]) -> bool:
    left = [node]  # no recursion: the nesting of a forged header has no bound
    while left:
        node = left.pop()
        if isinstance(node, dict):
            if not forms.isdisjoint(node):
                return True
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)
    return False


def unpack(data: bytes, library_version: str) -> tuple[Header, Arrays]:
    """Return the header and the arrays of a model file, or raise `ModelFileError`."""
    header = _read_header(data)
    _check_version(header, library_version)
    try:
        arrays = {
            name: np.require(array, requirements=["C", "A", "W"])
            for name, array in safetensors.numpy.load(data).items()
        }
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(
            f"the file is truncated or damaged: {error}. {GET_IT_AGAIN}"
        ) from error
    for name, array in arrays.items():
        # A byte other than 0 and 1 would be a third truth value to NumPy.
        if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
            raise ModelFileError(f"the file is damaged: array {name!r} is not boolean")
    try:
        intact = header.pop("sha256", None) == _digest(header, arrays)
    except RecursionError:  # nesting that could just be read, but not written again
        intact = False
    if not intact:
        raise ModelFileError(
            f"the file is damaged: its contents do not match its checksum. {GET_IT_AGAIN}"
        )
    return header, arrays


def check_start(start: bytes, file_size: int) -> None:
    """Raise `ModelFileError` if `start` (nine bytes) cannot begin a file of `file_size` bytes.

    Cheap enough to ask before a large file of some other kind is read into memory.
    """
    if len(start) < 9:
        raise ModelFileError(f"not a model file: {file_size} bytes are too few")
    (table_length,) = struct.unpack_from("<Q", start)
    if start[8:9] != b"{" or table_length > MAX_TABLE_BYTES:
        raise ModelFileError("not a model file: it does not start as a safetensors file does")
    if 8 + table_length > file_size:
        raise ModelFileError(
            f"the file is truncated: its header takes {table_length} bytes, but only "
            f"{file_size - 8} follow. {GET_IT_AGAIN}"
        )


def _read_header(data: bytes) -> Header:
    check_start(data[:9], len(data))
    (table_length,) = struct.unpack_from("<Q", data)
    try:
        table = _strict_json(data[8 : 8 + table_length].decode())
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"not a model file, or damaged: {error}") from error
    metadata = table.get("__metadata__") if isinstance(table, dict) else None
    text = metadata.get(METADATA_KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError("a safetensors file, but not one that widemargin wrote")
    try:
        header = _strict_json(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the file is damaged: its header is not JSON ({error})") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"not a model file: its header does not name the format {FORMAT!r}")
    return header


def _check_version(header: Header, library_version: str) -> None:
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"the file is damaged: its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"written by a newer widemargin (format {version}); this is {library_version}, "
            f"which reads up to format {FORMAT_VERSION}: upgrade widemargin"
        )


def _as_stored(array: NDArray[Any]) -> NDArray[Any]:
    # safetensors copies memory from the first element on: strided arrays must be packed first.
    little_endian = array.dtype.newbyteorder("<")
    return np.require(array, dtype=little_endian, requirements=["C", "A"])


def _digest(header: Header, arrays: Arrays) -> str:
    names = sorted(arrays)
    table = [[name, arrays[name].dtype.str[1:], list(arrays[name].shape)] for name in names]
    digest = hashlib.sha256(_json_text([header, table]).encode())
    for name in names:
        digest.update(arrays[name].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _json_text(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _strict_json(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_without_repeats,
        parse_constant=_refuse_constant,
        parse_float=_finite_float,
    )


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise ValueError("a name occurs twice")
    return unique


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # 1e999 is JSON, but no float
        raise ValueError(f"{text} is too large")
    return number
