"""Write what was measured as CSV files, which the documentation shows."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers.figures import NONE, Cells, Rows, seconds, write_csv
from benchmarks.papers.results import kept_in
from benchmarks.speed.machine import machine_rows

from .cases import CASES
from .contestants import CONTESTANTS, LOSSES, entered
from .measured import chosen, measured, ratio, reference, target_of

FIGURES = ["Seconds", "CPU seconds", "Above the optimum", "Setting", "Rows"]


def write(results: Path, folder: Path) -> None:
    """Write all tables; what was not measured is left open."""
    kept = kept_in(results)
    cells = kept["cells"]
    folder.mkdir(parents=True, exist_ok=True)
    columns = ["Data set", "Training rows", "Features", "Classes", "Scaling"]
    write_csv(folder / "linear_speed_cases.csv", columns, _cases(cells))
    for loss in LOSSES:
        columns = ["Data set", "Contestant", *FIGURES]
        write_csv(folder / f"linear_speed_{loss}.csv", columns, _contestants(cells, loss))
    columns = ["Data set", "Loss", "Ours ÷ fastest, seconds", "Fastest peer"]
    columns += ["Ours ÷ least, CPU seconds", "Peer with the least"]
    write_csv(folder / "linear_speed_ratios.csv", columns, _ratios(cells))
    write_csv(folder / "linear_speed_machine.csv", ["", "Measured with"], machine_rows(kept))


def _cases(cells: Cells) -> Rows:
    for name, case in CASES.items():
        any_fit = next((cells[each] for each in cells if each.startswith(f"{name}/")), {})
        sizes = [f"{any_fit[key]:,}" if key in any_fit else NONE for key in ("rows", "features")]
        yield [case.title, *sizes, case.classes, case.scaling]


def _contestants(cells: Cells, loss: str) -> Rows:
    for case in CASES:
        for name in entered(CONTESTANTS, loss):
            if chosen(cells, case, loss, name) is not None:
                yield _row(cells, case, loss, name)


def _row(cells: Cells, case: str, loss: str, name: str) -> list[str]:
    contestant, each = CONTESTANTS[name], measured(cells, case, loss, name)
    best = reference(cells, case, loss)
    assert each is not None
    assert best is not None
    # Threads and random orders make the objective vary: the mark is that of the times shown.
    found = each.median("objective") or each.choice.objective
    times = (each.median(key) for key in ("seconds", "cpu_seconds"))
    return [
        CASES[case].title,
        contestant.title + ("" if found <= target_of(best) else "‡"),
        *(seconds(value) for value in times),
        f"{found / best - 1.0:.1e}",
        f"{contestant.rung}={each.choice.value:g}",
        each.choice.form,
    ]


def _ratios(cells: Cells) -> Rows:
    for case in CASES:
        for loss, title in LOSSES.items():
            if not any(CONTESTANTS[name].is_peer for name in entered(CONTESTANTS, loss)):
                continue
            pairs = []
            for key in ("seconds", "cpu_seconds"):
                found = ratio(cells, case, loss, "ours", key)
                pairs += [NONE, NONE] if found is None else _pair(*found)
            yield [CASES[case].title, title, *pairs]


def _pair(value: float, peer: str) -> list[str]:
    text = f"{value:.2f}" if value <= 1.0 else f"**{value:.2f}**"
    return [text, CONTESTANTS[peer].title]
