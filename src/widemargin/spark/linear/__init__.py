"""Linear machines on Spark's DataFrames."""
