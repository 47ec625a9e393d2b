"""The exact interval of every unknown cell from public data alone; in tables of counts also over integer tables only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.audit import Audit, audit
from discreet.audit.integer_audit import narrowed
from discreet.data.table import TABLE_ADDITIVITY_TOLERANCE, Table, digits_of
from discreet.errors import InputError, some
from discreet.inference.bound_propagation import propagate
from discreet.problem import Problem, Status
from discreet.progress import OutOfTime, Progress, Timed
from discreet.protection import Protection, publish_intervals
from discreet.solvers import Outcome, new_model

CONTRADICTION_MESSAGE = (
    "No table agrees with the publication and the assumed knowledge. Two releases may differ by revisions or rounding, or an "
    "assumed parameter, such as p, is wrong."
)
# Shares of the published numbers in a relation by which it may be violated. The smallest that has a solution is taken, because
# the inferred intervals are inaccurate by as much.
RELATION_TOLERANCES = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, TABLE_ADDITIVITY_TOLERANCE)
PINNING_REASONS = ("", "one relation after the other", "several relations at once", "whole numbers only")


class Contradiction(InputError):
    """The publication and the assumed knowledge contradict each other."""


@dataclass(frozen=True, eq=False, repr=False)
class ReducedSystem:
    """The relations with all known values substituted: ``rows @ x == rhs`` for the unknown cells."""

    cells: IntArray
    rows: sparse.csr_array
    rhs: FloatArray
    size: FloatArray  # sum of the absolute published numbers in each relation, the scale of its tolerance
    digits: int | None

    @classmethod
    def of(cls, public: Public) -> ReducedSystem:
        cells = public.unknown
        fixed = np.setdiff1d(np.arange(len(public)), cells)
        value = public.lower[fixed]
        rows = sparse.csr_array(public.relations[:, cells])
        keep = np.flatnonzero(np.diff(rows.indptr) > 0)
        weights = sparse.csr_array(public.relations[keep][:, fixed])
        rhs, size = public.rhs[keep] - weights @ value, np.abs(public.rhs[keep]) + abs(weights) @ np.abs(value)
        digits = digits_of(value) if np.all(public.relations.data == np.round(public.relations.data)) else None
        if digits is not None:  # sums of rounded numbers have as many digits
            rhs = np.round(rhs, digits)
        return cls(cells, rows[keep], rhs, size, digits)

    def solution(self, public: Public, *, integer: bool = False, progress: Progress | None = None) -> FloatArray | None:
        """The unknown cells of some table that is congruent as exactly as published numbers add up; None if no table is."""
        n = len(self.cells)
        low, high = public.lower[self.cells], public.upper[self.cells]
        unit = 1.0 if integer else solver_unit(self.rhs, self.size, low, high)
        for tolerance in RELATION_TOLERANCES[:1] if integer else RELATION_TOLERANCES:
            model = new_model("dual" if integer else "primal")
            ends = (self.rhs - tolerance * self.size) / unit, (self.rhs + tolerance * self.size) / unit
            model.load(np.zeros(n), low / unit, high / unit, self.rows, *ends, np.full(n, integer))
            solved = model.solve(progress.left if isinstance(progress, Timed) else None)
            if solved.outcome is Outcome.STOPPED:
                raise OutOfTime
            if solved.optimal:
                return np.asarray(unit * solved.primal)
        return None


def solver_unit(*columns: FloatArray) -> float:
    """The power of two in which the largest of these numbers is about a million, because solver tolerances are absolute."""
    largest = max((np.abs(column[np.isfinite(column)]).max(initial=0.0) for column in columns), default=0.0)
    return float(2.0 ** (np.ceil(np.log2(largest)) - 20)) if largest > 0 else 1.0


def congruent(public: Public, *, integer: bool = False, progress: Progress | None = None) -> FloatArray:
    """Some table that agrees with all published and known values; with ``integer`` a table of integers."""
    crossed = np.flatnonzero(public.lower > public.upper)
    if len(crossed):
        labels = [public.labels[i] for i in crossed]
        raise Contradiction(f"{CONTRADICTION_MESSAGE} See {some(labels)}.", labels)
    system = ReducedSystem.of(public)
    table = np.where(public.lower < public.upper, 0.0, public.lower)
    if not len(system.cells):
        return table
    low, high = public.lower[system.cells], public.upper[system.cells]
    solution = system.solution(public, integer=integer, progress=progress)
    if solution is None:
        raise Contradiction(CONTRADICTION_MESSAGE)
    digits = 0 if integer else system.digits
    if digits is not None:
        rounded = np.round(solution, digits)
        additive = np.all(np.abs(system.rows @ rounded - system.rhs) <= 0.1 * 10.0**-digits)
        if additive and np.all((low <= rounded) & (rounded <= high)):
            solution = rounded
    table[system.cells] = np.clip(solution, low, high)
    return table


def congruent_problem(public: Public, value: FloatArray) -> tuple[Problem, Protection]:
    """A problem with the values of a congruent table, protected as in the public view: the input of an audit."""
    n = len(public)
    zero, fixed = np.zeros(n), public.lower == public.upper
    table = Table(
        {},
        np.zeros((0, n), np.int32),
        value,
        public.relations,
        rhs=public.rhs,
        names=public.labels,
        is_count=public.is_integer,
    )
    status = np.full(n, Status.FREE, dtype=np.int8)
    problem = Problem(table, status, zero, zero, zero, zero, public.lower, public.upper, least_width=zero)
    ends = np.where(fixed, value, -np.inf), np.where(fixed, value, np.inf)
    return problem, publish_intervals(problem, np.where(fixed, value, np.nan), *ends, cost=0.0, method="public view")


def infer_intervals(
    public: Public, *, integer: bool = False, progress: Progress | None = None
) -> tuple[Audit, Protection]:
    """The exact intervals of the unknown cells by an audit, which may start from any congruent table."""
    problem, protection = congruent_problem(public, congruent(public, integer=integer, progress=progress))
    return audit(problem, protection, cells=public.unknown, progress=progress), protection


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ExactIntervals(Finding):
    """The tightest interval of each cell that follows from the public view, and its midpoint."""


def exact(public: Public, *, progress: Progress | None = None) -> ExactIntervals:
    """The smallest and the largest value of every unknown cell in any congruent table.

    Two linear programs per cell: min and max y_k subject to A y = t. If the cell can rise by b and fall by a, its midpoint
    differs from the value by (b − a)/2.
    """
    audited, _ = infer_intervals(public, progress=progress)
    assumes = "linear programs over the published data"
    return ExactIntervals.certain_intervals("exact", assumes, public, public.unknown, audited.lower, audited.upper)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Counts(Finding):
    """Intervals over tables of integers; ``how`` is the index into ``PINNING_REASONS`` for each cell, 0 if it is not pinned."""

    how: IntArray

    def _extra_columns(self) -> dict[str, object]:
        return {"pinned_by": pd.Series([PINNING_REASONS[k] for k in self.how], dtype=object)}


def counts(public: Public, *, progress: Progress | None = None) -> Counts:
    """The smallest and the largest count of every unknown cell in any congruent table of integers."""
    linear, protection = infer_intervals(public, integer=True, progress=progress)
    table, cells = linear.problem.table.value, public.unknown
    integral = narrowed(linear, protection, progress=progress)
    rows = ReducedSystem.of(public).rows
    low, high = propagate(rows, public.lower[cells] - table[cells], public.upper[cells] - table[cells])
    widths = (high - low, linear.upper - linear.lower, integral.upper - integral.lower)
    how = np.select([width < 1e-6 for width in widths], [1, 2, 3], default=0)  # intervals of integers: 0 or at least 1
    return Counts.certain_intervals(
        "counts", "cells are whole numbers", public, cells, integral.lower, integral.upper, how=how
    )
