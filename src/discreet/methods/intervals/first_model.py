"""The whole problem as one program, for problems small enough to be sure of the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, FloatArray
from discreet.methods.context import Run
from discreet.methods.core.compact_model import CompactModel, Limits
from discreet.methods.core.cutting_planes import INTEGER_PROGRAM_GAP, Infeasible, status_of
from discreet.methods.intervals.intervals import check_sides
from discreet.methods.intervals.master import LEAST_WIDTH
from discreet.methods.intervals.plan import audited
from discreet.methods.intervals.prepare import prepared
from discreet.methods.intervals.setting import IntervalSetting, Sides, no_safe_intervals
from discreet.methods.method import Traits, option
from discreet.problem import Problem
from discreet.protection import Protection


@dataclass(frozen=True)
class IntervalsFirstModel:
    """Salazar-González (2002), figure 6: an oracle for small problems and for teaching; hopeless beyond a few hundred cells.

    For each attacker, each protected cell ``p`` and each side there are deviations ``f`` of all cells from the true table to one
    that the attacker must hold possible: ``A f = 0``, within what the attacker knows and within the intervals,
    ``−z⁻ ≤ f ≤ z⁺``, with ``f_p`` as large as the protection level. The deviations of both sides together reach the sliding
    level. Levels of free cells count only if these get an interval: a binary says whether they do.
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
        z, bound = _cheapest(setting, run)
        run.progress.update(1)
        bound, cost = min(bound, setting.cost(z)), setting.cost(z)
        status = status_of(cost, bound, run.budget, finished=True, solver_gap=INTEGER_PROGRAM_GAP)
        return audited(setting, z, self.rounded, run, self.name, status, bound, symmetric=True)


def _cheapest(setting: IntervalSetting, run: Run) -> tuple[FloatArray, float]:
    """Widths and a bound on their cost; columns are widths, what is missing to the least one, choices, then deviations."""
    c = len(setting.cells)
    conditional = setting.conditional()
    choices = np.unique([one.cell for by_attacker in conditional for one in by_attacker]).astype(np.int64)
    k, each = len(choices), sparse.csr_array(sparse.eye_array(c, format="csr"))
    model = CompactModel()
    cap = np.where(setting.settled, np.inf, setting.cap)
    width = [model.columns(np.zeros(c), cap[side], setting.weight[side]) for side in (DOWN, UP)]
    missing = model.columns(np.zeros(c), np.full(c, np.inf), setting.weight.min(axis=0))
    chosen = model.columns(np.zeros(k), np.ones(k), integral=True)
    model.rows([(width[DOWN], each), (width[UP], each), (missing, each)], setting.floor)
    for side in (DOWN, UP):  # no width if a free cell is not chosen
        most = sparse.diags_array(-setting.cap[side, choices])
        model.rows([(width[side], each[choices]), (chosen, most)], most=0.0)
    limited = np.flatnonzero(~setting.settled)
    within, zero = sparse.csr_array(each[limited]), np.zeros(len(limited))
    limits = Limits(limited, (zero, zero), ([(width[DOWN], within)], [(width[UP], within)]))
    choice_of = {cell: chosen + at for at, cell in enumerate(choices.tolist())}
    for slack, always, more in zip(setting.slacks, setting.requirements, conditional, strict=True):
        model.require([*always, *more], setting.relations, slack, limits, choice_of)
    model.load(run.seed)
    try:
        solution = model.solve(run.budget)
    except Infeasible:
        raise no_safe_intervals(setting) from None
    z = solution.primal[: 2 * c].reshape(2, -1).copy()
    z[:, choices] *= solution.primal[chosen : chosen + k] > 0.5
    return np.where(z < LEAST_WIDTH, 0.0, z), solution.bound * setting.price
