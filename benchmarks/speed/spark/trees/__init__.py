"""Boosted trees on Spark beside ours: xgboost.spark, MLlib's GBTClassifier, DC, SODM, linear.

python -m benchmarks.speed.spark.trees [--only PART ...] [--quick]
python -m benchmarks.speed.spark.trees render

500,000 rows of 30 features and 50,000 test rows, in one session of ``local[2]``. The labels are
those of two rules: ``waves``, a smooth function of all features, and ``boxes``, thresholds of six
of them, which is what trees look for. A package that is missing (``pip install xgboost-cpu``) is
left out.
"""
