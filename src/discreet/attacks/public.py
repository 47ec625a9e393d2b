"""What the public sees, and what an intruder knows beside it. There is no place here for a suppressed value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.data.hierarchy import Hierarchy
from discreet.data.relations import additive
from discreet.data.table import BETWEEN, read_only
from discreet.errors import InputError, some
from discreet.inference.requirements import limits
from discreet.protection import Protection
from discreet.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class Public:
    """A table as a reader has it: labels, relations, published values (NaN where suppressed), and bounds.

    ``told_lower`` and ``told_upper`` are published intervals, infinite where there are none; ``lower`` and ``upper`` also take in
    what the intruder knows beforehand. ``count`` is the number of respondents of each cell, if that is published.
    """

    labels: tuple[str, ...]
    relations: sparse.csr_array
    rhs: FloatArray
    published: FloatArray
    told_lower: FloatArray
    told_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    count: IntArray | None = None
    whole: bool = False  # everybody knows that cells are counts
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of each cell, by dimension

    def __post_init__(self) -> None:
        for name in _COLUMNS:
            column = np.asarray(getattr(self, name), dtype=np.float64)
            if column.shape != (len(self.labels),):
                raise InputError(f"The public view has {len(self.labels):,} cells, but another number in {name!r}.")
            object.__setattr__(self, name, read_only(column))
        if self.count is not None:
            object.__setattr__(self, "count", read_only(np.asarray(self.count, dtype=np.int64)))

    @classmethod
    def of(cls, protection: Protection, attacker: Attacker | None = None, *, counts: bool = False) -> Public:
        """What a protection tells an attacker, by default the outsider; ``counts``: numbers of respondents are published."""
        table = protection.problem.table
        who = protection.problem.attackers()[0] if attacker is None else attacker
        if counts and table.count is None:
            raise InputError("The table does not know how many respondents its cells have: leave out counts=True.")
        lower, upper = limits(protection, who)
        # Cells behind linked tables are not published, and neither is how many respondents they have.
        respondents = None if table.count is None else table.count * (np.arange(len(table)) < table.n_listed)
        told = ~protection.suppressed & (protection.lower == protection.upper)
        return cls(
            labels=tuple(table.labels()),
            relations=table.relations,
            rhs=table.rhs,
            published=protection.published,
            told_lower=protection.lower,
            told_upper=protection.upper,
            lower=np.where(told, protection.published, lower),
            upper=np.where(told, protection.published, upper),
            count=respondents if counts else None,
            whole=protection.problem.in_whole_numbers,
            codes={
                name: tuple(hierarchy.codes[c] for c in table.codes[d])
                for d, (name, hierarchy) in enumerate(table.dimensions.items())
            },
        )

    @classmethod
    def from_release(
        cls, release: Release, dimensions: Mapping[str, Hierarchy], *, lower: float = 0.0, upper: float = np.inf
    ) -> Public:
        """A release as anybody finds it on a website, with the hierarchies of its codes, and bounds of every cell."""
        strange = [name for name in dimensions if name not in release.codes]
        if strange or len(dimensions) != len(release.codes):
            raise InputError(f"The release has the columns {some(list(release.codes))}: give a hierarchy for each.")
        listed = int(np.prod([len(h) for h in dimensions.values()]))
        if not release.complete or (release.lower is not None and len(release) < listed):
            raise InputError(
                "Cells that are not listed in the release need not be zero, so its relations are not known."
            )
        number = {name: {code: i for i, code in enumerate(h.codes)} for name, h in dimensions.items()}
        rows = [[number[name].get(code, -1) for code in release.codes[name]] for name in dimensions]
        codes = np.array(rows, dtype=np.int32).reshape(len(rows), len(release))
        if np.any(codes < 0):
            unknown = [
                release.codes[name][i]
                for name, row in zip(dimensions, codes, strict=True)
                for i in np.where(row < 0)[0]
            ]
            raise InputError(f"{len(unknown)} codes are not in the hierarchies, e.g. {some(unknown)}.", unknown)
        relations, _ = additive(list(dimensions.values()), codes)
        ends = [
            np.where(np.isnan(release.value), np.nan, release.value) if end is None else np.asarray(end)
            for end in (release.lower, release.upper)
        ]
        low, high = np.nan_to_num(ends[0], nan=-np.inf), np.nan_to_num(ends[1], nan=np.inf)
        told = ~release.suppressed & (low == high)
        return cls(
            labels=tuple(
                BETWEEN.join(where) for where in zip(*(release.codes[name] for name in dimensions), strict=True)
            ),
            relations=relations,
            rhs=np.zeros(relations.shape[0]),
            published=release.value,
            told_lower=low,
            told_upper=high,
            lower=np.where(told, release.value, np.maximum(low, lower)),
            upper=np.where(told, release.value, np.minimum(high, upper)),
            codes={name: release.codes[name] for name in dimensions},
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Public({len(self):,} cells, {len(self.unknown):,} of them not known)"

    @cached_property
    def unknown(self) -> IntArray:
        """Cells whose values are not simply told, nor known beforehand."""
        return np.flatnonzero(self.lower < self.upper)

    @cached_property
    def _by_label(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: str) -> int:
        if label not in self._by_label:
            raise InputError(f"There is no cell {label!r} in {self!r}.", [label])
        return self._by_label[label]

    def at(self, labels: Sequence[str]) -> IntArray:
        """Where cells of these labels are; −1 for those that are not here."""
        return np.array([self._by_label.get(label, -1) for label in labels], dtype=np.int64)

    def knowing(self, lower: FloatArray, upper: FloatArray) -> Public:
        """The same to somebody who knows further bounds of every cell."""
        return replace(self, lower=np.maximum(self.lower, lower), upper=np.minimum(self.upper, upper))


_COLUMNS = ("published", "told_lower", "told_upper", "lower", "upper")
