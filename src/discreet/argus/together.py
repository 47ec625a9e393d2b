"""Audits tables that a job protects one by one as the tables of one publication, which readers see together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.argus.linked import linked
from discreet.argus.paths import Say
from discreet.argus.work import Work
from discreet.audit import audit
from discreet.data.cells_behind_values import BehindSource
from discreet.errors import InputError, plural
from discreet.progress import Progress


def exposed_together(
    works: Sequence[Work], behind: Callable[[Work], BehindSource], say: Say, progress: Progress
) -> list[Work]:
    """The tables that expose cells of each other; says what is found, and what is not audited together."""
    alone = [one for one in works if one.protection is not None and one.joint is None]
    suppressed = [one for one in alone if one.protection is not None and one.protection.only_suppresses]
    if len(alone) > len(suppressed) and len(alone) > 1:
        say("tables whose values are rounded or perturbed are not audited together with others")
    by_response: dict[str, list[Work]] = {}
    for one in suppressed:
        by_response.setdefault(one.views.table.response, []).append(one)
    if len(by_response) > 1:
        say("tables of different responses are not audited together")
    several = [group for group in by_response.values() if len(group) > 1]
    return [one for group in several for one in _exposed(group, behind(group[0]), say, progress)]


def _exposed(works: Sequence[Work], behind: BehindSource, say: Say, progress: Progress) -> Sequence[Work]:
    """All of the tables if a cell is exposed by them together, otherwise none."""
    named = " and ".join(one.label for one in works)
    try:
        whole = linked(works, [one.problem for one in works if one.problem is not None], behind)
    except InputError as error:
        say(f"{named} are not audited together: {error}")
        return []
    pattern = whole.pattern(works)
    checked = audit(pattern.problem, pattern, progress=progress)
    if checked.passed:
        say(f"{named} together: audit of cells: safe")
        return []
    say(
        f"{named} together: audit of cells: {plural(len(checked.exposed), 'cell')} exposed, e.g. "
        f"{', '.join(checked.exposed[:3])}. Readers combine the tables: protect them together with table 0"
    )
    return works
