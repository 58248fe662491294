"""The contestants, and how each one is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.race.processes import THREADS

from .sets import KERNEL, SETS, TEXT

Settings = Mapping[str, Any]
# Clusters of an early model have at most this many rows, as with strategy="auto".
CLUSTER_ROWS = 8_000
CACHE_MB = 1_000


@dataclass(frozen=True)
class Contestant:
    """A point of the picture on every set of its kind.

    Attributes
    ----------
    title : str
        Name in the tables.
    short : str
        Name in the picture.
    package, module : str
        Name on PyPI, and the module that must be installed.
    make : callable
        Takes the settings and the number of training rows; returns a classifier.
    grid : str
        Name of its grid in :data:`.grids.GRIDS`.
    fixed : mapping
        Other settings.
    kind : str
        Kind of the sets it is measured on.
    classes : str
        "two", "several" or "any": the sets it is measured on, by number of classes.
    """

    title: str
    short: str
    package: str
    module: str
    make: Callable[[dict[str, Any], int], Any]
    grid: str
    fixed: Settings = field(default_factory=dict)
    kind: str = KERNEL
    classes: str = "any"

    @property
    def ours(self) -> bool:
        """Whether it is of this library."""
        return self.package == "widemargin"

    @property
    def installed(self) -> bool:
        """Whether its library is."""
        return find_spec(self.module) is not None

    def competes(self, name: str, classes: int) -> bool:
        """Whether it is measured on a set with so many classes."""
        fits = {"two": classes == 2, "several": classes > 2, "any": True}[self.classes]
        return fits and SETS[name].kind == self.kind


# ------------------------------------------------------------------------------------- makers


def _class(module: str, name: str, **always: Any) -> Callable[[dict[str, Any], int], Any]:
    def make(settings: dict[str, Any], rows: int) -> Any:
        return getattr(import_module(module), name)(**always, **settings)

    return make


def _ours(
    settings: dict[str, Any], rows: int, name: str, early: bool = False, basis: int | None = None
) -> Any:
    import widemargin

    strategy: Any = "exact"
    if early:
        levels = max(1, math.ceil(math.log(rows / CLUSTER_ROWS, 4)))
        strategy = widemargin.Clustered(levels, 4, levels)
    elif basis is not None:
        strategy = "auto"
    model = getattr(widemargin, name)(strategy=strategy, n_jobs=THREADS, random_state=0, **settings)
    return model if basis is None else _Compressed(model, basis)


class _Compressed:
    """A model that is compressed as a part of its training."""

    def __init__(self, model: Any, basis: int) -> None:
        self.model, self.basis = model, basis

    def fit(self, X: Any, y: Any) -> _Compressed:
        self.model = self.model.fit(X, y).compress(self.basis, X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)


def _features(settings: dict[str, Any], rows: int, sampler: str, then: str) -> Any:
    """Return random features of an RBF kernel, and a linear classifier on them."""
    from sklearn import kernel_approximation, linear_model, svm
    from sklearn.pipeline import make_pipeline

    chosen = {name: settings.pop(name) for name in ("gamma", "n_components")}
    features = getattr(kernel_approximation, sampler)(random_state=0, **chosen)
    if then == "LinearSVC":
        return make_pipeline(features, svm.LinearSVC(dual=False, random_state=0, **settings))
    steps = {"alpha": 1.0 / (settings.pop("C") * rows), "n_jobs": THREADS, "average": True}
    return make_pipeline(features, linear_model.SGDClassifier(random_state=0, **steps, **settings))


def _adapter(name: str) -> Callable[[dict[str, Any], int], Any]:
    return _class("benchmarks.speed.frontier.adapters", name)


# -------------------------------------------------------------------------------- contestants


def _kernel_machines() -> dict[str, Contestant]:
    found = {}
    for loss, kind in (("SVM", "SVMClassifier"), ("ODM", "ODMClassifier")):
        for way, classes in (("", "two"), ("pairs", "several"), ("ovr", "several")):
            fixed = {"multi_class": {"pairs": "ovo", "ovr": "ovr"}[way]} if way else {}
            name = loss.lower() + (f"_{way}" if way else "")
            title = f"{loss}{', ' * bool(way)}{'one-vs-rest' if way == 'ovr' else way}"
            short = f"{loss}{' ' * bool(way)}{way}"
            of = ("widemargin", "widemargin")
            variants = {
                "": ("exact", "", partial(_ours, name=kind)),
                "_early": ("early (DC)", " early", partial(_ours, name=kind, early=True)),
                "_small": ("1,000 points", " 1k", partial(_ours, name=kind, basis=1_000)),
            }
            for suffix, (text, mark, make) in variants.items():
                found[name + suffix] = Contestant(
                    *(f"{title}, {text}", short + mark, *of, make, name, fixed), classes=classes
                )
    return found


def _approximations() -> dict[str, Contestant]:
    found = {}
    samplers = {"nystroem": ("Nystroem", "Nys"), "fourier": ("RBFSampler", "RFF")}
    for name, (sampler, mark) in samplers.items():
        for then, suffix, sizes in (
            ("LinearSVC", "", (300, 1_000)),
            ("SGDClassifier", "_sgd", (1_000, 3_000)),
        ):
            for size in sizes:
                found[f"{name}{suffix}_{size}"] = Contestant(
                    f"{sampler}, {size:,} features, {then}",
                    f"{mark} {'SGD ' * bool(suffix)}{size:,}",
                    *("scikit-learn", "sklearn"),
                    partial(_features, sampler=sampler, then=then),
                    name + suffix,
                    {"n_components": size},
                )
    return found


def _exact_peers() -> dict[str, Contestant]:
    found = {}
    for name, title, package, module, settings in (
        ("svc", "SVC", "scikit-learn", "sklearn.svm", {"cache_size": CACHE_MB}),
        ("intelex", "intelex SVC", "scikit-learn-intelex", "sklearnex.svm", {"n_jobs": THREADS}),
        ("thunder", "thundersvm", "thundersvm-cpu", "thundersvm", {"n_jobs": THREADS}),
    ):
        top = module.partition(".")[0]
        # They solve the same problem as ours, all pairs where there are several classes.
        for suffix, classes, grid in (("", "two", "svm"), ("_pairs", "several", "svm_pairs")):
            found[name + suffix] = Contestant(
                *(title, title, package, top, _class(module, "SVC", **settings), grid),
                classes=classes,
            )
    return found


TREES = {"n_estimators": 1_000, "num_leaves": 255}
_trees = _class("lightgbm", "LGBMClassifier", num_threads=THREADS, verbose=-1, random_state=0)
_text = partial(Contestant, kind=TEXT)
_lml = ("libmultilabel", "libmultilabel", _adapter("LibMultiLabel"))
CONTESTANTS = {
    **_kernel_machines(),
    **_exact_peers(),
    **_approximations(),
    "eigenpro": Contestant(
        *("EigenPro", "EigenPro", "scikit-learn-extra", "sklearn_extra"),
        *(_adapter("Eigenpro"), "eigenpro"),
    ),
    "xrfm": Contestant(
        *("xRFM", "xRFM", "xrfm", "xrfm", _adapter("Xrfm"), "xrfm", {"max_leaf_size": 10_000}),
    ),
    "lightgbm": Contestant("LightGBM, defaults", "LightGBM", *("lightgbm",) * 2, _trees, "none"),
    "lightgbm_tuned": Contestant(
        *("LightGBM, 1,000 × 255 leaves", "LightGBM 1k×255", *("lightgbm",) * 2),
        *(_trees, "trees", TREES),
    ),
    **{
        name: _text(
            *(f"{title}, one fit of all classes" if name != "ovr" else title, title),
            *("widemargin", "widemargin"),
            _class("widemargin", "MulticlassSVMClassifier", n_jobs=THREADS, random_state=0),
            "text_ovr" if name == "ovr" else "text_svm",
            {"formulation": name, "tol": 1e-2},
        )
        for name, title in (("ww", "WW"), ("cs", "CS"), ("ovr", "OVR"))
    },
    "linear_svc": _text(
        *("LinearSVC, squared hinge", "LinearSVC", "scikit-learn", "sklearn"),
        *(_class("sklearn.svm", "LinearSVC", random_state=0), "text_squared"),
    ),
    "libmultilabel": _text(
        *("LibMultiLabel, one-vs-rest", "LML 1-vs-rest", *_lml, "text_squared"),
        {"technique": "1vsrest", "solver": 1},
    ),
    "libmultilabel_cs": _text(
        *("LibMultiLabel, Crammer–Singer", "LML CS", *_lml, "text_svm"),
        {"technique": "multiclass", "solver": 4},
    ),
    "libmultilabel_tree": _text(
        *("LibMultiLabel, tree", "LML tree", *_lml, "text_tree"),
        {"technique": "tree", "solver": 1},
    ),
    "omikuji": _text(
        *("omikuji, Parabel", "omikuji", "omikuji", "omikuji", _adapter("Omikuji"), "omikuji")
    ),
    "omikuji_bonsai": _text(
        *("omikuji, Bonsai", "omikuji Bonsai", *("omikuji",) * 2, _adapter("Omikuji")),
        "omikuji_flat",
        {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3},
    ),
    "vw": _text(
        *("Vowpal Wabbit, one-vs-rest", "VW", "vowpalwabbit", "vowpalwabbit"),
        *(_adapter("VowpalWabbit"), "vw"),
    ),
    "cyanure": _text(
        *("cyanure, squared hinge", "cyanure", "cyanure", "cyanure"),
        *(_class("benchmarks.speed.frontier.adapters", "Cyanure"), "cyanure"),
    ),
}
