"""The cells that bound a suppressed cell from below and above, and the cells that would reveal it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.linalg import lsmr

from discreet.arrays import FloatArray, IntArray
from discreet.attacks.exact import ReducedSystem, congruent, exact, solver_unit
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.inference.congruent_tables import components
from discreet.progress import Progress, Silent
from discreet.solvers import new_model

SMALLEST_MULTIPLIER = 1e-7  # weights are integers or simple fractions; smaller ones are errors of the solver
RANDOM_DEVIATIONS = 4  # random solutions by which cells are compared; they agree in all by chance with probability 0


@dataclass(frozen=True, repr=False)
class CycleSide:
    """The cells that bound a cell on one side: its distance from the end is Σ weight · (their distance from their ends)."""

    cells: tuple[str, ...]
    weights: tuple[float, ...]
    ends: tuple[float, ...]  # values of those cells when the cell is at its end

    def distance(self, values: Sequence[float]) -> float:
        """The distance of the cell from its end if those cells have these values."""
        return float(sum(w * abs(v - e) for w, v, e in zip(self.weights, values, self.ends, strict=True)))

    def formula(self) -> str:
        terms = zip(self.weights, self.cells, strict=True)
        return " + ".join(f"{w:g} · {c}" if abs(w - 1) > SMALLEST_MULTIPLIER else c for w, c in terms)


@dataclass(frozen=True, repr=False)
class Cycle:
    """One suppressed cell: its exact interval, the cells that bound it, and single cells that would reveal it.

    With a the distance from the lower end and b that from the upper one: x = lower + a = upper − b, and a + b is public. So each
    of a, b, b − a and b / a, from whatever source, determines x.
    """

    cell: str
    lower: float
    upper: float
    below: CycleSide
    above: CycleSide
    companions: tuple[str, ...]  # cells that are a linear function of it by the relations alone

    def from_below(self, a: float) -> float:
        return self.lower + a

    def from_above(self, b: float) -> float:
        return self.upper - b

    def from_difference(self, b_less_a: float) -> float:
        return (self.lower + self.upper - b_less_a) / 2

    def from_ratio(self, b_by_a: float) -> float:
        return self.lower + (self.upper - self.lower) / (1 + b_by_a)

    @property
    def revealed_by(self) -> tuple[str, ...]:
        """Single cells whose value would reveal this one."""
        single = [side.cells[0] for side in (self.below, self.above) if len(side.cells) == 1]
        return tuple(dict.fromkeys(c for c in (*single, *self.companions) if c != self.cell))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Cycles(Finding):
    """The exact intervals with the cells that cause them."""

    cycles: tuple[Cycle, ...]

    def of(self, label: str) -> Cycle:
        return self.cycles[self.row(label)]

    def _extra_columns(self) -> dict[str, object]:
        columns = {
            "bounded_below_by": [c.below.formula() for c in self.cycles],
            "bounded_above_by": [c.above.formula() for c in self.cycles],
            "revealed_by": ["; ".join(c.revealed_by) for c in self.cycles],
        }
        return {name: pd.Series(column, dtype=object) for name, column in columns.items()}


def cycles(public: Public, cells: Sequence[str] | None = None, *, progress: Progress | None = None) -> Cycles:
    """The cells that bound each suppressed cell on either side, by default for all suppressed cells.

    At an end of the interval the multipliers y of the relations write the cell as x = yᵀt + Σ dᵢ xᵢ with dᵢ ≠ 0 only for cells
    that are at a bound there. In an alternating cycle that is one cell on either side: the smallest of the same parity bounds x
    from below, the smallest of the opposite parity bounds it from above.
    """
    progress = progress or Silent()
    intervals = exact(public, progress=progress)
    chosen = public.unknown if cells is None else np.array([public.index(label) for label in cells], dtype=np.int64)
    chosen = chosen[np.isin(chosen, public.unknown)]
    place = np.searchsorted(public.unknown, chosen)
    system = ReducedSystem.of(public)
    rows = sparse.csr_array(system.rows)
    # Right-hand sides come from a congruent table, because published sums may be off: then every program is feasible.
    rhs = rows @ congruent(public, progress=progress)[system.cells]
    found: dict[int, Cycle] = {}
    progress.stage("cycles", len(chosen))
    for members, relations in components(rows, np.ones(len(system.cells), dtype=bool)):
        columns = np.flatnonzero(np.isin(members, place))
        if not len(columns):
            continue
        names = [public.labels[i] for i in system.cells[members]]
        component_rhs = np.asarray(rhs[np.diff(sparse.csr_array(rows[:, members]).indptr) > 0])
        program = _ComponentProgram(public, system.cells[members], relations, component_rhs)
        group = proportional_groups(relations)
        for k, p in zip(columns.tolist(), members[columns].tolist(), strict=True):
            ends = float(intervals.lower[p]), float(intervals.upper[p])
            sides = program.side(k, -1.0, names), program.side(k, 1.0, names)
            companions = tuple(names[i] for i in np.flatnonzero((group == group[k]) & (group >= 0)) if i != k)
            found[p] = Cycle(names[k], *ends, *sides, companions)
            progress.update(len(found))
    ends_of_chosen = intervals.lower[place], intervals.upper[place]
    of_chosen = tuple(found[p] for p in place.tolist())
    assumes = "linear programs over the published data"
    return Cycles.certain_intervals("cycles", assumes, public, chosen, *ends_of_chosen, cycles=of_chosen)


class _ComponentProgram:
    """The linear program of one connected component."""

    def __init__(self, public: Public, cells: IntArray, rows: sparse.csr_array, rhs: FloatArray) -> None:
        self.rows, self.low, self.high = rows, public.lower[cells], public.upper[cells]
        self.model = new_model("primal")
        unit = solver_unit(rhs, self.low, self.high)
        self.model.load(np.zeros(len(cells)), self.low / unit, self.high / unit, rows, rhs / unit, rhs / unit)
        self.objective = 0

    def side(self, column: int, sign: float, names: list[str]) -> CycleSide:
        """The cells that bound a column from below (−1) or above (+1)."""
        self.model.set_cost(np.array([self.objective]), np.zeros(1))
        self.model.set_cost(np.array([column]), np.ones(1))
        self.model.maximize(sign > 0)
        self.objective = column
        solved = self.model.solve()
        if not solved.optimal:  # unbounded
            return CycleSide((), (), ())
        # x = yᵀt + dᵀx holds for any multipliers, so the result does not depend on the solver's reduced costs.
        weight = -(self.rows.T @ solved.row_dual)
        weight[column] += 1.0
        at = np.flatnonzero(np.abs(weight) > SMALLEST_MULTIPLIER)
        ends = np.where(sign * weight[at] > 0, self.high[at], self.low[at])
        return CycleSide(
            tuple(names[i] for i in at),
            tuple(float(w) for w in np.abs(weight[at]).round(9)),
            tuple(float(e) for e in ends),
        )


def proportional_groups(relations: sparse.csr_array) -> IntArray:
    """A number per column, equal for columns in proportion in every solution of ``relations @ d == 0``; −1 if always zero."""
    rng = np.random.default_rng(0)
    n = relations.shape[1]
    deviations = np.zeros((n, RANDOM_DEVIATIONS))
    for k in range(RANDOM_DEVIATIONS):
        start = rng.standard_normal(n)
        fitted = lsmr(relations, relations @ start, atol=1e-14, btol=1e-14, maxiter=20 * n + 100)[0]
        deviations[:, k] = start - fitted
    size = np.linalg.norm(deviations, axis=1)
    fixed = size < 1e-6
    sign = np.sign(deviations[:, 0])
    direction = np.where(fixed[:, None], 0.0, deviations * (sign / np.where(fixed, 1.0, size))[:, None])
    order = np.lexsort(direction.T[::-1].round(5))
    new = np.r_[True, np.abs(np.diff(direction[order], axis=0)).max(axis=1) > 1e-6] if n > 1 else np.ones(n, dtype=bool)
    group = np.empty(n, dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    group[fixed] = -1
    return group
