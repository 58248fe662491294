"""Benchmarks: speed against peers, and the published tables."""
