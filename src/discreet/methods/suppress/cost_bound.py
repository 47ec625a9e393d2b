"""A lower bound on the cost of all safe patterns, with a proof that needs no solver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.inference.cut_proofs import CapacityProof, CutProof, posed_for_suppression
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.suppress.optimal.search import EQUAL_COST_SHARE, MAX_CELLS_FOR_PATTERNS, PatternSearch
from discreet.methods.suppress.optimal.table_bounds import TableBounds
from discreet.problem import Problem, Status


@dataclass(frozen=True, eq=False, repr=False)
class CostBound:
    """No safe pattern costs less than ``bound``. ``proofs`` are inequalities of safe patterns, each with its multiplier."""

    bound: float
    proofs: Sequence[tuple[CutProof, Fraction]]

    def __repr__(self) -> str:
        return f"CostBound({len(self.proofs):,} inequalities)"


def cost_bound(problem: Problem, run: Run | None = None) -> CostBound:
    """A lower bound on the cost of all safe patterns, those cells included that are suppressed in each.

    First the tables of a hierarchy one by one, then, unless there are too many cells, all together.
    """
    run, problem = run or Run(), posed_for_suppression(problem)
    with run.budget.interruptible():
        tables = TableBounds(problem, run)
        tables.climb()
    best = _proven(problem, tables.cuts())
    if len(problem) > MAX_CELLS_FOR_PATTERNS or run.budget.over:
        return best
    search = PatternSearch(problem, run, proves=True)
    with run.budget.interruptible():
        search.add([cut for cut, _ in tables.cuts()])
        search.drop_met_requirements()
        search.converge(np.inf)
    return max(best, _proven(problem, search.multipliers()), key=lambda one: one.bound)


def _proven(problem: Problem, cuts: Iterable[tuple[Cut, float]]) -> CostBound:
    """The bound that cuts prove, each with its multiplier; cuts without a proof are left out."""
    bound, used = (
        float(problem.cost[np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))].sum()),
        problem.cost * 0,
    )
    proofs = list[tuple[CutProof, Fraction]]()
    for cut, multiplier in cuts:
        if cut.proof is not None:
            bound += multiplier * cut.least
            used[cut.columns] += multiplier * cut.weight
            # The proof of a cover is about the number of its cells.
            is_cover = isinstance(cut.proof, CapacityProof) and cut.proof.cover is not None
            proofs.append((cut.proof, Fraction(multiplier * (float(cut.weight[0]) if is_cover else 1.0))))
    return CostBound(
        max((bound - float(np.maximum(used - problem.cost, 0.0).sum())) * (1 - EQUAL_COST_SHARE), 0.0), proofs
    )
