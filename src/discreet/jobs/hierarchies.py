"""The hierarchies of a job: from files, from the digits of codes, or from coarser columns; order and labels from code lists."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.data.code_order import category_order
from discreet.data.hierarchy import Hierarchy
from discreet.data.labels import CodeList
from discreet.data.records import distinct_codes
from discreet.errors import FormatError, placing
from discreet.io.sdmx.code_lists import read_hierarchy
from discreet.jobs.job_file import Dimension, Job


def hierarchy_file(path: Path, total: str = "Total", codelist: str | None = None) -> Hierarchy:
    """A hierarchy from a ``.hrc`` file, a ``.csv`` file with the columns code and parent, or an SDMX structure (``.xml``)."""
    suffix = path.suffix.lower()
    if suffix not in (".hrc", ".csv", ".xml"):
        raise FormatError(f"{path}: a hierarchy file ends in .hrc, .csv or .xml.")
    if suffix == ".xml":
        return read_hierarchy(path, codelist, total)
    return Hierarchy.from_hrc(path, total) if suffix == ".hrc" else Hierarchy.from_csv(path, total)


def _hierarchy_of_file(job: Job, dimension: Dimension) -> Hierarchy | None:
    if dimension.hierarchy is None:
        return None
    files = [dimension.hierarchy, *dimension.also]
    trees = [hierarchy_file(job.resolve(file), dimension.total, dimension.codelist) for file in files]
    return trees[0] if len(trees) == 1 else Hierarchy.join(*trees)


def unordered_dimensions(job: Job) -> list[str]:
    """The dimensions of records whose codes are in the order of their characters: nothing gives another one."""
    data = job.data
    if data is None:
        return []
    file = job.resolve(data.file)
    return [
        name
        for name, one in job.dimensions.items()
        if one.hierarchy is None and one.codes is None and one.levels is None and category_order(file, name) is None
    ]


def hierarchy_of(job: Job, name: str, dimension: Dimension, source: Any) -> Hierarchy:
    """The hierarchy of a dimension from its file, from the digits of its codes, or from coarser columns of the records."""
    from_file = _hierarchy_of_file(job, dimension)
    if from_file is not None and not dimension.missing_codes:
        return _with_code_list(job, name, dimension, from_file)
    coarser = [] if from_file is not None else [one for one in dimension.columns or [] if one != name]
    codes = distinct_codes(source, [*coarser, name], job.source, dimension.spelling, dimension.total)
    means_missing = codes[name].isin(dimension.missing_codes)
    given = codes[~means_missing]
    if from_file is not None:
        found = from_file
    elif dimension.levels is not None:
        found = Hierarchy.from_levels(sorted(given[name]), dimension.levels, dimension.total)
    else:
        found = Hierarchy.from_columns(given, [*coarser, name], dimension.total)
    missing = [code for code in dimension.missing_codes if code in found or code in set(codes[name])]
    return _with_code_list(job, name, dimension, found, missing)


def _with_code_list(
    job: Job, name: str, dimension: Dimension, hierarchy: Hierarchy, missing: Sequence[str] = ()
) -> Hierarchy:
    """The hierarchy with codes that mean missing, and the order and the labels of the code list of its dimension, if any."""
    if dimension.codes is None:
        return hierarchy.with_missing(missing)
    with placing(f"dimension {name!r}, {dimension.codes}"):
        listed = CodeList.from_csv(job.resolve(dimension.codes))
        known = [code for code in missing if code in listed.codes]
        return hierarchy.with_missing(known).with_code_list(listed).with_missing(missing)


def finished_hierarchy(job: Job, name: str, dimension: Dimension) -> Hierarchy | None:
    """The hierarchy of a dimension of a finished table; None for a flat one over the codes that occur."""
    from_file = _hierarchy_of_file(job, dimension)
    if from_file is None and dimension.codes is not None:
        codes = CodeList.from_csv(job.resolve(dimension.codes)).codes
        from_file = Hierarchy.flat((code for code in codes if code != dimension.total), dimension.total)
    return None if from_file is None else _with_code_list(job, name, dimension, from_file, dimension.missing_codes)
