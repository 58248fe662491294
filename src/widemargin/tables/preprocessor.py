"""The preprocessing that tables need before a margin classifier can learn from them."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..core.missing_marks import MISSING_MARKS, lowered
from .assembly import assembled, fit_to_numbers, mostly_zero
from .cleaning import Cleaned, clean, number_names
from .input_table import table_columns
from .notes import notes_of, novelties
from .plans import Plan, Rules, plan_column
from .sparse_rows import finite, scaler_of_sparse, sparse_rows


class TablePreprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table with text, dates and missing values into scaled numbers.

    Takes data frames (pandas, polars), arrays and sparse matrices. What becomes of a column is
    decided by its content:

    - *Numbers*, also those written as text (``"1,234.5"``, ``"3,14"``, ``"12 %"``): missing ones
      are replaced by the median and marked by a feature of their own; then all are scaled to mean 0
      and variance 1. Columns with a long tail are squeezed by a logarithm first.
    - *Truth values* (``yes``/``no``, ``true``/``false``, …): 0 and 1, treated as numbers.
    - *Dates*: days since 1970, and sine and cosine of the place in the year, the week and the day
      where these differ; treated as numbers.
    - *Categories*: one feature for every frequent level, one for all rare ones; missing is a level.
    - *Identifiers*, *free text*, *constant* and *empty* columns are dropped. ``notes_`` tells.

    The features come out dense, or as a CSR matrix where most of them are zero. A sparse matrix
    stays one: it is not centred, and scaled only if its columns differ much in size.

    Parameters
    ----------
    min_frequency : "auto" or int, default="auto"
        Rows that a level of a category needs for a feature of its own; ``"auto"`` is 1 % of the
        rows, at least 2 and at most 10. Rarer levels are joined.
    max_categories : int, default=100
        Features that one column of categories may become; the most frequent levels are kept.
    missing_marks : tuple of str
        Texts that stand for a missing value, in capitals or small letters; by default an empty
        cell, ``?``, ``NA``, ``N/A``, ``#N/A``, ``NaN``, ``null``, ``None``, ``-`` and ``.``.
    long_tails : {"log", "keep"}, default="log"
        What to do with numbers that lie more than 8 standard deviations from their mean: take
        ``sign(x) log(1 + |x| / median)`` of their column, or leave them.
    sparse_output : "auto" or bool, default="auto"
        Whether the features are a CSR matrix; ``"auto"`` decides by the share of zeros.

    Attributes
    ----------
    columns_ : dict
        For every column, what became of it: its ``"role"`` (number, boolean, date, category or
        dropped) and the details. Empty for sparse matrices.
    notes_ : list of str
        What was dropped, joined and filled, and why, in sentences.
    imputer_, indicator_, scaler_, encoder_ : estimators or None
        The parts: :class:`~sklearn.impute.SimpleImputer`,
        :class:`~sklearn.impute.MissingIndicator`, :class:`~sklearn.preprocessing.StandardScaler`
        (:class:`~sklearn.preprocessing.MaxAbsScaler` for sparse matrices) and
        :class:`~sklearn.preprocessing.OneHotEncoder`; None where there is nothing to do for them.
    sparse_output_ : bool
        Whether the features are a CSR matrix.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : ndarray of str
        Names of the columns, if the table had names.

    Notes
    -----
    A data frame is matched by the names of its columns: they may come in another order, and others
    are ignored. Categories that ``fit`` has not seen count as rare (as no level at all where no
    level is rare), and a warning names them by column.

    Examples
    --------
    >>> import pandas
    >>> from widemargin import TablePreprocessor
    >>> table = pandas.DataFrame(
    ...     {"age": ["39", "?", "28", "51"], "job": ["cook", "clerk", "cook", "clerk"], "x": 1}
    ... )
    >>> preprocessor = TablePreprocessor().fit(table)
    >>> preprocessor.get_feature_names_out().tolist()
    ['age', 'age_missing', 'job_clerk', 'job_cook']
    >>> preprocessor.transform(table).round(2).tolist()
    [[-0.03, 0.0, 0.0, 1.0], [-0.03, 1.0, 1.0, 0.0], [-1.38, 0.0, 0.0, 1.0], [1.44, 0.0, 1.0, 0.0]]
    >>> preprocessor.notes_[0]
    "Dropped, because they have one value only: 'x'."
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_frequency": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "missing_marks": [tuple, list],
        "long_tails": [StrOptions({"log", "keep"})],
        "sparse_output": [StrOptions({"auto"}), "boolean"],
    }

    columns_: dict[str, Plan]
    notes_: list[str]
    imputer_: SimpleImputer | None
    indicator_: MissingIndicator | None
    scaler_: StandardScaler | MaxAbsScaler | None
    encoder_: OneHotEncoder | None
    sparse_output_: bool
    sparse_input_: bool
    n_features_in_: int

    def __init__(
        self,
        *,
        min_frequency: str | int = "auto",
        max_categories: int = 100,
        missing_marks: tuple[str, ...] = MISSING_MARKS,
        long_tails: str = "log",
        sparse_output: str | bool = "auto",
    ) -> None:
        self.min_frequency = min_frequency
        self.max_categories = max_categories
        self.missing_marks = missing_marks
        self.long_tails = long_tails
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what becomes of every column, and find medians, scales and levels.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_rows, n_columns)
            The table.
        y : ignored
            Present for scikit-learn's conventions.

        Returns
        -------
        self
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the features of the same table.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_rows, n_columns)
            The table.
        y : ignored
            Present for scikit-learn's conventions.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)
        """
        self._validate_params()
        self.sparse_input_ = sp.issparse(X)
        self.imputer_ = self.indicator_ = self.scaler_ = self.encoder_ = None
        if self.sparse_input_:
            return self._fit_sparse(X)
        columns, dtype = table_columns(self, X, reset=True)
        n_rows = len(columns[0].values)
        marks = lowered(tuple(self.missing_marks))
        rules = Rules(
            marks, self._least_rows(n_rows), self.long_tails, hasattr(self, "feature_names_in_")
        )
        self.columns_ = {column.name: plan_column(column, rules) for column in columns}
        if all(plan["role"] == "dropped" for plan in self.columns_.values()):
            reasons = " ".join(notes_of(self.columns_, {}))
            raise ValueError(
                f"The table has no column to learn from (n_samples={n_rows}). {reasons}"
            )
        cleaned = clean(columns, self.columns_, marks)
        self._set_parts(cleaned, rules.min_frequency)
        self.notes_ = notes_of(self.columns_, self._joined())
        return self._features(cleaned, dtype)

    def transform(self, X: Any) -> Any:
        """Return the features of a table with the columns of `fit`.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_rows, n_columns)
            The table. A data frame is matched by the names of its columns.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)

        Warns
        -----
        UserWarning
            If categories occur that `fit` has not seen, or cells that cannot be read.
        """
        check_is_fitted(self)
        if self.sparse_input_:
            return self._transform_sparse(X)
        columns, dtype = table_columns(self, X, reset=False)
        cleaned = clean(columns, self.columns_, lowered(tuple(self.missing_marks)))
        known = (
            {}
            if self.encoder_ is None
            else dict(
                zip(self._names("category"), map(set, self.encoder_.categories_), strict=True)
            )
        )
        found = novelties(cleaned, known)
        if found:
            warnings.warn(
                f"{'; '.join(found)}. Unseen categories count as rare ones, unreadable cells as "
                "missing.",
                UserWarning,
                stacklevel=2,
            )
        return self._features(cleaned, dtype)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, where the table had none.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        if self.sparse_input_:
            return np.asarray(names, dtype=object)
        renamed = dict(zip(self.columns_, names, strict=True))
        numbers = [
            each
            for name, plan in self.columns_.items()
            for each in number_names(renamed[name], plan)
        ]
        out = list(numbers)
        if self.indicator_ is not None:
            out += [f"{numbers[i]}_missing" for i in self.indicator_.features_]
        if self.encoder_ is not None:
            categories = [renamed[name] for name in self._names("category")]
            out += self.encoder_.get_feature_names_out(categories).tolist()
        return np.array(out, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _least_rows(self, n_rows: int) -> int:
        """Return how many rows a level needs for a feature of its own."""
        if self.min_frequency == "auto":
            return max(2, min(10, -(-n_rows // 100)))
        return int(self.min_frequency)

    def _names(self, role: str) -> list[str]:
        return [name for name, plan in self.columns_.items() if plan["role"] == role]

    def _set_parts(self, cleaned: Cleaned, min_frequency: int) -> None:
        """Fit the parts to the columns that stay."""
        self.imputer_, self.indicator_, self.scaler_ = fit_to_numbers(cleaned.number_matrix)
        if cleaned.categories:
            self.encoder_ = OneHotEncoder(
                min_frequency=min_frequency,
                max_categories=self.max_categories,
                handle_unknown="infrequent_if_exist",
            ).fit(cleaned.category_matrix)
        n_out = len(self.get_feature_names_out())
        self.sparse_output_ = (
            mostly_zero(cleaned, n_out)
            if self.sparse_output == "auto"
            else bool(self.sparse_output)
        )

    def _joined(self) -> dict[str, int]:
        """Return how many levels of each column were joined."""
        if self.encoder_ is None:
            return {}
        rare = zip(self._names("category"), self.encoder_.infrequent_categories_, strict=True)
        return {name: len(levels) for name, levels in rare if levels is not None}

    def _features(self, cleaned: Cleaned, dtype: Any) -> Any:
        parts = (self.imputer_, self.indicator_, self.scaler_, self.encoder_)
        return assembled(cleaned, parts, dtype, sparse=self.sparse_output_)

    def _fit_sparse(self, X: Any) -> Any:
        X = sparse_rows(self, X, reset=True)
        self.columns_, self.sparse_output_ = {}, True
        self.scaler_, self.notes_ = scaler_of_sparse(X)
        X = finite(X)
        return X if self.scaler_ is None else self.scaler_.transform(X)

    def _transform_sparse(self, X: Any) -> Any:
        X = finite(sparse_rows(self, X, reset=False))
        return X if self.scaler_ is None else self.scaler_.transform(X)
