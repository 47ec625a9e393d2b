"""Measures: tables of counts or sums, each with its protection, audits and release; and how they are protected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.data.table import Table, Weights
from discreet.errors import InputError, RuleError, plural
from discreet.level import Level, LevelInForce
from discreet.methods import SUPPRESSION, Method, traits_of, uses_secret, with_options
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.release import SYMBOL, Release
from discreet.rules import Rule, parse_rules
from discreet.secret import Secret

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

    @property
    def _method(self) -> Method:
        return with_options(self.method) if isinstance(self.method, str) else self.method

    @property
    def suppresses(self) -> bool:
        """Whether every cell is either published with its value or suppressed."""
        return traits_of(self._method).suppresses

    def check_method(self, counts_only: bool) -> None:
        method = self._method
        if not self.suppresses and not counts_only:
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
        """Whether cells that are not suppressed are published with their values."""
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
