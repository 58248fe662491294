"""AutoClassifier beside a grid search over SVC and LightGBM: accuracy and seconds on 20 sets.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.auto [--only SET ...] [--quick]
python -m benchmarks.speed.auto render

All get the same training rows, at most 3,000, as they come; those who need it scale them by
themselves. The accuracy is that on test rows, at most 5,000, which nobody sees before. Each
contestant runs in a process of its own on two cores.
"""
