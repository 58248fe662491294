"""Messages about parameters have the names and values of Params; no Spark is started."""

from numbers import Integral, Real

import pytest

pytest.importorskip("pyspark")
from sklearn.utils._param_validation import Interval, StrOptions

from widemargin.core.fit import warn
from widemargin.spark import SparkMulticlassSVMClassifier, SparkODMClassifier
from widemargin.spark.param_messages import check_values, in_spark_names

NAMES = {"max_iter": "maxIter", "fan_in": "fanIn", "random_state": "seed"}


@pytest.mark.parametrize(
    ("allowed", "value", "words"),
    [
        ([Interval(Real, 0, None, closed="neither")], 0.0, "a number above 0"),
        ([Interval(Real, 0, None, closed="left"), None], -1.0, "a number of at least 0"),
        ([Interval(Real, 0, 1, closed="right")], 2.0, "a number in (0, 1]"),
        ([Interval(Real, None, 1, closed="neither")], 2.0, "a number in (-inf, 1)"),
        ([Interval(Real, None, None, closed="neither")], float("inf"), "a number that is finite"),
        ([Interval(Integral, 2, 9, closed="both")], 1, "a whole number from 2 to 9"),
        ([StrOptions({"b", "a"}), dict], "c", "'a', 'b' or a map from labels to weights"),
        (["boolean", StrOptions({"auto"}), OSError], "no", "True, False or 'auto'"),
    ],
)
def test_allowed_values_in_words(allowed, value, words):
    with pytest.raises(ValueError) as told:  # noqa: PT011
        check_values({"x": allowed}, {"x": value})
    assert type(told.value) is ValueError
    assert str(told.value) == f"`x` must be {words}; got {value!r}."
    check_values({"x": allowed}, {"x": None, "y": value})


@pytest.mark.parametrize("kind", [SparkODMClassifier, SparkMulticlassSVMClassifier])
def test_every_constraint_of_a_stage_has_words(kind):
    class Odd:
        pass

    stage = kind()
    for name in stage._local_params():
        stage._paramMap[stage.getParam(name)] = Odd()
        with pytest.raises((ValueError, TypeError), match=rf"^`{name}` must be .*; got <"):
            stage._local_estimator()
        stage.clear(stage.getParam(name))


def test_a_level_that_does_not_exist_is_refused_before_any_job():
    stage = SparkODMClassifier(strategy="sodm", levels=2, stopLevel=9)
    names = in_spark_names(stage._spark_names())
    with pytest.raises(ValueError, match=r"^`stopLevel` must be at most `levels` \(2\)"), names:
        stage._local_estimator()


def test_names_in_errors_and_warnings():
    said = "`max_iter` or fan_in=2, not max_iterations, of column 'max_iter'; max_iter."
    wanted = "`maxIter` or fanIn=2, not max_iterations, of column 'max_iter'; maxIter."
    with pytest.raises(ValueError) as told, in_spark_names(NAMES):  # noqa: PT011
        raise ValueError(said)
    assert str(told.value) == wanted
    with pytest.warns(UserWarning, match=f"^{wanted}$"), in_spark_names(NAMES):
        warn(said)
    with pytest.warns(UserWarning, match=f"^{said}$"):
        warn(said)
