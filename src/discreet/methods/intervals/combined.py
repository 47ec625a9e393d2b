"""Intervals that are few, or not too narrow: whether a cell gets one is a choice, and choices make an integer program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.audit.evidence import DOWN, UP
from discreet.audit.flow import network
from discreet.audit.propagate import propagate
from discreet.errors import NoSafePatternError
from discreet.methods.intervals.master import Cut
from discreet.methods.intervals.search import Search
from discreet.methods.intervals.setting import Setting
from discreet.problem import BoolArray, Status
from discreet.relations import FloatArray
from discreet.run import Run
from discreet.solvers import HighsModel, Outcome, Solution

RELAXED = 0.3  # of the time for the program without choices
FARTHER = 100.0  # levels that a cell moves by at most where relations are not those of a network
PROVEN = 1e-6  # share of the cost that a solver may leave open


class Combined:
    """Section 4.3: the cuts of the linear program, and a binary for each free cell that says whether it gets an interval.

    Integer programs and the cuts that their solutions miss, in turn. What is chosen is always worked out anew by a linear
    program over the chosen cells alone, so that a binary that is only nearly 0 lets nothing through.
    """

    def __init__(self, setting: Setting, run: Run, at_most: int | None, fixed: float) -> None:
        self.relaxed = Search(setting, Run(run.seed, run.budget.share(RELAXED), run.progress), conditional=False)
        self.s = self.setting = setting
        self.run, self.at_most, self.fixed = run, at_most, fixed
        problem = setting.problem
        self.free = np.flatnonzero(problem.status[setting.cells] == Status.FREE)
        self.conditional = setting.conditional(problem.status == Status.FREE)
        self.anyway = fixed * float(problem.cost[problem.primaries].sum())
        self.z: FloatArray | None = None
        self.cost, self.bound = np.inf, 0.0
        self.programs = 0
        if at_most is not None and at_most < len(problem.primaries):
            raise NoSafePatternError(
                f"There are {len(problem.primaries):,} sensitive cells, and each needs an interval: at most {at_most:,} are "
                "too few.",
                problem.table.labels(problem.primaries),
            )

    def work(self) -> dict[str, int]:
        return {**self.relaxed.work(), "integer_programs": self.programs}

    def search(self) -> str:
        """How it ended."""
        self.relaxed.search()
        self.bound = self.relaxed.bound + self.anyway
        if self.relaxed.z is not None:
            self._offer(np.asarray(self.relaxed.z.any(axis=0))[self.free])
        model = self._load()
        self.run.progress.stage("choices", 0)
        while True:
            solution = self._solve(model)
            if solution.outcome is Outcome.INFEASIBLE:
                return self._nothing_better()
            self.bound = max(self.bound, min(solution.bound * self.s.price + self.anyway, self.cost))
            if len(solution.primal) != self.width:
                return "time_limit"
            x = solution.primal[self.first : self.first + len(self.free)] > 0.5
            self._offer(x)
            if self.cost - self.bound <= max(self.run.budget.gap, PROVEN) * self.cost:
                exact = self.cost - self.bound <= PROVEN * self.cost
                return "optimal" if exact else "within_gap"
            if solution.outcome is Outcome.STOPPED or self.run.budget.over:
                return "time_limit"
            self._learn(model, solution, x)
            self.run.progress.update(self.programs, f"{int(x.sum()):,} chosen")

    def _nothing_better(self) -> str:
        if self.z is None:
            few = "" if self.at_most is None else f" with {self.at_most:,} intervals or fewer"
            raise NoSafePatternError(
                f"No intervals protect all cells at once{few}. Allow more intervals, widen the bounds people are said to know, "
                "or lower protection levels, also of cells that need protection only if they get an interval.",
                self.s.problem.table.labels(self.s.problem.primaries),
            )
        self.bound = self.cost
        return "optimal"

    # -- the integer program -----------------------------------------------------------------------------------

    def _load(self) -> HighsModel:
        """Columns of the linear program, then choices, then what is missing to the least width."""
        master, s, k, c = self.relaxed.master, self.s, len(self.free), len(self.s.cells)
        self.first, self.width = master.width, master.width + 2 * k
        wide = s.width[s.cells][self.free]
        blocks = [sparse.hstack([rows, sparse.csr_array((rows.shape[0], 2 * k))]) for rows in master.rows]
        low, high = list(master.row_low), list(master.row_high)
        cap = self._cap()
        for side in (DOWN, UP):
            blocks.append(self._rows([(side * c + self.free, np.ones(k)), (self.first + np.arange(k), -cap[side])]))
            low, high = [*low, np.full(k, -np.inf)], [*high, np.zeros(k)]
        both = [(side * c + self.free, np.ones(k)) for side in (DOWN, UP)]
        blocks.append(
            self._rows([*both, (self.first + np.arange(k), -wide), (self.first + k + np.arange(k), np.ones(k))])
        )
        low, high = [*low, np.zeros(k)], [*high, np.full(k, np.inf)]
        for one in (demand for own in self.conditional for demand in own):
            terms = [(np.array([side * c + one.cell]), np.ones(1)) for side in one.sides]
            blocks.append(self._rows([*terms, (self._choice(one.cell), np.array([-one.level]))]))
            low, high = [*low, np.zeros(1)], [*high, np.full(1, np.inf)]
        if self.at_most is not None:
            count = sparse.csr_array(
                (np.ones(k), (np.zeros(k, dtype=int), self.first + np.arange(k))), shape=(1, self.width)
            )
            blocks.append(count)
            low, high = [*low, np.zeros(1)], [*high, np.array([self.at_most - len(s.problem.primaries)], dtype=float)]
        model = HighsModel(seed=self.run.seed)
        fixed = self.fixed * s.problem.cost[s.cells][self.free] / s.price
        kind = np.zeros(self.width, dtype=bool)
        kind[self.first : self.first + k] = True
        model.load(
            np.r_[master.cost, fixed, s.weight.min(axis=0)[self.free]],
            np.r_[master.low, np.zeros(2 * k)],
            np.r_[master.high, np.ones(k), np.full(k, np.inf)],
            sparse.csr_array(sparse.vstack(blocks)),
            np.concatenate(low),
            np.concatenate(high),
            kind,
        )
        return model

    def _rows(self, terms: Sequence[tuple[NDArray[np.integer], FloatArray]]) -> sparse.csr_array:
        """One row each of these columns and weights side by side."""
        k = len(terms[0][0])
        place = np.tile(np.arange(k), len(terms)), np.concatenate([column for column, _ in terms])
        return sparse.csr_array((np.concatenate([weight for _, weight in terms]), place), shape=(k, self.width))

    def _choice(self, cell: int) -> NDArray[np.integer]:
        return np.asarray(self.first + np.searchsorted(self.free, [cell]))

    def _cap(self) -> FloatArray:
        """How far free cells move at most."""
        s = self.s
        low, high = propagate(s.relations, -s.cap[DOWN], s.cap[UP])
        levels = [one.level for own in (*s.demands, *self.conditional) for one in own]
        far = max(levels, default=0.0) * (1.0 if network(s.relations) is not None else FARTHER)
        return np.asarray(np.minimum(np.stack([-low, high]), far)[:, self.free])

    def _solve(self, model: HighsModel) -> Solution:
        budget = self.run.budget
        self.programs += 1
        left = None if budget.seconds is None else max(budget.seconds - budget.spent, 0.0)
        solution = model.solve(left, gap=max(budget.gap / 2, PROVEN / 10))
        if solution.outcome in (Outcome.FAILED, Outcome.UNBOUNDED):
            raise ArithmeticError(f"HiGHS could not solve the integer program: {solution.outcome.value}.")
        return solution

    # -- what its solutions are worth --------------------------------------------------------------------------

    def _offer(self, x: BoolArray) -> None:
        """The cheapest intervals of chosen cells and primaries alone, if they protect all."""
        problem, s = self.s.problem, self.s
        if self.at_most is not None and x.sum() + len(problem.primaries) > self.at_most:
            return
        chosen = np.zeros(len(problem), dtype=bool)
        chosen[s.cells[self.free[x]]] = True
        barred = s.barred | ((problem.status == Status.FREE) & ~chosen)
        setting = Setting(problem, s.sides, barred, s.share, chosen)
        search = Search(setting, Run(self.run.seed, self.run.budget))
        try:
            search.search()
        except NoSafePatternError:
            return
        if search.z is None:
            return
        setting.forget(search.z)
        wide = setting.cells[search.z.any(axis=0) & ~setting.primary & ~setting.hidden]
        cost = setting.cost(search.z) + self.anyway + self.fixed * float(problem.cost[wide].sum())
        if cost < self.cost:
            self.setting, self.z, self.cost = setting, search.z, cost

    def _learn(self, model: HighsModel, solution: Solution, x: BoolArray) -> None:
        """Cuts that a solution misses; where there are none, some other cell must be chosen."""
        c = len(self.s.cells)
        z = solution.primal[: 2 * c].reshape(2, -1).copy()
        z[:, self.free] *= x
        z[z < 0] = 0.0
        cuts: list[Cut] = []
        chosen = set(self.free[x].tolist())
        for attack, own, more in zip(self.relaxed.attacks, self.s.demands, self.conditional, strict=True):
            asked = own + [one for one in more if one.cell in chosen]
            found = attack.separate(z, asked)
            cuts += found[0] if found is not None else []
        rows, least = [self._row(cut) for cut in cuts], [self._least(cut) for cut in cuts]
        if not cuts:
            others = np.zeros((1, self.width))
            others[0, self.first : self.first + len(self.free)] = ~x
            rows, least = [sparse.csr_array(others)], [1.0]
        model.add_rows(sparse.csr_array(sparse.vstack(rows)), np.array(least), np.full(len(rows), np.inf))

    def _row(self, cut: Cut) -> sparse.csr_array:
        columns, weight = cut.columns, cut.weight
        if cut.level and cut.cell in self.free:  # counts only if the cell is chosen
            columns, weight = np.append(columns, self._choice(cut.cell)), np.append(weight, -cut.level)
        return sparse.csr_array((weight, (np.zeros(len(columns), dtype=int), columns)), shape=(1, self.width))

    def _least(self, cut: Cut) -> float:
        return cut.least - (cut.level if cut.level and cut.cell in self.free else 0.0)
