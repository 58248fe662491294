"""Multi-class SVMs on DataFrames: the models of the local engine."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("pyspark")
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import StandardScaler
from pyspark.ml.linalg import DenseMatrix, SparseMatrix, Vectors

from spark.frames import array_frame, sparse_frame, three_classes, two_classes, vector_frame
from widemargin import MulticlassSVMClassifier
from widemargin.engines.spark import SparkEngine
from widemargin.spark import SparkMulticlassSVMClassifier, SparkMulticlassSVMModel

pytestmark = pytest.mark.spark

# Every epoch of a tournament and every Newton step is a few jobs: few of them.
SETTINGS = {"C": 0.1, "tol": 0.1}
DIVIDED = [("ww", "tournament", 2), ("ww", "newton", 100), ("llw", "newton", 100)]


def rows():
    X, y = make_classification(
        160, 6, n_informative=5, n_redundant=0, n_classes=5, n_clusters_per_class=1, random_state=0
    )
    return X, y


@pytest.fixture(scope="module")
def frame(spark):
    return array_frame(spark, *rows(), partitions=3).persist()


def local(formulation, solver="auto", **more):
    settings = {**SETTINGS, "random_state": 0, **more}
    return MulticlassSVMClassifier(formulation, solver=solver, **settings).fit(*rows())


def labels(found):
    collected = sorted(found.select("id", "prediction").collect(), key=lambda row: row["id"])
    return [row["prediction"] for row in collected]


def assert_same(model, here, frame, X):
    there = model.toLocal()
    assert there.solver_ == here.solver_
    assert there.history_["primal"][-1] == pytest.approx(here.history_["primal"][-1], rel=1e-10)
    assert labels(model.transform(frame)) == here.predict(X).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("formulation", "solver", "most"), DIVIDED)
def test_rows_where_they_lie_give_the_local_model(frame, formulation, solver, most):
    here = local(formulation, solver, max_iter=most)
    classifier = SparkMulticlassSVMClassifier(
        formulation=formulation, solver=solver, maxIter=most, **SETTINGS
    )
    found = classifier.fit(frame)
    assert_same(found, here, frame, rows()[0])
    assert found.nIter == here.n_iter_
    assert found.converged == here.converged_
    assert ("bytes_moved" in found.history) == (solver == "tournament")


@pytest.mark.parametrize("formulation", ["ww", "llw", "cs", "ovr"])
def test_small_sets_are_solved_in_one_task(spark, frame, formulation):
    here = local(formulation, class_weight="balanced")
    model = SparkMulticlassSVMClassifier(
        formulation=formulation, classWeight="balanced", idCol="id", nParts=2, **SETTINGS
    ).fit(frame)
    assert_same(model, here, frame, rows()[0])
    assert np.array_equal(model.toLocal().coef_, here.coef_)


def test_arrays_on_the_engine(spark):
    here, there = local("ww"), local("ww", engine=SparkEngine(spark))
    assert np.array_equal(there.coef_, here.coef_)
    assert there.history_["primal"][-1] == here.history_["primal"][-1]


def test_two_classes_weights_and_sparse_vectors(spark):
    X, y = two_classes()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    weighted = array_frame(spark, X, y, w=weight)
    model = SparkMulticlassSVMClassifier(weightCol="w", solver="newton", **SETTINGS).fit(weighted)
    here = MulticlassSVMClassifier(solver="newton", random_state=0, **SETTINGS).fit(X, y, weight)
    assert_same(model, here, weighted, X)
    assert model.coefficientMatrix.numRows == 1
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    sparse = sparse_frame(spark, X, y)
    model = SparkMulticlassSVMClassifier(fitIntercept=False, **SETTINGS).fit(sparse)
    local = MulticlassSVMClassifier(fit_intercept=False, random_state=0, **SETTINGS).fit(X, y)
    assert labels(model.transform(sparse)) == local.predict(X).tolist()


def test_one_row_classes_empty_rows_and_classes_that_do_not_occur(spark):
    X, y = rows()
    X, y = np.vstack([X, np.zeros((2, 6)), X[:1] + 2]), np.append(y, [0, 1, 6])  # no class 5
    frame = array_frame(spark, X, y)
    found = SparkMulticlassSVMClassifier(fitIntercept=False, **SETTINGS).fit(frame)
    assert found.numClasses == 7
    assert found.converged
    assert 5.0 not in labels(found.transform(frame))


def test_a_pipeline_is_saved_and_loaded(spark, tmp_path):
    X, y = three_classes()
    frame = vector_frame(spark, X, y)
    scaler = StandardScaler(inputCol="features", outputCol="scaled")
    classifier = SparkMulticlassSVMClassifier(featuresCol="scaled", formulation="llw", seed=5)
    fitted = Pipeline(stages=[scaler, classifier]).fit(frame)
    fitted.write().overwrite().save(str(tmp_path / "fitted"))
    loaded = PipelineModel.load(str(tmp_path / "fitted"))
    assert isinstance(loaded.stages[1], SparkMulticlassSVMModel)
    assert loaded.stages[1].getFormulation() == "llw"
    assert loaded.stages[1].getSeed() == 5
    assert labels(loaded.transform(frame)) == labels(fitted.transform(frame))


def test_a_model_of_a_local_one_predicts_alike(spark):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    here = MulticlassSVMClassifier("cs", random_state=0, C=0.1).fit(X, y)
    model = SparkMulticlassSVMModel.fromLocal(here)
    assert model.getFormulation() == "cs"
    assert isinstance(model.coefficientMatrix, DenseMatrix)
    assert model.density == here.density_
    one = Vectors.dense(X[0])
    np.testing.assert_allclose(model.predictRaw(one).toArray(), here.decision_function(X[:1])[0])
    assert model.predict(one) == here.predict(X[:1])[0]
    assert model.predictTopK(one, 3) == here.predict_top_k(X[:1], 3)[0].tolist()
    with pytest.raises(ValueError, match=r"`k` must be.* 10; got 11"):
        model.predictTopK(one, 11)
    sparse = SparkMulticlassSVMModel.fromLocal(here.sparsify())
    assert isinstance(sparse.coefficientMatrix, SparseMatrix)
    np.testing.assert_array_equal(sparse.coefficientMatrix.toArray(), here.coef_.toarray())
    frame = array_frame(spark, X, y)
    assert labels(sparse.transform(frame)) == here.predict(X).tolist()


def test_time_and_iterations_end_a_fit(frame):
    classifier = SparkMulticlassSVMClassifier(solver="newton", tol=1e-9)
    for limit in ({"maxIter": 1}, {"maxTime": 1e-3}):
        with pytest.warns(ConvergenceWarning, match="SparkMulticlassSVMClassifier did not conv"):
            model = classifier.copy().setParams(**limit).fit(frame)
        assert not model.converged
        assert 0 < model.relativeGap <= 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, r"`C` must be a number above 0; got 0\.0"),
        ({"formulation": "crammer"}, r"`formulation` must be 'cs', 'llw', 'ovr' or 'ww'; got"),
        ({"nParts": 0}, r"`nParts` must be a whole number of at least 1; got 0"),
        ({"formulation": "cs", "solver": "tournament"}, r"formulation='ww' allows; got"),
        ({"solver": "dual", "memoryLimit": 100}, r"needs all rows in one task.*tournament"),
        ({"labelCol": "one"}, r"labels of at least two classes"),
    ],
)
def test_what_cannot_be_is_refused(frame, params, message):
    from pyspark.sql import functions as F

    with pytest.raises(ValueError, match=message):
        SparkMulticlassSVMClassifier(**params).fit(frame.withColumn("one", F.lit(1.0)))


def test_validation_rows_are_refused(frame):
    classifier = SparkMulticlassSVMClassifier().setValidationIndicatorCol("held")
    with pytest.raises(ValueError, match=r"must stay unset.*TrainValidationSplit"):
        classifier.fit(frame)
