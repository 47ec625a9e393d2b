"""What the report shows, as plain rows; how it looks is the template's business."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet
from discreet.arrays import FloatArray
from discreet.attacks import LabReport
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.data.hierarchy import Hierarchy
from discreet.errors import some
from discreet.inference.requirements import cells_to_protect
from discreet.problem import Problem, Status
from discreet.promise import published_by_decision, safe
from discreet.protection import Decision, Protection
from discreet.report import words
from discreet.report.maps import maps

Row = dict[str, Any]

MAX_LOSSES = 60

PROVEN_STATUSES = ("optimal", "within_gap")  # statuses that say something about all safe protections

# Classes of squares in a map: short, as it has many.
MARKS = {Decision.PUBLISHED: "o", Decision.PRIMARY: "p", Decision.SECONDARY: "s", Decision.ADJUSTED: "a"}


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
    every = [
        (attacker.digest, c)
        for attacker in problem.attackers()
        for c in cells_to_protect(problem, protection, attacker).tolist()
    ]
    missing = sum(check not in made for check in every)
    if missing:
        pairs = f"{missing:,} of {len(every):,} pairs of a protected cell and an attacker"
        return "open", "Not fully audited", f"The audit left out {pairs}. Audit all of them before publishing."
    n, n_primary = len({cell for _, cell in every}), len(problem.primaries)
    what = "primary cell" if n == n_primary else "protected cell"
    which = "" if n == n_primary else f" ({n_primary:,} primary, {n - n_primary:,} because suppressed)"
    kept = f"Each of the {n:,} {what}s{which}" if n > 1 else f"The only {what}{which}"
    sentence = (
        f"{kept} keeps the protection it requires." if n else "No cell is sensitive: there is nothing to protect."
    )
    if problem.table.behind_left_out:
        sentence += " The linked tables form a cycle, and the cells behind them were left out: readers may infer more."
    headline = f"{_headline(protection)} against {against}: {words.listed(audit.attackers)}"
    return "safe", headline, sentence


def attacks_verdict(lab: LabReport | None) -> list[tuple[str, str, str]]:
    """That attacks succeeded, which comes before all that was proven; nothing if they did not."""
    if lab is None or lab.passed:
        return []
    found = lab.compromised
    sentence = f"An attack finds {some(found)}: see the attacks that were tried, below. Do not publish this table."
    return [("exposed", f"Attacks compromise {words.plural(len(found), 'sensitive cell')}", sentence)]


def _headline(protection: Protection) -> str:
    """``Safe``, or what is excepted."""
    return safe(protection).capitalize() + ("," if published_by_decision(protection) else "")


def respondents_verdict(seen: RespondentAudit | None, protection: Protection) -> list[tuple[str, str, str]]:
    """The same about single respondents, in numbers only: who they are is in ``audit.json``."""
    if seen is None:
        return []
    among = words.plural(seen.targets, "respondent")
    if not seen.passed:
        sentence = "Others can work out too closely what they contribute. Do not publish this table."
        return [("exposed", f"Exposed: {len(seen.respondents):,} of {among} who need protection", sentence)]
    sentence = "Nobody can work out what another respondent contributes more closely than the rules allow."
    return [("safe", f"{_headline(protection)} for {among} who need protection", sentence)]


def decisions(problem: Problem) -> list[Row]:
    """Cells that may be published against the rules. Confidential: rules with their parameters."""
    return [
        {"cell": one.cell, "rules": ", ".join(one.rules), "status": one.status, "reason": one.reason}
        for one in problem.overrides
    ]


def tiles(protection: Protection) -> list[tuple[str, str, str]]:
    """Label, figure and note."""
    problem, report = protection.problem, protection.report
    n, base, suppressed = len(problem), int(problem.table.is_base.sum()), int(protection.suppressed.sum())
    before = int((problem.status == Status.SUPPRESSED).sum())
    primary_cost = words.number(problem.cost[problem.primaries].sum())
    others = f"{before:,} fixed beforehand" if before else "suppressed to protect others"
    # Of drawn values and distances everything is proven for these draws: with others something safe may cost less.
    drawn = " with what was drawn" if report.method in ("perturb", "adjust") and not report.symmetric else ""
    least = None if report.bound is None else words.number(report.bound)
    bound = "no bound is known" if least is None else f"nothing safe{drawn} costs less than {least}"
    time = (words.seconds(report.seconds), "to find the pattern") if report.seconds else ("–", "not recorded")
    worth = _worth(protection)
    value = worth[protection.suppressed].sum() / worth.sum() if worth.any() else None
    return [
        ("Cells", f"{n:,}", f"{base:,} at the finest level, {words.plural(n - base, 'total')}"),
        ("Primary", f"{report.n_primary:,}", "suppressed because sensitive"),
        ("Secondary", f"{report.n_secondary:,}", others),
        *([("Adjusted", f"{report.n_adjusted:,}", "published with other values")] if report.n_adjusted else []),
        ("Cells suppressed", words.percent(suppressed / n if n else None), f"{suppressed:,} of {n:,}"),
        ("Value suppressed", words.percent(value), "of the value at the finest level"),
        ("Cost", words.number(report.cost), f"of which primary cells {primary_cost}"),
        ("Gap", words.percent(report.gap), bound),
        ("Time", *time),
        (
            "Method",
            report.method,
            words.STATUS.get(report.status, report.status) + drawn * (report.status in PROVEN_STATUSES),
        ),
    ]


def kinds(protection: Protection) -> list[str]:
    """What a map may show besides published cells."""
    interval = protection.suppressed & (np.isfinite(protection.lower) | np.isfinite(protection.upper))
    found = [MARKS[Decision(d)] for d in np.unique(protection.decision).tolist() if d != Decision.PUBLISHED]
    return [*found, "i"] if interval.any() else found


def status_map(protection: Protection, audit: Audit) -> Row | None:
    """Every cell with what becomes of it and its value."""
    table = protection.problem.table
    unsafe = np.zeros(len(table), dtype=bool)
    unsafe[audit.cell[~audit.safe]] = True
    interval = protection.suppressed & (np.isfinite(protection.lower) | np.isfinite(protection.upper))

    def describe(i: int) -> tuple[str, str]:
        decision = Decision(protection.decision[i])
        said = f"{decision.word}, {words.number(table.value[i])}"
        if decision == Decision.ADJUSTED:
            said += f" told as {words.number(protection.published[i])}"
        if interval[i] or decision == Decision.ADJUSTED:
            said += f" ({words.number(protection.lower[i])} to {words.number(protection.upper[i])})"
        mark = MARKS[decision] + " i" * bool(interval[i]) + " x" * bool(unsafe[i])
        return mark, said + ", exposed" * bool(unsafe[i])

    empty = "empty" if table.complete else "no cell"
    return maps(table.dimensions, table.codes, describe, protection.suppressed, empty=empty, response=table.response)


def losses(protection: Protection) -> list[Row]:
    """Per dimension and code right below the total: how much of what belongs to it is suppressed."""
    table = protection.problem.table
    return [
        suppressed_by_code(name, hierarchy, table.codes[d], protection.suppressed, _worth(protection))
        for d, (name, hierarchy) in enumerate(table.dimensions.items())
    ]


def suppressed_by_code(
    name: str,
    hierarchy: Hierarchy,
    codes: NDArray[np.integer],
    suppressed: NDArray[np.bool_],
    worth: FloatArray | None = None,
) -> Row:
    """For each code right below the total, how many cells belong to it, how many are suppressed, and their value."""
    rows: dict[int, Row] = {}
    for parent in hierarchy.parents:
        top = np.arange(len(hierarchy))
        top = np.where(parent > 0, parent, top)
        while np.any(parent[top] > 0):  # twice as many steps each time
            top = top[top]
        group = np.where(parent[top] == 0, top, -1)[codes]
        inside = group >= 0

        def add_up(of: NDArray[np.bool_], weight: FloatArray, group: NDArray[np.int64] = group) -> FloatArray:
            return np.asarray(np.bincount(group[of], weight[of], len(hierarchy)), dtype=np.float64)

        one = np.ones(len(group))
        cells, gone = add_up(inside, one), add_up(inside & suppressed, one)
        for c in np.flatnonzero(cells).tolist():
            row = {
                "code": hierarchy.codes[c],
                "cells": int(cells[c]),
                "suppressed": int(gone[c]),
                "share": gone[c] / cells[c],
            }
            rows.setdefault(c, row)
        if worth is not None:
            whole, lost = add_up(inside, worth), add_up(inside & suppressed, worth)
            for c in np.flatnonzero(cells).tolist():
                rows[c].setdefault("value", lost[c] / whole[c] if whole[c] > 0 else None)
    # Where not all can be shown, those that lose most are.
    order = sorted(rows.values(), key=lambda row: -row["share"])[:MAX_LOSSES]
    return {"dimension": name, "rows": order if len(rows) > MAX_LOSSES else list(rows.values()), "of": len(rows)}


def _worth(protection: Protection) -> FloatArray:
    """The finest level only, as totals count twice; absolute, lest signs cancel."""
    table = protection.problem.table
    return np.where(table.is_base, np.abs(table.value), 0.0)


def facts(protection: Protection, audit: Audit) -> dict[str, str]:
    """What it takes to get the same result again."""
    problem, report = protection.problem, protection.report
    return {
        "Rules": "; ".join(problem.rules) or "not recorded",
        "Attackers": words.listed(audit.attackers, 20),
        "Audit": "exact intervals" if audit.exact else "verdict only",
        "Method": f"{report.method} ({report.status})" + (f": {report.note}" if report.note else ""),
        "Solver": report.solver or "none",
        "Seed": str(report.seed),
        "Versions": versions(),
        "Table digest": problem.table.digest,
        "Problem digest": problem.digest,
        "Protection digest": protection.digest,
    }


def versions() -> str:
    numbers = f"Python {platform.python_version()}, numpy {np.__version__}, highspy {version('highspy')}"
    return f"discreet {discreet.__version__}, {numbers}"
