"""The multi-class SVM on Spark's DataFrames."""
