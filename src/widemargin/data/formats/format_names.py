"""Find the format of a file: by its name, or by what it begins with."""

from __future__ import annotations

import itertools
from pathlib import Path

from .blocks import DataFileError
from .delimited_layout import sniffed_delimiter
from .libsvm import looks_like_libsvm
from .parquet import PARQUET_SUFFIXES
from .streams import COMPRESSED_SUFFIXES, open_stream

NAMES = ("libsvm", "csv", "tsv", "parquet", "npz")
SUFFIXES = {
    **dict.fromkeys((".svm", ".libsvm", ".svmlight", ".txt", ".t", ".tr", ".val"), "libsvm"),
    ".csv": "csv",
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys(PARQUET_SUFFIXES, "parquet"),
    ".npz": "npz",
}
#: What binary formats begin with.
_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz"}
#: Lines that show how cells are delimited, and the length at which they are cut.
_LINES, _LINE = 20, 1 << 16


def format_of(path: Path) -> str:
    """Return the format of a file; raise a `DataFileError` if it cannot be found."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED_SUFFIXES:
        suffixes.pop()
    named = SUFFIXES.get(suffixes[-1]) if suffixes else None
    # Text files are called .txt whatever they hold; LIBSVM's collection has names such as `a9a`.
    if named is not None and suffixes[-1] != ".txt":
        return named
    found = _sniffed(path) or named
    if found is not None:
        return found
    suffix = f"the suffix {suffixes[-1]}" if suffixes else "no suffix"
    raise DataFileError(
        path,
        f"unknown format: expected one of {' '.join(SUFFIXES)} (also .gz, .bz2, .xz), found "
        f"{suffix}. Give the format: {', '.join(NAMES)}.",
    )


def _sniffed(path: Path) -> str | None:
    with open_stream(path) as stream:
        start = stream.read(4)
        if start in _MAGIC:
            return _MAGIC[start]
        stream.seek(0)
        if looks_like_libsvm(stream):
            return "libsvm"
        stream.seek(0)
        lines = list(itertools.islice(iter(lambda: stream.readline(_LINE), b""), _LINES))
    try:
        text = b"".join(lines).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    delimiter = None if "\0" in text else sniffed_delimiter(text.splitlines())
    return None if delimiter is None else "csv"
