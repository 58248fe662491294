"""Run the race, or write its tables."""

from benchmarks.race.command import race_main

from . import __doc__ as description
from .race import RACE

if __name__ == "__main__":
    race_main(RACE, str(description))
