"""Who is measured: the peers, and ours at the gap of the peer they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from benchmarks.speed.measuring import THREADS

from .cases import Case

TREES = 300
CACHE_MB = 2_000
PEERS = {"intelex": ("sklearnex", "scikit-learn-intelex"), "lightgbm": ("lightgbm", "lightgbm")}


@dataclass(frozen=True)
class Contestant:
    """A row of the tables.

    Attributes
    ----------
    title : str
        Name in the tables.
    family : {'svc', 'intelex', 'svm', 'odm', 'lightgbm'}
        Which class.
    loss : str or None
        Loss it is scored with; None for what has no duality gap.
    settings : mapping
        Arguments of the class, beside C, gamma, tol and threads.
    C : float, optional
        Instead of the case's.
    follows : str, optional
        Peer whose gap it is asked for; 1e-3 for others.
    once : bool
        Whether it is measured in the first round only.
    """

    title: str
    family: str
    loss: str | None = "hinge"
    settings: Mapping[str, Any] = field(default_factory=dict)
    C: float | None = None
    follows: str | None = None
    once: bool = False

    @property
    def has_ladder(self) -> bool:
        """Whether its tol must be searched for."""
        return self.family in ("svc", "intelex")

    @property
    def takes_sparse(self) -> bool:
        """Whether it is tried with sparse rows too."""
        return self.loss is not None


INTERCEPT, SQUARED = {"fit_intercept": True}, {"loss": "squared_hinge"}
CONTESTANTS = {
    "svc": Contestant("scikit-learn SVC", "svc", once=True),
    "intelex": Contestant("intelex SVC", "intelex"),
    "intelex_C1": Contestant("intelex SVC, C=1", "intelex", C=1.0),
    "svm": Contestant("SVM", "svm", follows="intelex"),
    "svm_at_svc": Contestant("SVM, at SVC's gap", "svm", follows="svc"),
    "svm_intercept": Contestant("SVM, intercept", "svm", settings=INTERCEPT, follows="intelex"),
    "squared_hinge": Contestant("SVM, squared hinge", "svm", "squared_hinge", SQUARED),
    "odm": Contestant("ODM", "odm", "odm"),
    "odm_C1": Contestant("ODM, C=1", "odm", "odm", C=1.0),
    "svm_ovr": Contestant(
        "SVM, one-vs-rest", "svm", settings={"multi_class": "ovr"}, follows="intelex"
    ),
    "lightgbm": Contestant(f"LightGBM, {TREES} trees", "lightgbm", loss=None),
}


def entered(case: Case, without: tuple[str, ...] = ()) -> dict[str, Contestant]:
    """Return who takes part in a case: none twice, none that a left-out peer is needed for."""
    chosen = {}
    for name, contestant in CONTESTANTS.items():
        twin = contestant.C == case.C
        no_peer = contestant.follows in case.skipped or contestant.follows in without
        left_out = name in case.skipped or contestant.family in without
        if twin or no_peer or left_out or (name == "svm_ovr" and not case.multi_class):
            continue
        chosen[name] = contestant
    return chosen


def check_peers(without: tuple[str, ...]) -> None:
    """Say what to install where a peer is not there."""
    for family, (module, package) in PEERS.items():
        if family not in without and find_spec(module) is None:
            raise SystemExit(
                f"{package} is measured beside ours and must be installed: pip install "
                f"'widemargin[bench]', or leave it out with --without {family}."
            )


def estimator(family: str, settings: Mapping[str, Any]) -> Any:
    """Make a classifier that uses two threads, where it can use more than one."""
    if family == "svc":
        from sklearn.svm import SVC

        return SVC(cache_size=CACHE_MB, **settings)
    if family == "intelex":
        from sklearnex.svm import SVC as IntelexSVC

        return IntelexSVC(cache_size=CACHE_MB, n_jobs=THREADS, **settings)
    if family == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=TREES, num_threads=THREADS, verbose=-1, **settings)
    from widemargin import ODMClassifier, SVMClassifier

    kind = {"svm": SVMClassifier, "odm": ODMClassifier}[family]
    return kind(strategy="exact", n_jobs=THREADS, random_state=0, **settings)
