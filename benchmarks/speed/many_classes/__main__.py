"""Run the benchmark: python -m benchmarks.speed.many_classes."""

from benchmarks.speed.many_classes.fits import main

if __name__ == "__main__":
    main()
