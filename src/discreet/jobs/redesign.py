"""Advice on the table of a job, and the files of the job with another design."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.coarsening import Design
from discreet.data.columns import Columns
from discreet.data.hierarchy import ABSENT, Hierarchy
from discreet.data.records import open_records
from discreet.data.table import Table
from discreet.errors import HierarchyError, JobError
from discreet.io.attackers import cells_named
from discreet.jobs.advise import Advice, advise
from discreet.jobs.job import job_statuses, job_waivers, make_table, read_recodes, read_source
from discreet.jobs.job_file import Dimension, Job
from discreet.progress import Progress


def advise_job(
    job: Job,
    *,
    keep: Mapping[str, Collection[str] | None] | None = None,
    ordered: Collection[str] = (),
    steps: int = 10,
    progress: Progress | None = None,
) -> Advice:
    """Advice on the table of a job. Codes of cells that its files name stay, so that these files remain valid."""
    if job.data is None:
        raise JobError(f"{job.path}: advice needs a job with [data]. A finished table cannot be tabulated again.")
    rules, records = job.rules, _records(job)

    def tabulation(by: Any, recode: Mapping[str, Mapping[str, str]]) -> Table:
        return make_table(job, by, recode, records, behind=False)

    return advise(
        tabulation,
        None,
        rules.sensitive,
        boundary=rules.boundary,  # type: ignore[arg-type]  # checked when the job was read
        statuses=job_statuses(job),
        waivers=job_waivers(job),
        recode=read_recodes(job),
        keep=keep,
        cells=cells_named(job.resolve(rules.attackers), job.label_dimensions) if rules.attackers else (),
        ordered=ordered,
        steps=steps,
        progress=progress,
    )


def _records(job: Job) -> Any:
    """The columns of the table in memory, because they are tabulated many times."""
    data = job.data
    assert data is not None
    coarser = [column for dimension in job.dimensions.values() for column in dimension.columns or []]
    by = tuple(dict.fromkeys([*job.dimensions, *coarser]))
    columns = Columns(by, data.response, data.weight, tuple(data.extra), data.contributor, data.holding, data.request)
    columns.check()
    with open_records(read_source(job), columns, data) as source:
        return source.rows.to_pyarrow()


def job_files(job: Job, before: Design, after: Design, folder: Path) -> dict[Path, str]:
    """Path and text of the job file with another design, and of the hierarchies and recodes that it changes."""
    raw = tomllib.loads(job.path.read_text(encoding="utf-8-sig"))
    _adapt_paths(job, raw, folder)
    texts: dict[str, str] = {}
    for name, dimension in job.dimensions.items():
        if after.by[name] == before.by[name] and after.recode.get(name) == before.recode.get(name):
            continue
        entry = raw["dimensions"][name]
        entry = {key: entry[key] for key in ("total", "separate", "strip", "merge") if key in entry}
        for key, made in _dimension_files(name, dimension, before, after).items():
            entry[key] = [file for file, _ in made] if key == "also" else made[0][0]
            if any(file in texts for file, _ in made):
                raise JobError(f"{job.path}: names of dimensions are too similar for file names: rename {name!r}.")
            texts |= dict(made)
        raw["dimensions"][name] = entry
    texts[job.path.name] = _toml(raw)
    files = {folder / name: text for name, text in texts.items()}
    taken = {job.path, *(job.resolve(file).resolve() for file in job.reads())}
    overwritten = [file for file in files if file.resolve() in taken]
    if overwritten:
        raise JobError(f"{overwritten[0]} of the job would be overwritten. Choose another folder.", overwritten)
    return files


def _dimension_files(
    name: str, dimension: Dimension, before: Design, after: Design
) -> dict[str, list[tuple[str, str]]]:
    """Name and text of the files of a dimension, by the entry of the job that names them."""
    stem = re.sub(r"[^\w.-]", "_", name)
    trees = _trees(after.by[name])
    was_hrc = dimension.hierarchy is not None and dimension.hierarchy.lower().endswith(".hrc")
    written = [_hierarchy_text(tree, was_hrc and tree.total == dimension.total) for tree in trees]
    files = [(f"{stem}{'' if not i else f'-{i + 1}'}{suffix}", text) for i, (suffix, text) in enumerate(written)]
    made = {"hierarchy": files[:1]}
    if files[1:]:
        made["also"] = files[1:]
    # Codes that were made by an earlier merge are in no record.
    in_records = {*before.by[name].codes, *before.recode.get(name, {})}
    rows = [(code, into) for code, into in after.recode.get(name, {}).items() if code in in_records]
    if rows:
        made["recode"] = [(f"{stem}-recode.csv", _csv([("code", "into"), *rows]))]
    return made


def _trees(hierarchy: Hierarchy) -> list[Hierarchy]:
    """Each tree of a hierarchy as a hierarchy of its own."""
    found = []
    for parent in hierarchy.parents:
        here = np.flatnonzero(parent != ABSENT)
        place = np.full(len(parent), ABSENT)
        place[here] = np.arange(len(here))
        up = np.where(parent[here] >= 0, place[parent[here]], parent[here])
        found.append(Hierarchy(tuple(hierarchy.codes[i] for i in here), up))
    return found


def _hierarchy_text(tree: Hierarchy, hrc: bool) -> tuple[str, str]:
    """Suffix and text of the file of a hierarchy; CSV if ``hrc`` is false or the codes cannot be written as ``.hrc``."""
    if hrc:
        with suppress(HierarchyError):  # codes that begin with the sign for a level
            return ".hrc", tree.to_hrc()
    codes, parent = tree.codes, tree.parents[0]
    return ".csv", _csv([("code", "parent"), *((codes[i], codes[parent[i]] if i else "") for i in tree.order())])


def _csv(rows: list[tuple[str, str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _adapt_paths(job: Job, raw: dict[str, Any], folder: Path) -> None:
    """Make paths relative to the folder of the new job, and remove the checkpoint, which is of the old table."""

    def path(name: str) -> str:
        if Path(name).is_absolute():
            return name
        return Path(os.path.relpath(job.resolve(name), folder.resolve())).as_posix()

    sections = [(raw["data"], ("file", "layout")), (raw["rules"], ("waivers", "statuses", "attackers"))]
    sections += [(entry, ("hierarchy", "recode")) for entry in raw["dimensions"].values()]
    for section, keys in sections:
        section.update({key: path(section[key]) for key in keys if key in section})
    for entry in raw["dimensions"].values():
        if "also" in entry:
            entry["also"] = [path(file) for file in entry["also"]]
    raw.get("protect", {}).pop("checkpoint", None)


def _toml(raw: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in raw.items() if not isinstance(value, dict)]
    sections = [(key, value) for key, value in raw.items() if isinstance(value, dict) and key != "dimensions"]
    dimensions = [(f"dimensions.{_key(name)}", entry) for name, entry in raw["dimensions"].items()]
    for name, entry in [*sections[:1], *dimensions, *sections[1:]]:
        lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in entry.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
