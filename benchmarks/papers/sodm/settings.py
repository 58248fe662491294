"""What the search of SODM's tables found, for benchmarks that start from it."""

from __future__ import annotations

# C and γ for ODM and SVM.
SETTINGS = {
    "svmguide1": {"odm": (1.0, 8.0), "svm": (1.0, 8.0)},
    "phishing": {"odm": (1.0, 0.5), "svm": (1.0, 0.5)},
    "a9a": {"odm": (1.0, 1 / 32), "svm": (1.0, 1 / 8)},
    "cod-rna": {"odm": (8.0, 0.5), "svm": (8.0, 2.0)},
    "ijcnn1": {"odm": (64.0, 8.0), "svm": (64.0, 8.0)},
    "skin_nonskin": {"odm": (8.0, 32.0), "svm": (8.0, 32.0)},
    "susy_30k": {"odm": (8.0, 1 / 8), "svm": (64.0, 1 / 8)},
}
