"""Fits of small sets against scikit-learn's SVC: CPU milliseconds, with default parameters.

WIDEMARGIN_DATA=... python -m benchmarks.speed.small_sets
python -m benchmarks.speed.small_sets render

Sets of 100 to 2,000 rows and 2 to 20 classes, generated and real. Every contestant fits all of them
in a process of its own, each set several times after a warm-up; the fit of least CPU time counts,
of all threads. intelex's SVC and LightGBM are measured where they are installed (``pip install
scikit-learn-intelex lightgbm``), sets of the folder where WIDEMARGIN_DATA names one.
"""
