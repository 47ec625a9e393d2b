"""The table: one row per cell, and the linear relations between cells."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from discreet.data.cell_names import label_meant
from discreet.data.contributions import Contributions, largest
from discreet.data.hierarchy import LABEL_SEPARATOR, Hierarchy, cell_label
from discreet.data.relations import additive
from discreet.display import card
from discreet.errors import TableError, plural, some

# Largest difference between a total and the sum of its addends, as a share of the sum of absolute values in the relation.
# Sums of doubles differ by less; rounded totals, which differ by more, need an explicit tolerance.
TABLE_ADDITIVITY_TOLERANCE = 1e-9
# Range of coefficients in a relation. Nearly all are 1 and −1; solvers are not accurate with more extreme ones.
MIN_COEFFICIENT, MAX_COEFFICIENT = 1e-4, 1e4

Weights = Literal["known", "secret"]  # whether readers know the sampling weights

# What may have happened to records and totals before a table was made; discreet.promise has a sentence on each.
PROVENANCE = (
    "records_left_out",
    "no_value_left_out",
    "no_value_zero",
    "cells_left_out",  # of a finished table, which has no records
    "cells_zero",
    "counts_given",  # with the values: readers may get them from the same source
    "codes_replaced",
    "totals_unpublished",
)


def read_only(array: Any, kind: DTypeLike | None = None) -> NDArray[Any]:
    """A read-only copy: a verdict refers to the values at the time of the audit."""
    copy = np.array(array, dtype=kind)
    copy.flags.writeable = False
    return copy


def digits_of(value: FloatArray, absolute_tolerance: float = 1e-12) -> int | None:
    """The number of decimals of the values, up to rounding errors; None if more than six."""
    return next((d for d in range(7) if _equal(value, np.round(value, d), absolute_tolerance)), None)


def _equal(value: FloatArray, rounded: FloatArray, absolute_tolerance: float) -> bool:
    """``np.allclose`` with a relative tolerance of 1e-14, without its overhead, which would double the time of an audit."""
    with np.errstate(invalid="ignore"):  # infinite values equal themselves
        within = np.abs(value - rounded) <= absolute_tolerance + 1e-14 * np.abs(rounded)
    return bool(np.all(within | (value == rounded)))


def unit_of(value: FloatArray) -> tuple[float, int | None]:
    """The unit of the last decimal of the values, and the number of decimals.

    If values have more than six decimals, the unit is the power of ten nearest to 1e-7 × their median size; the number is None.
    """
    digits = digits_of(value)
    if digits is not None:
        return 10.0**-digits, digits
    sizes = np.abs(value[value != 0])
    return float(10.0 ** np.round(np.log10(1e-7 * np.median(sizes)))), None


def _percent(share: float) -> str:
    """A share in percent, rounded up to two significant digits."""
    if not 0 < share < np.inf:
        return "very large"
    digits = 1 - int(np.floor(np.log10(100 * share)))
    return f"{np.ceil(100 * share * 10.0**digits) / 10.0**digits:.6g} percent"


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """One entry per cell in each column, with ``relations @ value == rhs``. Confidential: its repr shows the shape only.

    In a ``complete`` table, cells that are not stored are zeros, and published. ``top[i]`` holds the contributions to cell ``i``
    with the largest absolute values, largest first, padded with zeros; ``top_contributor[i]`` their contributors, as indices into
    ``contributors`` (−1: no contributor, or one without a name). ``magnitude`` is the sum of the absolute values of all
    contributions; it differs from ``value`` if some are negative.
    """

    dimensions: Mapping[str, Hierarchy]
    codes: SmallIntArray  # (dimension, cell)
    value: FloatArray
    relations: sparse.csr_array
    response: str = "value"
    count: IntArray | None = None
    magnitude: FloatArray = field(default=None)  # type: ignore[arg-type]  # filled in below
    top: FloatArray | None = None
    top_contributor: IntArray | None = None
    contributors: tuple[str, ...] = ()
    # Aligned with top: 0 for a contributor who did not request protection; 1, 2, 4 … for one with a request of the first, the
    # second, the third kind …, and the sum for one with several.
    requested: BoolArray | IntArray | None = None
    extra: Mapping[str, FloatArray] = field(default_factory=dict)  # further sums per cell, used as costs
    names: tuple[str, ...] | None = None  # cell ids of tables without dimensions
    rhs: FloatArray = field(default=None)  # type: ignore[arg-type]  # filled in below
    is_count: bool = False  # the response counts contributors
    complete: bool = True  # whether all cells that are not stored are zeros; in linked tables some may not be tabulated
    contributions: Contributions | None = None  # to the base cells
    behind: BoolArray | None = None  # cells behind linked tables: in relations but never published; they come last
    behind_drawn: bool = False  # cells behind hold the values of a congruent table, not the true ones
    behind_left_out: bool = False  # cells behind are left out by decision: readers who use them may infer more
    weighted_count: FloatArray | None = None  # sum of the sampling weights of the contributors
    weights: Weights | None = None  # None without weights; contributions are weighted if weights are "known"
    counts_zeros: bool = True  # contributors of zero are included in counts
    provenance: Mapping[str, int] = field(default_factory=dict)  # how often each entry of PROVENANCE happened

    def __post_init__(self) -> None:
        put = object.__setattr__
        n = np.size(self.value)
        put(self, "codes", read_only(_codes(self.dimensions, self.codes, n)))
        # The digest needs one order of terms: each cell once per relation, sorted. SciPy sorts them at any time, unasked.
        relations = sparse.csr_array(self.relations, dtype=np.float64, copy=True)
        relations.sum_duplicates()
        relations.eliminate_zeros()
        put(self, "relations", relations)
        put(self, "rhs", read_only(np.zeros(relations.shape[0]) if self.rhs is None else self.rhs, np.float64))
        for name, kind in _CELL_COLUMNS.items():
            if getattr(self, name) is not None:
                put(self, name, read_only(getattr(self, name), kind))
        if self.magnitude is None:
            put(self, "magnitude", read_only(np.abs(self.value)))
        columns = [(name, getattr(self, name)) for name in (*_CELL_COLUMNS, "names")] + list(self.extra.items())
        wrong = ["relations"] if relations.shape[1] != n else []
        wrong += [name for name, column in columns if column is not None and len(column) != n]
        if wrong:
            raise TableError(f"The table has {n} cells, but columns of other lengths: {some(wrong)}.", wrong)
        if self.names is not None and len(set(self.names)) < n:
            twice = [name for name, times in Counter(self.names).items() if times > 1]
            raise TableError(f"Cells have the same name: {some(twice)}.", twice)
        put(self, "provenance", {name: n for name, n in self.provenance.items() if n})
        unknown = [name for name in self.provenance if name not in PROVENANCE]
        if unknown:
            raise TableError(f"There is no provenance {some(unknown)}. Choose from {some(PROVENANCE)}.", unknown)
        if self.behind is not None and not (self.behind.any() and np.all(np.diff(self.behind.astype(int)) >= 0)):
            raise TableError(
                "Cells behind linked tables come after all others, and there is at least one: otherwise leave behind= out."
            )
        self._check_names()
        self._check_relations()
        self._check_values()
        if self.contributions is not None:
            self.contributions.check(self.is_base)

    def _check_names(self) -> None:
        if self.response in self.dimensions:
            raise TableError(f"The response and a dimension are both called {self.response!r}: rename one.")
        for name, hierarchy in self.dimensions.items():
            ambiguous = [code for code in hierarchy.codes if LABEL_SEPARATOR in code]
            if ambiguous:
                raise TableError(
                    f"Codes of {name!r} contain {LABEL_SEPARATOR!r}, which separates codes in labels: {some(ambiguous)}. "
                    "Rename them.",
                    ambiguous,
                )

    def _check_relations(self) -> None:
        """Refuse relations whose coefficients differ too much in size for solvers to be reliable."""
        weight = np.nan_to_num(np.abs(self.relations.data))  # NaN becomes zero, which is refused
        row = np.repeat(np.arange(self.relations.shape[0]), np.diff(self.relations.indptr))
        most, least = np.zeros(self.relations.shape[0]), np.full(self.relations.shape[0], np.inf)
        np.maximum.at(most, row, weight)
        np.minimum.at(least, row, weight)
        bad = np.unique(row[~((weight >= MIN_COEFFICIENT) & (weight <= MAX_COEFFICIENT))])
        bad = np.union1d(bad, np.flatnonzero(most > least * MAX_COEFFICIENT))
        if len(bad):
            raise TableError(
                f"{len(bad)} relations have weights beyond {MIN_COEFFICIENT:g} to {MAX_COEFFICIENT:g}, or too different from "
                f"each other, e.g. number {bad[0] + 1}. Rescale the cells."
            )

    def _check_values(self) -> None:
        for name, column in (
            ("value", self.value),
            ("magnitude", self.magnitude),
            *self.extra.items(),
            ("count", self.count),
            ("weighted count", self.weighted_count),
            ("top contributions", None if self.top is None else np.abs(self.top).sum(axis=1)),
        ):
            bad = np.flatnonzero(~np.isfinite(() if column is None else column))
            if len(bad):
                raise TableError(
                    f"{len(bad)} cells have no finite {name}, e.g. {some(self.labels(bad[:3]))}. "
                    "Every cell needs a number; leave empty cells out.",
                    self.labels(bad),
                )
        if self.count is not None and np.any(self.count < 0):
            labels = self.labels(np.flatnonzero(self.count < 0))
            raise TableError(f"{len(labels)} cells have a negative count, e.g. {some(labels)}.", labels)

    @classmethod
    def from_cells(cls, dimensions: Mapping[str, Hierarchy], codes: NDArray[Any], value: Any, **columns: Any) -> Table:
        """A table with the relations that follow from its hierarchies; all totals above a stored cell must be stored, too."""
        codes = _codes(dimensions, codes, np.size(value))
        relations, missing = additive(list(dimensions.values()), codes)
        if missing:
            labels = [cell_label(dimensions.values(), where) for where in missing]
            raise TableError(
                f"{plural(len(labels), 'total is', 'totals are')} missing, e.g. {some(labels)}. Add them to the table, or name "
                "the code that is the total (total). If they are not published anywhere, state it: unpublished_totals = true in "
                "[table] of a job, unpublished_totals=True in Python.",
                labels,
            )
        return cls(dict(dimensions), codes, value, relations, **columns)

    # -- access -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        by = f" by {LABEL_SEPARATOR.join(self.dimensions)}" if self.dimensions else ""
        n = self.n_listed
        behind = f", {len(self) - n:,} cells behind" if n < len(self) else ""
        return f"Table({self.response}{by}: {n:,} cells, {self.relations.shape[0]:,} relations{behind})"

    def _repr_html_(self) -> str:
        facts = {name: f"{len(h):,} codes" for name, h in self.dimensions.items()}
        facts |= {"cells": f"{self.n_listed:,}", "relations": f"{self.relations.shape[0]:,}"}
        facts |= {"cells behind": f"{len(self) - self.n_listed:,}"} if self.behind is not None else {}
        return card(f"Table: {self.response}", facts, "Confidential: values are not shown.")

    @property
    def n_combinations(self) -> int:
        """Number of cells of the full cross-classification, empty ones included."""
        return int(np.prod([len(h) for h in self.dimensions.values()], dtype=object)) if self.dimensions else len(self)

    @cached_property
    def n_listed(self) -> int:
        """Number of cells that a release may list: all except cells behind."""
        return len(self) if self.behind is None else int((~self.behind).sum())

    @cached_property
    def has_missing_code(self) -> BoolArray:
        """Cells with a code that means missing, in any dimension."""
        found = np.zeros(len(self), dtype=bool)
        for hierarchy, codes in zip(self.dimensions.values(), self.codes, strict=True):
            found |= np.isin(codes, [hierarchy.index(code) for code in hierarchy.missing])
        return found

    @cached_property
    def listed(self) -> Table:
        """The table without cells behind; the other cells keep their indices."""
        return self if self.behind is None else self.only(np.arange(self.n_listed))

    @property
    def n_empty(self) -> int:
        """Number of cells of the full cross-classification that are not stored, because they are empty."""
        return self.n_combinations - len(self) if self.complete else 0

    def label(self, i: int) -> str:
        if self.names is not None:
            return self.names[i]
        return cell_label(self.dimensions.values(), self.codes[:, i])

    def labels(self, cells: Any = None) -> list[str]:
        return [self.label(int(i)) for i in (range(len(self)) if cells is None else np.atleast_1d(cells))]

    @cached_property
    def _by_label(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels(range(self.n_listed)))}

    def index(self, label: str | Sequence[str]) -> int:
        """The index of the cell with the label ``"A × North"``, which may be written ``"A x North"`` or ``("A", "North")``."""
        wanted = label if isinstance(label, str) else LABEL_SEPARATOR.join(label)
        if wanted not in self._by_label:
            wanted = label_meant(wanted, list(self.dimensions.values()))
        if wanted not in self._by_label:
            why = " It is empty: its codes exist, and no record has all of them." if self.dimensions else ""
            raise TableError(f"There is no cell {wanted!r} in {self!r}.{why}", [wanted])
        return self._by_label[wanted]

    @cached_property
    def is_base(self) -> BoolArray:
        """Base cells: cells that are not the total of others."""
        rows = self.relations.tocoo()
        negative = np.bincount(rows.row[rows.data < 0], minlength=self.relations.shape[0])
        # Rows with several negative cells are equations between responses, such as profit = turnover − cost, and have no total.
        of_totals = (rows.data < 0) & (negative[rows.row] == 1)
        base = np.ones(len(self), dtype=bool)
        base[rows.col[of_totals]] = False
        return base

    def respondents(self) -> Contributions:
        """The contributions of respondents to base cells.

        Unless they were tabulated, only the largest ones of each cell are known. Then smaller ones are missing, although a
        holding in several cells could use its own.
        """
        return self._respondents

    @property
    def knows_respondents(self) -> bool:
        """Whether :meth:`respondents` is complete: contributions were tabulated, or cells have no more than the largest ones."""
        if self.contributions is not None or self.top is None or self.count is None:
            return self.contributions is not None
        return bool(np.all(self.count[self.is_base] <= self.top.shape[1]))

    @cached_property
    def _respondents(self) -> Contributions:
        if not self.base_is_free:
            raise TableError(
                "The table has several classifications of the same contributions, or equations between responses. Its finest "
                "cells are not independent, so contributions cannot be assigned to them. Protect the tables one by one."
            )
        if self.contributions is not None:
            return self.contributions
        if self.top is None:
            raise TableError(
                "The table holds no contributors. Tabulate it from records, or give a finished table its largest contributions "
                "and their contributors."
            )
        return largest(self.is_base, self.top, self.top_contributor, self.contributors, self.label)

    @cached_property
    def base_is_free(self) -> bool:
        """Whether base cells may take any values: totals of random values fulfil all relations.

        False for tables with cells behind: the cells behind are base cells, but the cells to protect are sums of them.
        """
        if self.behind is not None:
            return False
        value = np.random.default_rng(0).integers(1, 1 << 20, len(self)).astype(np.float64)
        value = np.nan_to_num(self.added_up(value))
        return bool(np.all(np.abs(self.relations @ value) <= 1e-9 * (abs(self.relations) @ np.abs(value))))

    def added_up(self, value: FloatArray) -> FloatArray:
        """Values of base cells, and of all totals that follow from them; NaN for other cells."""
        computed, value = self.is_base.copy(), np.where(self.is_base, value, np.nan)
        addends = self.relations.maximum(0.0)
        totals = (addends - self.relations).tocsr()
        while True:
            ready = (addends @ ~computed == 0) & (totals @ ~computed > 0) & (np.diff(totals.indptr) == 1)
            if not ready.any():
                return value
            rows = totals[ready]
            value[rows.indices] = (addends[ready] @ np.nan_to_num(value)) / rows.data
            computed[rows.indices] = True

    def frame(self) -> pd.DataFrame:
        """All columns as a data frame. Confidential."""
        columns: dict[str, Any] = {} if self.names is None else {"cell": self.names}
        for d, (name, hierarchy) in enumerate(self.dimensions.items()):
            columns[name] = np.array(hierarchy.codes, dtype=object)[self.codes[d]]
        columns[self.response] = self.value
        if self.count is not None:
            columns["count"] = self.count
        if self.top is not None:
            for k in range(self.top.shape[1]):
                columns[f"top{k + 1}"] = self.top[:, k]
        return pd.DataFrame(columns)

    # -- checks -------------------------------------------------------------------------------------------

    def check_additive(self, tolerance: float = TABLE_ADDITIVITY_TOLERANCE) -> Table:
        """Raise if a total differs from the sum of its addends by more than ``tolerance`` × the absolute values involved."""
        gap = np.abs(self.relations @ self.value - self.rhs)
        size = abs(self.relations) @ np.abs(self.value)
        off = np.flatnonzero(~(gap <= tolerance * np.maximum(size, 1e-300)))
        if len(off):
            share = gap[off] / np.maximum(size[off], 1e-300)
            off = off[np.argsort(-share, kind="stable")]
            totals = [self.relation_label(int(row)) for row in off]
            raise TableError(
                f"The table is not additive: {len(off)} totals differ from the sum of their parts, e.g. {some(totals)}. "
                f"The largest difference is {_percent(share.max())} of the values involved, at {totals[0]!r}. "
                "Correct the totals; if they were rounded, allow for it by a larger share, such as tolerance = 0.001 "
                "for 0.1 percent, in [table] of a job or as tolerance= in Python.",
                totals,
            )
        return self

    def relations_of(self, cells: IntArray) -> sparse.csr_array:
        """The relations that contain any of these cells, with the columns of these cells only."""
        relations = sparse.csr_array(self.relations[:, cells])
        return sparse.csr_array(relations[np.diff(relations.indptr) > 0])

    def relation_label(self, row: int) -> str:
        """The label of the total of a relation; its number if it has none."""
        terms = slice(self.relations.indptr[row], self.relations.indptr[row + 1])
        totals = self.relations.indices[terms][self.relations.data[terms] < 0]
        return self.label(int(totals[0])) if len(totals) else f"equation {row + 1}"

    @cached_property
    def digest(self) -> str:
        """A hash of cells, values, relations and contributions: equal tables have equal digests."""
        h = hashlib.sha256()
        for array in (self.value, self.codes, self.relations.data, self.rhs):
            h.update(np.ascontiguousarray(array).tobytes())
        for array in (self.relations.indices, self.relations.indptr):  # SciPy uses 32 or 64 bits
            h.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        for name, hierarchy in self.dimensions.items():
            h.update("\0".join((name, *hierarchy.codes, "")).encode())
        h.update("\0".join(self.names or ()).encode())
        given = self.contributions
        for name, column in {
            "magnitude": self.magnitude,
            "count": self.count,
            "weighted_count": self.weighted_count,
            "top": self.top,
            "who": self.top_contributor,
            "requested": self.requested,
            "behind": self.behind,
            "cell": None if given is None else given.cell,
            "by": None if given is None else given.contributor,
            "amount": None if given is None else given.amount,
        }.items():
            if column is not None:
                # Converted to one type: files may store integers in other types.
                h.update(name.encode() + np.ascontiguousarray(column, dtype=np.float64).tobytes())
        facts = (self.is_count, self.complete, self.weights, self.counts_zeros, self.behind_drawn, self.behind_left_out)
        h.update(repr((*facts, sorted(self.provenance.items()))).encode())
        return h.hexdigest()

    def with_columns(self, **columns: Any) -> Table:
        return replace(self, **columns)

    def only(self, cells: IntArray) -> Table:
        """The table of some cells, given in table order, with the relations that involve no other cell."""
        outside = np.ones(len(self))
        outside[cells] = 0.0
        rows = np.flatnonzero(abs(self.relations) @ outside == 0)
        columns = {name: column[cells] for name in _CELL_COLUMNS if (column := getattr(self, name)) is not None}
        if self.behind is not None and not columns["behind"].any():
            columns["behind"] = None
        return replace(
            self,
            **columns,
            codes=self.codes[:, cells],
            relations=self.relations[rows][:, cells],
            rhs=self.rhs[rows],
            extra={name: column[cells] for name, column in self.extra.items()},
            names=None if self.names is None else tuple(self.names[i] for i in cells),
            complete=self.complete and len(cells) == len(self),
            contributions=self.contributions and self.contributions.only(cells),
        )


# Columns with one entry per cell, and their types; None keeps the type that is given.
_CELL_COLUMNS: dict[str, DTypeLike | None] = {
    "value": np.float64,
    "magnitude": np.float64,
    "count": None,
    "weighted_count": np.float64,
    "top": np.float64,
    "top_contributor": None,
    "requested": None,
    "behind": None,
}


def _codes(dimensions: Mapping[str, Hierarchy], codes: Any, cells: int) -> SmallIntArray:
    """Codes with one row per dimension; those of a single dimension may be a plain list."""
    rows = np.asarray(codes, dtype=np.int32)
    shape = (len(dimensions), cells)
    if rows.ndim == 1 and len(dimensions) == 1:
        rows = rows[np.newaxis]
    if rows.shape != shape and (rows.size or all(shape)):
        raise TableError(
            f"The table has {len(dimensions)} dimensions and {cells} cells: codes of shape {rows.shape} do not fit."
        )
    rows = rows.reshape(shape)
    for (name, hierarchy), row in zip(dimensions.items(), rows, strict=True):
        outside = np.flatnonzero((row < 0) | (row >= len(hierarchy)))
        if len(outside):
            raise TableError(f"{len(outside)} cells have codes outside the hierarchy of {name!r}.", outside.tolist())
    return rows
