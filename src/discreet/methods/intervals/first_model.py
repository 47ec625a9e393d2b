"""The whole problem as one program, for problems small enough to be sure of the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.intervals.intervals import check_sides
from discreet.methods.intervals.plan import audited
from discreet.methods.intervals.prepare import prepared
from discreet.methods.intervals.setting import IntervalSetting, Sides, WidthRequirement
from discreet.methods.method import Traits, option
from discreet.problem import Problem, Status
from discreet.protection import Protection
from discreet.solvers import Outcome, Solution, new_model


@dataclass(frozen=True)
class IntervalsFirstModel:
    """Salazar-González (2002), figure 6: an oracle for small problems and for teaching; hopeless beyond a few hundred cells.

    For each attacker, each protected cell ``p`` and each side there are flows ``f`` over all cells, the difference between the
    true table and one that the attacker must hold possible: ``A f = 0``, within what the attacker knows and within the
    intervals, ``−z⁻ ≤ f ≤ z⁺``, with ``f_p`` as large as the protection level. Two flows together reach a sliding level. Levels
    of free cells count only if these get an interval: a binary says whether they do.
    """

    up: float = option(1.0, "as in `intervals`")
    down: float = option(1.0, "as in `intervals`")
    rounded: bool = option(True, "as in `intervals`")

    name = "intervals-first-model"
    traits = Traits(kind="intervals", proves_bound=True)

    def __post_init__(self) -> None:
        check_sides(self.up, self.down)

    def protect(self, problem: Problem, run: Run) -> Protection:
        setting = prepared(problem, Sides(self.up, self.down))
        run.progress.stage("solve", 1)
        model = _Model(setting, run.seed)
        solution = model.solve(run.budget.left, run.budget.gap)
        run.progress.update(1)
        z = model.widths(solution)
        bound = min(solution.bound * setting.price, setting.cost(z))
        status = "optimal" if bound >= setting.cost(z) * (1 - 1e-6) else "within_gap"
        return audited(setting, z, self.rounded, run, self.name, status, bound, symmetric=True)


class _Model:
    """Figure 6: widths down and up, what is missing to the least width, choices of free cells, then flows."""

    def __init__(self, setting: IntervalSetting, seed: int) -> None:
        self.s, c = setting, len(setting.cells)
        free = setting.problem.status == Status.FREE
        conditional = setting.conditional(free)
        self.choices = np.unique([one.cell for own in conditional for one in own]).astype(np.int64)
        self.head = 3 * c + len(self.choices)  # columns before the flows
        blocks: list[tuple[sparse.csr_array, sparse.csr_array, FloatArray, FloatArray]] = [self._frame()]
        bounds: list[tuple[FloatArray, FloatArray]] = []
        for number, both in enumerate(zip(setting.requirements, conditional, strict=True)):
            for one in (requirement for own in both for requirement in own):
                slack = setting.slacks[number]
                bounds += [(-slack[DOWN], slack[UP])] * len(one.sides)
                blocks.append(self._flows(one, self._choice(one.cell)))
        self.model = new_model(seed=seed)
        head = [block[0] for block in blocks]
        flows = [block[1] for block in blocks[1:]]
        frame = sparse.csr_array((blocks[0][0].shape[0], c * len(bounds)))
        below = sparse.block_diag(flows) if flows else sparse.csr_array((0, 0))
        rows = sparse.hstack([sparse.vstack(head), sparse.vstack([frame, below])], format="csr")
        pad = setting.weight.min(axis=0)
        cost = np.r_[setting.weight.ravel(), pad, np.zeros(len(self.choices) + c * len(bounds))]
        lower = np.r_[np.zeros(self.head), *(low for low, _ in bounds)]
        cap = np.where(setting.settled, np.inf, setting.cap)
        upper = np.r_[cap.ravel(), np.full(c, np.inf), np.ones(len(self.choices)), *(high for _, high in bounds)]
        integer = np.zeros(len(cost), dtype=bool)
        integer[3 * c : self.head] = True
        self.model.load(
            cost,
            lower,
            upper,
            sparse.csr_array(rows),
            np.concatenate([block[2] for block in blocks]),
            np.concatenate([block[3] for block in blocks]),
            integer,
        )

    def _choice(self, cell: int) -> int:
        """The column that says whether a free cell gets an interval; −1 if it needs protection anyway."""
        at = int(np.searchsorted(self.choices, cell))
        return 3 * len(self.s.cells) + at if at < len(self.choices) and self.choices[at] == cell else -1

    def _frame(self) -> tuple[sparse.csr_array, sparse.csr_array, FloatArray, FloatArray]:
        """Least widths, and no width where a free cell gets no interval."""
        c, k = len(self.s.cells), len(self.choices)
        eye = sparse.eye_array(c, format="csr")
        wide = sparse.hstack([eye, eye, eye, sparse.csr_array((c, k))], format="csr")
        links = sparse.lil_array((2 * k, self.head))
        for place, cell in enumerate(self.choices.tolist()):
            for side in (DOWN, UP):
                links[2 * place + side, side * c + cell] = 1.0
                links[2 * place + side, 3 * c + place] = -self.s.cap[side, cell]
        rows = sparse.csr_array(sparse.vstack([wide, sparse.csr_array(links)]))
        low, high = np.r_[self.s.floor, np.full(2 * k, -np.inf)], np.r_[np.full(c, np.inf), np.zeros(2 * k)]
        return rows, sparse.csr_array((0, 0)), low, high

    def _flows(
        self, one: WidthRequirement, choice: int
    ) -> tuple[sparse.csr_array, sparse.csr_array, FloatArray, FloatArray]:
        """Flows that keep all relations and intervals and move the cell far enough."""
        c, m, sides = len(self.s.cells), self.s.relations.shape[0], len(one.sides)
        inside = np.flatnonzero(~self.s.settled)  # what is suppressed anyway has no width
        eye = sparse.csr_array(sparse.eye_array(c, format="csr")[inside])
        each = sparse.vstack([self.s.relations, eye, eye])
        zero, endless = np.zeros(len(inside)), np.full(len(inside), np.inf)
        width = [self._widths(inside, side) for side in (UP, DOWN)]
        head = sparse.vstack([sparse.csr_array((m, self.head)), -width[0], width[1]])
        own = np.zeros((1, c * sides))
        for k, side in enumerate(one.sides):
            own[0, k * c + one.cell] = SIGN[side]
        last = np.zeros((1, self.head))
        if choice >= 0:
            last[0, choice] = -one.level
        rows = sparse.vstack([sparse.block_diag([each] * sides), sparse.csr_array(own)], format="csr")
        top = sparse.vstack([*[head] * sides, sparse.csr_array(last)], format="csr")
        low = np.r_[np.tile(np.r_[np.zeros(m), -endless, zero], sides), one.level if choice < 0 else 0.0]
        high = np.r_[np.tile(np.r_[np.zeros(m), zero, endless], sides), np.inf]
        return sparse.csr_array(top), sparse.csr_array(rows), low, high

    def _widths(self, cells: IntArray, side: int) -> sparse.csr_array:
        place = np.arange(len(cells)), side * len(self.s.cells) + cells
        return sparse.csr_array((np.ones(len(cells)), place), shape=(len(cells), self.head))

    def solve(self, seconds: float | None, gap: float) -> Solution:
        solution = self.model.solve(seconds, gap=gap)
        if solution.outcome is Outcome.OPTIMAL:
            return solution
        labels = self.s.problem.table.labels(self.s.problem.primaries)
        if solution.outcome is Outcome.INFEASIBLE:
            raise NoSafePatternError(
                "No intervals protect all cells at once. Let more cells have intervals, widen the bounds people are said to "
                "know, or lower protection levels, also of cells that need protection only if they get an interval.",
                labels,
            )
        raise NoSafePatternError("The time limit ended before all cells were protected. Allow more time.", labels)

    def widths(self, solution: Solution) -> FloatArray:
        c = len(self.s.cells)
        z = solution.primal[: 2 * c].reshape(2, -1).copy()
        z[:, self.choices] *= solution.primal[3 * c : self.head] > 0.5
        return np.where(z < 1e-9, 0.0, z)
