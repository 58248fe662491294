"""Figures as printed; times are those of the paper's machine.

[DC] Hsieh, Si and Dhillon, "A divide-and-conquer solver for kernel support vector machines", 2014.
"""

from __future__ import annotations

# [DC] Table 2: C and gamma, accuracy and seconds; how many cores is not said. The gamma of census
# is not legible in our copy.
WIDTHS = {"ijcnn1": (32.0, 2.0), "census_income": (512.0, None), "covtype_binary": (32.0, 32.0)}
TABLE_2 = {
    "ijcnn1": {
        "early": (0.9835, 12.0),
        "full": (0.9869, 41.0),
        "libsvm": (0.9869, 115.0),
        "libsvm_fifth": (0.9824, 6.0),
        "lasvm": (0.9857, 251.0),
        "cascade": (0.9808, 17.1),
        "llsvm": (0.9823, 38.0),
        "fastfood": (0.9595, 87.0),
        "spsvm": (0.9492, 20.0),
        "ltpu": (0.9664, 248.0),
    },
    "census_income": {
        "early": (0.949, 261.0),
        "full": (0.942, 1051.0),
        "libsvm": (0.942, 2920.0),
        "libsvm_fifth": (0.932, 641.0),
        "lasvm": (0.932, 3514.0),
        "cascade": (0.93, 849.0),
        "llsvm": (0.928, 1212.0),
        "fastfood": (0.916, 851.0),
        "spsvm": (0.904, 3121.0),
        "ltpu": (0.92, 1695.0),
    },
    "covtype_binary": {
        "early": (0.9612, 672.0),
        "full": (0.9615, 11414.0),
        "libsvm": (0.9615, 83631.0),
        "libsvm_fifth": (0.9246, 5330.0),
        "lasvm": (0.9439, 102603.0),
        "cascade": (0.8951, 5600.0),
        "llsvm": (0.8421, 4451.0),
        "fastfood": (0.801, 8550.0),
        "spsvm": (0.8337, 15113.0),
        "ltpu": (0.8325, 11532.0),
    },
}

# [DC] Table 3: training rows, test rows, features.
TABLE_3 = {
    "ijcnn1": (49_990, 91_701, 22),
    "census_income": (159_619, 39_904, 409),
    "covtype_binary": (464_810, 116_202, 54),
}

# [DC] Table 1, covtype: accuracy and milliseconds a test row, by number of clusters.
TABLE_1 = {
    50: {"naive_sum": (0.946, 2.6), "committee": (0.915, 3.7), "early": (0.961, 0.4)},
    100: {"naive_sum": (0.927, 2.6), "committee": (0.893, 5.6), "early": (0.960, 0.2)},
}

# [DC] Table 6: accuracy by number of clusters.
TABLE_6 = {
    "ijcnn1": {
        256: {"early": 0.9816, "bagging": 0.9181},
        64: {"early": 0.9835, "bagging": 0.9544},
        16: {"early": 0.9846, "bagging": 0.9824},
    },
    "covtype_binary": {
        256: {"early": 0.9612, "bagging": 0.8341},
        64: {"early": 0.9615, "bagging": 0.8854},
        16: {"early": 0.9616, "bagging": 0.9181},
    },
}

# [DC] Table 5, covtype: seconds of clustering and of training by level.
TABLE_5 = {
    4: (43.2, 159.4),
    3: (42.5, 439.7),
    2: (40.8, 1422.8),
    1: (38.1, 3135.5),
    0: (36.5, 7614.0),
}

# [DC] Section 5 and Figure 4, polynomial kernel of degree 3 without a constant: C and gamma.
POLYNOMIAL = {"covtype_binary": (2.0, 1.0)}
