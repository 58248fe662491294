"""Run the speed benchmarks: python -m benchmarks.speed [arguments of benchmarks.speed.exact]."""

from __future__ import annotations

import os
import sys

from benchmarks.speed import kernel_product
from benchmarks.speed.exact.__main__ import main as measure_exact


def main() -> None:
    kernel_product.main()
    print()
    if "WIDEMARGIN_DATA" in os.environ:
        measure_exact(sys.argv[1:])
    else:
        print("Skipped the fits against peers: WIDEMARGIN_DATA names no folder.", file=sys.stderr)


if __name__ == "__main__":
    main()
