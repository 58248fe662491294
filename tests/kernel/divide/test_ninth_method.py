"""A method nobody has published is a new row of the table and small objects, nothing else."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parts_to_merge import rings
from widemargin import ODMClassifier, SVMClassifier
from widemargin.engines import Engine
from widemargin.kernel.divide.methods import Method, small_copy
from widemargin.kernel.divide.strategies import Strategy
from widemargin.kernel.partition import Divided
from widemargin.kernel.problem import Duals, KernelProblem
from widemargin.kernel.samples import Part, join


@dataclass(frozen=True)
class Slices:
    """Sort rows by one feature and cut the order into equal slices."""

    feature: int

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        values = engine.reduce(
            parts, lambda part: part.source.X[part.rows, self.feature], lambda a, b: np.append(a, b)
        )
        edges = np.quantile(values, np.arange(1, n_to) / n_to)

        def split(_: int, part: Part) -> list[tuple[int, Part]]:
            return part.pieces(np.searchsorted(edges, part.source.X[part.rows, self.feature]))

        return Divided(engine.regroup(parts, split, join, n_to), n_to)


def first_come(engine: Engine, parts: Any, n_from: int, n_to: int, random: Any) -> Divided:
    """Merge part k with parts k + n_to, k + 2 n_to, … instead of its neighbours."""
    return Divided(engine.regroup(parts, lambda k, part: [(k % n_to, part)], join, n_to), n_to)


def larger_half(part: Part) -> Part:
    """Carry the rows with the larger duals up."""
    kept = np.zeros(part.n_rows, dtype=np.bool_)
    kept[np.argsort(-np.abs(part.net_dual), kind="stable")[: (part.n_rows + 1) // 2]] = True
    return part.keep(kept)


def halved(problem: KernelProblem, carried: np.ndarray) -> Duals:
    """Start from half of what was carried."""
    return Duals(problem.terms.nearest(0.5 * carried))


class Ninth(Strategy):
    """Slices of one feature; the larger half of the duals goes up."""

    def __init__(
        self,
        levels: int | None = None,
        fan_in: int = 2,
        stop_level: int = 0,
        *,
        feature: int = 0,
        validation_fraction: float | None = None,
        printed: bool = False,
    ) -> None:
        self.levels = levels
        self.fan_in = fan_in
        self.stop_level = stop_level
        self.feature = feature
        self.validation_fraction = validation_fraction
        self.printed = printed

    def method(self) -> Method:
        return Method(
            "ninth",
            Slices(self.feature),
            weight=small_copy,
            carry=larger_half,
            regroup=first_come,
            start=halved,
        )


models = pytest.mark.parametrize("model", [ODMClassifier(), SVMClassifier()], ids=["odm", "svm"])


@models
def test_ninth_method_works(model: Any) -> None:
    X, y = rings(240)
    clf = clone(model).set_params(strategy=Ninth(levels=2)).fit(X, y)
    assert clf.strategy_ == "ninth"
    assert clf.history_["parts"].tolist() == [4, 2, 1]
    assert clf.history_["rows"].tolist() == [240, 120, 60]
    assert clf.score(X, y) > 0.9


def test_ninth_method_through_its_parameters() -> None:
    X, y = rings(240)
    clf = ODMClassifier(strategy=Ninth(), random_state=0)
    clf.set_params(strategy__levels=2, strategy__stop_level=2, strategy__feature=1).fit(X, y)
    assert clf.level_ == 2
    parts = [X[clf.support_[clf.support_part_[0] == k], 1] for k in range(4)]
    for lower, upper in pairwise(parts):
        assert lower.max() < upper.min()  # slices of the second feature
    assert clone(clf).get_params()["strategy__feature"] == 1
    assert repr(clf.strategy) == "Ninth(feature=1, levels=2, stop_level=2)"
    with pytest.raises(ValueError, match=r"The 'levels' parameter of Ninth must be"):
        clf.set_params(strategy__levels=-1).fit(X, y)


@models
def test_ninth_method_in_a_search(model: Any) -> None:
    X, y = rings(180)
    pipeline = make_pipeline(StandardScaler(), clone(model).set_params(strategy=Ninth()))
    name = pipeline.steps[-1][0]
    grid = {f"{name}__strategy__levels": [0, 1, 2], f"{name}__strategy__feature": [0, 1]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.9
    levels = {params[f"{name}__strategy__levels"] for params in search.cv_results_["params"]}
    assert levels == {0, 1, 2}
    best = search.best_estimator_[-1]
    assert best.strategy.levels == search.best_params_[f"{name}__strategy__levels"]
    assert best.history_["level"][0] == best.strategy.levels


def test_method_is_all_a_strategy_must_have() -> None:
    X, y = rings(40)
    with pytest.raises(NotImplementedError):
        ODMClassifier(strategy=Bare()).fit(X, y)


class Bare(Strategy):
    def __init__(self) -> None:
        self.levels, self.fan_in, self.stop_level = 1, 2, 0
        self.validation_fraction, self.printed = None, False
