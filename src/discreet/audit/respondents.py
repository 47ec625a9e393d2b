"""The audit of respondents: whether an aggregation of suppressed cells is sensitive, for every respondent and insider."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import pandas as pd

from discreet.arrays import BoolArray
from discreet.errors import InputError, TableError
from discreet.executors import in_order
from discreet.inference.respondents.exposure_search import RespondentExposure, RespondentSearch
from discreet.inference.respondents.insiders import Insiders
from discreet.inference.respondents.sensitivity import SensitivityMeasure, sensitivity_measures
from discreet.problem import Problem
from discreet.progress import Progress, Silent
from discreet.protection import Protection

RESPONDENTS_PER_CHUNK = 60  # respondents per task: enough to share programs, few enough to spread over workers


@dataclass(frozen=True, eq=False, repr=False)
class RespondentAudit:
    """The exposed respondents, the insiders and the aggregations. Confidential: it contains names and amounts."""

    problem: Problem
    protection: str
    rules: tuple[str, ...]
    targets: int  # number of respondents who need protection
    programs: int  # number of linear programs that were solved
    exposed: tuple[RespondentExposure, ...]  # one per exposed respondent and rule, the best precision first

    def __repr__(self) -> str:
        return f"RespondentAudit({self.targets:,} respondents, {'safe' if self.passed else f'{len(self.respondents):,} exposed'})"

    @property
    def passed(self) -> bool:
        return not self.exposed

    @property
    def respondents(self) -> list[str]:
        """The names of the exposed respondents."""
        return sorted({one.respondent for one in self.exposed})

    def frame(self) -> pd.DataFrame:
        """One row per exposed respondent and rule, the best precision first. Confidential."""
        rows = [
            {
                "respondent": one.respondent,
                "rule": one.measure.rule,
                "insiders": ", ".join(one.insiders),
                "precision": one.precision,
                "cells": ", ".join(self.problem.table.labels(one.cells)),
                "aggregation": one.words(self.problem.table),
            }
            for one in self.exposed
        ]
        return pd.DataFrame(rows, columns=["respondent", "rule", "insiders", "precision", "cells", "aggregation"])


def audit_respondents(
    problem: Problem, protection: Protection, *, executor: Executor | None = None, progress: Progress | None = None
) -> RespondentAudit:
    """Whether other respondents, alone or in coalitions, can estimate the contribution of any respondent too closely.

    This is operational criterion 2 of Daalmans & de Waal (2010), by the rules of the problem. Work is spread over an
    ``executor``, if there is one; the result is the same.
    """
    if protection.problem.digest != problem.digest:
        raise TableError(
            "The protection belongs to another problem. Audit its respondents with the problem it was made for."
        )
    if not protection.only_suppresses:
        raise InputError(
            "Respondents are audited where cells are published or suppressed, and this protection publishes "
            "intervals or other values. Choose a suppression method."
        )
    exposed: list[RespondentExposure] = []
    targets, programs = set[int](), 0
    for measure in sensitivity_measures(problem):
        found = Insiders(problem, measure).targets()
        targets |= set(found)
        task = partial(_worst_exposures, problem, protection.suppressed, measure)
        worst, solved = search_chunks(task, found, executor, progress or Silent())
        exposed += worst
        programs += solved
    exposed.sort(key=lambda one: (one.precision, one.respondent))
    return RespondentAudit(problem, protection.digest, problem.rules, len(targets), programs, tuple(exposed))


def _worst_exposures(
    problem: Problem, suppressed: BoolArray, measure: SensitivityMeasure, targets: list[int]
) -> tuple[list[RespondentExposure], int]:
    """For each exposed target the exposure of best precision, and the number of programs solved."""
    search = RespondentSearch(problem, suppressed, measure)
    found = [search.worst(target) for target in targets]
    return [one for one in found if one is not None], search.programs


def all_exposures(
    problem: Problem, suppressed: BoolArray, measure: SensitivityMeasure, targets: list[int]
) -> tuple[list[RespondentExposure], int]:
    """All exposures found, and the number of programs solved."""
    search = RespondentSearch(problem, suppressed, measure)
    return [one for target in targets for one in search.exposures(target)], search.programs


def search_chunks(
    task: Callable[[list[int]], tuple[list[RespondentExposure], int]],
    targets: list[int],
    executor: Executor | None,
    progress: Progress,
) -> tuple[list[RespondentExposure], int]:
    """The exposures of all targets, and the number of programs solved, from a task for each chunk of targets."""
    progress.stage("respondents", len(targets))
    chunks = [targets[k : k + RESPONDENTS_PER_CHUNK] for k in range(0, len(targets), RESPONDENTS_PER_CHUNK)]
    exposed: list[RespondentExposure] = []
    done = programs = 0
    for chunk, (found, solved) in zip(chunks, in_order(executor, task, chunks), strict=True):
        exposed += found
        done, programs = done + len(chunk), programs + solved
        progress.update(done, f"{len(exposed):,} exposed")
    return exposed, programs
