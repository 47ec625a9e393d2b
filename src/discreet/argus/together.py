"""Audits tables that a job protects one by one as the tables of one publication, which readers see together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from discreet.argus.linked import linked
from discreet.argus.paths import Say
from discreet.argus.work import Work
from discreet.data.cells_behind_values import BehindSource
from discreet.errors import InputError, plural
from discreet.jobs.job import audited
from discreet.level import Level
from discreet.progress import Progress

Item = TypeVar("Item")
Named = tuple[str, Work]  # what a table is called in sentences, and the table
Behind = Callable[[Work], BehindSource]


def exposed_together(works: Sequence[Work], behind: Behind, say: Say, progress: Progress) -> list[Work]:
    """The tables that expose cells of each other; says what is found, and what is not audited together."""
    protected = [one for one in works if one.protection is not None]
    if len({id(one.joint) for one in protected}) == 1 and protected[0].joint is not None:
        return []  # all were protected and audited together
    suppressed = [one for one in protected if _only_suppresses(one)]
    exposed = _refused([(one.label, one) for one in protected], say)
    if len(protected) > len(suppressed) and len(protected) > 1:
        say("tables whose values are rounded or perturbed are not audited together with others")
    groups = _grouped(suppressed, lambda one: one.views.table.response)
    if len(groups) > 1:
        say("tables of different responses are not audited together")
    for group in groups:
        if len(group) > 1:
            exposed += _exposed([(one.label, one) for one in group], behind, say, progress)
    return exposed


def exposed_with_earlier(
    shown: Sequence[Named], works: Sequence[Work], behind: Behind, say: Say, progress: Progress
) -> list[Work]:
    """The tables that files with an earlier protection expose, or that they show in two ways of which one is no suppression.

    Such are files of a protection that a later command replaced, and of tables before ``<CLEAR>``. ``shown`` are the files to
    publish and what they show, ``works`` the tables as they are now.
    """
    patterns: list[Named] = []
    for file, one in shown:
        if not any(one.shows_the_same_as(other) for _, other in patterns):
            patterns.append((f"{one.label} in {file}", one))
    earlier = [one for _, one in patterns if not any(one.shows_the_same_as(now) for now in works)]
    now = [(one.label, one) for one in works if one.protection is not None]
    # A later protection of the same table matters if it is published, too.
    patterns += [
        (label, one)
        for label, one in now
        if not any(one.views is other.views or one.shows_the_same_as(other) for _, other in patterns)
    ]
    exposed: list[Work] = []
    for group in _grouped(patterns, lambda named: (named[1].source, named[1].views.table.response)):
        if len(group) > 1 and any(one is old for _, one in group for old in earlier):
            mixed = _refused(group, say)
            suppressed = [(label, one) for label, one in group if _only_suppresses(one)]
            exposed += mixed or (_exposed(suppressed, behind, say, progress) if len(suppressed) > 1 else [])
    return exposed


def _only_suppresses(work: Work) -> bool:
    return work.protection is not None and work.protection.only_suppresses


def _grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _refused(named: Sequence[Named], say: Say) -> list[Work]:
    """The tables that others show, too, of which some are rounded or perturbed: what both say together is not audited."""
    found: list[Work] = []
    for ways in _grouped(named, lambda one: _what(one[1])):
        if len(ways) > 1 and not all(_only_suppresses(one) for _, one in ways):
            names = " and ".join(label for label, _ in ways)
            say(
                f"{names} are the same table in two ways, of which one is rounded or perturbed: readers of both see more than "
                "was audited. Write one of them"
            )
            found += [one for _, one in ways]
    return found


def _what(work: Work) -> Hashable:
    """What a table shows: tables of which this is the same are the same table, in whatever order of their dimensions."""
    return work.source, work.views.table.response, frozenset(work.views.table.dimensions)


def _exposed(named: Sequence[Named], behind: Behind, say: Say, progress: Progress) -> list[Work]:
    """All of the tables if a cell or a respondent is exposed by them together, otherwise none."""
    works = [one for _, one in named]
    names = " and ".join(label for label, _ in named)
    twice = len(set(map(_what, works))) < len(works)
    remedy = "write one of them" if twice else "protect them together with table 0"
    try:
        whole = linked(works, [one.problem for one in works if one.problem is not None], behind(works[0]))
    except InputError as error:
        say(f"{names} are not audited together, and readers who combine them may learn more: {error}")
        return []
    pattern = whole.pattern(works)
    covers = [one.respondents is not None for one in works]
    level: Level | None = None if all(covers) and whole.problem.table.base_is_free else "cells"
    checked, _, respondents = audited(pattern.problem, pattern, level, progress=progress)
    if not checked.passed:
        say(
            f"{names} together: audit of cells: {plural(len(checked.exposed), 'cell')} exposed, e.g. "
            f"{', '.join(checked.exposed[:3])}. Readers combine them: {remedy}"
        )
        return works
    say(f"{names} together: audit of cells: safe")
    if respondents is not None:
        exposed = len(respondents.respondents)
        say(f"{names} together: audit of respondents: {'safe' if not exposed else f'{exposed:,} exposed'}")
        return works if exposed else []
    if any(covers):
        say(f"{names} together: respondents who combine them are not audited: {remedy}")
    return []
