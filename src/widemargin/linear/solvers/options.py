"""Settings that single solvers have: their names, what they may be, and who takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from .dsvrg import N_STRATA

PARTITIONS = ("stratified", "random")
LISTINGS = ("diodm", "sodm")
# Solvers that divide the rows into parts.
ON_PARTS = ("dsvrg", "dsvrg_printed")


def _count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _step(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1


# Of every option of ``solver_options``: a test, and what it asks for.
Requirement = tuple[Callable[[Any], bool], str]
OF_PARTS: dict[str, Requirement] = {
    "partition": (lambda value: value in PARTITIONS, "'stratified' or 'random'"),
    "n_strata": (_count, "an integer of at least 1"),
    "steps": (_count, "an integer of at least 1"),
    "step": (_step, "a number between 0 and 1, both excluded"),
}
OPTIONS: dict[str, dict[str, Requirement]] = {
    "dsvrg": OF_PARTS,
    "dsvrg_printed": {
        **OF_PARTS,
        "listing": (lambda value: value in LISTINGS, "'diodm' or 'sodm'"),
    },
}


@dataclass(frozen=True)
class SolverOptions:
    """Settings of a classifier that one solver alone has."""

    n_parts: int = 16  # parts of dsvrg and dsvrg_printed
    batch_size: int | None = 1  # rows per step of pegasos; None means all
    given: Mapping[str, Any] = field(default_factory=dict)  # ``solver_options``

    def of(self, name: str) -> dict[str, Any]:
        """Return what the solver of that name takes."""
        if name in ON_PARTS:
            return {"n_parts": self.n_parts, **self.given}
        return {"batch_size": self.batch_size} if name == "pegasos" else {}

    def division(self, name: str) -> dict[str, Any]:
        """Return what the division into parts takes, for solvers that need one."""
        return {
            "n_parts": self.n_parts,
            "partition": self.given.get("partition", "stratified"),
            "n_strata": self.given.get("n_strata", N_STRATA),
            "printed": name == "dsvrg_printed",
        }


def refuse_options(name: str, given: Mapping[str, Any] | None) -> None:
    """Raise ValueError if a solver does not have such options, or not with these values."""
    if not given:
        return
    known = OPTIONS.get(name, {})
    unknown = [each for each in given if each not in known]
    if unknown and not known:
        takers = " and ".join(map(repr, OPTIONS))
        raise ValueError(
            f"`solver_options` must be None with solver={name!r}, which has none; got "
            f"{sorted(map(str, given))}. The solvers {takers} have options."
        )
    if unknown:
        raise ValueError(
            f"`solver_options` of solver={name!r} may have {', '.join(map(repr, known))}; got "
            f"{unknown[0]!r}."
        )
    for option, value in given.items():
        test, wanted = known[option]
        if not test(value):
            raise ValueError(
                f"{option!r} in `solver_options` must be {wanted}; got {value!r}. Leave it out for "
                "the default."
            )
    if given.get("listing") == "sodm" and "steps" in given:
        raise ValueError(
            "'listing'='sodm' in `solver_options` takes one step per part and stage, so 'steps' "
            f"must be left out; got {given['steps']!r}. Take 'listing'='diodm'."
        )
