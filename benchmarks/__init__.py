"""Benchmarks: speed beside other libraries, and the published tables."""
