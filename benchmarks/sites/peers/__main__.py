"""Measure Flower, NVFlare and our sites on the same rows; write the tables of the page."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import page
from .contest import measure
from .rows import DIVISIONS, SETS, silos

RESULTS = Path(__file__).with_name("results.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.peers")
    parser.add_argument("--flower", help="Python that has flwr and scikit-learn; else left out")
    parser.add_argument("--nvflare", help="Python that has nvflare and scikit-learn; else left out")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--quick", action="store_true", help="2,000 rows a set; prints only")
    parser.add_argument("--render", action="store_true", help="tables from the stored results")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.render:
        page.write(results)
        return 0
    for name in options.sets:
        for division in DIVISIONS:
            rows = silos(name, division, options.quick)
            cells = measure(rows, options.flower, options.nvflare)
            for method, cell in cells.items():
                print(f"{name}, {division}, {method}: {json.dumps(cell)}", flush=True)
            if not options.quick:
                # What was not measured now stays as it was.
                key = f"{name}/{division}"
                results[key] = {**results.get(key, {}), **cells}
                RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if not options.quick:
        page.write(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
