"""The content of the internal report as rows, figures and sentences for the template."""

from __future__ import annotations

import platform
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

import discreet
from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks import AttackReport
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.data.hierarchy import Hierarchy
from discreet.errors import some
from discreet.inference.requirements import cells_to_protect
from discreet.languages import Lang
from discreet.problem import Problem, Status
from discreet.promise import published_by_decision, safe
from discreet.protection import Decision, Protection
from discreet.report import words
from discreet.report.maps import maps
from discreet.report.templates import Row

MAX_LOSSES = 60  # codes of a dimension that are listed

PROVEN_STATUSES = ("optimal", "within_gap")  # statuses that state a bound on the cost of all safe protections

# Classes of the squares of a map, short because there are many squares.
MARKS = {Decision.PUBLISHED: "o", Decision.PRIMARY: "p", Decision.SECONDARY: "s", Decision.ADJUSTED: "a"}


def verdict(problem: Problem, protection: Protection, audit: Audit) -> tuple[str, str, str]:
    """Kind, headline and sentence. A protection that was not fully audited is not called safe."""
    attackers = words.plural(len(audit.attackers), "attacker")
    exposed = np.flatnonzero(~audit.safe)
    if len(exposed):
        exposed_to = np.unique(audit.attacker[exposed])
        names = words.listed([audit.attackers[a] for a in exposed_to])
        cells = words.plural(len(np.unique(audit.cell[exposed])), "protected cell")
        sentence = f"{cells} can be inferred too closely. Do not publish this table."
        return "exposed", f"Exposed to {len(exposed_to):,} of {attackers}: {names}", sentence
    required = [cells_to_protect(problem, protection, attacker) for attacker in problem.attackers()]
    if missing := audit.unaudited(protection):
        pairs = f"{missing:,} of {sum(map(len, required)):,} pairs of a protected cell and an attacker"
        return "open", "Not fully audited", f"The audit left out {pairs}. Audit all of them before publishing."
    n, n_primary = len(np.unique(np.concatenate(required))), len(problem.primaries)
    kind = "primary cell" if n == n_primary else "protected cell"
    reasons = "" if n == n_primary else f" ({n_primary:,} primary, {n - n_primary:,} because suppressed)"
    cells = f"Each of the {n:,} {kind}s{reasons}" if n > 1 else f"The only {kind}{reasons}"
    sentence = f"{cells} keeps the required protection." if n else "No cell is sensitive: there is nothing to protect."
    if problem.table.behind_left_out:
        sentence += " The linked tables form a cycle, and the cells behind them were left out: readers may infer more."
    headline = f"{_headline(protection)} against {attackers}: {words.listed(audit.attackers)}"
    return "safe", headline, sentence


def attacks_verdict(attacks: AttackReport | None) -> list[tuple[str, str, str]]:
    """The verdict if attacks succeeded, which is shown before that of the audit; empty if they did not."""
    if attacks is None or attacks.passed:
        return []
    cells = attacks.compromised
    sentence = f"An attack infers {some(cells)}: see the attacks below. Do not publish this table."
    return [("exposed", f"Attacks compromise {words.plural(len(cells), 'sensitive cell')}", sentence)]


def _headline(protection: Protection) -> str:
    """``Safe``, with the number of exceptions by decision."""
    return safe(protection).capitalize() + ("," if published_by_decision(protection) else "")


def respondents_verdict(checked: RespondentAudit | None, protection: Protection) -> list[tuple[str, str, str]]:
    """The verdict on respondents without their names, which are in ``audit.json``; empty if they were not audited."""
    if checked is None:
        return []
    targets = words.plural(checked.targets, "respondent")
    if not checked.passed:
        sentence = "Other respondents can infer their contributions too closely. Do not publish this table."
        return [("exposed", f"Exposed: {len(checked.respondents):,} of {targets} who need protection", sentence)]
    sentence = "No respondent can infer the contributions of another more closely than the rules allow."
    return [("safe", f"{_headline(protection)} for {targets} who need protection", sentence)]


def tiles(protection: Protection) -> list[tuple[str, str, str]]:
    """Label, figure and note of the main figures."""
    problem, report = protection.problem, protection.report
    n, base, suppressed = len(problem), int(problem.table.is_base.sum()), int(protection.suppressed.sum())
    before = int((problem.status == Status.SUPPRESSED).sum())
    primary_cost = words.number(problem.cost[problem.primaries].sum())
    secondary = f"{before:,} of them suppressed beforehand" if before else "suppressed to protect others"
    # Bounds hold for the values or distances that were drawn: a safe result of other draws may cost less.
    drawn = " with these random draws" if report.method in ("perturb", "adjust") and not report.symmetric else ""
    bound = "no bound is known"
    if report.bound is not None:
        bound = f"no safe result{drawn} costs less than {words.number(report.bound)}"
    time = (words.seconds(report.seconds), "to find the pattern") if report.seconds else ("–", "not recorded")
    base_value = _base_value(protection)
    value = base_value[protection.suppressed].sum() / base_value.sum() if base_value.any() else None
    return [
        ("Cells", f"{n:,}", f"{base:,} at the finest level, {words.plural(n - base, 'total')}"),
        ("Primary", f"{report.n_primary:,}", "suppressed because sensitive"),
        ("Secondary", f"{report.n_secondary:,}", secondary),
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
    """The classes of squares in the map besides published cells."""
    found = [MARKS[Decision(d)] for d in np.unique(protection.decision).tolist() if d != Decision.PUBLISHED]
    return [*found, "i"] if protection.has_interval.any() else found


def status_map(protection: Protection, audit: Audit) -> Row | None:
    """The maps of all cells with their decisions and values."""
    table = protection.problem.table
    unsafe = np.zeros(len(table), dtype=bool)
    unsafe[audit.cell[~audit.safe]] = True
    interval = protection.has_interval

    def describe(i: int) -> tuple[str, str]:
        decision = Decision(protection.decision[i])
        description = f"{decision.word}, {words.number(table.value[i])}"
        if decision == Decision.ADJUSTED:
            description += f" published as {words.number(protection.published[i])}"
        if interval[i] or decision == Decision.ADJUSTED:
            description += f" ({words.number(protection.lower[i])} to {words.number(protection.upper[i])})"
        mark = MARKS[decision] + " i" * bool(interval[i]) + " x" * bool(unsafe[i])
        return mark, description + ", exposed" * bool(unsafe[i])

    empty = "empty" if table.complete else "no cell"
    return maps(table.dimensions, table.codes, describe, protection.suppressed, empty=empty, response=table.response)


def losses(protection: Protection) -> list[Row]:
    """Per dimension, the suppressed cells and their value by code right below the total."""
    table = protection.problem.table
    return [
        suppressed_by_code(name, hierarchy, table.codes[d], protection.suppressed, _base_value(protection))
        for d, (name, hierarchy) in enumerate(table.dimensions.items())
    ]


def suppressed_by_code(
    name: str,
    hierarchy: Hierarchy,
    codes: NDArray[np.integer],
    suppressed: BoolArray,
    value: FloatArray | None = None,
    lang: Lang = "en",
) -> Row:
    """For each code right below the total the numbers of cells and of suppressed cells, and the suppressed share of value."""
    rows: dict[int, Row] = {}
    for parent in hierarchy.parents:
        top = np.arange(len(hierarchy))
        top = np.where(parent > 0, parent, top)
        while np.any(parent[top] > 0):  # the number of levels climbed doubles each time
            top = top[top]
        group = np.where(parent[top] == 0, top, -1)[codes]
        inside = group >= 0

        def sums(cells: BoolArray, weight: FloatArray, group: IntArray = group) -> FloatArray:
            return np.asarray(np.bincount(group[cells], weight[cells], len(hierarchy)), dtype=np.float64)

        weights = (np.ones(len(group)), np.zeros(len(group)) if value is None else value)
        n_cells, total = (sums(inside, weight) for weight in weights)
        n_suppressed, lost = (sums(inside & suppressed, weight) for weight in weights)
        for c in np.flatnonzero(n_cells).tolist():
            row = {
                "code": hierarchy.name(c, lang),
                "cells": int(n_cells[c]),
                "suppressed": int(n_suppressed[c]),
                "share": n_suppressed[c] / n_cells[c],
                "value": lost[c] / total[c] if total[c] > 0 else None,
            }
            rows.setdefault(c, row)
    # If not all codes can be listed, those with the largest share of cells suppressed are.
    order = sorted(rows.values(), key=lambda row: -row["share"])[:MAX_LOSSES]
    return {"dimension": name, "rows": order if len(rows) > MAX_LOSSES else list(rows.values()), "of": len(rows)}


def _base_value(protection: Protection) -> FloatArray:
    """Absolute values of base cells and 0 for totals, so that nothing is counted twice and signs do not cancel."""
    table = protection.problem.table
    return np.where(table.is_base, np.abs(table.value), 0.0)


def facts(protection: Protection, audit: Audit) -> dict[str, str]:
    """The facts that are needed to repeat the result."""
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
