"""Linear models that go on learning: from one DataFrame after another, and from streams.

What earlier rows say is in the model, as :mod:`widemargin.linear.online` has it; rows are not kept.
A stream brings its rows in batches, which Spark numbers and brings again after a failure. So the
model is kept together with the number of the last batch in it, and a batch is learnt once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from pyspark.errors import PySparkException

from ..core.budget import Budget
from ..core.losses import LossConstants
from ..core.training_set import class_factors
from ..engines.spark_copies import limit_of
from ..engines.spark_errors import errors_of_tasks
from ..linear.online_model import learn, refuse_other_constant
from ..linear.problems import LinearProblems
from ..persistence import ModelFileError
from .classifier_stage import FitLog, columns_of, engine_of
from .frames import whole_frame
from .param_messages import in_spark_names
from .rows.blocks import PlacedRows, place
from .storage import ModelReader, ModelWriter

log = logging.getLogger("widemargin.spark")

# Of the metadata of a model in a folder: the batch that was learnt last.
BATCH = "batchId"
# Two models take turns in a folder, so that one of them is always whole.
TURNS = ("even", "odd")


def learnt(classifier: Any, dataset: Any, before: Any, n_classes: int) -> Any:
    """Return the local estimator that has learnt from a DataFrame as well.

    Parameters
    ----------
    classifier : LinearClassifier
        Settings.
    dataset : DataFrame
        Rows.
    before : classifier or None
        The local estimator so far.
    n_classes : int
        Number of classes that there will ever be.
    """
    local = check_online(classifier, n_classes)
    frame = whole_frame(dataset)
    columns = columns_of(classifier)
    columns.selected(frame)  # so that the columns are checked before any job runs
    engine = engine_of(classifier, frame)
    names = {**classifier._spark_names(), "partial_fit": "partialFit"}
    with (
        in_spark_names(names),
        errors_of_tasks(),
        FitLog(frame.sparkSession, type(classifier).__name__) as fit_log,
    ):
        fit_log.doing("placing rows")
        try:
            rows = place(
                engine,
                frame,
                columns,
                skip=classifier.getHandleInvalid() == "skip",
                n_parts=classifier._value("nParts"),
            )
            known = len(rows.summary.counts)
            if known > n_classes:
                raise ValueError(
                    f"column {columns.label!r} holds label {known - 1}; `numClasses` is "
                    f"{n_classes}. Name all classes that will ever come."
                )
            problems = _posed(local, rows, n_classes)
            if before is not None:
                _go_on(local, before, problems)
            local.n_features_in_ = rows.n_features
            budget = Budget.of(local, local.random_state, threads=engine.share(1).threads)
            fit_log.doing(f"learning from {rows.summary.rows:,} rows")
            learn(local, problems, budget, np.arange(n_classes))
        finally:
            engine.release()
        fit_log.report(f"{rows.summary.rows:,} rows more, {local.n_samples_seen_:,} in all")
    return local


def check_online(classifier: Any, n_classes: int) -> Any:
    """Return the local estimator; raise if a Param is invalid, or needs all rows at once."""
    local = classifier._local_estimator()
    limit_of(classifier.getOrDefault("localCopies"), "localCopies")
    if not isinstance(n_classes, int) or n_classes < 2:
        raise ValueError(f"`numClasses` must be a whole number, at least 2; got {n_classes!r}.")
    for name in ("lam", "validationIndicatorCol", "calibrate"):
        value = classifier._value(name) if classifier.hasParam(name) else None
        if value is not None:
            raise ValueError(
                f"`{name}` needs to know all rows, which are never there together; got {value!r}. "
                "Leave it out, or use `fit`."
            )
    if isinstance(local.class_weight, str):
        raise ValueError(
            "classWeight='balanced' needs to know all rows, which are never there together. Pass a "
            "map from label to weight, or use `fit`."
        )
    return local


def _posed(local: Any, rows: PlacedRows, n_classes: int) -> LinearProblems:
    totals = np.ones(n_classes)  # looked at for "balanced" only
    factors = class_factors(local.class_weight, np.arange(n_classes), totals)
    return LinearProblems(
        engine=rows.engine,
        blocks=rows.parts,
        n_rows=rows.summary.rows,
        n_features=rows.n_features,
        n_classes=n_classes,
        stored_bytes=rows.summary.stored,
        constants=LossConstants.of(local._loss(), local.C),
        constant=local._constant,
        factors=None if np.all(factors == 1.0) else tuple(factors.tolist()),
    )


def _go_on(local: Any, before: Any, problems: LinearProblems) -> None:
    """Give an estimator what another one has learnt."""
    if not hasattr(before, "curvature_"):
        raise ValueError(
            "a model of `fit` remembers nothing to go on from; got one. Pass a model of "
            "`partialFit` or `fitStream`, or None to begin."
        )
    if len(before.classes_) != problems.n_classes:
        raise ValueError(
            f"the model has {len(before.classes_)} classes; `numClasses` is {problems.n_classes}."
        )
    if before.n_features_in_ != problems.n_features:
        raise ValueError(
            f"the model takes vectors of {before.n_features_in_} features; got "
            f"{problems.n_features}."
        )
    fitted = {k: v for k, v in vars(before).items() if k.endswith("_") or k == "_learnt_constant"}
    vars(local).update(deepcopy(fitted))
    refuse_other_constant(local, problems.constant)


class StreamFit:
    """Learns from the batches of a stream: a function for ``foreachBatch``.

    Made by ``fitStream``. With a ``path``, the model is saved there after every batch, and a new
    object with the same path goes on from it: a batch that comes again is left out, so that the
    same batches give the same model whatever fails. Without one it is in this object alone.

    Attributes
    ----------
    batchId : int
        Number of the batch that was learnt last; −1 before the first.
    """

    def __init__(self, classifier: Any, n_classes: int, path: str | None) -> None:
        self._classifier, self._n_classes = classifier.copy(), n_classes
        self._path = None if path is None else path.rstrip("/")
        self._model: Any = None
        self.batchId = -1

    def __call__(self, batch: Any, batchId: int) -> None:
        """Learn from a batch, unless that is done already.

        Parameters
        ----------
        batch : DataFrame
            Its rows.
        batchId : int
            Its number, which Spark gives.
        """
        if self._model is None:
            self._look_up(batch.sparkSession)
        if batchId <= self.batchId:
            log.warning("batch %d has been learnt already; it is left out", batchId)
            return
        if not batch.isEmpty():
            self._model = self._classifier.partialFit(
                batch, self._model, numClasses=self._n_classes
            )
        self.batchId = batchId
        if self._path is not None and self._model is not None:
            writer = ModelWriter(self._model, {BATCH: batchId}).session(batch.sparkSession)
            writer.overwrite().save(f"{self._path}/{TURNS[batchId % 2]}")

    @property
    def model(self) -> Any:
        """The model after the batches so far; None before the first."""
        if self._model is None:
            self._look_up(None)
        return self._model

    def _look_up(self, session: Any) -> None:
        """Find the model that an earlier object left in the folder."""
        if self._path is None:
            return
        found = [self._saved(f"{self._path}/{turn}", session) for turn in TURNS]
        there = sorted((each for each in found if each is not None), key=_number, reverse=True)
        for batch, load in there:
            try:
                self._model, self.batchId = load(), batch
                return
            except (ModelFileError, PySparkException) as error:
                # It may have been cut off; the one before it is whole then.
                log.warning("the model of batch %d cannot be read: %s", batch, error)
        if len(there) == len(TURNS):
            raise ModelFileError(
                f"neither of the two models in {self._path!r} can be read. Begin with another "
                "`path` and another checkpointLocation."
            )

    def _saved(self, path: str, session: Any) -> tuple[int, Callable[[], Any]] | None:
        reader = ModelReader(self._classifier._model_class)
        if session is not None:
            reader = reader.session(session)
        try:
            batch = reader.metadata(path).get(BATCH)
        except PySparkException:  # there is nothing
            return None
        return None if not isinstance(batch, int) else (batch, lambda: reader.load(path))


def _number(saved: tuple[int, Any]) -> int:
    return saved[0]
