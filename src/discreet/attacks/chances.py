"""How likely a publication is, given the table, for methods whose chances are known: others are run again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.attacks.public import Public
from discreet.data.table import Table
from discreet.methods.counts.cell_key import CellKey
from discreet.methods.counts.ptable import PTable, perturbation_table
from discreet.methods.method import Method
from discreet.methods.rounding.grid import Multiples, bases
from discreet.methods.rounding.simple import RandomRounding
from discreet.problem import Problem, Status

Chance = Callable[[Problem, Public], float]


def chance_of(method: Method) -> Chance | None:
    """The chance of a publication as a function of the problem; None if it is not known for this method."""
    made = CHANCES.get(type(method))
    return None if made is None else made(method)


def _rounded(method: RandomRounding) -> Chance:
    """Every cell goes up with the part of a base that it has beyond the multiple below, independently of all others."""

    def chance(problem: Problem, public: Public) -> float:
        multiples = Multiples.of(problem.table.value, bases(method.base, len(problem)))
        down, up = (_is(multiples.amount(np.full(len(problem), steps), 0.0), public) for steps in (0.0, 1.0))
        likely = np.where(up & ~down, multiples.part, np.where(down, 1 - multiples.part, 0.0))
        return _together(likely, problem, public)

    return chance


def _perturbed(method: CellKey) -> Chance | None:
    """Changes as in the perturbation table; totals of a single cell have its key, all other keys are taken as independent."""
    if method.restore:
        return None
    table = perturbation_table(method.deviation, method.variance, method.skip)

    def chance(problem: Problem, public: Public) -> float:
        count = np.rint(problem.table.value).astype(np.int64)
        likely = _change(table, count, public.published)
        likely[_repeats(problem.table)] = 1.0
        return _together(likely, problem, public)

    return chance


CHANCES: Mapping[type[Any], Callable[[Any], Chance | None]] = {RandomRounding: _rounded, CellKey: _perturbed}


def _change(table: PTable, count: np.ndarray, published: FloatArray) -> FloatArray:
    change = np.nan_to_num(published).astype(np.int64) - count
    possible = np.abs(change) <= table.deviation
    row = np.minimum(count, len(table.probability) - 1)
    place = np.clip(change + table.deviation, 0, 2 * table.deviation)
    return np.where(possible, table.probability[row, place], 0.0)


def _together(likely: FloatArray, problem: Problem, public: Public) -> float:
    """Cells that must be published have their values, and suppressed ones none, whatever is drawn."""
    suppressed = np.isnan(public.published)
    if np.any(suppressed != (problem.status == Status.SUPPRESSED)):
        return 0.0
    fixed = problem.status == Status.PUBLISHED
    likely = np.where(fixed, _is(problem.table.value, public), likely)
    return float(np.prod(likely[~suppressed]))


def _is(value: FloatArray, public: Public) -> BoolArray:
    return np.isclose(value, public.published, rtol=1e-9, atol=1e-9)


def _repeats(table: Table) -> BoolArray:
    """Totals with a single part that is not zero: they are that cell, and tell nothing more."""
    parts = table.relations.maximum(0.0)
    totals = (parts - table.relations).tocoo()
    single = (parts @ (table.value != 0).astype(float)) == 1
    found = np.zeros(len(table), dtype=bool)
    found[totals.col[single[totals.row]]] = True
    return found
