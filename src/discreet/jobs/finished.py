"""The finished table of a job, from one row per cell or from a cross-table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.data.cross_table import CrossTable, read_cross_table
from discreet.data.finished_table import read_table
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import JobError, some
from discreet.io import writing
from discreet.jobs.job_file import CROSS_TABLE_PREVIEW, Job


def finished_table(
    job: Job, by: Mapping[str, Hierarchy | None], show: Callable[[CrossTable], None] | None = None
) -> Table:
    """The table of a job with [table]. ``show`` gets what was understood of a cross-table before it is used."""
    table = job.table
    assert table is not None
    options: dict[str, Any] = {
        "tolerance": table.tolerance,
        "unpublished_totals": table.unpublished_totals,
        "spelling": {name: dimension.spelling for name, dimension in job.dimensions.items()},
        "names": table.names,
    }
    if table.layout is not None:
        cross = read_cross(job, by)
        if show is not None:
            show(cross)
        return _with_missing(job, cross.table(**options))
    found = read_table(
        job.resolve(table.file),
        by,
        table.value,
        count=table.count,
        top=table.top,
        who=table.who,
        extra=table.extra,
        total=_common_total(job),
        reading=table,
        **options,
    )
    return _with_missing(job, found)


def _with_missing(job: Job, table: Table) -> Table:
    """The table in which the codes of the job that mean missing do so."""
    marked = {
        name: hierarchy.with_missing(code for code in job.dimensions[name].missing_codes if code in hierarchy)
        for name, hierarchy in table.dimensions.items()
    }
    return table.with_columns(dimensions=marked)


def read_cross(job: Job, by: Mapping[str, Hierarchy | None]) -> CrossTable:
    """The cross-table of a job."""
    table = job.table
    assert table is not None
    return read_cross_table(
        job.resolve(table.file),
        table.rows,
        table.columns,
        table.value,
        by=by,
        totals={name: dimension.total for name, dimension in job.dimensions.items()},
        count=table.count,
        top=table.top,
        who=table.who,
        extra=table.extra,
        headings=table.headings,
        skip=table.skip,
        subtotals=table.subtotals,
        reading=table,
    )


def preview_cross_table(job: Job, say: Callable[[str], None], cross: CrossTable) -> None:
    """Say what was understood of a cross-table, and write it cell by cell into the output folder."""
    with writing(job.folder / CROSS_TABLE_PREVIEW) as draft:
        cross.write_preview(draft)
    for sentence in cross.understood:
        say(sentence)
    say(f"{CROSS_TABLE_PREVIEW} has the table as it was read, cell by cell")


def _common_total(job: Job) -> str:
    """The name of the total in all flat dimensions."""
    totals = {dimension.total for dimension in job.dimensions.values() if dimension.hierarchy is None}
    if len(totals) > 1:
        raise JobError(
            f"{job.path}: the flat dimensions call their totals differently: {some(sorted(totals))}. Write one name into the "
            "file and into total, or name a hierarchy for the others."
        )
    return totals.pop() if totals else "Total"
