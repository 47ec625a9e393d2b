"""Outputs of one session, judged together: what readers can infer from all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from discreet.analysis.linking import distinct, published, published_in, related
from discreet.analysis.measures import Measure
from discreet.analysis.origin import tied_columns
from discreet.analysis.protected_table import ProtectedTable
from discreet.assess import assess
from discreet.data.link import link
from discreet.errors import DiscreetError, plural, some
from discreet.promise import published_by_decision
from discreet.protection import suppress

VerdictStatus = Literal["pass", "review", "fail"]
Tables = Mapping[str, ProtectedTable]


@dataclass(frozen=True)
class Verdict:
    """Whether an output may be released together with the others, and the reasons if that is not certain."""

    status: VerdictStatus
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Doubt:
    """A reason not to release some outputs together."""

    status: VerdictStatus
    outputs: tuple[str, ...]
    reason: str


def verdicts(tables: Tables) -> dict[str, Verdict]:
    """The verdict on each output. Each is safe alone; doubts are about what they reveal together."""
    doubts = [*_decided(tables), *_unrelated(tables), *_tied(tables), *_unequal(tables), *_linked(tables)]
    found = {}
    for name in tables:
        own = [doubt for doubt in doubts if name in doubt.outputs]
        status: VerdictStatus = "fail" if any(one.status == "fail" for one in own) else "review" if own else "pass"
        found[name] = Verdict(status, tuple(dict.fromkeys(one.reason for one in own)))
    return found


def _decided(tables: Tables) -> list[_Doubt]:
    """Outputs whose verdict has exceptions, or that show other values than the true ones."""
    doubts = []
    for name, table in tables.items():
        if any(published_by_decision(measure.protection) for measure in table.measures):
            doubts.append(_Doubt("review", (name,), "sensitive cells are published by decision"))
        if len(tables) > 1 and not all(measure.exact for measure in table.measures):
            reason = "counts are rounded or perturbed, and what several such tables reveal together is not audited"
            doubts.append(_Doubt("review", tuple(tables), reason))
    return doubts


def _unrelated(tables: Tables) -> list[_Doubt]:
    """Outputs that are not seen to be of the same records, or that are protected in different ways."""
    doubts = []
    for (one, first), (other, second) in combinations(tables.items(), 2):
        if not first.origin.is_of_the_same_records(second.origin):
            reason = (
                f"{one} and {other} are not seen to be of the same records: differences between them, such as those of a table "
                "and one of a part of its records, are not audited"
            )
            doubts.append(_Doubt("review", (one, other), reason))
        elif not related(first, second):
            reason = (
                f"{one} and {other} have other rules, contributors, holdings or weights: they are not audited together"
            )
            doubts.append(_Doubt("review", (one, other), reason))
    return doubts


def _tied(tables: Tables) -> list[_Doubt]:
    """Columns of several outputs that are tied by an equation, which the audit does not know of."""
    doubts = []
    for group in _groups(tables):
        values = {name: entries for table in group.values() for name, entries in table.origin.values.items()}
        tied = tied_columns(values) if len(values) > 1 else []
        if tied:
            reason = f"{some(tied, 9)} may be tied by an equation, which the audit does not know of"
            doubts.append(_Doubt("review", tuple(group), reason))
    return doubts


def _groups(tables: Tables) -> list[Tables]:
    """The outputs of the same records with the same terms."""
    groups: list[dict[str, ProtectedTable]] = []
    for name, table in tables.items():
        for group in groups:
            if all(related(table, other) for other in group.values()):
                group[name] = table
                break
        else:
            groups.append({name: table})
    return [group for group in groups if len(group) > 1]


def _unequal(tables: Tables) -> list[_Doubt]:
    """Cells whose count is published in one output, and whose sum is suppressed in another, or the other way round."""
    doubts = []
    for group in _groups(tables):
        for (one, first), (other, second) in combinations(group.items(), 2):
            different = 0
            for mine in first.measures:
                for its in second.measures:
                    if mine.table.response != its.table.response:
                        its_own = published(its)
                        different += sum(
                            its_own.get(place, is_shown) != is_shown for place, is_shown in published(mine).items()
                        )
            if different:
                reason = (
                    f"{plural(different, 'cell')} of {one} and {other} are suppressed in one measure and published in "
                    "another: with known bounds of single values, one may reveal the other. Make both in one call, with a "
                    "list of functions"
                )
                doubts.append(_Doubt("review", (one, other), reason))
    return doubts


def _linked(tables: Tables) -> list[_Doubt]:
    """Audits of the tables of each response as linked tables."""
    doubts = []
    for group in _groups(tables):
        responses = {measure.table.response for table in group.values() for measure in table.measures}
        for response in sorted(responses):
            parts = {
                name: measure
                for name, table in group.items()
                for measure in table.measures
                if measure.table.response == response and measure.exact
            }
            if len(parts) > 1:
                doubts += _audited(parts, next(iter(group.values())))
    return doubts


def _audited(parts: Mapping[str, Measure], like: ProtectedTable) -> list[_Doubt]:
    """Doubts from the audit of several tables of one response, protected as they are."""
    from discreet.jobs.job import audited  # not needed before: it imports reports and attacks

    names = tuple(parts)
    together = f"{some(names, 9)} together"
    try:
        linked = link(*distinct(parts.values()))
        problem = assess(linked, like.options.rules)
        protection = suppress(problem, ~published_in(linked, parts.values()))
        checked, level, respondents = audited(problem, protection, like.options.level)
    except DiscreetError as error:
        return [_Doubt("review", names, f"the tables cannot be audited together: {error}")]
    if not checked.passed:
        reason = f"{together}: {plural(len(checked.exposed), 'cell')} can be inferred too closely, e.g. {some(checked.exposed)}"
        return [_Doubt("fail", names, reason)]
    if respondents is not None and not respondents.passed:
        reason = f"{together}: {plural(len(respondents.respondents), 'respondent')} can be estimated too closely"
        return [_Doubt("fail", names, reason)]
    if not level.covers_respondents and any(one.level.covers_respondents for one in parts.values()):
        return [_Doubt("review", names, f"{together}: respondents are not audited, because {level.reason}")]
    return []
