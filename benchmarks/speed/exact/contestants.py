"""Data sets with their C and gamma, libraries, contestants, and the ratios that ours aim at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.race import plugin
from benchmarks.race.data import AS_PUBLISHED, BYTES, CSR, DENSE, UNIT
from benchmarks.race.plugin import Entry, Library
from benchmarks.race.processes import THREADS

TREES = 300
CACHE_MB = 2_000
# Values of a peer's tol, and the gap that is small enough.
TOLS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
GAP = 1e-3


@dataclass(frozen=True, kw_only=True)
class Case(plugin.Case):
    """A training problem.

    Attributes
    ----------
    C, gamma : float
        Weight of a row, width of the RBF kernel.
    labels : tuple of int, optional
        The classes that are kept; all by default.
    test_rows, rows : int, optional
        For sets without a published test part: how many rows of one seeded permutation are tested
        on, and how many of those that follow are trained on (all of them by default).
    multi_class : bool
        Whether there are more than two classes.
    skipped : tuple of str
        Contestants that are left out, since they take minutes for each tol.
    """

    C: float
    gamma: float
    scaling: str = UNIT
    forms: tuple[str, ...] = (DENSE,)
    labels: tuple[int, ...] | None = None
    test_rows: int | None = None
    rows: int | None = None
    multi_class: bool = False
    skipped: tuple[str, ...] = ()


COVTYPE: dict[str, Any] = {"source": "covtype_binary", "C": 32.0, "gamma": 32.0}
COVTYPE |= {"test_rows": 50_000}
CASES = {
    "ijcnn1": Case(title="ijcnn1", source="ijcnn1", C=32.0, gamma=2.0, scaling=AS_PUBLISHED),
    "cod-rna": Case(title="cod-rna", source="cod-rna", C=32.0, gamma=8.0, test_rows=11_907),
    "a9a": Case(title="a9a", source="a9a", C=1.0, gamma=0.05, forms=(DENSE, CSR)),
    "covtype_20k": Case(title="covtype, 20,000 rows", rows=20_000, **COVTYPE),
    "covtype_50k": Case(title="covtype, 50,000 rows", rows=50_000, skipped=("svc",), **COVTYPE),
    "mnist_3_8": Case(
        title="mnist, 3 or 8", source="mnist", C=8.0, gamma=0.02, labels=(3, 8), forms=(DENSE, CSR)
    ),
    "letter": Case(
        title="letter (26 classes)", source="letter", C=8.0, gamma=8.0, multi_class=True
    ),
    "usps": Case(title="usps (10 classes)", source="usps", C=10.0, gamma=0.03, multi_class=True),
    "mnist": Case(
        title="mnist (10 classes)",
        source="mnist",
        C=10.0,
        gamma=0.02,
        scaling=BYTES,
        multi_class=True,
        skipped=("svc", "intelex_C1", "odm_C1", "svm_intercept", "squared_hinge", "lightgbm"),
    ),
}


def _svc(data: Any, problem: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    from sklearn.svm import SVC

    return SVC(cache_size=CACHE_MB, **_kernel(problem), **settings).fit(*data)


def _intelex(data: Any, problem: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    from sklearnex.svm import SVC

    model = SVC(cache_size=CACHE_MB, n_jobs=THREADS, **_kernel(problem), **settings).fit(*data)
    if not hasattr(model, "_onedal_estimator"):
        raise RuntimeError("scikit-learn-intelex fell back to scikit-learn's SVC.")
    return model


def _lightgbm(data: Any, problem: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(num_threads=THREADS, verbose=-1, **settings).fit(*data)


def _widemargin(data: Any, problem: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    from widemargin import ODMClassifier, SVMClassifier

    chosen: dict[str, Any] = {"fit_intercept": False, **_kernel(problem), **settings}
    if problem["loss"] == "odm":
        kind: Any = ODMClassifier
    else:
        kind, chosen["loss"] = SVMClassifier, problem["loss"]
    return kind(strategy="exact", n_jobs=THREADS, random_state=0, **chosen).fit(*data)


def _kernel(problem: Mapping[str, Any]) -> dict[str, float]:
    return {"C": problem["C"], "gamma": problem["gamma"]}


LIBRARIES = {
    "svc": Library("scikit-learn", "sklearn", _svc),
    "intelex": Library("scikit-learn-intelex", "sklearnex", _intelex),
    "lightgbm": Library("lightgbm", "lightgbm", _lightgbm),
    "widemargin": Library("widemargin", "widemargin", _widemargin),
}


@dataclass(frozen=True)
class Contestant:
    """A row of the tables.

    Attributes
    ----------
    title, library : str
        Name in the tables, and its library.
    loss : str or None
        Loss it is scored with; None for what has no duality gap.
    settings : mapping
        Arguments of the class, beside C, gamma, tol and threads.
    C : float, optional
        Instead of the case's.
    follows : str, optional
        Peer whose gap it is asked for; 1e-3 for others.
    """

    title: str
    library: str = "widemargin"
    loss: str | None = "hinge"
    settings: Mapping[str, Any] = field(default_factory=dict)
    C: float | None = None
    follows: str | None = None

    @property
    def has_ladder(self) -> bool:
        """Whether its tol must be searched for."""
        return self.library in ("svc", "intelex")


CONTESTANTS = {
    "svc": Contestant("scikit-learn SVC", "svc"),
    "intelex": Contestant("intelex SVC", "intelex"),
    "intelex_C1": Contestant("intelex SVC, C=1", "intelex", C=1.0),
    "svm": Contestant("SVM", follows="intelex"),
    "svm_at_svc": Contestant("SVM, at SVC's gap", follows="svc"),
    "svm_intercept": Contestant(
        "SVM, intercept", settings={"fit_intercept": True}, follows="intelex"
    ),
    "squared_hinge": Contestant("SVM, squared hinge", loss="squared_hinge"),
    "odm": Contestant("ODM", loss="odm"),
    "odm_C1": Contestant("ODM, C=1", loss="odm", C=1.0),
    "svm_ovr": Contestant("SVM, one-vs-rest", settings={"multi_class": "ovr"}, follows="intelex"),
    "odm_ovr": Contestant("ODM, one-vs-rest", loss="odm", settings={"multi_class": "ovr"}),
    "lightgbm": Contestant(f"LightGBM, {TREES} trees", "lightgbm", loss=None),
}


ONE_VS_REST = ("svm_ovr", "odm_ovr")


def entered(name: str, without: tuple[str, ...] = ()) -> dict[str, Contestant]:
    """Return who takes part in a case: none twice, none that needs a peer that is left out."""
    case, chosen = CASES[name], {}
    left_out = {*case.skipped, *without}
    for each, contestant in CONTESTANTS.items():
        twin = contestant.C == case.C
        absent = {each, contestant.library, contestant.follows} & left_out
        if not twin and not absent and (each not in ONE_VS_REST or case.multi_class):
            chosen[each] = contestant
    return chosen


def entry(name: str, contestant: str) -> Entry:
    """Return a contestant as an entry of a case."""
    case, each = CASES[name], CONTESTANTS[contestant]
    problem = {"loss": each.loss, "C": case.C if each.C is None else each.C, "gamma": case.gamma}
    settings: dict[str, Any] = {}
    if each.library == "widemargin" and case.multi_class:
        settings["multi_class"] = "ovo"  # as SVC does
    gap = TOLS if each.has_ladder else (GAP,)
    return Entry(
        *(contestant, each.title, each.library, problem),
        *(("tol", gap) if each.loss is not None else ("n_estimators", (TREES,))),
        settings={**settings, **each.settings},
        start=name,
        forms=case.forms if each.loss is not None else (DENSE,),
        always=True,
        once=contestant == "svc",
    )


FIT, PREDICT = "seconds", "predict_seconds"
# Accuracy of ODM may be below SVC's by this much.
ACCURACY_MARGIN = 0.002


@dataclass(frozen=True)
class Target:
    """A ratio of times, and how large it may be in each case."""

    title: str
    ours: str
    peer: str
    key: str
    aims: Mapping[str, float] = field(default_factory=dict)


MANY_CLASSES = ("letter", "usps", "mnist")
TRAINING = {"covtype_20k": 0.5, "covtype_50k": 0.5, **dict.fromkeys(MANY_CLASSES, 0.3)}
TRAINING |= {"ijcnn1": 0.7, "cod-rna": 0.7, "a9a": 0.7}
PREDICTION = dict.fromkeys(CASES, 0.4)
ODM = {"ijcnn1": 5.0, "cod-rna": 5.0, "covtype_20k": 2.0, "covtype_50k": 1.0}
TARGETS = (
    Target("training, SVM ÷ intelex", "svm", "intelex", FIT, TRAINING),
    Target(
        "training, SVM one-vs-rest ÷ intelex",
        *("svm_ovr", "intelex", FIT),
        dict.fromkeys(MANY_CLASSES, 0.5),
    ),
    Target(
        "training, ODM one-vs-rest ÷ intelex",
        *("odm_ovr", "intelex", FIT),
        dict.fromkeys(MANY_CLASSES, 1.0),
    ),
    Target("training, SVM with intercept ÷ intelex", "svm_intercept", "intelex", FIT),
    Target("training, SVM ÷ scikit-learn SVC", "svm_at_svc", "svc", FIT),
    Target("training, ODM ÷ intelex", "odm", "intelex", FIT, ODM),
    Target("training, ODM ÷ intelex, C=1", "odm_C1", "intelex_C1", FIT, dict.fromkeys(CASES, 3.0)),
    Target("prediction, SVM ÷ intelex", "svm", "intelex", PREDICT, PREDICTION),
    Target("prediction, ODM ÷ intelex", "odm", "intelex", PREDICT),
)
