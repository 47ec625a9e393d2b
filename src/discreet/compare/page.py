"""The comparison as one self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.compare.charts import Point, bars, round_percent, scatter
from discreet.compare.compare import Comparison, MethodOutcome
from discreet.compare.measure import CLOSE_GUESS_ERROR, MAX_RELATIVE_WIDTH, Risk
from discreet.io import writing
from discreet.report import words
from discreet.report.templates import render
from discreet.report.view import versions

COMPARISON_TITLE = "Methods compared"
MAX_RISK_ROWS = 200  # of the table by attacker, which would be too long to read
KINDS = ("exact", "adjusted", "interval", "suppressed")  # kinds of publication of a cell


def write_comparison(
    comparison: Comparison, path: str | Path, *, title: str = COMPARISON_TITLE, settings: Mapping[str, str] = {}
) -> None:
    """Write the page. Confidential: it shows deviations from true values and the parameters of rules and methods."""
    page = render_comparison(comparison, title=title, settings=settings)
    with writing(path) as draft:
        draft.write_text(page, encoding="utf-8")


def render_comparison(
    comparison: Comparison, *, title: str = COMPARISON_TITLE, settings: Mapping[str, str] = {}
) -> str:
    """The page as HTML. ``settings`` are further facts that are needed to repeat the comparison."""
    done = [one for one in comparison.outcomes if one.loss]
    problem = comparison.problem
    return render(
        "compare.html.j2",
        room="compare",
        title=title,
        table=problem.table,
        lead=_lead(comparison),
        outcomes=comparison.outcomes,
        done=done,
        scatter=scatter(_points(done)),
        panels=_panels(done),
        kinds=KINDS,
        risks=_tightest(done) if len(problem.attackers()) > 1 else [],
        more_risks=max(sum(len(one.risks) for one in done) - MAX_RISK_ROWS, 0),
        sampled=comparison.sampled,
        of=comparison.of,
        close=round_percent(CLOSE_GUESS_ERROR),
        widest=round_percent(MAX_RELATIVE_WIDTH),
        slack=_slack,
        error=_error,
        facts={**settings, **comparison.settings, **_facts(comparison)},
    )


def _lead(comparison: Comparison) -> str:
    problem, done = comparison.problem, [one for one in comparison.outcomes if one.loss]
    safe, failed = sum(bool(one.safe) for one in done), len(comparison.outcomes) - len(done)
    attackers = words.listed([attacker.name for attacker in problem.attackers()])
    counts = [
        (safe, f"{safe:,} protect every cell against the {attackers}"),
        (len(done) - safe, f"{len(done) - safe:,} leave cells exposed"),
        (failed, f"{failed:,} gave no result"),
    ]
    cells = f"{words.plural(problem.table.n_listed, 'cell')}, {len(problem.primaries):,} of them sensitive."
    methods = words.plural(len(comparison.outcomes), "method")
    return f"{cells} Of {methods}, {words.listed([text for count, text in counts if count])}."


def _tightest(done: list[MethodOutcome]) -> list[tuple[str, Risk]]:
    """Risks by method and attacker, limited to those with the least slack."""
    rows = [(one.method, risk) for one in done for risk in one.risks]
    slack = [math.inf if risk.slack is None else risk.slack for _, risk in rows]
    order = sorted(range(len(rows)), key=slack.__getitem__)
    return [rows[k] for k in sorted(order[:MAX_RISK_ROWS])]


def _points(done: list[MethodOutcome]) -> list[Point]:
    """The methods whose loss and risk can be measured, as points of the scatter chart."""
    placed = [(one, one.loss.width, one.risk.guessed) for one in done if one.loss and one.risk]
    return [Point(one.method, x, y, bool(one.safe)) for one, x, y in placed if x is not None and y is not None]


def _panels(done: list[MethodOutcome]) -> list[dict[str, Any]]:
    names = [one.method for one in done]
    losses = [one.loss for one in done if one.loss]
    cells = [[getattr(loss, kind) for kind in KINDS] for loss in losses]
    values = [[getattr(loss, f"value_{kind}") for kind in KINDS] for loss in losses]
    widths, deviations = [[loss.width] for loss in losses], [[loss.deviation_relative] for loss in losses]
    return [
        {"title": "Cells by kind of publication", "chart": bars(names, cells, KINDS)},
        {"title": "Value at the finest level by kind of publication", "chart": bars(names, values, KINDS)},
        {"title": "Mean width of audit intervals", "chart": bars(names, widths, ("",))},
        {"title": "Mean deviation of published values", "chart": bars(names, deviations, ("",))},
    ]


def _facts(comparison: Comparison) -> dict[str, str]:
    problem = comparison.problem
    return {
        "Methods": ", ".join(one.method for one in comparison.outcomes),
        "Rules": "; ".join(problem.rules) or "not recorded",
        "Attackers": words.listed([attacker.name for attacker in problem.attackers()], 20),
        "Versions": versions(),
        "Table digest": problem.table.digest,
        "Problem digest": problem.digest,
    }


def _slack(risk: Risk) -> str:
    return "–" if risk.slack is None else words.slack(risk.slack, safe=not risk.exposed)


def _error(share: float | None) -> str:
    """A relative error; an infinite one is that of an unbounded interval, which has no middle to guess."""
    return "no guess" if share is not None and math.isinf(share) else words.percent(share)
