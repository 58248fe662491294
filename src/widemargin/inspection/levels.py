"""The models of all levels and their quality: DC-SVM's Figures 2 and 3, SODM's Figure 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from .partitions import checked_classifier, dividing_strategy

Table = dict[str, NDArray[Any]]


def fit_levels(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Iterator[Any]:
    """Fit an estimator and yield the model of every level, from the leaves to the root.

    Each level starts from the previous one, which is kept in the ``checkpoint`` folder or in a
    temporary one, so that all of them cost about one fit.

    Parameters
    ----------
    estimator : ODMClassifier or SVMClassifier
        With a ``strategy`` that divides; its ``stop_level`` is the last. It is not changed.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Training rows.
    y : array-like of shape (n_rows,)
        Labels.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Yields
    ------
    estimator
        A fitted copy, with the level in ``level_``. Iteration ends when a fit stops early, because
        of ``max_time`` or of the validation rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import Clustered, SVMClassifier
    >>> from widemargin.inspection import fit_levels
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> model = SVMClassifier(strategy=Clustered(levels=2))
    >>> [(each.level_, int(each.history_["parts"][-1])) for each in fit_levels(model, X, y)]
    [(2, 16), (1, 4), (0, 1)]
    """
    strategy = dividing_strategy(estimator, _num_samples(X))
    method = strategy.row(estimator._loss().name)
    plan = strategy.plan(_num_samples(X), method.last_level)
    folder = estimator.checkpoint
    with nullcontext(folder) if folder is not None else TemporaryDirectory() as kept:
        for level in range(plan.levels, plan.stop_level - 1, -1):
            here = clone(strategy).set_params(stop_level=level)
            model = clone(estimator).set_params(strategy=here, checkpoint=kept)
            model.fit(X, y, sample_weight)
            if model.level_ > level:
                return
            if model.level_ == level:  # rows of weight zero may leave fewer levels
                yield model.set_params(checkpoint=folder)


def support_vector_recall(models: Iterable[Any], exact: Any) -> Table:
    """Compare the support vectors of every level with those of the exact solution.

    Parameters
    ----------
    models : iterable of fitted classifiers
        For example from :func:`fit_levels`.
    exact : fitted classifier
        Fitted to the same rows as a whole (``strategy="exact"``).

    Returns
    -------
    dict of arrays
        ``level``, ``parts``, ``support_vectors`` (their number), ``precision`` (the share of them
        that are exact ones) and ``recall`` (the share of the exact ones that are among them), one
        entry per model. With several classes a row counts if any binary problem needs it.
    """
    wanted = _support(exact)
    records = []
    for model in models:
        if model.n_samples_fit_ != exact.n_samples_fit_:
            raise ValueError(
                f"The models must be fitted to the same rows; got {model.n_samples_fit_} rows and "
                f"{exact.n_samples_fit_} for `exact`."
            )
        found = _support(model)
        common = np.intersect1d(found, wanted, assume_unique=True).size
        records.append(
            {
                **_position(model),
                "support_vectors": found.size,
                "precision": common / found.size if found.size else np.nan,
                "recall": common / wanted.size if wanted.size else np.nan,
            }
        )
    return _table(records)


def accuracy_over_time(models: Iterable[Any], X: Any, y: Any) -> Table:
    """Return the training time and the accuracy of the model of every level.

    Parameters
    ----------
    models : iterable of fitted classifiers
        For example from :func:`fit_levels`; a model of the whole set (``strategy="exact"``) is one
        point.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows to score on.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    dict of arrays
        ``level``, ``parts``, ``seconds`` (training, since the start of the fit, from ``history_``)
        and ``accuracy``, one entry per model.
    """
    return _table(
        {**_position(m), "seconds": _seconds(m), "accuracy": float(m.score(X, y))} for m in models
    )


def _support(model: Any) -> NDArray[np.int64]:
    check_is_fitted(checked_classifier(model))
    return np.asarray(model.support_)


def _position(model: Any) -> dict[str, int]:
    check_is_fitted(checked_classifier(model))
    history = model.history_
    last = history.get("level", np.zeros(0)) == model.level_
    return {"level": model.level_, "parts": int(history["parts"][last].max()) if last.any() else 1}


def _seconds(model: Any) -> float:
    """Return the training time: binary problems of a divided fit are timed one by one."""
    history = model.history_
    seconds, problem = history["seconds"], history["problem"]
    if "level" not in history:
        return float(seconds.max(initial=0.0))
    return float(sum(seconds[problem == k].max() for k in np.unique(problem)))


def _table(records: Iterable[dict[str, Any]]) -> Table:
    rows = list(records)
    if not rows:
        raise ValueError("At least one model is needed; got none.")
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
