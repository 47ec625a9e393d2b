"""Checks everything about a job that can be known before its table is protected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, plural
from discreet.jobs.hierarchies import hierarchy_of
from discreet.jobs.job import (
    job_statuses,
    job_waivers,
    make_problem,
    make_table,
    read_recodes,
    read_source,
)
from discreet.jobs.job_file import Job, examine_job
from discreet.methods import METHODS
from discreet.methods.counts.integer_counts import counts_of
from discreet.methods.method import traits_of
from discreet.problem import Problem


@dataclass(frozen=True, repr=False)
class JobCheck:
    """The faults of a job; the job if its entries can be used; the problem that it poses if it has no fault."""

    faults: tuple[str, ...]
    job: Job | None = None
    problem: Problem | None = None
    understood: tuple[str, ...] = ()  # of a cross-table

    def __repr__(self) -> str:
        return f"JobCheck({plural(len(self.faults), 'fault')})"

    @property
    def passed(self) -> bool:
        return not self.faults


def check_job(path: str | Path) -> JobCheck:
    """All faults of entries; if there are none, all faults of the other files; if there are none, those of the table."""
    job, errors = examine_job(path)
    if job is None or errors:
        return JobCheck(tuple(map(str, errors)), job)
    faults = dict.fromkeys(fault for read in _files(job) for fault in _faults(read))
    if faults:
        return JobCheck(tuple(faults), job)
    problems: list[Problem] = []
    understood: list[str] = []
    faults = dict.fromkeys(_faults(lambda: problems.append(_problem(job, understood))))
    return JobCheck(tuple(faults), job, problems[0] if problems else None, tuple(understood))


def _problem(job: Job, understood: list[str]) -> Problem:
    """The problem of a job; an error if its method is for tables of counts and this is none.

    ``understood`` gets the sentences on a cross-table, also if there is an error afterwards.
    """
    problem = make_problem(job, make_table(job, show=lambda cross: understood.extend(cross.understood)))
    if traits_of(METHODS[job.protect.method]).needs_counts:
        counts_of(problem, job.protect.method)
    return problem


def _files(job: Job) -> Iterator[Callable[[], Any]]:
    """The readers of the files besides the data, and of the codes that the data have."""
    yield lambda: read_recodes(job)
    yield lambda: job_statuses(job)
    yield lambda: job_waivers(job)
    source = read_source(job) if job.data is not None else None
    for name, dimension in job.dimensions.items():
        if job.data is not None or dimension.hierarchy is not None:
            yield lambda name=name, dimension=dimension: hierarchy_of(job, name, dimension, source)  # type: ignore[misc]


def _faults(read: Callable[[], Any]) -> Iterator[str]:
    try:
        read()
    except DiscreetError as error:
        yield str(error)
