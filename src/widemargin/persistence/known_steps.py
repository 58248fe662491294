"""What of scikit-learn and NumPy a model file may name. Other names are never looked up anywhere.

The classes keep plain data and nothing else, and their fitted state can be checked without a
training set. Functions and types are constants, which a file names instead of holding code.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .container import STORABLE_DTYPES

_CLASSES = {
    "sklearn.pipeline": ("Pipeline", "FeatureUnion"),
    "sklearn.compose": ("ColumnTransformer", "TransformedTargetRegressor"),
    "sklearn.multioutput": ("MultiOutputRegressor",),
    "sklearn.preprocessing": (
        *("Binarizer", "FunctionTransformer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler"),
        *("Normalizer", "OneHotEncoder", "OrdinalEncoder", "PowerTransformer"),
        *("QuantileTransformer", "RobustScaler", "StandardScaler"),
    ),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.feature_selection": ("SelectKBest", "SelectPercentile", "VarianceThreshold"),
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.feature_extraction.text": ("TfidfTransformer",),
    "sklearn.kernel_approximation": ("Nystroem", "RBFSampler"),
}
#: Module of each class, by the name that a file gives it.
STEPS = {f"{module}.{name}": module for module, names in _CLASSES.items() for name in names}

_FUNCTIONS = {
    "sklearn.feature_selection": ("chi2", "f_classif", "f_regression", "mutual_info_classif"),
    "numpy": (
        *("abs", "arcsinh", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2"),
        *("negative", "reciprocal", "sign", "sqrt", "square", "tanh"),
    ),
}
FUNCTIONS = {f"{module}.{name}": module for module, names in _FUNCTIONS.items() for name in names}

TYPES: dict[str, type[Any]] = {
    **{f"numpy.{dtype.name}": dtype.type for dtype in STORABLE_DTYPES},
    "numpy.number": np.number,
    "numpy.integer": np.integer,
    "numpy.floating": np.floating,
    "numpy.object_": np.object_,
    "numpy.str_": np.str_,
    **{kind.__name__: kind for kind in (object, bool, int, float, str)},
}

# Settings that say where or how fast a model runs, not what it predicts, and their defaults: a
# file of unknown origin should start no processes and choose no folder to write to.
_NOT_KEPT = {
    "Pipeline": {"memory": None},
    "FeatureUnion": {"n_jobs": None},
    "ColumnTransformer": {"n_jobs": None},
    "MultiOutputRegressor": {"n_jobs": None},
}


def named(path: str) -> Any:
    """Return the class or function that `STEPS` or `FUNCTIONS` lists as `path`."""
    module = STEPS[path] if path in STEPS else FUNCTIONS[path]
    return getattr(import_module(module), path.removeprefix(f"{module}."))


def step_name(step: Any) -> str | None:
    """Return the name in a file of a step's class; None if no file may hold it."""
    name = type(step).__name__
    for path in STEPS:
        if path.endswith(f".{name}"):
            return path if named(path) is type(step) else None
    return None


def function_name(function: Any) -> str | None:
    """Return the name in a file of a function; None if no file may hold it."""
    name = getattr(function, "__name__", None)
    # numpy.abs calls itself absolute.
    name = "abs" if name == "absolute" else name
    for path in FUNCTIONS:
        if path.endswith(f".{name}"):
            return path if named(path) is function else None
    return None


def without_places(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Replace settings of the machine among the parameters of a step by their defaults."""
    return {**params, **_NOT_KEPT.get(name.rpartition(".")[2], {})}


def state_of(step: Any) -> dict[str, Any]:
    """Return the attributes of a step that a file keeps beside its parameters."""
    params = step.get_params(deep=False)
    return {key: value for key, value in vars(step).items() if key not in params and _kept(key)}


def _kept(name: str) -> bool:
    return name != "_metadata_request"  # which methods may take weights is asked for again


def check_state_name(step: Any, name: str) -> None:
    """Raise ValueError if a file must not set an attribute, such as a method."""
    if (
        not name.isidentifier()
        or name.startswith("__")
        or not _kept(name)
        or name in step.get_params(deep=False)
        or hasattr(type(step), name)
    ):
        raise ValueError(f"`{name}` is no fitted attribute")
