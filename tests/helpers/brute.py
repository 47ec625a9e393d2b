"""The cheapest safe patterns of small problems, by trying them in order of cost.

Each is judged by plain linear programs of GLPK in differences from the true table, one a cell and side, with no bound on
cells of which nothing is known: no code is shared with the audit, with any method, or with HiGHS.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import swiglpk as glpk
from numpy.typing import NDArray

from discreet.arrays import BoolArray, FloatArray
from discreet.attackers import Attacker
from discreet.problem import Problem, Status

EXACT = ["first-model", "optimal"]  # the methods that must find what enumeration finds
TIE = 1e-9  # costs that differ by a smaller share are equal
SHORT = 1e-7  # share of a level that may be missing
STILL = 1e-12  # in levels: what moves less does not move


@dataclass(frozen=True)
class Optimum:
    cost: float  # of all suppressed cells
    patterns: list[BoolArray]  # all that cost so much


def cheapest(problem: Problem) -> Optimum | None:
    """The least cost of a safe pattern and all patterns that attain it; None if there is no safe pattern.

    For up to about 14 free cells; for more if few patterns are cheaper than the cheapest safe one.
    """
    needs = requirements(problem)
    everything = (1 << len(problem.free)) - 1
    if not all(need.met(everything) for need in needs if not need.conditional):
        return None
    forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
    best, found = np.inf, []
    for cost, mask in in_order_of_cost(problem.cost[problem.free]):
        if cost > best + TIE * max(1.0, best):
            break
        violated = next((need for need in needs if need.counts(mask) and not need.met(mask)), None)
        if violated is None:
            best = min(best, cost)
            found.append(forced | _hidden(problem, mask))
        else:  # it will be the likeliest to be missed by the next one, too
            needs.remove(violated)
            needs.insert(0, violated)
    return Optimum(best + float(problem.cost[forced].sum()), found) if found else None


def in_order_of_cost(cost: FloatArray) -> Iterator[tuple[float, int]]:
    """All subsets as bit masks, the cheapest first."""
    order = np.argsort(cost, kind="stable").tolist()
    price = cost[order].tolist()
    yield 0.0, 0
    # Each subset comes from one other: its dearest member moves on to the next dearer, or that one is added.
    waiting = [(price[0], 1 << order[0], 0)] if order else []
    while waiting:
        total, mask, last = heapq.heappop(waiting)
        yield total, mask
        if last + 1 < len(order):
            added = 1 << order[last + 1]
            heapq.heappush(waiting, (total + price[last + 1], mask | added, last + 1))
            moved = mask & ~(1 << order[last]) | added
            heapq.heappush(waiting, (total - price[last] + price[last + 1], moved, last + 1))


def _hidden(problem: Problem, mask: int) -> BoolArray:
    suppressed = np.zeros(len(problem), dtype=bool)
    suppressed[problem.free] = [mask >> k & 1 for k in range(len(problem.free))]
    return suppressed


def is_safe(problem: Problem, suppressed: BoolArray) -> bool:
    """Whether a pattern keeps up all levels against all attackers."""
    forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
    if np.any(forced & ~suppressed) or np.any(suppressed & (problem.status == Status.PUBLISHED)):
        return False
    for who in problem.attackers():
        program = Program(problem, who)
        for p in np.flatnonzero(problem.protected(who, suppressed)).tolist():
            levels = problem.levels(who)[:, p]
            if levels.any() and not enough(program.reach(p, levels, suppressed), levels):
                return False
    return True


def enough(reach: tuple[float, float], levels: FloatArray) -> bool:
    down, up = reach
    lower, upper, sliding = levels * (1 - SHORT)
    return bool(down >= lower and up >= upper and down + up >= sliding)


class Requirement:
    """The levels of one cell against one attacker, and which patterns are known to keep them up or to miss them.

    Whether they do is monotone: what more is suppressed gives more slack, and never less. That holds for conditional levels
    as well; only whether they count is not monotone.
    """

    def __init__(self, problem: Problem, program: Program, p: int, levels: FloatArray) -> None:
        self.problem, self.program, self.p, self.levels = problem, program, p, levels
        self.conditional = bool(problem.status[p] == Status.FREE)
        self.forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        self.own = 1 << problem.free.tolist().index(p) if self.conditional else 0
        self.enough: list[int] = []  # patterns that suffice
        self.others: list[int] = []  # patterns of which at least one cell is needed
        self.by_cost = np.argsort(problem.cost[problem.free], kind="stable").tolist()

    def counts(self, mask: int) -> bool:
        return mask & self.own == self.own

    def met(self, mask: int) -> bool:
        if not all(mask & some for some in self.others):
            return False
        if any(mask & some == some for some in self.enough) or self._ask(mask):
            return True
        # As much more as still does not help: one answer for many patterns, the cheap ones first.
        for bit in (1 << k for k in self.by_cost):
            if (
                not mask & bit
                and not any((mask | bit) & some == some for some in self.enough)
                and not self._ask(mask | bit)
            ):
                mask |= bit
        self.others.append(((1 << len(self.by_cost)) - 1) & ~mask)
        return False

    def _ask(self, mask: int) -> bool:
        """A linear program for each side; what moves in them is enough, whatever else is suppressed."""
        if not enough(self.program.reach(self.p, self.levels, self.forced | _hidden(self.problem, mask)), self.levels):
            return False
        moved = self.program.moved[self.problem.free].tolist()
        self.enough.append(sum(1 << k for k, moves in enumerate(moved) if moves) | self.own)
        return True


def requirements(problem: Problem) -> list[Requirement]:
    found = []
    everything = problem.status != Status.PUBLISHED
    for who in problem.attackers():
        program, levels = Program(problem, who), problem.levels(who)
        for p in np.flatnonzero(problem.protected(who, everything)).tolist():
            if levels[:, p].any():
                found.append(Requirement(problem, program, p, levels[:, p]))
    return found


class Program:
    """One attacker's linear program over all cells, kept between questions."""

    def __init__(self, problem: Problem, who: Attacker) -> None:
        value, relations = problem.table.value, problem.table.relations
        self.down, self.up = np.maximum(value - who.lower, 0.0), np.maximum(who.upper - value, 0.0)
        self.moved: NDArray[np.bool_] = np.zeros(len(value), dtype=bool)
        glpk.glp_term_out(glpk.GLP_OFF)
        self.program = glpk.glp_create_prob()
        glpk.glp_set_obj_dir(self.program, glpk.GLP_MAX)
        m, n = relations.shape
        if m:
            glpk.glp_add_rows(self.program, m)
        glpk.glp_add_cols(self.program, n)
        for i in range(m):
            row = slice(int(relations.indptr[i]), int(relations.indptr[i + 1]))
            many = row.stop - row.start
            index, data = glpk.intArray(many + 1), glpk.doubleArray(many + 1)
            for k, (j, weight) in enumerate(zip(relations.indices[row], relations.data[row], strict=True)):
                index[k + 1], data[k + 1] = int(j) + 1, float(weight)
            glpk.glp_set_mat_row(self.program, i + 1, many, index, data)
            glpk.glp_set_row_bnds(self.program, i + 1, glpk.GLP_FX, 0.0, 0.0)
        self.how = glpk.glp_smcp()
        glpk.glp_init_smcp(self.how)
        self.how.tol_bnd = self.how.tol_dj = 1e-10

    def __del__(self) -> None:
        glpk.glp_delete_prob(self.program)

    def reach(self, p: int, levels: FloatArray, suppressed: BoolArray) -> tuple[float, float]:
        """How far a cell goes down and up, as far as its levels ask; ``moved`` says which cells do so with it."""
        unit = float(levels.max())
        for j, (out, down, up) in enumerate(zip(suppressed.tolist(), self.down / unit, self.up / unit, strict=True)):
            self._bound(j, -down if out else 0.0, up if out else 0.0)
        self.moved[:] = False
        ends = []
        for sign, level, slack in ((-1.0, levels[0], self.down[p]), (1.0, levels[1], self.up[p])):
            far = min(float(max(level, levels[2])), float(slack)) / unit if suppressed[p] else 0.0
            if far == 0:
                ends.append(0.0)
                continue
            self._bound(p, *((0.0, far) if sign > 0 else (-far, 0.0)))
            glpk.glp_set_obj_coef(self.program, p + 1, sign)
            ends.append(self._solve() * unit)
            glpk.glp_set_obj_coef(self.program, p + 1, 0.0)
            move = [glpk.glp_get_col_prim(self.program, j + 1) for j in range(len(suppressed))]
            self.moved |= np.abs(move) > STILL
        return ends[0], ends[1]

    def _solve(self) -> float:
        for _ in range(2):
            if glpk.glp_simplex(self.program, self.how) == 0 and glpk.glp_get_status(self.program) == glpk.GLP_OPT:
                return max(float(glpk.glp_get_obj_val(self.program)), 0.0)
            glpk.glp_std_basis(self.program)
        raise ArithmeticError("GLPK did not solve the attacker's program")

    def _bound(self, j: int, low: float, high: float) -> None:
        below, above = np.isfinite(low), np.isfinite(high)
        kinds = {(True, True): glpk.GLP_DB, (True, False): glpk.GLP_LO, (False, True): glpk.GLP_UP}
        kind = glpk.GLP_FX if low == high else kinds.get((bool(below), bool(above)), glpk.GLP_FR)
        glpk.glp_set_col_bnds(self.program, j + 1, kind, float(low) if below else 0.0, float(high) if above else 0.0)
