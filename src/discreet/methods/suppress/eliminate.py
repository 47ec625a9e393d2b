"""The clean-up: publish secondaries that are not needed, the costliest first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress as ignored
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray
from discreet.methods.context import Run
from discreet.methods.suppress.deviation_program import SURCHARGES, DeviationProgram
from discreet.methods.suppress.deviation_search import DeviationSearch, deviation_searches
from discreet.methods.suppress.evidence import KnownDeviations, find_deviations
from discreet.methods.suppress.relation_bounds import RelationBounds
from discreet.problem import Problem, Status
from discreet.progress import Budget, OutOfTime, with_hint

MIN_CELLS_FOR_LOCAL_SEARCH = 20_000  # suppressed: in larger patterns programs over all cells take too long
LOCAL_SEARCH_CELLS = (300, 2_000)  # around the cell in question, the smaller program first


def eliminate(
    problem: Problem, suppressed: BoolArray, evidence: Sequence[KnownDeviations], run: Run
) -> tuple[BoolArray, str]:
    """Publish every redundant secondary; the pattern is safe after each step, so the clean-up can end at any time.

    A secondary is redundant if every protected cell whose known deviations move it has other deviations without it, against
    each attacker. The search prefers deviations that move few free cells, so most steps need no search. As the pattern only
    shrinks, a cell that is needed stays needed: one pass is enough, unless a cell that needed protection itself is published.

    In large patterns deviations are only searched around a cell, and a cell not found to be redundant stays suppressed.
    """
    suppressed = suppressed.copy()
    price = np.where(problem.status == Status.FREE, problem.cost, 0.0)
    surcharges = SURCHARGES[-2:]  # any deviation will do, so the fastest programs are enough
    with run.budget.interruptible(), ignored(OutOfTime):  # the pattern is safe after every step
        found = deviation_searches(problem, suppressed, price, run.seed, surcharges)
        for search in found:
            search.within(run.budget)
        by_attacker = [_AttackerEvidence(*both) for both in zip(evidence, found, strict=True)]
        if not all(one.shows_all(suppressed, run.budget) for one in by_attacker):
            return suppressed, run.budget.ending if run.budget.over else "heuristic"
        if suppressed.sum() > MIN_CELLS_FOR_LOCAL_SEARCH:
            for search in found:
                if isinstance(search, DeviationProgram):
                    search.search_locally(*LOCAL_SEARCH_CELLS)
        again = True
        while again:
            again = False
            candidates = np.flatnonzero(suppressed & (problem.status == Status.FREE))
            candidates = candidates[np.lexsort((candidates, -problem.cost[candidates]))]
            left = int(suppressed.sum())
            run.progress.stage("clean up", len(candidates))
            for done, i in enumerate(candidates.tolist(), start=1):
                if run.budget.over:
                    return suppressed, run.budget.ending
                affected = [one for one in by_attacker if one.publish(i, suppressed)]
                ruled_out = any(one.ruled_out(i, suppressed) for one in affected)
                if not ruled_out and all(one.has_other(i, suppressed) for one in affected):
                    suppressed[i] = False
                    left -= 1
                    run.keep(suppressed)
                    again |= any(known.needs_protection[i] for known in evidence)
                else:
                    for one in by_attacker:
                        one.suppress_again(i)
                run.progress.update(done, with_hint(f"{left:,} suppressed", run.hint))
        return suppressed, "heuristic"
    return suppressed, run.budget.ending


class _AttackerEvidence:
    """The known deviations against one attacker, and the search for further ones."""

    def __init__(self, evidence: KnownDeviations, search: DeviationSearch) -> None:
        self.evidence = evidence
        self.search = search
        self.checked_relations = False  # for the cell published last

    @cached_property
    def relation_bounds(self) -> RelationBounds | None:
        """Bounds from single relations; None for flows, which are found as fast as these bounds."""
        return RelationBounds(self.search, self.evidence) if isinstance(self.search, DeviationProgram) else None

    def shows_all(self, suppressed: BoolArray, budget: Budget) -> bool:
        """Find deviations for every cell that lacks them; False if the time is over, or if a search fails."""
        for p in np.flatnonzero(self.evidence.needs_protection & suppressed).tolist():
            if not self.evidence.suffices(p) and (
                budget.over or find_deviations(self.search, self.evidence, p) is None
            ):
                return False
        return True

    def publish(self, i: int, suppressed: BoolArray) -> bool:
        """Publish a cell; whether a protected cell relies on a deviation that moves it."""
        self.search.bar(i, True)
        self.checked_relations = False
        _, p = self.evidence.relying_on(i)
        return bool(self.evidence.counts(p, suppressed, i).any())

    def ruled_out(self, i: int, suppressed: BoolArray) -> bool:
        """Whether single relations show that the cell is needed, which is much faster than a linear program."""
        self.checked_relations = True
        return self.relation_bounds is not None and self.relation_bounds.rules_out(i, suppressed)

    def suppress_again(self, i: int) -> None:
        """Suppress the cell that was published last."""
        self.search.bar(i, False)
        if self.checked_relations and self.relation_bounds is not None:
            self.relation_bounds.undo()

    def has_other(self, i: int, suppressed: BoolArray) -> bool:
        """Whether all cells that rely on deviations of cell ``i`` have other deviations."""
        evidence = self.evidence
        side, p = evidence.relying_on(i)
        counts = evidence.counts(p, suppressed, i)
        side, p = side[counts], p[counts]
        reach, shown_by = evidence.reach[side, p], evidence.shown_by[side, p]
        evidence.reach[side, p], evidence.shown_by[side, p] = 0.0, -1
        # The largest requirement is the most likely to fail, so it comes first.
        for cell in sorted(set(p.tolist()), key=lambda q: (-max(evidence.lower[q], evidence.upper[q]), q)):
            if evidence.suffices(cell) or find_deviations(self.search, evidence, cell) is not None:
                continue
            # New deviations hold with the cell suppressed, too: the old ones replace only weaker ones.
            weaker = evidence.reach[side, p] < reach
            evidence.reach[side[weaker], p[weaker]] = reach[weaker]
            evidence.shown_by[side[weaker], p[weaker]] = shown_by[weaker]
            return False
        return True
