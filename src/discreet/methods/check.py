"""The questions that methods ask the audit. Other modules of the methods do not import ``discreet.audit``."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.attackers import Attacker
from discreet.audit import Audit, audit
from discreet.audit.audit import computable_cells
from discreet.audit.respondents import all_exposures, audit_respondents, search_chunks
from discreet.inference.respondents.exposure_search import RespondentExposure
from discreet.inference.respondents.sensitivity import SensitivityMeasure
from discreet.problem import Problem
from discreet.progress import Progress
from discreet.protection import Protection, suppress


def verdicts(
    problem: Problem,
    protection: Protection,
    *,
    attackers: Sequence[Attacker] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Whether each protected cell is safe from each attacker, without exact audit intervals."""
    return audit(problem, protection, attackers=attackers, intervals=False, executor=executor, progress=progress)


def is_safe(
    problem: Problem, protection: Protection, executor: Executor | None = None, progress: Progress | None = None
) -> bool:
    """Whether the audit passes."""
    return verdicts(problem, protection, executor=executor, progress=progress).passed


def exposed_cells(problem: Problem, protection: Protection, executor: Executor | None = None) -> IntArray:
    """The protected cells that are exposed to at least one attacker, sorted."""
    found = verdicts(problem, protection, executor=executor)
    return np.unique(found.cell[~found.safe])


def safe_cells(problem: Problem, suppressed: BoolArray, attackers: Sequence[Attacker] | None = None) -> list[IntArray]:
    """Per attacker the protected cells of a pattern that are safe; by default for all attackers of the problem."""
    found = verdicts(problem, suppress(problem, suppressed), attackers=attackers)
    return [found.cell[(found.attacker == number) & found.safe] for number in range(len(found.attackers))]


def exposed_respondents(
    problem: Problem,
    suppressed: BoolArray,
    measure: SensitivityMeasure,
    targets: list[int],
    executor: Executor | None,
    progress: Progress,
) -> list[RespondentExposure]:
    """All exposures of these respondents in a pattern, by one rule."""
    task = partial(all_exposures, problem, suppressed, measure)
    return search_chunks(task, targets, executor, progress)[0]
