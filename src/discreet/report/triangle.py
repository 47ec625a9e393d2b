"""The triangle of the two largest shares as SVG, with regions of rules and cells as dots."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from discreet.rules.regions import TRIANGLE, Point, Region

# The hues differ for colour-blind readers, the dashes on black-and-white paper.
COLOURS = ("#a83408", "#1f6fa8", "#0b6b52", "#8a5a00", "#6b3fa0", "#44617a")
DASHES = ("", "9 4", "3 3", "12 3 3 3", "1 4", "6 2")

PIXELS_PER_PERCENT = 6.2
LEFT_MARGIN, TOP_MARGIN, BOTTOM_MARGIN = 58, 44, 56
MAX_LABELLED_DOTS = 1000  # labels of more dots would make the file too large
# Two shares, whether sensitive by a rule, number of cells, label of one of them.
Dot = tuple[float, float, bool, int, str]

STYLE = """
svg { background: #fff; font: 13px system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
text { fill: #1d2733; } .soft { fill: #5a6775; } .title { font-size: 15px; font-weight: 600; }
.grid { stroke: #e3e8ed; } .edge { fill: none; stroke: #1d2733; stroke-width: 1.2; }
.dot { fill: #5a6775; fill-opacity: .55; } .hit { fill: #000; fill-opacity: .75; }
.many-dot { stroke: #5a6775; stroke-opacity: .55; stroke-linecap: round; }
.many-hit { stroke: #000; stroke-opacity: .75; stroke-linecap: round; }
"""


def draw(regions: Sequence[Region], dots: Sequence[Dot] = (), title: str = "") -> str:
    """The drawing: largest share across, second largest up. Cells to the right of the line of a rule are sensitive by it."""
    width, height = LEFT_MARGIN + 100 * PIXELS_PER_PERCENT + 24, TOP_MARGIN + 50 * PIXELS_PER_PERCENT + BOTTOM_MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img"><title>{escape(title or "Sensitivity regions")}</title><style>{STYLE}</style>',
        f'<text x="{LEFT_MARGIN}" y="24" class="title">{escape(title)}</text>' if title else "",
        *_axes(),
        *(_region(region, i, max(0.06, 0.32 / (1 + len(regions)))) for i, region in enumerate(regions)),
        f'<path class="edge" d="{_path(TRIANGLE)}"/>',
        *_dots(dots),
        *_legend(regions, dots),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _place(point: Point) -> Point:
    return LEFT_MARGIN + PIXELS_PER_PERCENT * point[0], TOP_MARGIN + PIXELS_PER_PERCENT * (50 - point[1])


def _path(polygon: Sequence[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in map(_place, polygon)) + "Z"


def _axes() -> list[str]:
    found = []
    for z in range(0, 101, 10):
        x, y = _place((z, 0))
        up = _place((z, min(z, 100 - z)))[1]
        found.append(f'<path class="grid" d="M{x:.1f} {y:.1f}V{up:.1f}"/>')
        found.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle" class="soft">{z}</text>')
    for z in range(0, 51, 10):
        x, y = _place((0, z))
        found.append(f'<path class="grid" d="M{_place((z, z))[0]:.1f} {y:.1f}H{_place((100 - z, z))[0]:.1f}"/>')
        found.append(f'<text x="{x - 8:.1f}" y="{y + 4.5:.1f}" text-anchor="end" class="soft">{z}</text>')
    x, y = _place((50, 0))
    found.append(f'<text x="{x:.1f}" y="{y + 40:.1f}" text-anchor="middle">largest contributor, % of the cell</text>')
    x, y = _place((0, 25))
    turned = f'transform="rotate(-90 {x - 38:.1f} {y:.1f})"'
    return [*found, f'<text x="{x - 38:.1f}" y="{y:.1f}" text-anchor="middle" {turned}>second largest, %</text>']


def _stroke(i: int) -> str:
    """The attributes of the lines of a region."""
    dash = DASHES[i % len(DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="2.2"{dashed}'


def _region(region: Region, i: int, strength: float) -> str:
    shape, edges = "", ""
    for (a, b, c), part in zip(region.lines, region.parts(), strict=True):
        on = [point for point in part if abs(a * point[0] + b * point[1] - c) < 1e-6]
        shape += _path(part) if part else ""
        edges += _path(on).rstrip("Z") if len(on) > 1 else ""
    return (
        f'<path d="{shape}" fill="{COLOURS[i % len(COLOURS)]}" fill-opacity="{strength:.2f}"/>'
        f'<path d="{edges}" fill="none" {_stroke(i)}/>'
    )


def _dots(dots: Sequence[Dot]) -> list[str]:
    """Dots, larger for more cells and black for sensitive ones. If there are many, all of one size are one short path."""
    found: list[str] = []
    paths: dict[tuple[str, float], str] = {}
    for x, y, hit, n, label in dots:
        u, v = _place((x, y))
        kind, size = "hit" if hit else "dot", min(1.6 + 0.5 * round((n - 1) ** 0.5), 7)
        if len(dots) > MAX_LABELLED_DOTS:
            paths[kind, size] = f"{paths.get((kind, size), '')}M{u:.0f} {v:.0f}h0"
            continue
        more = f" and {n - 1:,} more" if n > 1 else ""
        circle = f'<circle class="{kind}" cx="{u:.1f}" cy="{v:.1f}" r="{size:.1f}">'
        found.append(f"{circle}<title>{escape(label)}{more}</title></circle>")
    drawn = (
        f'<path class="many-{kind}" stroke-width="{2 * size:.1f}" d="{path}"/>' for (kind, size), path in paths.items()
    )
    return [*found, *drawn]


def _legend(regions: Sequence[Region], dots: Sequence[Dot]) -> list[str]:
    found, y = [], TOP_MARGIN + 6
    for i, region in enumerate(regions):
        found.append(
            f'<path d="M{LEFT_MARGIN + 12} {y}h30" {_stroke(i)}/>'
            f'<text x="{LEFT_MARGIN + 50}" y="{y + 4.5}">{escape(str(region))}</text>'
        )
        y += 20
    right, y = LEFT_MARGIN + 100 * PIXELS_PER_PERCENT, TOP_MARGIN + 6
    for kind, words in (("hit", "cells that are sensitive by a rule"), ("dot", "other cells")) if dots else ():
        n_cells = sum(n for _, _, hit, n, _ in dots if hit == (kind == "hit"))
        found.append(
            f'<circle class="{kind}" cx="{right:.0f}" cy="{y}" r="3"/>'
            f'<text x="{right - 10:.0f}" y="{y + 4.5}" text-anchor="end">{n_cells:,} {words}</text>'
        )
        y += 20
    return found
