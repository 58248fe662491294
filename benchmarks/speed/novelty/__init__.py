"""One-class machines by rows, and how well detectors of novelties detect.

python -m benchmarks.speed.novelty [--only SET ...] [--quick]
python -m benchmarks.speed.novelty render

``generated`` are rows of 19 features from six groups with heavy tails, 10,000 to 300,000 of them,
with nu = 0.01, 0.1 and 0.5; scikit-learn's OneClassSVM has 600 seconds. The other sets need
WIDEMARGIN_DATA: rows of the most frequent class, at most 20,000, are trained on with nu = 0.05,
and the area under the ROC curve tells how well the scores of test rows separate that class from
the others. Every fit has a process of its own, kept to two cores.
"""
