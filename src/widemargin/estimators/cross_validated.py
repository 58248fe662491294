"""What the kernel classifiers share that choose C and gamma by cross-validation."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from ..core.arrays import Array
from .kernel_machine import KernelMachine
from .kernel_model import KernelModel
from .parameter_search import ParameterSearch
from .search_folds import Folds, FoldScores, scores_by_paths
from .search_grid import values_of_gamma
from .shared_search import can_share, scores_on_shared_blocks
from .training_set import TrainingSet

# Parameters of a kernel machine that a search sets, or that are for divided training sets.
NOT_OF_A_SEARCH = ("C", "lam", "gamma", "strategy", "engine", "checkpoint", "warm_start")


class KernelMachineCV(ParameterSearch, KernelModel):
    """Base of the searches; subclasses name the classifier and its parameters."""

    _classifier: ClassVar[type[KernelMachine]]
    _own: ClassVar[tuple[str, ...]] = (*ParameterSearch._own, "gammas")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: constraint
            for name, constraint in KernelMachine._parameter_constraints.items()
            if name not in NOT_OF_A_SEARCH
        },
        **ParameterSearch._search_constraints,
        "gammas": [None, Integral, "array-like"],
    }

    gammas: Any

    def _settings_beside_C(self, training: TrainingSet) -> list[dict[str, float]]:
        gammas = values_of_gamma(self.gammas, self.kernel, training.X, training.weights)
        return [{}] if gammas is None else [{"gamma": gamma} for gamma in gammas.tolist()]

    def _classifier_with(self, **chosen: Any) -> KernelMachine:
        classifier: KernelMachine = super()._classifier_with(strategy="exact", **chosen)
        return classifier

    def _scores(self, classifier: Any, Cs: Array, folds: Folds) -> FoldScores:
        score = scores_on_shared_blocks if can_share(classifier, folds) else scores_by_paths
        return score(classifier, Cs, folds)

    def _keep_results(
        self, Cs: Array, settings: list[dict[str, float]], found: list[FoldScores]
    ) -> None:
        gammas = [each["gamma"] for each in settings if "gamma" in each]
        self.gammas_ = np.array(gammas) if gammas else None
        super()._keep_results(Cs, settings, found)
        self.gamma_ = self.best_params_.get("gamma")
