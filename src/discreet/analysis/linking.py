"""Outputs of the same records as linked tables: which of their cells are the same, and which are published."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import numpy as np

from discreet.analysis.measures import Measure, ProtectionOptions
from discreet.analysis.origin import Origin
from discreet.arrays import BoolArray
from discreet.assess import assess
from discreet.data.link import link
from discreet.data.table import Table
from discreet.methods import protect
from discreet.problem import Problem, Status

Place = frozenset[tuple[str, str]]  # a cell of any table: its dimensions and codes, totals left out


class Made(Protocol):
    """What an output is made of: its records, and how it is protected."""

    @property
    def origin(self) -> Origin: ...

    @property
    def options(self) -> ProtectionOptions: ...


def related(one: Made, other: Made) -> bool:
    """Whether two outputs are seen to be of the same records, and have the same rules, respondents and weights."""
    return one.origin.is_of_the_same_records(other.origin) and _terms(one) == _terms(other)


def _terms(made: Made) -> tuple[object, ...]:
    options = made.options
    respondents = tuple(sorted(made.origin.respondents.items()))
    return tuple(map(str, options.rules)), options.weights, options.level, respondents


def places(table: Table) -> list[Place]:
    """The place of each cell."""
    names = list(table.dimensions)
    codes = [np.array(h.codes, dtype=object)[c] for h, c in zip(table.dimensions.values(), table.codes, strict=True)]
    totals = {name: h.total for name, h in table.dimensions.items()}
    return [
        frozenset((name, code) for name, code in zip(names, cell, strict=True) if code != totals[name])
        for cell in zip(*codes, strict=True)
    ]


def published(measure: Measure) -> dict[Place, bool]:
    """Whether each cell of a measure is published."""
    suppressed = measure.protection.suppressed
    return {place: not suppressed[i] for i, place in enumerate(places(measure.table))}


def published_in(linked: Table, parts: Collection[Measure]) -> BoolArray:
    """The cells of a linked table that are published in one of its parts."""
    shown = {place for measure in parts for place, is_shown in published(measure).items() if is_shown}
    return np.array([i < linked.n_listed and place in shown for i, place in enumerate(places(linked))])


def distinct(parts: Collection[Measure]) -> list[Table]:
    """One table for each classification."""
    found: dict[tuple[str, ...], Table] = {}
    for measure in parts:
        found.setdefault(tuple(sorted(measure.table.dimensions)), measure.table)
    return list(found.values())


def pattern_beside(problem: Problem, earlier: Collection[Measure], options: ProtectionOptions) -> BoolArray:
    """The cells to suppress so that a table is safe together with earlier ones of its response, which stay as they are."""
    table = problem.table
    linked = link(*distinct(earlier), table)
    posed = assess(linked, options.rules)
    known = {place for measure in earlier for place in published(measure)}
    closed = {place for place, status in zip(places(table), problem.status, strict=True) if status == Status.SUPPRESSED}
    at = {place: i for i, place in enumerate(places(linked)[: linked.n_listed])}
    shown = published_in(linked, earlier)
    decided = np.array([place in known or place in closed for place in at])
    decided = np.append(decided, np.zeros(len(linked) - len(at), dtype=bool)) & (posed.status != Status.PRIMARY)
    status = np.where(decided, np.where(shown, Status.PUBLISHED, Status.SUPPRESSED), posed.status)
    posed = posed.with_columns(status=status.astype(np.int8))
    found = protect(posed, options.method, level=options.level, time_limit=options.time_limit).suppressed
    return np.array([found[at[place]] or place in closed for place in places(table)])
