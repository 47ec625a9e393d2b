"""The outputs of a job and how its release is presented: checks of the entries, and what they say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

from discreet.errors import InputError, JobError, some
from discreet.io import NEEDS_SDMX_IDS, ONE_TABLE, RELEASE_FORMATS
from discreet.io.sdmx.observations import read_ids
from discreet.presentation import GivenSecondaries, Layout, Presentation, ReleaseMetadata, Sdmx
from discreet.rules import RULES

Job: TypeAlias = Any  # of job_file, which imports this module
TRANSMISSION_FORMATS = ("sdmx-csv", "sdmx-csv-1", "sdmx-ml")
PRESENTED: Mapping[str, type[Any]] = {
    "metadata": ReleaseMetadata,
    "workbook": Layout,
    "sdmx": Sdmx,
}  # sections of a job


def presentation_of(job: Job) -> Presentation:
    """How the release of a job is presented; paths are relative to the folder of the job."""
    return presentation_in(job.path.parent, job.metadata, job.workbook, job.sdmx)


def presentation_in(folder: Path, metadata: ReleaseMetadata, layout: Layout, sdmx: Sdmx) -> Presentation:
    """The presentation that these sections describe, whose files are relative to a folder."""
    template = None if layout.template is None else str(folder / layout.template)
    ids = {} if sdmx.ids is None else read_ids(folder / sdmx.ids)
    return Presentation(metadata, replace(layout, template=template), sdmx, ids)


def release_names(job: Job) -> dict[str, int]:
    """The names of the files of the release; for formats that hold one table, with the number of a linked table, else 0."""
    found: dict[str, int] = {}
    for kind in dict.fromkeys(job.output.formats):
        suffix = RELEASE_FORMATS.get(kind, f".{kind}")
        if job.tables and kind in ONE_TABLE:
            found |= {f"release.table-{k}{suffix}": k for k in range(1, len(job.tables) + 1)}
        else:
            found[f"release{suffix}"] = 0
    return found


def transmission_names(job: Job) -> list[str]:
    """The name of the file of the transmission edition; none if there is to be none."""
    kind = job.output.transmission
    return [] if kind is None else [f"transmission{RELEASE_FORMATS.get(kind, '')}"]


def check_outputs(job: Job) -> Iterator[InputError]:
    unknown = [name for name in job.output.formats if name not in RELEASE_FORMATS]
    if unknown:
        yield JobError(
            f"cannot write releases as {some(unknown)}. Choose from {some(list(RELEASE_FORMATS), 12)}.", unknown
        )
    if "csvw" in job.output.formats and "csv" not in job.output.formats:
        yield JobError("the format 'csvw' describes release.csv: list 'csv' under 'formats', too.")
    transmission = job.output.transmission
    if transmission not in (None, *TRANSMISSION_FORMATS):
        yield JobError(f"transmission is {' or '.join(map(repr, TRANSMISSION_FORMATS))}, not {transmission!r}.")
    sdmx = [name for name in (*job.output.formats, transmission) if name in NEEDS_SDMX_IDS]
    missing = [name for name in ("agency", "dataflow") if not getattr(job.metadata, name)]
    if sdmx and missing:
        yield JobError(
            f'the format {sdmx[0]!r} needs {" and ".join(missing)} in [metadata], e.g. {missing[0]} = "…".', missing
        )


def check_presentation(job: Job) -> Iterator[InputError]:
    for name in PRESENTED:
        for fault in getattr(job, name).faults():
            yield JobError(f"[{name}] {fault}")
    columns = [*job.dimensions, job.data.response if job.data else job.table.value if job.table else None, "count"]
    unknown = [name for name in job.metadata.names if name not in columns]
    if unknown:
        yield JobError(f"[metadata] names has {some(unknown)}, which is no column of the release.", unknown)
    known = ("primary", "secondary", *RULES)
    unknown = [name for name in job.sdmx.reasons if name not in known]
    if unknown:
        yield JobError(f"[sdmx] reasons: there is no rule {some(unknown)}. Choose from {some(known, 20)}.", unknown)
    for entry in ("rows", "columns"):
        unknown = [name for name in getattr(job.workbook, entry) if name not in job.dimensions]
        if unknown:
            yield JobError(f"[workbook] {entry}: there is no dimension {some(unknown)}.", unknown)
    if job.table is not None and job.table.secondary not in get_args(GivenSecondaries):
        yield JobError(
            f"secondary is {' or '.join(map(repr, get_args(GivenSecondaries)))}, not {job.table.secondary!r}."
        )
    if job.table is not None and job.table.layout is not None and job.table.flags is not None:
        yield JobError(
            "'flags' is a column of a file with one row per cell, which a cross-table has not: leave it out."
        )
