"""Patterns against a few attackers more: add what they make necessary, then publish again what is suppressed without need."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray
from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.methods.context import Run
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import KnownDeviations
from discreet.methods.suppress.pattern import Pattern
from discreet.problem import Problem, Status
from discreet.protection import suppress

FEW = 3  # targets of an attacker: to seek a deviation for each is quicker than an audit (benchmarks/respondents.py)


def grown(problem: Problem, suppressed: BoolArray, run: Run) -> BoolArray:
    """A pattern and what it takes besides to withstand the attackers of this problem; nothing of it is published again."""
    longer = np.zeros(len(problem), dtype=bool)
    longer[: len(suppressed)] = suppressed  # further cells of the problem have a status of their own
    status = np.where(longer & (problem.status == Status.FREE), Status.SUPPRESSED, problem.status).astype(np.int8)
    pattern = Pattern(problem.with_columns(status=status), run.seed, few_targets=True)
    pattern.grow(run)
    return np.asarray(pattern.suppressed[: len(suppressed)])


def trimmed(problem: Problem, suppressed: BoolArray, run: Run) -> tuple[BoolArray, str]:
    """A safe pattern without what it suppresses without need, and how that ended."""
    whom = problem.attackers()
    evidence = [KnownDeviations(problem, who) for who in whom]
    # Dense primaries protect each other. Of attackers with few targets it is quicker to ask for each when it matters.
    many = [number for number, who in enumerate(whom) if _targets(problem, who) > FEW]
    if many:
        forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        seen = audit(problem, suppress(problem, forced), attackers=[whom[number] for number in many], intervals=False)
        for k, number in enumerate(many):
            evidence[number].settle(seen.cell[(seen.attacker == k) & seen.safe])
    return eliminate(problem, suppressed, evidence, run)


def _targets(problem: Problem, who: Attacker) -> int:
    return int(np.count_nonzero(problem.levels(who).any(axis=0)))
