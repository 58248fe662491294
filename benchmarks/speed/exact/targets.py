"""What the exact solvers aim at: our time over that of scikit-learn-intelex's SVC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .cases import CASES

FIT, PREDICT = "fit_seconds", "predict_seconds"
# Accuracy of ODM may be below SVC's by this much.
ACCURACY_MARGIN = 0.002


@dataclass(frozen=True)
class Target:
    """A ratio of times, and how large it may be in each case."""

    title: str
    ours: str
    peer: str
    key: str
    aims: Mapping[str, float] = field(default_factory=dict)


TRAINING = {"covtype_20k": 0.5, "covtype_50k": 0.5, "letter": 0.5}
TRAINING |= {"ijcnn1": 0.7, "cod-rna": 0.7, "a9a": 0.7}
PREDICTION = dict.fromkeys(CASES, 0.4)
ODM = {"ijcnn1": 5.0, "cod-rna": 5.0, "covtype_20k": 2.0, "covtype_50k": 1.0}
TARGETS = (
    Target("training, SVM ÷ intelex", "svm", "intelex", FIT, TRAINING),
    Target("training, SVM with intercept ÷ intelex", "svm_intercept", "intelex", FIT),
    Target("training, SVM ÷ scikit-learn SVC", "svm_at_svc", "svc", FIT),
    Target("training, ODM ÷ intelex", "odm", "intelex", FIT, ODM),
    Target("training, ODM ÷ intelex, C=1", "odm_C1", "intelex_C1", FIT, dict.fromkeys(CASES, 3.0)),
    Target("prediction, SVM ÷ intelex", "svm", "intelex", PREDICT, PREDICTION),
    Target("prediction, ODM ÷ intelex", "odm", "intelex", PREDICT),
)
