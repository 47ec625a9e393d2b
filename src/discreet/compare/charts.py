"""Charts as coordinates of points, bars, ticks and labels, from which the template makes SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.report import words
from discreet.report.templates import Row

AXIS_LEFT, AXIS_RIGHT, AXIS_TOP, AXIS_BOTTOM = 64, 870, 32, 332  # ends of the axes of the scatter chart
LETTER_WIDTH, LINE_HEIGHT = 7.0, 15.0  # generous estimates of the width of a letter and the height of a line
SHARED_LABEL_DISTANCE = 5.0  # points closer than this share a label
# Bar charts: total width, largest width for names, width for figures, distance between rows.
BAR_CHART_WIDTH, MAX_NAME_WIDTH, FIGURE_WIDTH, BAR_SPACING = 490, 168, 64, 26
MAX_NAME_LETTERS = 24  # as many letters as fit into MAX_NAME_WIDTH


@dataclass(frozen=True)
class Point:
    """A method as a point of the scatter chart: loss x and risk y."""

    name: str
    x: float
    y: float
    safe: bool


def scatter(points: Sequence[Point]) -> Row:
    """The scatter chart of loss and risk, with axes from zero to a round number."""
    x_ticks, y_ticks = (_ticks(max((getattr(p, axis) for p in points), default=0.0)) for axis in ("x", "y"))

    def x_position(share: float) -> float:
        return AXIS_LEFT + share / x_ticks[-1] * (AXIS_RIGHT - AXIS_LEFT)

    def y_position(share: float) -> float:
        return AXIS_BOTTOM - share / y_ticks[-1] * (AXIS_BOTTOM - AXIS_TOP)

    placed = [(x_position(p.x), y_position(p.y), p.name, p.safe) for p in points]
    return {
        "frame": (AXIS_LEFT, AXIS_RIGHT, AXIS_TOP, AXIS_BOTTOM),
        "across": [(x_position(tick), round_percent(tick)) for tick in x_ticks],
        "up": [(y_position(tick), round_percent(tick)) for tick in y_ticks],
        "points": placed,
        "labels": _labels(placed),
    }


def bars(names: Sequence[str], shares: Sequence[Sequence[float | None]], kinds: Sequence[str]) -> Row:
    """One bar per method, with a segment per kind; with one kind the longest bar fills the width."""
    full_length = 1.0 if len(kinds) > 1 else max((one[0] or 0.0 for one in shares), default=0.0) or 1.0
    begin = min(MAX_NAME_WIDTH, 12 + LETTER_WIDTH * max(map(len, names), default=0))
    width, rows = BAR_CHART_WIDTH - FIGURE_WIDTH - begin, []
    for k, (name, of_name) in enumerate(zip(names, shares, strict=True)):
        end, segments = begin, []
        for kind, share in zip(kinds, of_name, strict=True):
            length = width * (share or 0.0) / full_length
            if length > 0:
                segments.append((kind, end, length, f"{name}: {words.percent(share)} {kind}".strip()))
            end += length
        figure = words.percent(of_name[0])
        short = name if len(name) <= MAX_NAME_LETTERS else name[: MAX_NAME_LETTERS - 1] + "…"
        rows.append(
            {"name": short, "full": name, "y": k * BAR_SPACING, "parts": segments, "figure": figure, "end": end}
        )
    return {"rows": rows, "begin": begin, "height": max(len(rows), 1) * BAR_SPACING, "width": BAR_CHART_WIDTH}


def round_percent(share: float) -> str:
    """A round share in percent, without needless decimals."""
    return f"{100 * share:g} %"


def _ticks(largest: float) -> list[float]:
    """Ticks from zero to a round number of at least ``largest``, about five."""
    if largest <= 0:
        return [0.0, 0.05, 0.1]
    size = 10.0 ** math.floor(math.log10(largest / 4))
    step = next(size * times for times in (1, 2, 2.5, 5, 10) if largest / (size * times) <= 5)
    return [round(k * step, 12) for k in range(math.ceil(largest / step - 1e-9) + 1)]


def _labels(points: Sequence[tuple[float, float, str, bool]]) -> list[Row]:
    """One label per group of close points, at a place where it covers no other label or point, if there is one."""
    groups: list[list[tuple[float, float, str, bool]]] = []
    for point in points:
        close = [group for group in groups if math.dist(group[0][:2], point[:2]) <= SHARED_LABEL_DISTANCE]
        close[0].append(point) if close else groups.append([point])
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
    """The corners of a label beside a point: to the right (1) or left (−1), so many lines lower."""
    width, top = LETTER_WIDTH * len(text), y - LINE_HEIGHT / 2 + drop * LINE_HEIGHT
    left = x + 10 if side > 0 else x - 10 - width
    return left, top, left + width, top + LINE_HEIGHT


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
