"""Accuracy against seconds of training, a panel for every set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.race import tables
from benchmarks.race.tables import GREY, Cells

from .page import Point, frontier, points
from .sets import KERNEL, SETS, TEXT

OURS, THEIRS = "#2A86C8", "#D9690F"  # readable on white and on black
PANEL = (5.6, 4.4)  # inches
# Errors in per cent that get a tick, and the smallest that is shown.
TICKS = (0.1, 0.2, 0.5, 1.0, 1.5, *range(2, 11), 12, 15, 20, 25, 30, 40, 50)
LEAST = 0.05
# Points of a character and of a line of labels, and the room that a marker takes.
CHARACTER, LINE, MARKER = 3.9, 8.0, 4.0
# Contestants that make this many times the least error are written on the lower edge.
FARTHEST = 3.5
Box = tuple[float, float, float, float]


def draw(cells: Cells, folder: Path) -> None:
    """Draw the sets that were measured, those for kernels and those of texts."""
    for kind in (KERNEL, TEXT):
        names = [name for name, each in SETS.items() if each.kind == kind and points(cells, name)]
        panels = {SETS[name].title: partial(_fill, points(cells, name)) for name in names}
        width, height = 2 * PANEL[0], PANEL[1]
        path = folder / f"frontier_{kind}.svg"
        tables.draw(path, panels, columns=2, width=width, height=height, neutral=True)


def _fill(found: list[Point], axis: Any) -> None:
    """Draw errors on a logarithmic axis, which is labelled with accuracies."""
    least = min(_error(each) for each in found)
    worst = FARTHEST * least
    steps = frontier(found)
    first, last = found[0].seconds, max(each.seconds for each in found)
    shown = [(step.seconds, min(_error(step), worst)) for step in steps]
    ends = [*shown, (2.0 * last, shown[-1][1])]
    axis.step(*zip(*ends, strict=True), where="post", color=GREY, linewidth=1.2, zorder=1)
    low, high = least / 1.35, min(max(map(_error, found)), worst) * 1.25
    axis.set(xscale="log", yscale="log", xlim=(first / 1.8, 3.5 * last), ylim=(high, low))
    shared = ", some on a busy machine" if any(each.busy for each in found) else ""
    axis.set(xlabel=f"seconds of training{shared}", ylabel="accuracy, %")
    ticks = [each for each in TICKS if low <= each <= high]
    axis.set_yticks(ticks, [f"{100 - each:g}" for each in ticks])
    left, right = axis.get_xlim()
    decades = range(math.floor(math.log10(left)), math.ceil(math.log10(right)) + 1)
    digits = (1, 2, 5) if right < 300 * left else (1,)
    times = [digit * 10.0**power for power in decades for digit in digits]
    times = [each for each in times if left <= each <= right]
    axis.set_xticks(times, [f"{each:g}" for each in times])
    axis.minorticks_off()
    axis.spines[["top", "right"]].set_visible(False)
    boxes: list[Box] = []
    places = {}
    for each in found:
        place = _place(axis, each, worst)
        places[each] = place
        boxes.append(_around(place, 2 * MARKER, 2 * MARKER))
        colour, marker = (OURS, "o") if each.of.ours else (THEIRS, "s")
        face = colour if each in steps else "none"
        style = {
            "marker": marker,
            "linestyle": "none",
            "markersize": 5.5,
            "color": colour,
            "markerfacecolor": face,
        }
        axis.plot([each.seconds], [min(_error(each), worst)], **style, zorder=2)
    for each in sorted(found, key=lambda each: each not in steps):
        _label(axis, each, places[each], worst, boxes, on_line=each in steps)


def _error(point: Point) -> float:
    return max(LEAST, 100.0 * (1.0 - point.accuracy))


def _place(axis: Any, point: Point, worst: float) -> tuple[float, float]:
    """Return where a point is drawn, in printer's points from the corner of the panel."""
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    size = (0.85 * 72 * PANEL[0], 0.8 * 72 * PANEL[1])
    across = math.log(point.seconds / left) / math.log(right / left)
    up = math.log(min(_error(point), worst) / bottom) / math.log(top / bottom)
    return across * size[0], up * size[1]


def _around(place: tuple[float, float], width: float, height: float) -> Box:
    return place[0] - width / 2, place[1] - height / 2, width, height


def _offsets(width: float, on_line: bool) -> Iterator[tuple[float, float]]:
    """Yield centres of a label around its point, the nearest first; above it on the line."""
    if on_line:
        yield from ((0.0, 1.2 * LINE), (-width / 2, 1.2 * LINE))
    for far in (1.0, 2.2, 3.4, 4.6):
        side, line = width / 2 + 7.0, LINE * far
        yield from ((side, 0.0), (-side, 0.0)) if far == 1.0 else ()
        yield from ((side, line / 1.5), (side, -line / 1.5), (0.0, line), (0.0, -line))
        yield from ((-side, line / 1.5), (-side, -line / 1.5))


def _label(
    axis: Any,
    point: Point,
    place: tuple[float, float],
    worst: float,
    boxes: list[Box],
    on_line: bool,
) -> None:
    """Write a name beside its point, where it covers nothing; without room it is left out."""
    text = point.of.short + (" ↓" if _error(point) > worst else "")
    width = CHARACTER * len(text)
    for across, up in _offsets(width, on_line):
        box = _around((place[0] + across, place[1] + up), width, LINE)
        inside = box[0] >= 0 and box[1] >= 0 and box[1] + LINE <= 0.82 * 72 * PANEL[1]
        inside = inside and box[0] + width <= 0.87 * 72 * PANEL[0]
        if inside and not any(_overlap(box, other) for other in boxes):
            boxes.append(box)
            axis.annotate(
                text,
                (point.seconds, min(_error(point), worst)),
                xytext=(across, up),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=7,
                color=OURS if point.of.ours else THEIRS,
            )
            return


def _overlap(one: Box, other: Box) -> bool:
    apart = one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
    return not (apart or one[1] + one[3] <= other[1] or other[1] + other[3] <= one[1])
