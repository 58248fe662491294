"""NPZ archives: ``X`` and ``y``, or the parts of a CSR matrix and ``y``."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from widemargin.data.formats.streams import check_regular_file
from widemargin.data.formats.table import DataFileError, Request, Table, integers_if_whole

__all__ = [
    "feature_names_in",
    "labels_key",
    "needed_arrays",
    "open_npz",
    "read_npz",
    "refuse_other_formats",
]

_CSR_KEYS = ("data", "indices", "indptr", "shape")


def read_npz(request: Request) -> Table:
    """Read an archive of ``numpy.savez`` or ``scipy.sparse.save_npz``.

    `label` is the key of the labels, ``y`` by default. An array ``feature_names`` is read if there
    is one. Pickled objects are refused.
    """
    key = labels_key(request)
    with open_npz(request) as archive:
        arrays = {name: archive[name] for name in needed_arrays(request, archive.files)}
    X = _sparse(request, arrays) if "data" in arrays else _dense(request, arrays["X"])
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise DataFileError(
            request.path, f"expected rows and features, found a matrix of shape {X.shape}."
        )
    if request.n_features is not None and X.shape[1] != request.n_features:
        raise DataFileError(
            request.path, f"expected {request.n_features} features, found {X.shape[1]}."
        )
    y = _labels(request, key, arrays[key], X.shape[0]) if request.labelled else None
    names = feature_names_in(request, arrays, X.shape[1])
    if names is not None and request.feature_names not in (None, names):
        raise DataFileError(
            request.path, "the features are not those of the model, or in another order."
        )
    return Table(X=X, y=y, feature_names=names)


def labels_key(request: Request) -> str:
    """Key of the labels."""
    return "y" if request.label is None else str(request.label)


@contextmanager
def open_npz(request: Request) -> Iterator[NpzFile]:
    """Open an archive; damage is reported from inside the ``with`` block."""
    check_regular_file(request.path)
    size = f"it ends after {request.path.stat().st_size:,} bytes"
    try:
        # Opened here because numpy would leave the file of a damaged archive open.
        with open(request.path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise DataFileError(
                    request.path,
                    f"not an NPZ archive, or cut short; {size}. Write it with `numpy.savez`, or "
                    "fetch it again.",
                )
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                yield archive
    except DataFileError:
        raise
    except MemoryError as error:
        raise DataFileError(request.path, "does not fit in memory, or is damaged.") from error
    except Exception as error:  # Damage surfaces in zipfile, zlib and the header's parser.
        raise DataFileError(
            request.path,
            f"not an NPZ archive of plain arrays, or cut short or damaged ({_first_line(error)}); "
            f"{size}. Write or fetch it again.",
        ) from error


def needed_arrays(request: Request, files: list[str]) -> set[str]:
    """Return the keys of the arrays that are needed, and only these: there may be much else."""
    found, key = set(files), labels_key(request)
    wanted = {"X"} if "X" in found else set(_CSR_KEYS)
    if request.labelled:
        wanted.add(key)
    if not wanted <= found:
        raise DataFileError(
            request.path,
            f"expected arrays X and {key}, or data, indices, indptr, shape and {key}; "
            f"found {', '.join(sorted(found)[:8]) or 'none'}.",
        )
    return wanted | (found & {"feature_names", "format"})


def _dense(request: Request, X: NDArray[Any]) -> NDArray[Any]:
    if X.ndim != 2:
        raise DataFileError(
            request.path, f"expected X with 2 dimensions (rows, features), found {X.ndim}."
        )
    X = _as_floats(request, "X", X)
    bad = np.argwhere(~np.isfinite(X))
    if bad.size:
        row, column = bad[0]
        raise DataFileError(
            request.path,
            f"expected a finite value (as {X.dtype}) in X[{row}, {column}], found "
            f"{X[row, column]}. Impute missing values or remove the row.",
        )
    return X


def _sparse(request: Request, arrays: dict[str, NDArray[Any]]) -> Any:
    from scipy.sparse import csr_matrix

    refuse_other_formats(request, arrays)
    data = _as_floats(request, "data", arrays["data"])
    try:
        for key in ("indices", "indptr", "shape"):
            if arrays[key].dtype.kind not in "iu":
                raise TypeError(f"{key} has type {arrays[key].dtype}, not an integer type")
        rows, columns = (int(length) for length in arrays["shape"])
        X = csr_matrix((data, arrays["indices"], arrays["indptr"]), shape=(rows, columns))
        # The native code trusts indices: one out of range would read foreign memory.
        X.check_format(full_check=True)
        X.sum_duplicates()
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise DataFileError(
            request.path, f"data, indices, indptr and shape are not a CSR matrix: {error}."
        ) from error
    bad = np.flatnonzero(~np.isfinite(X.data))
    if bad.size:
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        raise DataFileError(
            request.path,
            f"expected a finite value (as {X.dtype}) in X[{row}, {X.indices[bad[0]]}], found "
            f"{X.data[bad[0]]}. Impute missing values or remove the row.",
        )
    return X


def refuse_other_formats(request: Request, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse a sparse matrix that is not in CSR format."""
    if "format" in arrays and arrays["format"].tobytes().strip(b"\0") != b"csr":
        raise DataFileError(
            request.path, "expected a matrix in CSR format. Save `X.tocsr()` instead."
        )


def _as_floats(request: Request, key: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "fiub":
        raise DataFileError(
            request.path, f"expected numbers in {key}, found {values.dtype}. Save floats."
        )
    single = values.dtype in (np.float32, np.float16)
    dtype = request.dtype or np.dtype(np.float32 if single else np.float64)
    with np.errstate(over="ignore"):  # Too large for float32: refused as not finite.
        return values.astype(dtype, copy=False)


def _labels(request: Request, key: str, y: NDArray[Any], rows: int) -> NDArray[Any]:
    if y.shape != (rows,):
        raise DataFileError(
            request.path, f"expected {key} of shape ({rows},), one label a row; found {y.shape}."
        )
    if y.dtype.kind in "iubU":
        return y
    if y.dtype.kind == "f" and np.isfinite(y).all():
        return integers_if_whole(y.astype(np.float64))
    raise DataFileError(
        request.path,
        f"expected finite numbers or text as labels in {key}, found {y.dtype}"
        f"{' with NaN or infinity' if y.dtype.kind == 'f' else ''}.",
    )


def feature_names_in(
    request: Request, arrays: dict[str, NDArray[Any]], columns: int
) -> tuple[str, ...] | None:
    """Return the feature names that an archive holds, if any."""
    names = arrays.get("feature_names")
    if names is None:
        return None
    if names.shape != (columns,) or names.dtype.kind != "U":
        raise DataFileError(
            request.path,
            f"expected feature_names with {columns} texts, found {names.dtype} of shape "
            f"{names.shape}.",
        )
    return tuple(str(name) for name in names)


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:120].rstrip(".") if text else type(error).__name__
