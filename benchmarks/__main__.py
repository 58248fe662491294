"""Write the tables and pictures of all pages of the documentation from the stored results.

python -m benchmarks render
"""

from __future__ import annotations

import argparse
import subprocess
import sys

SPEED = (
    "all_classes auto calibration defaults exact frontier growth hard_regimes kernel_product linear"
)
SPEED += " early_levels linear_regression many_classes multiclass novelty regression rows"
SPEED += " shapley small_sets sodm_root ten_million updates"
SPARK = "classes kernel linear ten_million trees"
PAGES = (
    "benchmarks.papers",
    *(f"benchmarks.speed.{name}" for name in SPEED.split()),
    *(f"benchmarks.speed.spark.{name}" for name in SPARK.split()),
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("command", choices=["render"])
    parser.parse_args(arguments)
    failed = [page for page in PAGES if subprocess.call([sys.executable, "-m", page, "render"])]
    if failed:
        raise SystemExit(f"Not written: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
