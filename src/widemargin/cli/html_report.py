"""A report with pictures, as one HTML file that needs nothing beside it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from .files import check_output, write_output
from .measures import Verdict, measured_lines
from .messages import usage_error
from .trials import preparation_notes, trial_rows

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .6rem 0; }
td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top;
         border-bottom: 1px solid #ddd; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr));
            gap: 1.5rem; }
figure { margin: 0; } img { width: 100%; }
figcaption, .facts { color: #555; font-size: .9rem; }
"""
#: Candidates of a search that the report lists.
LISTED = 15


def check_report_output(report: Path | None, inputs: tuple[Path, ...]) -> None:
    """End with a usage error if a report is wanted and cannot be written."""
    if report is None:
        return
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise usage_error(
            "--report draws with matplotlib, which is not installed: pip install 'widemargin[plot]'"
        ) from None
    check_output(report, "--report", inputs)


def label_given(label: str | None) -> list[str]:
    """Name the label column where the user did; else the reader notes which one it took."""
    return [] if label is None else [f"labels are taken from column {label!r}"]


def write_report(
    path: Path,
    model: Any,
    verdict: Verdict,
    X: Any,
    measured: dict[str, Any],
    *,
    data: Path,
    facts: Sequence[str],
    account: str,
    described: Sequence[tuple[str, str]] = (),
) -> None:
    """Write what is known about a model, measured on the rows `X`, to an HTML file.

    All of it is about the model that was measured, but for `described`, of the one that was saved.
    `facts` stand below the title, `account` says above the figures what was measured on what.
    """
    from .. import __version__
    from .report_pictures import pictures

    figures = _pairs(measured_lines(measured)) + _classes(measured)
    parts = [_section("Measured", f"<p>{html.escape(account)}</p>{figures}")]
    drawn = [
        f'<figure><img alt="{html.escape(each.title)}" src="data:image/png;base64,{each.png}">'
        f"<figcaption>{html.escape(each.caption)}</figcaption></figure>"
        for each in pictures(model, verdict, X, measured)
    ]
    parts.append(_section("Pictures", f'<div class="pictures">{"".join(drawn)}</div>'))
    notes = preparation_notes(model)
    if notes:
        items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
        parts.append(_section("Preparation of the table", f"<ul>{items}</ul>"))
    if hasattr(model, "leaderboard_"):
        parts.append(_section("What was tried", _leaderboard(model.leaderboard_)))
    if described:
        parts.append(_section("The model that was saved", _pairs(described)))
    if measured.get("warnings"):
        items = "".join(f"<li>{html.escape(text)}</li>" for text in measured["warnings"])
        parts.append(_section("Warnings", f"<ul>{items}</ul>"))
    name = "standard input" if str(data) == "-" else data.name
    title = html.escape(f"{type(model).__name__} on {name}")
    below = html.escape(" · ".join([f"{date.today():%Y-%m-%d}", *facts]))
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f'<p class="facts">{below}</p>'
        f"{''.join(parts)}"
        f"<p>widemargin {__version__}</p></body></html>\n"
    )
    write_output(path, page.encode())


def _section(heading: str, content: str) -> str:
    return f"<h2>{html.escape(heading)}</h2>{content}"


def _pairs(rows: Sequence[tuple[str, str]]) -> str:
    return _rows([[name, value] for name, value in rows])


def _rows(rows: list[list[str]], header: Sequence[str] = (), numbers_from: int = 99) -> str:
    lines = [f"<tr>{''.join(f'<th>{html.escape(cell)}</th>' for cell in header)}</tr>"]
    for row in rows:
        cells = (
            f"<td{' class=number' if i >= numbers_from else ''}>{html.escape(cell)}</td>"
            for i, cell in enumerate(row)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines if header else lines[1:])}</table>"


def _classes(measured: dict[str, Any]) -> str:
    rows = [
        [
            str(entry["label"]),
            *(
                "-" if entry[k] != entry[k] else f"{entry[k]:.4f}"
                for k in ("precision", "recall", "f1")
            ),
            f"{entry['rows']:,}",
        ]
        for entry in measured["classes"]
    ]
    return _rows(rows, ("class", "precision", "recall", "F1", "rows"), numbers_from=1)


def _leaderboard(board: dict[str, Any]) -> str:
    rows = trial_rows(board, LISTED)
    listed = _rows(rows, ("classifier", "settings", "rows", "score", "seconds"), numbers_from=2)
    more = len(board["rank"]) - len(rows)
    return listed + (f"<p>and {more:,} more</p>" if more else "")
