"""Pipelines are exported with their preprocessing."""

import numpy as np
import pytest
from onnx_graphs import assert_same_predictions, frame_inputs, run_graph
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from widemargin import (
    LinearSVMClassifier,
    ODMClassifier,
    RandomFeatures,
    SVMClassifier,
    to_onnx,
)

pandas = pytest.importorskip("pandas")
X, Y = make_classification(200, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
QUERIES = 2.0 * np.random.default_rng(0).normal(size=(100, 5))
CITIES = np.array(["Ulm", "Bonn", "Köln", "Trier", "Aachen"])


def with_holes(X, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < 0.2, np.nan, X)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 2)),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False, with_scaling=False),
        FunctionTransformer(),
        "passthrough",
        make_pipeline(MinMaxScaler(), StandardScaler()),
    ],
    ids=str,
)
def test_scalers(step, dtype):
    model = make_pipeline(step, SVMClassifier(multi_class="ovr")).fit(100.0 + 7.0 * X, Y)
    assert_same_predictions(model, 100.0 + 7.0 * QUERIES, dtype)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("n_components", [64, 101])
def test_random_features(kernel, n_components):
    features = RandomFeatures(kernel, n_components=n_components)
    model = make_pipeline(StandardScaler(), features, LinearSVMClassifier()).fit(X, Y)
    # In double: a scaler that rounds to single moves the phases of large frequencies.
    assert_same_predictions(model, QUERIES, "float64")


def test_a_tensor_sketch_is_not_exported():
    model = make_pipeline(RandomFeatures("poly"), LinearSVMClassifier(tol=0.1)).fit(X, Y)
    with pytest.raises(ValueError, match="tensor sketch"):
        to_onnx(model)


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=3.0, keep_empty_features=True),
        SimpleImputer(strategy="most_frequent"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Skipping features")
def test_imputers(imputer):
    holes = with_holes(X)
    holes[:, 3] = np.nan  # nothing to learn from: left out, or filled
    model = make_pipeline(imputer, StandardScaler(), ODMClassifier()).fit(holes, Y)
    assert_same_predictions(model, with_holes(QUERIES, 1))


def test_numbers_that_stand_for_missing_ones():
    coded = np.where(np.isnan(with_holes(X)), -9.0, X)
    model = make_pipeline(SimpleImputer(missing_values=-9.0), ODMClassifier()).fit(coded, Y)
    assert_same_predictions(model, np.where(np.isnan(with_holes(QUERIES, 1)), -9.0, QUERIES))


def table(n_rows, seed, unknown=False):
    rng = np.random.default_rng(seed)
    known = CITIES if unknown else CITIES[:4]
    city = known[np.minimum(rng.geometric(0.5, n_rows), len(known)) - 1].astype(object)
    city[rng.random(n_rows) < 0.1] = np.nan
    return pandas.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, 40 + 10 * rng.normal(size=n_rows)),
            "city": city,
            "id": np.arange(n_rows).astype(str),
            "rooms": rng.integers(1, 5, n_rows),
            "wet": rng.random(n_rows) < 0.5,
            "plan": np.array(["a", "b", "c"])[rng.integers(0, 3, n_rows)],
        }
    )


def labels(frame):
    score = frame["age"].fillna(40) / 10 - 4 + (frame["city"] == "Bonn") - frame["wet"]
    return np.where(score > 0.3, "high", np.where(score < -0.8, "low", "mid"))


def assert_same_on_table(model, frame):
    """Compare with numbers as float32, which graphs take."""
    proto = to_onnx(model)
    inputs = {name: frame_inputs(frame)[name] for name in (i.name for i in proto.graph.input)}
    outputs = run_graph(proto, inputs)
    rounded = frame.assign(age=frame["age"].astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(
        outputs["decision"], model.decision_function(rounded), rtol=1e-5, atol=1e-5
    )
    assert outputs["label"].tolist() == model.predict(rounded).tolist()
    return list(inputs)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(handle_unknown="ignore", drop="first"),
        OneHotEncoder(drop="if_binary"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=30),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2, drop="first"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_tables(encoder):
    frame = table(300, 0)
    model = make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "rooms"]),
            (encoder, ["city", "plan"]),
            ("passthrough", [4]),
            ("drop", ["id"]),
        ),
        SVMClassifier(multi_class="ovo"),
    ).fit(frame, labels(frame))
    fresh = table(200, 1, unknown=encoder.handle_unknown != "error")
    assert assert_same_on_table(model, fresh) == ["age", "city", "rooms", "wet", "plan"]


def test_text_that_is_filled_in_and_columns_by_kind():
    frame = table(300, 0)
    text = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    columns = ColumnTransformer(
        [
            ("text", text, ["city"]),
            ("numbers", SimpleImputer(add_indicator=True), make_column_selector("age")),
            ("none", SimpleImputer(), make_column_selector("nothing is called so")),
        ],
        remainder="drop",
    )
    model = make_pipeline(columns, StandardScaler(with_mean=False), LinearSVMClassifier())
    model.fit(frame, labels(frame))
    assert assert_same_on_table(model, table(200, 1, unknown=True)) == ["age", "city"]


def test_text_that_marks_missing_values():
    frame = table(300, 0).assign(city=lambda f: f["city"].fillna("?"))
    text = make_pipeline(
        SimpleImputer(missing_values="?", strategy="constant", fill_value="none"), OneHotEncoder()
    )
    model = make_pipeline(make_column_transformer((text, ["city", "plan"])), ODMClassifier())
    model.fit(frame, labels(frame))
    assert assert_same_on_table(model, frame) == ["city", "plan"]


def test_categories_that_are_numbers():
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, 4, 200), rng.choice([1.0, 2.5, np.nan], 200)])
    y = (codes[:, 0] > 1).astype(int) + np.isnan(codes[:, 1])
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(encoder, ODMClassifier()).fit(codes, y)
    assert_same_predictions(model, np.vstack([codes, [[9.0, 1.0], [0.0, -1.0]]]))


@pytest.mark.parametrize(
    "chosen",
    [
        [0, 2],
        [-1],
        slice(1, 4),
        slice("b", "d"),
        [True, False, True, False, False],
        ["e", "a"],
        "c",
    ],
    ids=str,
)
def test_columns_of_numbers_stay_one_input(chosen):
    frame = pandas.DataFrame(X, columns=list("abcde"))
    scaled = (StandardScaler(), [chosen] if isinstance(chosen, str) else chosen)
    columns = make_column_transformer(scaled, remainder="passthrough")
    model = make_pipeline(columns, ODMClassifier()).fit(frame, Y)
    proto = to_onnx(model, dtype="float64")
    wanted = model.decision_function(pandas.DataFrame(QUERIES, columns=list("abcde")))
    np.testing.assert_allclose(run_graph(proto, QUERIES)["decision"], wanted, rtol=1e-9)


def test_a_search_over_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), SVMClassifier())
    model = GridSearchCV(pipeline, {"svmclassifier__C": [1.0, 8.0]}, cv=2).fit(X, Y)
    assert_same_predictions(model, QUERIES)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([(OneHotEncoder(), ["gap"])], "cannot both be categories"),
        ([(OneHotEncoder(), ["decision"])], "Rename the column"),
        ([(OneHotEncoder(), ["code"]), (StandardScaler(), ["code"])], "has one type"),
        ([("passthrough", ["code"]), (OneHotEncoder(), ["decision"])], "Rename the column"),
    ],
    ids=["empty and missing", "name of an output", "text and number", "numbers beside"],
)
def test_tables_that_cannot_be_exported(steps, message):
    frame = pandas.DataFrame(
        {
            "gap": np.array(["x", "", None] * 20, dtype=object),
            "decision": ["u", "v", "w"] * 20,
            "code": ["1", "2", "3"] * 20,
        }
    )
    model = make_pipeline(make_column_transformer(*steps), ODMClassifier())
    with pytest.raises(ValueError, match=message):
        to_onnx(model.fit(frame, [0, 1, 0] * 20))
