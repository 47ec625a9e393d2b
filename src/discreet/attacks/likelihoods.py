"""The likelihood of a publication given the table, for methods with known probabilities."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.attacks.public import Public
from discreet.data.table import Table
from discreet.methods.counts.cell_key import CellKey
from discreet.methods.counts.ptable import PTable, perturbation_table
from discreet.methods.method import Method
from discreet.methods.rounding.grid import Base, Multiples, bases
from discreet.methods.rounding.simple import RandomRounding
from discreet.problem import Problem, Status

Likelihood = Callable[[Problem, Public], float]


def likelihood_of(method: Method) -> Likelihood | None:
    """The probability of a publication as a function of the problem; None if it is not known for this method."""
    if type(method) is RandomRounding:
        return partial(_random_rounding, method.base)
    if type(method) is CellKey and not method.restore:
        return partial(_cell_key, perturbation_table(method.deviation, method.variance, method.skip))
    return None


def _random_rounding(base: float | Base, problem: Problem, public: Public) -> float:
    """Each cell is rounded up with probability (value − multiple below)/base, independently of all others."""
    multiples = Multiples.of(problem.table.value, bases(base, len(problem)))
    down, up = (_equals(multiples.amount(np.full(len(problem), steps), 0.0), public) for steps in (0.0, 1.0))
    probability = np.where(up & ~down, multiples.part, np.where(down, 1 - multiples.part, 0.0))
    return _product(probability, problem, public)


def _cell_key(table: PTable, problem: Problem, public: Public) -> float:
    """By the perturbation table. A total of a single nonzero cell has the key of that cell; other keys count as independent."""
    count = np.rint(problem.table.value).astype(np.int64)
    change = np.nan_to_num(public.published).astype(np.int64) - count
    row = np.minimum(count, len(table.probability) - 1)
    column = np.clip(change + table.deviation, 0, 2 * table.deviation)
    probability = np.where(np.abs(change) <= table.deviation, table.probability[row, column], 0.0)
    probability[_copies(problem.table)] = 1.0
    return _product(probability, problem, public)


def _product(probability: FloatArray, problem: Problem, public: Public) -> float:
    """The product over all published cells; statuses published and suppressed are met with certainty."""
    suppressed = np.isnan(public.published)
    if np.any(suppressed != (problem.status == Status.SUPPRESSED)):
        return 0.0
    fixed = problem.status == Status.PUBLISHED
    probability = np.where(fixed, _equals(problem.table.value, public), probability)
    return float(np.prod(probability[~suppressed]))


def _equals(value: FloatArray, public: Public) -> BoolArray:
    return np.isclose(value, public.published, rtol=1e-9, atol=1e-9)


def _copies(table: Table) -> BoolArray:
    """Totals with a single nonzero addend, which they repeat."""
    addends = table.relations.maximum(0.0)
    totals = (addends - table.relations).tocoo()
    single = (addends @ (table.value != 0).astype(float)) == 1
    found = np.zeros(len(table), dtype=bool)
    found[totals.col[single[totals.row]]] = True
    return found
