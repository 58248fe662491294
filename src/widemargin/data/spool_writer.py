"""Write blocks to a spool, checking that they fit together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..core.losses import NO_WEIGHT
from .disk_array import DiskArray
from .formats.blocks import Block, BlockSource
from .label_book import LabelBook
from .spooled_rows import DenseRowFile, RowFiles, SparseRowFiles, SpooledRows
from .target_book import TargetBook


class SpoolWriter:
    """Write the arrays of a spool block by block, holding about `block_bytes` in memory at a time.

    The directory is handed on to the rows that `finish` returns.
    """

    def __init__(
        self,
        directory: TemporaryDirectory[str],
        book: LabelBook | TargetBook,
        source: BlockSource,
        *,
        n_features: int | None,
        block_bytes: int,
    ) -> None:
        self.n_rows = 0
        self._directory = directory
        self.directory = Path(directory.name)
        self._book = book
        self._source = source
        self._n_features = n_features
        self._required = n_features
        self._block_bytes = block_bytes
        self._rows: RowFiles | None = None
        self._weighted: bool | None = None
        self._names = source.feature_names
        # Codes of labels, or the targets of a regression.
        self._codes = DiskArray(self.directory / "label_codes", book.dtype)
        self._weights = DiskArray(self.directory / "weights", np.float64)
        self._totals = np.zeros(0)

    @property
    def nbytes(self) -> int:
        """Bytes written so far."""
        return sum(file.nbytes for file in self._files())

    def append(self, block: Block) -> None:
        """Write a block; rows of weight zero are left out."""
        self._check_weights(block)
        self._check_width(block)
        self._check_names(block)
        codes: NDArray[Any] = self._book.encode(block)
        weights = block.weights
        if weights is not None and not np.all(weights > NO_WEIGHT):
            kept = weights > NO_WEIGHT
            block = replace(block, X=block.X[kept])
            codes, weights = codes[kept], weights[kept]
        if self._source.X is None:
            self._store(block).append(block)
        self._codes.append(codes)
        if weights is not None:
            self._weights.append(weights)
        self.n_rows += len(codes)
        if isinstance(self._book, TargetBook):
            return
        totals = np.bincount(codes, weights)
        self._totals = np.pad(self._totals, (0, max(len(totals) - len(self._totals), 0)))
        self._totals[: len(totals)] += totals

    def finish(self) -> SpooledRows:
        """Sort the classes and map the arrays."""
        if not self.n_rows:
            raise ValueError("At least one `sample_weight` must be positive; got all zero.")
        if isinstance(self._book, TargetBook):
            return self._mapped(np.zeros(0), np.zeros(0))
        classes, totals = self._sorted_classes(self._book)
        return self._mapped(classes, totals)

    def _sorted_classes(self, book: LabelBook) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Renumber the classes in their order; return them with the weight of each."""
        classes, positions = book.finish()
        totals = np.zeros(len(classes))
        if positions is None:
            totals[: len(self._totals)] = self._totals
        else:
            np.add.at(totals, positions[: len(self._totals)], self._totals)
            if not np.array_equal(positions, np.arange(len(positions))):
                self._codes.rewrite(lambda codes: positions[codes], self._block_bytes)
        present = classes[totals > 0]
        if len(present) < 2:
            weighted = " with a positive weight" if self._weighted else ""
            raise ValueError(
                f"Rows of at least two classes{weighted} are needed; got only one class, "
                f"{present.tolist()[0]!r}, in {self.n_rows:,} rows."
            )
        return classes, totals

    def _mapped(self, classes: NDArray[Any], totals: NDArray[np.float64]) -> SpooledRows:
        X = self._source.X
        if self._rows is not None:
            X = self._rows.mapped(self.n_rows, self._n_features)
        shape = (self.n_rows,)
        return SpooledRows(
            X=X,
            codes=self._codes.mapped(shape),
            classes=classes,
            class_totals=totals,
            weights=self._weights.mapped(shape) if self._weighted else None,
            feature_names=self._names,
            notes=tuple(self._source.notes),
            zero_based=self._source.zero_based[0] if self._source.zero_based else None,
            nbytes=sum(file.stat().st_size for file in self.directory.iterdir()),
            _directory=self._directory,
        )

    def close(self) -> None:
        """Close the files for writing."""
        for file in self._files():
            file.close()

    def _files(self) -> list[DiskArray]:
        rows = [] if self._rows is None else self._rows.files
        return [*rows, self._codes, self._weights]

    def _store(self, block: Block) -> RowFiles:
        """Return the files of the rows, created for the first block; check that later ones fit."""
        sparse, dtype = issparse(block.X), block.X.dtype
        if self._rows is None:
            if sparse:
                self._rows = SparseRowFiles(self.directory, dtype, self._block_bytes)
            else:
                self._rows = DenseRowFile(self.directory, dtype)
        elif sparse != isinstance(self._rows, SparseRowFiles):
            now, before = ("sparse", "dense") if sparse else ("dense", "sparse")
            raise block.origin.error(
                f"the rows are {now}, those before {before}. Make all of them dense or all CSR."
            )
        elif dtype != self._rows.dtype:
            raise block.origin.error(
                f"the features are {dtype}, those before {self._rows.dtype}. Convert all batches "
                "to one of them."
            )
        return self._rows

    def _check_width(self, block: Block) -> None:
        if block.n_features is None:
            return
        if self._n_features is None:
            self._n_features = block.n_features
        if block.n_features != self._n_features:
            before = "as required" if self._required else "as in the rows before"
            raise block.origin.error(
                f"expected {self._n_features:,} features, {before}; got {block.n_features:,}."
            )

    def _check_names(self, block: Block) -> None:
        if block.origin.batch is None:
            return
        if block.origin.batch == 1:
            self._names = block.feature_names
        if block.feature_names == self._names:
            return
        if block.feature_names is None or self._names is None:
            some, none = "have names", "have no names"
            here, before = (none, some) if block.feature_names is None else (some, none)
            raise block.origin.error(
                f"the columns {here}, those before {before}. Give data frames in every batch or in "
                "none."
            )
        pairs = zip(block.feature_names, self._names, strict=True)
        k = next(k for k, (name, expected) in enumerate(pairs) if name != expected)
        raise block.origin.error(
            f"expected the columns of the batches before, in their order; column {k} (counted from "
            f"0) is {block.feature_names[k]!r} instead of {self._names[k]!r}. Select them by name."
        )

    def _check_weights(self, block: Block) -> None:
        weighted = block.weights is not None
        if self._weighted is None:
            self._weighted = weighted
        if weighted != self._weighted:
            here, before = ("has", "have none") if weighted else ("has no", "have")
            raise block.origin.error(
                f"{here} `sample_weight`, the rows before {before}. Give weights with every batch "
                "or with none."
            )
