"""The fits of the benchmark, and their tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import benchmarks.speed.novelty as about
from benchmarks.race.command import fail, options_of, parser_of, write_page
from benchmarks.race.processes import measure, noted
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, name_of, seconds

NAME = "novelty"
WORKER = "benchmarks.speed.novelty.worker"
GENERATED = "generated"
ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
NUS = (0.01, 0.1, 0.5)
SETS = ("satimage", "letter", "cod-rna", "kddcup99", "mnist")
DETECTION_NU = 0.05
METHODS = {
    "widemargin": "widemargin OneClassSVM",
    "early": "widemargin OneClassSVM, 16 parts",
    "sklearn": "scikit-learn OneClassSVM",
    "nystroem": "Nystroem + SGDOneClassSVM",
    "forest": "IsolationForest",
}
# Seconds that a fit may take.
MAX_TIME = 600.0


def jobs_of(name: str) -> Iterator[Cell]:
    """Yield the fits of a set."""
    if name == GENERATED:
        for rows in ROWS:
            for nu in NUS:
                for method in ("widemargin", "early", "sklearn"):
                    yield {"set": name, "rows": rows, "nu": nu, "method": method}
        return
    for method in METHODS:
        yield {"set": name, "nu": DETECTION_NU, "method": method}


def key_of(job: Cell) -> str:
    """Return the name of a fit's cell."""
    rows = f"/{job['rows']}" if "rows" in job else ""
    return f"{job['set']}{rows}/{job['nu']:g}/{job['method']}"


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the tables."""
    parser, _ = parser_of(NAME, str(about.__doc__), (GENERATED, *SETS), "the fastest")
    parser.set_defaults(repeats=1)
    options = options_of(parser, NAME, arguments)
    if options.command == "render":
        write_page(Store(options.results), options.to, NAME, tables)
        return
    store, failures = Store(options.results, options.again), list[str]()
    for name in options.only:
        late: dict[tuple[str, float], bool] = {}  # more rows would be late, too
        for job in jobs_of(name):
            same = (job["method"], job["nu"])
            if late.get(same):
                continue
            full = {**job, "quick": options.quick}
            for number in range(options.repeats):
                key = f"{key_of(job)}/{number}"
                with noted(failures, key):
                    cell = store.cell(key, full, partial(measure, WORKER, full, MAX_TIME))
                    late[same] = bool(cell.get("out_of_time"))
                    show(key, cell)
    fail(failures)


def show(key: str, cell: Cell) -> None:
    """Print a fit."""
    if "fit_seconds" not in cell:
        print(f"{key}: more than {cell['max_time']:.0f} s", flush=True)
        return
    gap = f", gap {cell['relative_gap']:.1e}" if "relative_gap" in cell else ""
    auc = f", AUC {cell['auc']:.4f}" if "auc" in cell else ""
    spent = f"{cell['fit_seconds']:.2f} s ({cell['cpu_seconds']:.2f} CPU)"
    print(f"{key}: {spent}{gap}{auc}", flush=True)


def best(cells: Cells, job: Cell) -> Cell | None:
    """Return the cell of the fastest round; one that ran out of time if all did."""
    start = key_of(job) + "/"
    found = [cell for key, cell in cells.items() if key.startswith(start)]
    return min(found, key=lambda cell: cell.get("fit_seconds", float("inf")), default=None)


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the fits by rows, and the detection."""
    columns = ["Rows", "ν", "Seconds", "CPU seconds", "Relative gap", "Blocks", "Support vectors"]
    columns += ["Peak memory, MB", "scikit-learn, seconds", "Offsets differ by, %"]
    yield f"{NAME}_rows", columns, _by_rows(cells)
    columns = ["Rows", "ν", "Seconds", "CPU seconds", "Exact fit, CPU seconds"]
    columns += ["Support vectors", "Outside, %"]
    yield f"{NAME}_early", columns, _early(cells)
    columns = ["Data set", "Rows", "Features", "Test rows", "Method", "AUC", "Fit, seconds"]
    columns += ["Scores, seconds"]
    yield f"{NAME}_detection", columns, _detection(cells)


def _by_rows(cells: Cells) -> Rows:
    for job in jobs_of(GENERATED):
        if job["method"] != "widemargin":
            continue
        ours, theirs = best(cells, job), best(cells, {**job, "method": "sklearn"})
        if ours is None or "fit_seconds" not in ours:
            continue
        yield [
            f"{ours['rows']:,}",
            f"{job['nu']:g}",
            seconds(ours["fit_seconds"]),
            seconds(ours["cpu_seconds"]),
            f"{ours['relative_gap']:.1e}{'' if ours['converged'] else ' ‡'}",
            str(ours["blocks"]),
            f"{ours['support_vectors']:,}",
            f"{ours['peak_memory_mb']:,.0f}",
            *_beside(ours, theirs),
        ]


def _early(cells: Cells) -> Rows:
    for job in jobs_of(GENERATED):
        if job["method"] != "early":
            continue
        early, exact = best(cells, job), best(cells, {**job, "method": "widemargin"})
        if early is None or "fit_seconds" not in early:
            continue
        whole = NONE if exact is None or "cpu_seconds" not in exact else exact["cpu_seconds"]
        yield [
            f"{early['rows']:,}",
            f"{job['nu']:g}",
            seconds(early["fit_seconds"]),
            seconds(early["cpu_seconds"]),
            NONE if whole == NONE else seconds(whole),
            f"{early['support_vectors']:,}",
            f"{100 * early['outside']:.2f}",
        ]


def _beside(ours: Cell, theirs: Cell | None) -> list[str]:
    if theirs is None:
        return [NONE, NONE]
    if "fit_seconds" not in theirs:
        return [f"> {theirs['max_time']:.0f}", NONE]
    apart = abs(ours["offset"] / theirs["offset"] - 1)
    return [seconds(theirs["fit_seconds"]), f"{100 * apart:.3f}"]


def _detection(cells: Cells) -> Rows:
    for name in SETS:
        for job in jobs_of(name):
            cell = best(cells, job)
            if cell is None or "auc" not in cell:
                continue
            yield [
                name_of(name),
                f"{cell['rows']:,}",
                str(cell["features"]),
                f"{cell['test_rows']:,}",
                METHODS[job["method"]],
                f"{cell['auc']:.4f}",
                seconds(cell["fit_seconds"]),
                seconds(cell["score_seconds"]),
            ]
