"""How a release is presented: its metadata, the layout of its workbook, and its identifiers in SDMX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal, get_args

from discreet.errors import InputError, some
from discreet.printable import FORBIDDEN

LabelStyle = Literal["beside", "instead", "codes"]
TotalPlace = Literal["first", "last"]
Further = Literal["sheets", "blocks"]
ConfList = Literal["full", "basic"]
GivenSecondaries = Literal["suppressed", "free"]

# Identifiers as the SDMX standards define them: of agencies, of other artefacts and codes, and versions.
AGENCY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*")
IDENTIFIER = re.compile(r"[A-Za-z0-9_@$-]+")
VERSION = re.compile(r"[0-9]+(\.[0-9]+)+")
ENTRIES_OF_TEXT = ("title", "subtitle", "unit", "source", "contact", "subject")
MAX_FLAG = 20  # letters of a flag; longer ones are sentences, which belong into notes


@dataclass(frozen=True)
class ReleaseMetadata:
    """What readers learn about a table. All texts are in the language of the release."""

    title: str = ""  # "": the response and the dimensions
    subtitle: str = ""  # such as the period
    unit: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    contact: str = ""
    subject: str = ""  # subject area of the table in a database
    updated: str = ""  # date as 2026-03-31; "": the day of the release
    names: dict[str, str] = field(default_factory=dict)  # of columns, for readers
    agency: str = ""  # identifier of the office in SDMX
    dataflow: str = ""  # identifier of the dataflow in SDMX
    version: str = "1.0"  # of the dataflow

    @property
    def date(self) -> str:
        return self.updated or date.today().isoformat()

    def name(self, column: str) -> str:
        """The name of a column for readers."""
        return self.names.get(column, column)

    def faults(self) -> Iterator[str]:
        """What is wrong with the entries, in words."""
        if self.updated and not _is_date(self.updated):
            yield f'updated is a date such as "2026-03-31", not {self.updated!r}.'
        texts = {entry: getattr(self, entry) for entry in ENTRIES_OF_TEXT}
        texts |= dict.fromkeys(["notes"], "".join(self.notes)) | dict.fromkeys(
            ["names"], "".join(map(str, self.names.values()))
        )
        for entry in (name for name, text in texts.items() if FORBIDDEN.search(text)):
            yield f"{entry} has control characters, which files cannot hold. Remove them."
        wrong = [name for name, text in self.names.items() if not isinstance(text, str) or not text.strip()]
        if wrong:
            yield f"names has a text in quotes for each column; {some(wrong)} has none."
        for entry, pattern, form in (
            ("agency", AGENCY, "letters, digits, _ and -, such as ESTAT"),
            ("dataflow", IDENTIFIER, "letters, digits, _, @, $ and -, such as SBS_TURNOVER"),
            ("version", VERSION, "numbers with dots, such as 1.0"),
        ):
            given = getattr(self, entry)
            if given and not pattern.fullmatch(given):
                yield f"{entry} is an identifier in SDMX: {form}, not {given!r}."


@dataclass(frozen=True)
class Layout:
    """The layout of the sheets of a workbook that show the table to readers."""

    labels: LabelStyle = "beside"  # labels beside codes, in place of them, or codes only
    total: TotalPlace = "first"  # where totals stand
    further: Further = "sheets"  # further dimensions: a sheet for each combination of codes, or blocks on one sheet
    rows: tuple[str, ...] = ()  # dimensions in the rows; (): the first
    columns: tuple[str, ...] = ()  # dimensions in the columns; (): the second
    template: str | None = None  # workbook with the styles

    def faults(self) -> Iterator[str]:
        choices = (("labels", LabelStyle), ("total", TotalPlace), ("further", Further))
        yield from _wrong_choices(self, choices)
        if self.template is not None and Path(self.template).suffix.lower() not in (".xlsx", ".xltx"):
            yield f"template is a workbook with styles (.xlsx or .xltx), not {self.template!r}."


@dataclass(frozen=True)
class Sdmx:
    """Flags and identifiers in SDMX."""

    flag: str = "N"  # CONF_STATUS of all suppressed cells of the public edition
    free: str = "F"  # CONF_STATUS of published cells
    status: str = "Q"  # OBS_STATUS of suppressed cells
    published: str = "A"  # OBS_STATUS of published cells
    conf_list: ConfList = "full"  # code list of the transmission edition; "basic": C and D only
    reasons: dict[str, str] = field(default_factory=dict)  # rule → CONF_STATUS in the transmission edition
    values: bool = False  # whether the transmission edition has the values of suppressed cells
    ids: str | None = None  # file with identifiers of columns and codes

    def faults(self) -> Iterator[str]:
        yield from _wrong_choices(self, (("conf_list", ConfList),))
        flags = {name: getattr(self, name) for name in ("flag", "free", "status", "published")}
        for name, given in {**flags, **{f"reasons.{rule}": code for rule, code in self.reasons.items()}}.items():
            if not isinstance(given, str) or not IDENTIFIER.fullmatch(given) or len(given) > MAX_FLAG:
                yield f"{name} is a code of letters and digits, such as N, not {given!r}."
        if self.flag == self.free:
            yield f"flag and free are both {self.flag!r}: suppressed cells need a code of their own."


@dataclass(frozen=True)
class Presentation:
    """How a release is presented, in the formats that have place for it. Nothing in it depends on why a cell is suppressed."""

    metadata: ReleaseMetadata = field(default_factory=ReleaseMetadata)
    layout: Layout = field(default_factory=Layout)
    sdmx: Sdmx = field(default_factory=Sdmx)
    ids: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # column → code, or "" for the column → SDMX id

    def check(self) -> None:
        """Raise an error that names all faulty entries."""
        parts = (("metadata", self.metadata), ("workbook", self.layout), ("sdmx", self.sdmx))
        faults = [f"[{name}] {fault}" for name, part in parts for fault in part.faults()]  # type: ignore[attr-defined]
        if faults:
            raise InputError(" ".join(faults))


def _wrong_choices(given: object, choices: tuple[tuple[str, object], ...]) -> Iterator[str]:
    for name, choice in choices:
        allowed = get_args(choice)
        if getattr(given, name) not in allowed:
            yield f"{name} is {' or '.join(map(repr, allowed))}, not {getattr(given, name)!r}."


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2026-03-31")
