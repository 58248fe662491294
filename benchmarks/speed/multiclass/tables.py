"""Write what was measured as CSV files, which the documentation shows."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers.figures import NONE, Cells, Rows, percent, seconds, write_csv
from benchmarks.papers.results import kept_in
from benchmarks.speed.machine import machine_rows

from .cases import BEST, CASES, ONE
from .contestants import CONTESTANTS, entered
from .measured import Measured, best_peer, measured

FIGURES = ["Threads", "C", "Seconds", "CPU seconds", "Test error, %", "Relative gap", "Setting"]
FORMULATIONS = ("ww", "cs", "ovr")
SPEED = tuple(name for name, case in CASES.items() if case.source is not None)
MANY = tuple(name for name, case in CASES.items() if case.source is None)


def write(results: Path, folder: Path) -> None:
    """Write all tables; what was not measured is left open."""
    kept = kept_in(results)
    cells = kept["cells"]
    folder.mkdir(parents=True, exist_ok=True)
    columns = ["Data set", "Training rows", "Features", "Classes", "Scaling"]
    columns += [f"Best C, {formulation.upper()}" for formulation in FORMULATIONS]
    write_csv(folder / "multiclass_speed_cases.csv", columns, _cases(cells))
    columns = ["Data set", "Contestant", *FIGURES]
    for choice in (ONE, BEST):
        table = folder / f"multiclass_speed_{choice}.csv"
        write_csv(table, columns, _contestants(cells, SPEED, choice))
    many = _contestants(cells, MANY, ONE, memory=True)
    write_csv(folder / "multiclass_speed_many.csv", [*columns, "Peak memory, MB"], many)
    columns = ["Data set", "C", "Threads", "WW ÷ CS, seconds", "WW ÷ CS, CPU seconds"]
    columns += ["Error of WW, %", "Error of CS, %", "CS peer"]
    write_csv(folder / "multiclass_speed_ratios.csv", columns, _ratios(cells))
    write_csv(folder / "multiclass_speed_machine.csv", ["", "Measured with"], machine_rows(kept))


def _cases(cells: Cells) -> Rows:
    for name, case in CASES.items():
        some = (cell for key, cell in cells.items() if key.startswith(f"{name}/"))
        fit = next((cell for cell in some if "classes" in cell), {})
        sizes = (f"{fit[key]:,}" if key in fit else NONE for key in ("rows", "features", "classes"))
        searched = (cells.get(f"{name}/search/{formulation}") for formulation in FORMULATIONS)
        best = (NONE if each is None else f"{each['C']:g}" for each in searched)
        yield [case.title, *sizes, case.scaling, *best]


def _contestants(cells: Cells, names: tuple[str, ...], choice: str, memory: bool = False) -> Rows:
    for case in names:
        for name, contestant in entered(CASES[case]).items():
            each = measured(cells, case, choice, name)
            if each is None:
                continue
            row = [CASES[case].title, contestant.title + ("" if each.reached else "‡")]
            row += [str(contestant.threads), f"{each.C:g}"]
            row += [seconds(each.median(key)) for key in ("seconds", "cpu_seconds")]
            row += [percent(each.median("error")), NONE if each.gap is None else f"{each.gap:.1e}"]
            row += [f"{contestant.rung}={each.value:g}"]
            yield [*row, seconds(each.median("peak_memory_mb"))] if memory else row


def _ratios(cells: Cells) -> Rows:
    for case in SPEED:
        for choice in (ONE, BEST):
            for ours in ("ww_1", "ww_2"):
                own = measured(cells, case, choice, ours)
                peer = best_peer(cells, case, choice, "cs", "seconds")
                if own is not None and own.fits and peer is not None:
                    yield _ratio(case, choice, ours, own, *peer)


def _ratio(
    case: str, choice: str, ours: str, own: Measured, name: str, peer: Measured
) -> list[str]:
    values = []
    for key in ("seconds", "cpu_seconds"):
        value = (own.median(key) or 0.0) / (peer.median(key) or 1.0)
        values.append(f"{value:.2f}" if value <= 1.0 else f"**{value:.2f}**")
    errors = (percent(each.median("error")) for each in (own, peer))
    label = "1" if choice == ONE else f"best: {own.C:g}, {peer.C:g}"
    threads = str(CONTESTANTS[ours].threads)
    return [CASES[case].title, label, threads, *values, *errors, CONTESTANTS[name].title]
