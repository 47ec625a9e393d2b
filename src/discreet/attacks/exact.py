"""The exact interval of every cell that is not told, from public data alone, and its midpoint as an estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.audit import Audit, audit
from discreet.data.table import ADDITIVITY, Table, digits_of
from discreet.errors import InputError, some
from discreet.problem import Problem, Status
from discreet.progress import OutOfTime, Progress, Timed
from discreet.protection import Protection, tell
from discreet.solvers import Outcome, new_model

CONTRADICTION = (
    "No table agrees with what is published and assumed to be known. Two releases may differ by revisions or rounding, or a "
    "parameter that is assumed, such as p, is wrong."
)
# By which share of the numbers in it a sum may be off: as little as need be, as what follows is off by as much.
OFF = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, ADDITIVITY)


class Contradiction(InputError):
    """What is published and assumed to be known cannot all be so."""


@dataclass(frozen=True, eq=False, repr=False)
class ReducedSystem:
    """The relations that are left when what is known is put in: ``rows @ x == rhs`` for the cells that are not."""

    cells: IntArray
    rows: sparse.csr_array
    rhs: FloatArray
    size: FloatArray  # of the published numbers in each, which it may be off by a small share of
    digits: int | None

    @classmethod
    def of(cls, public: Public) -> ReducedSystem:
        cells = public.unknown
        known = np.setdiff1d(np.arange(len(public)), cells)
        value = public.lower[known]
        rows = sparse.csr_array(public.relations[:, cells])
        keep = np.flatnonzero(np.diff(rows.indptr) > 0)
        there = sparse.csr_array(public.relations[keep][:, known])
        rhs, size = public.rhs[keep] - there @ value, np.abs(public.rhs[keep]) + abs(there) @ np.abs(value)
        digits = digits_of(value) if np.all(public.relations.data == np.round(public.relations.data)) else None
        if digits is not None:  # sums of round numbers are round
            rhs = np.round(rhs, digits)
        return cls(cells, rows[keep], rhs, size, digits)

    def point(self, public: Public, *, whole: bool = False, progress: Progress | None = None) -> FloatArray | None:
        """Cells of some table that agrees with the public view; None if there is none.

        Relations hold as well as floats can tell, unless the published numbers themselves do not add up so well.
        """
        n = len(self.cells)
        low, high = public.lower[self.cells], public.upper[self.cells]
        unit = 1.0 if whole else unit_of(self.rhs, self.size, low, high)
        for off in OFF[:1] if whole else OFF:
            model = new_model("dual" if whole else "primal")
            ends = (self.rhs - off * self.size) / unit, (self.rhs + off * self.size) / unit
            model.load(np.zeros(n), low / unit, high / unit, self.rows, *ends, np.full(n, whole))
            solved = model.solve(progress.left if isinstance(progress, Timed) else None)
            if solved.outcome is Outcome.STOPPED:
                raise OutOfTime
            if solved.optimal:
                return np.asarray(unit * solved.primal)
        return None


def unit_of(*columns: FloatArray) -> float:
    """In which unit, a power of two, the largest of these is about a million: solvers have absolute tolerances."""
    largest = max((np.abs(column[np.isfinite(column)]).max(initial=0.0) for column in columns), default=0.0)
    return float(2.0 ** (np.ceil(np.log2(largest)) - 20)) if largest > 0 else 1.0


def congruent(public: Public, *, whole: bool = False, progress: Progress | None = None) -> FloatArray:
    """Some table that agrees with all that is published and known; with ``whole`` one of whole numbers."""
    crossed = np.flatnonzero(public.lower > public.upper)
    if len(crossed):
        labels = [public.labels[i] for i in crossed]
        raise Contradiction(f"{CONTRADICTION} See {some(labels)}.", labels)
    system = ReducedSystem.of(public)
    table = np.where(public.lower < public.upper, 0.0, public.lower)
    if not len(system.cells):
        return table
    point, low, high = (
        system.point(public, whole=whole, progress=progress),
        public.lower[system.cells],
        public.upper[system.cells],
    )
    if point is None:
        raise Contradiction(CONTRADICTION)
    digits = 0 if whole else system.digits
    if digits is not None:
        near = np.round(point, digits)
        if np.all(np.abs(system.rows @ near - system.rhs) <= 0.1 * 10.0**-digits) and np.all(
            (low <= near) & (near <= high)
        ):
            point = near
    table[system.cells] = np.clip(point, low, high)
    return table


def stand_in(public: Public, value: FloatArray) -> tuple[Problem, Protection]:
    """A problem whose "truth" is a congruent table, told as the public view tells it: all that an audit needs."""
    n = len(public)
    zero, told = np.zeros(n), public.lower == public.upper
    table = Table(
        {},
        np.zeros((0, n), np.int32),
        value,
        public.relations,
        rhs=public.rhs,
        names=public.labels,
        is_count=public.whole,
    )
    status = np.full(n, Status.FREE, dtype=np.int8)
    problem = Problem(table, status, zero, zero, zero, zero, public.lower, public.upper, least=zero)
    ends = np.where(told, value, -np.inf), np.where(told, value, np.inf)
    return problem, tell(problem, np.where(told, value, np.nan), *ends, cost=0.0, method="public view")


def infer(public: Public, *, whole: bool = False, progress: Progress | None = None) -> tuple[Audit, Protection]:
    """The exact intervals, by the audit: it moves away from any congruent table as well as from the true one."""
    problem, protection = stand_in(public, congruent(public, whole=whole, progress=progress))
    return audit(problem, protection, cells=public.unknown, progress=progress), protection


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ExactIntervals(Finding):
    """The tightest interval that follows, and its midpoint."""


def exact(public: Public, *, progress: Progress | None = None) -> ExactIntervals:
    """The least and the greatest value of every cell in any table that agrees with the public view.

    By two linear programs a cell: min and max y_k subject to A y = t. The midpoint is off by half the difference of how far
    the cell can rise and fall.
    """
    seen, _ = infer(public, progress=progress)
    return ExactIntervals(
        attack="exact",
        assumes="linear programs over what is published",
        public=public,
        cell=public.unknown,
        lower=seen.lower,
        upper=seen.upper,
        estimate=midpoint(seen.lower, seen.upper),
        certain=True,
    )


def midpoint(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The middle of a range; NaN where it has none."""
    finite = np.isfinite(lower) & np.isfinite(upper)
    return np.where(finite, (np.where(finite, lower, 0.0) + np.where(finite, upper, 0.0)) / 2, np.nan)
