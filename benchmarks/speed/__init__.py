"""Speed: micro-benchmarks of the core, and fits beside other libraries in the same run."""
