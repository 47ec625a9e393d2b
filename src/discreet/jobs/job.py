"""Jobs: from records to a release, reproducibly, as described in a TOML file."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from discreet.assess import assess
from discreet.attacks import AttackReport
from discreet.attacks.limitations import replay_counts
from discreet.audit import Audit, audit
from discreet.audit.respondents import RespondentAudit, audit_respondents
from discreet.data.cross_table import CrossTable
from discreet.data.hierarchy import Hierarchy
from discreet.data.link import link
from discreet.data.separate import separate
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.drafts import sweep
from discreet.errors import some
from discreet.executors import signals_ignored, spread
from discreet.inference.exact_numbers import format_number
from discreet.inference.respondents.exposure_search import RespondentExposure
from discreet.io import write_release, write_transmission, writing
from discreet.io.attackers import with_attackers
from discreet.io.decisions import read_recode, read_statuses, read_waivers
from discreet.io.pattern import write_pattern
from discreet.io.rda import read_microdata
from discreet.io.sdmx.flags import read_flags
from discreet.io.workbook_styles import read_styles
from discreet.jobs.attacks import try_attacks
from discreet.jobs.checkpoint import Checkpoint
from discreet.jobs.finished import finished_table, preview_cross_table
from discreet.jobs.hierarchies import finished_hierarchy, hierarchy_of, unordered_dimensions
from discreet.jobs.job_file import CROSS_TABLE_PREVIEW, SHAREABLE, Job, is_public
from discreet.jobs.job_file import read_job as read_job
from discreet.jobs.presented import presentation_of, release_names, transmission_names
from discreet.level import Level, LevelInForce, level_of
from discreet.methods import protect
from discreet.presentation import GivenSecondaries
from discreet.problem import Problem
from discreet.progress import Budget, Progress, Silent, StageTime, Stopwatch
from discreet.promise import conditions, published_by_decision, safe
from discreet.protection import Protection
from discreet.release import Release, publish
from discreet.report import write_report, write_shareable
from discreet.rules import parse_rules
from discreet.secret import Secret


@dataclass(frozen=True, repr=False)
class Result:
    """The results of a job and the files written. ``release`` is None if an audit fails or an attack compromises cells."""

    problem: Problem
    protection: Protection
    audit: Audit
    release: Release | None
    files: tuple[Path, ...]
    level: LevelInForce
    respondents: RespondentAudit | None = None  # at the level of contributions
    attacks: AttackReport | None = None  # None if the job runs no attacks
    stages: tuple[StageTime, ...] = ()

    def __repr__(self) -> str:
        return f"Result({'published' if self.release is not None else 'not published'}, {len(self.files)} files)"

    @property
    def passed(self) -> bool:
        return all_passed(self.audit, self.respondents, self.attacks)


def all_passed(*checks: Audit | RespondentAudit | AttackReport | None) -> bool:
    """Whether all checks passed; None is a check that was not made."""
    return all(check is None or check.passed for check in checks)


def run_job(job: Job, *, progress: Progress | None = None, say: Callable[[str], None] = lambda _: None) -> Result:
    """Tabulate, assess, protect, audit, attack, publish; write all results into the output folder of the job."""
    sweep(job.folder)
    started, progress = Budget(), Stopwatch(progress or Silent())
    presentation = presentation_of(job)  # its files are read before any work is done
    read_styles(presentation.layout.template)
    progress.stage("tabulate", 0)
    table = make_table(job, show=partial(preview_cross_table, job, say))
    empty = f", {table.n_empty:,} more are empty" if table.n_empty else ""
    say(f"tabulated {table.response} by {' × '.join(table.dimensions)}: {table.n_listed:,} cells{empty}")
    for name in unordered_dimensions(job):
        say(f"the codes of {name} are in the order of their characters; a code list (codes) gives them another")
    if table.behind is not None:
        say(f"the linked tables form a cycle: {len(table) - table.n_listed:,} cells behind them are taken into account")
    if table.behind_left_out:
        say("the linked tables form a cycle; the cells behind them are left out: readers who use them may infer more")
    progress.stage("assess", 0)
    problem = make_problem(job, table)
    say(f"assessed: {len(problem.primaries):,} cells are sensitive")
    progress.stage("protect", 0)
    checkpoint = Checkpoint(job.resolve(job.protect.checkpoint), problem, say) if job.protect.checkpoint else None
    with checkpoint or nullcontext():
        protection, checked, respondents = _protect(job, problem, checkpoint, progress, say)
        resumed = checkpoint is not None and checkpoint.start is not None
        progress.stage("attacks", 0)
        attacks = try_attacks(job, protection, partial(make_problem, job), resumed, started.spent, progress, say)
        progress.stage("publish", 0)
        release = None
        if all_passed(checked, respondents, attacks):
            options = _release_options(job) | {"tables": job.tables or (), "presentation": presentation}
            release = publish(problem, protection, checked, respondents, **options)
        level = level_of(problem, protection.only_suppresses, job.level)
        times = progress.times()
        result = _write(job, Result(problem, protection, checked, release, (), level, respondents, attacks, times))
        old = [name for name in job.writes() if job.folder / name not in result.files and (job.folder / name).exists()]
        if old:
            say(f"files of an earlier run that this one does not replace: {some(old)}")
        if checkpoint and result.passed:
            checkpoint.finish(protection.report.status)
    return result


def _protect(
    job: Job, problem: Problem, checkpoint: Checkpoint | None, progress: Progress, say: Callable[[str], None]
) -> tuple[Protection, Audit, RespondentAudit | None]:
    """Protect and audit; the audit of respondents is None at the level of cells."""
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
            start=checkpoint and checkpoint.start,
            keep=checkpoint and checkpoint.keep,
            level=job.level,
            secret=None if options.secret is None else Secret.read(job.resolve(options.secret)),
        )
        report = protection.report
        adjusted = f", {report.n_adjusted:,} are published with other values" if report.n_adjusted else ""
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


def audited(
    problem: Problem,
    protection: Protection,
    level: Level | None,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    **options: bool | None,
) -> tuple[Audit, LevelInForce, RespondentAudit | None]:
    """The audit with its ``options``, the level in force, and the audit of respondents, None at the level of cells."""
    checked = audit(problem, protection, executor=executor, progress=progress, **options)  # type: ignore[arg-type]
    in_force, respondents = level_of(problem, protection.only_suppresses, level), None
    if in_force.covers_respondents:
        respondents = audit_respondents(problem, protection, executor=executor, progress=progress)
    return checked, in_force, respondents


def make_table(
    job: Job,
    by: Mapping[str, Hierarchy] | None = None,
    recode: Mapping[str, Mapping[str, str]] | None = None,
    source: Any = None,
    *,
    behind: bool = True,
    show: Callable[[CrossTable], None] | None = None,
) -> Table:
    """The table of a job. For jobs with records, ``by``, ``recode`` and ``source`` replace hierarchies, recodes and records.

    Without ``behind`` the cells behind linked tables are left out; rules do not depend on them. ``show`` gets what was
    understood of a cross-table before it is used.
    """
    if job.table is not None:
        return finished_table(
            job, {name: finished_hierarchy(job, name, one) for name, one in job.dimensions.items()}, show
        )
    data = job.data
    assert data is not None
    source = read_source(job) if source is None else source
    hierarchies = by or {name: hierarchy_of(job, name, dimension, source) for name, dimension in job.dimensions.items()}
    recode = read_recodes(job) if recode is None else recode
    top = max((rule.depth for rule in parse_rules(job.rules.sensitive)), default=1)  # largest contributions to store
    top += 2 if job.rules.waivers else 0  # if the largest respondents consent, the next ones must be protected
    top += 1 if job.needs_contributions else 0

    def tabulated(classified: Mapping[str, Hierarchy]) -> Table:
        return tabulate(
            source,
            classified,
            data.response,
            contributor=data.contributor,
            holding=data.holding,
            weight=data.weight,
            weights=data.weights,  # type: ignore[arg-type]  # checked when the job was read
            top=max(top, 1),
            request=data.request,
            requests=data.requests,
            extra=data.extra,
            count_zeros=data.count_zeros,
            store_empty=job.rules.zeros == "suppressible",
            unknown=data.unknown,
            contributions=job.needs_contributions,
            recode={name: recode[name] for name in classified if name in recode},
            spelling={name: job.dimensions[name].spelling for name in classified},
            names=data.names,  # type: ignore[arg-type]  # checked when the job was read
            reading=data,
        )

    tables = [tabulated({name: hierarchies[name] for name in names}) for names in job.tables or [list(job.dimensions)]]
    if len(tables) == 1:
        return _separated(job, tables[0])
    return _separated(job, link(*tables, behind=tabulated if behind and data.behind else False))


def read_source(job: Job) -> Any:
    """The path of the records of a job; the records themselves if their file has a layout."""
    assert job.data is not None
    file = job.resolve(job.data.file)
    return file if job.data.layout is None else read_microdata(file, job.resolve(job.data.layout), job.data)


def _separated(job: Job, table: Table) -> Table:
    """The table without the totals of dimensions with ``separate = true``, which are not published."""
    for name, dimension in job.dimensions.items():
        if dimension.separate and name in table.dimensions:
            table = separate(table, name, shown=[by for by in job.tables or [] if name not in by])
    return table


def make_problem(job: Job, table: Table) -> Problem:
    """The problem of a job: its rules, costs, statuses by hand, waivers and attackers applied to the table."""
    rules = job.rules
    problem = assess(
        table,
        rules.sensitive,
        cost=job.protect.cost,
        boundary=rules.boundary,  # type: ignore[arg-type]  # checked when the job was read
        statuses=job_statuses(job),
        margin=rules.margin,
        least_level=rules.least_level,
        waivers=job_waivers(job),
        prior=rules.prior,
        zeros=rules.zeros,  # type: ignore[arg-type]  # checked when the job was read
        missing_codes=rules.missing_codes,  # type: ignore[arg-type]  # checked when the job was read
    )
    return with_attackers(problem, job.resolve(rules.attackers)) if rules.attackers else problem


def job_statuses(job: Job) -> dict[str, tuple[str, str]]:
    """The statuses by hand of a job; none if it names no file."""
    file, table = job.rules.statuses, job.table
    given = read_statuses(job.resolve(file), job.label_dimensions) if file else {}
    if table is None or table.flags is None:
        return given
    secondary: GivenSecondaries = "free" if table.secondary == "free" else "suppressed"
    return read_flags(job.resolve(table.file), job.label_dimensions, table.flags, secondary) | given


def job_waivers(job: Job) -> list[str | tuple[str, str]]:
    """The waivers of a job; none if it names no file."""
    file = job.rules.waivers
    return read_waivers(job.resolve(file), job.label_dimensions) if file else []


def read_recodes(job: Job) -> dict[str, dict[str, str]]:
    """The new code of each replaced code, per dimension with a file of recodes."""
    return {
        name: read_recode(job.resolve(one.recode)) for name, one in job.dimensions.items() if one.recode is not None
    }


def protect_report(
    protection: Protection,
    checked: Audit,
    level: LevelInForce,
    respondents: RespondentAudit | None = None,
    attacks: AttackReport | None = None,
    stages: Sequence[StageTime] = (),
) -> dict[str, Any]:
    """The content of ``report.json``."""
    report = {**protection.report.as_dict(), "safe": all_passed(checked, respondents, attacks)}
    report |= stated(protection, checked, level, respondents, attacks)
    report["stages"] = [asdict(stage) for stage in stages]
    if attacks is not None:
        report["attacks"] = [one.finding.attack for one in attacks.scores]
        report["compromised"] = attacks.compromised
        report |= {"attacks_left_out": dict(attacks.skipped), "replay": replay_counts(attacks)}
    if respondents is not None:
        report |= {"n_respondents": respondents.targets, "n_exposed_respondents": len(respondents.respondents)}
    return report


def stated(
    protection: Protection,
    checked: Audit,
    level: LevelInForce,
    respondents: RespondentAudit | None,
    attacks: AttackReport | None,
) -> dict[str, Any]:
    """The entries on the verdict and its conditions that all JSON reports have."""
    found = conditions(protection, respondents, level, audit=checked, attacks=attacks)
    return {
        "n_published_by_decision": published_by_decision(protection),
        "level": level.level,
        "conditions": [asdict(condition) for condition in found],
    }


def audit_report(
    checked: Audit,
    protection: Protection,
    level: LevelInForce,
    respondents: RespondentAudit | None = None,
    attacks: AttackReport | None = None,
) -> dict[str, Any]:
    """The content of ``audit.json``: verdicts and labels without values; with an audit of respondents also its report.

    ``attacks`` only have conditions there: ``safe`` is the verdict of the audits.
    """
    table = checked.problem.table
    report = {
        "safe": all_passed(checked, respondents),
        **stated(protection, checked, level, respondents, attacks),
        "attackers": list(checked.attackers),
        "n_cells": len(checked.cell),
        "cells_behind": "left out" if table.behind_left_out else len(table) - table.n_listed,
        "n_exposed": len(checked.exposed),
        "exposed": checked.exposed,
        "whole_numbers": checked.linear is not None,
        "problem": checked.problem.digest,
        "protection": checked.protection,
    }
    return report if respondents is None else report | {"respondents": respondents_report(respondents)}


def respondents_report(checked: RespondentAudit) -> dict[str, Any]:
    """The part of ``audit.json`` about respondents. It contains names and, in its sentences, amounts."""
    table = checked.problem.table
    return {
        "safe": checked.passed,
        "n_respondents": checked.targets,
        "n_exposed": len(checked.respondents),
        "complete": table.knows_respondents,
        "exposed": [_exposure_entry(table, exposure) for exposure in checked.exposed],
        "problem": checked.problem.digest,
        "protection": checked.protection,
    }


def _exposure_entry(table: Table, exposure: RespondentExposure) -> dict[str, Any]:
    """Numbers are exact fractions, ``2.5`` or ``7/3``, so that the sum can be checked by hand."""
    entry: dict[str, Any] = {
        "respondent": exposure.respondent,
        "rule": exposure.measure.rule,
        "insiders": list(exposure.insiders),
        "cells": table.labels(exposure.cells),
        "words": exposure.words(table),
    }
    aggregation = exposure.aggregation
    if aggregation is None:
        return entry
    return entry | {
        "precision": format_number(aggregation.precision(exposure.measure)),
        "multipliers": [
            {"relation": row, "total": table.relation_label(row), "times": format_number(times)}
            for row, times in aggregation.multipliers.items()
        ],
        # The key is an old word for suppressed.
        "hidden": {table.label(cell): format_number(weight) for cell, weight in aggregation.suppressed.items()},
        "published": {table.label(cell): format_number(weight) for cell, weight in aggregation.published.items()},
    }


def _release_options(job: Job) -> dict[str, Any]:
    """The options of the release, which are also those of the shareable report."""
    return {
        "symbol": job.output.symbol,
        "decimals": job.output.decimals,
        "level": job.level,
        "accept_symmetric": job.output.accept_symmetric,
        "lang": job.lang,
        "presentation": presentation_of(job),
    }


def write_json(content: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_together(files: Mapping[Path | None, Callable[[Path], None]], public: Collection[Path] = ()) -> list[Path]:
    """Write all files or none; returns the paths written. A path is None if that output was not requested.

    All drafts are complete before the first replaces a file, and Ctrl-C cannot interrupt these replacements. Only the owner can
    read the files, except those that are ``public``.
    """
    requested = {path: write for path, write in files.items() if path is not None}
    with ExitStack() as drafts:
        for path, write in requested.items():
            write(drafts.enter_context(writing(path, public=path in public)))
        with signals_ignored():
            drafts.close()
    return list(requested)


def _write_release(release: Release, number: int, name: str, draft: Path) -> None:
    """Write the release, or one of its linked tables, into a draft of the file with this name."""
    write_release(release.part(number) if number else release, draft, name=name)


def _write(job: Job, result: Result) -> Result:
    """Write the files of a job; if there is no release, the others. Returns the result with their paths."""
    problem, protection, checked, release = result.problem, result.protection, result.audit, result.release
    verdict = result.level, result.respondents, result.attacks
    settings = {"job": job.path.name, "cost": job.protect.cost, "boundary": job.rules.boundary}
    writers: dict[str, Callable[[Path], None]] = {
        "pattern.csv": lambda draft: write_pattern(protection, draft),
        "intervals.csv": lambda draft: checked.frame().to_csv(draft, index=False),
        "report.json": lambda draft: write_json(protect_report(protection, checked, *verdict, result.stages), draft),
        "audit.json": lambda draft: write_json(audit_report(checked, protection, *verdict), draft),
        "report.html": lambda draft: write_report(
            draft,
            problem,
            protection,
            checked,
            result.respondents,
            title=job.title,
            settings=settings,
            attacks=result.attacks,
            level=job.level,
            stages=result.stages,
        ),
    }
    if release is not None:
        writers[SHAREABLE] = lambda draft: write_shareable(
            draft, problem, protection, checked, result.respondents, title=job.title, **_release_options(job)
        )
        for name, number in release_names(job).items():
            writers[name] = partial(_write_release, release, number, name)
        for name in transmission_names(job):
            writers[name] = partial(write_transmission, problem, protection, release, name=name)
    files: dict[Path | None, Callable[[Path], None]] = {
        job.folder / name: writers[name] for name in job.writes() if name in writers
    }
    written = write_together(files, public=[job.folder / name for name in writers if is_public(Path(name))])
    previews = [job.folder / CROSS_TABLE_PREVIEW] if CROSS_TABLE_PREVIEW in job.writes() else []
    return replace(result, files=(*written, *previews))
