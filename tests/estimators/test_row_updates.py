"""Rows added to and removed from fitted kernel machines."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import ODMClassifier, SVMClassifier, load_model
from widemargin.core.outcome import certify
from widemargin.estimators import kernel_machine
from widemargin.kernel.problems import binary_tasks
from widemargin.kernel.update_fit import UpdateFit

MACHINES = {
    "hinge": SVMClassifier(C=2.0),
    "squared_hinge": SVMClassifier(C=2.0, loss="squared_hinge"),
    "odm": ODMClassifier(C=2.0),
}
TOL = 1e-6


@pytest.fixture(params=["small", "blocks"])
def route(request, monkeypatch):
    """Solve small sets in one call, as is usual, or as if they were large."""
    if request.param == "blocks":
        monkeypatch.setattr(kernel_machine, "is_small", lambda *args, **options: False)
    return request.param


@pytest.fixture
def as_if_large(monkeypatch):
    monkeypatch.setattr(kernel_machine, "is_small", lambda *args, **options: False)


def rows(n, n_classes=2, seed=0):
    X, y = make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.05, random_state=seed
    )
    return X, y


def machine(name="hinge", **parameters):
    parameters = {"keep_rows": True, "tol": TOL, "gamma": 0.2, "fit_intercept": False, **parameters}
    return clone(MACHINES[name]).set_params(**parameters)


def largest_gap(model, X, y, weights=None):
    """Compute the relative gaps of all problems from nothing but the model and its rows."""
    weights = np.ones(len(y)) if weights is None else weights
    assert model.n_samples_fit_ == len(y)
    used = np.flatnonzero(weights > 0)
    classes, codes = np.unique(y[used], return_inverse=True)
    assert np.array_equal(classes, model.classes_)
    X = X.toarray() if sp.issparse(X) else X
    K = rbf_kernel(X[used], gamma=model.gamma_) + model.kernel_constant_
    coef = np.zeros((len(model.dual_coef_), len(y)))
    coef[:, model.support_] = model.dual_coef_
    worst = 0.0
    for k, task in enumerate(binary_tasks(codes, len(classes), model.multi_class_)):
        own = np.arange(len(used)) if task.rows is None else task.rows
        dual = coef[k, used[own]] * task.label
        margin = task.label * (K[np.ix_(own, own)] @ coef[k, used[own]])
        terms = model._loss().terms(model.C * weights[used[own]])
        worst = max(worst, certify(terms, dual, margin).relative_gap)
    return worst


def assert_solved(model, X, y, weights=None):
    assert model.converged_
    assert model.relative_gap_ <= model.tol
    assert largest_gap(model, X, y, weights) <= model.tol * (1 + 1e-6) + 1e-12
    assert np.array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(("n_classes", "scheme"), [(2, "ovr"), (3, "ovr"), (3, "ovo")])
def test_a_sequence_of_updates_ends_where_a_fit_does(route, name, n_classes, scheme):
    X, y = rows(400, n_classes)
    random, fresh = np.random.default_rng(1), 250
    model = machine(name, multi_class=scheme, decision_function_shape=scheme)
    model.fit(X[:fresh], y[:fresh])
    present = np.arange(fresh)
    for step in range(6):
        if step % 2 == 0:
            count = int(random.integers(1, 40))
            new = np.arange(fresh, fresh + count)
            model.add_rows(X[new], y[new])
            present, fresh = np.concatenate([present, new]), fresh + count
        else:
            gone = random.choice(len(present), int(random.integers(1, 30)), replace=False)
            model.remove_rows(gone)
            present = np.delete(present, gone)
        assert_solved(model, X[present], y[present])
    again = clone(model).fit(X[present], y[present])
    far = np.abs(again.decision_function(X) - model.decision_function(X)).max()
    assert far < 0.01  # a gap of 1e-6 says no more
    assert again.score(X, y) == pytest.approx(model.score(X, y), abs=0.01)


@pytest.mark.parametrize("name", MACHINES)
def test_beyond_one_block(name):
    X, y = rows(2600)
    model = machine(name, tol=1e-4).fit(X[:2500], y[:2500])
    model.add_rows(X[2500:], y[2500:])
    assert_solved(model, X, y)
    gone = np.arange(0, 200)
    model.remove_rows(gone)
    assert_solved(model, X[200:], y[200:])


def test_an_update_computes_few_kernel_values():
    X, y = rows(4040)
    model = machine(tol=1e-3, C=0.5).fit(X[:4000], y[:4000])
    fitted = model.history_["passes"][-1]
    model.add_rows(X[4000:4001], y[4000:4001])
    assert model.history_["passes"][-1] < 0.1 * fitted
    model.add_rows(X[4001:], y[4001:])
    assert model.history_["passes"][-1] < 0.5 * fitted


def test_nothing_to_do_is_not_done(as_if_large):
    """Rows without a dual come and go without a working set, and so do none at all."""
    X, y = rows(400)
    model = machine(tol=1e-4).fit(X, y)
    idle = np.setdiff1d(np.arange(400), model.support_)
    before = model.decision_function(X)
    model.remove_rows(idle[:50])
    assert model.n_iter_ == 0
    model.add_rows(X[idle[:50]], y[idle[:50]])
    assert model.n_iter_ == 0
    assert model.remove_rows([]) is model
    assert model.n_samples_fit_ == 400
    assert np.abs(model.decision_function(X) - before).max() < 1e-9


class TestWeights:
    def test_sample_weights(self, route):
        X, y = rows(300)
        weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
        model = machine("odm").fit(X[:250], y[:250], weights[:250])
        model.add_rows(X[250:], y[250:], weights[250:])
        assert_solved(model, X, y, weights)
        assert_solved(model.remove_rows(np.arange(40)), X[40:], y[40:], weights[40:])

    def test_rows_of_weight_zero_have_numbers(self, route):
        X, y = rows(300)
        weights = np.ones(300)
        weights[[3, 40, 260, 299]] = 0.0
        model = machine().fit(X[:250], y[:250], weights[:250])
        model.add_rows(X[250:], y[250:], weights[250:])
        assert_solved(model, X, y, weights)
        gone = np.array([0, 3, 41, 280])
        model.remove_rows(gone)
        left = np.delete(np.arange(300), gone)
        assert_solved(model, X[left], y[left], weights[left])

    def test_a_row_twice_is_a_weight_of_two(self, route):
        X, y = rows(250)
        twice = machine().fit(X, y).add_rows(X[:20], y[:20])
        weights = np.ones(250)
        weights[:20] = 2.0
        heavy = clone(twice).fit(X, y, weights)
        assert np.abs(twice.decision_function(X) - heavy.decision_function(X)).max() < 0.01

    @pytest.mark.parametrize("name", ["hinge", "odm"])
    def test_balanced_classes_are_weighed_anew(self, route, name):
        X, y = rows(300)
        model = machine(name, class_weight="balanced").fit(X[:250], y[:250])
        more = np.flatnonzero(y[250:] == 1) + 250
        model.add_rows(X[more], y[more])
        both = np.concatenate([np.arange(250), more])
        counts = np.bincount(y[both])
        factors = (len(both) / (2 * counts))[y[both]]
        assert model.converged_
        assert largest_gap(model, X[both], y[both], factors) <= TOL * (1 + 1e-6)

    def test_a_mean_loss_is_weighed_anew(self, route):
        X, y = rows(300)
        model = machine("odm", lam=50.0).fit(X[:250], y[:250]).add_rows(X[250:], y[250:])
        model.C = 50.0 / (300 * 0.8**2)  # what `lam` stands for
        assert largest_gap(model, X, y) <= TOL * (1 + 1e-6)


class TestClasses:
    @pytest.mark.parametrize("scheme", ["ovr", "ovo"])
    def test_classes_come_and_go(self, route, scheme):
        X, y = rows(400, 4)
        by_class = np.argsort(y, kind="stable")
        X, y = X[by_class], y[by_class]
        begin = [int(np.searchsorted(y, c)) for c in range(5)]
        model = machine(multi_class=scheme).fit(X[: begin[2]], y[: begin[2]])
        for c in (2, 3):
            model.add_rows(X[begin[c] : begin[c + 1]], y[begin[c] : begin[c + 1]])
            assert_solved(model, X[: begin[c + 1]], y[: begin[c + 1]])
        model.remove_rows(np.arange(begin[0], begin[1]))
        assert_solved(model, X[begin[1] :], y[begin[1] :])
        model.remove_rows(np.arange(begin[3] - begin[1], begin[4] - begin[1]))
        assert_solved(model, X[begin[1] : begin[3]], y[begin[1] : begin[3]])
        assert model.classes_.tolist() == [1, 2]

    def test_a_problem_that_was_there_is_found_again(self, as_if_large):
        """The pair of two classes starts from the problem of these two."""
        X, y = rows(400, 3)
        two = y < 2
        model = machine(multi_class="ovo", tol=1e-3).fit(X[two], y[two])
        before = model.decision_function(X)
        model.set_params(decision_function_shape="ovo").add_rows(X[~two], y[~two])
        # Class 0 is the positive one of the pair.
        assert np.abs(model.decision_function(X)[:, 0] + before).max() < 1e-9

    def test_text_labels(self, route):
        X, y = rows(300, 3)
        names = np.array(["a", "bee", "c"])[y]
        model = machine().fit(X[:200][y[:200] != 1], names[:200][y[:200] != 1])
        order = np.concatenate([np.flatnonzero(y[:200] != 1), np.arange(200, 300)])
        assert_solved(model.add_rows(X[200:], names[200:]), X[order], names[order])

    def test_floats_of_integer_classes_keep_the_type(self):
        X, y = rows(200)
        model = machine().fit(X[:150], y[:150]).add_rows(X[150:], y[150:].astype(float))
        assert model.classes_.dtype == y.dtype


@pytest.mark.parametrize("name", ["hinge", "odm"])
def test_sparse_rows_are_dense_rows(route, name):
    X, y = rows(400, 3)
    X[X < 0] = 0.0
    models = []
    for form in (np.asarray, sp.csr_matrix):
        model = machine(name, multi_class="ovr").fit(form(X[:300]), y[:300])
        models.append(model.add_rows(form(X[300:]), y[300:]).remove_rows(np.arange(0, 60)))
    dense, sparse = (each.decision_function(X) for each in models)
    assert np.abs(dense - sparse).max() < 0.01  # a gap of 1e-6 says no more
    assert sp.issparse(models[1].support_vectors_)
    mixed = machine(name, multi_class="ovr").fit(sp.csr_matrix(X[:300]), y[:300])
    mixed.add_rows(X[300:], y[300:]).remove_rows(np.arange(0, 60))
    assert np.array_equal(mixed.decision_function(X), sparse)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_threads_do_not_matter(as_if_large, scheme):
    X, y = rows(700, 3)
    found = []
    for threads in (1, 2):
        model = machine("odm", multi_class=scheme, n_jobs=threads, tol=1e-4)
        model.fit(X[:600], y[:600]).add_rows(X[600:], y[600:]).remove_rows(np.arange(50))
        found.append(model.dual_coef_)
    assert np.array_equal(*found)


def test_single_precision_stays(as_if_large):
    X, y = rows(2600)
    single = X.astype(np.float32)
    model = machine(tol=1e-3).fit(single[:2500], y[:2500])
    model.add_rows(X[2500:], y[2500:]).remove_rows(np.arange(100))
    assert model.support_vectors_.dtype == np.float32
    exact = single[100:].astype(np.float64)
    assert model.relative_gap_ <= 1e-3
    assert largest_gap(model, exact, y[100:]) <= 1e-3


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian"])
def test_other_kernels(route, kernel):
    X, y = rows(400)
    settings = {"kernel": kernel, "fit_intercept": "auto", "tol": 1e-6}
    model = machine("odm", **settings).fit(X[:350], y[:350])
    constant = model.kernel_constant_
    model.add_rows(X[350:], y[350:]).remove_rows(np.arange(50))
    assert model.kernel_constant_ == constant
    assert model.relative_gap_ <= 1e-6
    again = machine("odm", **settings).fit(X[50:], y[50:])
    if again.kernel_constant_ == constant:
        assert np.abs(model.decision_function(X) - again.decision_function(X)).max() < 0.01


def test_the_width_of_the_fit_stays():
    X, y = rows(300)
    model = machine(gamma="scale").fit(X[:250], y[:250])
    width = model.gamma_
    assert model.add_rows(10 * X[250:], y[250:]).gamma_ == width
    assert clone(model).fit(np.vstack([X[:250], 10 * X[250:]]), y).gamma_ != width


def test_probabilities_are_calibrated_anew(route):
    X, y = rows(300)
    model = machine(calibrate="sigmoid").fit(X[:250], y[:250]).add_rows(X[250:], y[250:])
    again = clone(model).fit(X, y)
    assert np.abs(model.predict_proba(X) - again.predict_proba(X)).max() < 0.01


def test_pickles_keep_the_rows_and_files_do_not(tmp_path):
    X, y = rows(200)
    model = machine().fit(X[:150], y[:150])
    copy = pickle.loads(pickle.dumps(model)).add_rows(X[150:], y[150:])
    assert copy.n_samples_fit_ == 200
    model.save(tmp_path / "m.wm")
    loaded = load_model(tmp_path / "m.wm")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="model files do not hold them"):
        loaded.add_rows(X[150:], y[150:])


class TestRefusals:
    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            machine().remove_rows([0])

    def test_rows_not_kept(self):
        X, y = rows(100)
        model = machine(keep_rows=False).fit(X, y)
        with pytest.raises(ValueError, match="Set keep_rows=True and fit again"):
            model.add_rows(X, y)
        model = machine().fit(X, y).set_params(keep_rows=False).fit(X, y)
        with pytest.raises(ValueError, match="Set keep_rows=True and fit again"):
            model.remove_rows([1])

    def test_a_compressed_model(self):
        X, y = rows(200)
        with pytest.raises(ValueError, match="nor do compressed models"):
            machine().fit(X, y).compress(60).remove_rows([0])

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"strategy": "sodm"}, "Set strategy='exact'"),
            ({"kernel": "sigmoid"}, "positive semi-definite kernel"),
            ({"kernel": "poly", "coef0": -1.0}, "positive semi-definite kernel"),
            ({"kernel": "precomputed"}, "kernel by name"),
            ({"multi_class": "ww"}, "need binary problems"),
            ({"kernel": lambda A, B: A @ B.T}, "kernel by name"),
        ],
    )
    def test_fits_that_cannot_be_updated(self, parameters, message):
        X, y = rows(60)
        X = X @ X.T if parameters.get("kernel") == "precomputed" else X
        model = machine(**parameters)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        assert not hasattr(model, "classes_")

    def test_another_kernel(self):
        X, y = rows(100)
        model = machine().fit(X, y).set_params(gamma=3.0)
        with pytest.raises(ValueError, match=r"`gamma` was 0\.2 in the fit and is 3\.0 now"):
            model.add_rows(X, y)

    def test_all_classes_at_once(self):
        X, y = rows(100, 3)
        model = machine().fit(X, y).set_params(multi_class="cs")
        with pytest.raises(ValueError, match="need binary problems"):
            model.remove_rows([0])

    @pytest.mark.parametrize(
        ("indices", "message"),
        [
            ([100], "from 0 to 99"),
            ([-1], "from 0 to 99"),
            ([0.5], "list of row numbers"),
            ([[1, 2]], "list of row numbers"),
            (np.ones(99, dtype=bool), "mask of 100 booleans"),
            (np.arange(100), "at least two classes"),
        ],
    )
    def test_numbers_that_are_wrong(self, indices, message):
        X, y = rows(100)
        model = machine().fit(X, y)
        before = model.decision_function(X)
        with pytest.raises(ValueError, match=message):
            model.remove_rows(indices)
        assert np.array_equal(model.decision_function(X), before)
        assert model.n_samples_fit_ == 100

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X, y: (X[:, :5], y), "6 features"),
            (lambda X, y: (np.full_like(X, np.nan), y), "NaN"),
            (lambda X, y: (X, y[:-1]), "inconsistent"),
            (lambda X, y: (X, y.astype(str)), "kind that was trained on"),
            (lambda X, y: (X, y + 0.5), "Unknown label type"),
            (lambda X, y: (X[:0], y[:0]), "0 sample"),
        ],
    )
    def test_rows_that_are_wrong(self, change, message):
        X, y = rows(100)
        model = machine().fit(X, y)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            model.add_rows(*change(X, y))
        assert pickle.dumps(model) == before

    def test_feature_names(self):
        pandas = pytest.importorskip("pandas")
        X, y = rows(100)
        frame = pandas.DataFrame(X, columns=list("abcdef"))
        model = machine().fit(frame, y)
        with pytest.raises(ValueError, match="feature names"):
            model.add_rows(frame.rename(columns={"a": "z"}), y)
        assert model.add_rows(frame, y).n_samples_fit_ == 200


def test_a_mask_removes_rows():
    X, y = rows(100)
    mask = np.zeros(100, dtype=bool)
    mask[10:30] = True
    model = machine().fit(X, y).remove_rows(mask)
    assert_solved(model, X[~mask], y[~mask])


def test_an_interrupt_leaves_the_model_as_it_was(as_if_large, monkeypatch):
    X, y = rows(400)
    model = machine().fit(X[:300], y[:300])
    before, run = dict(vars(model)), UpdateFit.run_all

    def interrupted(self):
        run(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(UpdateFit, "run_all", interrupted)
    for update in (lambda: model.add_rows(X[300:], y[300:]), lambda: model.remove_rows([1, 2])):
        with pytest.raises(KeyboardInterrupt):
            update()
        assert vars(model) == before
    monkeypatch.undo()
    assert_solved(model.add_rows(X[300:], y[300:]), X, y)


def test_out_of_time_warns_and_leaves_a_model_of_the_new_rows(as_if_large):
    X, y = rows(600)
    model = machine().fit(X[:300], y[:300]).set_params(max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.add_rows(X[300:], y[300:])
    assert model.n_samples_fit_ == 600
    assert not model.converged_
    assert model.relative_gap_ == pytest.approx(largest_gap(model, X, y), rel=1e-6)
    model.set_params(max_time=None).remove_rows([0])
    assert_solved(model, X[1:], y[1:])


def test_little_memory_takes_the_usual_solvers(as_if_large):
    X, y = rows(500)
    model = machine("odm", memory_limit="100kB").fit(X[:450], y[:450])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.add_rows(X[450:], y[450:])
    assert_solved(model, X, y)
