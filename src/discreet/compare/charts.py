"""Charts as numbers to draw: where points, bars, ticks and labels lie. The template makes SVG of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.report import words

Row = dict[str, Any]

AXIS_LEFT, AXIS_RIGHT, AXIS_TOP, AXIS_BOTTOM = 64, 870, 32, 332  # where the scatter's axes end
LETTER_WIDTH, LINE_HEIGHT = 7.0, 15.0  # generous estimates of a letter's width and a line's height
SHARED_LABEL_DISTANCE = 5.0  # points this near each other share a label
BAR_CHART_WIDTH, MAX_NAME_WIDTH, FIGURE_WIDTH, BAR_SPACING = (
    490,
    168,
    64,
    26,
)  # of a chart of bars: in all, most for names, for figures; distance of rows
MAX_NAME_LETTERS = 24  # letters of a name that fit there


@dataclass(frozen=True)
class Point:
    """A method between two measures."""

    name: str
    x: float
    y: float
    safe: bool


def scatter(points: Sequence[Point]) -> Row:
    """Shares of loss and of risk, each axis from zero to the next round number."""
    across, up = (_ticks(max((getattr(p, axis) for p in points), default=0.0)) for axis in ("x", "y"))
    placed = [
        (
            AXIS_LEFT + p.x / across[-1] * (AXIS_RIGHT - AXIS_LEFT),
            AXIS_BOTTOM - p.y / up[-1] * (AXIS_BOTTOM - AXIS_TOP),
            p.name,
            p.safe,
        )
        for p in points
    ]
    return {
        "frame": (AXIS_LEFT, AXIS_RIGHT, AXIS_TOP, AXIS_BOTTOM),
        "across": [(AXIS_LEFT + t / across[-1] * (AXIS_RIGHT - AXIS_LEFT), round_percent(t)) for t in across],
        "up": [(AXIS_BOTTOM - t / up[-1] * (AXIS_BOTTOM - AXIS_TOP), round_percent(t)) for t in up],
        "points": placed,
        "labels": _labels(placed),
    }


def bars(names: Sequence[str], shares: Sequence[Sequence[float | None]], kinds: Sequence[str]) -> Row:
    """A bar a method, of one or more parts; those of one part are drawn in proportion to the longest."""
    whole = 1.0 if len(kinds) > 1 else max((part[0] or 0.0 for part in shares), default=0.0) or 1.0
    begin = min(MAX_NAME_WIDTH, 12 + LETTER_WIDTH * max(map(len, names), default=0))
    longest, rows = BAR_CHART_WIDTH - FIGURE_WIDTH - begin, []
    for k, (name, parts) in enumerate(zip(names, shares, strict=True)):
        start, drawn = begin, []
        for kind, part in zip(kinds, parts, strict=True):
            length = longest * (part or 0.0) / whole
            if length > 0:
                drawn.append((kind, start, length, f"{name}: {words.percent(part)} {kind}".strip()))
            start += length
        figure = words.percent(parts[0])
        rows.append(
            {"name": _short(name), "full": name, "y": k * BAR_SPACING, "parts": drawn, "figure": figure, "end": start}
        )
    return {"rows": rows, "begin": begin, "height": max(len(rows), 1) * BAR_SPACING, "width": BAR_CHART_WIDTH}


def round_percent(share: float) -> str:
    """Of a round number: no decimals that say nothing."""
    return f"{100 * share:g} %"


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME_LETTERS else name[: MAX_NAME_LETTERS - 1] + "…"


def _ticks(largest: float) -> list[float]:
    """From zero to a round number that is no less, in four or five steps or so."""
    if largest <= 0:
        return [0.0, 0.05, 0.1]
    size = 10.0 ** math.floor(math.log10(largest / 4))
    step = next(size * times for times in (1, 2, 2.5, 5, 10) if largest / (size * times) <= 5)
    return [round(k * step, 12) for k in range(math.ceil(largest / step - 1e-9) + 1)]


def _labels(points: Sequence[tuple[float, float, str, bool]]) -> list[Row]:
    """One a group of points that lie together, where it covers no other label or point, if there is such a place."""
    groups: list[list[tuple[float, float, str, bool]]] = []
    for point in points:
        near = [group for group in groups if math.dist(group[0][:2], point[:2]) <= SHARED_LABEL_DISTANCE]
        near[0].append(point) if near else groups.append([point])
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y, *_ in points]
    labels = []
    for group in groups:
        text = ", ".join(name for *_, name, _ in group)
        x, y = group[0][:2]
        choices = [_box(x, y, side, drop, text) for drop in (0, 1, -1, 2, -2, 3, -3) for side in (1, -1)]
        inside = [
            box
            for box in choices
            if box[0] >= AXIS_LEFT and box[2] <= AXIS_RIGHT + 150 and AXIS_TOP - 12 <= box[1] <= AXIS_BOTTOM - 4
        ]
        free = [box for box in inside if not any(_overlap(box, other) for other in taken)]
        box = (free or inside or choices)[0]
        taken.append(box)
        right = box[0] > x
        labels.append({"text": text, "x": box[0] if right else box[2], "y": box[1] + 11, "right": right})
    return labels


def _box(x: float, y: float, side: int, drop: int, text: str) -> tuple[float, float, float, float]:
    width, top = LETTER_WIDTH * len(text), y - LINE_HEIGHT / 2 + drop * LINE_HEIGHT
    return (
        (x + 10, top, x + 10 + width, top + LINE_HEIGHT)
        if side > 0
        else (x - 10 - width, top, x - 10, top + LINE_HEIGHT)
    )


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
