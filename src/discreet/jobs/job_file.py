"""Job files: their entries, and the checks of their values."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, get_args

from discreet.assess import MissingCodes, Zeros
from discreet.attacks import ATTACKS
from discreet.data.reading import Reading
from discreet.data.spelling import Names, Spelling
from discreet.data.table import Weights
from discreet.errors import InputError, JobError, RuleError, dimension_section, placing, some
from discreet.inference.respondents.sensitivity import contribution_measures, measures_of_rules
from discreet.jobs.entries import build, section, typed, unknown_keys
from discreet.jobs.presented import (
    PRESENTED,
    check_outputs,
    check_presentation,
    presentation_in,
    release_names,
    transmission_names,
)
from discreet.jobs.toml_faults import toml_fault
from discreet.languages import LANGUAGES, Lang
from discreet.level import SAFETY_LEVELS, Level
from discreet.methods import METHODS, SUPPRESSION, with_options
from discreet.methods.method import Method
from discreet.presentation import Layout, Presentation, ReleaseMetadata, Sdmx
from discreet.rules import Boundary, Rule, Zero, parse_rules

SHAREABLE = "report-shareable.html"  # besides the release, the only file of a job that may be published
CROSS_TABLE_PREVIEW = "table-as-read.csv"  # what was understood of a cross-table
ATTACK_SETS = ("quick", "all", "none")  # "none" is the same as an empty list
FOR_RULES_OF_TABLES = (
    "Rules need more of a finished table than its values: in [table], count with the numbers of contributors, for FREQ, or top "
    "with the largest contributions, for P and NK. Without them, name the sensitive cells by hand: statuses = "
    '"statuses.csv" in [rules], a file with the columns cell and status.'
)
MAX_DECIMALS = 15  # digits that a double stores reliably
MAX_RULE_DEPTH = 100  # contributions per cell; more would take too much memory in large tables


@dataclass(frozen=True)
class Data(Reading):
    """Records to tabulate."""

    file: str
    layout: str | None = None  # .rda file of a fixed-width file
    response: str | None = None  # None: records are counted
    contributor: str | None = None
    holding: str | None = None
    weight: str | None = None
    weights: str = "known"  # known to readers, or "secret"
    request: str | None = None
    requests: list[str] = field(
        default_factory=list
    )  # entries that mark requests, one per kind; none: any but 0 and false
    extra: list[str] = field(default_factory=list)
    count_zeros: bool = True
    unknown: str = "error"
    behind: bool = True  # cells behind cycles of linked tables are taken into account
    names: str | None = None  # "exact" or "merged"; None: an error asks if spellings of names differ


@dataclass(frozen=True)
class Finished(Reading):
    """A table that another program made."""

    file: str
    value: str
    count: str | None = None
    top: list[str] = field(default_factory=list)
    who: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    tolerance: float = 1e-9
    unpublished_totals: bool = False
    names: str | None = None
    flags: str | None = None  # column with CONF_STATUS: which cells are confidential
    secondary: str = "suppressed"  # or "free": cells that the flags call secondary
    layout: str | None = None  # "cross": a cross-table, which has the following entries
    rows: list[str] = field(default_factory=list)  # what the columns with labels of rows are, from the left
    columns: list[str] = field(default_factory=list)  # what the header rows are, from the top
    headings: str | None = None  # the dimension whose codes stand in rows of their own
    skip: list[str] = field(default_factory=list)  # rows and columns to leave out
    subtotals: str = "above"  # or "below": where the sums of indented rows stand


@dataclass(frozen=True)
class Dimension:
    """The hierarchy of the codes of a column. Without any entry it has a single level below the total."""

    hierarchy: str | None = None  # a .hrc file, .csv with code,parent, or .xml with an SDMX structure
    codelist: str | None = None  # the code list or hierarchy in an SDMX structure
    codes: str | None = None  # CSV code,label,label:de …: the order of the codes and their names
    also: list[str] = field(default_factory=list)  # files of further hierarchies of the same codes
    levels: list[int] | None = None  # widths of digit-prefix levels
    columns: list[str] | None = None  # coarser columns that nest, coarsest first
    recode: str | None = None  # CSV code,into: codes of the records that are replaced before tabulation
    total: str = "Total"
    missing_codes: list[str] = field(default_factory=list)  # that mean that a record has no code
    separate: bool = False  # one table per code; the total is not published
    strip: bool | None = None  # whether blanks around and within codes are stray; None: an error asks if it matters
    merge: dict[str, str] = field(default_factory=dict)  # codes that are others, written differently

    @property
    def spelling(self) -> Spelling:
        return Spelling(self.strip, self.merge)


@dataclass(frozen=True)
class Rules:
    """Which cells are sensitive, and who is taken to know what beforehand."""

    sensitive: list[str]
    boundary: str = "strict"
    prior: float | None = None
    margin: float = 20.0
    least_level: float = 0.0  # in units of the response
    zeros: str | None = None  # "published" or "suppressible"
    missing_codes: str = "judged"  # or "safe": sensitive cells with a missing code may be published
    waivers: str | None = None  # CSV respondent[,cell]
    statuses: str | None = None  # CSV cell,status[,reason]
    attackers: str | None = None  # CSV attacker,cell,lower,upper[,lower_level,upper_level,sliding_level]


@dataclass(frozen=True)
class Protect:
    """The method and its options."""

    method: str = "kelly"
    level: str | None = None  # "cells" or "contributions"; None: contributions wherever respondents can be covered
    cost: str = "value"
    seed: int = 0  # public: of the random choices of a search
    secret: str | None = None  # file with the secret of randomness that protects; None: a new secret
    time_limit: float | None = None
    gap: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)  # of the method, see `discreet methods`
    workers: int = 1
    checkpoint: str | None = None  # file for the latest pattern, from which another run can continue


@dataclass(frozen=True)
class Output:
    """The files to write and the conditions of the release."""

    folder: str = "output"
    formats: list[str] = field(default_factory=lambda: ["csv", "xlsx"])
    symbol: str | None = None  # None: that of the language
    decimals: int | None = None
    lang: str = "en"  # of the release and the shareable report
    share: bool = False  # also write the shareable report
    accept_symmetric: bool = False  # publish also if values are in the middle of the narrowest intervals
    attacks: list[str] = field(default_factory=lambda: ["quick"])  # names of attacks, or one of ATTACK_SETS
    transmission: str | None = None  # format of the transmission edition: "sdmx-csv", "sdmx-csv-1" or "sdmx-ml"


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
    metadata: ReleaseMetadata = field(default_factory=ReleaseMetadata)
    workbook: Layout = field(default_factory=Layout)
    sdmx: Sdmx = field(default_factory=Sdmx)

    def resolve(self, name: str) -> Path:
        return self.path.parent / name

    @property
    def source(self) -> Data | Finished:
        """The records or the finished table, and how their file is to be read."""
        found = self.data or self.table
        assert found is not None
        return found

    def method(self) -> Method:
        """The method with its options; paths of files among them are relative to the folder of the job."""
        files = getattr(METHODS[self.protect.method], "files", ())
        options = {
            name: str(self.resolve(option)) if name in files and isinstance(option, str) else option
            for name, option in self.protect.options.items()
        }
        return with_options(self.protect.method, **options)

    @property
    def label_dimensions(self) -> list[str]:
        """The dimensions in the order of labels of cells; that of linked tables is the order in which they name them."""
        return list(dict.fromkeys(name for by in self.tables or [list(self.dimensions)] for name in by))

    @property
    def folder(self) -> Path:
        return self.resolve(self.output.folder)

    @property
    def level(self) -> Level | None:
        """The requested level of safety, if any."""
        return next((level for level in SAFETY_LEVELS if level == self.protect.level), None)

    @property
    def lang(self) -> Lang:
        """The language of the readers."""
        return next(lang for lang in LANGUAGES if lang == self.output.lang)

    @property
    def needs_contributions(self) -> bool:
        """Whether the table must store all contributions, so that respondents can be covered."""
        if self.level is not None:
            return self.level == "contributions"
        named = bool(self.table.who) if self.table else bool(self.data and (self.data.contributor or self.data.holding))
        suppresses = self.protect.method in SUPPRESSION
        return named and suppresses and self.has_finest_table and bool(contribution_measures(self.rules.sensitive))

    @property
    def has_finest_table(self) -> bool:
        """Whether one of the tables has all dimensions of the others."""
        tables = [set(by) for by in self.tables or []]
        return not tables or set.union(*tables) in tables

    def reads(self) -> dict[str, str]:
        """The files that the job reads, each with the entry that names it."""
        named = [("data.file", self.data.file), ("data.layout", self.data.layout)] if self.data else []
        named += [("table.file", self.table.file)] if self.table else []
        for name, dimension in self.dimensions.items():
            named.append((f"dimensions.{name}.hierarchy", dimension.hierarchy))
            named += [(f"dimensions.{name}.also", file) for file in dimension.also]
            named.append((f"dimensions.{name}.recode", dimension.recode))
            named.append((f"dimensions.{name}.codes", dimension.codes))
        named += [(f"rules.{name}", getattr(self.rules, name)) for name in ("waivers", "statuses", "attackers")]
        named.append(("protect.secret", self.protect.secret))
        named += [("workbook.template", self.workbook.template), ("sdmx.ids", self.sdmx.ids)]
        return {file: entry for entry, file in named if file is not None}

    def writes(self) -> list[str]:
        """The names of the files that the job writes into its output folder."""
        shared = [SHAREABLE] if self.output.share else []
        previews = [CROSS_TABLE_PREVIEW] if self.table and self.table.layout else []
        return [
            *release_names(self),
            *shared,
            *transmission_names(self),
            *previews,
            "pattern.csv",
            "intervals.csv",
            "report.json",
            "audit.json",
            "report.html",
        ]


def is_public(file: Path) -> bool:
    """Whether a file that a job writes may be published; all others are confidential."""
    return file.name.startswith("release.") or file.name == SHAREABLE


def read_job(path: str | Path) -> Job:
    """The job described in a TOML file. All entries are checked before any data are read."""
    job, errors = examine_job(path)
    if job is None or errors:
        raise errors[0]
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JobError(f"{job.path}: cannot make the output folder {job.folder}: {error.strerror}.") from None
    return job


def examine_job(path: str | Path) -> tuple[Job | None, list[JobError]]:
    """The job described in a TOML file, and all errors of its entries. Faulty entries have their defaults in the job.

    The job is None if an entry that has no default is missing or faulty.
    """
    path = Path(path)
    try:
        job, errors = _job(path, _toml(path))
    except JobError as error:  # not a TOML file
        return None, [error]
    errors = [_named(path, error) for error in errors]
    if job is not None:
        errors += [_named(job.path, error) for check in CHECKS for error in collected(check, job)]
    return job, list({str(error): error for error in errors}.values())  # two checks may find the same


def collected(check: Check, job: Job) -> list[InputError]:
    """The errors that a check yields, and the one that ends it if it raises one."""
    errors: list[InputError] = []
    try:
        errors.extend(check(job))
    except InputError as error:
        errors.append(error)
    return errors


def _named(path: Path, error: InputError) -> JobError:
    """The error of an entry, which begins with the name of the job file."""
    return JobError(f"{path}: {error}", error.offenders)


def _job(path: Path, raw: Mapping[str, Any]) -> tuple[Job | None, list[JobError]]:
    known = ["title", "data", "table", "dimensions", "tables", "rules", "protect", "output", *PRESENTED]
    errors = list(unknown_keys("the file", raw, known))
    if ("data" in raw) == ("table" in raw):
        errors.append(JobError("give either [data] (records to tabulate) or [table] (a finished table)."))
    dimensions = section(raw, "dimensions", errors)
    if not dimensions:
        errors.append(JobError("list at least one dimension, e.g. [dimensions.region]."))
    wrong = [name for name, entry in dimensions.items() if not isinstance(entry, dict)]
    errors += [JobError(f"dimension {name!r} is a section: write {dimension_section(name)}.") for name in wrong]

    def built(name: str, cls: type[Any]) -> Any:
        return build(name, section(raw, name, errors), cls, errors)

    def entry(name: str, hint: Any, default: Any) -> Any:
        try:
            return typed(name, raw[name], hint) if name in raw else default
        except JobError as error:
            errors.append(error)
            return default

    given_title = entry("title", str, "")
    by = {
        name: build(f"dimensions.{name}", listed, Dimension, errors)
        for name, listed in dimensions.items()
        if name not in wrong
    }
    rules = built("rules", Rules)
    data, table = (built(name, cls) if name in raw else None for name, cls in (("data", Data), ("table", Finished)))
    tables = entry("tables", list[list[str]], None)
    protect, output = built("protect", Protect), built("output", Output)
    presented = {name: built(name, cls) for name, cls in PRESENTED.items()}
    presented["metadata"] = replace(presented["metadata"], title=presented["metadata"].title or given_title)
    if not by or rules is None or (data is None) == (table is None):
        return None, errors
    return Job(
        path.resolve(),
        given_title or path.stem,
        by,
        rules,
        data,
        table,
        tables,
        protect,
        output,
        **presented,
    ), errors


def read_presentation(path: str | Path) -> Presentation:
    """How a release is presented, from a TOML file with the sections [metadata], [workbook] and [sdmx] of a job file."""
    path = Path(path)
    raw = _toml(path)
    errors = list(unknown_keys("the file", raw, list(PRESENTED)))
    found = {name: build(name, section(raw, name, errors), cls, errors) for name, cls in PRESENTED.items()}
    if errors:
        raise _named(path, errors[0])
    with placing(path):
        presented = presentation_in(path.parent, found["metadata"], found["workbook"], found["sdmx"])
        presented.check()
    return presented


def _toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig") + "\n"
    except FileNotFoundError:
        raise JobError(f"Job file {path} does not exist.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise JobError(f"{path}, line {line}: the text is not in UTF-8. Save the file in this encoding.") from None
    except (OSError, ValueError) as error:
        raise JobError(f"{path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if path.suffix.lower() in (".csv", ".tsv", ".txt"):
            raise JobError(
                f"{path} is no job file. If it has the records, write a job file: discreet init {path}."
            ) from None
        raise JobError(f"{path} is not a TOML file: {toml_fault(text, error)}") from None
    except ValueError:  # Python reads no integers of thousands of digits
        raise JobError(f"{path} has an integer of thousands of digits. Write a smaller one.") from None
    except RecursionError:
        raise JobError(f"{path} has entries that are nested too deeply to be read.") from None


def _check_dimensions(job: Job) -> Iterator[InputError]:
    for name, dimension in job.dimensions.items():
        sources = [entry for entry in ("hierarchy", "levels", "columns") if getattr(dimension, entry) is not None]
        if len(sources) > 1:
            yield JobError(f"dimension {name!r} has both {sources[0]} and {sources[1]}: give one.")
        if all(isinstance(into, str) for into in dimension.merge.values()):
            with placing(f"dimension {name!r}"):
                _ = dimension.spelling  # refuses codes that are replaced by replaced ones
        else:
            yield JobError(f'dimension {name!r}: \'merge\' has codes in quotes on both sides: {{"WEST" = "West"}}.')
        is_sdmx = dimension.hierarchy is not None and dimension.hierarchy.lower().endswith(".xml")
        if dimension.codelist is not None and not is_sdmx:
            yield JobError(f"dimension {name!r}: 'codelist' goes with an SDMX structure (.xml) as hierarchy.")
        if dimension.also and not dimension.hierarchy:
            yield JobError(f"dimension {name!r} has further groupings (also) but no hierarchy.")
        if job.table is not None and (dimension.levels or dimension.columns):
            yield JobError(f"dimension {name!r} of a finished table needs a hierarchy file.")
        if dimension.recode is not None and (dimension.hierarchy is None or job.table is not None):
            yield JobError(f"dimension {name!r}: 'recode' goes with [data] and a hierarchy file of the new codes.")
    yield from _check_separate(job)
    for by in job.tables or []:
        unknown = [name for name in by if name not in job.dimensions]
        if unknown:
            yield JobError(f"'tables' names dimensions that are not listed: {some(unknown)}.", unknown)
        if not by or len(set(by)) < len(by):
            yield JobError("each of 'tables' names one or more dimensions, each of them once.")
    if job.tables and job.table is not None:
        yield JobError("'tables' goes with [data].")


def _check_rules(job: Job) -> Iterator[InputError]:
    flagged = job.table is not None and job.table.flags is not None
    if not job.rules.sensitive and not job.rules.statuses and not flagged:
        of_table = "" if job.table is None else f" {FOR_RULES_OF_TABLES}"
        yield JobError(
            f"nothing would be protected. List rules under 'sensitive', or statuses of single cells.{of_table}"
        )
    rules: list[Rule] = []
    for number, text in enumerate(job.rules.sensitive, 1):
        try:
            with placing(f"rules.sensitive, entry {number}"):
                rules += parse_rules(text)
        except RuleError as error:
            yield error
    if any(rule.depth > MAX_RULE_DEPTH for rule in rules):
        yield JobError(
            f"a rule uses more than {MAX_RULE_DEPTH} contributions to a cell. Write a smaller number of contributors."
        )
    if job.rules.missing_codes == "safe" and not any(one.missing_codes for one in job.dimensions.values()):
        yield JobError(
            'missing_codes = "safe" is about codes that mean missing: list them under missing_codes of a dimension.'
        )
    if job.data is not None and job.data.requests and job.data.request is None:
        yield JobError("'requests' lists entries of the column 'request': name this column, too.")
    if job.data is not None and not job.data.count_zeros and any(isinstance(rule, Zero) for rule in rules):
        yield JobError("rule ZERO is about contributors of zero: leave out count_zeros = false.")


def _check_protection(job: Job) -> Iterator[InputError]:
    if job.protect.method not in METHODS:
        yield JobError(f"there is no method {job.protect.method!r}. Choose from {some(list(METHODS), 20)}.")
        return
    job.method()  # refuses wrong options
    if job.protect.method not in SUPPRESSION:
        for entry, is_set in (("checkpoint", job.protect.checkpoint), ("level", job.level == "contributions")):
            if is_set:
                yield JobError(
                    f"{entry} is for suppression; the method {job.protect.method!r} suppresses no cells. Leave it out."
                )
    if job.level == "contributions":
        measures_of_rules(job.rules.sensitive)  # refuses rules without such a measure
        if not job.has_finest_table:
            yield JobError(
                "at the level of contributions one of 'tables' must have all dimensions of the others. Otherwise the "
                "contributions in different tables cannot be matched."
            )


def _check_choices(job: Job) -> Iterator[InputError]:
    rules, data = job.rules, job.data
    choices: list[tuple[str, str | None, tuple[str, ...]]] = [
        ("boundary", rules.boundary, get_args(Boundary)),
        ("zeros", rules.zeros, get_args(Zeros)),
        ("missing_codes", rules.missing_codes, get_args(MissingCodes)),
        ("level", job.protect.level, SAFETY_LEVELS),
        ("lang", job.output.lang, LANGUAGES),
        ("unknown", data.unknown if data else None, ("error", "drop")),
        ("weights", data.weights if data else None, get_args(Weights)),
        ("names", (job.table or data).names, get_args(Names)),  # type: ignore[union-attr]  # a job has one of the two
    ]
    for entry, value, allowed in choices:
        if value is not None and value not in allowed:
            yield JobError(f"{entry} is {' or '.join(map(repr, allowed))}, not {value!r}.")


def _check_layout(job: Job) -> Iterator[InputError]:
    table = job.table
    if table is None:
        return
    given = [name for name in ("rows", "columns", "headings", "skip") if getattr(table, name)]
    if table.layout not in (None, "cross"):
        yield JobError(f'table.layout is "cross" for a cross-table, or left out, not {table.layout!r}.')
    elif table.layout is None and given:
        yield JobError(f'{some(given)} in [table] say how a cross-table is laid out: add layout = "cross".', given)
    elif table.layout == "cross" and not (table.rows and table.columns):
        yield JobError(
            "a cross-table needs rows and columns, the dimensions of the labels of its rows and columns, e.g. "
            'rows = ["branch"] and columns = ["region"].'
        )


def _check_reading(job: Job) -> Iterator[InputError]:
    source = job.source
    for fault in source.faults():
        yield JobError(f"[{'data' if job.table is None else 'table'}] {fault}")


def _check_attacks(job: Job) -> Iterator[InputError]:
    attacks, known = job.output.attacks, [*ATTACK_SETS, *ATTACKS]
    unknown = [name for name in attacks if name not in known]
    if unknown:
        yield JobError(f"there is no attack {some(unknown)}. Choose from {some(known, 20)}.", unknown)
    if len(attacks) > 1 and not set(attacks).isdisjoint(ATTACK_SETS):
        yield JobError(f"attacks are a list of names, or one of {some(ATTACK_SETS)} alone.", attacks)


def _check_files(job: Job) -> Iterator[InputError]:
    reads = {entry: file for file, entry in job.reads().items()}
    others = {"output.folder": job.output.folder, "protect.checkpoint": job.protect.checkpoint or ""}
    for entry, name in {**reads, **others}.items():
        if "\0" in name:
            yield JobError(f"{entry} has a NUL character, which no file name can have.", [entry])
            return
    written = [(job.folder / name).resolve() for name in job.writes()]
    for name, entry in job.reads().items():
        if not job.resolve(name).is_file():
            path = (
                ""
                if name.isprintable()
                else " Write paths in single quotes: in double quotes \\t and \\n are no letters."
            )
            if "\\" in name and os.sep == "/":
                path = " A backslash separates no folders on this system: write /."
            yield JobError(f"there is no file {name!r} for {entry}.{path}", [name])
        if job.resolve(name).resolve() in written:
            yield JobError(f"the job would overwrite {name!r}, its {entry}. Choose another output folder.")
    folders = [file.name for file in written if file.is_dir()]
    if folders:
        yield JobError(f"there is a folder {folders[0]!r} in {job.folder} in place of a file.", folders)
    folder = next(folder for folder in (job.folder.resolve(), *job.folder.resolve().parents) if folder.exists())
    if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
        yield JobError(
            f"the folder {folder} is not yours to write to. Choose another output folder.", [job.output.folder]
        )
    if job.protect.checkpoint is not None:
        file = job.resolve(job.protect.checkpoint).resolve()
        taken = [job.path, *written, *(job.resolve(name).resolve() for name in job.reads())]
        if file in taken or file.is_dir():
            yield JobError("protect.checkpoint must be a file of its own.", [job.protect.checkpoint])
        if not file.parent.is_dir() and file.parent != job.folder.resolve():
            yield JobError(f"there is no folder {str(file.parent)!r} for protect.checkpoint.", [file.parent])


def _check_separate(job: Job) -> Iterator[InputError]:
    names = [name for name, dimension in job.dimensions.items() if dimension.separate]
    if names and job.table is not None:
        yield JobError("'separate' goes with [data]. Of a finished table leave totals out and set unpublished_totals.")
    if len(names) > 1 and job.tables:
        yield JobError(f"of linked tables, one dimension can be separate, not {some(names)}.", names)
    if len(names) == len(job.dimensions):
        yield JobError("all dimensions are separate, so that nothing adds up. Leave one of them together.")


def _check_numbers(job: Job) -> Iterator[InputError]:
    rules, protect, tolerance = job.rules, job.protect, 0.0 if job.table is None else job.table.tolerance
    conditions = {
        ("rules.prior", "a percentage above 0 and up to 100"): rules.prior is None or 0 < rules.prior <= 100,
        ("rules.margin", "a percentage, 0 or more"): 0 <= rules.margin < inf,
        ("rules.least_level", "a number, 0 or more"): 0 <= rules.least_level < inf,
        ("protect.seed", "0 or more"): protect.seed >= 0,
        ("protect.workers", "1 or more"): protect.workers >= 1,
        ("protect.time_limit", "seconds, 0 or more"): protect.time_limit is None or protect.time_limit >= 0,
        ("protect.gap", "a share from 0 to 1"): 0 <= protect.gap <= 1,
        ("table.tolerance", "a share from 0 to less than 1"): 0 <= tolerance < 1,
        ("output.decimals", f"{MAX_DECIMALS} at most"): abs(job.output.decimals or 0) <= MAX_DECIMALS,
    }
    for (entry, condition), holds in conditions.items():
        if not holds:
            yield JobError(f"{entry} must be {condition}.", [entry])  # without its value: prior is confidential


Check = Callable[[Job], Iterable[InputError]]
CHECKS: tuple[Check, ...] = (
    _check_dimensions,
    _check_choices,
    _check_layout,
    _check_reading,
    _check_rules,
    _check_protection,
    check_outputs,
    _check_attacks,
    check_presentation,
    _check_numbers,
    _check_files,
)
