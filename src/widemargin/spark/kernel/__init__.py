"""Kernel machines on Spark's DataFrames."""
