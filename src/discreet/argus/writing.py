"""Writes tables as ``<WRITETABLE>`` says: those to publish only if their audit passed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.argus.commands import WriteTable
from discreet.argus.jj_output import jj_problem
from discreet.argus.paths import Say
from discreet.argus.work import Work, final_statuses, problem_of
from discreet.arrays import FloatArray
from discreet.drafts import create_private
from discreet.errors import InputError, NotSafeError
from discreet.io import jj
from discreet.io.argus.metadata import Metadata, Variable, metadata_text
from discreet.io.argus.output import TEXTS, ArgusTable, WriteOptions
from discreet.problem import Problem
from discreet.release import publish

TREATMENTS = {"RND": "Round", "CTA": "CTA", "CKM": "CKM"}
OUTPUT_KINDS = {1: "CSV", 2: "pivot", 3: "code and value", 4: "SBS", 5: "intermediate", 6: "JJ", 7: "cell key"}


@dataclass(frozen=True)
class OutputFile:
    """A file of a job, and whether it may be published."""

    path: Path
    write: Callable[[Path], None]
    public: bool = False
    shows: Work | None = None  # its table, protected as it was when the file was asked for


def text_file(path: Path, text: str, *, public: bool = False) -> OutputFile:
    def write(draft: Path) -> None:
        create_private(draft)
        draft.write_text(text, encoding="utf-8")

    return OutputFile(path, write, public)


def is_publishable(kind: int, options: WriteOptions, treatment: str) -> bool:
    """Whether a file shows published values only: CSV, and pivot or code and value without statuses; cell key without options."""
    if kind in (1, 2, 3):
        return kind == 1 or not options.AS
    return kind == 7 and not (options.AO or options.AD or options.AC)


def outputs(command: WriteTable, work: Work, path: Path, say: Say) -> list[OutputFile]:
    """The files of a ``<WRITETABLE>``; none if the table may not be published, which is said."""
    treatment = TREATMENTS.get(work.command.method, "") if work.command is not None else ""
    kind = command.kind
    if (
        (kind in (4, 5) and treatment in ("CTA", "CKM"))
        or (kind == 6 and treatment == "Round")
        or (kind == 7 and treatment != "CKM")
    ):
        raise InputError(f"type {kind} ({OUTPUT_KINDS[kind]}) is not for this kind of protection.")
    public = is_publishable(kind, command.options, treatment)
    if public:
        refused = why_not_published(work)
        if refused:
            say(f"{work.label}: {path.name} is not written: {refused}")
            return []
    if kind == 6:
        problem = jj_problem(work, trivial=not command.options.TR)
        if warning := jj.not_said(problem):
            say(f"{work.label}: {warning}")
        return [OutputFile(path, lambda draft: _write_jj(problem, draft))]
    table = argus_table(work, treatment)
    options = command.options
    if public and treatment and kind != 1:
        # A line for a cell that is not empty would tell that a published 0 is not one of an empty cell.
        table = _zeros_alike(table, drop=options.SE)
    elif public and treatment:
        table = _zeros_alike(table, drop=False)
    files = [text_file(path, TEXTS[kind](table, options), public=public)]
    if kind == 5:
        files.append(text_file(path.with_suffix(".rda"), metadata_text(_metadata(table, work, path, options))))
        files += _hierarchy_files(table, path)
    unused = [name for name in _USED if getattr(options, name) and kind not in _USED[name]]
    if unused:
        say(f"{work.label}: {path.name}: {', '.join(unused)} has no effect on type {kind} ({OUTPUT_KINDS[kind]})")
    return files


def _write_jj(problem: Problem, draft: Path) -> None:
    """Write a JJ file; what it cannot hold is in the log already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jj.write_problem(problem, draft)


# The types of output for which an option has a meaning.
_USED: Mapping[str, tuple[int, ...]] = {
    "HL": (4,),
    "SO": (5,),
    "AR": (5,),
    "HI": (5,),
    "AS": (2, 3),
    "SE": (2, 3, 5, 7),
    "FL": (2, 3),
    "TR": (6,),
    "AO": (7,),
    "AD": (7,),
    "AC": (7,),
}


def why_not_published(work: Work) -> str:
    """Why a table may not be published; empty if it may."""
    if work.protection is None or work.problem is None or work.checked is None:
        return "the table is not protected: <SUPPRESS> comes first"
    if not work.passed:
        return "its audit did not pass"
    whole = work.joint or work  # tables that were protected together were audited together
    assert whole.problem is not None
    assert whole.protection is not None
    assert whole.checked is not None
    level = whole.level.level if whole.level else None
    try:
        publish(whole.problem, whole.protection, whole.checked, whole.respondents, level=level)
    except NotSafeError as error:
        return str(error)
    return ""


def argus_table(work: Work, treatment: str = "") -> ArgusTable:
    """The columns of a table for writing."""
    views, found, protection = work.views, work.found, work.protection
    table = views.table
    problem = work.problem or problem_of(work)
    count = np.ones(len(table), dtype=np.int64) if table.count is None else table.count
    lower, upper = found.lower.copy(), found.upper.copy()
    for i in work.decisions.status:
        lower[i], upper[i] = problem.lower[i], problem.upper[i]
    for i, levels in work.decisions.levels.items():
        lower[i], upper[i] = levels
    published = None
    if protection is not None and treatment:
        published = protection.published[: len(table)]  # NaN where a decision suppresses a cell
    largest = np.zeros((len(table), 0)) if views.records.top is None else views.records.top
    holdings = views.holdings
    return ArgusTable(
        table.dimensions,
        table.codes.astype(np.int64),
        table.response,
        views.decimals,
        table.value,
        final_statuses(work),
        count,
        problem.cost,
        lower,
        upper,
        views.records.value,
        np.abs(largest),
        is_count=table.is_count,
        treatment=treatment,
        published=published,
        audit=_audit_intervals(work),
        holding_count=None if holdings is None else holdings.count,
        holding_largest=None if holdings is None or holdings.top is None else np.abs(holdings.top),
        keys=None if views.keys is None else views.keys[0] / 10.0 ** views.keys[1],
        key_decimals=0 if views.keys is None else views.keys[1],
        percent_rule=bool(work.request.calls("P")),
    )


def _audit_intervals(work: Work) -> tuple[FloatArray, FloatArray] | None:
    """The ends of the audit intervals against the outsider; NaN for cells that were not audited."""
    checked = work.checked
    if checked is None:
        return None
    n = len(checked.problem)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    np.maximum.at(low, checked.cell, checked.lower)
    np.minimum.at(high, checked.cell, checked.upper)
    audited = np.isin(np.arange(n), checked.cell)
    place = np.arange(len(work.views.table)) if work.place is None else work.place
    return np.where(audited, low, np.nan)[place], np.where(audited, high, np.nan)[place]


def _zeros_alike(table: ArgusTable, *, drop: bool) -> ArgusTable:
    """Published zeros look alike, whether cells are empty or not: all are listed as 0, or none is listed."""
    assert table.published is not None
    zero = table.published == 0
    if drop:
        return table.only(~zero)
    return replace(table, zeros_for_empty=True)


# -- intermediate tables ---------------------------------------------------------------------------------------------


def _metadata(table: ArgusTable, work: Work, path: Path, options: WriteOptions) -> Metadata:
    """The metadata with which an intermediate table is read again."""
    deep = [name for name, h in table.dimensions.items() if h.depth.max() > 1]
    files = _hierarchy_names(table, path)
    variables = [
        Variable(name, 0, categorical=True, total=h.total, hierarchy=files[name] if name in deep else "")
        for name, h in table.dimensions.items()
    ]
    decimals = table.decimals
    # Names of the further columns must not be those of variables.
    taken = {name.upper() for name in (*table.dimensions, table.response)}

    def free(name: str) -> str:
        while name.upper() in taken:
            name += "_"
        taken.add(name.upper())
        return name

    if table.is_count:
        variables.append(Variable("Freq", 0, numeric=True, role="frequency"))
    else:
        variables.append(Variable(table.response, 0, numeric=True, decimals=decimals))
        variables.append(Variable(free("Freq"), 0, numeric=True, role="frequency"))
        if not options.SO:
            variables.append(Variable(free("Shadow"), 0, numeric=True, decimals=decimals, role="shadow"))
    variables.append(Variable(free("Cost"), 0, numeric=True, decimals=decimals, role="cost"))
    if not options.SO and not table.is_count:
        ranks = (table.holding_largest if options.HI and table.holding_largest is not None else table.largest).shape[1]
        variables += [
            Variable(free(f"Top{k + 1}"), 0, numeric=True, decimals=decimals, role="largest") for k in range(ranks)
        ]
    variables.append(Variable(free("Status"), 0, role="status"))
    variables.append(Variable(free("LowerPL"), 0, numeric=True, decimals=decimals, role="lower"))
    variables.append(Variable(free("UpperPL"), 0, numeric=True, decimals=decimals, role="upper"))
    if options.AR:
        names = ("AuditLower", "AuditUpper", "AuditWidth", "AuditDown", "AuditUp", "AuditPercent")
        variables += [Variable(free(name), 0, numeric=True, decimals=decimals) for name in names]
    return Metadata(path, "table", tuple(variables), ";")


def _hierarchy_names(table: ArgusTable, path: Path) -> dict[str, str]:
    return {name: f"{path.stem}-{name}.hrc" for name in table.dimensions}


def _hierarchy_files(table: ArgusTable, path: Path) -> list[OutputFile]:
    """The hierarchies that the metadata of an intermediate table name."""
    names = _hierarchy_names(table, path)
    return [
        text_file(path.with_name(names[name]), h.to_hrc()) for name, h in table.dimensions.items() if h.depth.max() > 1
    ]
