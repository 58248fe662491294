"""Base of the kernel classifiers: parameters and the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import train
from ..core.history import History
from ..core.progress import FitProgress
from ..core.rows import as_rows, canonical
from ..core.training_set import (
    TrainingSet,
    class_weights,
    earlier_fit_kept,
    training_set,
)
from ..kernel.all_classes import ALL_CLASSES, AllClassesFit, AllClassesProblem
from ..kernel.class_margins import ClassMarginsFit
from ..kernel.defaults import mean_and_sameness, rows_of_a_problem, with_intercept
from ..kernel.divide.driver import resolve_strategy
from ..kernel.divide.strategies import Strategy
from ..kernel.kernels import (
    Kernel,
)
from ..kernel.model.basis_refit import RowsToFit
from ..kernel.model.prediction import (
    Expansion,
    set_expansion,
)
from ..kernel.problem import COLUMNS
from ..kernel.problems import ExactFit, KernelProblems, binary_tasks
from ..kernel.shared_fit import SharedFit, can_share_blocks
from ..kernel.small_fit import SmallFit, is_small
from ..kernel.solvers.class_blocks import ClassLoss
from ..kernel.update_fit import UpdateFit, can_update
from .held_out import FoldedRows, HeldOut, decisions_by_refits
from .kernel_held_out import can_share, held_out_decisions, scheme_of
from .kernel_model import KernelMachineParameters, KernelPredictor
from .kernel_training import KernelTraining
from .path import Path, refuse_division
from .row_updates import RowUpdates, keep_rows, refuse_keeping
from .validation import ValidationRows, validation_rows


class KernelMachine(RowUpdates, KernelPredictor, KernelMachineParameters, KernelTraining):
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
            strategy = None
            if self.multi_class not in ALL_CLASSES:  # which are always solved as a whole
                strategy = resolve_strategy(self.strategy, len(training.codes), name)
            refuse_keeping(self, divided=strategy is not None)
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
                    assert isinstance(problems, KernelProblems)
                    self._fit_by_levels(training, problems, strategy, validation, budget, progress)
                    if self.calibrate is not None:
                        self._calibrate_divided(training, problems, strategy, validation, budget)
        return self

    def _fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> list[Self]:
        path = Path.of(self, X, y, Cs, sample_weight)
        first, training = path.models[0], path.training
        if self.multi_class not in ALL_CLASSES:
            refuse_division(self, len(training.codes))
        refuse_keeping(self, divided=False)
        seed = first._seed()
        kernel, rows = first._kernel_and_rows(training)
        # The dual of a larger C is searched from the best multiple of the last solution: along
        # that ray lie the last duals as they are and the last duals grown with C, which is where
        # those at their bound go. Margins are multiples too: a start costs no kernel value.
        neighbours: list[Any] | None = None
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
        if self.decision_function_shape == "ovo" and self.multi_class not in ("auto", "ovo"):
            raise ValueError(
                "decision_function_shape='ovo' needs pairwise problems; got "
                f"multi_class={self.multi_class!r}. Set multi_class='ovo' too."
            )
        if self.multi_class in ALL_CLASSES:
            refuse_for_all_classes(self)

    def _pose(
        self, training: TrainingSet, kernel: Kernel, rows: Any
    ) -> KernelProblems | AllClassesProblem:
        n_classes = len(training.classes)
        if self.multi_class in ALL_CLASSES and n_classes > 2:
            loss = ClassLoss(
                ALL_CLASSES[self.multi_class],
                float(getattr(self, "theta", 0.0)),
                float(getattr(self, "upsilon", 0.0)),
            )
            weights = self._loss_weights(training)
            return AllClassesProblem(loss, training.codes, n_classes, kernel, rows, weights)
        tasks = binary_tasks(training.codes, n_classes, self._scheme(n_classes))
        return KernelProblems(tasks, kernel, rows, self._loss_weights(training), self._loss())

    def _loss_weights(self, training: TrainingSet) -> Array:
        """Return the weight of each row's loss."""
        # The row weight is per unit of sample weight: class weights change emphasis, not scale.
        weights: Array = self._row_weight(float(training.weights.sum())) * training.weights
        if self.multi_class in ALL_CLASSES and len(training.classes) == 2:
            # Functions of two classes at once are f/2 and -f/2: half of the penalty of f.
            weights = 2.0 * weights
        return weights * class_weights(self.class_weight, training)

    def _rows_to_fit(self, X: Any, y: Any, sample_weight: Any) -> RowsToFit:
        """Pose the binary problems on rows that stand for all training rows."""
        if self.multi_class_ in ALL_CLASSES and len(self.classes_) > 2:
            raise ValueError(
                "Coefficients can be fitted to rows for binary problems only; got a model of "
                f"multi_class={self.multi_class_!r}. Call compress without X and y, or fit with "
                "multi_class='ovr' or 'ovo'."
            )
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

    def _fit_exactly(
        self,
        training: TrainingSet,
        problems: KernelProblems | AllClassesProblem,
        budget: Budget,
        progress: FitProgress,
        neighbours: Sequence[Any] | None = None,
        *,
        update: bool = False,
    ) -> ExactFit | AllClassesFit:
        """Solve every problem as a whole, set what comes of it, and calibrate.

        With ``update``, ``neighbours`` are solutions for other rows, not for another ``C``.
        """
        name = type(self).__name__
        self._warn_of_settings_for_levels()
        own = self._training_budget(budget)
        history = History.of(COLUMNS, own, progress.listener(name, self.verbose))
        fit: ExactFit | AllClassesFit
        if isinstance(problems, AllClassesProblem):
            together = ClassMarginsFit if self.multi_class == "all" else AllClassesFit
            fit = together(name, problems, own, history, neighbours)
        else:
            kind: type[ExactFit] = ExactFit
            if is_small(problems, self.solver, own, one_matrix=update):
                kind = SmallFit
            elif update and can_update(problems, self.solver):
                kind = UpdateFit
            elif can_share_blocks(problems, self.solver, own):
                kind = SharedFit
            fit = kind(name, problems, self.solver, own, history, neighbours)

        def keep(fit: ExactFit | AllClassesFit) -> None:
            whole = {"strategy_": "exact", "level_": 0, "support_part_": None, "routing_": None}
            self._set(training, problems.kernel, fit.coefficients(), fit.attributes() | whole)
            if self.keep_rows:  # refused for other problems
                assert isinstance(problems, KernelProblems)
                assert isinstance(fit, ExactFit)
                keep_rows(self, training, problems, fit)

        train(fit, fit.run_all, keep)
        if self.calibrate is not None:
            self._calibrate(training, problems, fit.coefficients(), budget)
        return fit

    def _calibrate(
        self,
        training: TrainingSet,
        problems: KernelProblems | AllClassesProblem,
        coef: Array,
        budget: Budget,
    ) -> None:
        """Calibrate a model of the whole training set by folds of it."""
        folded = FoldedRows.of(training, pairwise=self._pairwise)
        if isinstance(problems, KernelProblems) and can_share(problems, budget):
            held = held_out_decisions(self, folded, problems, coef, budget)
        else:
            held = decisions_by_refits(self, folded, budget, **self._chosen)
        self._set_calibration(scheme_of(problems), held, training)

    def _calibrate_divided(
        self,
        training: TrainingSet,
        problems: KernelProblems,
        strategy: Strategy,
        validation: ValidationRows | None,
        budget: Budget,
    ) -> None:
        """Calibrate a model of a divided training set: by validation rows, or by one fold."""
        if validation is not None:
            codes = validation.learnt
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

    def _labels_of(self, training: TrainingSet) -> NDArray[Any]:
        return training.codes

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
        for name in ("calibration_", "_kept_rows"):  # of an earlier fit
            self.__dict__.pop(name, None)
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


def refuse_for_all_classes(machine: KernelMachine) -> None:
    """Raise ValueError for settings that go with binary problems only."""
    known: dict[str, tuple[Any, ...]] = {
        "loss": ("hinge",),
        "solver": ("auto", "blocks"),
        "strategy": ("auto", "exact"),
    }
    for name, allowed in known.items():
        value = getattr(machine, name, allowed[0])
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(
                f"multi_class={machine.multi_class!r} needs {name}="
                f"{' or '.join(repr(each) for each in allowed)}; got {name}={value!r}. Set that, "
                "or multi_class='ovr' or 'ovo'."
            )
