"""A table with the status, protection levels and cost of each cell, and the attackers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.data.hierarchy import LABEL_SEPARATOR
from discreet.data.table import Table, digits_of, read_only
from discreet.display import card
from discreet.errors import TableError, some

NEGLIGIBLE_SHARE = 1e-6  # of a value: if values are not round, an interval must be at least this wide


class Status(IntEnum):
    """What a method may do with a cell."""

    FREE = 0  # may be published or suppressed
    PRIMARY = 1  # sensitive: must be protected to its levels
    PUBLISHED = 2  # must stay published
    SUPPRESSED = 3  # must be suppressed, by decision or because it was before; without levels of its own


@dataclass(frozen=True, repr=False)
class Override:
    """A decision against the rules: a sensitive cell that may be published. Confidential."""

    cell: str
    rules: tuple[str, ...]  # by which it is sensitive
    status: str  # free or published
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """The immutable, validated input of every method and of the audit.

    ``lower``, ``upper`` and ``sliding`` are protection levels, as distances of 0 or more: the audit interval of a primary cell
    must reach down to ``value − lower``, up to ``value + upper``, and be at least ``sliding`` wide. Levels of a free cell apply
    only if it is suppressed. ``prior_lower`` and ``prior_upper`` are the bounds that all readers know before publication;
    ``others`` are attackers with more knowledge or other levels.

    No suppressed cell may be exactly computable, whatever its levels: its audit interval must be at least ``least_width`` wide,
    by default one unit of the last digit of the table, or a negligible share of each value if values are not round.
    ``smallest_value`` is the smallest value that readers consider possible for a suppressed cell: 1 for a count if zeros are
    always published, and 0 where a suppressed cell may be zero.
    """

    table: Table
    status: NDArray[np.int8]
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    prior_lower: FloatArray
    prior_upper: FloatArray
    rules: tuple[str, ...] = field(default=())
    boundary: str = "strict"  # cells on the boundary of a rule are safe ("strict") or sensitive ("inclusive")
    others: tuple[Attacker, ...] = field(default=())
    least_width: FloatArray = field(default=None)  # type: ignore[arg-type]  # filled in below
    smallest_value: FloatArray = field(default=None)  # type: ignore[arg-type]  # filled in below
    overrides: tuple[Override, ...] = ()
    must_suppress: tuple[str, ...] = ()  # labels of sensitive cells that must be suppressed, by decision
    waived: int = 0  # number of cells that need less protection, or none, because of waivers
    by_hand: Mapping[str, int] = field(default_factory=dict)  # number of cells per status by hand, except overrides
    unrecorded: bool = False  # from a JJ file, which does not record rules, waivers, records left out and weights

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.least_width is None:
            put(self, "least_width", smallest_width(self.table))
        if self.smallest_value is None:
            put(self, "smallest_value", np.zeros(len(self.table)))
        put(self, "status", read_only(np.asarray(self.status, dtype=np.int8)))
        for name in _COLUMNS[1:]:
            put(self, name, read_only(np.asarray(getattr(self, name), dtype=np.float64)))
        n = len(self.table)
        wrong = [name for name in _COLUMNS if len(getattr(self, name)) != n]
        if wrong:
            raise TableError(
                f"The table has {n} cells, but the columns {some(wrong)} have other lengths. Give one entry per cell.",
                wrong,
            )
        self._refuse(~np.isin(self.status, list(Status)), "have an unknown status")
        self._refuse(~np.isfinite(self.cost) | (self.cost < 0), "have a cost that is negative or not a number")
        for name in (*_LEVELS, "least_width", "smallest_value"):
            kind = f"{name} protection level" if name in _LEVELS else f"value of {name!r}"
            level = getattr(self, name)
            self._refuse(~np.isfinite(level) | (level < 0), f"have a negative or infinite {kind}")
        value = self.table.value
        tolerance = 1e-9 * np.maximum(np.abs(value), 1e-9)  # for rounding errors of bounds
        outside = ~(self.prior_lower <= value + tolerance) | ~(value - tolerance <= self.prior_upper)
        self._refuse(outside, "lie outside the prior bounds of all readers")
        names = ["outsider", *(attacker.name for attacker in self.others)]
        if len(set(names)) < len(names):
            raise TableError(f"Two attackers have the same name: {some(names)}. Rename one.", names)
        for attacker in self.others:
            if len(attacker.lower) != n:
                raise TableError(
                    f"Attacker {attacker.name!r} knows bounds of {len(attacker.lower)} cells; the table has {n}. "
                    "Give bounds for each."
                )
            outside = ~(attacker.lower <= value + tolerance) | ~(value - tolerance <= attacker.upper)
            self._refuse(outside, f"lie outside the prior bounds of attacker {attacker.name!r}")

    def _refuse(self, bad: BoolArray, fault: str) -> None:
        cells = np.flatnonzero(bad)
        if len(cells):
            labels = self.table.labels(cells[:1000])
            raise TableError(f"{len(cells)} cells {fault}, e.g. {some(labels)}. Correct these cells.", labels)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"Problem({self.table!r}, {len(self.primaries):,} primary)"

    def _repr_html_(self) -> str:
        table = self.table
        facts = {"cells": f"{table.n_listed:,}", "primary": f"{len(self.primaries):,}", "free": f"{len(self.free):,}"}
        for word, status in (("to be published", Status.PUBLISHED), ("suppressed already", Status.SUPPRESSED)):
            number = int((self.status[: table.n_listed] == status).sum())
            facts |= {word: f"{number:,}"} if number else {}
        facts["attackers"] = f"{1 + len(self.others):,}"
        by = f" by {LABEL_SEPARATOR.join(table.dimensions)}" if table.dimensions else ""
        return card(f"Problem: {table.response}{by}", facts, "Confidential: values, levels and rules are not shown.")

    @cached_property
    def primaries(self) -> IntArray:
        return np.flatnonzero(self.status == Status.PRIMARY)

    @cached_property
    def free(self) -> IntArray:
        return np.flatnonzero(self.status == Status.FREE)

    def attackers(self) -> tuple[Attacker, ...]:
        """The outsider, and the others with their own bounds combined with the prior bounds of all readers."""
        low, high = self.prior_lower, self.prior_upper
        informed = (replace(a, lower=np.maximum(a.lower, low), upper=np.minimum(a.upper, high)) for a in self.others)
        return (Attacker("outsider", low, high), *informed)

    def levels(self, attacker: Attacker) -> FloatArray:
        """Lower, upper and sliding protection levels against an attacker, one row each."""
        return np.stack([self.lower, self.upper, self.sliding]) if attacker.levels is None else attacker.levels

    def slack(self, attacker: Attacker) -> FloatArray:
        """How far each cell can lie below and above its value within the prior bounds of an attacker: rows down and up."""
        value = self.table.value
        return np.maximum(np.stack([value - attacker.lower, attacker.upper - value]), 0.0)

    @property
    def strictest(self) -> FloatArray:
        """The largest lower, upper and sliding level of each cell over all attackers, one row each."""
        return np.asarray(np.max([self.levels(attacker) for attacker in self.attackers()], axis=0))

    @property
    def is_integer(self) -> bool:
        """Whether readers know that all cells are integers: the table is one of counts, and all of these are integers."""
        value = self.table.value
        return self.table.is_count and bool(np.allclose(value, np.round(value), rtol=1e-14, atol=1e-9))

    @property
    def readers_exclude_zeros(self) -> bool:
        """Whether readers know that some cells, if they are suppressed, are not zero."""
        return bool(self.smallest_value.any())

    def with_least_width(self, levels: FloatArray, attacker: Attacker, cells: BoolArray) -> FloatArray:
        """The levels, with larger sliding levels where these ``cells`` need them for intervals of ``least_width``.

        If the prior bounds are nearer to each other than that, their distance is required. Attackers with own levels keep them.
        """
        if attacker.levels is not None:
            return levels
        lower, upper, sliding = levels
        least = np.minimum(self.least_width, attacker.upper - attacker.lower)
        short = cells & (np.maximum(lower + upper, sliding) < least)
        return np.stack([lower, upper, np.where(short, least, sliding)])

    def floor(self, in_release: BoolArray) -> FloatArray:
        """Lower bounds that readers know of cells in the release whose value is not 0; −∞ for all other cells.

        If zeros are always published, such a cell has at least its smallest possible value, and a total at least the sum of the
        smallest possible values of its addends.
        """
        table = self.table
        if not self.readers_exclude_zeros:
            return np.full(len(self), -np.inf)
        known = in_release & (self.smallest_value > 0) & (table.value > 0)
        if table.behind is not None:
            known &= ~table.behind
        sums = np.nan_to_num(table.added_up(np.where(known, self.smallest_value, 0.0)))
        return np.where(known, np.minimum(np.maximum(sums, self.smallest_value), table.value), -np.inf)

    def posed(self, *, suppresses: bool, lists_zeros: bool) -> Problem:
        """The problem as methods solve it: further requirements of the audit become levels and prior bounds.

        If a method ``suppresses`` cells, those suppressed before must not be computable either. If it ``lists_zeros``, only
        true zeros are published as 0, so readers know that other counts are at least 1.
        """
        floor, suppressed_before = np.full(len(self), -np.inf), np.zeros(len(self), dtype=bool)
        if suppresses:
            behind = np.zeros(len(self), dtype=bool) if self.table.behind is None else self.table.behind
            suppressed_before = (self.status == Status.SUPPRESSED) & ~behind & (self.least_width > 0)
        if lists_zeros:
            floor = self.floor(np.ones(len(self), dtype=bool))
        # The only requirement for cells that were suppressed before is that they are not computable: their levels are 0.
        limit = np.where(suppressed_before, 0.0, np.inf)
        down = np.minimum(limit, self.table.value - floor)
        capped = replace(
            self,
            status=np.where(suppressed_before, Status.PRIMARY, self.status).astype(np.int8),
            prior_lower=np.maximum(self.prior_lower, floor),
            lower=np.minimum(self.lower, down),
            upper=np.minimum(self.upper, limit),
            sliding=np.minimum(self.sliding, limit),
        )
        outsider = capped.attackers()[0]
        levels = capped.with_least_width(capped.levels(outsider), outsider, capped.status == Status.PRIMARY)
        return replace(
            capped,
            sliding=levels[2],
            others=tuple(
                other if other.levels is None else replace(other, levels=np.minimum(other.levels, [down, limit, limit]))
                for other in self.others
            ),
            least_width=np.zeros(len(self)),
            smallest_value=np.zeros(len(self)),
        )

    def protected(self, attacker: Attacker, suppressed: BoolArray) -> BoolArray:
        """Cells that need protection from an attacker in a pattern: primary cells, and suppressed free cells with levels."""
        conditional = suppressed & (self.status == Status.FREE) & self.levels(attacker).any(axis=0)
        return np.asarray((self.status == Status.PRIMARY) | conditional)

    @cached_property
    def listed(self) -> Problem:
        """The problem without the cells behind linked tables; other cells keep their indices."""
        table = self.table
        return self if table.behind is None else self.only(np.arange(table.n_listed), table.listed)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that verdicts, and the sentences about them, depend on."""
        h = hashlib.sha256(self.table.digest.encode())
        for name in _COLUMNS:
            h.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        facts = [f"{name}: {getattr(self, name)}" for name in ("boundary", "waived", "unrecorded")]
        h.update("\0".join((*facts, *self.rules, "")).encode())
        for attacker in self.others:
            h.update(f"{attacker.name}:{attacker.digest}".encode())
        for one in self.overrides:
            h.update("\0".join((one.cell, *one.rules, one.status, one.reason, "")).encode())
        h.update("\0".join((*self.must_suppress, *map(str, sorted(self.by_hand.items())))).encode())
        return h.hexdigest()

    def with_columns(self, **columns: Any) -> Problem:
        return replace(self, **columns)

    def only(self, cells: IntArray, table: Table | None = None) -> Problem:
        """The problem of some cells, in the order of the table; by default with the relations between these cells only."""
        columns = {name: getattr(self, name)[cells] for name in _COLUMNS}
        others = tuple(attacker.only(cells) for attacker in self.others)
        table = self.table.only(cells) if table is None else table
        return replace(self, table=table, **columns, others=others)


_LEVELS = ("lower", "upper", "sliding")
_COLUMNS = ("status", "cost", *_LEVELS, "prior_lower", "prior_upper", "least_width", "smallest_value")


def smallest_width(table: Table) -> FloatArray:
    """One unit of the last digit of the values, or a negligible share of each value if they are not round."""
    digits, size = digits_of(table.value), np.abs(table.value)
    if digits is not None:
        return np.full(len(table), 10.0**-digits)
    usual = float(np.median(size[size > 0])) if np.any(size > 0) else 1.0
    return NEGLIGIBLE_SHARE * np.where(size > 0, size, usual)
