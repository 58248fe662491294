"""Prediction with a fitted kernel machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import Array
from ..core.resources import thread_count
from ..core.rows import as_rows, canonical, drop_unused_columns, sparse_if_faster
from ..kernel.kernels import Kernel, rounding_of_distances
from ..kernel.matrices import evaluate_callable, weighted_sums
from ..kernel.model.level_models import LevelModel
from .multiclass import votes
from .routing import router_of

# An RBF value this uncertain in float32 is computed in float64 instead.
FLOAT32_ROUNDING = 1e-5


class KernelPrediction:
    """Decision function and labels, from fitted attributes only."""

    def decision_function(self: Any, X: Any) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify; kernel values against all training rows when
            ``kernel="precomputed"``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes; with more, the largest column wins.
            ``decision_function_shape="ovo"`` gives one column per pair instead.
        """
        decisions = self._decisions(X)
        if decisions.shape[1] == 1:
            return np.ravel(decisions)
        if self.multi_class == "ovo" and self.decision_function_shape == "ovr":
            return votes(decisions, len(self.classes_))
        return np.asarray(decisions)

    def predict(self: Any, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples,)
            Labels from ``classes_``.
        """
        return np.asarray(self._labels(self._decisions(X)))

    def _labels(self: Any, decisions: Array) -> NDArray[Any]:
        if decisions.shape[1] == 1:
            return np.asarray(self.classes_[(decisions[:, 0] > 0).astype(np.intp)])
        if self.multi_class == "ovo":
            decisions = votes(decisions, len(self.classes_))
        return np.asarray(self.classes_[np.argmax(decisions, axis=1)])

    def _decisions(self: Any, X: Any) -> Array:
        """Evaluate every binary problem, as (rows, problems)."""
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            reset=False,
            **self._accepted(),
            order="C",
        )
        if self.support_.size == 0:
            values = np.zeros((len(self.dual_coef_), X.shape[0]))
        elif getattr(self, "routing_", None) is not None:
            values = self._routed_decisions(X)
        elif self._pairwise:
            values = weighted_sums(X[:, self.support_], self.dual_coef_)
        elif callable(self.kernel):
            gram = evaluate_callable(self.kernel, X, self.support_vectors_)
            values = weighted_sums(gram, self.dual_coef_)
        else:
            values = self._kernel_decisions(X)
        return np.asarray(values.T + self.intercept_)

    def _kernel_decisions(self: Any, X: Any) -> Array:
        X, basis = self._comparable(X)
        X, basis = drop_unused_columns(canonical(X), canonical(sparse_if_faster(basis)))
        kernel: Kernel = self._fitted_kernel()
        coef = self.dual_coef_
        if self.multi_class == "ovo" and len(coef) > 1 and hasattr(self, "support_class_"):
            # Neighbours of one class take part in the same few problems: the others are skipped.
            # Model files of the first format do not know the classes.
            by_class = np.argsort(self.support_class_, kind="stable")
            basis, coef = basis[by_class], coef[:, by_class]
        return kernel.product(
            as_rows(X, X.dtype),
            as_rows(basis, X.dtype),
            coef,
            threads=thread_count(self.n_jobs),
        )

    def _routed_decisions(self: Any, X: Any) -> Array:
        """Ask the nearest cluster, problem by problem."""
        values = None
        if self._pairwise:
            values = X[:, self.support_]
        elif callable(self.kernel):
            values = evaluate_callable(self.kernel, X, self.support_vectors_)
        else:
            X, _ = self._comparable(X)
        out = np.zeros((len(self.dual_coef_), X.shape[0]))
        for k in range(len(out)):
            model = self._level_model(k)
            if values is None:
                out[k] = model.decide(X, thread_count(self.n_jobs))
                continue
            kept = self.routing_[k]
            routing = None
            if kept is not None and self._pairwise:
                routing = X[:, kept["rows"]]
            elif kept is not None:
                routing = evaluate_callable(self.kernel, X, kept["basis"])
            in_problem = np.flatnonzero(self.dual_coef_[k])
            out[k] = model.decide_values(values[:, in_problem], routing)
        return out

    def _level_model(self: Any, k: int) -> LevelModel:
        """Return the decision function of one binary problem, without the plain intercept."""
        used = np.flatnonzero(self.dual_coef_[k])
        routing = getattr(self, "routing_", None)
        part = getattr(self, "support_part_", None)
        kernel = self._fitted_kernel(constant=routing is not None and self.fit_intercept)
        named = isinstance(self.kernel, str) and not self._pairwise
        return LevelModel(
            kernel,
            sparse_if_faster(self.support_vectors_[used]) if named else None,
            self.support_[used],
            self.dual_coef_[k, used],
            None if part is None else part[k, used],
            None if routing is None or routing[k] is None else router_of(routing[k], kernel),
        )

    def _fitted_kernel(self: Any, constant: bool = False) -> Kernel:
        """Return the kernel as fitted; its constant is in ``intercept_`` unless asked for."""
        extra = 1.0 if constant else 0.0
        if not isinstance(self.kernel, str) or self._pairwise:
            return Kernel("precomputed", constant=extra)
        gamma = float(self.gamma_)
        return Kernel(self.kernel, gamma, float(self.coef0), int(self.degree), extra)

    def _comparable(self: Any, X: Any) -> tuple[Any, Any]:
        """Return rows and support vectors in one precision, high enough for their distances."""
        basis = self.support_vectors_
        single = X.dtype == basis.dtype == np.float32
        if single and rounding_of_distances(self._fitted_kernel(), basis) > FLOAT32_ROUNDING:
            single = False
        dtype = np.float32 if single else np.float64
        return X.astype(dtype, copy=False), basis.astype(dtype, copy=False)
