"""What attackers infer from a rounded table, and what roundings must do about it: Salazar-González (2002), figure 10."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray
from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.program import Cuts
from discreet.progress import Progress
from discreet.protection import Protection, publish_intervals
from discreet.solvers import Model, new_model

SNAP = 1e-8  # a price this small is none
PUSH = 1e-5  # share of a level that a cut asks for in excess if the solver thought that the level was reached
MOST = 200  # requirements that get a cut at a time


@dataclass(frozen=True)
class ViolatedLevel:
    """A cell whose levels against an attacker, by number, are not reached."""

    attacker: int
    cell: int


def violated(grid: RoundingGrid, steps: FloatArray, progress: Progress | None = None) -> list[ViolatedLevel]:
    """What the audit says about a rounding."""
    problem = grid.problem
    # Where nobody asks for a level, nothing needs to be asked.
    if not any(problem.levels(who)[:, grid.due(who)].any() for who in problem.attackers()):
        return []
    found = audit(problem, protection(grid, steps), intervals=False, progress=progress)
    bad = np.flatnonzero(~found.safe)
    return [ViolatedLevel(int(found.attacker[row]), int(found.cell[row])) for row in bad]


def protection(grid: RoundingGrid, steps: FloatArray, **report: object) -> Protection:
    """What readers are told of a rounding."""
    return publish_intervals(grid.problem, *grid.published(steps), cost=grid.deviation(steps), **report)  # type: ignore[arg-type]


class RoundingSeparator:
    """Linear programs of the attackers over the slack that a rounding leaves them."""

    def __init__(self, grid: RoundingGrid) -> None:
        self.grid = grid

    def cuts(self, steps: FloatArray, requirements: list[ViolatedLevel]) -> Cuts:
        """One cut for each requirement that this rounding does not meet."""
        found = Cuts.none(len(steps))
        attackers = self.grid.problem.attackers()
        for number in sorted({one.attacker for one in requirements}):
            cells = [one.cell for one in requirements if one.attacker == number][:MOST]
            found = found.plus(self._against(attackers[number], steps, cells))
        return found

    def _against(self, who: Attacker, steps: FloatArray, cells: list[int]) -> Cuts:
        down, up = self.grid.slack(who, steps)
        relations, n = self.grid.problem.table.relations, len(steps)
        model, none = new_model(), np.zeros(relations.shape[0])
        model.load(np.zeros(n), -down, up, relations, none, none)
        rows, least = [], []
        for cell in cells:
            prices = [self._prices(model, cell, side, down, up) for side in (-1.0, 1.0)]
            reach = [_worth(price, down, up) for price in prices]
            levels = self.grid.problem.levels(who)[:, cell]
            sides = [*prices, np.stack(prices)]
            short = [end - level for end, level in zip([*reach, sum(reach)], levels, strict=True)]
            # Of the three requirements the one that is missed by most.
            worst = int(
                np.argmin([gap / level if level > 0 else np.inf for gap, level in zip(short, levels, strict=True)])
            )
            row, rhs = self._cut(who, steps, np.atleast_2d(sides[worst]), float(levels[worst]))
            rows.append(sparse.csr_array(row[np.newaxis]))
            least.append(rhs)
        return Cuts(sparse.csr_array(sparse.vstack(rows)), np.array(least))

    def _prices(self, model: Model, cell: int, side: float, down: FloatArray, up: FloatArray) -> FloatArray:
        """What a bit more slack of each cell upwards (downwards, if negative) is worth to a move of ``cell`` to one side."""
        at = np.array([cell])
        model.set_cost(at, np.array([-side]))
        dual = np.round(model.solve().row_dual, 10)
        model.set_cost(at, np.zeros(1))
        goal = np.where(np.arange(len(up)) == cell, side, 0.0)
        relations = self.grid.problem.table.relations
        both = [goal - sign * (relations.T @ dual) for sign in (1.0, -1.0)]
        both = [np.where(np.abs(price) < SNAP, 0.0, price) for price in both]
        return min(both, key=lambda price: _worth(price, down, up))

    def _cut(self, who: Attacker, steps: FloatArray, prices: FloatArray, level: float) -> tuple[FloatArray, float]:
        """Σ f(steps) ≥ 1 over all cells, in levels, by a line that touches each f, which is concave, at the steps so far."""
        grid, least = self.grid, level * (1 - LEVEL_TOLERANCE)

        def worth(at: FloatArray) -> FloatArray:
            down, up = grid.slack(who, at)
            with np.errstate(invalid="ignore"):  # no price on endless slack
                parts = np.where(prices > 0, prices * up, np.where(prices < 0, -prices * down, 0.0))
            return np.asarray(np.minimum(parts.sum(axis=0) / least, 1.0))

        here = worth(steps)
        finite = np.isfinite(grid.least)
        ahead = np.where(finite & (steps < grid.most), worth(steps + 1) - here, -np.inf)
        back = np.where(finite & (steps > grid.least), here - worth(steps - 1), np.inf)
        slope = np.where(ahead > 0, ahead, np.where(back < 0, back, 0.0))
        slope = np.where(np.isfinite(slope), slope, 0.0)
        goal = max(1.0, float(here.sum()) + PUSH) if here.sum() >= 1.0 else 1.0
        return slope, goal - float((here - slope * np.where(finite, steps, 0.0)).sum())


def _worth(price: FloatArray, down: FloatArray, up: FloatArray) -> float:
    """How far the cell gets at most with this slack."""
    with np.errstate(invalid="ignore"):
        return float(np.where(price > 0, price * up, np.where(price < 0, -price * down, 0.0)).sum())
