"""The linear and the integer attacker: how far cells can be from the truth, as far as a reader can tell."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from tests.oracles.reader import System

NOISE = 1e-6  # deviations of less are rounding of the solver, in units of the data
LIMIT = 1e4  # deviations beyond so many times the largest requirement are of no use; they only cost precision


@dataclass
class Attacker:
    """Keeps the congruent tables it met: each shows for all cells how far they can be from the truth."""

    system: System
    unit: float  # the last digit of the data
    integer: bool = False
    limit: float = np.inf  # no cell need be farther from the truth
    met: list[np.ndarray] = field(default_factory=list)
    programs: int = 0

    def furthest(self, columns: np.ndarray, sign: int) -> float:
        """The largest deviation of the sum of these cells in one direction, exactly."""
        if not len(columns):
            return 0.0
        objective = np.zeros(len(self.system.columns))
        objective[columns] = -sign
        self.programs += 1
        finite = [b for b in (self.system.low, self.system.high) for b in np.abs(b[np.isfinite(b)]).tolist() if b > 0]
        # Numbers of all sizes: where the solver is at a loss in one unit it is asked again in others.
        for unit in (1.0, float(np.median(finite or [1.0])), float(np.max(finite or [1.0])), self.unit):
            found = self._solve(objective, 1.0 if self.integer else unit)
            if found is not None:
                return found
        raise ArithmeticError("The solver failed in all units.")

    def _solve(self, objective: np.ndarray, unit: float) -> float | None:
        """The optimum of one program in a unit, infinite if there is none; None if the solver failed."""
        s = self.system
        low, high = np.maximum(s.low, -self.limit) / unit, np.minimum(s.high, self.limit) / unit
        rows = [LinearConstraint(s.rows, s.row_low / unit, s.row_high / unit)] if s.rows.shape[0] else []
        found = milp(objective, bounds=Bounds(low, high), constraints=rows, integrality=np.full(len(low), self.integer))
        if found.status == 3 or "nbounded" in found.message:  # the true table is feasible
            return float(np.inf)
        if found.x is None:
            return None
        table = np.round(found.x) if self.integer else found.x * unit
        if not self._agrees(table):
            return None
        self.met.append(table)
        return max(-float(found.fun) * unit, 0.0)

    def _agrees(self, table: np.ndarray) -> bool:
        """Whether a table that the solver found keeps all bounds, to within rounding."""
        s, close = self.system, NOISE * max(self.unit, 1e-3 * float(np.abs(table).max(initial=0.0)))
        sums = s.rows @ table
        bounded = ((table >= s.low - close) & (table <= s.high + close)).all()
        return bool(bounded and ((sums >= s.row_low - close) & (sums <= s.row_high + close)).all())

    def reaches(self, columns: np.ndarray, sign: int, distance: float) -> bool:
        """Whether the sum of these cells can be so far from the truth; without a program if a table met before shows it."""
        wanted = distance - NOISE * max(self.unit, distance)
        if distance <= 0 or any(sign * float(table[columns].sum()) >= wanted for table in self.met):
            return True
        return self.furthest(columns, sign) >= wanted

    def moves(self, columns: np.ndarray) -> bool:
        """Whether the sum of these cells can be anything but the truth."""
        least = self.unit * (1.0 if self.integer else NOISE * 10)
        return any(abs(float(table[columns].sum())) >= least for table in self.met) or any(
            self.furthest(columns, sign) >= least for sign in (1, -1)
        )


def shared(system: System, unit: float, largest: float) -> tuple[Attacker, Attacker]:
    """The linear attacker whose deviations are limited, for good numbers, and the one without limits who has the last word."""
    return Attacker(system, unit, limit=LIMIT * max(largest, unit)), Attacker(system, unit)
