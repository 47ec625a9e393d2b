"""A table, or several linked ones: columns of cells plus the relations between them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.data.contributions import Contributions, largest
from discreet.data.hierarchy import Hierarchy
from discreet.data.relations import additive
from discreet.display import card
from discreet.errors import TableError, some

ADDITIVITY = 1e-9  # share of the sum of absolute values in a relation that its parts and total may differ by


FINE = 1e-7  # unit of tables that are not round, as a share of the typical value
WEIGHTS = (1e-4, 1e4)  # of cells in a relation; nearly always they are 1 and −1
Weights = Literal["known", "secret"]  # sampling weights, to readers
BETWEEN = " × "  # stands between the codes of a label


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written to: verdicts are about arrays as they were."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def digits_of(value: FloatArray, nothing: float = 1e-12) -> int | None:
    """How many decimals the values have, up to rounding errors and what is as good as ``nothing``; None if more than six."""
    return next((d for d in range(7) if _is_near(value, np.round(value, d), nothing)), None)


def _is_near(value: FloatArray, rounded: FloatArray, nothing: float) -> bool:
    """``np.allclose`` with a relative tolerance of 1e-14; asked in every audit, where that function takes as long as the rest."""
    with np.errstate(invalid="ignore"):  # infinite values equal themselves
        near = np.abs(value - rounded) <= nothing + 1e-14 * np.abs(rounded)
    return bool(np.all(near | (value == rounded)))


def unit_of(value: FloatArray) -> tuple[float, int | None]:
    """The last digit of the values, and how many decimals that are; without such a digit a small share of the usual value."""
    digits = digits_of(value)
    if digits is not None:
        return 10.0**-digits, digits
    sizes = np.abs(value[value != 0])
    return float(10.0 ** np.round(np.log10(FINE * np.median(sizes)))), None


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Cells as columns, ``relations @ value == rhs``. Confidential: its repr shows the shape only.

    Cells that are not stored are published zeros, but see ``complete``. ``top[i]`` holds the largest contributions to
    cell ``i`` in absolute value, largest first, zero-filled; ``who[i]`` who made them, as indices into ``contributors``
    (−1: nobody). ``magnitude`` is the sum of absolute contributions, which differs from ``value`` when some are negative.
    """

    dimensions: Mapping[str, Hierarchy]
    codes: NDArray[np.int32]  # (dimension, cell)
    value: FloatArray
    relations: sparse.csr_array
    response: str = "value"
    count: IntArray | None = None
    magnitude: FloatArray = field(default=None)  # type: ignore[arg-type]  # filled in below
    top: FloatArray | None = None
    who: IntArray | None = None
    contributors: tuple[str, ...] = ()
    requested: NDArray[np.bool_] | None = None  # aligned with top: this contributor asked for protection
    extra: Mapping[str, FloatArray] = field(default_factory=dict)  # further sums per cell, for costs
    names: tuple[str, ...] | None = None  # cell ids of tables without dimensions
    rhs: FloatArray = field(default=None)  # type: ignore[arg-type]  # filled in below
    is_count: bool = False  # the response counts contributors
    complete: bool = True  # cells that are not stored are zeros; in linked tables some are tabulated nowhere
    contributions: Contributions | None = None  # to the finest cells
    behind: NDArray[np.bool_] | None = None  # cells behind linked tables: last, part of the relations, never published
    behind_drawn: bool = False  # their values are those of some table that fits, not the true ones
    behind_left_out: bool = False  # by decision: readers who use them may infer more
    weighted_count: FloatArray | None = None  # how many the contributors stand for, by their sampling weights
    weights: Weights | None = None  # whether sampling weights are known to readers; contributions are then weighted
    counts_zeros: bool = True  # contributors of zero are counted
    dropped: int = 0  # records that were left out because their codes are not in a hierarchy

    def __post_init__(self) -> None:
        put = object.__setattr__
        value = np.asarray(self.value, dtype=np.float64)
        put(self, "value", value)
        put(self, "codes", _codes(self.dimensions, self.codes, len(value)))
        # Every cell once in a relation, and in order: SciPy sorts terms in passing, and the digest must not depend on when.
        relations = sparse.csr_array(self.relations, dtype=np.float64, copy=True)
        relations.sum_duplicates()
        relations.eliminate_zeros()
        put(self, "relations", relations)
        put(self, "rhs", np.zeros(self.relations.shape[0]) if self.rhs is None else np.asarray(self.rhs, dtype=float))
        put(self, "magnitude", np.abs(value) if self.magnitude is None else np.asarray(self.magnitude, dtype=float))
        for name in ("count", "weighted_count", "top", "who", "requested"):
            if getattr(self, name) is not None:
                kind = np.float64 if name in ("top", "weighted_count") else None
                put(self, name, np.asarray(getattr(self, name), dtype=kind))
        n = len(value)
        lengths = {"relations": self.relations.shape[1], "magnitude": len(self.magnitude)}
        for name in ("count", "weighted_count", "top", "who", "requested", "names", "behind"):
            column = getattr(self, name)
            if column is not None:
                lengths[name] = len(column)
        lengths |= {name: len(column) for name, column in self.extra.items()}
        wrong = [name for name, length in lengths.items() if length != n]
        if wrong:
            raise TableError(f"The table has {n} cells, but columns of other lengths: {some(wrong)}.", wrong)
        if self.names is not None and len(set(self.names)) < n:
            twice = [name for name, times in Counter(self.names).items() if times > 1]
            raise TableError(f"Cells have the same name: {some(twice)}.", twice)
        for name in (
            "value",
            "codes",
            "magnitude",
            "rhs",
            "count",
            "weighted_count",
            "top",
            "who",
            "requested",
            "behind",
        ):
            if getattr(self, name) is not None:
                put(self, name, read_only(getattr(self, name)))
        if self.behind is not None and not (self.behind.any() and np.all(np.diff(self.behind.astype(int)) >= 0)):
            raise TableError("Cells behind linked tables come after all others, and there is at least one.")
        self._check_names()
        self._check_relations()
        self._check_values()
        if self.contributions is not None:
            self.contributions.check(self.is_base)

    def _check_names(self) -> None:
        if self.response in self.dimensions:
            raise TableError(f"The response and a dimension are both called {self.response!r}: rename one.")
        for name, hierarchy in self.dimensions.items():
            unclear = [code for code in hierarchy.codes if BETWEEN in code]
            if unclear:
                raise TableError(
                    f"Codes of {name!r} contain {BETWEEN!r}, which separates codes in labels: {some(unclear)}. Rename them.",
                    unclear,
                )

    def _check_relations(self) -> None:
        """Weights of very different size in a relation are beyond what a solver can be trusted with."""
        weight = np.nan_to_num(np.abs(self.relations.data))  # what is no number counts as zero, and is refused
        low, high = WEIGHTS
        row = np.repeat(np.arange(self.relations.shape[0]), np.diff(self.relations.indptr))
        largest, smallest = np.zeros(self.relations.shape[0]), np.full(self.relations.shape[0], np.inf)
        np.maximum.at(largest, row, weight)
        np.minimum.at(smallest, row, weight)
        bad = np.unique(row[~((weight >= low) & (weight <= high))])
        bad = np.union1d(bad, np.flatnonzero(largest > smallest * high))
        if len(bad):
            raise TableError(
                f"{len(bad)} relations have weights beyond {low:g} to {high:g}, or too different from each other, "
                f"e.g. number {bad[0] + 1}. Rescale the cells."
            )

    def _check_values(self) -> None:
        columns: dict[str, NDArray[Any]] = {"value": self.value, "magnitude": self.magnitude, **self.extra}
        if self.count is not None:
            columns["count"] = self.count
        if self.weighted_count is not None:
            columns["weighted count"] = self.weighted_count
        if self.top is not None:
            columns["top contributions"] = np.abs(self.top).sum(axis=1)
        for name, column in columns.items():
            bad = np.flatnonzero(~np.isfinite(column))
            if len(bad):
                raise TableError(
                    f"{len(bad)} cells have no finite {name}, e.g. {some(self.labels(bad[:3]))}. "
                    "Every cell needs a number; leave empty cells out.",
                    self.labels(bad),
                )
        if self.count is not None and np.any(self.count < 0):
            bad = np.flatnonzero(self.count < 0)
            raise TableError(
                f"{len(bad)} cells have a negative count, e.g. {some(self.labels(bad[:3]))}.", self.labels(bad)
            )

    @classmethod
    def from_cells(cls, dimensions: Mapping[str, Hierarchy], codes: NDArray[Any], value: Any, **columns: Any) -> Table:
        """Build the relations from the hierarchies; every total of a stored cell must be stored too."""
        codes = _codes(dimensions, codes, np.size(value))
        relations, missing = additive(list(dimensions.values()), codes)
        if missing:
            labels = [
                BETWEEN.join(h.codes[c] for h, c in zip(dimensions.values(), where, strict=True)) for where in missing
            ]
            raise TableError(
                f"{len(labels)} totals are missing, e.g. {some(labels)}. Add them to the table; "
                "if they are nowhere published, read the table with unpublished_totals=True.",
                labels,
            )
        return cls(dict(dimensions), codes, value, relations, **columns)

    # -- looking at it ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        by = f" by {BETWEEN.join(self.dimensions)}" if self.dimensions else ""
        n = self.n_listed
        behind = f", {len(self) - n:,} cells behind" if n < len(self) else ""
        return f"Table({self.response}{by}: {n:,} cells, {self.relations.shape[0]:,} relations{behind})"

    def _repr_html_(self) -> str:
        facts = {name: f"{len(h):,} codes" for name, h in self.dimensions.items()}
        facts |= {"cells": f"{self.n_listed:,}", "relations": f"{self.relations.shape[0]:,}"}
        facts |= {"cells behind": f"{len(self) - self.n_listed:,}"} if self.behind is not None else {}
        return card(f"Table: {self.response}", facts, "Confidential: values are not shown.")

    @property
    def grid(self) -> int:
        """Number of cells of the full cross-classification, empty ones included."""
        return int(np.prod([len(h) for h in self.dimensions.values()], dtype=object)) if self.dimensions else len(self)

    @cached_property
    def n_listed(self) -> int:
        """Number of cells without those behind: what a reader sees listed."""
        return len(self) if self.behind is None else int((~self.behind).sum())

    @cached_property
    def listed(self) -> Table:
        """The table without the cells behind it; the others keep their numbers."""
        return self if self.behind is None else self.only(np.arange(self.n_listed))

    @property
    def n_empty(self) -> int:
        """Number of cells that are tabulated but empty."""
        return self.grid - len(self) if self.complete else 0

    def label(self, i: int) -> str:
        if self.names is not None:
            return self.names[i]
        return BETWEEN.join(h.codes[self.codes[d, i]] for d, h in enumerate(self.dimensions.values()))

    def labels(self, cells: Any = None) -> list[str]:
        return [self.label(int(i)) for i in (range(len(self)) if cells is None else np.atleast_1d(cells))]

    @cached_property
    def _by_label(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels(range(self.n_listed)))}

    def index(self, label: str | Sequence[str]) -> int:
        """The cell called ``"A × North"``, or ``("A", "North")``."""
        wanted = label if isinstance(label, str) else BETWEEN.join(label)
        try:
            return self._by_label[wanted]
        except KeyError:
            raise TableError(f"There is no cell {wanted!r} in {self!r}.", [wanted]) from None

    @cached_property
    def is_base(self) -> NDArray[np.bool_]:
        """Cells that are no total of others: the finest level."""
        rows = self.relations.tocoo()
        negative = np.bincount(rows.row[rows.data < 0], minlength=self.relations.shape[0])
        # Equations between responses, such as profit = turnover − cost, subtract cells that are no totals.
        of_totals = (rows.data < 0) & (negative[rows.row] == 1)
        base = np.ones(len(self), dtype=bool)
        base[rows.col[of_totals]] = False
        return base

    def respondents(self) -> Contributions:
        """Who contributes what to the finest cells, as far as the table knows.

        Where it was not tabulated with its contributions, those are the largest of each cell: what somebody contributes to a cell
        without being among them is missing, though it may help a holding that is in several cells.
        """
        return self._respondents

    @property
    def knows_respondents(self) -> bool:
        """Whether :meth:`respondents` leaves out nobody who matters."""
        if self.contributions is not None or self.top is None or self.count is None:
            return self.contributions is not None
        return bool(np.all(self.count[self.is_base] <= self.top.shape[1]))

    @cached_property
    def _respondents(self) -> Contributions:
        if not self.base_is_free:
            raise TableError(
                "The table classifies the same contributions in several ways, or has equations between responses: its finest "
                "cells are not independent, so respondents cannot be told apart by them. Take the tables one by one."
            )
        if self.contributions is not None:
            return self.contributions
        if self.top is None:
            raise TableError(
                "The table does not say who contributes to its cells. Tabulate it from records, or give a finished table its "
                "largest contributions and who made them."
            )
        who = None if self.who is None else np.asarray(self.who, dtype=np.int64)
        return largest(self.is_base, self.top, who, self.contributors, self.label)

    @property
    def names_contributors(self) -> bool:
        """Whether contributors are named: some are, in the records or in the finished table."""
        return bool(self.contributors) and (self.who is not None or self.contributions is not None)

    @cached_property
    def base_is_free(self) -> bool:
        """Whether any values of the finest cells, here drawn at random, have totals that keep all relations.

        Cells behind linked tables are free, but never sensitive: it is sums of them that need protection.
        """
        if self.behind is not None:
            return False
        value = np.random.default_rng(0).integers(1, 1 << 20, len(self)).astype(np.float64)
        value = np.nan_to_num(self.added_up(value))
        return bool(np.all(np.abs(self.relations @ value) <= 1e-9 * (abs(self.relations) @ np.abs(value))))

    def added_up(self, value: FloatArray) -> FloatArray:
        """Values of the finest cells, and of the totals that follow from them; NaN where none does."""
        known, value = self.is_base.copy(), np.where(self.is_base, value, np.nan)
        parts = self.relations.maximum(0.0)
        totals = (parts - self.relations).tocsr()
        while True:
            ready = (parts @ ~known == 0) & (totals @ ~known > 0) & (np.diff(totals.indptr) == 1)
            if not ready.any():
                return value
            rows = totals[ready]
            value[rows.indices] = (parts[ready] @ np.nan_to_num(value)) / rows.data
            known[rows.indices] = True

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

    # -- checking it --------------------------------------------------------------------------------------

    def check_additive(self, tolerance: float = ADDITIVITY) -> Table:
        """Raise if a total differs from its parts by more than ``tolerance`` × the values involved."""
        gap = np.abs(self.relations @ self.value - self.rhs)
        size = abs(self.relations) @ np.abs(self.value)
        off = np.flatnonzero(~(gap <= tolerance * np.maximum(size, 1e-300)))
        if len(off):
            totals = [self.relation_label(int(row)) for row in off]
            raise TableError(
                f"The table is not additive: {len(off)} totals differ from the sum of their parts, e.g. {some(totals)}. "
                "Correct them, or pass a larger tolerance= if they were rounded.",
                totals,
            )
        return self

    def relation_label(self, row: int) -> str:
        """The total of a relation names it."""
        begin, end = self.relations.indptr[row], self.relations.indptr[row + 1]
        columns, signs = self.relations.indices[begin:end], self.relations.data[begin:end]
        totals = columns[signs < 0]
        return self.label(int(totals[0])) if len(totals) else f"equation {row + 1}"

    @cached_property
    def digest(self) -> str:
        """A fingerprint of cells, values, relations and contributions, to tell whether two runs saw the same table."""
        h = hashlib.sha256()
        for array in (self.value, self.codes, self.relations.data, self.rhs):
            h.update(np.ascontiguousarray(array).tobytes())
        for array in (self.relations.indices, self.relations.indptr):  # 32 or 64 bits, depending on their history
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
            "who": self.who,
            "requested": self.requested,
            "behind": self.behind,
            "cell": None if given is None else given.cell,
            "by": None if given is None else given.who,
            "amount": None if given is None else given.amount,
        }.items():
            if column is not None:
                # Of one type: files may keep whole numbers in others.
                h.update(name.encode() + np.ascontiguousarray(column, dtype=np.float64).tobytes())
        facts = (self.is_count, self.complete, self.weights, self.counts_zeros, self.dropped, self.behind_drawn)
        h.update(repr((*facts, self.behind_left_out)).encode())
        return h.hexdigest()

    def with_columns(self, **columns: Any) -> Table:
        return replace(self, **columns)

    def only(self, cells: IntArray) -> Table:
        """Some cells, in the order of the table, and the relations between them alone."""
        outside = np.ones(len(self))
        outside[cells] = 0.0
        rows = np.flatnonzero(abs(self.relations) @ outside == 0)
        there = [name for name in _PER_CELL if getattr(self, name) is not None]
        return replace(
            self,
            **{name: getattr(self, name)[cells] for name in there},
            codes=self.codes[:, cells],
            relations=self.relations[rows][:, cells],
            rhs=self.rhs[rows],
            extra={name: column[cells] for name, column in self.extra.items()},
            names=None if self.names is None else tuple(self.names[i] for i in cells),
            complete=self.complete and len(cells) == len(self),
            contributions=self.contributions and self.contributions.only(cells),
            behind=self.behind[cells] if self.behind is not None and self.behind[cells].any() else None,
        )


_PER_CELL = ("value", "count", "weighted_count", "magnitude", "top", "who", "requested")


def _codes(dimensions: Mapping[str, Hierarchy], codes: Any, cells: int) -> NDArray[np.int32]:
    """Codes as one row a dimension; a single dimension's may come as a plain list."""
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
