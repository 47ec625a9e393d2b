"""Measures: tables of counts or sums of the same records, each with its protection, audits and release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from discreet.analysis.columns import Key, unused
from discreet.arrays import BoolArray
from discreet.assess import assess
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.data.hierarchy import LABEL_SEPARATOR
from discreet.data.table import Table, Weights
from discreet.data.tabulate import tabulate
from discreet.errors import InputError, NotSafeError, RuleError, plural, some
from discreet.level import Level, LevelInForce
from discreet.methods import SUPPRESSION, Method, protect, traits_of, uses_secret, with_options
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.release import SYMBOL, Release, publish
from discreet.rules import Rule, parse_rules
from discreet.secret import Secret

RECORDS = "records"  # the response of a table that counts records
ROUNDS = 20  # of making the patterns of several measures equal: each round suppresses more cells, and two are usual

Cell = tuple[str, ...]  # its codes
Rules = str | Rule | Iterable[str | Rule]


@dataclass(frozen=True, repr=False)
class ProtectionOptions:
    """How the cells of an output are protected; see ``tabulate``, ``assess``, ``protect`` and ``publish``."""

    rules: tuple[str | Rule, ...]
    weights: Weights = "known"
    method: str | Method = "kelly"
    level: Level | None = None
    time_limit: float | None = None
    secret: Secret | str | None = None
    symbol: str = SYMBOL

    @classmethod
    def of(cls, rules: Rules | None, *options: Any) -> ProtectionOptions:
        """The options in the order of the fields; raises without rules."""
        if rules is None:
            raise InputError(
                'Name the rules that say which cells are sensitive, e.g. rules="FREQ(10)" for counts or '
                'rules="P(10)|FREQ(3)" for sums; or give them to discreet.session(…, rules=…) for all its outputs.'
            )
        listed = (rules,) if isinstance(rules, str | Rule) else tuple(rules)
        return cls(listed, *options)

    @cached_property
    def depth(self) -> int:
        """How many of the largest contributions to store: one more than the rules use, for audits of respondents."""
        return 1 + max((rule.depth for rule in parse_rules(self.rules)), default=1)

    def check_method(self, counts_only: bool) -> None:
        method = with_options(self.method) if isinstance(self.method, str) else self.method
        if not traits_of(method).suppresses and not counts_only:
            raise RuleError(
                f"The method {method.name!r} publishes other values, and sums or means of them were not audited together with "
                f"the counts. Choose a method that suppresses: {', '.join(SUPPRESSION)}."
            )
        if uses_secret(method) and self.secret is None:
            raise InputError(
                f"The method {method.name!r} draws random numbers. With new ones in every call, repeated calls could be "
                "averaged: pass the same secret= to all calls, made once with `discreet secret FILE`."
            )


@dataclass(frozen=True, repr=False)
class RespondentColumns:
    """The contributor, holding and weight of each record, where they are given."""

    contributor: pd.Series | None = None
    holding: pd.Series | None = None
    weight: pd.Series | None = None

    def check(self) -> None:
        if self.contributor is not None and self.contributor.isna().any():
            n = plural(int(self.contributor.isna().sum()), "record")
            raise InputError(f"{n} without a contributor. Fill the column in, or leave these records out.")

    def only(self, kept: BoolArray) -> RespondentColumns:
        columns = {name: None if one is None else one[kept] for name, one in vars(self).items()}
        return RespondentColumns(**columns)

    @property
    def counted(self) -> pd.Series | None:
        """The respondent of each record in a table of counts: its holding, or its contributor if it has none."""
        if self.holding is None or self.contributor is None:
            return self.contributor if self.holding is None else self.holding
        return self.holding.astype(object).where(self.holding.notna(), self.contributor.astype(object))


@dataclass(frozen=True, eq=False, repr=False)
class Measure:
    """A table of counts or sums with its protection, audits and release. Confidential."""

    rules: tuple[Rule, ...]
    problem: Problem
    protection: Protection
    audit: Audit
    level: LevelInForce
    respondents: RespondentAudit | None
    release: Release

    def __repr__(self) -> str:
        return f"Measure({self.table!r})"

    @property
    def table(self) -> Table:
        return self.problem.table

    @property
    def is_count(self) -> bool:
        return self.table.is_count

    @property
    def exact(self) -> bool:
        """Whether every cell is either published with its value or suppressed."""
        return self.protection.only_suppresses

    @cached_property
    def cells(self) -> dict[Cell, int]:
        """The index of each stored cell by its codes. Other cells have no records."""
        codes = [
            np.array(h.codes, dtype=object)[c]
            for h, c in zip(self.table.dimensions.values(), self.table.codes, strict=True)
        ]
        return {cell: i for i, cell in enumerate(zip(*codes, strict=True))}

    @cached_property
    def _released(self) -> dict[Cell, float]:
        codes = zip(*self.release.codes.values(), strict=True)
        return dict(zip(codes, self.release.value.tolist(), strict=True))

    def released(self, cell: Cell) -> float:
        """The published value of a cell, NaN if it is suppressed; cells that the release does not list are zero."""
        return self._released.get(cell, 0.0)

    def true(self, cell: Cell) -> float:
        """The value of a cell. Confidential."""
        at = self.cells.get(cell)
        return 0.0 if at is None else float(self.table.value[at])

    @cached_property
    def reasons(self) -> dict[int, tuple[str, ...]]:
        """The names of the rules by which each suppressed cell is sensitive; none for cells that protect others."""
        sensitive = {str(rule).partition("(")[0]: rule(self.table, None).sensitive for rule in self.rules}
        cells = np.flatnonzero(self.protection.suppressed).tolist()
        return {cell: tuple(name for name, by in sensitive.items() if by[cell]) for cell in cells}


def protected_measures(
    keys: Sequence[Key],
    counted: bool,
    values: Mapping[str, pd.Series],
    respondents: RespondentColumns,
    options: ProtectionOptions,
) -> tuple[Measure, ...]:
    """The tables of an output, protected by one pattern: a cell is suppressed in all of them or in none.

    Readers could otherwise relate a sum to a suppressed count of the same cell, for instance if values have known bounds.
    """
    options.check_method(counts_only=not values)
    tables = _tables(keys, counted, values, respondents, options)
    suppressed: dict[str, str] = {}
    for _ in range(ROUNDS):
        problems = [assess(table, options.rules, statuses=suppressed) for table in tables]
        protections = [_protected(problem, options) for problem in problems]
        found = {
            label: "suppressed"
            for one in protections
            for label in one.problem.table.labels(np.flatnonzero(one.suppressed))
        }
        if len(tables) == 1 or found == suppressed:
            return tuple(_measure(one, options) for one in protections)
        suppressed = found
    raise NotSafeError("Not published: no pattern was found that protects counts and sums alike. Publish one of them.")


def _tables(
    keys: Sequence[Key],
    counted: bool,
    values: Mapping[str, pd.Series],
    respondents: RespondentColumns,
    options: ProtectionOptions,
) -> list[Table]:
    """The table of counts, if wanted, and one of sums for each column of values; each with all its totals."""
    respondents.check()
    by = {key.dimension: key.hierarchy() for key in keys}
    columns = {key.dimension: key.coded() for key in keys}
    if not len(next(iter(columns.values()))):
        raise InputError("There are no records: all have missing entries in the columns that are used.")
    for name, codes in ((key.dimension, key.codes.values()) for key in keys):
        unclear = [code for code in codes if LABEL_SEPARATOR in code or not code]
        if unclear:
            raise InputError(
                f"Codes of {name!r} are empty or contain {LABEL_SEPARATOR!r}: {some(unclear)}. Rename them."
            )

    def made(response: str | None, entries: pd.Series | None, **roles: pd.Series | None) -> Table:
        given: dict[str, pd.Series] = dict(columns)
        places: dict[str, str] = {}
        for role, column in {"response": entries, "weight": respondents.weight, **roles}.items():
            if column is not None:
                name = unused(response if role == "response" and response else f"({role})", _lower(given))
                places[role], given[name] = name, column
        frame = pd.DataFrame({name: column.array for name, column in given.items()})
        return tabulate(frame, by, **places, weights=options.weights, top=options.depth)  # type: ignore[arg-type]

    tables = [made(None, None, holding=respondents.counted)] if counted else []
    tables = [table.with_columns(response=unused(RECORDS, set(by))) for table in tables]
    for name, entries in values.items():
        tables.append(made(name, entries, contributor=respondents.contributor, holding=respondents.holding))
    return tables


def _lower(names: Iterable[str]) -> set[str]:
    return {name for name in names} | {name.lower() for name in names}


def _protected(problem: Problem, options: ProtectionOptions) -> Protection:
    return protect(problem, options.method, level=options.level, time_limit=options.time_limit, secret=options.secret)


def _measure(protection: Protection, options: ProtectionOptions) -> Measure:
    from discreet.jobs.job import audited  # not needed before: it imports reports and attacks

    problem = protection.problem
    checked, level, respondents = audited(problem, protection, options.level)
    release = publish(problem, protection, checked, respondents, symbol=options.symbol, level=options.level)
    return Measure(parse_rules(options.rules), problem, protection, checked, level, respondents, release)
