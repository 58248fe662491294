"""Training: read the rows, hold some of them out, fit, save."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options
from .files import holds_a_table, read_file, read_table, spool_file
from .messages import say, usage_error
from .tasks import Task, targets

if TYPE_CHECKING:
    from ..data import Table

#: Share of the rows that is held out where nothing else is said.
HOLDOUT = 0.2
#: Share of the time beyond which a training leaves too little for another one.
MOST_OF_TIME = 0.45


@dataclass(frozen=True)
class Source:
    """A data file, and how to read it."""

    path: Path
    format: str | None
    label: str | None
    zero_based: bool | None
    drop: tuple[str, ...] = ()

    def read(self, *, as_table: bool, **more: Any) -> Table:
        """Read numbers, or a table with its cells as they are.

        A table is read as such if it is wanted so, and if it has cells that are not numbers.
        """
        from ..data import CellError

        reading = self._options()
        if as_table or self.drop:
            if holds_a_table(self.path, self.format):
                return read_table(self.path, drop=self.drop, **reading, **more)
            if self.drop:
                raise usage_error("--drop is for columns of CSV, TSV and Parquet files.")
        try:
            return read_file(self.path, **reading, **more)
        except CellError as error:
            say(f"note: {error.problem.partition('. ')[0]}: the table is prepared first")
            return read_table(self.path, drop=(), **reading, **more)

    def read_like(self, table: Table) -> Table:
        """Read a file with the columns of a table that was read before."""
        text = table.y is not None and table.y.dtype.kind in "UO"
        more: dict[str, Any] = {"feature_names": table.feature_names, "text_labels": text}
        more["told"] = table.notes
        if hasattr(table.X, "columns"):
            return self.read(as_table=True, **more)
        base = None if table.zero_based is None else 1 - table.zero_based
        more |= {"n_features": table.X.shape[1], "index_base": base}
        return read_file(self.path, **self._options(), **more)

    def _options(self) -> dict[str, Any]:
        return {"format": self.format, "label": self.label, "zero_based": self.zero_based}


@dataclass(frozen=True)
class HeldOutSplit:
    """Rows to train on, and rows to measure on, if any."""

    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None


@dataclass(frozen=True)
class Training:
    """A fitted estimator, and how it came about."""

    estimator: Any
    split: HeldOutSplit
    rows: int
    seconds: float
    interrupted: bool
    #: All rows, those held out among them.
    table: Table | None = None
    #: Decisions of the reader.
    notes: tuple[str, ...] = ()


def held_out(
    table: Table, share: float, seed: int | None, task: Task = Task.classification
) -> HeldOutSplit:
    """Divide the rows by lot, with the same share of every class held out, if there are classes.

    Of a class with few rows, as many are held out as fit into the share, maybe none.
    """
    import numpy as np

    X, y = table.X, table.y
    if share == 0.0 or y is None:  # rows without labels cannot be measured on
        return HeldOutSplit(X, y)
    rng = np.random.default_rng(0 if seed is None else seed)
    chosen = np.zeros(len(y), dtype=np.bool_)
    if task is not Task.classification:
        chosen[rng.permutation(len(y))[: int(share * len(y))]] = True
    for label in np.unique(y) if task is Task.classification else ():
        rows = rng.permutation(np.flatnonzero(y == label))
        chosen[rows[: int(share * len(rows))]] = True
    if not chosen.any() and task is not Task.classification:
        raise ValueError(
            f"--holdout {share}: {len(y):,} {'row is' if len(y) == 1 else 'rows are'} too few to "
            "hold some out to measure on. Give more rows, or --holdout 0 to train on all of them."
        )
    if not chosen.any():
        raise ValueError(
            f"--holdout {share}: no class has enough rows to hold some out; found "
            f"{np.unique(y).size:,} classes in {len(y):,} rows. Is the label column the right one? "
            "Otherwise give --holdout 0."
        )
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    test, train = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    return HeldOutSplit(take(train), y[train], take(test), y[test])


def train_in_memory(
    estimator: Any,
    source: Source,
    class_weight: list[str],
    *,
    holdout: float,
    test: Source | None,
    seed: int | None,
    task: Task = Task.classification,
    prepared: bool = False,
) -> Training:
    """Fit on a file that is read whole.

    Where the estimator is not one of the user's choice, features are `prepared` and targets scaled.
    """
    import numpy as np

    labelled = task is not Task.novelty
    table = source.read(as_table=prepared, **({} if labelled else {"labelled": False}))
    if task is Task.regression:
        table = replace(table, y=targets(table.y))
    elif task is Task.classification and table.y is not None:
        check_labels(np.unique(table.y), len(table.y))
    if test is not None:
        other = test.read_like(table)
        actual = targets(other.y) if task is Task.regression else other.y
        split = HeldOutSplit(table.X, table.y, other.X, actual)
    else:
        split = held_out(table, holdout, seed, task)
    if task is Task.classification:
        estimator.class_weight = options.parse_class_weight(class_weight, table.y)
        prepares = hasattr(table.X, "columns") and not prepared
    else:
        prepares = prepared or hasattr(table.X, "columns")
    if prepared and task is Task.regression:
        estimator = of_scaled_targets(estimator, table.y)
    if prepares:
        estimator = with_preprocessor(estimator, task)
    seconds, interrupted = timed(lambda: estimator.fit(split.X, split.y))
    if not hasattr(table.X, "columns"):
        set_feature_names(estimator, table.feature_names)
    set_index_base(estimator, table.zero_based)
    n_rows = split.X.shape[0]
    return Training(estimator, split, n_rows, seconds, interrupted, table, table.notes)


def trained_on_all(training: Training) -> Training | None:
    """Train once more, on all rows; None if nothing was held out of them, or time is short.

    An automatic classifier has the time that the first training left, and needs about as much as
    that took. It starts anew: what suits four fifths of the rows may not be best for all.
    """
    from sklearn.base import clone

    table, first = training.table, training.estimator
    if table is None or training.interrupted:
        return None
    n_rows = table.X.shape[0]
    if training.rows == n_rows:
        return None
    estimator = clone(first)
    limit = getattr(first, "max_time", None)
    if limit is not None:
        if training.seconds > MOST_OF_TIME * limit:
            return None
        estimator.set_params(max_time=limit - training.seconds)
    seconds, interrupted = timed(lambda: estimator.fit(table.X, table.y))
    if interrupted:
        say("interrupted: the model was trained without the rows held out")
        return None
    if limit is not None:
        estimator.set_params(max_time=limit)
    if not hasattr(table.X, "columns"):
        set_feature_names(estimator, table.feature_names)
    set_index_base(estimator, table.zero_based)
    took = training.seconds + seconds
    return Training(estimator, training.split, n_rows, took, False, table, table.notes)


def train_linear(
    estimator: Any,
    source: Source,
    class_weight: list[str],
    *,
    spool_dir: Path | None,
    test: Source | None,
) -> Training:
    """Fit a linear classifier on rows that are copied to disk and read from there."""
    from ..data import CellError, Table
    from ..estimators.linear_streaming import fit_spooled

    reading: dict[str, Any] = {"format": source.format, "label": source.label}
    if source.drop:
        raise usage_error("--drop is not for --linear, which reads the columns by blocks.")
    try:
        rows = spool_file(
            estimator, source.path, zero_based=source.zero_based, spool_dir=spool_dir, **reading
        )
    except CellError as error:
        say(f"note: {error.problem.partition('. ')[0]}: the table is prepared first, in memory")
        return train_in_memory(estimator, source, class_weight, holdout=0.0, test=test, seed=None)
    with rows:
        check_labels(rows.classes, rows.n_rows)
        estimator.class_weight = options.parse_class_weight(class_weight, rows.classes)
        n_rows, notes = rows.n_rows, rows.notes
        seconds, interrupted = timed(lambda: fit_spooled(estimator, rows))
    set_index_base(estimator, rows.zero_based)
    split = HeldOutSplit(None, None)
    if test is not None and not interrupted:
        names = getattr(estimator, "feature_names_in_", None)
        like = Table(
            _Shape(estimator.n_features_in_),
            estimator.classes_,
            None if names is None else tuple(map(str, names)),
            notes,
            rows.zero_based,
        )
        other = test.read_like(like)
        split = HeldOutSplit(None, None, other.X, other.y)
    return Training(estimator, split, n_rows, seconds, interrupted, notes=notes)


class _Shape:
    """The shape of rows that are not in memory."""

    def __init__(self, n_features: int) -> None:
        self.shape = (0, n_features)


# Name of the last step of a pipeline.
LAST_STEP = {
    Task.classification: "classifier",
    Task.regression: "regressor",
    Task.novelty: "detector",
}


def with_preprocessor(estimator: Any, task: Task = Task.classification) -> Any:
    """Put the preprocessing of tables before an estimator."""
    from sklearn.pipeline import Pipeline

    from ..tables import TablePreprocessor

    return Pipeline([("preprocessor", TablePreprocessor()), (LAST_STEP[task], estimator)])


def of_scaled_targets(estimator: Any, y: Any) -> Any:
    """Let a regressor learn standardised targets, whose C and bands do not depend on a unit.

    Predictions are in the unit of the targets `y`, which are checked here.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    from ..core.regression_set import finite_targets

    finite_targets(y, "the label column")  # squares of larger ones overflow in the scaler too
    return TransformedTargetRegressor(estimator, transformer=StandardScaler())


def timed(fit: Callable[[], Any]) -> tuple[float, bool]:
    """Fit; return the seconds it took, and whether the user interrupted it."""
    began = time.perf_counter()
    try:
        fit()
    except KeyboardInterrupt:
        return time.perf_counter() - began, True
    return time.perf_counter() - began, False


def begun(estimator: Any) -> list[bool]:
    """Return which binary problems have a solution, even an unfinished one."""
    import numpy as np

    estimator = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    estimator = getattr(estimator, "model_", estimator)
    estimator = getattr(estimator, "regressor_", estimator)
    for name in ("coef_", "dual_coef_"):
        if hasattr(estimator, name):
            weights = np.atleast_2d(getattr(estimator, name))
            return [bool(abs(each).sum() > 0) for each in weights]
    return [False]


def check_labels(classes: Any, n_rows: int) -> None:
    """Refuse labels that can only be the targets of a regression; warn of those that may be."""
    from ..core.fit import warn
    from ..core.labels_like_targets import cannot_be_classes, described, resemble_targets

    found = described(classes, n_rows)
    advice = "pass --task regression, or name another column with --label"
    if cannot_be_classes(classes, n_rows):
        raise ValueError(f"{found}; {advice}.")
    if resemble_targets(classes, n_rows):
        warn(f"{found}; {advice}, unless they are classes.")
        # The classifier, which knows no --task, need not say so again.
        warnings.filterwarnings("ignore", message=".* different numbers in .* rows look like")


def set_index_base(estimator: Any, zero_based: bool | None) -> None:
    """Keep what the indices of a LIBSVM file count from; later files are read alike."""
    if zero_based is not None:
        estimator.index_base_ = 0 if zero_based else 1


def set_feature_names(estimator: Any, names: tuple[str, ...] | None) -> None:
    """Keep column names as scikit-learn does for data frames; later files are matched by them."""
    import numpy as np

    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def save_model(estimator: Any, path: Path, *, interrupted: bool) -> Path:
    """Save a model and return its path; one that was interrupted replaces no other model."""
    from ..persistence import save

    if interrupted and path.exists():
        path = path.with_suffix(".partial.wm")
    save(estimator, path)
    return path
