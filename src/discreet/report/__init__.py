"""The internal and the shareable report, each one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec

import numpy as np

from discreet.attacks import AttackReport
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.drafts import create_private
from discreet.errors import TableError
from discreet.languages import Lang, language
from discreet.level import Level, level_of
from discreet.presentation import Presentation
from discreet.problem import Problem
from discreet.progress import StageTime
from discreet.promise import conditions, published_by_decision, shareable_promise
from discreet.protection import Protection
from discreet.release import publish
from discreet.report import view, words
from discreet.report.attacks import attack_rows
from discreet.report.intervals import MAX_EXPOSED, intervals, published_intervals, tightest
from discreet.report.protecting_cells import protecting_cells
from discreet.report.shareable import shareable_content
from discreet.report.templates import render

__all__ = ["render_report", "render_shareable", "write_report", "write_shareable"]

_Content = ParamSpec("_Content")

REPORT_TITLE = "Disclosure control report"


def render_report(
    problem: Problem,
    protection: Protection,
    audit: Audit,
    respondents: RespondentAudit | None = None,
    *,
    title: str = REPORT_TITLE,
    settings: Mapping[str, str] = {},
    attacks: AttackReport | None = None,
    level: Level | None = None,
    stages: Sequence[StageTime] = (),
) -> str:
    """The internal report as HTML, with the ``settings`` of the job and the results of ``attacks``. Confidential.

    ``level`` is the requested level of safety, if any.
    """
    _check(problem, protection, audit, respondents)
    closest, listed = tightest(audit), protection.listed
    return render(
        "report.html.j2",
        title=title,
        response=problem.table.response,
        dimensions=list(problem.table.dimensions),
        verdicts=[
            *view.attacks_verdict(attacks),
            view.verdict(problem, protection, audit),
            *view.respondents_verdict(respondents, protection),
        ],
        conditions=conditions(
            protection,
            respondents,
            level_of(problem, protection.only_suppresses, level),
            audit=audit,
            attacks=attacks,
        ),
        decisions=problem.overrides,
        tiles=view.tiles(listed),
        exposed=intervals(audit, np.flatnonzero(~audit.safe), MAX_EXPOSED),
        intervals=intervals(audit, closest),
        exact=audit.exact,
        published_intervals=published_intervals(listed),
        kinds=view.kinds(listed),
        map=view.status_map(listed, audit),
        protecting_cells=protecting_cells(listed, audit.cell[closest].tolist()),
        losses=view.losses(listed),
        attacks=[] if attacks is None else attack_rows(attacks),
        stages={one.stage: words.seconds(one.seconds) for one in stages},
        settings=settings,
        facts=view.facts(protection, audit),
    )


def render_shareable(
    problem: Problem,
    protection: Protection,
    audit: Audit,
    respondents: RespondentAudit | None = None,
    *,
    title: str = REPORT_TITLE,
    symbol: str | None = None,
    decimals: int | None = None,
    level: Level | None = None,
    accept_symmetric: bool = False,
    lang: Lang = "en",
    presentation: Presentation | None = None,
) -> str:
    """The shareable report as HTML, in the language ``lang``. Raises NotSafeError unless the release may be published.

    It may be published with the release, and is made from that, which holds no suppressed values; it does not distinguish
    sensitive cells from others. The conditions of the verdict are those of :func:`~discreet.promise.shareable_promise`.
    """
    _check(problem, protection, audit, respondents)
    release = publish(
        problem,
        protection,
        audit,
        respondents,
        symbol=symbol,
        decimals=decimals,
        level=level,
        accept_symmetric=accept_symmetric,
        lang=lang,
        presentation=presentation,
    )
    say = language(lang).say
    method = protection.report.method
    return render(
        "shareable.html.j2",
        lang=lang,
        title=say(title) if title == REPORT_TITLE else title,
        excepted=published_by_decision(protection) > 0,
        promise=[say(sentence) for sentence in shareable_promise(protection, respondents)],
        **shareable_content(release, problem.table.dimensions, problem.rules, method, respondents is not None),
    )


def _writer(rendered: Callable[_Content, str], *, private: bool) -> Callable[Concatenate[str | Path, _Content], None]:
    """A function that writes a page to the path that is its first argument."""

    def write(path: str | Path, *results: _Content.args, **options: _Content.kwargs) -> None:
        """Write the page to a path; the other parameters are those of ``render_report`` or ``render_shareable``."""
        page = rendered(*results, **options)
        if private:
            create_private(path)
        Path(path).write_text(page, encoding="utf-8")

    return write  # type: ignore[return-value]  # the path may also be given by name


write_report = _writer(render_report, private=True)
write_shareable = _writer(render_shareable, private=False)


def _check(problem: Problem, protection: Protection, audit: Audit, respondents: RespondentAudit | None) -> None:
    if protection.problem.digest != problem.digest or audit.problem.digest != problem.digest:
        raise TableError(
            "No report: the protection or the audit belongs to another problem. Pass those of this problem."
        )
    if any(checked.protection != protection.digest for checked in (audit, respondents) if checked is not None):
        raise TableError("No report: the audit is about another protection. Audit this one.")
