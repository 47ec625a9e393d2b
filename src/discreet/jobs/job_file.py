"""Job files: their entries, and the checks of their values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from math import inf
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from discreet.assess import Zeros
from discreet.attacks import ATTACKS
from discreet.data.table import Weights
from discreet.errors import JobError, RuleError, some
from discreet.inference.respondents.sensitivity import contribution_measures, measures_of_rules
from discreet.io import FORMATS
from discreet.level import SAFETY_LEVELS, Level
from discreet.methods import METHODS, SUPPRESSION, with_options
from discreet.methods.method import Method
from discreet.release import SYMBOL
from discreet.rules import Boundary, Zero, parse_rules

SHAREABLE = "report-shareable.html"  # besides the release, the only file of a job that may be published
ATTACK_SETS = ("quick", "all", "none")  # "none" is the same as an empty list
MAX_DECIMALS = 15  # digits that a double stores reliably
INTEGER_LIMIT = 1 << 63  # arrays store integers below this number
MAX_RULE_DEPTH = 100  # contributions per cell; more would take too much memory in large tables


@dataclass(frozen=True)
class Data:
    """Records to tabulate."""

    file: str
    layout: str | None = None  # .rda file of a fixed-width file
    response: str | None = None  # None: records are counted
    contributor: str | None = None
    holding: str | None = None
    weight: str | None = None
    weights: str = "known"  # known to readers, or "secret"
    request: str | None = None
    extra: list[str] = field(default_factory=list)
    count_zeros: bool = True
    unknown: str = "error"
    behind: bool = True  # cells behind cycles of linked tables are taken into account


@dataclass(frozen=True)
class Finished:
    """A table that another program made."""

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
    """The hierarchy of the codes of a column. Without any entry it has a single level below the total."""

    hierarchy: str | None = None  # a .hrc file, or .csv with code,parent
    also: list[str] = field(default_factory=list)  # files of further hierarchies of the same codes
    levels: list[int] | None = None  # widths of digit-prefix levels
    columns: list[str] | None = None  # coarser columns that nest, coarsest first
    recode: str | None = None  # CSV code,into: codes of the records that are replaced before tabulation
    total: str = "Total"
    separate: bool = False  # one table per code; the total is not published


@dataclass(frozen=True)
class Rules:
    """Which cells are sensitive, and who is taken to know what beforehand."""

    sensitive: list[str]
    boundary: str = "strict"
    prior: float | None = None
    margin: float = 20.0
    zeros: str | None = None  # "published" or "suppressible"
    waivers: str | None = None  # CSV respondent[,cell]
    statuses: str | None = None  # CSV cell,status[,reason]
    attackers: str | None = None  # CSV attacker,cell,lower,upper[,lower_level,upper_level,sliding_level]


@dataclass(frozen=True)
class Protect:
    """The method and its options."""

    method: str = "kelly"
    level: str | None = None  # "cells" or "contributions"; None: contributions wherever respondents can be covered
    cost: str = "value"
    seed: int = 0  # public: breaks ties
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
    symbol: str = SYMBOL
    decimals: int | None = None
    share: bool = False  # also write the shareable report
    accept_symmetric: bool = False  # publish also if values are in the middle of the narrowest intervals
    attacks: list[str] = field(default_factory=lambda: ["quick"])  # names of attacks, or one of ATTACK_SETS


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

    def method(self) -> Method:
        """The method with its options; paths of files among them are relative to the folder of the job."""
        files = getattr(METHODS[self.protect.method], "files", ())
        options = {
            name: str(self.resolve(option)) if name in files and isinstance(option, str) else option
            for name, option in self.protect.options.items()
        }
        return with_options(self.protect.method, **options)

    @property
    def folder(self) -> Path:
        return self.resolve(self.output.folder)

    @property
    def level(self) -> Level | None:
        """The requested level of safety, if any."""
        return next((level for level in SAFETY_LEVELS if level == self.protect.level), None)

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
        named += [(f"rules.{name}", getattr(self.rules, name)) for name in ("waivers", "statuses", "attackers")]
        named.append(("protect.secret", self.protect.secret))
        return {file: entry for entry, file in named if file is not None}

    def writes(self) -> list[str]:
        """The names of the files that the job writes into its output folder."""
        releases = [f"release.{kind}" for kind in dict.fromkeys(self.output.formats)]
        shared = [SHAREABLE] if self.output.share else []
        return [*releases, *shared, "pattern.csv", "intervals.csv", "report.json", "audit.json", "report.html"]


def is_public(file: Path) -> bool:
    """Whether a file that a job writes may be published; all others are confidential."""
    return file.name.startswith("release.") or file.name == SHAREABLE


def read_job(path: str | Path) -> Job:
    """The job described in a TOML file. All entries are checked before any data are read."""
    path = Path(path)
    raw = _toml(path)
    with _naming(path):
        job = _job(path, raw)
    with _naming(job.path):  # all errors that can be found without reading the data
        _check_dimensions(job)
        _check_choices(job)
        _check_rules(job)
        _check_protection(job)
        _check_outputs(job)
        _check_numbers(job)
        _check_files(job)
    return job


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors about entries begin with the name of the job file."""
    try:
        yield
    except (JobError, RuleError) as error:
        raise JobError(f"{path}: {error}", error.offenders) from None


def _job(path: Path, raw: Mapping[str, Any]) -> Job:
    known = ["title", "data", "table", "dimensions", "tables", "rules", "protect", "output"]
    _check_keys("the file", raw, known)
    if ("data" in raw) == ("table" in raw):
        raise JobError("give either [data] (records to tabulate) or [table] (a finished table).")
    dimensions = _section(raw, "dimensions")
    if not dimensions:
        raise JobError("list at least one dimension, e.g. [dimensions.region].")
    for name, entry in dimensions.items():
        if not isinstance(entry, dict):
            raise JobError(f"dimension {name!r} is a section: write [dimensions.{name}].")
    return Job(
        path=path.resolve(),
        title=_typed("title", raw.get("title", path.stem), str),
        dimensions={name: _build(f"dimensions.{name}", entry, Dimension) for name, entry in dimensions.items()},
        rules=_build("rules", _section(raw, "rules"), Rules),
        data=_build("data", _section(raw, "data"), Data) if "data" in raw else None,
        table=_build("table", _section(raw, "table"), Finished) if "table" in raw else None,
        tables=_typed("tables", raw["tables"], list[list[str]]) if "tables" in raw else None,
        protect=_build("protect", _section(raw, "protect"), Protect),
        output=_build("output", _section(raw, "output"), Output),
    )


def _toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise JobError(f"Job file {path} does not exist.") from None
    except UnicodeDecodeError as error:
        raise JobError(f"{path} is not a TOML file: {error}.") from None
    except (OSError, ValueError) as error:
        raise JobError(f"{path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise JobError(f"{path} is not a TOML file: {error}.") from None
    except ValueError:  # Python reads no integers of thousands of digits
        raise JobError(f"{path} has an integer of thousands of digits. Write a smaller one.") from None
    except RecursionError:
        raise JobError(f"{path} has entries that are nested too deeply to be read.") from None


def _check_dimensions(job: Job) -> None:
    for name, dimension in job.dimensions.items():
        sources = [entry for entry in ("hierarchy", "levels", "columns") if getattr(dimension, entry) is not None]
        if len(sources) > 1:
            raise JobError(f"dimension {name!r} has both {sources[0]} and {sources[1]}: give one.")
        if dimension.also and not dimension.hierarchy:
            raise JobError(f"dimension {name!r} has further groupings (also) but no hierarchy.")
        if job.table is not None and (dimension.levels or dimension.columns):
            raise JobError(f"dimension {name!r} of a finished table needs a hierarchy file.")
        if dimension.recode is not None and (dimension.hierarchy is None or job.table is not None):
            raise JobError(f"dimension {name!r}: 'recode' goes with [data] and a hierarchy file of the new codes.")
    _check_separate(job)
    for by in job.tables or []:
        unknown = [name for name in by if name not in job.dimensions]
        if unknown:
            raise JobError(f"'tables' names dimensions that are not listed: {some(unknown)}.", unknown)
        if not by or len(set(by)) < len(by):
            raise JobError("each of 'tables' names one or more dimensions, each of them once.")
    if job.tables and job.table is not None:
        raise JobError("'tables' goes with [data].")


def _check_rules(job: Job) -> None:
    if not job.rules.sensitive and not job.rules.statuses:
        raise JobError("nothing would be protected. List rules under 'sensitive', or statuses of single cells.")
    rules = parse_rules(job.rules.sensitive)
    if any(rule.depth > MAX_RULE_DEPTH for rule in rules):
        raise JobError(f"a rule uses more than {MAX_RULE_DEPTH} contributions to a cell.")
    if job.data is not None and not job.data.count_zeros and any(isinstance(rule, Zero) for rule in rules):
        raise JobError("rule ZERO is about contributors of zero: leave out count_zeros = false.")


def _check_protection(job: Job) -> None:
    if job.protect.method not in METHODS:
        raise JobError(f"there is no method {job.protect.method!r}. Choose from {some(list(METHODS), 20)}.")
    job.method()  # refuses wrong options
    if job.protect.method not in SUPPRESSION:
        for entry, is_set in (("checkpoint", job.protect.checkpoint), ("level", job.level == "contributions")):
            if is_set:
                raise JobError(f"{entry} is for suppression; the method {job.protect.method!r} suppresses no cells.")
    if job.level == "contributions":
        measures_of_rules(job.rules.sensitive)  # refuses rules without such a measure
        if not job.has_finest_table:
            raise JobError(
                "at the level of contributions one of 'tables' must have all dimensions of the others. Otherwise the "
                "contributions in different tables cannot be matched."
            )


def _check_choices(job: Job) -> None:
    rules, data = job.rules, job.data
    choices: list[tuple[str, str | None, tuple[str, ...]]] = [
        ("boundary", rules.boundary, get_args(Boundary)),
        ("zeros", rules.zeros, get_args(Zeros)),
        ("level", job.protect.level, SAFETY_LEVELS),
        ("unknown", data.unknown if data else None, ("error", "drop")),
        ("weights", data.weights if data else None, get_args(Weights)),
    ]
    for entry, value, allowed in choices:
        if value is not None and value not in allowed:
            raise JobError(f"{entry} is {' or '.join(map(repr, allowed))}, not {value!r}.")


def _check_outputs(job: Job) -> None:
    writable = [suffix[1:] for suffix, module in FORMATS.items() if hasattr(module, "write_release")]
    unknown = [name for name in job.output.formats if name not in writable]
    if unknown:
        raise JobError(f"cannot write releases as {some(unknown)}. Choose from {some(writable, 9)}.", unknown)
    attacks, known = job.output.attacks, [*ATTACK_SETS, *ATTACKS]
    unknown = [name for name in attacks if name not in known]
    if unknown:
        raise JobError(f"there is no attack {some(unknown)}. Choose from {some(known, 20)}.", unknown)
    if len(attacks) > 1 and not set(attacks).isdisjoint(ATTACK_SETS):
        raise JobError(f"attacks are a list of names, or one of {some(ATTACK_SETS)} alone.", attacks)


def _check_files(job: Job) -> None:
    reads = {entry: file for file, entry in job.reads().items()}
    others = {"output.folder": job.output.folder, "protect.checkpoint": job.protect.checkpoint or ""}
    for entry, name in {**reads, **others}.items():
        if "\0" in name:
            raise JobError(f"{entry} has a NUL character, which no file name can have.", [entry])
    written = [(job.folder / name).resolve() for name in job.writes()]
    for name, entry in job.reads().items():
        if not job.resolve(name).is_file():
            raise JobError(f"there is no file {name!r} for {entry}.", [name])
        if job.resolve(name).resolve() in written:
            raise JobError(f"the job would overwrite {name!r}, its {entry}. Choose another output folder.")
    folders = [file.name for file in written if file.is_dir()]
    if folders:
        raise JobError(f"there is a folder {folders[0]!r} in {job.folder} in place of a file.", folders)
    if job.protect.checkpoint is not None:
        file = job.resolve(job.protect.checkpoint).resolve()
        taken = [job.path, *written, *(job.resolve(name).resolve() for name in job.reads())]
        if file in taken or file.is_dir():
            raise JobError("protect.checkpoint must be a file of its own.", [job.protect.checkpoint])
        if not file.parent.is_dir() and file.parent != job.folder.resolve():
            raise JobError(f"there is no folder {str(file.parent)!r} for protect.checkpoint.", [file.parent])
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JobError(f"cannot make the output folder {job.folder}: {error.strerror}.") from None


def _check_separate(job: Job) -> None:
    names = [name for name, dimension in job.dimensions.items() if dimension.separate]
    if names and job.table is not None:
        raise JobError(
            "'separate' goes with [data]. In a finished table leave the totals out and set unpublished_totals."
        )
    if len(names) > 1 and job.tables:
        raise JobError(f"of linked tables, one dimension can be separate, not {some(names)}.", names)
    if len(names) == len(job.dimensions):
        raise JobError("all dimensions are separate, so that nothing adds up. Leave one of them together.")


def _check_numbers(job: Job) -> None:
    def require(holds: bool, entry: str, condition: str) -> None:
        if not holds:
            raise JobError(f"{entry} must be {condition}.", [entry])  # without its value: prior is confidential

    require(job.rules.prior is None or 0 < job.rules.prior <= 100, "rules.prior", "a percentage above 0 and up to 100")
    require(0 <= job.rules.margin < inf, "rules.margin", "a percentage, 0 or more")
    require(job.protect.seed >= 0, "protect.seed", "0 or more")
    require(job.protect.workers >= 1, "protect.workers", "1 or more")
    require(job.protect.time_limit is None or job.protect.time_limit >= 0, "protect.time_limit", "seconds, 0 or more")
    require(0 <= job.protect.gap <= 1, "protect.gap", "a share from 0 to 1")
    require(job.table is None or 0 <= job.table.tolerance < 1, "table.tolerance", "a share from 0 to less than 1")
    require(abs(job.output.decimals or 0) <= MAX_DECIMALS, "output.decimals", f"{MAX_DECIMALS} at most")


def _section(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    entry = raw.get(name, {})
    if not isinstance(entry, dict):
        raise JobError(f"{name!r} is a section: write [{name}].")
    return entry


def _check_keys(where: str, entry: Mapping[str, Any], known: list[str]) -> None:
    for key in entry:
        if key not in known:
            similar = get_close_matches(key, known, n=1)
            hint = f" Did you mean {similar[0]!r}?" if similar else f" Known are {some(known, 12)}."
            raise JobError(f"{where} has an unknown entry {key!r}.{hint}", [key])


def _build(where: str, entry: Mapping[str, Any], cls: type[Any]) -> Any:
    """An object of a section, after a check of its keys and of the types of its values."""
    hints = get_type_hints(cls)
    _check_keys(f"[{where}]", entry, list(hints))
    missing = [
        f.name for f in fields(cls) if f.name not in entry and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise JobError(f"[{where}] needs an entry {missing[0]!r}.", missing)
    return cls(**{key: _typed(f"{where}.{key}", value, hints[key]) for key, value in entry.items()})


def _typed(where: str, value: Any, hint: Any, list_hint: Any = None) -> Any:
    """The value if it has the type ``hint``; ``list_hint`` is the type of the list that it is in, for the message."""
    if isinstance(hint, UnionType):
        hint = next(option for option in get_args(hint) if option is not NoneType)
    if get_origin(hint) is dict:
        hint = dict  # values of any type
    if get_origin(hint) is list:
        if isinstance(value, list):
            return [_typed(where, item, get_args(hint)[0], hint) for item in value]
        hint = list_hint or hint
    elif isinstance(value, int) and abs(value) >= INTEGER_LIMIT:
        raise JobError(f"{where} is too large a number.", [where])
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    names = {str: "text in quotes", int: "an integer", float: "a number", bool: "true or false", dict: "a table {…}"}
    expected = names.get(hint, "")
    if get_args(hint):
        expected = "a list like " + ('[["a", "b"]]' if get_origin(get_args(hint)[0]) else "[…]")
    raise JobError(f"{where} must be {expected}.", [where])
