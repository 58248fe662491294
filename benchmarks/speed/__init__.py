"""Speed: micro-benchmarks of the core, and fits against public peers in the same run."""
