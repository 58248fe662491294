"""The candidates of :class:`AutoClassifier`: families of classifiers, values of parameters.

Kernel families have a grid of C and gamma, linear ones of C. Grids are coarse; the search looks
between their values once it knows where. ODM's θ and υ begin at their defaults, and change only
then: they matter less than C and gamma.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from .kernel import ODMClassifier, SVMClassifier
from .linear import LinearODMClassifier, LinearSVMClassifier

# Ratio of neighbouring values of C and of gamma in a grid.
C_RATIO, GAMMA_RATIO = 8.0, 4.0
KERNEL_CS = (0.5, 4.0, 32.0, 256.0)
LINEAR_CS = (0.002, 0.016, 0.125, 1.0, 8.0)
# Multiples of what "scale" stands for.
GAMMAS = (0.0625, 0.25, 1.0, 4.0)
# θ and υ that are tried around the best ODM, one at a time.
THETAS, UPSILONS = (0.0, 0.2, 0.4), (0.25, 0.5, 1.0)
# Rounds of weighting: few suffice where most features say something, many find the few that do.
FEW_ROUNDS, MANY_ROUNDS = 3, 8
LEAST_C, LARGEST_C = 1e-4, 1e5


@dataclass(frozen=True)
class Family:
    """Classifiers that differ by their parameters only.

    Attributes
    ----------
    estimator : type
        The class.
    fixed : mapping
        Parameters that all of them have.
    Cs, gammas : tuple of float
        The grid; gammas are multiples of "scale", none for a linear family.
    order : float
        Power of the number of rows that the cost of a fit grows with.
    rounds : int
        Rounds in which features are weighted by their relevance (:mod:`.auto_relevance`).
    """

    estimator: type[Any]
    fixed: Mapping[str, Any]
    Cs: tuple[float, ...]
    gammas: tuple[float, ...] = ()
    order: float = 1.0
    rounds: int = 0

    @property
    def kernel(self) -> bool:
        """Whether it has a kernel, so that its fits grow faster than the number of rows."""
        return bool(self.gammas)

    @property
    def weighted(self) -> bool:
        """Whether features are weighted."""
        return self.rounds > 0

    @property
    def margin_distribution(self) -> bool:
        """Whether it has the ODM's θ and υ."""
        return issubclass(self.estimator, ODMClassifier | LinearODMClassifier)


def _kernel_family(estimator: type[Any], kernel: str, rounds: int = 0) -> Family:
    # Pairs of classes are the cheapest to train.
    fixed = {"kernel": kernel, "strategy": "exact", "multi_class": "ovo"}
    return Family(estimator, fixed, KERNEL_CS, GAMMAS, 2.0, rounds)


# The cheapest come first.
FAMILIES: dict[str, Family] = {
    "linear SVM": Family(LinearSVMClassifier, {}, LINEAR_CS),
    "linear ODM": Family(LinearODMClassifier, {}, LINEAR_CS),
    "SVM, rbf": _kernel_family(SVMClassifier, "rbf"),
    "SVM, laplacian": _kernel_family(SVMClassifier, "laplacian"),
    "SVM, rbf, weighted": _kernel_family(SVMClassifier, "rbf", MANY_ROUNDS),
    "SVM, laplacian, weighted": _kernel_family(SVMClassifier, "laplacian", FEW_ROUNDS),
    "ODM, rbf": _kernel_family(ODMClassifier, "rbf"),
    "ODM, laplacian": _kernel_family(ODMClassifier, "laplacian"),
    "ODM, laplacian, weighted": _kernel_family(ODMClassifier, "laplacian", FEW_ROUNDS),
}


@dataclass(frozen=True)
class Candidate:
    """A family with values of its parameters.

    Attributes
    ----------
    name : str
        Name of the family.
    C : float
        Weight of a row's loss.
    others : tuple of (str, float)
        Other parameters that the search chooses, by name.
    """

    name: str
    C: float
    others: tuple[tuple[str, float], ...] = field(default=())

    @property
    def family(self) -> Family:
        """The family of this name."""
        return FAMILIES[self.name]

    @property
    def params(self) -> dict[str, float]:
        """All parameters that the search chooses."""
        return {"C": self.C, **dict(self.others)}

    def estimator(self, **settings: Any) -> Any:
        """Return the classifier, not fitted, with more settings."""
        return self.family.estimator(**{**self.family.fixed, **self.params, **settings})

    def with_value(self, name: str, value: float) -> Candidate:
        """Return the candidate with another value of a parameter."""
        if name == "C":
            return replace(self, C=value)
        return replace(self, others=tuple(sorted({**dict(self.others), name: value}.items())))

    def neighbours(self, step: float) -> Iterator[Candidate]:
        """Yield candidates a part of a grid step away; of the ODM, also other θ and υ."""
        for name, ratio in (("C", C_RATIO**step), ("gamma", GAMMA_RATIO**step)):
            value = self.params.get(name)
            for factor in (ratio, 1.0 / ratio) if value is not None else ():
                assert value is not None
                if name != "C" or LEAST_C <= value * factor <= LARGEST_C:
                    yield self.with_value(name, value * factor)
        if self.family.margin_distribution:
            for name, values in (("theta", THETAS), ("upsilon", UPSILONS)):
                for value in values:
                    if value != self.params[name]:
                        yield self.with_value(name, value)


def grid(names: list[str], scale: float) -> list[Candidate]:
    """Return the candidates of some families, in turns, those most likely to do well first.

    Parameters
    ----------
    names : list of str
        Families, from :data:`FAMILIES`.
    scale : float
        The gamma that "scale" stands for.
    """
    turns = zip_longest(*(_paths(name, scale) for name in names), fillvalue=[])
    return [each for turn in turns for path in turn for each in path]


def untried(names: list[str], scale: float) -> Candidate:
    """Return the candidate to take if there is no time to try any."""
    path = _paths(names[0], scale)[0]
    return path[len(path) // 2]


def _paths(name: str, scale: float) -> list[list[Candidate]]:
    """Return the candidates of a family, those that differ by C only together."""
    family = FAMILIES[name]
    start = Candidate(name, 1.0)
    if family.margin_distribution:
        start = start.with_value("theta", 0.2).with_value("upsilon", 0.5)
    near_first = sorted(family.gammas, key=lambda each: (max(each, 1 / each), each))
    starts = [start.with_value("gamma", each * scale) for each in near_first] or [start]
    return [[each.with_value("C", C) for C in family.Cs] for each in starts]
