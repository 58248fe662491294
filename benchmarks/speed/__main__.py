"""Run every speed benchmark: python -m benchmarks.speed."""

from __future__ import annotations

import os
import sys

from benchmarks.speed import against_svc, kernel_product


def main() -> None:
    kernel_product.main()
    print()
    if "WIDEMARGIN_DATA" in os.environ:
        against_svc.main()
    else:
        print("Skipped the fits against SVC: WIDEMARGIN_DATA names no folder.", file=sys.stderr)


if __name__ == "__main__":
    main()
