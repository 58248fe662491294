"""NPZ archives: their arrays are unpacked into files, which are then mapped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..formats import DataFileError
from ..formats.npz import (
    feature_names_in,
    labels_key,
    needed_arrays,
    open_npz,
    refuse_other_formats,
)
from ..formats.table import Request, integers_if_whole
from .arrays import array_source
from .blocks import Block, BlockSource
from .row_files import csr_of_mapped
from .spool_files import SpoolFile

__all__ = ["npz_source"]


def npz_source(request: Request, directory: Path, block_bytes: int) -> BlockSource:
    """Return the blocks of an archive of ``numpy.savez`` or ``scipy.sparse.save_npz``."""
    with open_npz(request) as archive:
        names = sorted(needed_arrays(request, archive.files))
    arrays = {
        name: _unpacked(request, name, directory / f"unpacked_{number}", block_bytes)
        for number, name in enumerate(names)
    }
    X = arrays["X"] if "X" in arrays else _sparse(request, arrays)
    source = array_source(
        X,
        arrays[labels_key(request)],
        None,
        dtype=request.dtype,
        block_bytes=block_bytes,
        path=request.path,
    )
    return replace(
        source,
        blocks=_with_whole_labels(source.blocks),
        feature_names=feature_names_in(request, arrays, X.shape[1]),
    )


def _with_whole_labels(blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        labels = np.asarray(block.labels)
        yield (
            replace(block, labels=integers_if_whole(labels)) if labels.dtype.kind == "f" else block
        )


def _unpacked(request: Request, name: str, path: Path, block_bytes: int) -> NDArray[Any]:
    """Copy one array to a file, and map it."""
    file = SpoolFile(path, np.uint8)
    pieces = _pieces(request, name, block_bytes)
    with closing(file):
        header, _ = next(pieces)
        for _, piece in pieces:
            file.append(np.frombuffer(piece, np.uint8))
    if file.nbytes != header.dtype.itemsize * int(np.prod(header.shape)):
        raise DataFileError(
            request.path,
            f"{name} must have the shape {header.shape}, but has {file.nbytes:,} bytes. Is the "
            "archive damaged?",
        )
    values = file.mapped((file.length,)).view(header.dtype)
    return values.reshape(header.shape, order="F" if header.by_column else "C")


class _Header(NamedTuple):
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]


def _pieces(request: Request, name: str, block_bytes: int) -> Iterator[tuple[_Header, bytes]]:
    """Yield the header, then the bytes to the very end, where the checksum is compared."""
    with open_npz(request) as archive:
        members = archive.zip
        assert members is not None
        member = name + ".npy" if name + ".npy" in members.namelist() else name
        with members.open(member) as stream:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            header = _Header(*read(stream))
            if header.dtype.hasobject:
                raise ValueError(f"{name} holds Python objects")
            yield header, b""
            while piece := stream.read(block_bytes):
                yield header, piece


def _sparse(request: Request, arrays: dict[str, NDArray[Any]]) -> Any:
    refuse_other_formats(request, arrays)
    indices, indptr, shape = (arrays[key] for key in ("indices", "indptr", "shape"))
    if not all(part.dtype.kind in "iu" for part in (indices, indptr, shape)):
        raise DataFileError(
            request.path, "indices, indptr and shape must be whole numbers to be a CSR matrix."
        )
    if shape.shape != (2,) or not np.all(shape > 0):
        raise DataFileError(
            request.path, f"expected rows and features, found a matrix of shape {shape}."
        )
    return csr_of_mapped(arrays["data"], indices, indptr, (int(shape[0]), int(shape[1])))
