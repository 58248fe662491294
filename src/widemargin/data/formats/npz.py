"""NPZ archives: ``X`` and ``y``, or the parts of a CSR matrix and ``y``.

The arrays of an archive cannot be read by rows. To read by blocks, they are unpacked into files,
which are then mapped; to read all, they are unpacked in memory.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from ..disk_array import DiskArray
from .blocks import Block, BlockSource, DataFileError, Request, first_line, integers_if_whole
from .streams import check_regular_file

_CSR_KEYS = ("data", "indices", "indptr", "shape")


def npz_source(request: Request) -> BlockSource:
    """Return the blocks of an archive of ``numpy.savez`` or ``scipy.sparse.save_npz``.

    `label` is the key of the labels, ``y`` by default. An array ``feature_names`` is read if there
    is one. Pickled objects are refused.
    """
    from .arrays import array_source

    arrays = _arrays(request)
    X = _sparse(request, arrays) if "data" in arrays else arrays["X"]
    _check_features(request, X, "data" if "data" in arrays else "X")
    names = _feature_names(request, arrays.get("feature_names"), X.shape[1])
    y = _labels(request, arrays, X.shape[0]) if request.labelled else None
    source = array_source(
        X, y, dtype=request.dtype, block_bytes=request.block_bytes, path=request.path
    )
    return replace(source, blocks=_with_whole_labels(source.blocks), feature_names=names)


def _with_whole_labels(blocks: Iterator[Block]) -> Iterator[Block]:
    """Convert the labels to integers where they are whole, as other formats do."""
    for block in blocks:
        if isinstance(block.labels, np.ndarray) and block.labels.dtype.kind == "f":
            block = replace(block, labels=integers_if_whole(block.labels.astype(np.float64)))
        yield block


def _labels_key(request: Request) -> str:
    return "y" if request.label is None else str(request.label)


def _arrays(request: Request) -> dict[str, NDArray[Any]]:
    """Unpack the arrays that are needed, and only these: the archive may hold others."""
    with _open(request) as archive:
        names = sorted(_needed(request, set(archive.files)))
        if request.unpack_dir is None:
            return {name: _loaded(request, archive, name) for name in names}
    return {
        name: _unpacked(request, name, request.unpack_dir / f"unpacked_{number}")
        for number, name in enumerate(names)
    }


def _needed(request: Request, found: set[str]) -> set[str]:
    key = _labels_key(request)
    wanted = {"X"} if "X" in found else set(_CSR_KEYS)
    if request.labelled:
        wanted.add(key)
    if not wanted <= found:
        raise request.error(
            f"expected arrays X and {key}, or data, indices, indptr, shape and {key}; "
            f"found {', '.join(sorted(found)[:8]) or 'none'}."
        )
    return wanted | (found & {"feature_names", "format"})


@contextmanager
def _open(request: Request) -> Iterator[NpzFile]:
    """Open an archive; damage is reported from inside the ``with`` block."""
    check_regular_file(request.path)
    size = f"it ends after {request.path.stat().st_size:,} bytes"
    try:
        # Opened here because numpy would leave the file of a damaged archive open.
        with open(request.path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise request.error(
                    f"not an NPZ archive, or cut short; {size}. Write it with `numpy.savez`, or "
                    "fetch it again."
                )
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                yield archive
    except DataFileError:
        raise
    except MemoryError as error:
        raise request.error("does not fit in memory, or is damaged.") from error
    except Exception as error:  # Damage surfaces in zipfile, zlib and the header's parser.
        raise request.error(
            f"not an NPZ archive of plain arrays, or cut short or damaged ({first_line(error)}); "
            f"{size}. Write or fetch it again."
        ) from error


def _loaded(request: Request, archive: NpzFile, name: str) -> NDArray[Any]:
    try:
        return np.asarray(archive[name])
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise _objects(request, name) from error
        raise


def _objects(request: Request, name: str) -> DataFileError:
    return request.error(
        f"{name} holds Python objects (dtype object), which only running code could read; expected "
        f"numbers or fixed-width text. Save `{name}.astype(str)` for text, or numbers."
    )


class _Header(NamedTuple):
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]


def _unpacked(request: Request, name: str, path: Path) -> NDArray[Any]:
    """Copy one array to a file, and map it."""
    file = DiskArray(path, np.uint8)
    pieces = _pieces(request, name)
    with closing(file):
        header, _ = next(pieces)
        for _, piece in pieces:
            file.append(np.frombuffer(piece, np.uint8))
    if file.nbytes != header.dtype.itemsize * int(np.prod(header.shape)):
        raise request.error(
            f"{name} must have the shape {header.shape}, but has {file.nbytes:,} bytes. Is the "
            "archive damaged?"
        )
    values = file.mapped((file.length,)).view(header.dtype)
    return values.reshape(header.shape, order="F" if header.by_column else "C")


def _pieces(request: Request, name: str) -> Iterator[tuple[_Header, bytes]]:
    """Yield the header, then the bytes to the very end, where the checksum is compared."""
    with _open(request) as archive:
        members = archive.zip
        assert members is not None
        member = name + ".npy" if name + ".npy" in members.namelist() else name
        with members.open(member) as stream:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            header = _Header(*read(stream))
            if header.dtype.hasobject:
                raise _objects(request, name)
            yield header, b""
            while piece := stream.read(request.block_bytes or -1):
                yield header, piece


def _sparse(request: Request, arrays: dict[str, NDArray[Any]]) -> Any:
    from .arrays import csr_of_parts

    if "format" in arrays and arrays["format"].tobytes().strip(b"\0") != b"csr":
        raise request.error("expected a matrix in CSR format. Save `X.tocsr()` instead.")
    problem = _fault_of_parts(**{key: arrays[key] for key in _CSR_KEYS})
    if problem is not None:
        raise request.error(f"data, indices, indptr and shape are not a CSR matrix: {problem}.")
    rows, columns = (int(length) for length in arrays["shape"])
    return csr_of_parts(arrays["data"], arrays["indices"], arrays["indptr"], (rows, columns))


def _fault_of_parts(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: NDArray[Any]
) -> str | None:
    """Return what is wrong with types and lengths; the indices themselves are checked later."""
    for key, part in (("indices", indices), ("indptr", indptr), ("shape", shape)):
        if part.dtype.kind not in "iu":
            return f"{key} has type {part.dtype}, not an integer type"
    for key, part in (("data", data), ("indices", indices), ("indptr", indptr)):
        if part.ndim != 1:
            return f"{key} has {part.ndim} dimensions, not 1"
    if len(data) != len(indices):
        return f"data has {len(data):,} values, indices {len(indices):,}"
    if shape.shape != (2,) or np.any(shape < 0) or np.any(shape > np.iinfo(np.int32).max):
        return f"shape is {shape.tolist()}, not two lengths of at most {np.iinfo(np.int32).max:,}"
    if len(indptr) != int(shape[0]) + 1:
        return f"indptr has {len(indptr):,} values for {shape[0]:,} rows, not one more than rows"
    return None


def _check_features(request: Request, X: Any, key: str) -> None:
    """Check what the headers of the arrays show; `array_source` checks the values."""
    if X.ndim != 2:
        raise request.error(f"expected X with 2 dimensions (rows, features), found {X.ndim}.")
    if X.dtype.kind not in "fiub":
        raise request.error(f"expected numbers in {key}, found {X.dtype}. Save floats.")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise request.error(
            f"expected at least one row and one feature, found a matrix of shape {X.shape}."
        )
    if request.n_features is not None and X.shape[1] != request.n_features:
        raise request.error(f"expected {request.n_features} features, found {X.shape[1]}.")


def _labels(request: Request, arrays: dict[str, NDArray[Any]], rows: int) -> NDArray[Any]:
    key = _labels_key(request)
    y = arrays[key]
    if y.shape != (rows,):
        raise request.error(f"expected {key} of shape ({rows},), one label a row; found {y.shape}.")
    if y.dtype.kind in "iubU" or (y.dtype.kind == "f" and np.isfinite(y).all()):
        return y
    raise request.error(
        f"expected finite numbers or text as labels in {key}, found {y.dtype}"
        f"{' with NaN or infinity' if y.dtype.kind == 'f' else ''}."
    )


def _feature_names(
    request: Request, names: NDArray[Any] | None, columns: int
) -> tuple[str, ...] | None:
    if names is None:
        return None
    if names.shape != (columns,) or names.dtype.kind != "U":
        raise request.error(
            f"expected feature_names with {columns} texts, found {names.dtype} of shape "
            f"{names.shape}."
        )
    found = tuple(str(name) for name in names)
    if request.feature_names not in (None, found):
        raise request.error("the features are not those of the model, or in another order.")
    return found
