"""What a merged part starts from: the rules of widemargin.kernel.divide.starts compared.

WIDEMARGIN_DATA=... python -m benchmarks.speed.start_rules [--sets ijcnn1 ...] [--rows 20000]

For each rule the dual suboptimality of the root's start (0 optimal, 1 = zero) and the seconds of
the last level, start included. Landmark strata and clusters, ODM and hinge, 16 parts.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from benchmarks.race.data import random_split, whole_set
from benchmarks.speed.sodm_root import SETTINGS as SODM
from widemargin import ODMClassifier, SVMClassifier
from widemargin.core.outcome import certify
from widemargin.kernel.divide import starts
from widemargin.kernel.divide.methods import Method
from widemargin.kernel.divide.strategies import Clustered, Stratified
from widemargin.kernel.problem import Duals, KernelProblem

RULES = ("from_zero", "as_carried", "best_multiple", "mean_if_close", "from_margins")
# C and γ of ODM and SVM; those of the sets of SODM's tables.
SETTINGS = {**SODM, "covtype_binary": {"odm": (32.0, 32.0), "svm": (32.0, 32.0)}}
MACHINES = {"odm": ODMClassifier, "svm": SVMClassifier}
DEFAULT = ("ijcnn1", "cod-rna", "covtype_binary")


class Observed:
    """A start rule that notes the dual of the last start it made."""

    def __init__(self, rule: starts.Start) -> None:
        self.rule, self.dual = rule, np.nan

    def __call__(self, problem: KernelProblem, carried: np.ndarray) -> Duals:
        """Make a start."""
        start = self.rule(problem, carried)
        at = problem.margins(start.net_dual) if start.margin is None else start.margin
        self.dual = certify(problem.terms, start.net_dual, at).dual
        return start


def strategy_with(kind: type, rule: Observed, refine: bool) -> Stratified | Clustered:
    """Make a strategy whose row has another start."""

    class Changed(kind):  # type: ignore[misc]
        def method(self) -> Method:
            """Return the row with another start."""
            return replace(super().method(), start=rule, refine=refine)

    return Changed(levels=1, fan_in=16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=DEFAULT, choices=list(SETTINGS))
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    for name in options.sets:
        split = random_split(*whole_set(name, options.rows), 0)
        for short, loss in MACHINES.items():
            C, gamma = SETTINGS[name][short]
            common = {"C": C, "gamma": gamma, "random_state": 0}
            exact = loss(strategy="exact", tol=1e-5, **common).fit(split.X, split.y)
            best = exact.history_["dual"][-1]
            for kind in (Stratified, Clustered):
                for refine in (False, True) if kind is Clustered else (False,):
                    for rule in RULES:
                        observed = Observed(getattr(starts, rule))
                        strategy = strategy_with(kind, observed, refine)
                        model = loss(strategy=strategy, **common).fit(split.X, split.y)
                        seconds = np.diff(model.history_["seconds"])[-1]
                        print(
                            f"{name:>14} {loss.__name__:>13} {kind.__name__:>10} "
                            f"{'refined' if refine else '':>7} {rule:>13}: start "
                            f"{(best - observed.dual) / best:7.3f}, root {seconds:6.2f} s",
                            flush=True,
                        )


if __name__ == "__main__":
    main()
