"""Job files: the whole way from records to release, reproducibly, from one TOML file."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from math import inf
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from discreet.assess import assess
from discreet.audit import Audit, IntegerAudit, audit
from discreet.errors import FormatError, InputError, JobError, RuleError, some
from discreet.finished import read_table
from discreet.hierarchy import Hierarchy
from discreet.io import FORMATS, write_release, writing
from discreet.io.attackers import with_attackers
from discreet.io.pattern import write_pattern
from discreet.io.rda import read_microdata
from discreet.link import link
from discreet.methods import METHODS, protect, with_options
from discreet.microdata import distinct_codes
from discreet.problem import Problem
from discreet.progress import Progress, Silent
from discreet.protection import Protection
from discreet.release import SYMBOL, Release, publish
from discreet.report import write_report
from discreet.rules import parse_rules
from discreet.table import Table
from discreet.tabulate import tabulate

MOST_DECIMALS = 15  # what a double holds


MOST_CONTRIBUTIONS = 100  # a rule may look at


@dataclass(frozen=True)
class Data:
    """Records to tabulate."""

    file: str
    layout: str | None = None  # .rda of a fixed-width file
    response: str | None = None  # none: count
    contributor: str | None = None
    holding: str | None = None
    weight: str | None = None
    request: str | None = None
    extra: list[str] = field(default_factory=list)
    count_zeros: bool = True
    unknown: str = "error"


@dataclass(frozen=True)
class Finished:
    """A table made elsewhere."""

    file: str
    value: str
    count: str | None = None
    top: list[str] = field(default_factory=list)
    who: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    tolerance: float = 1e-9
    unpublished_totals: bool = False


@dataclass(frozen=True)
class Dimension:
    """How the codes of a column are grouped. With nothing given, they only add up to a total."""

    hierarchy: str | None = None  # a .hrc file, or .csv with code,parent
    also: list[str] = field(default_factory=list)  # further groupings of the same codes
    levels: list[int] | None = None  # widths of digit-prefix levels
    columns: list[str] | None = None  # coarser columns that nest, coarsest first
    total: str = "Total"


@dataclass(frozen=True)
class Rules:
    sensitive: list[str]
    boundary: str = "strict"
    prior: float | None = None
    margin: float = 20.0
    waivers: str | None = None  # CSV respondent[,cell]
    statuses: str | None = None  # CSV cell,status
    attackers: str | None = None  # CSV attacker,cell,lower,upper[,lower_level,upper_level,sliding_level]


@dataclass(frozen=True)
class Protect:
    method: str = "kelly"
    cost: str = "value"
    seed: int = 0
    time_limit: float | None = None
    gap: float = 0.0
    at_most: int | None = None
    fewest: bool = False


@dataclass(frozen=True)
class Output:
    folder: str = "output"
    formats: list[str] = field(default_factory=lambda: ["csv", "xlsx"])
    symbol: str = SYMBOL
    decimals: int | None = None


@dataclass(frozen=True)
class Job:
    """A validated job file. Relative paths resolve from its folder."""

    path: Path
    title: str
    dimensions: Mapping[str, Dimension]
    rules: Rules
    data: Data | None = None
    table: Finished | None = None
    tables: list[list[str]] | None = None  # dimensions of each of several linked tables
    protect: Protect = field(default_factory=Protect)
    output: Output = field(default_factory=Output)

    def resolve(self, name: str) -> Path:
        return self.path.parent / name

    @property
    def folder(self) -> Path:
        return self.resolve(self.output.folder)

    def reads(self) -> dict[str, str]:
        """The files the job reads, by the entry that names them."""
        named = [("data.file", self.data.file), ("data.layout", self.data.layout)] if self.data else []
        named += [("table.file", self.table.file)] if self.table else []
        for name, dimension in self.dimensions.items():
            named.append((f"dimensions.{name}.hierarchy", dimension.hierarchy))
            named += [(f"dimensions.{name}.also", file) for file in dimension.also]
        named += [(f"rules.{name}", getattr(self.rules, name)) for name in ("waivers", "statuses", "attackers")]
        return {file: entry for entry, file in named if file is not None}

    def writes(self) -> list[str]:
        """The files the job writes into its folder."""
        releases = [f"release.{kind}" for kind in dict.fromkeys(self.output.formats)]
        return [*releases, "pattern.csv", "intervals.csv", "report.json", "audit.json", "report.html"]


@dataclass(frozen=True)
class Result:
    """Everything a job made, and where it was written. ``release`` is missing if the audit did not pass."""

    problem: Problem
    protection: Protection
    audit: Audit
    release: Release | None
    files: tuple[Path, ...]


# -- reading ----------------------------------------------------------------------------------------------


def read_job(path: str | Path) -> Job:
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise JobError(f"Job file {path} does not exist.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JobError(f"{path} is not a TOML file: {error}.") from None
    except OSError as error:
        raise JobError(f"{path} cannot be read: {error.strerror}.") from None
    known = ["title", "data", "table", "dimensions", "tables", "rules", "protect", "output"]
    _no_strangers(path, "the file", raw, known)
    if ("data" in raw) == ("table" in raw):
        raise JobError(f"{path}: give either [data] (records to tabulate) or [table] (a finished table).")
    dimensions = _section(path, raw, "dimensions")
    if not dimensions:
        raise JobError(f"{path}: list at least one dimension, e.g. [dimensions.region].")
    for name, entry in dimensions.items():
        if not isinstance(entry, dict):
            raise JobError(f"{path}: dimension {name!r} is a section: write [dimensions.{name}].")
    job = Job(
        path=path.resolve(),
        title=_typed(path, "title", raw.get("title", path.stem), str),
        dimensions={name: _build(path, f"dimensions.{name}", entry, Dimension) for name, entry in dimensions.items()},
        rules=_build(path, "rules", _section(path, raw, "rules"), Rules),
        data=_build(path, "data", _section(path, raw, "data"), Data) if "data" in raw else None,
        table=_build(path, "table", _section(path, raw, "table"), Finished) if "table" in raw else None,
        tables=_typed(path, "tables", raw["tables"], list[list[str]]) if "tables" in raw else None,
        protect=_build(path, "protect", _section(path, raw, "protect"), Protect),
        output=_build(path, "output", _section(path, raw, "output"), Output),
    )
    _check(job)
    return job


def _check(job: Job) -> None:
    """Everything that can be known to be wrong before any work is done."""
    path = job.path
    for name, dimension in job.dimensions.items():
        ways = [w for w in ("hierarchy", "levels", "columns") if getattr(dimension, w) is not None]
        if len(ways) > 1:
            raise JobError(f"{path}: dimension {name!r} has both {ways[0]} and {ways[1]}: give one.")
        if dimension.also and not dimension.hierarchy:
            raise JobError(f"{path}: dimension {name!r} has further groupings (also) but no hierarchy.")
        if job.table is not None and (dimension.levels or dimension.columns):
            raise JobError(f"{path}: dimension {name!r} of a finished table needs a hierarchy file.")
    for by in job.tables or []:
        unknown = [name for name in by if name not in job.dimensions]
        if unknown:
            raise JobError(f"{path}: 'tables' names dimensions that are not listed: {some(unknown)}.", unknown)
        if not by or len(set(by)) < len(by):
            raise JobError(f"{path}: each of 'tables' names one or more dimensions, each of them once.")
    if job.tables and job.table is not None:
        raise JobError(f"{path}: 'tables' goes with [data].")
    if job.protect.method not in METHODS:
        raise JobError(f"{path}: there is no method {job.protect.method!r}. Choose from {some(list(METHODS), 20)}.")
    try:
        with_options(job.protect.method, at_most=job.protect.at_most, fewest=job.protect.fewest)
    except RuleError as error:
        raise JobError(f"{path}: {error}", error.offenders) from None
    if not 0 <= job.protect.gap <= 1:
        raise JobError(f"{path}: gap is a share from 0 to 1, not {job.protect.gap}.")
    writable = [suffix[1:] for suffix, module in FORMATS.items() if hasattr(module, "write_release")]
    strange = [name for name in job.output.formats if name not in writable]
    if strange:
        raise JobError(f"{path}: cannot write releases as {some(strange)}. Choose from {some(writable, 9)}.", strange)
    if job.rules.boundary not in ("strict", "inclusive"):
        raise JobError(f"{path}: boundary is 'strict' or 'inclusive', not {job.rules.boundary!r}.")
    if job.data is not None and job.data.unknown not in ("error", "drop"):
        raise JobError(f"{path}: unknown is 'error' or 'drop', not {job.data.unknown!r}.")
    if not job.rules.sensitive and not job.rules.statuses:
        raise JobError(
            f"{path}: nothing would be protected. List rules under 'sensitive', or statuses of single cells."
        )
    try:
        rules = parse_rules(job.rules.sensitive)
        if any(rule.depth > MOST_CONTRIBUTIONS for rule in rules):
            raise RuleError(f"a rule looks at more than {MOST_CONTRIBUTIONS} contributors to a cell.")
    except RuleError as error:
        raise JobError(f"{path}: {error}", error.offenders) from None
    _check_numbers(job)
    for file, entry in job.reads().items():
        if not job.resolve(file).is_file():
            raise JobError(f"{path}: there is no file {file!r} for {entry}.", [file])
        if any(job.resolve(file).resolve() == (job.folder / name).resolve() for name in job.writes()):
            raise JobError(f"{path}: the job would write over {file!r}, its {entry}. Choose another output folder.")
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JobError(f"{path}: cannot make the output folder {job.folder}: {error.strerror}.") from None


def _check_numbers(job: Job) -> None:
    def must(holds: bool, entry: str, what: str) -> None:
        if not holds:
            raise JobError(f"{job.path}: {entry} must be {what}.", [entry])  # not what it is: prior is confidential

    must(job.rules.prior is None or 0 < job.rules.prior <= 100, "rules.prior", "a percentage above 0 and up to 100")
    must(0 <= job.rules.margin < inf, "rules.margin", "a percentage, 0 or more")
    must(job.protect.seed >= 0, "protect.seed", "0 or more")
    must(job.protect.time_limit is None or job.protect.time_limit >= 0, "protect.time_limit", "seconds, 0 or more")
    must(job.table is None or 0 <= job.table.tolerance < 1, "table.tolerance", "a share from 0 to less than 1")
    must(abs(job.output.decimals or 0) <= MOST_DECIMALS, "output.decimals", f"{MOST_DECIMALS} at most")


def _section(path: Path, raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    entry = raw.get(name, {})
    if not isinstance(entry, dict):
        raise JobError(f"{path}: {name!r} is a section: write [{name}].")
    return entry


def _no_strangers(path: Path, where: str, entry: Mapping[str, Any], known: list[str]) -> None:
    for key in entry:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Known are {some(known, 12)}."
            raise JobError(f"{path}: {where} has an unknown entry {key!r}.{hint}", [key])


def _build(path: Path, where: str, entry: Mapping[str, Any], cls: type[Any]) -> Any:
    hints = get_type_hints(cls)
    _no_strangers(path, f"[{where}]", entry, list(hints))
    missing = [
        f.name for f in fields(cls) if f.name not in entry and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise JobError(f"{path}: [{where}] needs an entry {missing[0]!r}.", missing)
    return cls(**{key: _typed(path, f"{where}.{key}", value, hints[key]) for key, value in entry.items()})


def _typed(path: Path, where: str, value: Any, hint: Any, whole: Any = None) -> Any:
    """The value, if it is of the kind the field declares."""
    if isinstance(hint, UnionType):
        hint = next(option for option in get_args(hint) if option is not NoneType)
    if get_origin(hint) is list:
        if isinstance(value, list):
            return [_typed(path, where, item, get_args(hint)[0], hint) for item in value]
        hint = whole or hint
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    words = {str: "text in quotes", int: "a whole number", float: "a number", bool: "true or false"}
    expected = words.get(
        hint, "a list like " + ('[["a", "b"]]' if get_origin(get_args(hint)[0]) else "[…]") if get_args(hint) else ""
    )
    raise JobError(f"{path}: {where} must be {expected}.", [where])


# -- running ----------------------------------------------------------------------------------------------


def run_job(job: Job, *, progress: Progress | None = None, say: Callable[[str], None] = lambda _: None) -> Result:
    """Tabulate, assess, protect, audit, publish; write everything into the job's output folder."""
    progress = progress or Silent()
    table = make_table(job)
    empty = f", {table.n_empty:,} more are empty" if table.n_empty else ""
    say(f"tabulated {table.response} by {' × '.join(table.dimensions)}: {len(table):,} cells{empty}")
    problem = make_problem(job, table)
    say(f"assessed: {len(problem.primaries):,} cells are sensitive")
    options = job.protect
    method = with_options(options.method, at_most=options.at_most, fewest=options.fewest)
    limits = {"time_limit": options.time_limit, "gap": options.gap}
    protection = protect(problem, method, seed=options.seed, **limits, progress=progress)  # type: ignore[arg-type]
    say(f"protected: {protection.report.n_secondary:,} further cells are hidden")
    checked = audit(problem, protection, progress=progress)
    say(f"audited: {'safe' if checked.passed else f'{len(checked.exposed):,} cells exposed'}")
    release = None
    if checked.passed:
        release = publish(problem, protection, checked, symbol=job.output.symbol, decimals=job.output.decimals)
    return Result(problem, protection, checked, release, _write(job, problem, protection, checked, release))


def make_table(job: Job) -> Table:
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
    source: Any = job.resolve(d.file)
    if d.layout is not None:
        source = read_microdata(source, job.resolve(d.layout))
    hierarchies = {name: _hierarchy(job, name, dimension, source) for name, dimension in job.dimensions.items()}
    depth = max((rule.depth for rule in parse_rules(job.rules.sensitive)), default=1)
    depth += 2 if job.rules.waivers else 0  # a consenting respondent makes the next one the target
    tables = [
        tabulate(
            source,
            {name: hierarchies[name] for name in by},
            d.response,
            contributor=d.contributor,
            holding=d.holding,
            weight=d.weight,
            top=max(depth, 1),
            request=d.request,
            extra=d.extra,
            count_zeros=d.count_zeros,
            unknown=d.unknown,
        )
        for by in job.tables or [list(job.dimensions)]
    ]
    return tables[0] if len(tables) == 1 else link(*tables)


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


def read_statuses(path: Path) -> dict[str, str]:
    """CSV with the header ``cell,status``: cells by label, e.g. ``A × North``."""
    statuses: dict[str, str] = {}
    for number, (cell, status) in _small_csv(path, ["cell", "status"]):
        if cell in statuses:
            raise InputError(f"{path}, line {number}: cell {cell!r} occurs a second time.", [cell])
        statuses[cell] = status
    return statuses


def read_waivers(path: Path) -> list[str | tuple[str, str]]:
    """CSV with the header ``respondent`` or ``respondent,cell``; an empty cell means everywhere."""
    rows = _small_csv(path, ["respondent"], ["respondent", "cell"])
    return [(row[0], row[1]) if len(row) > 1 and row[1] else row[0] for _, row in rows]


def _small_csv(path: Path, *headers: list[str]) -> list[tuple[int, list[str]]]:
    """The lines after the header, numbered."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    header = [name.strip() for name in rows[0][1]] if rows else []
    if header not in headers:
        raise InputError(f"{path}: the first line must be {' or '.join(repr(','.join(h)) for h in headers)}.")
    for number, row in rows[1:]:
        if len(row) != len(header):
            raise InputError(f"{path}, line {number}: expected {len(header)} fields, found {len(row)}.")
    return rows[1:]


def protect_report(protection: Protection, checked: Audit) -> dict[str, Any]:
    """What ``report.json`` holds."""
    return {**protection.report.as_dict(), "safe": checked.passed}


def audit_report(seen: Audit | IntegerAudit) -> dict[str, Any]:
    """What ``audit.json`` holds: verdicts and labels, no values."""
    checked = seen.checked if isinstance(seen, IntegerAudit) else seen
    return {
        "safe": seen.passed,
        "attackers": list(checked.attackers),
        "n_cells": len(checked.cell),
        "n_exposed": len(seen.exposed),
        "exposed": seen.exposed,
        "whole_numbers": seen is not checked,
        "problem": checked.problem.digest,
        "protection": checked.protection,
    }


def write_json(content: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_together(files: Mapping[Path, Callable[[Path], None]]) -> None:
    """Write all files or none: each is drafted before the first takes its place."""
    with ExitStack() as drafts:
        for path, write in files.items():
            write(drafts.enter_context(writing(path)))


def _write(
    job: Job, problem: Problem, protection: Protection, checked: Audit, release: Release | None
) -> tuple[Path, ...]:
    settings = {"job": job.path.name, "cost": job.protect.cost, "boundary": job.rules.boundary}
    writers: dict[str, Callable[[Path], None]] = {
        "pattern.csv": lambda draft: write_pattern(protection, draft),
        "intervals.csv": lambda draft: checked.frame().to_csv(draft, index=False),
        "report.json": lambda draft: write_json(protect_report(protection, checked), draft),
        "audit.json": lambda draft: write_json(audit_report(checked), draft),
        "report.html": lambda draft: write_report(
            draft, problem, protection, checked, title=job.title, settings=settings
        ),
    }
    if release is not None:
        writers |= {name: lambda draft: write_release(release, draft) for name in job.writes() if name not in writers}
    files = {job.folder / name: writers[name] for name in job.writes() if name in writers}
    write_together(files)
    return tuple(files)
