"""What the report shows, as plain rows; how it looks is the template's business."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet
from discreet.audit import Audit, tolerances
from discreet.audit.known import due
from discreet.hierarchy import ROOT, Hierarchy
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection
from discreet.relations import FloatArray
from discreet.report import words
from discreet.respondents import RespondentAudit

Row = dict[str, Any]

MAX_EXPOSED, MAX_INTERVALS, MAX_LOSSES, MAX_ROWS, MAX_COLUMNS = 50, 200, 60, 400, 80

MARKS = {"published": "o", "primary": "p", "secondary": "s", "adjusted": "a", "empty": "e"}  # short, as a map has many

SHOWN = 2.2  # bars show this many times the largest protection level on either side of the value


def verdict(problem: Problem, protection: Protection, audit: Audit) -> tuple[str, str, str]:
    """Kind, headline and sentence. What the audit left out is not called safe."""
    against = words.plural(len(audit.attackers), "attacker")
    bad = np.flatnonzero(~audit.safe)
    if len(bad):
        by = np.unique(audit.attacker[bad])
        who = words.listed([audit.attackers[a] for a in by])
        cells = words.plural(len(np.unique(audit.cell[bad])), "protected cell")
        sentence = f"{cells} can be inferred too closely. Do not publish this table."
        return "exposed", f"Exposed to {len(by):,} of {against}: {who}", sentence
    made = {(audit.knowledge[a], c) for a, c in zip(audit.attacker.tolist(), audit.cell.tolist(), strict=True)}
    every = [(who.digest, c) for who in problem.attackers() for c in due(problem, protection, who).tolist()]
    missing = sum(check not in made for check in every)
    if missing:
        pairs = f"{missing:,} of {len(every):,} pairs of a protected cell and an attacker"
        return "open", "Not fully audited", f"The audit left out {pairs}. Audit all of them before publishing."
    n, n_primary = len({cell for _, cell in every}), len(problem.primaries)
    what = "primary cell" if n == n_primary else "protected cell"
    which = "" if n == n_primary else f" ({n_primary:,} primary, {n - n_primary:,} because hidden)"
    kept = f"Each of the {n:,} {what}s{which}" if n > 1 else f"The only {what}{which}"
    sentence = (
        f"{kept} keeps the protection it requires." if n else "No cell is sensitive: there is nothing to protect."
    )
    return "safe", f"Safe against {against}: {words.listed(audit.attackers)}", sentence


def respondents_verdict(seen: RespondentAudit | None) -> list[tuple[str, str, str]]:
    """The same about single respondents, in numbers only: who they are is in ``audit.json``."""
    if seen is None:
        return []
    among = words.plural(seen.targets, "respondent")
    if not seen.passed:
        sentence = "Others can work out too closely what they contribute. Do not publish this table."
        return [("exposed", f"Exposed: {len(seen.respondents):,} of {among} who need protection", sentence)]
    sentence = "No combination of what is published tells anybody too much about them."
    if not seen.problem.table.knows_respondents:
        sentence += (
            " Of each cell the table lists the largest contributions only: smaller ones of holdings are left out."
        )
    return [("safe", f"Safe for {among} who need protection", sentence)]


def tiles(protection: Protection) -> list[tuple[str, str, str]]:
    """Label, figure and note."""
    problem, report = protection.problem, protection.report
    n, base, hidden = len(problem), int(problem.table.is_base.sum()), int(protection.hidden.sum())
    before = int((problem.status == Status.HIDDEN).sum())
    primary_cost = words.number(problem.cost[problem.primaries].sum())
    others = f"{before:,} fixed beforehand" if before else "hidden to protect others"
    bound = "no bound is known" if report.bound is None else f"no pattern costs less than {words.number(report.bound)}"
    time = (words.seconds(report.seconds), "to find the pattern") if report.seconds else ("–", "not recorded")
    value = _value_hidden(protection, np.zeros(n, np.int64), 1)[0]
    return [
        ("Cells", f"{n:,}", f"{base:,} at the finest level, {words.plural(n - base, 'total')}"),
        ("Primary", f"{report.n_primary:,}", "hidden because sensitive"),
        ("Secondary", f"{report.n_secondary:,}", others),
        *([("Adjusted", f"{report.n_adjusted:,}", "published with other values")] if report.n_adjusted else []),
        ("Cells hidden", words.percent(hidden / n if n else None), f"{hidden:,} of {n:,}"),
        ("Value hidden", words.percent(value), "of the value at the finest level"),
        ("Cost", words.number(report.cost), f"of which primary cells {primary_cost}"),
        ("Gap", words.percent(report.gap), bound),
        ("Time", *time),
        ("Method", report.method, words.STATUS.get(report.status, report.status)),
    ]


def exposed(audit: Audit) -> Row:
    """Every attacker's view of every exposed cell."""
    return _intervals(audit, np.flatnonzero(~audit.safe), MAX_EXPOSED)


def intervals(audit: Audit) -> Row:
    """Each audited cell as seen by the attacker who comes closest."""
    order = np.lexsort((rooms(audit), audit.safe))
    return _intervals(audit, order[np.unique(audit.cell[order], return_index=True)[1]], MAX_INTERVALS)


def _intervals(audit: Audit, rows: NDArray[np.intp], most: int) -> Row:
    """The tightest first."""
    room = rooms(audit)
    rows = rows[np.lexsort((room[rows], audit.safe[rows]))]
    return {
        "rows": [_interval(audit, row, float(room[row])) for row in rows[:most].tolist()],
        "of": len(rows),
        "attackers": len(audit.attackers) > 1,
        "sliding": bool(audit.required[2, rows].any()),
    }


def rooms(audit: Audit) -> FloatArray:
    """How many times the required distance is left open, where it is tightest; infinite if none is required."""
    value = audit.problem.table.value[audit.cell]
    reach = np.stack([value - audit.lower, audit.upper - value, audit.upper - audit.lower])
    level = audit.required
    room: FloatArray = np.divide(reach, level, out=np.full(reach.shape, np.inf), where=level > 0)
    return np.asarray(room.min(axis=0))


def _interval(audit: Audit, row: int, room: float) -> Row:
    problem, cell, safe = audit.problem, int(audit.cell[row]), bool(audit.safe[row])
    value = float(problem.table.value[cell])
    # Float noise around zero is not a bound.
    lower, upper = (0.0 if abs(end) < 1e-9 * abs(value) else float(end) for end in (audit.lower[row], audit.upper[row]))
    levels = [float(level) for level in audit.required[:, row]]
    reaches = [value - lower, upper - value, upper - lower]
    short = [
        f"{end} {words.number(level - reach)} short"
        for end, level, reach in zip(("lower end", "upper end", "width"), levels, reaches, strict=True)
        if reach < level * (1 - tolerances.REACH)
    ]
    # Rounding never contradicts the verdict: 0.999 times what is required reads 0.99, not 1.00.
    times = max(room, 1.0) if safe else min(np.floor(room * 100) / 100, 0.99)
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
        "room": finite if np.isfinite(times) else "∞" if any(levels) else "–",
        "safe": safe,
        "short": "known exactly" if reaches[2] <= 1e-6 * max(levels) else ", ".join(short),
        "bar": _bar(reaches, levels),
    }


def _bar(reaches: list[float], levels: list[float]) -> Row:
    """Positions from 0 to 200 with the value at 100, the same for all cells in units of what each requires."""
    scale = SHOWN * max(*levels[:2], levels[2] / 2) or max(filter(np.isfinite, reaches), default=0) or 1.0
    down, up, needed_down, needed_up = (100 * min(d / scale, 1.0) for d in (*reaches[:2], *levels[:2]))
    return {
        "lower": 100 - down,
        "upper": 100 + up,
        "needed_lower": 100 - needed_down,
        "needed_upper": 100 + needed_up,
        "beyond": [reach > scale for reach in reaches[:2]],
    }


def status_map(protection: Protection, audit: Audit) -> Row | None:
    """The first two dimensions at the totals of the others; nothing if there are no dimensions or no such totals."""
    table = protection.problem.table
    cells = np.flatnonzero((table.codes[2:] == 0).all(axis=0))
    if not table.dimensions or not len(cells):
        return None
    # One more dimension with a single code: the only column of a table that has just rows.
    alone = Hierarchy((table.response,), np.array([ROOT]))
    (down_name, down), (across_name, across), *_ = (*table.dimensions.items(), (table.response, alone))
    codes = np.vstack([table.codes, np.zeros(len(table), np.int32)])
    at = {(r, c): i for r, c, i in zip(*codes[:2, cells].tolist(), cells.tolist(), strict=True)}
    rows, columns = (h.order()[np.isin(h.order(), codes[d, cells])].tolist() for d, h in enumerate((down, across)))
    unsafe = set(audit.cell[~audit.safe].tolist())

    def mark(row: int, column: int) -> tuple[str, str]:
        if (row, column) not in at:
            return MARKS[
                "empty"
            ], f"{down.codes[row]} × {across.codes[column]}: {'empty' if table.complete else 'no cell'}"
        i = at[row, column]
        word = Decision(protection.decision[i]).word
        if i in unsafe:
            return f"{MARKS[word]} x", f"{table.label(i)}: {word}, exposed"
        return MARKS[word], f"{table.label(i)}: {word}"

    others = list(table.dimensions)[2:]
    notes = []
    if others:
        seen, hidden = int(protection.hidden[cells].sum()), words.plural(int(protection.hidden.sum()), "hidden cell")
        part = f"At the totals of {words.listed(others)}: {len(cells):,} of {len(table):,} cells"
        notes.append(f"{part}, {seen:,} of {hidden}.")
    for what, have, most in (("rows", rows, MAX_ROWS), ("columns", columns, MAX_COLUMNS)):
        if len(have) > most:
            notes.append(f"The first {most:,} of {len(have):,} {what} are shown.")
    rows, columns = rows[:MAX_ROWS], columns[:MAX_COLUMNS]
    return {
        "down": down_name,
        "across": across_name,
        "columns": [(across.codes[c], not across.is_leaf[c]) for c in columns],
        "rows": [(down.codes[r], int(down.depth[r]), not down.is_leaf[r], [mark(r, c) for c in columns]) for r in rows],
        "head": min(30, max(len(down.codes[r]) + 2 * int(down.depth[r]) for r in rows) + 2),  # characters
        "notes": notes,
    }


def losses(protection: Protection) -> list[Row]:
    """Per dimension and code right below the total: how much of what belongs to it is hidden."""
    table, found = protection.problem.table, []
    for d, (name, hierarchy) in enumerate(table.dimensions.items()):
        rows: dict[int, Row] = {}
        for parent in hierarchy.parents:
            top = np.arange(len(hierarchy))
            while np.any(parent[top] > 0):
                top = np.where(parent[top] > 0, parent[top], top)
            group = np.where(parent[top] == 0, top, -1)[table.codes[d]]
            cells = np.bincount(group[group >= 0], minlength=len(hierarchy))
            hidden = np.bincount(group[(group >= 0) & protection.hidden], minlength=len(hierarchy))
            value = _value_hidden(protection, group, len(hierarchy))
            for c in np.flatnonzero(cells).tolist():
                counts = {"cells": cells[c], "hidden": hidden[c], "share": hidden[c] / cells[c]}
                rows.setdefault(c, {"code": hierarchy.codes[c], **counts, "value": value[c]})
        # Where not all can be shown, those that lose most are.
        order = sorted(rows, key=lambda c: -rows[c]["share"])[:MAX_LOSSES] if len(rows) > MAX_LOSSES else list(rows)
        found.append({"dimension": name, "rows": [rows[c] for c in order], "of": len(rows)})
    return found


def _value_hidden(protection: Protection, group: NDArray[np.int64], groups: int) -> list[float | None]:
    """The share hidden of each group: the finest level only, as totals count twice; absolute, lest signs cancel."""
    table = protection.problem.table
    base = table.is_base & (group >= 0)
    size = np.abs(table.value)
    whole = np.bincount(group[base], size[base], groups)
    gone = np.bincount(group[base & protection.hidden], size[base & protection.hidden], groups)
    return [g / w if w > 0 else None for g, w in zip(gone.tolist(), whole.tolist(), strict=True)]


def facts(protection: Protection, audit: Audit) -> dict[str, str]:
    """What it takes to get the same result again."""
    problem, report = protection.problem, protection.report
    return {
        "Rules": "; ".join(problem.rules) or "not recorded",
        "Attackers": words.listed(audit.attackers, 20),
        "Audit": "exact intervals" if audit.exact else "verdict only",
        "Method": f"{report.method} ({report.status})",
        "Solver": report.solver or "none",
        "Seed": str(report.seed),
        "Versions": f"discreet {discreet.__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, highspy {version('highspy')}",
        "Table digest": problem.table.digest,
        "Problem digest": problem.digest,
        "Protection digest": protection.digest,
    }
