"""MulticlassSVMClassifier solves the problem it states, whatever form the rows come in."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from linear_models import noisy_classes
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from multiclass_oracle import objective, optimum
from widemargin import MulticlassSVMClassifier
from widemargin.core.progress import FitProgress
from widemargin.engines import LocalEngine
from widemargin.multiclass import fit as multiclass_fit
from widemargin.multiclass.problem import FORMULATIONS

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
formulations = pytest.mark.parametrize("formulation", FORMULATIONS)


def tight(formulation: str, **settings: object) -> MulticlassSVMClassifier:
    settings = {"tol": 1e-7, "max_iter": 20_000, "random_state": 0, "C": 0.1, **settings}
    return MulticlassSVMClassifier(formulation, **settings)


def primal(model: MulticlassSVMClassifier, X: object, y: np.ndarray, weight: object = 1.0) -> float:
    """Objective of a model of three classes or more, from its attributes."""
    X = X.toarray() if sp.issparse(X) else X
    scaling = model.intercept_scaling if model.fit_intercept else 1.0
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    W = np.column_stack([coef, model.intercept_ / scaling])
    X = np.column_stack([X, np.full(len(X), scaling)])
    bound = np.full(len(y), float(model.C)) * weight
    return objective(W, X, np.searchsorted(model.classes_, y), bound, model.formulation)


# The problem


@formulations
@pytest.mark.parametrize("scaling", [0.0, 1.0, 3.0])
def test_the_objective_is_the_oracles(formulation: str, scaling: float) -> None:
    X, y = noisy_classes(4, n_rows=50)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    weights[:5] = 0.0
    intercept = {"fit_intercept": scaling > 0, "intercept_scaling": scaling or 1.0}
    model = tight(formulation, **intercept, class_weight={1: 3.0}).fit(X, y, weights)
    total = weights * np.where(y == 1, 3.0, 1.0)
    best = optimum(np.column_stack([X, np.full(50, scaling)]), y, 4, 0.1 * total, formulation)
    assert primal(model, X, y, total) == pytest.approx(best, rel=1e-6)
    assert model.relative_gap_ <= 1e-7
    assert model.dual_gap_ <= 1e-7 * best
    assert model.converged_
    assert model.history_["primal"][-1] == pytest.approx(best, rel=1e-6)
    assert model.n_iter_ == model.history_["iteration"][-1]


@pytest.mark.parametrize(
    ("formulation", "C", "factor"),
    [("ovr", 1.0, 1.0), ("ww", 2.0, 1.0), ("cs", 2.0, 1.0), ("llw", 0.5, 2.0)],
)
def test_two_classes_are_one_binary_machine(formulation: str, C: float, factor: float) -> None:
    X, y = noisy_classes(2)
    ours = tight(formulation).fit(X, y)
    theirs = LinearSVC(loss="hinge", C=0.1 * C, tol=1e-9, max_iter=10**6).fit(X, y)
    assert ours.coef_.shape == (1, 10)
    np.testing.assert_allclose(ours.coef_, factor * theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, factor * theirs.intercept_, atol=1e-3)
    decision = ours.decision_function(X)
    assert decision.shape == (400,)
    np.testing.assert_array_equal(ours.predict(X), (decision > 0).astype(int))
    both = ours.predict_top_k(X, 2)
    np.testing.assert_array_equal(both[:, 0], ours.predict(X))
    np.testing.assert_array_equal(both.sum(axis=1), 1)


def test_one_against_the_rest_is_that_of_linearsvc() -> None:
    X, y = noisy_classes(4)
    ours = tight("ovr").fit(X, y)
    theirs = LinearSVC(loss="hinge", C=0.1, tol=1e-9, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


# Forms of rows and weights


@formulations
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forms_of_rows_give_one_solution(formulation: str, kind: object, dtype: type) -> None:
    X, y = noisy_classes(4, n_rows=100)
    X[np.abs(X) < 0.5] = 0
    given = kind(X.astype(dtype))  # type: ignore[operator]
    model = tight(formulation).fit(given, y)
    expected = tight(formulation).fit(X, y)
    assert primal(model, X, y) == pytest.approx(primal(expected, X, y), rel=3e-7)
    np.testing.assert_allclose(
        model.decision_function(given), expected.decision_function(X), atol=5e-3
    )


@formulations
def test_small_sets_do_not_know_order_and_copies(formulation: str) -> None:
    X, y = noisy_classes(4, n_rows=100)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight.astype(int)))
    weighted = tight(formulation, tol=1e-3).fit(X, y, weight)
    repeated = tight(formulation, tol=1e-3).fit(X[order], y[order])
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)


@formulations
def test_larger_sets_do_not_know_them_within_tol(
    formulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiclass_fit, "CANONICAL_VALUES", 0)
    X, y = noisy_classes(4, n_rows=100)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight.astype(int)))
    weighted = tight(formulation, tol=1e-6).fit(X, y, weight)
    repeated = tight(formulation, tol=1e-6).fit(X[order], y[order])
    assert not np.array_equal(weighted.coef_, repeated.coef_)
    assert primal(weighted, X, y, weight) == pytest.approx(primal(repeated, X, y, weight), rel=2e-6)


@formulations
def test_balanced_weights_are_those_weights(formulation: str) -> None:
    X, y = noisy_classes(4)
    keep = (y < 2) | (np.arange(len(y)) % 3 == 0)
    X, y = X[keep], y[keep]
    factors = len(y) / (4 * np.bincount(y))
    by_name = tight(formulation, class_weight="balanced", tol=1e-5).fit(X, y)
    given = tight(formulation, tol=1e-5).fit(X, y, factors[y])
    one, other = (primal(model, X, y, factors[y]) for model in (by_name, given))
    assert one == pytest.approx(other, rel=1e-5)


# Labels and rows of every kind


@formulations
@pytest.mark.parametrize(
    "names",
    [
        np.array(["cat", "dog", "eel", "fox"]),
        np.array(["cat", "dog", "eel", "fox"], dtype=object),
        np.array([-7, 0, 3, 900]),
        np.array([0.5, 1.5, 2.5, 3.5]).astype(str),
    ],
)
def test_labels_of_any_kind(formulation: str, names: np.ndarray) -> None:
    X, y = noisy_classes(4)
    names = np.sort(names)
    model = MulticlassSVMClassifier(formulation, C=0.1, random_state=0).fit(X, names[y])
    plain = MulticlassSVMClassifier(formulation, C=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), names[plain.predict(X)])
    assert model.predict(X).dtype == names.dtype
    np.testing.assert_array_equal(model.predict_top_k(X, 2), names[plain.predict_top_k(X, 2)])


@formulations
def test_classes_of_one_row_and_rows_of_zeros(formulation: str) -> None:
    X, y = np.eye(6)[:, :5], np.arange(6)  # the last row is all zeros
    model = tight(formulation, C=10.0, fit_intercept=False).fit(X, y)
    best = optimum(X, y, 6, np.full(6, 10.0), formulation)
    assert primal(model, X, y) == pytest.approx(best, rel=1e-6)
    np.testing.assert_array_equal(model.predict(X)[:5], y[:5])
    everything = MulticlassSVMClassifier(formulation).fit(np.zeros((4, 3)), [0, 1, 2, 0])
    assert everything.relative_gap_ <= 1e-3
    assert np.all(np.isfinite(everything.decision_function(X[:, :3])))


def test_a_class_of_weight_zero_does_not_exist() -> None:
    X, y = noisy_classes(4)
    model = tight("ww", tol=1e-3).fit(X, y, y != 2)
    assert model.classes_.tolist() == [0, 1, 3]
    assert model.coef_.shape == (3, 10)
    expected = tight("ww", tol=1e-3).fit(X[y != 2], y[y != 2])
    np.testing.assert_array_equal(model.coef_, expected.coef_)


# Threads, engines, memory


SOLVERS = [*((each, "auto") for each in FORMULATIONS), ("ww", "tournament"), ("llw", "printed")]
solvers = pytest.mark.parametrize(("formulation", "solver"), SOLVERS)


@solvers
def test_threads_change_nothing(formulation: str, solver: str) -> None:
    X, y = noisy_classes(8, n_rows=100)
    settings = {"solver": solver, "C": 0.01, "tol": 1e-2}
    one, two = (tight(formulation, **settings, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.solver_ == solver or solver == "auto"
    for other in (two, tight(formulation, **settings, engine=LocalEngine(2)).fit(X, y)):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
        assert one.history_["primal"].tolist() == other.history_["primal"].tolist()


@solvers
def test_little_memory_gives_the_same_objective(formulation: str, solver: str) -> None:
    X, y = noisy_classes(8, n_rows=100)
    settings = {"solver": solver, "C": 0.01, "tol": 1e-2}
    models = [tight(formulation, **settings, memory_limit=limit) for limit in (1000, "1GiB")]
    low, high = (primal(model.fit(X, y), X, y) for model in models)
    assert low == pytest.approx(high, rel=1e-2)


# Warm starts


@formulations
def test_a_warm_start_at_the_solution_does_nothing(formulation: str) -> None:
    X, y = noisy_classes(4)
    model = MulticlassSVMClassifier(formulation, C=0.1, warm_start=True, random_state=0).fit(X, y)
    assert model.n_iter_ > 0
    before = model.coef_
    model.fit(X, y)
    assert model.n_iter_ == 0
    np.testing.assert_allclose(model.coef_, before, rtol=1e-9, atol=1e-12)
    # Nothing is kept unless it is asked for, and a fit without it begins anew.
    assert model.set_params(warm_start=False).fit(X, y).n_iter_ > 0
    assert model._duals is None


@formulations
@pytest.mark.parametrize("C", [0.05, 0.2])
def test_a_warm_start_goes_on_from_another_C(formulation: str, C: float) -> None:
    X, y = noisy_classes(4)
    model = tight(formulation, tol=1e-4, warm_start=True).fit(X, y).set_params(C=C).fit(X, y)
    cold = tight(formulation, tol=1e-4, C=C).fit(X, y)
    assert model.history_["dual"][0] > 0.5 * cold.history_["dual"][-1]
    assert primal(model, X, y) == pytest.approx(primal(cold, X, y), rel=1e-4)


def test_a_warm_start_that_does_not_fit_is_none() -> None:
    X, y = noisy_classes(4)
    model = tight("ww", tol=1e-4, warm_start=True).fit(X, y)
    for rows in (slice(0, 300), y < 3):
        again = tight("ww", tol=1e-4).fit(X[rows], y[rows])
        np.testing.assert_array_equal(model.fit(X[rows], y[rows]).coef_, again.coef_)


# Limits, interrupts, errors


@formulations
def test_limits_leave_a_model_and_its_gap(formulation: str) -> None:
    X, y = noisy_classes(4)
    for limit in ({"max_iter": 2}, {"max_time": 1e-9}):
        model = tight(formulation, tol=1e-12, **limit)
        told = r"MulticlassSVMClassifier did not converge: relative gap [\d.e-]+, wanted tol=1e-12"
        with pytest.warns(ConvergenceWarning, match=told + ". `max_"):
            model.fit(X, y)
        assert not model.converged_
        assert model.relative_gap_ > 1e-12
        assert model.history_["relative_gap"][-1] == model.relative_gap_
        if "max_iter" in limit:  # a clock may stop the fit before its first row
            assert model.relative_gap_ < 1
            assert np.all(np.any(model.coef_, axis=1))


@solvers
def test_an_interrupt_leaves_the_last_state(
    formulation: str, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(progress: FitProgress, iteration: int, *_: object) -> None:
        if iteration >= 3:
            raise KeyboardInterrupt

    X, y = noisy_classes(4)
    model = tight(formulation, solver=solver, C=0.01, tol=1e-12, warm_start=True)
    monkeypatch.setattr(FitProgress, "report", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.all(np.any(model.coef_, axis=1))
    assert not model.converged_
    assert np.isnan(model.relative_gap_)
    assert model.n_iter_ >= 3
    monkeypatch.undo()
    assert model.set_params(tol=1e-2).fit(X, y).history_["dual"][0] > 0


def test_an_interrupt_at_the_beginning_leaves_the_earlier_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    X, y = noisy_classes(4)
    model = tight("ww", tol=1e-3).fit(X, y)
    before = model.coef_
    monkeypatch.setattr(FitProgress, "report", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :5], y)
    assert model.coef_ is before
    assert model.n_features_in_ == 10


def test_verbose_prints_the_gap(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = noisy_classes(4)
    tight("ww", tol=1e-3, verbose=1).fit(X, y)
    assert "[MulticlassSVMClassifier] iteration 1: relative gap" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"C": -1.0}, "'C' parameter"),
        ({"formulation": "ovo"}, "'formulation' parameter"),
        ({"solver": "parts"}, "'solver' parameter"),
        ({"formulation": "cs", "solver": "printed"}, "'ww' or 'llw'; got formulation='cs'"),
        ({"engine": "cloud"}, "'engine' parameter"),
        ({"memory_limit": "much"}, "`memory_limit` must be"),
        ({"n_jobs": 0}, "`n_jobs` must not be 0"),
        ({"class_weight": {9: 1.0}}, "`class_weight` names none of the classes"),
    ],
)
def test_wrong_settings(settings: dict, message: str) -> None:
    X, y = noisy_classes(4)
    model = MulticlassSVMClassifier(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


def test_wrong_data() -> None:
    X, y = noisy_classes(4)
    with pytest.raises(ValueError, match="needs rows of at least two classes; got only one class"):
        MulticlassSVMClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="two classes with a positive weight"):
        MulticlassSVMClassifier().fit(X, y, y == 1)
    X[3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        MulticlassSVMClassifier().fit(X, y)


@pytest.mark.parametrize("formulation", ["ww", "llw", "cs", "ovr"])
def test_constant_features(formulation: str) -> None:
    """The solution is zero, and the first certificate may prove it: nothing stalls."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MulticlassSVMClassifier(formulation).fit(np.ones((60, 3)), np.arange(60) % 3)
    assert model.converged_
    assert model.relative_gap_ <= 1e-3
