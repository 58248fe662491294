"""Kernel machines: kernels, the binary problem, its solvers, divide and conquer, models."""
