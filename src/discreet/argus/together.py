"""Audits tables that a job protects one by one as the tables of one publication, which readers see together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from discreet.argus.linked import linked
from discreet.argus.microdata import RecordFile
from discreet.argus.paths import Say
from discreet.argus.work import Work
from discreet.data.link import link
from discreet.errors import InputError, plural
from discreet.jobs.job import audited
from discreet.level import Level
from discreet.problem import Status
from discreet.progress import Progress

Item = TypeVar("Item")
Named = tuple[str, Work]  # what a table is called in sentences, and the table
Shown = tuple[str, Work]  # the name of a file to publish, and the table in it, protected as it was then


def exposed_together(works: Sequence[Work], shown: Sequence[Shown], say: Say, progress: Progress) -> list[Work]:
    """The tables that expose cells of each other; says what is found, and what is not audited together.

    ``works`` are the tables of all sessions, as they are at the end. A file of ``shown`` may have an earlier protection of one:
    that is audited, too, then without the later one, unless a file shows it.
    """
    final = [one for one in works if one.protection is not None]
    if len({one.views.table.response for one in final}) > 1:
        say("tables of different responses are not audited together")
    exposed = _exposed_in_groups([(_name(one, final, shown), one) for one in final], say, progress)
    patterns: list[Named] = []
    for file, one in shown:
        if not any(one.shows_the_same_as(other) for _, other in patterns):
            patterns.append((f"{one.label} in {file}", one))
    earlier = [one for _, one in patterns if not any(one.shows_the_same_as(now) for now in final)]
    unseen = [one for one in final if not any(one.views is other.views for _, other in patterns)]
    patterns += [(_name(one, final, ()), one) for one in unseen]
    return exposed + _exposed_in_groups(patterns, say, progress, with_one_of=earlier)


def _name(work: Work, works: Sequence[Work], shown: Sequence[Shown]) -> str:
    """The table in words; if there are several sessions, with the file that shows it or the number of its session."""
    if all(one.session == work.session for one in works):
        return work.label
    file = next((file for file, one in shown if one.shows_the_same_as(work)), "")
    return f"{work.label} in {file}" if file else f"{work.label} of session {work.session}"


def _exposed_in_groups(
    named: Sequence[Named], say: Say, progress: Progress, with_one_of: Sequence[Work] | None = None
) -> list[Work]:
    """The tables exposed by others of the same response and the same data; only groups ``with_one_of`` these, if given."""
    exposed: list[Work] = []
    for group in _grouped(named, lambda one: _subject(one[1])):
        for part in _of_the_same_data(group, say):
            asked = with_one_of is None or any(one is other for _, one in part for other in with_one_of)
            if len(part) > 1 and asked and not _protected_together([one for _, one in part]):
                refused = _refused(part, say)
                others = [(label, one) for label, one in part if not any(one is other for other in refused)]
                exposed += refused + (_exposed(others, say, progress) if len(others) > 1 else [])
    return exposed


def _subject(work: Work) -> Hashable:
    """The numbers that a table adds up: those of records, or of tables in files, which may be of the same data."""
    file = work.data.file.resolve() if isinstance(work.data, RecordFile) else None
    return file, work.views.table.response.upper(), work.views.table.is_count


def _of_the_same_data(group: Sequence[Named], say: Say) -> list[list[Named]]:
    """The tables in sets of which shared cells are the same; tables of one file are in one set in any case."""
    parts: list[list[Named]] = []
    for label, work in group:
        obstacle = ""
        for part in parts:
            same_file = any(work.data.file.resolve() == other.data.file.resolve() for _, other in part)
            found = "" if same_file else next((fault for _, other in part if (fault := _difference(work, other))), "")
            if not found:
                part.append((label, work))
                break
            obstacle = obstacle or f"{part[0][0]} and {label} are not audited together: {found}"
        else:
            if obstacle:
                say(obstacle)
            parts.append([(label, work)])
    return parts


def _difference(one: Work, other: Work) -> str:
    """Why two tables in files are not of the same data; empty if they may be."""
    try:
        link(one.views.table.with_columns(extra={}), other.views.table.with_columns(extra={}), behind=False)
    except InputError as error:
        return str(error)
    return ""


def _protected_together(works: Sequence[Work]) -> bool:
    return works[0].joint is not None and all(one.joint is works[0].joint for one in works)


def _grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _only_suppresses(work: Work) -> bool:
    return work.protection is not None and work.protection.only_suppresses


def _refused(named: Sequence[Named], say: Say) -> list[Work]:
    """The tables that are there in two ways, of which one is rounded or perturbed: a reader may average what they show."""
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
    return work.data.file.resolve(), frozenset(name.upper() for name in work.views.table.dimensions)


def _exposed(named: Sequence[Named], say: Say, progress: Progress) -> list[Work]:
    """All of the tables if a cell or a respondent is exposed by them together, otherwise none."""
    works = [one for _, one in named]
    names = " and ".join(label for label, _ in named)
    twice = len(set(map(_what, works))) < len(works)
    remedy = "write one of them" if twice else "protect them together with table 0"
    try:
        whole = linked(works, [one.problem for one in works if one.problem is not None])
    except InputError as error:
        say(f"{names} cannot be audited together, although readers may combine them: {error} Write one of them")
        return works
    publication = whole.publication(works)
    shown = int(((whole.problem.status == Status.SUPPRESSED) & ~publication.suppressed).sum())
    if shown:
        say(f"{names}: {plural(shown, 'cell')} that one of them must suppress by decision, another one shows")
    respondents_covered = all(one.respondents is not None for one in works)
    alike = len({(one.request.protects, one.problem.rules) for one in works if one.problem is not None}) == 1
    level: Level | None = None if respondents_covered and alike and publication.problem.table.base_is_free else "cells"
    checked, _, respondents = audited(publication.problem, publication, level, progress=progress)
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
    if any(one.respondents is not None for one in works):
        say(f"{names} together: respondents who combine them are not audited: {remedy}")
    return []
