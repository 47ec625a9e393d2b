"""A table as the public sees it, with the prior knowledge of an attacker. It has no column for suppressed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray, SmallIntArray
from discreet.attackers import Attacker
from discreet.data.hierarchy import LABEL_SEPARATOR, Hierarchy
from discreet.data.relations import additive
from discreet.data.table import read_only
from discreet.errors import InputError, some
from discreet.inference.requirements import value_limits
from discreet.protection import Protection
from discreet.release import Release


def code_indices(dimensions: Mapping[str, Hierarchy], codes: Mapping[str, Sequence[str]], cells: int) -> SmallIntArray:
    """The codes of cells as indices into the hierarchies, one row per dimension."""
    rows = [[hierarchy.index(code) for code in codes[name]] for name, hierarchy in dimensions.items()]
    return np.array(rows, dtype=np.int32).reshape(len(dimensions), cells)


@dataclass(frozen=True, eq=False, repr=False)
class Public:
    """A table as a reader has it: labels, relations, published values and intervals, and bounds."""

    labels: tuple[str, ...]
    relations: sparse.csr_array
    rhs: FloatArray
    published: FloatArray  # NaN where suppressed
    published_lower: FloatArray  # infinite where no interval is published
    published_upper: FloatArray
    lower: FloatArray  # by the publication and the prior bounds of the attacker
    upper: FloatArray
    count: IntArray | None = None  # number of respondents of each cell, if it is published
    is_integer: bool = False  # readers know that cells are counts
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of each cell, by dimension

    def __post_init__(self) -> None:
        for name in ("published", "published_lower", "published_upper", "lower", "upper"):
            column = np.asarray(getattr(self, name), dtype=np.float64)
            if column.shape != (len(self.labels),):
                raise InputError(
                    f"The public view has {len(self.labels):,} cells, but another number of entries in {name!r}: "
                    "give one per cell."
                )
            object.__setattr__(self, name, read_only(column))
        if self.count is not None:
            object.__setattr__(self, "count", read_only(np.asarray(self.count, dtype=np.int64)))

    @classmethod
    def of(cls, protection: Protection, attacker: Attacker | None = None, *, counts: bool = False) -> Public:
        """The view of an attacker, by default the outsider; ``counts``: numbers of respondents are published."""
        table = protection.problem.table
        attacker = protection.problem.attackers()[0] if attacker is None else attacker
        if counts and table.count is None:
            raise InputError("The table does not know how many respondents its cells have: leave out counts=True.")
        lower, upper = value_limits(protection, attacker)
        # Cells behind linked tables are not published, and neither are their numbers of respondents.
        respondents = None if table.count is None else table.count * (np.arange(len(table)) < table.n_listed)
        exact = ~protection.suppressed & (protection.lower == protection.upper)
        return cls(
            labels=tuple(table.labels()),
            relations=table.relations,
            rhs=table.rhs,
            published=protection.published,
            published_lower=protection.lower,
            published_upper=protection.upper,
            lower=np.where(exact, protection.published, lower),
            upper=np.where(exact, protection.published, upper),
            count=respondents if counts else None,
            is_integer=protection.problem.is_integer,
            codes={
                name: tuple(hierarchy.codes[c] for c in table.codes[d])
                for d, (name, hierarchy) in enumerate(table.dimensions.items())
            },
        )

    @classmethod
    def from_release(
        cls, release: Release, dimensions: Mapping[str, Hierarchy], *, lower: float = 0.0, upper: float = np.inf
    ) -> Public:
        """A release as found on a website, with the hierarchies of its codes, and prior bounds of every cell."""
        if set(dimensions) != set(release.codes):
            raise InputError(f"The release has the columns {some(list(release.codes))}: give a hierarchy for each.")
        combinations = int(np.prod([len(h) for h in dimensions.values()]))
        if not release.complete or (release.lower is not None and len(release) < combinations):
            raise InputError(
                "Cells that the release does not list need not be zero, so its relations are not known. "
                "Publish all cells of the dimensions."
            )
        unknown = [
            code for name, h in dimensions.items() for code in dict.fromkeys(release.codes[name]) if code not in h
        ]
        if unknown:
            raise InputError(
                f"{len(unknown)} codes are not in the hierarchies, e.g. {some(unknown)}. Give the hierarchies of the release.",
                unknown,
            )
        relations, _ = additive(list(dimensions.values()), code_indices(dimensions, release.codes, len(release)))
        ends = [release.value if end is None else np.asarray(end) for end in (release.lower, release.upper)]
        low, high = np.nan_to_num(ends[0], nan=-np.inf), np.nan_to_num(ends[1], nan=np.inf)
        exact = ~release.suppressed & (low == high)
        return cls(
            labels=tuple(
                LABEL_SEPARATOR.join(where) for where in zip(*(release.codes[name] for name in dimensions), strict=True)
            ),
            relations=relations,
            rhs=np.zeros(relations.shape[0]),
            published=release.value,
            published_lower=low,
            published_upper=high,
            lower=np.where(exact, release.value, np.maximum(low, lower)),
            upper=np.where(exact, release.value, np.minimum(high, upper)),
            codes={name: release.codes[name] for name in dimensions},
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Public({len(self):,} cells, {len(self.unknown):,} of them not known)"

    @cached_property
    def unknown(self) -> IntArray:
        """Cells whose values are neither published nor fixed by prior bounds."""
        return np.flatnonzero(self.lower < self.upper)

    @cached_property
    def _by_label(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: str) -> int:
        if label not in self._by_label:
            raise InputError(f"There is no cell {label!r} in {self!r}. Cells are named as in its labels.", [label])
        return self._by_label[label]

    def indices(self, labels: Sequence[str]) -> IntArray:
        """The index of each label; −1 for labels that do not exist here."""
        return np.array([self._by_label.get(label, -1) for label in labels], dtype=np.int64)

    def with_bounds(self, lower: FloatArray, upper: FloatArray) -> Public:
        """The view of an attacker who knows further bounds of every cell."""
        return replace(self, lower=np.maximum(self.lower, lower), upper=np.minimum(self.upper, upper))
