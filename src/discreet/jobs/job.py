"""Jobs: the whole way from records to release, reproducibly, as one TOML file says."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.assess import assess
from discreet.attacks import LabReport
from discreet.attacks.limitations import limitations, replay_counts
from discreet.audit import Audit, audit
from discreet.audit.respondents import RespondentAudit, audit_respondents
from discreet.data.finished_table import read_table
from discreet.data.hierarchy import Hierarchy
from discreet.data.link import link
from discreet.data.records import distinct_codes
from discreet.data.separate import separate
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.drafts import sweep
from discreet.errors import FormatError, InputError, JobError, some
from discreet.executors import signals_ignored, spread
from discreet.inference.exact_numbers import format_number
from discreet.inference.respondents.exposure_search import RespondentExposure
from discreet.io import write_release, writing
from discreet.io.attackers import with_attackers
from discreet.io.pattern import write_pattern
from discreet.io.rda import read_microdata
from discreet.jobs.attacks import try_attacks
from discreet.jobs.checkpoint import Checkpoint
from discreet.jobs.job_file import SHAREABLE, Dimension, Job, is_public
from discreet.jobs.job_file import read_job as read_job
from discreet.level import LevelInForce, level_of
from discreet.methods import protect
from discreet.problem import Problem
from discreet.progress import Budget, Progress, Silent
from discreet.promise import promise, published_by_decision, safe
from discreet.protection import Protection
from discreet.release import Release, publish
from discreet.report import write_report, write_shareable
from discreet.rules import parse_rules
from discreet.secret import Secret


@dataclass(frozen=True, repr=False)
class Result:
    """Everything a job made, and where it was written. ``release`` is missing if an audit, or an attack, finds cells exposed."""

    problem: Problem
    protection: Protection
    audit: Audit
    release: Release | None
    files: tuple[Path, ...]
    level: LevelInForce
    respondents: RespondentAudit | None = None  # at the level of contributions
    lab: LabReport | None = None  # where the job asks for attacks

    def __repr__(self) -> str:
        return f"Result({'published' if self.release is not None else 'not published'}, {len(self.files)} files)"

    @property
    def passed(self) -> bool:
        return all_passed(self.audit, self.respondents, self.lab)


def all_passed(checked: Audit, *others: RespondentAudit | LabReport | None) -> bool:
    return checked.passed and all(one is None or one.passed for one in others)


def run_job(job: Job, *, progress: Progress | None = None, say: Callable[[str], None] = lambda _: None) -> Result:
    """Tabulate, assess, protect, audit, publish; write everything into the job's output folder."""
    sweep(job.folder)
    started = Budget()
    table = make_table(job)
    empty = f", {table.n_empty:,} more are empty" if table.n_empty else ""
    say(f"tabulated {table.response} by {' × '.join(table.dimensions)}: {table.n_listed:,} cells{empty}")
    if table.behind is not None:
        say(f"the linked tables form a cycle: {len(table) - table.n_listed:,} cells behind them are taken into account")
    if table.behind_left_out:
        say(
            "the linked tables form a cycle, and the cells behind them are left out: readers who use them may infer more"
        )
    problem = make_problem(job, table)
    say(f"assessed: {len(problem.primaries):,} cells are sensitive")
    kept = Checkpoint(job.resolve(job.protect.checkpoint), problem, say) if job.protect.checkpoint else None
    with kept or nullcontext():
        protection, checked, respondents = _protect(job, problem, kept, progress or Silent(), say)
        began = kept is not None and kept.start is not None
        pose = partial(make_problem, job)
        lab = try_attacks(job, protection, pose, began, started.spent, progress or Silent(), say)
        release, passed = None, all_passed(checked, respondents, lab)
        if passed:
            release = publish(problem, protection, checked, respondents, **_style(job))
        level = level_of(problem, protection.only_suppresses, job.level)
        files = _write(job, problem, protection, checked, level, respondents, lab, release)
        old = [name for name in job.writes() if job.folder / name not in files and (job.folder / name).exists()]
        if old:
            say(f"still there from an earlier run, and not of this one: {some(old)}")
        if kept and passed:
            kept.finish(protection.report.status)
    return Result(problem, protection, checked, release, files, level, respondents, lab)


def _protect(
    job: Job, problem: Problem, kept: Checkpoint | None, progress: Progress, say: Callable[[str], None]
) -> tuple[Protection, Audit, RespondentAudit | None]:
    options = job.protect
    with spread(options.workers) as executor:
        protection = protect(
            problem,
            job.method(),
            seed=options.seed,
            time_limit=options.time_limit,
            gap=options.gap,
            progress=progress,
            executor=executor,
            start=kept and kept.start,
            keep=kept and kept.keep,
            level=job.level,
            secret=None if options.secret is None else Secret.read(job.resolve(options.secret)),
        )
        report = protection.report
        adjusted = f", {report.n_adjusted:,} get other values" if report.n_adjusted else ""
        say(f"protected: {report.n_secondary:,} further cells are suppressed{adjusted}")
        checked = audit(problem, protection, executor=executor, progress=progress)
        say(f"audited: {safe(protection) if checked.passed else f'{len(checked.exposed):,} cells exposed'}")
        respondents = None
        if level_of(problem, protection.only_suppresses, job.level).covers_respondents:
            respondents = audit_respondents(problem, protection, executor=executor, progress=progress)
    if respondents is not None:
        found = "safe" if respondents.passed else f"{len(respondents.respondents):,} exposed"
        say(f"audited {respondents.targets:,} respondents who need protection: {found}")
    return protection, checked, respondents


def make_table(
    job: Job,
    by: Mapping[str, Hierarchy] | None = None,
    recode: Mapping[str, Mapping[str, str]] | None = None,
    source: Any = None,
    *,
    behind: bool = True,
) -> Table:
    """The table of a job; of records also by other hierarchies, with other codes replaced, or from records read before.

    Without ``behind`` the cells behind linked tables are left out: they do not matter to rules.
    """
    if job.table is not None:
        t = job.table
        return read_table(
            job.resolve(t.file),
            {name: _from_file(job, d) for name, d in job.dimensions.items()},
            t.value,
            count=t.count,
            top=t.top,
            who=t.who,
            extra=t.extra,
            total=_one_total(job),
            tolerance=t.tolerance,
            unpublished_totals=t.unpublished_totals,
        )
    d = job.data
    assert d is not None
    source = read_source(job) if source is None else source
    hierarchies = by or {name: _hierarchy(job, name, dimension, source) for name, dimension in job.dimensions.items()}
    recode = read_recodes(job) if recode is None else recode
    depth = max((rule.depth for rule in parse_rules(job.rules.sensitive)), default=1)
    depth += 2 if job.rules.waivers else 0  # a consenting respondent makes the next one the target
    depth += 1 if job.needs_contributions else 0

    def tabulated(classified: Mapping[str, Hierarchy]) -> Table:
        return tabulate(
            source,
            classified,
            d.response,
            contributor=d.contributor,
            holding=d.holding,
            weight=d.weight,
            weights=d.weights,  # type: ignore[arg-type]  # checked when the job was read
            top=max(depth, 1),
            request=d.request,
            extra=d.extra,
            count_zeros=d.count_zeros,
            store_empty=job.rules.zeros == "suppressible",
            unknown=d.unknown,
            contributions=job.needs_contributions,
            recode={name: recode[name] for name in classified if name in recode},
        )

    tables = [tabulated({name: hierarchies[name] for name in names}) for names in job.tables or [list(job.dimensions)]]
    if len(tables) == 1:
        return _separated(job, tables[0])
    return _separated(job, link(*tables, behind=tabulated if behind and d.behind else False))


def read_source(job: Job) -> Any:
    """The records of a job: where they are, or read if their file has a layout."""
    assert job.data is not None
    file = job.resolve(job.data.file)
    return file if job.data.layout is None else read_microdata(file, job.resolve(job.data.layout))


def _separated(job: Job, table: Table) -> Table:
    """Without totals that are published nowhere."""
    for name, dimension in job.dimensions.items():
        if dimension.separate and name in table.dimensions:
            table = separate(table, name, shown=[by for by in job.tables or [] if name not in by])
    return table


def make_problem(job: Job, table: Table) -> Problem:
    rules = job.rules
    problem = assess(
        table,
        rules.sensitive,
        cost=job.protect.cost,
        boundary=rules.boundary,  # type: ignore[arg-type]  # checked when the job was read
        statuses=read_statuses(job.resolve(rules.statuses)) if rules.statuses else None,
        margin=rules.margin,
        waivers=read_waivers(job.resolve(rules.waivers)) if rules.waivers else (),
        prior=rules.prior,
        zeros=rules.zeros,  # type: ignore[arg-type]  # checked when the job was read
    )
    return with_attackers(problem, job.resolve(rules.attackers)) if rules.attackers else problem


def _one_total(job: Job) -> str:
    totals = {d.total for d in job.dimensions.values() if d.hierarchy is None}
    if len(totals) > 1:
        raise JobError(f"{job.path}: the flat dimensions call their totals differently: {some(sorted(totals))}.")
    return totals.pop() if totals else "Total"


def hierarchy_file(path: Path, total: str = "Total") -> Hierarchy:
    """A hierarchy from ``.hrc`` or from ``.csv`` with code and parent."""
    suffix = path.suffix.lower()
    if suffix not in (".hrc", ".csv"):
        raise FormatError(f"{path}: a hierarchy file ends in .hrc or .csv.")
    return Hierarchy.from_hrc(path, total) if suffix == ".hrc" else Hierarchy.from_csv(path, total)


def _from_file(job: Job, dimension: Dimension) -> Hierarchy | None:
    if dimension.hierarchy is None:
        return None
    files = [dimension.hierarchy, *dimension.also]
    trees = [hierarchy_file(job.resolve(file), dimension.total) for file in files]
    return trees[0] if len(trees) == 1 else Hierarchy.join(*trees)


def _hierarchy(job: Job, name: str, dimension: Dimension, source: Any) -> Hierarchy:
    if dimension.hierarchy is not None:
        return _from_file(job, dimension)  # type: ignore[return-value]
    columns = [*(c for c in dimension.columns or [] if c != name), name]
    codes = distinct_codes(source, columns)
    if dimension.levels is not None:
        return Hierarchy.from_levels(sorted(codes[name]), dimension.levels, dimension.total)
    return Hierarchy.from_columns(codes.sort_values(columns), columns, dimension.total)


def read_statuses(path: Path) -> dict[str, tuple[str, str]]:
    """CSV with the header ``cell,status`` or ``cell,status,reason``: cells by label, e.g. ``A × North``."""
    statuses: dict[str, tuple[str, str]] = {}
    for number, (cell, status, *reason) in _small_csv(path, ["cell", "status"], ["cell", "status", "reason"]):
        if cell in statuses:
            raise InputError(f"{path}, line {number}: cell {cell!r} occurs a second time.", [cell])
        statuses[cell] = (status, "".join(reason))
    return statuses


def read_waivers(path: Path) -> list[str | tuple[str, str]]:
    """CSV with the header ``respondent`` or ``respondent,cell``; an empty cell means everywhere."""
    rows = _small_csv(path, ["respondent"], ["respondent", "cell"])
    return [(row[0], row[1]) if len(row) > 1 and row[1] else row[0] for _, row in rows]


def read_recodes(job: Job) -> dict[str, dict[str, str]]:
    """For each dimension with a CSV ``code,into``: by which code each of these is replaced."""
    found: dict[str, dict[str, str]] = {}
    for name, dimension in job.dimensions.items():
        if dimension.recode is not None:
            path, into = job.resolve(dimension.recode), found.setdefault(name, {})
            for number, (code, new) in _small_csv(path, ["code", "into"]):
                if code in into or not new:
                    raise InputError(f"{path}, line {number}: {code!r} has no new code, or a second one.", [code])
                into[code] = new
    return found


def _small_csv(path: Path, *headers: list[str]) -> list[tuple[int, list[str]]]:
    """The lines after the header, numbered."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except (ValueError, csv.Error, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    header = [name.strip() for name in rows[0][1]] if rows else []
    if header not in headers:
        raise InputError(f"{path}: the first line must be {' or '.join(repr(','.join(h)) for h in headers)}.")
    for number, row in rows[1:]:
        if len(row) != len(header):
            raise InputError(f"{path}, line {number}: expected {len(header)} fields, found {len(row)}.")
    return rows[1:]


def protect_report(
    protection: Protection,
    checked: Audit,
    level: LevelInForce,
    respondents: RespondentAudit | None = None,
    lab: LabReport | None = None,
) -> dict[str, Any]:
    """What ``report.json`` holds."""
    report = {**protection.report.as_dict(), "safe": all_passed(checked, respondents, lab)}
    report |= _promised(protection, level, respondents)
    if lab is not None:
        report |= {"attacks": [one.finding.attack for one in lab.scores], "compromised": lab.compromised}
        report |= {"attacks_left_out": dict(lab.skipped), "replay": replay_counts(lab)}
    if respondents is not None:
        report |= {"n_respondents": respondents.targets, "n_exposed_respondents": len(respondents.respondents)}
    return report


def _promised(protection: Protection, level: LevelInForce, respondents: RespondentAudit | None) -> dict[str, Any]:
    """What stands beside the verdict in both reports."""
    return {
        "n_published_by_decision": published_by_decision(protection),
        "level": level.level,
        "promise": promise(protection, respondents, level),
    }


def audit_report(
    checked: Audit, protection: Protection, level: LevelInForce, respondents: RespondentAudit | None = None
) -> dict[str, Any]:
    """What ``audit.json`` holds: verdicts and labels, no values; with an audit of respondents what that tells."""
    report = {
        "safe": checked.passed and (respondents is None or respondents.passed),
        **_promised(protection, level, respondents),
        "attackers": list(checked.attackers),
        "n_cells": len(checked.cell),
        "cells_behind": _behind(checked.problem.table),
        "n_exposed": len(checked.exposed),
        "exposed": checked.exposed,
        "whole_numbers": checked.linear is not None,
        "problem": checked.problem.digest,
        "protection": checked.protection,
    }
    return report if respondents is None else report | {"respondents": respondents_report(respondents)}


def _behind(table: Table) -> int | str:
    """How many cells behind linked tables were taken into account, or that they were left out."""
    return "left out" if table.behind_left_out else len(table) - table.n_listed


def respondents_report(seen: RespondentAudit) -> dict[str, Any]:
    """What ``audit.json`` holds about respondents. It tells names, and by the sentences amounts."""
    table = seen.problem.table
    return {
        "safe": seen.passed,
        "n_respondents": seen.targets,
        "n_exposed": len(seen.respondents),
        "complete": table.knows_respondents,
        "exposed": [_exposed(table, one) for one in seen.exposed],
        "problem": seen.problem.digest,
        "protection": seen.protection,
    }


def _exposed(table: Table, one: RespondentExposure) -> dict[str, Any]:
    """Numbers are written as ``2.5`` or ``7/3``: exactly, so that the sum can be checked by hand."""
    entry: dict[str, Any] = {
        "respondent": one.respondent,
        "rule": one.measure.rule,
        "insiders": list(one.insiders),
        "cells": table.labels(one.cells),
        "words": one.words(table),
    }
    if one.aggregation is None:
        return entry
    found = one.aggregation
    return entry | {
        "precision": format_number(found.precision(one.measure)),
        "multipliers": [
            {"relation": row, "total": table.relation_label(row), "times": format_number(times)}
            for row, times in found.multipliers.items()
        ],
        "hidden": {table.label(cell): format_number(weight) for cell, weight in found.suppressed.items()},
        "published": {table.label(cell): format_number(weight) for cell, weight in found.published.items()},
    }


def _style(job: Job) -> dict[str, Any]:
    """How a release is written; the shareable report must be about the same one."""
    return {
        "symbol": job.output.symbol,
        "decimals": job.output.decimals,
        "level": job.level,
        "accept_symmetric": job.output.accept_symmetric,
    }


def write_json(content: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_together(files: Mapping[Path, Callable[[Path], None]], public: Collection[Path] = ()) -> None:
    """Write all files or none: each is drafted before the first takes its place, and then Ctrl-C comes too late.

    Only their owner can read them, but for those that are ``public``.
    """
    with ExitStack() as drafts:
        for path, write in files.items():
            write(drafts.enter_context(writing(path, public=path in public)))
        with signals_ignored():
            drafts.close()


def _write(
    job: Job,
    problem: Problem,
    protection: Protection,
    checked: Audit,
    level: LevelInForce,
    respondents: RespondentAudit | None,
    lab: LabReport | None,
    release: Release | None,
) -> tuple[Path, ...]:
    settings = {"job": job.path.name, "cost": job.protect.cost, "boundary": job.rules.boundary}
    writers: dict[str, Callable[[Path], None]] = {
        "pattern.csv": lambda draft: write_pattern(protection, draft),
        "intervals.csv": lambda draft: checked.frame().to_csv(draft, index=False),
        "report.json": lambda draft: write_json(
            protect_report(protection, checked, level, respondents, lab) | {"limits": limitations(lab)}, draft
        ),
        "audit.json": lambda draft: write_json(audit_report(checked, protection, level, respondents), draft),
        "report.html": lambda draft: write_report(
            draft, problem, protection, checked, respondents, title=job.title, settings=settings, lab=lab
        ),
    }
    if release is not None:
        writers[SHAREABLE] = lambda draft: write_shareable(
            draft, problem, protection, checked, respondents, title=job.title, **_style(job)
        )
        writers |= {name: lambda draft: write_release(release, draft) for name in job.writes() if name not in writers}
    files = {job.folder / name: writers[name] for name in job.writes() if name in writers}
    write_together(files, public=[file for file in files if is_public(file)])
    return tuple(files)
