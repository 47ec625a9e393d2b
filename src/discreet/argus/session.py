"""Runs the commands of a batch file of τ-ARGUS: from its data to its outputs, with an audit of every table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath

from discreet import __version__
from discreet.argus.classification import Classification, closed_at, recoded
from discreet.argus.commands import (
    Apriori,
    Clear,
    Command,
    Logbook,
    OpenData,
    OpenMetadata,
    ReadMicrodata,
    ReadTable,
    Recode,
    SafetyRule,
    Skipped,
    SpecifyTable,
    Suppress,
    VersionInfo,
    WriteTable,
)
from discreet.argus.data_file import DataFile
from discreet.argus.decisions import Decisions, decided
from discreet.argus.microdata import Microdata
from discreet.argus.paths import Paths, Say
from discreet.argus.primary import primaries
from discreet.argus.protecting import protect_one, protect_together
from discreet.argus.request import ArgusRequest
from discreet.argus.tabular import Tabular
from discreet.argus.together import exposed_together
from discreet.argus.work import Work
from discreet.argus.writing import OutputFile, outputs, text_file
from discreet.data.table import digits_of
from discreet.errors import InputError, placing, plural, some
from discreet.io.argus.metadata import Metadata, read_metadata
from discreet.io.argus.recode import read_recode
from discreet.io.argus.statuses import ArgusStatus
from discreet.jobs.job import write_together
from discreet.progress import Progress


@dataclass
class ArgusSession:
    """The state of a job between its commands."""

    path: Path
    paths: Paths
    say: Say
    progress: Progress
    data: list[OpenData] = field(default_factory=list)
    metadata: list[Metadata] = field(default_factory=list)
    requests: list[tuple[SpecifyTable, SafetyRule | None, int]] = field(
        default_factory=list
    )  # with the number of their data
    microdata: Microdata | None = None
    works: list[Work] = field(default_factory=list)
    finished: list[Work] = field(default_factory=list)  # of sessions that <CLEAR> ended
    files: list[OutputFile] = field(default_factory=list)
    logbooks: dict[Path, int] = field(default_factory=dict)  # with the number of lines said before
    refused: bool = False  # a table could not be published
    exposed_together: bool = False
    lines: list[str] = field(default_factory=list)
    session: int = 1
    contributions: bool = False  # those of all respondents are stored in any case

    def run(self, commands: Sequence[Command], *, writes: bool = True) -> None:
        for k, command in enumerate(commands):
            with placing(f"{self.path}, line {command.line}"):
                self._do(command, commands[k + 1 :], writes)
        self._check_together()

    def _refuse_outputs(self, command: OpenData | OpenMetadata) -> None:
        """Raise if a file to read is an output of the job: outputs are written at the end."""
        name = PureWindowsPath(command.file).name.lower()
        written = [file.path.name for file in self.files if file.path.name.lower() == name]
        if written:
            raise InputError(
                f"{written[0]} is an output of this job, and outputs are written at its end. Put what follows <CLEAR> into a "
                "job of its own, and run it afterwards.",
                written,
            )

    def _do(self, command: Command, later: Sequence[Command], writes: bool) -> None:
        match command:
            case OpenData():
                self._refuse_outputs(command)
                self.data.append(command)
            case OpenMetadata(_, file):
                self._refuse_outputs(command)
                kind = "table" if self.data[-1].tabulated else "records"
                found = read_metadata(self.paths.existing(file), kind)  # type: ignore[arg-type]  # one of two texts
                self.metadata.append(found)
                self._say_unused(found)
            case SpecifyTable():
                self.requests.append((command, None, len(self.metadata) - 1))
            case SafetyRule():
                specify, _, number = self.requests[-1]
                self.requests[-1] = (specify, command, number)
            case ReadMicrodata():
                self._read_records(later)
            case ReadTable():
                self._read_tables(command, later)
            case Apriori():
                self._apply(command)
            case Recode():
                self._recode(command)
            case Suppress(_, _, 0):
                protect_together(command, self.works, self.paths, self.say, self.progress)
            case Suppress():
                protect_one(command, self._work(command.table), self.paths, self.say, self.progress)
            case WriteTable():
                if writes:
                    self._write(command)
            case Logbook(_, file):
                self.logbooks.setdefault(self.paths.output(file), len(self.lines) if self.logbooks else 0)
            case VersionInfo(_, file):
                self.files.append(text_file(self.paths.output(file), f"discreet {__version__}\n", public=True))
            case Clear():
                self._clear()
            case Skipped(_, keyword, sentence):
                if sentence:
                    self.say(f"line {command.line}: <{keyword}> skipped: {sentence}")

    def _clear(self) -> None:
        if any(work.protection is not None for work in self.works):
            self.say(
                "tables before <CLEAR> are audited together with those after it only where both publish the same response of "
                "the same file"
            )
        if self.microdata is not None:
            self.microdata.records.forget()
        self.finished += self.works
        self.data, self.metadata, self.requests, self.works, self.microdata = [], [], [], [], None
        self.session += 1

    def _say_unused(self, metadata: Metadata) -> None:
        for variable in metadata.variables:
            for line, keyword in variable.noted:
                self.say(f"{metadata.path.name}, line {line}: {keyword} of {variable.name} is not used")

    # -- reading ------------------------------------------------------------------------------------------------

    def _request(self, number: int, later: Iterable[Command]) -> ArgusRequest:
        specify, rules, _ = self.requests[number]
        rules = rules or SafetyRule(specify.line, ())
        wanted = self.contributions or any(_asks_for_contributions(command, number + 1) for command in later)
        request = ArgusRequest(specify, rules, wanted)
        self._say_rules(number + 1, request)
        return request

    def _say_rules(self, number: int, request: ArgusRequest) -> None:
        none = "none, so that cells are primary only by hand" if not self.data[0].tabulated else "statuses of the file"
        named = " | ".join(call.name for call in request.rules.rules) or none
        spec = request.specify
        self.say(f"table {number}: {spec.response} by {' × '.join(spec.by)}; rules: {named}")
        if spec.shadow and spec.shadow.upper() != spec.response.upper():
            self.say(
                f"table {number}: rules judge by {spec.shadow}; their levels are the same percentage of {spec.response}"
            )

    def _read_records(self, later: Sequence[Command]) -> None:
        requests = [self._request(k, later) for k in range(len(self.requests))]
        data = DataFile(self.paths.existing(self.data[-1].file), self.metadata[-1], self.paths)
        self.microdata = Microdata.of(data, requests)
        self.works = []
        for number, request in enumerate(requests, start=1):
            with placing(f"table {number}"):
                self.works.append(self._tabulated(number, request))

    def _tabulated(self, number: int, request: ArgusRequest) -> Work:
        assert self.microdata is not None
        self.progress.stage("tabulate", 0)
        views = self.microdata.views(request)
        work = Work(
            number,
            request,
            views,
            primaries(request, views),
            self.microdata.records,
            self.microdata.classifications,
            session=self.session,
        )
        self._say_primaries(work)
        return work

    def _read_tables(self, how: ReadTable, later: Sequence[Command]) -> None:
        done = len(self.works)
        for number in range(done, len(self.requests)):
            request, source = self._request(number, later), self.requests[number][2]
            tabular = Tabular(self.paths.existing(self.data[source].file), self.metadata[source], self.paths)
            views = tabular.views(request, how)
            if views.given is not None and request.rules.rules and not _only_margin(request):
                self.say(f"table {number + 1}: statuses in {tabular.file.name} are not used, because rules are given")
            work = Work(number + 1, request, views, primaries(request, views), tabular, session=self.session)
            self._say_primaries(work)
            self.works.append(work)

    def _say_primaries(self, work: Work) -> None:
        table, status = work.views.table, work.found.status
        n = int(sum(ArgusStatus(one).is_primary for one in status.tolist()))
        empty = f", {table.n_empty:,} more are empty" if table.n_empty else ""
        self.say(
            f"{work.label}: {table.n_listed:,} cells{empty}; {plural(n, 'cell')} primary by rules or given statuses"
        )
        if work.found.raised:
            self.say(
                f"{work.label}: {plural(work.found.raised, 'cell')} violate a later rule with a larger level, too; as in τ-ARGUS "
                "the level is that of the first rule"
            )
        digits = digits_of(table.value)
        if digits is None or digits > work.views.decimals:
            self.say(f"{work.label}: files show {table.response} with fewer decimals than it has (<DECIMALS>)")
        if work.request.missing_is_safe:
            self.say(f"{work.label}: MIS(1): cells with a missing code are not primary, whatever the rules say")

    # -- decisions -----------------------------------------------------------------------------------------------

    def _apply(self, command: Apriori) -> None:
        work = self._work(command.table)
        path = self.paths.existing(command.file)
        before = work.decisions
        work.decisions, skipped = decided(
            before,
            path,
            work.views.table,
            work.found.status,
            command.separator,
            ignore=command.ignore_errors,
            expand=command.expand_trivial,
        )
        changed = (len(work.decisions.status), len(work.decisions.cost), len(work.decisions.levels))
        self.say(
            f"{work.label}: {path.name}: statuses of {changed[0]:,} cells, costs of {changed[1]:,} and levels of {changed[2]:,} "
            "by hand"
        )
        lowered = [
            i
            for i, (lower, upper) in work.decisions.levels.items()
            if lower < work.found.lower[i] or upper < work.found.upper[i]
        ]
        if lowered:
            self.say(
                f"{work.label}: {path.name}: the levels of {plural(len(lowered), 'cell')} are below those of the rules; the "
                "audit is by the lower ones"
            )
        for sentence in skipped:
            self.say(f"{work.label}: {path.name}, {sentence} Left out.")
        work.forget_protection()

    def _recode(self, command: Recode) -> None:
        if self.microdata is None:
            raise InputError(
                "tables that are read as tables cannot be recoded: leave <RECODE> out, or open records (<OPENMICRODATA>)."
            )
        work = self._work(command.table)
        name = self.microdata.records.spanning(command.variable).name
        if name not in work.views.table.dimensions:
            raise InputError(f"variable {command.variable!r} does not span table {command.table}.", [command.variable])
        concerned = [one for one in self.works if name in one.views.table.dimensions]
        for one in concerned:
            if one.protection is not None or one.decisions != Decisions():
                raise InputError(f"{one.label} is protected or has decisions of an a priori file: recode it before.")
        old = self.microdata.classifications[name]
        new = self._recoded(old, command)
        self.microdata = replace(self.microdata, classifications={**self.microdata.classifications, name: new})
        self.say(f"{name} recoded: {len(old.hierarchy) - 1:,} codes become {len(new.hierarchy) - 1:,}")
        for one in concerned:
            if one.number != command.table:
                self.say(f"{one.label}: spanned by {name}, too, and recoded with it")
            self.works[one.number - 1] = self._tabulated(one.number, one.request)

    def _recoded(self, old: Classification, command: Recode) -> Classification:
        if command.level:
            return closed_at(old, command.level)
        recode = read_recode(self.paths.existing(command.file))
        if recode.codelist:
            self.say(f"{recode.path.name}: the labels in {recode.codelist} are not used: results show codes")
        absent = recode.absent(old.hierarchy.codes[1:])
        if absent:
            self.say(
                f"{recode.path.name}: no record has {'these codes' if len(absent) > 1 else 'the code'}: {some(absent)}"
            )
        return recoded(old, recode)

    def _work(self, number: int) -> Work:
        return self.works[number - 1]

    # -- what readers have together -------------------------------------------------------------------------------

    def _check_together(self) -> None:
        """Audit together what readers have together, and leave out the files to publish of tables that are exposed."""
        shown = [(file.path.name, file.shows) for file in self.files if file.public and file.shows is not None]
        exposed = exposed_together([*self.finished, *self.works], shown, self.say, self.progress)
        self.exposed_together = bool(exposed)
        for file in [*self.files]:
            if file.public and file.shows is not None and any(file.shows.shows_the_same_as(one) for one in exposed):
                self.say(f"{file.path.name} is not written: the tables did not pass an audit together")
                self.files.remove(file)

    # -- writing ---------------------------------------------------------------------------------------------------

    def _write(self, command: WriteTable) -> None:
        work = self._work(command.table)
        made = outputs(command, work, self.paths.output(command.file), self.say)
        if len({file.path for file in made}) < len(made):
            raise InputError(
                f"{made[0].path.name} is the name of its metadata, too: give the table another name, such as .tab."
            )
        for file in made:
            self.paths.check_output(file.path)
            if any(file.path == other.path for other in self.files):
                self.say(f"{file.path.name} is written a second time: the later output replaces the earlier one")
                self.files = [other for other in self.files if other.path != file.path]
        self.refused |= not made
        shown = None if work.protection is None else replace(work)  # later commands change the work
        self.files += [replace(file, shows=shown) for file in made]

    def write(self) -> list[Path]:
        """Write all files of the job together, and its logbooks: each has what was said until the next."""
        listed: dict[Path | None, Callable[[Path], None]] = {}
        for file in self.files:
            listed[file.path] = file.write
        ends = [*self.logbooks.values(), len(self.lines)][1:]
        for (path, begin), end in zip(self.logbooks.items(), ends, strict=True):
            if path in listed:
                raise InputError(f"{path.name} is the logbook and a table: give one of them another name.")
            old = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            said = "".join(line + "\n" for line in self.lines[begin:end])
            listed[path] = text_file(path, old + said).write
        public = [file.path for file in self.files if file.public]
        return write_together(listed, public=public)


def _only_margin(request: ArgusRequest) -> bool:
    return {call.name for call in request.rules.rules} <= {"MAN", "MIS", "WGT"}


def _asks_for_contributions(command: Command, table: int) -> bool:
    """Whether a command protects this table with a singleton option."""
    return isinstance(command, Suppress) and command.table in (0, table) and command.singletons
