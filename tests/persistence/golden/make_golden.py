"""Write the golden files: small models of this version, with what they predict.

Run once for each version of the format (``python tests/persistence/golden/make_golden.py``).
Files that exist are never written again: they stand for the models that users have, and every
later version must read them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from widemargin import (
    AutoClassifier,
    Clustered,
    GossipClassifier,
    LinearODMClassifier,
    LinearODMClassifierCV,
    LinearODMRegressor,
    LinearODMRegressorCV,
    LinearQuantileSVMRegressor,
    LinearSVMClassifier,
    LinearSVMRegressor,
    MulticlassODMClassifier,
    MulticlassSVMClassifier,
    ODMClassifier,
    ODMClassifierCV,
    ODMRegressor,
    QuantileSVMRegressor,
    Stratified,
    SVMClassifier,
    SVMClassifierCV,
    SVMRegressor,
    SVMRegressorCV,
    TablePreprocessor,
)
from widemargin.gossip import Gadget, NetworkFaults
from widemargin.persistence import dumps, save
from widemargin.persistence.container import unpack

HERE = Path(__file__).parent


def data():
    rng = np.random.default_rng(11)
    y = np.arange(18) % 3
    X = rng.normal(size=(18, 3)) + 1.5 * y[:, None]
    X[np.abs(X) < 0.5] = 0
    return X, y


def table():
    """Return a table with text, gaps and a rare level."""
    X, y = data()
    towns = np.array(["Ulm", "Bonn", "Köln"], dtype=object)[np.arange(18) * 7 % 3]
    frame = pd.DataFrame({"length": X[:, 0], "town": towns, "grade": y % 2, "weight": X[:, 1] + 9})
    frame.loc[::5, "length"] = np.nan
    frame.loc[1::6, "town"] = None
    frame.loc[2, "town"] = "rare"
    return frame, y


def golden_models():
    """Yield a name, a fitted model and rows to predict: one of each kind of content."""
    X, y = data()
    words = np.array(["no", "perhaps", "yes"])
    params = {"C": 8.0, "upsilon": 0.25, "theta": 0.1}
    yield "odm_binary", ODMClassifier(**params, fit_intercept=True).fit(X, y > 0), X
    single = X.astype(np.float32)
    yield (
        "odm_ovo_float32",
        ODMClassifier("laplacian", multi_class="ovo").fit(single, words[y]),
        single,
    )
    weights = {"no": 2.0, "perhaps": 1.0, "yes": 0.5}
    rows = sparse.csr_matrix(X)
    yield "svm_sparse", SVMClassifier(C=2.0, class_weight=weights).fit(rows, words[y]), rows
    gram = X @ X.T
    yield "svm_precomputed", SVMClassifier("precomputed", loss="squared_hinge").fit(gram, y), gram
    frame = pd.DataFrame(X, columns=["length", "größe", "x.y"])
    model = ODMClassifier("poly", degree=2, coef0=1.0).fit(frame, words.astype(object)[y])
    yield "odm_feature_names", model, frame
    # All classes in one problem.
    yield "svm_all_classes", SVMClassifier(multi_class="cs").fit(X, words[y]), X
    model = ODMClassifier(multi_class="all", calibrate="sigmoid").fit(single, y)
    yield "odm_all_classes_calibrated", model, single
    # Unfinished levels: clusters with what finds the nearest one, and the mean of local models.
    clusters = Clustered(levels=1, fan_in=2, stop_level=1, n_sample=16)
    settings = {"strategy": clusters, "random_state": 0}
    yield "odm_routed", ODMClassifier(**settings).fit(X, words[y]), X
    single = sparse.csr_array(single)
    model = SVMClassifier(**settings, multi_class="ovo", fit_intercept=True).fit(single, y)
    yield "svm_routed_sparse", model, single
    yield "svm_routed_precomputed", SVMClassifier("precomputed", **settings).fit(gram, y > 0), gram
    strata = Stratified(levels=1, fan_in=2, stop_level=1, n_strata=4, validation_fraction=0.2)
    model = ODMClassifier(strategy=strata, random_state=0, fit_intercept=True).fit(X, y)
    yield "odm_mean_level", model, X
    yield "odm_compressed", ODMClassifier(strategy="dc", random_state=0).fit(X, y).compress(6), X
    search = ODMClassifierCV(Cs=[1.0, 4.0], gammas=[0.1, 0.5], cv=2).fit(X, words[y])
    yield "odm_search", search, X
    search = SVMClassifierCV("linear", Cs=[0.1, 1.0], cv=2, scoring="roc_auc").fit(X, y > 0)
    yield "svm_search_linear", search, X
    rows = sparse.csr_matrix(X.astype(np.float32))
    model = LinearODMClassifier(C=2.0, class_weight=weights, validation_fraction=0.2)
    yield "linear_odm", model.set_params(random_state=0).fit(rows, words[y]), rows
    model = LinearSVMClassifier(loss="hinge", fit_intercept=False).fit(frame, y > 0)
    yield "linear_svm", model, frame
    model = LinearODMClassifier().partial_fit(X[:9], y[:9], classes=[0, 1, 2])
    yield "linear_odm_online", model.partial_fit(X[9:], y[9:]), X
    search = LinearODMClassifierCV(Cs=[0.1, 1.0], thetas=[0.0, 0.2], cv=2).fit(X, words[y])
    yield "linear_odm_search", search, X
    # Weights of an array, and of a sparse one.
    model = MulticlassSVMClassifier("llw", C=2.0, class_weight=weights, random_state=0)
    yield "multiclass_svm", model.fit(X, words[y]), X
    rows = sparse.csr_matrix(X * [1.0, 0.0, 1.0])
    model = MulticlassSVMClassifier("ww", fit_intercept=False, random_state=0).fit(rows, y)
    yield "multiclass_svm_sparse", model.sparsify(), rows
    model = MulticlassODMClassifier(**params, class_weight=weights, random_state=0)
    yield "multiclass_odm", model.fit(X, words[y]), X
    # Named sites, faults, and a solver by name; a matrix of links, and a solver with settings.
    faults = NetworkFaults(
        loss=0.2, schedule=[(3, "crash", 1), (6, "return", 1)], lies={2: "noise"}
    )
    model = GossipClassifier(topology="star", loss="odm", faults=faults, max_iter=10)
    places = np.array(["north", "south", "west"])[np.arange(18) % 3]
    yield "gossip", model.set_params(random_state=0).fit(X, y > 0, sites=places), X
    links = sparse.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))
    settings = {"stopping": "never", "max_iter": 5, "random_state": 0, "tol": 100.0}
    model = GossipClassifier(4, links, solver=Gadget(batch_size=2), exchanges=2, **settings)
    yield "gossip_classes", model.fit(sparse.csr_matrix(single), words[y]), single
    yield from golden_regressors()
    yield from golden_pipelines()


def golden_regressors():
    """Yield the same of regressors."""
    X, y = data()
    targets = 100.0 * X[:, 0] - 30.0 * y + 5000.0
    frame = pd.DataFrame(X, columns=["length", "größe", "x.y"])
    yield "linear_svm_regressor", LinearSVMRegressor(C=2.0, epsilon=5.0).fit(frame, targets), frame
    rows = sparse.csr_matrix(X.astype(np.float32))
    model = LinearQuantileSVMRegressor(quantile=0.75, intercept_scaling=10.0).fit(rows, targets)
    yield "linear_quantile_regressor", model, rows
    model = LinearODMRegressor(upsilon=0.5, theta=5.0).partial_fit(X[:9], targets[:9])
    yield "linear_odm_regressor_online", model.partial_fit(X[9:], targets[9:]), X
    search = LinearODMRegressorCV(Cs=[0.1, 1.0], thetas=[0.0, 5.0], cv=2)
    yield "linear_odm_regressor_search", search.fit(X, targets), X
    yield "svm_regressor", SVMRegressor(C=200.0, epsilon=5.0).fit(frame, targets), frame
    model = QuantileSVMRegressor("laplacian", quantile=0.75, C=100.0, fit_intercept=False)
    yield "quantile_regressor_sparse", model.fit(rows, targets - 5000.0), rows
    gram = X @ X.T
    yield "odm_regressor_precomputed", ODMRegressor("precomputed").fit(gram, targets), gram
    clusters = Clustered(levels=1, fan_in=2, stop_level=1, n_sample=16)
    yield "odm_regressor_routed", ODMRegressor(strategy=clusters).fit(X, targets), X
    model = ODMRegressor("poly", degree=2, coef0=1.0, upsilon=0.5, theta=5.0).fit(X, targets)
    yield "odm_regressor_compressed", model.compress(6, X, targets), X
    search = SVMRegressorCV(Cs=[10.0, 100.0], gammas=[0.1, 0.5], epsilons=[1.0, 10.0], cv=2)
    yield "svm_regressor_search", search.fit(X, targets), X


def golden_pipelines():
    """Yield the same of pipelines, which came with format 2."""
    X, y = data()
    model = make_pipeline(StandardScaler(), ODMClassifier(C=8.0)).fit(X, y)
    model.index_base_ = 0
    yield "pipeline_scaled", model, X
    model = TransformedTargetRegressor(SVMRegressor(C=2.0), transformer=StandardScaler())
    yield "pipeline_scaled_targets", make_pipeline(StandardScaler(), model).fit(X, 9.0 * y), X
    numbers = make_pipeline(
        SimpleImputer(add_indicator=True), RobustScaler(), QuantileTransformer(n_quantiles=5)
    )
    rare = OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist")
    fill = SimpleImputer(strategy="constant", fill_value="none")
    columns = ColumnTransformer(
        [
            ("numbers", numbers, ["length"]),
            ("rare", rare, ["town"]),
            ("codes", make_pipeline(fill, OrdinalEncoder(dtype=np.float32)), slice("town", "town")),
            ("first", OneHotEncoder(drop="if_binary"), make_column_selector("grade")),
            ("out", "drop", ["town"]),
        ],
        remainder=PowerTransformer("box-cox"),
    )
    frame, y = table()
    model = make_pipeline(columns, LinearSVMClassifier(random_state=0))
    yield "pipeline_table", model.fit(frame, np.array(["no", "perhaps", "yes"])[y]), frame
    union = FeatureUnion(
        [
            ("pca", make_pipeline(VarianceThreshold(), MinMaxScaler(), PCA(2))),
            ("best", SelectKBest(k=2)),
            ("squares", FunctionTransformer(np.square)),
            ("none", "drop"),
        ],
        transformer_weights={"best": 0.5},
    )
    model = make_pipeline(union, Normalizer(), SVMClassifier()).fit(X, y > 0)
    yield "pipeline_union", model, X
    gaps = np.where(X == 0, np.nan, X)
    model = make_pipeline(
        make_union(MissingIndicator(), SimpleImputer(strategy="median")), "passthrough"
    )
    model.steps.append(("model", LinearODMClassifier()))
    yield "pipeline_gaps", model.fit(gaps, y), gaps
    words = np.array(["no", "perhaps", "yes"])[y]
    model = make_pipeline(TablePreprocessor(), ODMClassifier(calibrate="sigmoid"))
    yield "pipeline_preprocessor", model.fit(frame, words), frame
    model = AutoClassifier(cv=2, families=["SVM, rbf", "linear ODM"], n_jobs=1, random_state=0)
    yield "auto", model.fit(frame, words), frame


def strategy_of(model):
    strategy = getattr(model, "strategy", None)
    if strategy is None:  # a search
        return None
    return strategy if isinstance(strategy, str) else [type(strategy).__name__, vars(strategy)]


def main() -> None:
    for name, model, X in golden_models():
        header, _ = unpack(dumps(model), "0")
        path = HERE / f"format{header['format_version']}_{name}.wm"
        if path.exists():
            print(f"{path.name} exists")
            continue
        rows = X[:6] if hasattr(X, "dtype") else X.iloc[:6]
        dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        cells = [[None if cell != cell else cell for cell in row] for row in dense.tolist()]
        expected = {
            "estimator": type(model).__name__,
            "params": {
                key: getattr(model, key)
                for key in ("kernel", "formulation", "C", "Cs", "gammas", "cv", "class_weight")
                if hasattr(model, key)
            },
            "strategy": strategy_of(model),
            "fitted": {
                key: getattr(model, key)
                for key in (
                    *("strategy_", "level_", "density_", "best_params_", "best_score_"),
                    *("n_messages_", "n_bytes_", "label_skew_", "mixing_time_", "estimated_gap_"),
                    "index_base_",
                )
                if hasattr(model, key)
            },
            "dtype": dense.dtype.name,
            "sparse": sparse.issparse(rows),
            "columns": list(getattr(rows, "columns", [])),
            "X": cells,
            "predict": model.predict(rows).tolist(),
        }
        for method in ("decision_function", "predict_proba"):
            if hasattr(model, method):
                expected[method] = getattr(model, method)(rows).tolist()
        if expected["strategy"] is None:
            del expected["strategy"]
        save(model, path)
        path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
