"""Audit intervals compared with required intervals, and intervals that are published."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import FloatArray
from discreet.audit import Audit
from discreet.inference import tolerances
from discreet.inference.requirements import withheld
from discreet.protection import Protection
from discreet.report import words
from discreet.report.templates import Row

MAX_EXPOSED, MAX_INTERVALS, MAX_PUBLISHED_INTERVALS = 50, 200, 50  # rows of the tables, which must stay readable
BAR_RANGE_IN_LEVELS = 2.2  # bars show this multiple of the largest protection level on either side of the value


def tightest(audit: Audit) -> NDArray[np.intp]:
    """For each audited cell the entry with the least slack of all attackers, in ascending order of slack."""
    slack = slacks(audit)
    order = np.lexsort((slack, audit.safe))
    rows = order[np.unique(audit.cell[order], return_index=True)[1]]
    return np.asarray(rows[np.lexsort((slack[rows], audit.safe[rows]))])


def intervals(audit: Audit, rows: NDArray[np.intp], limit: int = MAX_INTERVALS) -> Row:
    """These rows of the audit in ascending order of slack, up to a limit."""
    slack = slacks(audit)
    rows = rows[np.lexsort((slack[rows], audit.safe[rows]))]
    return {
        "rows": [_interval(audit, row, float(slack[row])) for row in rows[:limit].tolist()],
        "of": len(rows),
        "attackers": len(audit.attackers) > 1,
        "sliding": bool(audit.required[2, rows].any()),
    }


def slacks(audit: Audit) -> FloatArray:
    """The least ratio of the inferred to the required distance of each entry; infinite if no distance is required."""
    value = audit.problem.table.value[audit.cell]
    distance = np.stack([value - audit.lower, audit.upper - value, audit.upper - audit.lower])
    level = audit.required
    slack: FloatArray = np.divide(distance, level, out=np.full(distance.shape, np.inf), where=level > 0)
    return np.asarray(slack.min(axis=0))


def _interval(audit: Audit, row: int, slack: float) -> Row:
    problem, cell, safe = audit.problem, int(audit.cell[row]), bool(audit.safe[row])
    value = float(problem.table.value[cell])
    # Ends that differ from zero by rounding errors only are shown as zero.
    lower, upper = (0.0 if abs(end) < 1e-9 * abs(value) else float(end) for end in (audit.lower[row], audit.upper[row]))
    levels = [float(level) for level in audit.required[:, row]]
    distances = [value - lower, upper - value, upper - lower]
    shortfalls = [
        f"{end} {words.number(level - distance)} short"
        for end, level, distance in zip(("lower end", "upper end", "width"), levels, distances, strict=True)
        if distance < level * (1 - tolerances.LEVEL_TOLERANCE)
    ]
    return {
        "label": problem.table.label(cell),
        "attacker": audit.attackers[audit.attacker[row]],
        "value": value,
        "lower": lower,
        "upper": upper,
        "needed_lower": value - levels[0],
        "needed_upper": value + levels[1],
        "sliding": levels[2],
        "slack": "–" if safe and np.isinf(slack) and not any(levels) else words.slack(slack, safe),
        "safe": safe,
        "short": "known exactly" if distances[2] <= 1e-6 * max(levels) else ", ".join(shortfalls),
        "bar": _bar(distances, levels),
    }


def _bar(distances: list[float], levels: list[float]) -> Row:
    """Positions from 0 to 200 with the value at 100, in units of the levels of the cell."""
    largest_level = max(*levels[:2], levels[2] / 2)
    scale = BAR_RANGE_IN_LEVELS * largest_level or max(filter(np.isfinite, distances), default=0) or 1.0
    down, up, needed_down, needed_up = (100 * min(d / scale, 1.0) for d in (*distances[:2], *levels[:2]))
    return {
        "lower": 100 - down,
        "upper": 100 + up,
        "needed_lower": 100 - needed_down,
        "needed_upper": 100 + needed_up,
        "beyond": [distance > scale for distance in distances[:2]],
    }


def published_intervals(protection: Protection) -> Row:
    """Cells that are published as intervals or with other values, the relatively widest intervals first."""
    table = protection.problem.table
    cells = np.flatnonzero(withheld(protection) & (np.isfinite(protection.lower) | np.isfinite(protection.upper)))
    value, lower, upper = (column[cells] for column in (table.value, protection.lower, protection.upper))
    order = np.argsort(-(upper - lower) / np.maximum(np.abs(value), 1e-9), kind="stable")
    rows = [
        {
            "label": table.label(int(cells[i])),
            "value": float(value[i]),
            "published": float(protection.published[cells[i]]),
            "lower": float(lower[i]),
            "upper": float(upper[i]),
        }
        for i in order[:MAX_PUBLISHED_INTERVALS].tolist()
    ]
    return {"rows": rows, "of": len(cells)}
