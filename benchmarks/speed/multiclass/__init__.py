"""Multi-class machines against public peers: seconds to an equal gap.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.multiclass [--only SET ...] [--quick]
python -m benchmarks.speed.multiclass render

One function values what all return (:mod:`.objective`). Formulations have different optima: each
contestant (:mod:`.contestants`) is compared with a lower bound of its own, and is measured with the
first rung that proves a relative gap of 1e-2. C is 1, and what cross-validation finds.
"""
