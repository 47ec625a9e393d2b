"""What bounds a suppressed cell from above and below, and the single further quantity that would reveal it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.linalg import lsmr

from discreet.arrays import FloatArray, IntArray
from discreet.attacks.exact import ReducedSystem, congruent, exact, midpoint, unit_of
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.inference.congruent import components
from discreet.progress import Progress, Silent
from discreet.solvers import new_model

NOTHING = 1e-7  # multipliers below this are float noise
DIRECTIONS = 4  # random moves that tell apart cells that do not move as one


@dataclass(frozen=True, repr=False)
class CycleSide:
    """Cells that stop a cell on one side: its distance from the end is Σ weight · (their distance from their own ends)."""

    cells: tuple[str, ...]
    weights: tuple[float, ...]
    ends: tuple[float, ...]  # where those cells are when the cell is at its end

    def distance(self, values: Sequence[float]) -> float:
        """How far the cell is from its end if those cells have these values."""
        return float(sum(w * abs(v - e) for w, v, e in zip(self.weights, values, self.ends, strict=True)))

    def words(self) -> str:
        several = (f"{w:g} · {c}" if abs(w - 1) > NOTHING else c for w, c in zip(self.weights, self.cells, strict=True))
        return " + ".join(several)


@dataclass(frozen=True, repr=False)
class Cycle:
    """One suppressed cell: its exact interval, what bounds it, and the cells any one of which would reveal it.

    With a the distance from the lower end and b that from the upper one: x = lower + a = upper − b, and a + b is public. So a, b,
    b − a or b / a, from whatever source, gives x away.
    """

    cell: str
    lower: float
    upper: float
    below: CycleSide
    above: CycleSide
    companions: tuple[str, ...]  # move with it by the relations alone, whatever the bounds

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
    """The exact intervals with the reasons for them."""

    cycles: tuple[Cycle, ...]

    def of(self, label: str) -> Cycle:
        return self.cycles[self.row(label)]

    def _more(self) -> dict[str, object]:
        text = {
            "bounded_below_by": [c.below.words() for c in self.cycles],
            "bounded_above_by": [c.above.words() for c in self.cycles],
            "revealed_by": ["; ".join(c.revealed_by) for c in self.cycles],
        }
        return {name: pd.Series(column, dtype=object) for name, column in text.items()}


def cycles(public: Public, cells: Sequence[str] | None = None, *, progress: Progress | None = None) -> Cycles:
    """For suppressed cells, by default all: which cells stop each of them on either side.

    At an end of the interval the multipliers y of the relations write the cell as x = yᵀt + Σ dᵢ xᵢ with dᵢ ≠ 0 only for cells
    that are at a bound there. In an alternating cycle that is one cell on either side: the smallest of the same parity stops x
    from falling, the smallest of the opposite parity stops it from rising.
    """
    progress = progress or Silent()
    seen = exact(public, progress=progress)
    asked = public.unknown if cells is None else np.array([public.index(label) for label in cells], dtype=np.int64)
    asked = asked[np.isin(asked, public.unknown)]
    place = np.searchsorted(public.unknown, asked)
    lower, upper = seen.lower[place], seen.upper[place]
    system = ReducedSystem.of(public)
    rows = sparse.csr_array(system.rows)
    # Sums of a table that agrees, rather than those that are published and may be off: then no program is impossible.
    rhs = rows @ congruent(public, progress=progress)[system.cells]
    sides: dict[int, tuple[CycleSide, CycleSide]] = {}
    together: dict[int, tuple[str, ...]] = {}
    progress.stage("cycles", len(asked))
    for members, relations in components(rows, np.ones(len(system.cells), dtype=bool)):
        mine = np.flatnonzero(np.isin(members, place))
        if not len(mine):
            continue
        names = [public.labels[i] for i in system.cells[members]]
        point = _Part(public, system.cells[members], relations, _right_side(rows, rhs, members))
        group = moves_as_one(relations)
        for k in mine.tolist():
            sides[int(members[k])] = point.side(k, -1.0, names), point.side(k, 1.0, names)
            same = np.flatnonzero((group == group[k]) & (group >= 0))
            together[int(members[k])] = tuple(names[i] for i in same if i != k)
            progress.update(len(sides))
    found = tuple(
        Cycle(public.labels[c], float(lo), float(up), *sides[int(p)], together[int(p)])
        for c, p, lo, up in zip(asked, place, lower, upper, strict=True)
    )
    return Cycles(
        attack="cycles",
        assumes="linear programs over what is published",
        public=public,
        cell=asked,
        lower=lower,
        upper=upper,
        estimate=midpoint(lower, upper),
        certain=True,
        cycles=found,
    )


def _right_side(rows: sparse.csr_array, rhs: FloatArray, members: IntArray) -> FloatArray:
    """The right-hand sides of the relations that hold some of these columns, in their order."""
    return np.asarray(rhs[np.diff(sparse.csr_array(rows[:, members]).indptr) > 0])


class _Part:
    """One connected component as a linear program."""

    def __init__(self, public: Public, cells: IntArray, rows: sparse.csr_array, rhs: FloatArray) -> None:
        self.rows, self.low, self.high = rows, public.lower[cells], public.upper[cells]
        self.model = new_model("primal")
        unit = unit_of(rhs, self.low, self.high)
        bounds = self.low / unit, self.high / unit
        self.model.load(np.zeros(len(cells)), *bounds, rows, rhs / unit, rhs / unit)
        self.aim = 0

    def side(self, column: int, sign: float, names: list[str]) -> CycleSide:
        """What stops a column on its way down (−1) or up (+1)."""
        self.model.set_cost(np.array([self.aim]), np.zeros(1))
        self.model.set_cost(np.array([column]), np.ones(1))
        self.model.maximize(sign > 0)
        self.aim = column
        solved = self.model.solve()
        if not solved.optimal:  # endless: nothing stops it
            return CycleSide((), (), ())
        # Whatever the multipliers, x = yᵀt + dᵀx: nothing depends on the solver's own reduced costs.
        weight = -(self.rows.T @ solved.row_dual)
        weight[column] += 1.0
        at = np.flatnonzero(np.abs(weight) > NOTHING)
        ends = np.where(sign * weight[at] > 0, self.high[at], self.low[at])
        return CycleSide(
            tuple(names[i] for i in at),
            tuple(float(w) for w in np.abs(weight[at]).round(9)),
            tuple(float(e) for e in ends),
        )


def moves_as_one(relations: sparse.csr_array) -> IntArray:
    """Columns that move in proportion in every solution of ``relations @ d == 0`` get the same number; −1: it cannot move.

    A few random solutions tell them apart: those in proportion in all of them are so in every one.
    """
    rng = np.random.default_rng(0)
    n = relations.shape[1]
    moves = np.zeros((n, DIRECTIONS))
    for k in range(DIRECTIONS):
        start = rng.standard_normal(n)
        fitted = lsmr(relations, relations @ start, atol=1e-14, btol=1e-14, maxiter=20 * n + 100)[0]
        moves[:, k] = start - fitted
    size = np.linalg.norm(moves, axis=1)
    still = size < 1e-6
    sign = np.sign(moves[:, 0])
    direction = np.where(still[:, None], 0.0, moves * (sign / np.where(still, 1.0, size))[:, None])
    order = np.lexsort(direction.T[::-1].round(5))
    new = np.r_[True, np.abs(np.diff(direction[order], axis=0)).max(axis=1) > 1e-6] if n > 1 else np.ones(n, dtype=bool)
    group = np.empty(n, dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    group[still] = -1
    return group
