"""Kernel models that can be made smaller, and what they keep on the cluster."""

from __future__ import annotations

from functools import reduce as fold
from typing import Any, Self

import numpy as np

from ...core.arrays import Array
from ...core.budget import seed_of
from ...engines.spark_errors import errors_of_tasks
from ...kernel.model.compressed_model import compressed
from ...kernel.model.prediction import fitted_kernel
from ..classifier_stage import FitLog, columns_of, engine_of
from ..frames import spark_frame
from ..model_stage import ModelStage
from ..param_messages import in_spark_names
from ..rows.blocks import PlacedRows, place
from .compression import FullModel, check_points, compressed_on_rows
from .distributed_model import SAMPLED, DecisionRule, DistributedExpansion, with_support
from .params import KernelParams
from .rows import RowFacts, RowForm, facts_of

# Rows in a fixed order, and facts that the choice of the kernel depends on.
PLACEMENT: dict[str, Any] = {"sorted_rows": True, "facts_of": facts_of}


class CompressibleModel(ModelStage, KernelParams):
    """A kernel model with many support vectors, or with few that stand for many.

    ``_large`` is None, or has the support vectors; those of ``_fitted`` are none then. ``_full`` is
    what the fit compressed, or None.
    """

    def __init__(
        self,
        fitted: Any,
        large: DistributedExpansion | None = None,
        full: FullModel | None = None,
    ) -> None:
        super().__init__(fitted)
        if not isinstance(fitted.kernel, str) or fitted.kernel == "precomputed":
            raise ValueError(
                f"Spark's models need a kernel by name, other than 'precomputed'; got "
                f"{fitted.kernel!r}."
            )
        self._large, self._full = large, full

    @property
    def compression(self) -> dict[str, float]:
        """What compression did; empty for a model as it was fitted.

        Points (n_basis) and support vectors before; on rows that it was not fitted to, their number
        (n_validation), the share of right labels before and after (accuracy_before, accuracy), of
        the same labels, and errors of the decisions; rows that it was fitted to (n_rows), Newton
        steps (n_iter) and whether they sufficed. :meth:`compress` without rows compares at support
        vectors.
        """
        return dict(getattr(self._fitted, "compression_", {}))

    @property
    def compressionLoss(self) -> float:
        """Accuracy that compression cost on rows held out; 0 for a model as it was fitted.

        NaN if no rows were held out. The model before was trained on these rows unless
        ``validationIndicatorCol`` names them, so that its own accuracy, and the loss, may be less
        on new rows. Negative where the compressed model is the better one.
        """
        found = self.compression
        if not found:
            return 0.0
        return float(found.get("accuracy_before", np.nan) - found.get("accuracy", np.nan))

    @property
    def full(self) -> Self | None:
        """The distributed model that the fit compressed; None if it did not, or after loading."""
        if self._full is None:
            return None
        whole = type(self)(self._full.fitted, self._full.large)
        return self._copyValues(whole)  # type: ignore[no-any-return]

    def compress(self, n: int, dataset: Any = None) -> Self:
        """Return a model that decides alike on fewer points, for fast prediction.

        Without rows, the support vectors of a distributed model stay where they are; 25 for each
        point come to the driver, drawn with equal chances, and the model's decisions about these.
        With rows, the coefficients are fitted to them on the cluster, as in a fit with
        ``compressTo``: more accurate, and the loss is measured on rows held out.

        Parameters
        ----------
        n : int
            Points to keep; see :meth:`widemargin.ODMClassifier.compress`.
        dataset : DataFrame, optional
            Training rows, or some of them, drawn at random, in the columns that the Params name.
        """
        if dataset is not None:
            small = self._compressed_on(dataset, n)
        elif self._large is None:
            small = self._fitted.compress(n)
        else:
            small = self._compressed(self._large, n)
        return self._copyValues(type(self)(small))  # type: ignore[no-any-return]

    def _compressed_on(self, dataset: Any, n: int) -> Any:
        fitted = self._fitted
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"`n` must be a number of points, at least 1; got {n!r}.")
        if fitted.multi_class_ == "ovo" and len(fitted.dual_coef_) > 1:
            raise ValueError(
                "points are fitted to a DataFrame where each class is solved against the rest; "
                "this model has pairs of classes. Call toLocal().compress(n, X, y) instead."
            )
        check_points(fitted, n)
        frame, _ = spark_frame(dataset)
        columns = columns_of(self)
        columns.selected(frame)  # so that the columns are checked before any job runs
        engine = engine_of(self, frame)
        with (
            in_spark_names(self._spark_names()),
            errors_of_tasks(),
            FitLog(frame.sparkSession, type(self).__name__) as log,
        ):
            try:
                rows = place(
                    engine,
                    frame,
                    columns,
                    skip=self.getHandleInvalid() == "skip",
                    n_parts=self._value("nParts"),
                    **PLACEMENT,
                )
                full = FullModel(fitted, self._large)
                return compressed_on_rows(full, rows, form_of(fitted, rows), n, log)
            finally:
                engine.release()

    def _compressed(self, large: DistributedExpansion, n: int) -> Any:
        seed = seed_of(self._fitted.random_state)
        rule = DecisionRule.of(self._fitted)
        size = SAMPLED * n if isinstance(n, int) and n > 0 else 1
        sample = with_support(self._fitted, large.sampled(rule.n_problems, size, seed))
        # That of all support vectors, not of the sample.
        constant = rule.kernel.constant if sample.routing_ is None else 0.0
        sample.intercept_ = constant * large.totals(rule.n_problems) + 0.0

        def decide(rows: Any) -> Array:
            values = large.decide(rule, sample.support_vectors_[rows])
            return np.ascontiguousarray(values - sample.intercept_[:, None])

        return compressed(sample, n, seed, decide=decide, n_support=large.n_support)

    @property
    def cachedTables(self) -> int:
        """Number of tables of support vectors that the model, or ``full``, has in storage."""
        large = self._on_cluster
        return 0 if large is None else len(large.kept)

    def unpersist(self) -> Self:
        """Free what the model, or ``full``, takes in Spark's storage.

        It is freed by itself when the model is garbage, unless the distributed model has
        transformed a DataFrame, which may be read later. A distributed model that is used
        afterwards is trained again, from the DataFrame it was fitted to.
        """
        large = self._on_cluster
        if large is not None:
            large.unpersist()
        return self

    @property
    def _on_cluster(self) -> DistributedExpansion | None:
        return self._full.large if self._full is not None else self._large


def form_of(fitted: Any, rows: PlacedRows) -> RowForm:
    """Return the form in which the kernel of a model sees rows."""
    facts: RowFacts = fold(RowFacts.plus, rows.facts)
    kernel, summary = fitted_kernel(fitted), rows.summary
    return RowForm.of(facts, kernel, summary.rows, rows.n_features, summary.dense)
