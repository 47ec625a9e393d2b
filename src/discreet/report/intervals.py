"""What can be inferred about each cell, against what is required; and what readers are told instead of values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import FloatArray
from discreet.audit import Audit
from discreet.inference import tolerances
from discreet.inference.requirements import withheld
from discreet.protection import Protection
from discreet.report import words

Row = dict[str, Any]

MAX_EXPOSED, MAX_INTERVALS, MAX_PUBLISHED_INTERVALS = 50, 200, 50
BAR_RANGE_IN_LEVELS = 2.2  # bars show this many times the largest protection level on either side of the value


def exposed(audit: Audit) -> Row:
    """Every attacker's view of every exposed cell."""
    return _intervals(audit, np.flatnonzero(~audit.safe), MAX_EXPOSED)


def tightest(audit: Audit) -> NDArray[np.intp]:
    """For each audited cell the entry of the attacker who comes closest; the tightest cells first."""
    slack = slacks(audit)
    order = np.lexsort((slack, audit.safe))
    rows = order[np.unique(audit.cell[order], return_index=True)[1]]
    return np.asarray(rows[np.lexsort((slack[rows], audit.safe[rows]))])


def intervals(audit: Audit, closest: NDArray[np.intp]) -> Row:
    """Each audited cell as seen by the attacker who comes closest."""
    return _intervals(audit, closest, MAX_INTERVALS)


def _intervals(audit: Audit, rows: NDArray[np.intp], most: int) -> Row:
    """The tightest first."""
    slack = slacks(audit)
    rows = rows[np.lexsort((slack[rows], audit.safe[rows]))]
    return {
        "rows": [_interval(audit, row, float(slack[row])) for row in rows[:most].tolist()],
        "of": len(rows),
        "attackers": len(audit.attackers) > 1,
        "sliding": bool(audit.required[2, rows].any()),
    }


def slacks(audit: Audit) -> FloatArray:
    """How many times the required distance is left open, where it is tightest; infinite if none is required."""
    value = audit.problem.table.value[audit.cell]
    reach = np.stack([value - audit.lower, audit.upper - value, audit.upper - audit.lower])
    level = audit.required
    slack: FloatArray = np.divide(reach, level, out=np.full(reach.shape, np.inf), where=level > 0)
    return np.asarray(slack.min(axis=0))


def _interval(audit: Audit, row: int, slack: float) -> Row:
    problem, cell, safe = audit.problem, int(audit.cell[row]), bool(audit.safe[row])
    value = float(problem.table.value[cell])
    # Float noise around zero is not a bound.
    lower, upper = (0.0 if abs(end) < 1e-9 * abs(value) else float(end) for end in (audit.lower[row], audit.upper[row]))
    levels = [float(level) for level in audit.required[:, row]]
    reaches = [value - lower, upper - value, upper - lower]
    short = [
        f"{end} {words.number(level - reach)} short"
        for end, level, reach in zip(("lower end", "upper end", "width"), levels, reaches, strict=True)
        if reach < level * (1 - tolerances.LEVEL_TOLERANCE)
    ]
    # Rounding never contradicts the verdict: 0.999 times what is required reads 0.99, not 1.00.
    times = max(slack, 1.0) if safe else min(np.floor(slack * 100) / 100, 0.99)
    finite = f"{times:,.0f} ×" if times >= 100 else f"{times:.2f} ×"
    return {
        "label": problem.table.label(cell),
        "attacker": audit.attackers[audit.attacker[row]],
        "value": value,
        "lower": lower,
        "upper": upper,
        "needed_lower": value - levels[0],
        "needed_upper": value + levels[1],
        "sliding": levels[2],
        "slack": finite if np.isfinite(times) else "∞" if any(levels) else "–",
        "safe": safe,
        "short": "known exactly" if reaches[2] <= 1e-6 * max(levels) else ", ".join(short),
        "bar": _bar(reaches, levels),
    }


def _bar(reaches: list[float], levels: list[float]) -> Row:
    """Positions from 0 to 200 with the value at 100, the same for all cells in units of what each requires."""
    scale = BAR_RANGE_IN_LEVELS * max(*levels[:2], levels[2] / 2) or max(filter(np.isfinite, reaches), default=0) or 1.0
    down, up, needed_down, needed_up = (100 * min(d / scale, 1.0) for d in (*reaches[:2], *levels[:2]))
    return {
        "lower": 100 - down,
        "upper": 100 + up,
        "needed_lower": 100 - needed_down,
        "needed_upper": 100 + needed_up,
        "beyond": [reach > scale for reach in reaches[:2]],
    }


def published_intervals(protection: Protection) -> Row:
    """Cells told otherwise than by their value or not at all: those that are told least well first."""
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
