"""Patterns against further attackers: add the secondaries that they require, then clean up."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray
from discreet.attackers import Attacker
from discreet.methods.check import safe_cells
from discreet.methods.context import Run
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import KnownDeviations
from discreet.methods.suppress.pattern import Pattern
from discreet.problem import Problem, Status

MAX_FEW_TARGETS = (
    3  # of an attacker: searching a deviation for each is faster than an audit (benchmarks/respondents.py)
)


def grown(problem: Problem, suppressed: BoolArray, run: Run) -> BoolArray:
    """A pattern with the further secondaries that the attackers of this problem require; without a clean-up."""
    longer = np.zeros(len(problem), dtype=bool)
    longer[: len(suppressed)] = suppressed  # further cells of the problem keep their status
    status = np.where(longer & (problem.status == Status.FREE), Status.SUPPRESSED, problem.status).astype(np.int8)
    pattern = Pattern(problem.with_columns(status=status), run.seed, few_targets=True)
    pattern.grow(run)
    return np.asarray(pattern.suppressed[: len(suppressed)])


def trimmed(problem: Problem, suppressed: BoolArray, run: Run) -> tuple[BoolArray, str]:
    """A safe pattern after the clean-up, and the status of the clean-up."""
    attackers = problem.attackers()
    evidence = [KnownDeviations(problem, attacker) for attacker in attackers]
    # Primaries that protect each other need no secondaries. For few targets deviations are searched when needed.
    many = [number for number, attacker in enumerate(attackers) if _n_targets(problem, attacker) > MAX_FEW_TARGETS]
    if many:
        forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        safe = safe_cells(problem, forced, [attackers[number] for number in many])
        for number, cells in zip(many, safe, strict=True):
            evidence[number].settle(cells)
    return eliminate(problem, suppressed, evidence, run)


def _n_targets(problem: Problem, attacker: Attacker) -> int:
    return int(np.count_nonzero(problem.levels(attacker).any(axis=0)))
