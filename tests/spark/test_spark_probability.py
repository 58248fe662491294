"""Probabilities and thresholds of the classifiers on Spark."""

import json
import warnings

import numpy as np
import pytest

pytest.importorskip("pyspark")
from pyspark.ml import Pipeline
from pyspark.ml.classification import LinearSVC, LogisticRegression, OneVsRest
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.linalg import DenseVector, VectorUDT
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import FixedThresholdClassifier

from spark.frames import three_classes, two_classes, vector_frame
from widemargin import (
    LinearODMClassifier,
    LinearSVMClassifier,
    MulticlassSVMClassifier,
    ODMClassifier,
    SVMClassifier,
)
from widemargin.engines.spark import SparkEngine
from widemargin.spark import (
    SparkLinearODMClassifier,
    SparkLinearODMModel,
    SparkLinearSVMClassifier,
    SparkLinearSVMModel,
    SparkMulticlassSVMClassifier,
    SparkODMClassifier,
    SparkSVMClassifier,
    SparkSVMModel,
    classifier_stage,
)
from widemargin.spark.rows.blocks import place
from widemargin.spark.rows.columns import FrameColumns
from widemargin.spark.rows_left_out import RowsLeftOut, keys_of, numbers_wanted

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def binary(spark):
    return vector_frame(spark, *two_classes()).persist()


@pytest.fixture(scope="module")
def several(spark):
    return vector_frame(spark, *three_classes()).persist()


@pytest.fixture(scope="module")
def calibrated(binary):
    return SparkLinearSVMClassifier(calibrate="sigmoid", tol=1e-8).fit(binary)


@pytest.fixture(scope="module")
def plain(binary):
    return SparkLinearSVMClassifier(tol=1e-8).fit(binary)


def said(frame):
    """Return probabilities, raw predictions and predictions, by id."""
    rows = sorted(frame.collect(), key=lambda row: row["id"])
    probability = [row["probability"].toArray() for row in rows]
    raw = [row["rawPrediction"].toArray() for row in rows]
    return np.array(probability), np.array(raw), np.array([row["prediction"] for row in rows])


def predictions(frame):
    rows = sorted(frame.select("id", "prediction").collect(), key=lambda row: row["id"])
    return np.array([row["prediction"] for row in rows])


def assert_same_calibration(found, expected, **tolerance):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, str):
            assert found[name] == value
        else:
            np.testing.assert_allclose(found[name], value, **tolerance)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_linear_probabilities_are_those_of_the_local_class(binary, plain, method):
    X, y = two_classes()
    model = SparkLinearSVMClassifier(calibrate=method, tol=1e-8).fit(binary)
    local = LinearSVMClassifier(calibrate=method, tol=1e-8, random_state=0).fit(X, y)
    assert_same_calibration(model.toLocal().calibration_, local.calibration_, rtol=1e-4)
    scored = model.transform(binary)
    assert isinstance(scored.schema["probability"].dataType, VectorUDT)
    probability, raw, prediction = said(scored)
    np.testing.assert_allclose(probability, model.toLocal().predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), prediction)
    np.testing.assert_array_equal(prediction, predictions(plain.transform(binary)))
    first = DenseVector(X[0])
    np.testing.assert_allclose(model.predictProbability(first).toArray(), probability[0])
    np.testing.assert_allclose(model.predictRaw(first).toArray(), raw[0])
    assert model.predict(first) == prediction[0]


@pytest.mark.parametrize(
    ("kind", "local", "settings"),
    [
        (SparkLinearODMClassifier, LinearODMClassifier, {}),
        (SparkMulticlassSVMClassifier, MulticlassSVMClassifier, {"C": 0.1}),
        (SparkODMClassifier, ODMClassifier, {"gamma": 0.5}),
        (SparkSVMClassifier, SVMClassifier, {"gamma": 0.5}),
    ],
)
def test_several_classes_are_calibrated_as_by_the_local_classes(several, kind, local, settings):
    X, y = three_classes()
    kernel = {"multi_class": "ovr"} if local in (ODMClassifier, SVMClassifier) else {}
    expected = local(calibrate="sigmoid", random_state=0, tol=1e-6, **settings, **kernel).fit(X, y)
    model = kind(calibrate="sigmoid", tol=1e-6, **settings).fit(several)
    assert_same_calibration(
        model.toLocal().calibration_, expected.calibration_, rtol=1e-3, atol=1e-3
    )
    probability, _, prediction = said(model.transform(several))
    np.testing.assert_array_equal(probability.argmax(axis=1), prediction)
    np.testing.assert_allclose(probability, expected.predict_proba(X), atol=1e-3)


def test_a_divided_fit_is_calibrated_by_rows_left_out(binary):
    y = two_classes()[1]
    divided = {"strategy": "sodm", "levels": 1, "stopLevel": 1, "idCol": "id", "nParts": 2}
    classifier = SparkODMClassifier(calibrate="sigmoid", **divided)
    model = classifier.fit(binary)
    probability, raw, prediction = said(model.transform(binary))
    np.testing.assert_array_equal(probability.argmax(axis=1), prediction)
    assert log_loss(y, probability) < 0.15
    plain = SparkODMClassifier(**divided).fit(binary)
    np.testing.assert_array_equal(predictions(plain.transform(binary)), prediction)
    assert model.numSupportVectors == plain.numSupportVectors

    # It makes no difference where support vectors are.
    large = classifier.copy().setMaxModelRows(50).setCompressTo(0).fit(binary)
    assert large.distributed
    others = said(large.transform(binary))
    np.testing.assert_allclose(others[0], probability, atol=1e-9)
    np.testing.assert_allclose(others[1], raw, atol=1e-9)
    np.testing.assert_array_equal(others[2], prediction)
    large.unpersist()
    small = model.compress(100)
    assert log_loss(y, said(small.transform(binary))[0]) < 0.15
    assert not small.hasSummary


@pytest.mark.parametrize(
    ("kind", "frame", "settings"),
    [
        (SparkLinearSVMClassifier, "binary", {"solver": "newton"}),
        (SparkMulticlassSVMClassifier, "several", {"C": 0.1}),
    ],
)
def test_large_sets_are_calibrated_where_the_rows_are(request, monkeypatch, kind, frame, settings):
    frame = request.getfixturevalue(frame)
    together = kind(calibrate="sigmoid", **settings).fit(frame)
    monkeypatch.setattr(classifier_stage, "GATHERED_BYTES", 0)
    model = kind(calibrate="sigmoid", **settings).fit(frame)
    one, other = said(together.transform(frame)), said(model.transform(frame))
    np.testing.assert_array_equal(one[2], other[2])
    np.testing.assert_array_equal(other[0].argmax(axis=1), other[2])
    assert np.abs(one[0] - other[0]).mean() < 0.1
    assert np.abs(one[0] - other[0]).max() > 0  # by other rows


def test_rows_left_out_depend_on_their_contents_alone(spark):
    X, y = three_classes()
    twice = np.concatenate([X, X]), np.concatenate([y, y])
    chosen = []
    for data, partitions in ((twice, 1), (twice, 3), ((X, y), 2)):
        frame = vector_frame(spark, *data, partitions=partitions)
        engine = SparkEngine(spark)
        try:
            columns = FrameColumns("features", "label")
            rows = place(engine, frame, columns, skip=False, n_parts=None)
            left_out = RowsLeftOut.of(rows)
            block, others = left_out.gathered(rows), left_out.others(rows)
            assert block.n_rows + others.summary.rows == len(data[1])
            counts = np.bincount(block.codes)
            assert np.all(counts >= len(data[1]) // 15)
            assert np.all(counts <= len(data[1]) // 15 + 2)
            chosen.append(set(keys_of(block).tolist()))
        finally:
            engine.release()
    assert chosen[0] == chosen[1]
    assert len(chosen[0] ^ chosen[2]) <= 6  # half of 10 copies, and those at the limit


def test_the_number_of_rows_left_out_is_bounded():
    np.testing.assert_array_equal(numbers_wanted(np.array([40, 5, 1, 0]), 0.2), [8, 1, 0, 0])
    wanted = numbers_wanted(np.array([9 * 10**8, 10**8, 2000]), 0.2)
    np.testing.assert_array_equal(wanted, [9000, 1000, 100])
    many = numbers_wanted(np.full(10_000, 10**6), 0.2)
    assert many.sum() * many.size <= 2 * 2**24 or np.all(many == 1)
    np.testing.assert_array_equal(numbers_wanted(np.array([30, 1]), 1.0), [30, 1])


def test_validation_rows_calibrate(spark):
    X, y = two_classes()
    beside = np.arange(len(y)) % 4 == 0
    frame = vector_frame(spark, X, y, beside=beside)
    classifier = SparkLinearSVMClassifier(
        calibrate="sigmoid", solver="newton", validationIndicatorCol="beside"
    )
    model = classifier.fit(frame)
    local = LinearSVMClassifier(calibrate="sigmoid", solver="newton").fit(
        X[~beside], y[~beside], X_val=X[beside], y_val=y[beside]
    )
    assert_same_calibration(model.toLocal().calibration_, local.calibration_, rtol=1e-3)
    assert model.summary.numRows == np.count_nonzero(~beside)
    assert model.summary.numValidationRows == np.count_nonzero(beside)
    assert model.summary.predictions.count() == model.summary.numRows


def test_labels_with_gaps_are_calibrated(spark):
    X, y = three_classes()
    frame = vector_frame(spark, X, np.where(y == 2, 3, y))
    model = SparkLinearODMClassifier(calibrate="sigmoid").fit(frame)
    probability, _, prediction = said(model.transform(frame))
    assert probability.shape == (len(y), 4)
    np.testing.assert_array_equal(probability.argmax(axis=1), prediction)
    assert probability[:, 2].max() < 0.3


def test_weights_and_class_weights_count_in_the_calibrators(spark):
    X, y = two_classes()
    heavy = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    frame = vector_frame(spark, X, y, heavy=heavy)
    settings = {"calibrate": "sigmoid", "tol": 1e-8}
    model = SparkLinearODMClassifier(weightCol="heavy", classWeight={0: 3.0, 1: 1.0}, **settings)
    local = LinearODMClassifier(class_weight={0: 3.0, 1: 1.0}, random_state=0, **settings)
    local.fit(X, y, sample_weight=heavy)
    assert_same_calibration(model.fit(frame).toLocal().calibration_, local.calibration_, rtol=1e-4)


def test_fold_models_that_do_not_converge_are_told(binary):
    classifier = SparkLinearSVMClassifier(
        calibrate="sigmoid", solver="dual", loss="hinge", maxIter=1, tol=1e-12
    )
    with pytest.warns(ConvergenceWarning) as caught:
        model = classifier.fit(binary)
    messages = [str(each.message) for each in caught]
    assert any("probabilities of LinearSVMClassifier come from" in each for each in messages)
    assert "probability" in model.transform(binary).columns


def test_threshold_of_a_calibrated_model_is_that_of_logistic_regression(binary, calibrated):
    probability, _, _ = said(calibrated.transform(binary))
    for threshold in (0.0, 0.2, 0.9, 1.0):
        model = calibrated.copy().setThreshold(threshold)
        found = predictions(model.transform(binary))
        np.testing.assert_array_equal(found, (probability[:, 1] > threshold).astype(float))
        assert model.predict(DenseVector(two_classes()[0][0])) == found[0]
        assert model.getThresholds() == [1.0 - threshold, threshold]
    # The default changes nothing, and getters agree with MLlib's.
    half = calibrated.copy().setThreshold(0.5)
    np.testing.assert_array_equal(
        predictions(half.transform(binary)), predictions(calibrated.transform(binary))
    )
    assert calibrated.getThreshold() == LogisticRegression().getThreshold() == 0.5
    given = [0.2, 0.6]
    theirs = LogisticRegression(thresholds=given)
    ours = SparkLinearSVMClassifier(calibrate="sigmoid", thresholds=given)
    assert ours.getThreshold() == pytest.approx(theirs.getThreshold())
    assert ours.setThreshold(0.3).getThresholds() == theirs.setThreshold(0.3).getThresholds()
    assert not ours.isSet("thresholds")
    assert not ours.setThresholds([0.5, 0.5]).isSet("threshold")


def test_threshold_of_a_plain_model_is_that_of_linear_svc(binary, plain):
    theirs = LinearSVC(maxIter=2).fit(binary)
    for model in (plain, theirs):
        for threshold in (-1.0, 0.5, float("inf")):
            rows = model.copy().setThreshold(threshold).transform(binary).collect()
            for row in rows:
                assert row["prediction"] == float(row["rawPrediction"][1] > threshold)
    assert plain.getThreshold() == theirs.getThreshold() == 0.0


def test_a_local_model_leaves_the_threshold_behind_with_a_warning(calibrated):
    model = calibrated.copy().setThreshold(0.9)
    with pytest.warns(UserWarning, match=r"without the model's `threshold` \(0.9\).*FixedThresh"):
        local = model.toLocal()
    X, _ = two_classes()
    wrapped = FixedThresholdClassifier(
        FrozenEstimator(local), threshold=0.9, response_method="predict_proba"
    ).fit(X, two_classes()[1])
    assert wrapped.predict(X)[0] == model.predict(DenseVector(X[0]))
    assert not np.array_equal(wrapped.predict(X), local.predict(X))
    with pytest.warns(UserWarning, match=r"`thresholds` \(\[0.2, 0.6\]\).*threshold=0.75"):
        calibrated.copy().setThresholds([0.2, 0.6]).toLocal()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.clear(model.threshold)
        model.toLocal()


@pytest.mark.parametrize("thresholds", [[0.1, 0.1, 1.0], [1.0, 0.0, 1.0], [0.5, 0.3, 0.2]])
def test_thresholds_divide_probabilities_as_those_of_mllib(several, thresholds):
    model = SparkLinearODMClassifier(calibrate="sigmoid").fit(several)
    probability, _, plain = said(model.transform(several))
    _, _, found = said(model.copy().setThresholds(thresholds).transform(several))
    np.testing.assert_array_equal(found, [mllib_label(p, thresholds) for p in probability])
    with pytest.warns(UserWarning, match=r"`thresholds`.*Choose labels from its predict_proba, or"):
        model.copy().setThresholds(thresholds).toLocal()
    assert np.any(found != plain)


def mllib_label(probability, thresholds):
    """Return the label by the published rule of ``ProbabilisticClassificationModel``."""
    best, largest = 0, -np.inf
    for k, (p, t) in enumerate(zip(probability, thresholds, strict=True)):
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.divide(p, t)
        if scaled > largest:
            best, largest = k, scaled
    return best


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"calibrate": "platt"}, "calibrate"),
        ({"thresholds": [0.5, 0.5]}, "`thresholds` is for models with probabilities"),
        ({"probabilityCol": "p"}, "`probabilityCol` is for models with probabilities"),
        ({"threshold": float("nan")}, "`threshold` must be a number; got nan"),
        ({"calibrate": "sigmoid", "threshold": 1.5}, "must be from 0 to 1"),
        ({"calibrate": "sigmoid", "thresholds": [0.0, 0.0]}, "at most one of them 0"),
        ({"calibrate": "sigmoid", "thresholds": [1.0, -1.0]}, "numbers >= 0"),
        ({"calibrate": "sigmoid", "thresholds": [1.0] * 3}, "got 3 for 2 classes"),
    ],
)
def test_invalid_settings_are_refused(binary, settings, message):
    with pytest.raises(ValueError, match=message):
        SparkLinearSVMClassifier(**settings).fit(binary)


def test_settings_that_contradict_each_other_are_refused(binary, several, calibrated, plain):
    both = {"threshold": 0.2, "thresholds": [0.5, 0.5]}
    with pytest.raises(ValueError, match=r"must agree; got 0\.2 .* amount to 0\.5"):
        SparkLinearSVMClassifier(calibrate="sigmoid", **both)
    agreeing = SparkLinearSVMClassifier(calibrate="sigmoid", threshold=0.2, thresholds=[0.8, 0.2])
    assert agreeing.getThreshold() == pytest.approx(0.2)
    contradicting = calibrated.copy({calibrated.threshold: 0.2, calibrated.thresholds: [0.5, 0.5]})
    with pytest.raises(ValueError, match="must agree"):
        contradicting.transform(binary)
    with pytest.raises(ValueError, match="for two classes; got 3"):
        SparkLinearSVMClassifier(threshold=0.0).fit(several)
    with pytest.raises(ValueError, match="Fit with calibrate='sigmoid'"):
        plain.copy().setThresholds([0.5, 0.5]).transform(binary)
    with pytest.raises(ValueError, match="has no probabilities"):
        plain.predictProbability(DenseVector(np.zeros(10)))
    assert "probability" not in plain.transform(binary).columns
    taken = calibrated.transform(binary).drop("rawPrediction", "prediction")
    with pytest.raises(ValueError, match="it already has 'probability'"):
        calibrated.transform(taken)


def test_probabilities_are_saved_and_loaded(binary, calibrated, tmp_path):
    model = calibrated.copy({calibrated.probabilityCol: "chance"}).setThreshold(0.8)
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = SparkLinearSVMModel.load(str(tmp_path / "model"))
    assert loaded.getThreshold() == 0.8
    assert loaded.getCalibrate() == "sigmoid"
    before, after = (
        each.transform(binary).orderBy("id").select("chance", "prediction").collect()
        for each in (model, loaded)
    )
    assert before == after
    classifier = SparkLinearSVMClassifier(calibrate="isotonic", thresholds=[0.0, 1.0])
    classifier.write().overwrite().save(str(tmp_path / "classifier"))
    again = SparkLinearSVMClassifier.load(str(tmp_path / "classifier"))
    assert again.getThresholds() == [0.0, 1.0]


def test_models_saved_before_there_were_probabilities_load(spark, binary, plain, tmp_path):
    path = str(tmp_path / "model")
    plain.write().overwrite().save(path)
    (line,) = spark.read.text(f"{path}/metadata").first()
    metadata = json.loads(line)
    for name in ("probabilityCol", "calibrate", "threshold", "thresholds"):
        metadata["paramMap"].pop(name, None)
        metadata["defaultParamMap"].pop(name, None)
    frame = spark.createDataFrame([(json.dumps(metadata),)], "value string")
    frame.write.mode("overwrite").text(f"{path}/metadata")
    loaded = SparkLinearSVMModel.load(path)
    assert predictions(loaded.transform(binary)).tolist() == (
        predictions(plain.transform(binary)).tolist()
    )
    assert loaded.getProbabilityCol() == "probability"


def test_local_models_bring_their_calibration(spark, several):
    X, y = three_classes()
    local = SVMClassifier(calibrate="sigmoid", multi_class="ovo").fit(X, y)
    model = SparkSVMModel.fromLocal(local)
    probability, raw, prediction = said(model.transform(several))
    np.testing.assert_allclose(probability, local.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(raw, local.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(prediction, local.predict(X))
    assert model.getCalibrate() == "sigmoid"
    old = LinearODMClassifier().fit(*two_classes())
    assert (
        "probability"
        not in SparkLinearODMModel.fromLocal(old)
        .transform(vector_frame(spark, *two_classes()))
        .columns
    )


def test_calibrated_stages_work_in_pipelines_searches_and_one_against_the_rest(binary, several):
    classifier = SparkLinearSVMClassifier(calibrate="sigmoid")
    search = CrossValidator(
        estimator=Pipeline(stages=[classifier]),
        estimatorParamMaps=ParamGridBuilder().addGrid(classifier.C, [1e-4, 1.0]).build(),
        evaluator=MulticlassClassificationEvaluator(metricName="logLoss"),
        numFolds=2,
        seed=0,
    )
    found = search.fit(binary)
    assert found.avgMetrics[1] < found.avgMetrics[0]
    assert found.bestModel.stages[0].getC() == 1.0
    assert "probability" in found.transform(binary).columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        one = OneVsRest(classifier=classifier).fit(several)
    assert np.mean(predictions(one.transform(several)) == three_classes()[1]) > 0.9
