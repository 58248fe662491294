"""Figures as printed; times are those of the paper's machine.

[DC] Hsieh, Si and Dhillon, "A divide-and-conquer solver for kernel support vector machines", 2014.
"""

from __future__ import annotations

# [DC] Table 2: accuracy and seconds (one core). The width of census is not legible in our copy.
WIDTHS = {"ijcnn1": (32.0, 2.0), "census_income": (512.0, None), "covtype_binary": (32.0, 32.0)}
TABLE_2 = {
    "ijcnn1": {
        "early": (0.9835, 12.0),
        "full": (0.9869, 41.0),
        "libsvm": (0.9869, 115.0),
        "libsvm_fifth": (0.9824, 6.0),
    },
    "census_income": {
        "early": (0.949, 261.0),
        "full": (0.942, 1051.0),
        "libsvm": (0.942, 2920.0),
        "libsvm_fifth": (0.932, 641.0),
    },
    "covtype_binary": {
        "early": (0.9612, 672.0),
        "full": (0.9615, 11414.0),
        "libsvm": (0.9615, 83631.0),
        "libsvm_fifth": (0.9246, 5330.0),
    },
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
