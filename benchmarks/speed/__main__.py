"""Run the speed benchmarks: python -m benchmarks.speed [arguments of benchmarks.speed.exact]."""

from __future__ import annotations

import os
import sys

from benchmarks.race.command import race_main
from benchmarks.speed import exact, kernel_product
from benchmarks.speed.exact.race import RACE


def main() -> None:
    kernel_product.main([])
    print()
    if "WIDEMARGIN_DATA" in os.environ:
        race_main(RACE, str(exact.__doc__), sys.argv[1:])
    else:
        print("Skipped the fits against peers: WIDEMARGIN_DATA names no folder.", file=sys.stderr)


if __name__ == "__main__":
    main()
