"""Writes a new job file, with comments that explain its entries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from discreet.data.reading import Reading
from discreet.data.spelling import AS_WRITTEN, Spelling
from discreet.errors import dimension_section
from discreet.jobs.roles import Grouping, Roles
from discreet.jobs.table_proposal import TableProposal
from discreet.presentation import ReleaseMetadata


@dataclass(frozen=True)
class JobDraft:
    """What job files for records and for finished tables have in common."""

    file: str  # path as seen from the folder of the job file
    reading: Reading
    rules: Sequence[str]
    metadata: ReleaseMetadata


def records_job(draft: JobDraft, roles: Roles) -> str:
    """The text of a job file for records."""
    return _text(draft, _records(draft, roles))


def table_job(draft: JobDraft, table: TableProposal) -> str:
    """The text of a job file for a finished table."""
    return _text(draft, _table(draft, table))


def _text(draft: JobDraft, source: Iterator[str]) -> str:
    lines = [
        "# A job for discreet. Check it with `discreet check`, run it with `discreet run`.",
        "# It has the parameters of your rules: keep it confidential.",
        f"title = {_toml(draft.metadata.title)}  # of the published table and of the report",
        "",
        *source,
        *_rules(draft.rules),
        "",
        "[protect]",
        'method = "auto"  # `discreet methods` lists all methods',
        "",
        "[output]",
        'folder = "output"',
        'formats = ["csv", "xlsx"]',
        "share = true  # also a report that may be published with the release",
        '# lang = "de"  # the language of what is published: de, en, es, fr or nl',
        "",
        *_metadata(draft.metadata),
    ]
    return "\n".join(lines) + "\n"


def _rules(rules: Sequence[str]) -> Iterator[str]:
    yield "[rules]"
    if rules:
        yield "# Your office sets the rules and their parameters; these are examples. `discreet rules` lists all rules."
        yield f"sensitive = {_toml(list(rules))}"
    else:
        yield "# Rules need numbers of contributors (count, for FREQ) or largest contributions (top, for P and NK). The table has"
        yield "# neither. Name the columns or sheets that have them, or list the sensitive cells in a file with the columns cell"
        yield "# and status:"
        yield "sensitive = []"
        yield '# statuses = "statuses.csv"  # for example the line  Steel × North,primary'


def _metadata(metadata: ReleaseMetadata) -> Iterator[str]:
    yield "[metadata]  # what readers see with the table, besides the title"
    for entry, example in (("unit", "EUR 1,000"), ("source", "Business register")):
        given = getattr(metadata, entry)
        yield f"{entry} = {_toml(given)}" if given else f"# {entry} = {_toml(example)}"
    yield '# notes = ["Turnover without taxes."]'


def _reading(reading: Reading) -> Iterator[str]:
    for setting in fields(Reading):
        value = getattr(reading, setting.name)
        if value != setting.default:
            yield f"{setting.name} = {_toml(value)}"


def _records(draft: JobDraft, roles: Roles) -> Iterator[str]:
    yield "[data]"
    yield f"file = {_toml(draft.file)}"
    yield from _reading(draft.reading)
    if roles.response is None:
        yield '# response = "COLUMN"  # the column to add up; without it records are counted'
    else:
        yield f"response = {_toml(roles.response)}{_because(roles, roles.response)}"
    for role, meaning in (
        ("contributor", "the contributor of a record; without it every record has one of its own"),
        ("holding", "contributors that belong together and know of each other"),
        ("weight", "sampling weights"),
    ):
        column = getattr(roles, role)
        if column is None:
            yield f'# {role} = "COLUMN"  # {meaning}'
        else:
            yield f"{role} = {_toml(column)}{_because(roles, column)}"
    if roles.weight is not None:
        yield 'weights = "known"  # or "secret", if readers cannot know them'
    yield ""
    for name, grouping in roles.dimensions.items():
        yield f"{dimension_section(name)}{_because(roles, name)}"
        yield from _grouping(grouping)
        yield from _spelling(roles.spelling.get(name, AS_WRITTEN))
        yield ""
    if roles.further:
        yield "# These columns could be dimensions too:"
        yield from (f"# {dimension_section(name)}" for name in roles.further)
        yield ""


def _table(draft: JobDraft, table: TableProposal) -> Iterator[str]:
    settings = table.settings
    yield "[table]  # a finished table: its totals are checked, nothing is added up"
    yield f"file = {_toml(draft.file)}"
    if table.sheets:
        yield f"sheet = {_toml(table.sheet)}"
    yield from (line for line in _reading(draft.reading) if not line.startswith("sheet = "))
    if settings.header_row is not None and draft.reading.header_row is None:
        yield f"header_row = {settings.header_row}"
    yield 'layout = "cross"'
    yield f'rows = {_toml(settings.rows)}  # what the columns with labels of rows are, from the left; "" for one without meaning'
    yield f"columns = {_toml(settings.columns)}  # what the header rows are, from the top"
    if settings.headings is not None:
        yield f"headings = {_toml(settings.headings)}  # what rows with a label and no numbers are"
    if settings.skip:
        yield f"skip = {_toml(settings.skip)}  # rows and columns that are not part of the table"
    if settings.subtotals != "above":
        yield f"subtotals = {_toml(settings.subtotals)}  # sums of indented rows stand below them"
    yield f"value = {_toml(table.value)}  # {'the label of' if table.has_measures else 'a name for'} the numbers to be published"
    yield from _counts(table)
    if table.top:
        yield f"top = {_toml(table.top)}  # the largest contributions to each cell, largest first"
    if table.without_total:
        start = "" if table.unpublished_totals else "# "
        yield f"{start}unpublished_totals = true  # totals that are not published anywhere: {' and '.join(table.without_total)}"
    yield ""
    for name in table.dimensions:
        yield dimension_section(name)
        if name in table.totals:
            yield f"total = {_toml(table.totals[name])}"
        yield '# hierarchy = "groups.csv"  # a file with the columns code and parent, if codes have groups'
        yield ""


def _counts(table: TableProposal) -> Iterator[str]:
    where = "column" if table.has_measures else "sheet"
    if table.count is None:
        yield f'# count = "NAME"  # the {where} with the numbers of contributors; the same as value if the numbers are counts'
    elif table.is_count:
        yield f"count = {_toml(table.count)}  # the numbers are counts: each contributor counts one"
    else:
        yield f"count = {_toml(table.count)}  # the {where} with the numbers of contributors, which are not released"


def _grouping(grouping: Grouping) -> Iterator[str]:
    if grouping.hierarchy is not None:
        yield f"hierarchy = {_toml(grouping.hierarchy)}"
    elif grouping.levels is not None:
        yield f"levels = {_toml(list(grouping.levels))}  # codes are grouped by their first digits"
    elif grouping.columns:
        yield f"columns = {_toml(list(grouping.columns))}  # coarser columns, coarsest first"
    else:
        yield '# hierarchy = "groups.csv"  # a file with the columns code and parent, if codes have groups'


def _spelling(spelling: Spelling) -> Iterator[str]:
    if spelling.strip is not None:
        yield f"strip = {_toml(spelling.strip)}  # whether blanks around codes are stray"
    if spelling.merge:
        pairs = ", ".join(f"{_toml(code)} = {_toml(into)}" for code, into in spelling.merge.items())
        yield f"merge = {{{pairs}}}  # codes that are written in several ways"


def _because(roles: Roles, column: str) -> str:
    reason = roles.reasons.get(column)
    return f"  # {reason}" if reason else ""


def _toml(value: object) -> str:
    """A text, number, truth value or list of them. Texts of JSON are texts of TOML."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False).replace("\x7f", "\\u007f")
