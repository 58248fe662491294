"""Figures as printed; times are those of the paper's machines.

[SODM] Wang, Cao, Zhang, Shi and Jin, "Scalable optimal margin distribution machine", IJCAI 2023.
"""

from __future__ import annotations

# [SODM] Tables 2 and 4, RBF kernel: accuracy and seconds (five workers of 16 cores each).
# Their a7a row counts 32,561 rows, which are those of a9a; our SUSY has 30,000 of 5,000,000 rows.
SODM = {
    "svmguide1": {
        "odm": {
            "cascade": (0.872, 38.90),
            "preserving": (0.903, 35.25),
            "clustered": (0.943, 50.11),
            "stratified": (0.944, 28.74),
        },
        "svm": {
            "cascade": (0.904, 49.20),
            "preserving": (0.895, 33.20),
            "clustered": (0.952, 37.63),
            "stratified": (0.902, 20.33),
        },
    },
    "phishing": {
        "odm": {
            "cascade": (0.880, 49.60),
            "preserving": (0.901, 52.61),
            "clustered": (0.936, 59.47),
            "stratified": (0.938, 25.22),
        },
        "svm": {
            "cascade": (0.910, 43.85),
            "preserving": (0.902, 55.02),
            "clustered": (0.928, 42.53),
            "stratified": (0.929, 30.70),
        },
    },
    "a9a": {
        "odm": {
            "cascade": (0.824, 68.36),
            "preserving": (0.813, 61.24),
            "clustered": (0.815, 106.51),
            "stratified": (0.838, 32.67),
        },
        "svm": {
            "cascade": (0.817, 59.40),
            "preserving": (0.815, 58.92),
            "clustered": (0.818, 97.99),
            "stratified": (0.810, 40.54),
        },
    },
    "cod-rna": {
        "odm": {
            "cascade": (0.892, 499.38),
            "preserving": (0.905, 532.68),
            "clustered": (0.931, 400.61),
            "stratified": (0.933, 55.41),
        },
        "svm": {
            "cascade": (0.880, 458.43),
            "preserving": (0.873, 508.33),
            "clustered": (0.915, 430.26),
            "stratified": (0.889, 64.91),
        },
    },
    "ijcnn1": {
        "odm": {
            "cascade": (0.889, 185.20),
            "preserving": (0.893, 182.71),
            "clustered": (0.915, 226.26),
            "stratified": (0.927, 40.32),
        },
        "svm": {
            "cascade": (0.803, 150.11),
            "preserving": (0.824, 156.27),
            "clustered": (0.920, 266.95),
            "stratified": (0.803, 105.11),
        },
    },
    "skin_nonskin": {
        "odm": {
            "cascade": (0.806, 338.73),
            "preserving": (0.830, 437.20),
            "clustered": (0.962, 407.46),
            "stratified": (0.956, 283.36),
        },
        "svm": {
            "cascade": (0.811, 299.96),
            "preserving": (0.855, 343.82),
            "clustered": (0.959, 420.51),
            "stratified": (0.848, 320.05),
        },
    },
    "susy_30k": {
        "odm": {
            "cascade": (0.733, 4280.23),
            "preserving": (0.744, 5678.66),
            "clustered": (0.747, 7009.36),
            "stratified": (0.760, 1004.33),
        },
        "svm": {
            "cascade": (0.720, 4153.10),
            "preserving": (0.752, 5377.99),
            "clustered": (0.758, 7520.00),
            "stratified": (0.720, 3920.28),
        },
    },
}

# [SODM] Table 2, column "ODM": the whole set at once; the other sets took more than 48 hours.
WHOLE_ODM = {"svmguide1": 0.970, "phishing": 0.941, "a9a": 0.882}

# [SODM] Table 3, linear kernel: accuracy of ODM on the whole set, of Ca-ODM and of DiP-ODM. The
# columns of DC-ODM and SODM are not legible in our copy.
LINEAR = {
    "svmguide1": {"whole": 0.964, "cascade": 0.863, "preserving": 0.898},
    "phishing": {"whole": 0.937, "cascade": 0.894, "preserving": 0.921},
    "a9a": {"whole": 0.850, "cascade": 0.795, "preserving": 0.831},
    "cod-rna": {"whole": 0.938, "cascade": 0.882, "preserving": 0.894},
    "ijcnn1": {"whole": 0.913, "cascade": 0.896, "preserving": 0.903},
    "skin_nonskin": {"whole": 0.917, "cascade": 0.796, "preserving": 0.903},
    "susy_30k": {"whole": 0.774, "cascade": 0.734, "preserving": 0.738},
}
