"""Figures as printed; times are those of the paper's machines.

[SODM] Wang, Cao, Zhang, Shi and Jin, "Scalable optimal margin distribution machine", IJCAI 2023.
"""

from __future__ import annotations

METHODS = ("cascade", "preserving", "clustered", "stratified")


def _row(*figures: float) -> dict[str, tuple[float, float]]:
    """Return accuracy and seconds by method."""
    return dict(zip(METHODS, zip(figures[::2], figures[1::2], strict=True), strict=True))


# [SODM] Tables 2 and 4, RBF kernel: accuracy and seconds (five workers of 16 cores each). The
# columns of ODM are the same in both tables.
# Their a7a row counts 32,561 rows, which are those of a9a; our SUSY has 30,000 of 5,000,000 rows.
SODM = {
    "svmguide1": {
        "odm": _row(0.872, 38.90, 0.903, 35.25, 0.943, 50.11, 0.944, 28.74),
        "svm": _row(0.904, 49.20, 0.895, 33.20, 0.952, 37.63, 0.902, 20.33),
    },
    "phishing": {
        "odm": _row(0.880, 49.60, 0.901, 52.61, 0.936, 59.47, 0.938, 25.22),
        "svm": _row(0.910, 43.85, 0.902, 55.02, 0.928, 42.53, 0.929, 30.70),
    },
    "a9a": {
        "odm": _row(0.824, 68.36, 0.813, 61.24, 0.815, 106.51, 0.838, 32.67),
        "svm": _row(0.817, 59.40, 0.815, 58.92, 0.818, 97.99, 0.810, 40.54),
    },
    "cod-rna": {
        "odm": _row(0.892, 499.38, 0.905, 532.68, 0.931, 400.61, 0.933, 55.41),
        "svm": _row(0.880, 458.43, 0.873, 508.33, 0.915, 430.26, 0.889, 64.91),
    },
    "ijcnn1": {
        "odm": _row(0.889, 185.20, 0.893, 182.71, 0.915, 226.26, 0.927, 40.32),
        "svm": _row(0.803, 150.11, 0.824, 156.27, 0.920, 266.95, 0.803, 105.11),
    },
    "skin_nonskin": {
        "odm": _row(0.806, 338.73, 0.830, 437.20, 0.962, 407.46, 0.956, 283.36),
        "svm": _row(0.811, 299.96, 0.855, 343.82, 0.959, 420.51, 0.848, 320.05),
    },
    "susy_30k": {
        "odm": _row(0.733, 4280.23, 0.744, 5678.66, 0.747, 7009.36, 0.760, 1004.33),
        "svm": _row(0.720, 4153.10, 0.752, 5377.99, 0.758, 7520.00, 0.720, 3920.28),
    },
}

# [SODM] Table 2, column "ODM": the whole set at once, without seconds; the other sets took more
# than 48 hours.
WHOLE_ODM = {"svmguide1": 0.970, "phishing": 0.941, "a9a": 0.882}

# [SODM] Table 3, linear kernel: accuracy of ODM on the whole set; accuracy and seconds of Ca-ODM
# and DiP-ODM. The columns of DC-ODM and SODM are not in our copy.
LINEAR: dict[str, dict[str, tuple[float, ...]]] = {
    "svmguide1": {"whole": (0.964,), "cascade": (0.863, 35.27), "preserving": (0.898, 40.52)},
    "phishing": {"whole": (0.937,), "cascade": (0.894, 33.84), "preserving": (0.921, 38.60)},
    "a9a": {"whole": (0.850,), "cascade": (0.795, 47.59), "preserving": (0.831, 59.17)},
    "cod-rna": {"whole": (0.938,), "cascade": (0.882, 435.19), "preserving": (0.894, 434.77)},
    "ijcnn1": {"whole": (0.913,), "cascade": (0.896, 228.43), "preserving": (0.903, 208.81)},
    "skin_nonskin": {"whole": (0.917,), "cascade": (0.796, 158.12), "preserving": (0.903, 256.78)},
    "susy_30k": {"whole": (0.774,), "cascade": (0.734, 3790.37), "preserving": (0.738, 3829.23)},
}
