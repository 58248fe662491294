"""Base of the kernel classifiers: parameters and the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.budget import Budget, seed_of
from ..core.fit import train, warn
from ..core.history import History
from ..core.progress import FitProgress
from ..core.resources import memory_bytes
from ..core.rows import as_rows, canonical, drop_unused_columns, sparse_if_faster
from ..core.training_set import (
    TrainingSet,
    class_weights,
    earlier_fit_kept,
    training_set,
)
from ..core.uneven_scales import warn_if_few_features_dominate
from ..engines import resolve as resolve_engine
from ..kernel.defaults import mean_and_sameness, rows_of_a_problem, with_intercept
from ..kernel.divide.checkpoints import Checkpoints, identity_of, shaping_settings
from ..kernel.divide.driver import LevelFit, resolve_strategy
from ..kernel.divide.levels import Level
from ..kernel.divide.placing import PlacedProblems
from ..kernel.divide.strategies import Strategy
from ..kernel.kernels import (
    FLOAT32_ROUNDING,
    Kernel,
    check_symmetric,
    evaluate_callable,
    resolve_gamma,
    rounding_of_distances,
)
from ..kernel.model.basis_refit import RowsToFit
from ..kernel.model.prediction import (
    Expansion,
    Routing,
    routing_of,
    routing_or_none,
    set_expansion,
)
from ..kernel.partition import NearestGroup
from ..kernel.problem import COLUMNS, Duals
from ..kernel.problems import ExactFit, KernelProblems, binary_tasks
from ..kernel.shared_fit import SharedFit, can_share_blocks
from ..kernel.small_fit import SmallFit, is_small
from .held_out import FoldedRows, HeldOut, decisions_by_refits
from .kernel_held_out import can_share, held_out_decisions, scheme_of
from .kernel_model import KernelMachineParameters, KernelPredictor
from .path import Path, refuse_division
from .validation import ValidationSet, validation_rows


class KernelMachine(KernelPredictor, KernelMachineParameters):
    """Base of the kernel classifiers; subclasses add the loss and its parameters."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Train on rows and labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) when
            ``kernel="precomputed"``. float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels: integers, strings, booleans or whole floats.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row; rows of weight zero are left out.
        X_val, y_val : array-like, optional
            Rows and labels that are not trained on: a divided fit scores the model of each level
            on them and stops at the first level that is no better than the one before.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        name = type(self).__name__
        with earlier_fit_kept(self):
            X, training = self._training_set(X, y, sample_weight)
            strategy = resolve_strategy(self.strategy, len(training.codes), name)
            seed, validation = self._seed(), None
            if strategy is not None or X_val is not None or y_val is not None:
                training, validation = validation_rows(
                    self, strategy, training, X, X_val, y_val, seed
                )
            problems = self._pose(training, *self._kernel_and_rows(training))
            if self.warm_start:
                problems = replace(problems, previous=self._previous_coefficients(training))
            budget = Budget.of(self, seed)
            with FitProgress(name, self.tol) as progress:
                if strategy is None:
                    self._fit_exactly(training, problems, budget, progress)
                else:
                    self._fit_by_levels(training, problems, strategy, validation, budget, progress)
                    if self.calibrate is not None:
                        self._calibrate_divided(training, problems, strategy, validation, budget)
        return self

    def fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any = None) -> list[Self]:
        """Train one classifier for each of several values of ``C``.

        Costs less than as many fits: the data are prepared once, and the problems are solved in
        ascending order of ``C``, each from the best multiple of the last solution. Every model is
        solved to ``tol`` as by :meth:`fit`. This classifier itself is left as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or their kernel matrix, as for :meth:`fit`.
        y : array-like of shape (n_samples,)
            Class labels.
        Cs : array-like of shape (n_values,)
            Values of ``C``, in any order.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row.

        Returns
        -------
        list of n_values classifiers
            Fitted copies of this one, in the order of ``Cs``. ``max_time`` is for each of them.
        """
        path = Path.of(self, X, y, Cs, sample_weight)
        first, training = path.models[0], path.training
        refuse_division(self, len(training.codes))
        seed = first._seed()
        kernel, rows = first._kernel_and_rows(training)
        # The dual of a larger C is searched from the best multiple of the last solution: along
        # that ray lie the last duals as they are and the last duals grown with C, which is where
        # those at their bound go. Margins are multiples too: a start costs no kernel value.
        neighbours: list[Duals] | None = None
        problems = first._pose(training, kernel, rows)
        for label, model in path.labelled():
            problems = replace(problems, weights=model._loss_weights(training))
            budget = Budget.of(model, seed)
            with FitProgress(label, model.tol) as progress:
                fit = model._fit_exactly(training, problems, budget, progress, neighbours)
            if isinstance(fit, SmallFit):  # which takes starting points as they are
                problems = replace(problems, previous=fit.coefficients())
            else:
                neighbours = [each.iterate for each in fit.solved]
        return path.models

    def _check_parameters(self) -> None:
        self._validate_params()
        if self.decision_function_shape == "ovo" and self.multi_class == "ovr":
            raise ValueError(
                "decision_function_shape='ovo' needs pairwise problems; got "
                f"multi_class={self.multi_class!r}. Set multi_class='ovo' too."
            )

    def _pose(self, training: TrainingSet, kernel: Kernel, rows: Any) -> KernelProblems:
        n_classes = len(training.classes)
        tasks = binary_tasks(training.codes, n_classes, self._scheme(n_classes))
        return KernelProblems(tasks, kernel, rows, self._loss_weights(training), self._loss())

    def _loss_weights(self, training: TrainingSet) -> Array:
        """Return the weight of each row's loss."""
        # The row weight is per unit of sample weight: class weights change emphasis, not scale.
        weights: Array = self._row_weight(float(training.weights.sum())) * training.weights
        return weights * class_weights(self.class_weight, training)

    def _rows_to_fit(self, X: Any, y: Any, sample_weight: Any) -> RowsToFit:
        """Pose the binary problems on rows that stand for all training rows."""
        if X is None or y is None:
            raise ValueError("X and y go together; got only one of them.")
        X, y = validate_data(self, X, y, reset=False, **self._accepted())
        name = type(self).__name__
        given = training_set(canonical(X), y, sample_weight, pairwise=False, estimator=name)
        unknown = np.setdiff1d(given.classes, self.classes_)
        if unknown.size:
            raise ValueError(
                f"y holds labels that were not trained on: {unknown[:5].tolist()}. Labels must be "
                "among `classes_`."
            )
        codes = np.searchsorted(self.classes_, given.classes)[given.codes]
        stands_for = self.n_samples_fit_ / given.n_given
        weights = stands_for * given.weights
        training = replace(given, classes=self.classes_, codes=codes, weights=weights)
        tasks = binary_tasks(codes, len(self.classes_), self.multi_class_)
        return RowsToFit(training.X, tasks, self._loss_weights(training), self._loss())

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _fit_exactly(
        self,
        training: TrainingSet,
        problems: KernelProblems,
        budget: Budget,
        progress: FitProgress,
        neighbours: Sequence[Duals] | None = None,
    ) -> ExactFit:
        """Solve every binary problem as a whole, set what comes of it, and calibrate."""
        name = type(self).__name__
        for setting, value in (("checkpoint", self.checkpoint), ("engine", self.engine)):
            if value not in (None, "local"):
                warn(
                    f"`{setting}` is for a training set that is divided; this one is solved as a "
                    "whole. Set `strategy` to 'sodm' or 'dc', for example."
                )
        own = self._training_budget(budget)
        history = History.of(COLUMNS, own, progress.listener(name, self.verbose))
        kind: type[ExactFit] = ExactFit
        if is_small(problems, self.solver, own):
            kind = SmallFit
        elif can_share_blocks(problems, self.solver, own):
            kind = SharedFit
        fit = kind(name, problems, self.solver, own, history, neighbours)

        def keep(fit: ExactFit) -> None:
            whole = {"strategy_": "exact", "level_": 0, "support_part_": None, "routing_": None}
            self._set(training, problems.kernel, fit.coefficients(), fit.attributes() | whole)

        train(fit, fit.run_all, keep)
        if self.calibrate is not None:
            self._calibrate(training, problems, fit.coefficients(), budget)
        return fit

    def _calibrate(
        self, training: TrainingSet, problems: KernelProblems, coef: Array, budget: Budget
    ) -> None:
        """Calibrate a model of the whole training set by folds of it."""
        folded = FoldedRows.of(training, pairwise=self._pairwise)
        if can_share(problems, budget):
            held = held_out_decisions(self, folded, problems, coef, budget)
        else:
            held = decisions_by_refits(self, folded, budget, **self._chosen)
        self._set_calibration(scheme_of(problems), held, training)

    def _calibrate_divided(
        self,
        training: TrainingSet,
        problems: KernelProblems,
        strategy: Strategy,
        validation: ValidationSet | None,
        budget: Budget,
    ) -> None:
        """Calibrate a model of a divided training set: by validation rows, or by one fold."""
        if validation is not None:
            codes = validation.codes
            held = HeldOut(codes, np.ones(len(codes)), self._decisions(validation.X))
        else:
            folded = FoldedRows.of(training, pairwise=self._pairwise)
            held = decisions_by_refits(
                self,
                folded,
                budget,
                most=1,
                strategy=strategy,
                checkpoint=None,
                **self._chosen,
            )
        self._set_calibration(scheme_of(problems), held, training)

    @property
    def _chosen(self) -> dict[str, Any]:
        """Parameters as this fit resolved them, for fits of some of its rows."""
        gamma = self.gamma if self.gamma_ is None else self.gamma_
        chosen = {"fit_intercept": self.fit_intercept_, "multi_class": self.multi_class_}
        return {"gamma": gamma, **chosen}

    def _fit_by_levels(
        self,
        training: TrainingSet,
        problems: KernelProblems,
        strategy: Strategy,
        validation: ValidationSet | None,
        budget: Budget,
        progress: FitProgress,
    ) -> None:
        """Take every binary problem through the levels and set the fitted attributes."""
        name, seed, budget = type(self).__name__, budget.seed, self._training_budget(budget)
        engine = resolve_engine(self.engine, budget.threads)
        folder = None
        if self.checkpoint is not None:
            # Everything that the levels depend on: data, settings, seed.
            arrays = [problems.rows, training.codes, problems.weights]
            arrays += [] if problems.previous is None else [problems.previous]
            arrays += [] if validation is None else [validation.X, validation.codes]
            identity = identity_of(arrays, shaping_settings(self, strategy, seed))
            folder = Checkpoints(self.checkpoint, identity)
        placed = PlacedProblems(problems, strategy, engine)

        def judge(k: int, level: Level) -> float:
            assert validation is not None
            model = placed.model(k, level)
            return validation.score(model, k, training, problems, budget.threads)

        def announce(k: int, level: int, n_parts: int) -> None:
            progress.report_parts(level, 0, n_parts)
            if self.verbose:
                print(f"[{name}] problem {k}: level {level}, {n_parts} parts")

        def keep(fit: LevelFit) -> None:
            coef, part, routers = placed.gather(fit.reached)
            routing = [None if each is None else self._routing(each, training) for each in routers]
            parts = {"support_part_": part, "routing_": routing_or_none(routing)}
            self._set(training, problems.kernel, coef, fit.attributes() | parts)

        fit = LevelFit(
            name,
            len(problems),
            placed.pose,
            strategy,
            problems.loss.name,
            engine,
            self.solver,
            budget,
            judge=None if validation is None else judge,
            folder=folder,
            announce=announce,
            report=progress.report_parts,
            listener=progress.listener(name, self.verbose),
        )
        train(fit, fit.run, keep)

    def _routing(self, router: NearestGroup, training: TrainingSet) -> Routing:
        rows = router.basis_rows
        basis = None if self._pairwise else training.X[rows]
        return routing_of(router, training.given_numbers(rows), basis)

    def _kernel_and_rows(self, training: TrainingSet) -> tuple[Kernel, Any]:
        """Resolve the kernel; return it with the rows it sees."""
        X, weights = training.X, training.weights
        if callable(self.kernel):
            needed = 8 * X.shape[0] ** 2
            if needed > memory_bytes(self.memory_limit):
                raise ValueError(
                    f"A callable kernel needs its whole matrix, {needed / 2**30:.2g} GiB for "
                    f"{X.shape[0]} rows; `memory_limit` is {self.memory_limit!r}. Raise it, use "
                    "fewer rows, or a kernel by name."
                )
            gram = evaluate_callable(self.kernel, X, X)
            check_symmetric(gram)
            return self._with_intercept(Kernel("precomputed"), gram, training), gram
        if self._pairwise:
            check_symmetric(X)
            return self._with_intercept(Kernel("precomputed"), X, training), X
        gamma = resolve_gamma(self.gamma, X, weights)
        kernel = Kernel(self.kernel, gamma, float(self.coef0), int(self.degree))
        names = getattr(self, "feature_names_in_", None)
        hidden = f"the {self.kernel} kernel sees almost nothing else"
        warn_if_few_features_dominate(X, hidden, names)
        precise = rounding_of_distances(kernel, X) > FLOAT32_ROUNDING
        (rows,) = drop_unused_columns(sparse_if_faster(X))
        rows = rows.astype(np.float64) if precise else rows
        return self._with_intercept(kernel, rows, training), rows

    def _with_intercept(self, kernel: Kernel, rows: Any, training: TrainingSet) -> Kernel:
        """Add the constant of the intercept to a kernel, if there is to be one."""
        weights, n_classes = training.weights, len(training.classes)
        total, scheme = float(weights.sum()), self._scheme(n_classes)

        def diagonal() -> tuple[float, bool]:
            return mean_and_sameness(kernel.diagonal(as_rows(rows, rows.dtype)), weights)

        wanted = self.fit_intercept
        if wanted == "auto" and isinstance(self.strategy, Strategy) and self.strategy.printed:
            wanted = False  # no listing has one
        return with_intercept(kernel, wanted, rows_of_a_problem(total, n_classes, scheme), diagonal)

    def _previous_coefficients(self, training: TrainingSet) -> Array | None:
        """Return the last fit's coefficients as (problems, rows), if they fit the new data."""
        if not hasattr(self, "dual_coef_") or self.n_samples_fit_ != training.n_given:
            return None
        if not np.array_equal(training.classes, self.classes_):
            return None
        if self.multi_class_ != self._scheme(len(self.classes_)):
            return None
        coef = np.zeros((len(self.dual_coef_), training.n_given))
        coef[:, self.support_] = self.dual_coef_
        return coef if training.kept is None else coef[:, training.kept]

    def _set(
        self, training: TrainingSet, kernel: Kernel, coef: Array, attributes: dict[str, Any]
    ) -> None:
        self.__dict__.pop("calibration_", None)  # of an earlier fit
        support = np.flatnonzero(np.any(coef != 0, axis=0))
        part = attributes["support_part_"]
        attributes["support_part_"] = (
            None if part is None else np.ascontiguousarray(part[:, support])
        )
        set_expansion(
            self,
            kernel,
            Expansion(
                classes=training.classes,
                support=training.given_numbers(support),
                vectors=training.X[support, :0] if self._pairwise else training.X[support],
                codes=training.codes[support],
                coef=coef[:, support],
                n_samples=training.n_given,
                scheme=self._scheme(len(training.classes)),
            ),
            attributes,
        )
