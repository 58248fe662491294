"""Run the benchmark: python -m benchmarks.speed.novelty."""

from benchmarks.speed.novelty.fits import main

if __name__ == "__main__":
    main()
