"""Linear classifiers solve the problem they state, whatever form the rows come in."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_models import LOSSES, PAIRS, noisy_classes, primal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from oracle import solve_with_clarabel
from widemargin import LinearODMClassifier, LinearSVMClassifier
from widemargin.core.progress import FitProgress
from widemargin.linear.fit import LinearFit

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
losses = pytest.mark.parametrize("loss", LOSSES)
pairs = pytest.mark.parametrize(("solver", "loss"), PAIRS)


def tight(loss: str, **settings: object):
    settings = {"tol": 1e-9, "max_iter": 100_000, "random_state": 0, **settings}
    return clone(LOSSES[loss]).set_params(**settings)


# The problem


@pairs
@pytest.mark.parametrize("scaling", [0.0, 1.0, 3.0])
def test_the_objective_is_the_oracles(solver: str, loss: str, scaling: float) -> None:
    X, y = noisy_classes(n_rows=120)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    intercept = {"fit_intercept": scaling > 0, "intercept_scaling": scaling or 1.0}
    model = tight(loss, solver=solver, tol=1e-7, C=0.5, **intercept).fit(X, y, weights)
    label = np.where(y == 1, 1.0, -1.0)
    best = solve_with_clarabel(X @ X.T + scaling**2, label, loss, 0.5, weights)
    terms = model._loss().terms(0.5 * weights)
    w = np.append(model.coef_, model.intercept_ / (scaling or 1.0))
    found = 0.5 * w @ w + terms.primal(label * model.decision_function(X)).sum()
    assert found == pytest.approx(best.objective, rel=1e-6)
    assert model.relative_gap_ <= 1e-7
    assert model.converged_
    assert model.solver_ == solver


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_problem_is_that_of_linearsvc(loss: str) -> None:
    X, y = noisy_classes(4)
    ours = tight(loss).fit(X, y)
    theirs = LinearSVC(loss=loss, dual=True, tol=1e-8, max_iter=10**6, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)


def test_lam_is_the_weight_of_the_mean() -> None:
    X, y = noisy_classes()
    by_C = LinearODMClassifier(C=0.5).fit(X, y)
    by_lam = LinearODMClassifier(lam=0.5 * len(y) * 0.8**2).fit(X, y)
    np.testing.assert_allclose(by_lam.coef_, by_C.coef_, rtol=1e-12)


# Rows


@pairs
def test_forms_of_the_rows(solver: str, loss: str) -> None:
    X, y = noisy_classes(3)
    X[np.abs(X) < 0.3] = 0
    X = X.astype(np.float32)
    # Every form takes the same steps; as printed, those of DSVRG are too many for a smaller gap.
    settings = {"solver": solver, "tol": 1e-3 if solver == "dsvrg_printed" else 1e-7}
    expected = tight(loss, **settings).fit(X, y).decision_function(X)
    rows = sp.csr_matrix(X)
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for form in (X.astype(np.float64), np.asfortranarray(X), rows, sp.csr_array(X), wide):
        model = tight(loss, **settings).fit(form, y)
        np.testing.assert_allclose(model.decision_function(form), expected, atol=1e-3)


@losses
@pytest.mark.parametrize("form", ["dense", "sparse", "memory map"])
def test_single_precision_rows_are_not_copied(
    loss: str, form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    X, y = noisy_classes(3)
    X = X.astype(np.float32)
    if form == "sparse":
        X = sp.csr_matrix(X)
    elif form == "memory map":
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    seen = []
    whole = LinearFit.solve_all

    def watched(fit: LinearFit, report: object) -> None:
        seen.append(fit.problems)
        whole(fit, report)

    monkeypatch.setattr(LinearFit, "solve_all", watched)
    model = clone(LOSSES[loss]).fit(X, y)
    (posed,) = seen
    parts = [X.data, X.indices, X.indptr] if form == "sparse" else [X]
    given = posed.whole.X
    taken = [given.data, given.indices, given.indptr] if form == "sparse" else [given]
    assert all(np.shares_memory(a, b) for a, b in zip(parts, taken, strict=True))
    assert taken[0].dtype == np.float32
    assert model.coef_.dtype == np.float64
    problems = [posed.in_one_place(k, 1) for k in range(posed.n_problems)]
    assert all(problem.rows is posed.whole.rows for problem in problems)


@losses
def test_weights(loss: str) -> None:
    X, y = noisy_classes(3)
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    times = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted = tight(loss).fit(X, y, weights)
    repeated = tight(loss).fit(X[times], y[times])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=2e-4
    )
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        tight(loss).fit(X, y, np.zeros(len(y)))


@losses
def test_class_weights_multiply_the_weights(loss: str) -> None:
    X, y = noisy_classes()
    by_class = tight(loss, class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    by_row = tight(loss).fit(X, y, np.where(y == 0, 3.0, 0.5))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-6)
    balanced = tight(loss, class_weight="balanced").fit(X, y)
    counts = np.bincount(y)
    by_row = tight(loss).fit(X, y, (len(y) / (2 * counts))[y])
    np.testing.assert_allclose(balanced.coef_, by_row.coef_, atol=1e-6)


@pairs
@pytest.mark.parametrize("n_classes", [2, 5])
def test_results_do_not_depend_on_threads(solver: str, loss: str, n_classes: int) -> None:
    X, y = noisy_classes(n_classes, 3000)
    model = clone(LOSSES[loss]).set_params(solver=solver, random_state=0)
    one = clone(model).set_params(n_jobs=1).fit(X, y)
    for limit in ("1GiB", "1MB"):  # several problems at a time, or one
        two = clone(model).set_params(n_jobs=2, memory_limit=limit).fit(X, y)
        np.testing.assert_array_equal(one.coef_, two.coef_)
        assert one.history_.keys() == two.history_.keys()
        np.testing.assert_array_equal(one.history_["primal"], two.history_["primal"])


def test_one_problem_per_class() -> None:
    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = LinearODMClassifier(n_jobs=2).fit(X, y)
    assert model.coef_.shape == (10, 64)
    assert model.intercept_.shape == (10,)
    for k in (0, 7):
        alone = LinearODMClassifier().fit(X, y == k)
        np.testing.assert_array_equal(alone.coef_[0], model.coef_[k])
        np.testing.assert_array_equal(alone.intercept_[0], model.intercept_[k])


# What a fit tells of itself


@pairs
def test_history(solver: str, loss: str) -> None:
    X, y = noisy_classes(3, 1000)
    model = clone(LOSSES[loss]).set_params(solver=solver).fit(X, y)
    history = model.history_
    assert len({len(column) for column in history.values()}) == 1
    assert set(history["problem"]) == {0, 1, 2}
    for k in range(3):
        own = history["problem"] == k
        assert np.all(np.diff(history["gradient_evaluations"][own]) > 0)
        assert np.all(np.diff(history["seconds"][own]) >= 0)
        assert history["relative_gap"][own][-1] <= model.tol
    last = np.append(np.flatnonzero(np.diff(history["problem"])), len(history["problem"]) - 1)
    gaps = history["primal"][last] - history["dual"][last]
    assert model.dual_gap_ == pytest.approx(gaps.sum(), rel=1e-6)
    assert model.relative_gap_ == pytest.approx((gaps / history["primal"][last]).max(), rel=1e-6)


def test_gaps_are_true() -> None:
    X, y = noisy_classes()
    for loss in LOSSES:
        best = primal(tight(loss, tol=1e-10).fit(X, y), X, y)
        model = clone(LOSSES[loss]).set_params(tol=1e-2).fit(X, y)
        found = primal(model, X, y)
        assert best <= found * (1 + 1e-12)
        assert found - best <= model.dual_gap_ * (1 + 1e-6)


@pairs
def test_limits_are_named(solver: str, loss: str) -> None:
    X, y = noisy_classes(3, 2000)
    model = clone(LOSSES[loss]).set_params(solver=solver, tol=1e-13, C=100.0)
    with pytest.warns(ConvergenceWarning, match=r"in 3 of 3 binary .*`max_iter` was reached"):
        clone(model).set_params(max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        timed = clone(model).set_params(max_time=1e-6).fit(X, y)
    assert not timed.converged_
    assert timed.predict(X).shape == y.shape


def test_verbose_tells_the_gap(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = noisy_classes()
    LinearODMClassifier(verbose=1).fit(X, y)
    assert "[LinearODMClassifier] iteration 1: relative gap" in capsys.readouterr().out
    LinearSVMClassifier(verbose=1).fit(*noisy_classes(3))
    assert "binary problems: 3 of 3" in capsys.readouterr().out


@losses
def test_an_interrupt_leaves_a_model(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy_classes(n_rows=2000)
    last = 12 if loss == "hinge" else 3  # the first steps of the hinge may be too long to be taken

    def interrupt(progress: object, iteration: int, *_: float) -> None:
        if iteration >= last:
            raise KeyboardInterrupt

    model = clone(LOSSES[loss]).set_params(tol=1e-12)
    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "report", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert not model.converged_
    assert np.isnan(model.relative_gap_)
    assert model.score(X, y) > 0.6
    assert len(model.history_["primal"]) == last


def test_an_interrupt_before_anything_keeps_the_earlier_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = noisy_classes()
    model = LinearODMClassifier().fit(X, y)
    before = model.coef_

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "report", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.coef_ is before


# Warm starts and validation rows


@losses
def test_warm_start(loss: str) -> None:
    X, y = noisy_classes(3, 1000)
    model = clone(LOSSES[loss]).set_params(warm_start=True, solver="newton").fit(X, y)
    cold, coef = model.n_iter_, model.coef_
    model.fit(X, y)
    if loss == "hinge":  # the weights alone do not tell the duals
        assert model.n_iter_ < cold
    else:
        assert model.n_iter_ == 0
        np.testing.assert_array_equal(model.coef_, coef)
    model.fit(X[:, :7], y)  # other features: from nothing
    assert model.coef_.shape == (3, 7)
    model.fit(X[:, :7], np.minimum(y, 1))
    assert model.coef_.shape == (1, 7)


def test_warm_start_of_the_dual_gives_the_same_optimum() -> None:
    X, y = noisy_classes(n_rows=1000)
    for loss in LOSSES:
        model = tight(loss, solver="dual", warm_start=True, tol=1e-5).fit(X, y)
        best = primal(model, X, y)
        assert primal(model.fit(X, y), X, y) == pytest.approx(best, rel=2e-5)


@pairs
def test_validation_rows_choose_the_iterate(solver: str, loss: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 100))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    X_val = rng.normal(size=(500, 100))
    y_val = (X_val[:, 0] > 0).astype(int)
    model = clone(LOSSES[loss]).set_params(C=100.0, tol=1e-8, solver=solver, random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    scores = model.history_["validation_score"]
    assert len(scores) == len(model.history_["primal"])
    assert model.score(X_val, y_val) == scores[1:].max()


def test_validation_rows_end_the_fit() -> None:
    X, y = noisy_classes(n_rows=2000)
    settings = {"tol": 1e-12, "validation_fraction": 0.2, "random_state": 0, "C": 100.0}
    model = LinearSVMClassifier(loss="hinge", **settings).fit(X, y)  # and without a warning
    scores = model.history_["validation_score"]
    assert model.relative_gap_ > 1e-12
    assert len(scores) - 1 - np.flatnonzero(scores == scores.max())[0] >= 5
    whole = LinearSVMClassifier(loss="hinge", **{**settings, "validation_fraction": None})
    with pytest.warns(ConvergenceWarning):
        whole.set_params(max_iter=len(scores) + 5).fit(X, y)


def test_validation_is_refused_where_it_makes_no_sense() -> None:
    X, y = noisy_classes()
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        LinearODMClassifier().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match=r"validation_fraction=0\.5 is set too"):
        LinearODMClassifier(validation_fraction=0.5).fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="labels that y does not"):
        LinearODMClassifier().fit(X, y, X_val=X, y_val=y + 1)


# Solvers that are not for every loss, or have settings of their own


@pytest.mark.parametrize("solver", ["svrg", "dsvrg", "sampled_svrg"])
def test_the_hinge_is_refused_where_gradients_must_be_continuous(solver: str) -> None:
    model = LinearSVMClassifier(loss="hinge", solver=solver)
    for fit in (model.fit, lambda X, y: model.fit_path(X, y, [1.0])):
        with pytest.raises(ValueError, match=f"solver='{solver}' is for a smooth loss; .*'newton'"):
            fit(*noisy_classes())


@losses
@pytest.mark.parametrize("batch_size", [1, 20, None])
def test_pegasos_comes_near_the_optimum(loss: str, batch_size: int | None) -> None:
    X, y = noisy_classes(n_rows=1000)
    settings = {"C": 0.01, "tol": 0.05, "max_iter": 2000, "random_state": 0}
    model = clone(LOSSES[loss]).set_params(solver="pegasos", batch_size=batch_size, **settings)
    model.fit(X, y)
    best = primal(tight(loss, C=0.01).fit(X, y), X, y)
    assert best <= primal(model, X, y) <= 1.05 * best
    if batch_size is None:
        return
    other = clone(model).set_params(batch_size=50, random_state=0).fit(X, y)
    assert not np.array_equal(other.coef_, model.coef_)


def test_parts_of_dsvrg() -> None:
    X, y = noisy_classes(n_rows=1000)
    few, many = (
        LinearODMClassifier(solver="dsvrg", n_parts=n, random_state=0).fit(X, y) for n in (2, 8)
    )
    assert not np.array_equal(few.coef_, many.coef_)
    assert primal(few, X, y) == pytest.approx(primal(many, X, y), rel=2e-3)


# Input that deserves a word


def test_a_feature_that_hides_the_others_is_named() -> None:
    X, y = noisy_classes()
    X[:, 4] *= 1e4
    with pytest.warns(UserWarning, match="Feature 4 carries .* the penalty on the weights"):
        LinearODMClassifier().fit(X, y)


def test_one_class_is_refused() -> None:
    X, y = noisy_classes()
    with pytest.raises(ValueError, match="at least two classes; got only one class, 1"):
        LinearSVMClassifier().fit(X, np.ones(len(y), dtype=int))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("C", 0.0), ("solver", "blocks"), ("intercept_scaling", 0.0), ("validation_fraction", 1.0)],
)
def test_wrong_settings_are_named(setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"'{setting}' parameter"):
        LinearODMClassifier(**{setting: value}).fit(*noisy_classes())


@pytest.mark.parametrize("C", [1e4, 1e6, 1e8])
@losses
def test_large_C_on_separable_rows(loss: str, C: float) -> None:
    X = np.random.default_rng(0).standard_normal((200, 20))
    model = clone(LOSSES[loss]).set_params(C=C).fit(X, X[:, 0] > 0)
    assert model.relative_gap_ <= model.tol
    # With the largest, rounding leads one kind of machine through twice the steps of another.
    assert model.n_iter_ <= (300 if C <= 1e6 else model.max_iter)


@losses
def test_absurd_C_is_warned_of(loss: str) -> None:
    X, y = noisy_classes(n_rows=200)
    model = clone(LOSSES[loss]).set_params(C=1e300, max_iter=50)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert model.n_iter_ <= 50


@pytest.mark.parametrize(("solver", "loss"), [*PAIRS, ("pegasos", "hinge"), ("pegasos", "odm")])
def test_max_iter_bounds_n_iter(solver: str, loss: str) -> None:
    X, y = noisy_classes()
    model = clone(LOSSES[loss]).set_params(solver=solver, tol=1e-15, max_iter=2)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.n_iter_ == 2
    assert model.history_["iteration"][-1] == 2
