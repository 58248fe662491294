"""Pipelines in model files: every known step, what is refused and why, and the versions."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, chi2
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import widemargin
from widemargin import (
    LinearODMClassifier,
    LinearSVMClassifier,
    LinearSVMRegressor,
    ODMClassifier,
    ODMRegressor,
    SVMClassifier,
    SVMRegressor,
)
from widemargin.persistence import ModelFileError, dumps, loads
from widemargin.persistence.container import pack, unpack
from widemargin.persistence.known_steps import FUNCTIONS, STEPS, TYPES, function_name, named
from widemargin.persistence.registry import STATE_CHECKS


def numbers(n_rows=60, n_features=5):
    rng = np.random.default_rng(3)
    y = np.arange(n_rows) % 3
    X = np.abs(rng.normal(size=(n_rows, n_features)) + y[:, None]) * [1, 10, 0.1, 1, 100]
    return X, y


def with_gaps():
    X, y = numbers()
    X = X.copy()
    X[::7, 1] = np.nan
    X[1::9, 3] = np.nan
    return X, y


def people(n_rows=48):
    rng = np.random.default_rng(5)
    y = np.arange(n_rows) % 2
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows).astype(float),
            "town": np.array(["Ulm", "Bonn", "Köln", "Jena"], dtype=object)[rng.integers(0, 4, 48)],
            "grade": rng.integers(0, 3, n_rows),
            "member": y.astype(bool) ^ (rng.random(n_rows) < 0.2),
            "pay": rng.lognormal(size=n_rows) + y,
        }
    )
    frame.loc[::6, "age"] = np.nan
    frame.loc[1::7, "town"] = None
    frame.loc[3, "town"] = "rare"
    return frame, np.array(["no", "yes"])[y]


def assert_same_pipeline(loaded, fitted, X, rtol=0.0):
    """Compare transformed rows and decisions, bit for bit unless ``rtol``, and the parameters."""
    shown = [re.sub("0x[0-9a-f]+", "", repr(model)) for model in (loaded, fitted)]
    assert shown[0] == shown[1]
    decisions = [model.decision_function(X) for model in (fitted, loaded)]
    np.testing.assert_allclose(*decisions, rtol=rtol, atol=rtol)
    assert fitted.predict(X).tolist() == loaded.predict(X).tolist()
    expected, got = fitted[:-1].transform(X), loaded[:-1].transform(X)
    assert type(got) is type(expected)
    assert got.dtype == expected.dtype
    dense = [rows.toarray() if sparse.issparse(rows) else rows for rows in (expected, got)]
    np.testing.assert_allclose(*dense, rtol=rtol, atol=rtol)


NUMERIC_STEPS = {
    "standard": StandardScaler(),
    "standard without mean": StandardScaler(with_mean=False),
    "min_max": MinMaxScaler(clip=True),
    "max_abs": MaxAbsScaler(),
    "robust": RobustScaler(quantile_range=(10.0, 90.0)),
    "normalizer": Normalizer("l1"),
    "binarizer": Binarizer(threshold=0.5),
    "bins": KBinsDiscretizer(3, encode="onehot-dense", quantile_method="linear"),
    "ordinal bins": KBinsDiscretizer(3, encode="ordinal", quantile_method="linear"),
    "variance": VarianceThreshold(0.05),
    "select": SelectKBest(chi2, k=2),
    "percentile": SelectPercentile(percentile=50),
    "pca": PCA(2, whiten=True),
    "svd": TruncatedSVD(2, random_state=0),
    "tfidf": TfidfTransformer(sublinear_tf=True),
    "quantile": QuantileTransformer(n_quantiles=7, output_distribution="normal"),
    "yeo-johnson": PowerTransformer(),
    "box-cox": PowerTransformer("box-cox", standardize=False),
    "nystroem": Nystroem(n_components=7, random_state=0),
    "fourier": RBFSampler(n_components=9, random_state=0),
    "log": FunctionTransformer(np.log1p),
    "identity": FunctionTransformer(),
    "passthrough": "passthrough",
    "union": make_union(StandardScaler(), PCA(2), "passthrough"),
    "weighted union": FeatureUnion(
        [("a", StandardScaler()), ("b", "drop"), ("c", MinMaxScaler())],
        transformer_weights={"a": 0.5},
    ),
    "nested": make_pipeline(MinMaxScaler(), make_pipeline(StandardScaler(), PCA(3))),
    "columns": make_column_transformer(
        (StandardScaler(), slice(0, 2)),
        ("passthrough", [False, False, True, False, False]),
        (MinMaxScaler(), np.array([4])),
    ),
    "remainder": ColumnTransformer(
        [("a", StandardScaler(), [0, -1]), ("none", PCA(), [])], remainder=MaxAbsScaler()
    ),
}


# BLAS may add up in another order where the components lie in memory in another order.
BY_PRODUCTS = ("pca", "union")


@pytest.mark.parametrize("name", NUMERIC_STEPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore:k=")
def test_round_trip_of_steps_for_numbers(name, dtype):
    X, y = numbers()
    X = X.astype(dtype)
    fitted = Pipeline([("step", NUMERIC_STEPS[name]), ("model", LinearODMClassifier())]).fit(X, y)
    rtol = 100 * np.finfo(dtype).eps if name in BY_PRODUCTS else 0.0
    assert_same_pipeline(loads(dumps(fitted)), fitted, X, rtol)


@pytest.mark.parametrize(
    "step",
    [
        SimpleImputer(),
        SimpleImputer(strategy="constant", fill_value=-1.0, add_indicator=True),
        make_union(MissingIndicator(), SimpleImputer(strategy="median")),
    ],
)
def test_round_trip_of_steps_for_missing_numbers(step):
    X, y = with_gaps()
    fitted = make_pipeline(step, StandardScaler(), SVMClassifier()).fit(X, y)
    assert_same_pipeline(loads(dumps(fitted)), fitted, X)


@pytest.mark.parametrize(
    "step",
    [StandardScaler(with_mean=False), MaxAbsScaler(), TfidfTransformer(), TruncatedSVD(2)],
    ids=lambda step: type(step).__name__,
)
def test_round_trip_on_sparse_rows(step):
    X, y = numbers()
    X = sparse.csr_matrix(np.where(X > 1, X, 0))
    fitted = make_pipeline(step, LinearSVMClassifier()).fit(X, y)
    assert_same_pipeline(loads(dumps(fitted)), fitted, X)


ENCODERS = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "one-hot, error": OneHotEncoder(),
    "rare": OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist"),
    "rare and dropped": OneHotEncoder(min_frequency=3, drop="first", sparse_output=False),
    "dropped if binary": OneHotEncoder(drop="if_binary", dtype=np.float32),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "ordinal, missing": OrdinalEncoder(encoded_missing_value=-2, dtype=np.int32),
    "ordinal, rare": OrdinalEncoder(min_frequency=4),
    "imputed": make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder()
    ),
    "imputed by the most frequent": make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(max_categories=3)
    ),
}


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_round_trip_of_tables(encoder):
    frame, y = people()
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "pay"]),
            ("categories", encoder, ["town"]),
            ("grades", OneHotEncoder(), make_column_selector("grade", dtype_include=np.number)),
        ],
        remainder="passthrough",
    )
    fill = SimpleImputer(strategy="constant", fill_value=0)
    fitted = make_pipeline(columns, fill, ODMClassifier()).fit(frame, y)
    loaded = loads(dumps(fitted))
    assert_same_pipeline(loaded, fitted, frame)
    assert loaded[:-1].get_feature_names_out().tolist() == (
        fitted[:-1].get_feature_names_out().tolist()
    )
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="columns are missing"):
        loaded.predict(frame.drop(columns="pay"))


@pytest.mark.parametrize(
    "columns", [pd.Index(["age", "pay"]), slice("age", "town"), ["age", "pay"], "age"]
)
def test_columns_by_every_kind_of_name(columns):
    frame, y = people()
    frame["town"] = np.arange(len(frame))
    step = FunctionTransformer(np.square) if isinstance(columns, str) else StandardScaler()
    step = make_column_transformer((SimpleImputer(), ["age"]), (step, columns), remainder="drop")
    frame = frame.fillna({"age": 1.0})
    if isinstance(columns, str):  # a single name selects a vector, which no known step takes
        with pytest.raises(ValueError, match=r"1D|2D|1-dim|dimension"):
            dumps(make_pipeline(step, ODMClassifier()).fit(frame, y))
        return
    fitted = make_pipeline(step, ODMClassifier()).fit(frame, y)
    assert fitted.predict(frame).tolist() == loads(dumps(fitted)).predict(frame).tolist()


def test_pandas_output_is_kept():
    frame, y = people()
    frame = frame[["age", "pay"]]
    fitted = make_pipeline(SimpleImputer(), StandardScaler(), ODMClassifier())
    fitted.set_output(transform="pandas").fit(frame, y)
    loaded = loads(dumps(fitted))
    pd.testing.assert_frame_equal(loaded[:-1].transform(frame), fitted[:-1].transform(frame))


def test_the_readme_example_keeps_its_accuracy(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = make_pipeline(StandardScaler(), ODMClassifier(C=8.0)).fit(X_train, y_train)
    widemargin.save(model, tmp_path / "model.wm")
    loaded = widemargin.load_model(tmp_path / "model.wm")
    assert model.score(X_test, y_test) == loaded.score(X_test, y_test) > 0.97
    np.testing.assert_array_equal(loaded.decision_function(X_test), model.decision_function(X_test))


def test_a_preprocessor_alone_can_be_saved():
    X, _ = numbers()
    fitted = StandardScaler().fit(X)
    np.testing.assert_array_equal(loads(dumps(fitted)).transform(X), fitted.transform(X))


def test_a_loaded_pipeline_is_a_whole_estimator():
    X, y = numbers()
    loaded = loads(dumps(make_pipeline(StandardScaler(), SVMClassifier()).fit(X, y)))
    again = sklearn.base.clone(loaded).set_params(svmclassifier__C=4.0).fit(X, y)
    assert again.predict(X).shape == y.shape


# --- what is not kept, and what is refused ---------------------------------------------------


def test_settings_of_the_machine_are_not_kept(tmp_path):
    X, y = numbers()
    columns = ColumnTransformer([("a", StandardScaler(), [0, 1])])
    fitted = make_pipeline(columns, make_union(PCA(1)), SVMClassifier()).fit(X, y)
    fitted.set_params(memory=str(tmp_path), columntransformer__n_jobs=2, featureunion__n_jobs=2)
    loaded = loads(dumps(fitted))
    assert loaded.memory is None
    assert loaded[0].n_jobs is loaded[1].n_jobs is None
    data = edited(fitted, lambda header: header["params"].update(memory="/tmp/elsewhere"))
    assert loads(data).memory is None


class Doubler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return 2 * X


class StandardScalerOfMine(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Doubler(), r"`steps\.step` is a .*Doubler, but a model file holds no code.*pickle"),
        (StandardScalerOfMine(), r"`steps\.step` is a .*StandardScalerOfMine"),
        (
            FunctionTransformer(lambda X: 2 * X),
            r"`steps\.step\.func` is a function \(.*<lambda>\).*before the pipeline.*numpy\.log1p",
        ),
        (
            OneHotEncoder(feature_name_combiner=lambda column, value: value),
            r"`steps\.step\.feature_name_combiner` is a function",
        ),
        (make_union(PCA(1), Doubler()), r"`steps\.step\.transformer_list\.doubler` is a .*Doubler"),
        (
            ColumnTransformer([("a", StandardScaler(), lambda X: [0, 1])]),
            r"`steps\.step\.transformers\.a\.columns` is a function",
        ),
        (SelectKBest(lambda X, y: X.sum(axis=0), k=1), r"`steps\.step\.score_func` is a function"),
        (Nystroem(lambda a, b: a @ b, n_components=3), r"`steps\.step\.kernel` is a function"),
    ],
)
@pytest.mark.filterwarnings("ignore:n_components")
def test_refusals_name_the_step_and_the_parameter(step, message, tmp_path):
    X, y = numbers()
    fitted = Pipeline([("step", step), ("model", LinearODMClassifier())]).fit(np.round(X), y)
    with pytest.raises(TypeError, match=message):
        widemargin.save(fitted, tmp_path / "model.wm")
    assert not any(tmp_path.iterdir())


def test_other_classifiers_are_refused():
    X, y = numbers()
    with pytest.raises(TypeError, match=r"`steps\.logisticregression` is a sklearn\.linear_model"):
        dumps(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y))


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (
            GridSearchCV(LinearODMClassifier(), {"C": [1.0]}, cv=2),
            r"^Save its `best_estimator_`\. This is a sklearn\..*GridSearchCV",
        ),
        (
            CalibratedClassifierCV(LinearODMClassifier(), cv=2),
            r"^Use calibrate='sigmoid' of the classifier",
        ),
    ],
)
def test_wrappers_are_refused_with_what_to_save_instead(wrapper, message):
    X, y = numbers()
    with pytest.raises(TypeError, match=message):
        dumps(wrapper.fit(X, y))


# --- regressors around regressors ------------------------------------------------------------


def scaled_numbers():
    X, y = numbers()
    return StandardScaler().fit_transform(X), y


def of_scaled(regressor=None):
    """Return a regressor that learns standardised targets."""
    regressor = SVMRegressor() if regressor is None else regressor
    return TransformedTargetRegressor(regressor, transformer=StandardScaler())


@pytest.mark.parametrize(
    "model",
    [
        of_scaled(),
        of_scaled(make_pipeline(StandardScaler(), LinearSVMRegressor())),
        make_pipeline(StandardScaler(), of_scaled(ODMRegressor())),
        TransformedTargetRegressor(ODMRegressor()),
        TransformedTargetRegressor(ODMRegressor(), func=np.log1p, inverse_func=np.expm1),
        TransformedTargetRegressor(SVMRegressor(), transformer=PowerTransformer()),
        TransformedTargetRegressor(
            SVMRegressor(), transformer=QuantileTransformer(n_quantiles=20), check_inverse=False
        ),
        MultiOutputRegressor(SVMRegressor()),
        MultiOutputRegressor(of_scaled()),
        of_scaled(MultiOutputRegressor(LinearSVMRegressor())),
    ],
    ids=lambda model: re.sub(r"\s+", "", repr(model))[:70],
)
@pytest.mark.parametrize("form", ["array", "frame"])
def test_round_trip_of_regressors_around_regressors(model, form):
    X, y = scaled_numbers()
    targets = 1000.0 * y + np.abs(X[:, 0])
    if "MultiOutput" in repr(model):
        targets = np.column_stack([targets, X[:, 1]])
    if form == "frame":
        X = pd.DataFrame(X, columns=list("abcde"))
    fitted = clone(model).fit(X, targets)
    loaded = loads(dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert repr(loaded) == repr(fitted)
    assert loaded.n_features_in_ == 5
    if form == "frame":
        assert loaded.feature_names_in_.tolist() == list("abcde")
    clone(loaded).fit(X, targets)


def test_functions_of_targets_that_a_file_cannot_name_are_refused():
    X, y = scaled_numbers()
    model = TransformedTargetRegressor(SVMRegressor(), func=np.log1p, inverse_func=lambda t: t)
    message = r"`inverse_func` is a function \(.*lambda.*for targets, transform them before.*expm1"
    with pytest.raises(TypeError, match=message):
        dumps(model.set_params(check_inverse=False).fit(X, y))
    with pytest.raises(TypeError, match=r"`regressor_` is a sklearn.*LinearRegression"):
        dumps(TransformedTargetRegressor().fit(X, y))
    with pytest.raises(TypeError, match=r"`estimator` is a sklearn.*LogisticRegression"):
        dumps(MultiOutputRegressor(LogisticRegression()).fit(X, np.column_stack([y, y])))


def test_where_several_targets_are_fitted_is_not_kept():
    X, y = scaled_numbers()
    model = MultiOutputRegressor(SVMRegressor(), n_jobs=2).fit(X, np.column_stack([y, -y]))
    assert loads(dumps(model)).n_jobs is None


CLASSIFIER = {"$estimator": ["ODMClassifier", {"params": {}, "fitted": {}}]}


def forged(fitted, edit):
    """Return a file with other fitted attributes, and without arrays that these do not name."""
    header, arrays = unpack(dumps(fitted), "0")
    edit(header["fitted"])
    named = json.dumps(header, ensure_ascii=False)
    return pack(header, {name: each for name, each in arrays.items() if f'"{name}"' in named})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda f: f.pop("regressor_"), "`regressor_`"),
        (lambda f: f.update(regressor_=3), "`regressor_` must be a regressor"),
        (lambda f: f.update(regressor_=CLASSIFIER), "`regressor_` must be a regressor"),
        (lambda f: f["regressor_"]["$estimator"][1].update(fitted={}), "not fitted"),
        (lambda f: f.update(transformer_="a"), "`transformer_` must be a fitted transformer"),
        (lambda f: f.update(transformer_=CLASSIFIER), "`transformer_` must be a fitted transf"),
        (lambda f: f["transformer_"]["$estimator"][1].update(fitted={}), "not fitted"),
        (lambda f: f.pop("transformer_"), "`transformer_`"),
        (lambda f: f.update(_training_dim=3), "`_training_dim` must be 1"),
        (lambda f: f.update(_training_dim="1"), "`_training_dim` must be 1"),
        (lambda f: f.update(predict=1), "`predict` is no fitted attribute"),
        (lambda f: f.update(n_features_in_=7), "`n_features_in_` is no fitted attribute"),
        (
            lambda f: f["transformer_"]["$estimator"].__setitem__(0, "os.system"),
            r"holds a 'os\.system'",
        ),
    ],
)
def test_forged_regressors_of_scaled_targets(edit, message):
    X, y = scaled_numbers()
    with pytest.raises(ModelFileError, match=message):
        loads(forged(of_scaled().fit(X, 1.0 * y), edit))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda f: f.update(estimators_=[]), "a list of regressors"),
        (lambda f: f.update(estimators_=3), "a list of regressors"),
        (lambda f: f["estimators_"].append(3), "`estimators_` must be a regressor"),
        (lambda f: f.update(n_features_in_=7), "must be regressors of 7 features"),
        (lambda f: f.pop("n_features_in_"), "must be regressors of None features"),
    ],
)
def test_forged_regressors_of_several_targets(edit, message):
    X, y = scaled_numbers()
    model = MultiOutputRegressor(SVMRegressor()).fit(X, np.column_stack([y, -y]))
    with pytest.raises(ModelFileError, match=message):
        loads(forged(model, edit))


def test_pipelines_in_no_state_to_be_saved():
    X, y = numbers()
    with pytest.raises(NotFittedError):
        dumps(make_pipeline(StandardScaler(), SVMClassifier()))
    fitted = make_pipeline(StandardScaler(), SVMClassifier()).fit(X, y)
    unfitted = Pipeline([("scale", StandardScaler()), ("model", fitted[-1])])
    with pytest.raises(ValueError, match=r"in no state to be saved.*Fit it again"):
        dumps(unfitted)
    narrow = Pipeline([("scale", StandardScaler().fit(X[:, :2])), ("model", fitted[-1])])
    with pytest.raises(ValueError, match="the last takes 5 features and gets 2"):
        dumps(narrow)


# --- forged files ----------------------------------------------------------------------------


def edited(fitted, edit, edit_arrays=lambda arrays: None):
    header, arrays = unpack(dumps(fitted), "0")
    edit(header)
    edit_arrays(arrays)
    return pack(header, arrays)


def scaled():
    X, y = numbers()
    return make_pipeline(StandardScaler(), SVMClassifier()).fit(X, y)


def step_of(header, position=0):
    return header["params"]["steps"][position]["$tuple"][1]["$estimator"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda h: step_of(h).__setitem__(0, "os.system"), "holds a 'os.system'"),
        (lambda h: step_of(h).__setitem__(0, "sklearn.svm.SVC"), "holds a 'sklearn.svm.SVC'"),
        (lambda h: h.update(estimator="builtins.eval"), "holds a 'builtins.eval'"),
        (lambda h: step_of(h)[1]["fitted"].update(transform=1), "`transform` is no fitted"),
        (lambda h: step_of(h)[1]["fitted"].update(__class__=1), "`__class__` is no fitted"),
        (lambda h: step_of(h)[1]["fitted"].update(with_mean=1), "`with_mean` is no fitted"),
        (lambda h: step_of(h)[1]["params"].update(copy="x"), "'copy' parameter"),
        (lambda h: step_of(h)[1]["params"].update(new=1), "unexpected keyword"),
        (lambda h: step_of(h)[1]["fitted"].update(n_features_in_=4), "an array of 5|an array of 4"),
        (lambda h: step_of(h)[1]["fitted"].update(scale_="a"), "`scale_` must be an array of 5"),
        (lambda h: step_of(h)[1].update(code=1), "not described in full"),
        (lambda h: h["params"].update(steps=[]), "steps"),
        (lambda h: h["params"].update(steps=3), "steps"),
        (lambda h: h["params"]["steps"].pop(), "nothing uses array"),
        (lambda h: h["params"]["steps"].reverse(), "not a valid Pipeline"),
        (lambda h: h.update(sklearn_version=1), "scikit-learn is no text"),
    ],
)
def test_forged_pipelines(edit, message):
    with pytest.raises(ModelFileError, match=message):
        loads(edited(scaled(), edit))


def one_hot():
    frame, y = people()
    step = OneHotEncoder(min_frequency=3, drop="first", handle_unknown="ignore")
    return make_pipeline(step, LinearODMClassifier()).fit(frame[["town", "grade"]], y)


MAPPING = "steps.onehotencoder._default_to_infrequent_mappings.0"


def set_fitted(name, value):
    return lambda header: step_of(header)[1]["fitted"].__setitem__(name, value)


@pytest.mark.parametrize(
    ("edit", "edit_arrays", "message"),
    [
        (set_fitted("_n_features_outs", [10**12, 2]), None, "`_n_features_outs` must be"),
        (set_fitted("_n_features_outs", [2]), None, "`_n_features_outs` must be a list of 2"),
        (
            None,
            lambda arrays: arrays["steps.onehotencoder.categories_.1"].__setitem__(0, 7),
            "`categories_` must be in ascending order",
        ),
        (
            None,
            lambda arrays: arrays[MAPPING].fill(0),
            "_n_features_outs",
        ),
        (
            None,
            lambda arrays: arrays[MAPPING].__setitem__(0, 10**9),
            "codes of the categories",
        ),
    ],
)
def test_forged_encoders_reach_no_native_code(edit, edit_arrays, message):
    """SciPy would write beyond the end of a row whose column numbers are too large."""
    nothing = lambda _: None  # noqa: E731
    with pytest.raises(ModelFileError, match=message):
        loads(edited(one_hot(), edit or nothing, edit_arrays or nothing))


@pytest.mark.parametrize(
    "node",
    [
        {"$type": "os.PathLike"},
        {"$type": ["float"]},
        {"$function": "os.system"},
        {"$function": "numpy.load"},
        {"$dtype": "M8[D]"},
        {"$dtype": "<U99999999999"},
        {"$slice": [1, 2]},
        {"$slice": [[], 2, 3]},
        {"$mixed": {"shape": [3], "items": [1]}},
        {"$mixed": {"shape": [-1], "items": [1]}},
        {"$mixed": {"items": [1]}},
        {"$selector": {"pattern": "a"}},
        {"$selector": {"pattern": 1, "dtype_include": None, "dtype_exclude": None}},
        {"$estimator": ["SVMClassifier"]},
        {"$estimator": ["Derived", {"params": {}, "fitted": {}}]},
    ],
)
def test_forms_that_are_refused(node):
    with pytest.raises(ModelFileError):
        loads(edited(scaled(), lambda header: step_of(header)[1]["fitted"].update(extra_=node)))


def test_every_name_in_the_lists_exists():
    for path in (*STEPS, *FUNCTIONS):
        assert callable(named(path))
    for path in FUNCTIONS:
        assert function_name(named(path)) == path
    assert len(set(TYPES.values())) == len(TYPES)


# --- versions --------------------------------------------------------------------------------


def test_the_format_version_is_the_oldest_that_holds_the_model():
    X, y = numbers()
    for model, version in ((ODMClassifier().fit(X, y), 1), (scaled(), 2)):
        header, _ = unpack(dumps(model), "0")
        assert header["format_version"] == version
        assert header.get("sklearn_version") == (sklearn.__version__ if version == 2 else None)


def test_an_older_library_refuses_a_pipeline_with_advice(monkeypatch):
    data = dumps(scaled())
    monkeypatch.setattr("widemargin.persistence.container.FORMAT_VERSION", 1)
    with pytest.raises(ModelFileError, match=r"newer widemargin \(format 2\).*upgrade widemargin"):
        loads(data)


def test_another_version_of_scikit_learn_matters_only_if_its_state_differs():
    X, _ = numbers()
    data = edited(scaled(), lambda header: header.update(sklearn_version="1.2.3"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loads(data).predict(X).size

    def rename(header):
        header["sklearn_version"] = "1.2.3"
        fitted = step_of(header)[1]["fitted"]
        fitted["middle_"] = fitted.pop("mean_")

    message = rf"written with scikit-learn 1\.2\.3, this is {re.escape(sklearn.__version__)}.*again"
    with pytest.raises(ModelFileError, match=message):
        loads(edited(scaled(), rename))


def test_attributes_of_any_class_have_a_check(monkeypatch):
    """A new fitted attribute of plain data needs one entry in a table, and no other code."""
    fitted = scaled()
    fitted[-1].calibrations_ = {"slope": np.array([1.0, 2.0]), "names": ["a"]}

    def check(estimator):
        if estimator.calibrations_["slope"].shape != (2,):
            raise ValueError("`calibrations_` must hold two slopes")

    monkeypatch.setitem(STATE_CHECKS, "calibrations_", check)
    assert loads(dumps(fitted))[-1].calibrations_["slope"].tolist() == [1.0, 2.0]
    name = "steps.svmclassifier.calibrations_.slope"
    with pytest.raises(ModelFileError, match="must hold two slopes"):
        loads(edited(fitted, lambda h: None, lambda a: a.__setitem__(name, a[name][:1])))


def test_the_header_can_be_read_with_other_tools():
    header, arrays = unpack(dumps(scaled()), "0")
    assert header["estimator"] == "sklearn.pipeline.Pipeline"
    assert step_of(header)[0] == "sklearn.preprocessing.StandardScaler"
    assert "steps.standardscaler.mean_" in arrays
    json.dumps(header, allow_nan=False)


@pytest.mark.parametrize("calibrate", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_kept_and_checked(calibrate, n_classes):
    X, y = numbers()
    model = ODMClassifier(calibrate=calibrate, multi_class="ovo")
    fitted = make_pipeline(StandardScaler(), model).fit(X, np.minimum(y, n_classes - 1))
    loaded = loads(dumps(fitted))
    assert loaded.predict_proba(X).tolist() == fitted.predict_proba(X).tolist()
    part = "slope" if calibrate == "sigmoid" else "start"
    name = f"steps.odmclassifier.calibration_.{part}"
    with pytest.raises(ModelFileError, match=f"`calibration_ {part}` must be"):
        loads(edited(fitted, lambda h: None, lambda a: a.__setitem__(name, a[name][1:])))


def test_tables_prepared_by_this_library():
    frame, y = people()
    fitted = make_pipeline(widemargin.TablePreprocessor(), ODMClassifier()).fit(frame, y)
    loaded = loads(dumps(fitted))
    assert_same_pipeline(loaded, fitted, frame)
    assert loaded[0].notes_ == fitted[0].notes_

    def forget(header):
        step_of(header)[1]["fitted"]["columns_"].pop("pay")

    with pytest.raises(ModelFileError, match="TablePreprocessor"):
        loads(edited(fitted, forget))


def test_an_automatic_choice(tmp_path):
    frame, y = people()
    fitted = widemargin.AutoClassifier(max_time=2.0, random_state=0).fit(frame, y)
    fitted.save(tmp_path / "auto.wm")
    loaded = widemargin.load_model(tmp_path / "auto.wm")
    assert loaded.predict_proba(frame).tolist() == fitted.predict_proba(frame).tolist()
    assert list(loaded.leaderboard_) == list(fitted.leaderboard_)
    with pytest.raises(ModelFileError, match="`classes_` must be those of `model_`"):
        loads(edited(fitted, lambda h: h["fitted"].update(classes_={"$objects": ["a", "b"]})))
