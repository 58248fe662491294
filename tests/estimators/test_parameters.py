"""The parameters of the public estimators: signatures, constraints and documentation."""

import inspect
import pickle
import re
import subprocess
import sys

import pytest
from sklearn.base import clone

import widemargin

# Parameters in order; those before "*" may be given by position.
LIMITS = {
    "tol": 1e-3,
    "max_iter": 1000,
    "max_time": None,
    "class_weight": None,
    "random_state": None,
    "n_jobs": None,
    "memory_limit": "1GiB",
}
SEARCH = {"cv": None, "scoring": None, "refit": True}
ODM = {"lam": None, "upsilon": 0.5, "theta": 0.2}
SHAPE = {"degree": 3, "coef0": 0.0, "fit_intercept": "auto"}
TASKS = {
    **{"solver": "auto", "multi_class": "auto", "decision_function_shape": "ovr"},
    "calibrate": None,
}
KERNEL = {
    **{"gamma": "scale", **SHAPE, "strategy": "auto", **TASKS, **LIMITS, "max_iter": None},
    **{"engine": "local", "checkpoint": None, "warm_start": False},
    **{"keep_rows": False, "verbose": 0},
}
KERNEL_CV = {**SHAPE, **TASKS, **SEARCH, **LIMITS, "max_iter": None, "verbose": 0}
CONSTANT = {"fit_intercept": True, "intercept_scaling": 1.0}
SOLVER = {
    **{**CONSTANT, "solver": "auto", "calibrate": None, "n_parts": 16},
    **{"solver_options": None, "batch_size": 1},
}
LINEAR = {
    **SOLVER,
    **LIMITS,
    **{"engine": "local", "warm_start": False, "validation_fraction": None, "verbose": 0},
}
LINEAR_CV = {**SOLVER, **SEARCH, **LIMITS, "verbose": 0}
# Searches for regressors.
SHAPE_R = {"degree": 3, "coef0": 0.0, "fit_intercept": True, "solver": "auto"}
KERNEL_R = {**SHAPE_R, **SEARCH, **LIMITS, "max_iter": None, "verbose": 0}
LINEAR_R = {name: value for name, value in LINEAR_CV.items() if name != "calibrate"}
for limits in (KERNEL_R, LINEAR_R):
    del limits["class_weight"]
BAND = {"upsilons": 1.0, "thetas": 0.1}
ABSOLUTE = {"loss": "epsilon_insensitive"}
NETWORK = {
    **{"solver": "consensus", "partners": "all", "exchanges": 1, "weights": "metropolis"},
    **{"asynchronous": False, "faults": None, "stopping": "gap", "epsilon": 1e-3, "quiet": 3},
}
GRID = {"Cs": 10, "gammas": None}
SIGNATURES = {
    "ODMClassifier": {"kernel": "rbf", "*": None, "C": 1.0, **ODM, **KERNEL},
    "SVMClassifier": {"kernel": "rbf", "*": None, "loss": "hinge", "C": 1.0, **KERNEL},
    "LinearODMClassifier": {"*": None, "C": 1.0, **ODM, **LINEAR},
    "LinearSVMClassifier": {"*": None, "loss": "squared_hinge", "C": 1.0, **LINEAR},
    "ODMClassifierCV": {
        **{"kernel": "rbf", "*": None, **GRID, "upsilon": 0.5, "theta": 0.2},
        **KERNEL_CV,
    },
    "SVMClassifierCV": {"kernel": "rbf", "*": None, "loss": "hinge", **GRID, **KERNEL_CV},
    "LinearODMClassifierCV": {"*": None, "Cs": 10, "upsilons": 0.5, "thetas": 0.2, **LINEAR_CV},
    "LinearSVMClassifierCV": {"*": None, "loss": "squared_hinge", "Cs": 10, **LINEAR_CV},
    "SVMRegressorCV": {
        **{"kernel": "rbf", "*": None, **ABSOLUTE, **GRID, "epsilons": 0.1},
        **KERNEL_R,
    },
    "ODMRegressorCV": {"kernel": "rbf", "*": None, **GRID, **BAND, **KERNEL_R},
    "LinearSVMRegressorCV": {"*": None, **ABSOLUTE, "Cs": 10, "epsilons": 0.0, **LINEAR_R},
    "LinearODMRegressorCV": {"*": None, "Cs": 10, **BAND, **LINEAR_R},
    "MulticlassSVMClassifier": {
        **{"formulation": "ww", "*": None, "C": 1.0, **CONSTANT, "solver": "auto"},
        "calibrate": None,
        **{**LIMITS, "max_iter": 10_000, "engine": "local", "warm_start": False, "verbose": 0},
    },
    "GossipClassifier": {
        **{"n_sites": None, "topology": "ring", "*": None, "kernel": "linear", "loss": "hinge"},
        **{"C": 1.0, "holdout": 0.2, **ODM, "gamma": "auto", "degree": 3, "coef0": 0.0},
        **{"n_components": 1000, **CONSTANT, **NETWORK, **LIMITS, "verbose": 0},
    },
}

every_estimator = pytest.mark.parametrize("name", SIGNATURES)


@every_estimator
def test_signatures(name):
    parameters = inspect.signature(getattr(widemargin, name)).parameters.values()
    positional = [(p.name, p.default) for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
    keywords = [(p.name, p.default) for p in parameters if p.kind == p.KEYWORD_ONLY]
    assert [*positional, ("*", None), *keywords] == list(SIGNATURES[name].items())


@every_estimator
def test_every_parameter_is_constrained_and_documented(name):
    estimator = getattr(widemargin, name)
    parameters = inspect.signature(estimator).parameters
    assert list(estimator._parameter_constraints) == list(parameters)
    section = estimator.__doc__.split("Parameters\n----------\n")[1].split("Attributes\n---")[0]
    documented = dict(re.findall(r"^(\w+) : (.+)$", section, re.MULTILINE))
    assert list(documented) == list(parameters)
    for each, kind in documented.items():
        shown = re.search(r"default=(.+)$", kind)
        assert shown is not None, each
        assert eval(shown[1]) == parameters[each].default, each


@every_estimator
def test_instances_hold_the_values_and_classes_none(name):
    estimator = getattr(widemargin, name)
    model = estimator().set_params(tol=0.5)
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copy.get_params() == model.get_params()
        assert vars(copy) == vars(model)
    assert repr(model) == f"{name}(tol=0.5)"
    assert not set(vars(estimator)) & set(model.get_params())
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        estimator(colour="blue")


def test_docstrings_may_be_stripped():
    script = "from widemargin import ODMClassifierCV as C; print(C.__doc__, C(tol=0.5))"
    done = subprocess.run([sys.executable, "-OO", "-c", script], capture_output=True, text=True)
    assert done.stdout == "None ODMClassifierCV(tol=0.5)\n", done.stderr


@pytest.mark.parametrize("name", SIGNATURES)
def test_fitted_attributes_are_declared_for_type_checkers(name):
    cls = getattr(widemargin, name)
    section = re.search(r"\nAttributes\n-+\n(.*?)(?:\n\n\S|\Z)", cls.__doc__, re.DOTALL).group(1)
    documented = {
        name.strip()
        for entry in re.findall(r"^(\w[\w, ]*) :", section, re.M)
        for name in entry.split(",")
    }
    declared = {
        name
        for base in cls.__mro__
        for name in (*vars(base), *vars(base).get("__annotations__", ()))
    }
    assert documented
    assert documented - declared == set()
