"""The command init, which writes a job file for a file of records or a finished table."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table as Grid

from discreet.cli.check import show_check
from discreet.cli.common import ExistingFile, NewFile, console, reading_options
from discreet.cli.init_table import asked_table, chosen_table, show_table, table_rules
from discreet.cli.questions import ask, ask_yes, asks
from discreet.data.reading import DEFAULT_READING, Reading
from discreet.data.spelling import AS_WRITTEN, Spelling, differ_in_blanks, spellings
from discreet.errors import InputError, plural, some
from discreet.io import writing
from discreet.jobs.new_job import JobDraft, records_job, table_job
from discreet.jobs.profile import ColumnProfile, Profile, marks_in, profile_records
from discreet.jobs.roles import NO_COLUMN, Grouping, Roles, chosen_roles, grouping_question, propose_roles
from discreet.jobs.sheet_texts import unit_in_name
from discreet.jobs.table_proposal import TableProposal, propose_table
from discreet.presentation import ReleaseMetadata
from discreet.rules import parse_rules

MAX_CODES_SHOWN = 4
METADATA_QUESTIONS = {"title": "Title of the table", "unit": "Unit of the numbers", "source": "Source of the data"}
FOR_RECORDS = ("contributor", "holding", "weight")


@dataclass(frozen=True)
class Wishes:
    """What the options of the command say."""

    data: Path
    reading: Reading
    by: tuple[str, ...]
    rules: Sequence[str]
    columns: Mapping[str, str]  # the column of each role that is given, "-" for none
    texts: Mapping[str, str]  # of the metadata
    yes: bool


@click.command("init")
@click.argument("data", type=ExistingFile)
@click.option(
    "--layout",
    type=click.Choice(["records", "table"]),
    help="Whether the file has records, or a finished table with its totals. Default: a guess.",
)
@click.option(
    "--response",
    metavar="COLUMN",
    help=f"Column to add up; {NO_COLUMN} to count records. Of a finished table: what the numbers are. Default: a guess.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="A dimension; repeat for more. Of a cross-table: names for its dimensions, those of rows first. Default: a guess.",
)
@click.option(
    "--contributor", metavar="COLUMN", help=f"Column with contributors; {NO_COLUMN} for none. Default: a guess."
)
@click.option("--holding", metavar="COLUMN", help=f"Column with holdings; {NO_COLUMN} for none. Default: a guess.")
@click.option(
    "--weight", metavar="COLUMN", help=f"Column with sampling weights; {NO_COLUMN} for none. Default: a guess."
)
@click.option(
    "--count",
    metavar="NAME",
    help="Of a finished table: column or sheet with the numbers of contributors, or the same as --response if the numbers are "
    f"counts themselves; {NO_COLUMN} for none. Default: a guess.",
)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="E.g. P(10); repeat for more. Default: examples.")
@click.option("--title", help="Title of the published table. Default: that of the sheet, or response and dimensions.")
@click.option("--unit", help="Unit of the published numbers. Default: that of the sheet, if it names one.")
@click.option("--source", help="Source of the published table. Default: that of the sheet, if it names one.")
@click.option("--yes", is_flag=True, help="Ask nothing: the guesses and the options apply.")
@reading_options
@click.option("--out", type=NewFile(".toml"), help="Job file to write (.toml). Default: job.toml beside the data.")
def init_command(
    data: Path,
    layout: str | None,
    by: tuple[str, ...],
    rules: Sequence[str],
    yes: bool,
    out: Path | None,
    reading: Reading,
    **given: str | None,
) -> int:
    """Look at a file of records or a finished table, and write a job file for it, with comments."""
    out = out or data.parent / "job.toml"
    if out.exists():
        raise InputError(f"{out} exists, and nothing is overwritten. Give another name with --out.")
    if not (yes or asks()):
        raise click.UsageError(
            "Questions are asked in a terminal. Give --yes to accept the guesses, and options instead."
        )
    parse_rules(rules)
    texts = {name: text for name in METADATA_QUESTIONS if (text := given.pop(name)) is not None}
    columns = {role: name for role, name in given.items() if name}
    wishes, found = _looked_at(Wishes(data, reading, by, rules, columns, texts, yes), layout)
    file = os.path.relpath(data, out.parent)
    job = _job_for_records(wishes, file, found) if isinstance(found, Profile) else _job_for_table(wishes, file, found)
    with writing(out) as draft:
        draft.write_text(job, encoding="utf-8")
    console.print(
        f"Written: {escape(str(out))}. Every guess is in it with its reason: read it and change what is wrong.\n"
    )
    return show_check(out)


def _looked_at(wishes: Wishes, layout: str | None) -> tuple[Wishes, Profile | TableProposal]:
    """The finished table that the file seems to have, or the profile of its records; with the settings asked for on the way."""
    while True:
        try:
            return wishes, _finished_table(wishes, layout) or profile_records(wishes.data, wishes.reading)
        except InputError as error:
            wishes = replace(wishes, reading=_amended(wishes, error))


def _amended(wishes: Wishes, error: InputError) -> Reading:
    """The settings with the one that a message about entries of a job file names; without a terminal it names the option."""
    named = "|".join(setting.name for setting in fields(Reading))
    found = re.search(rf'\b({named}) = (?:"([^"]*)"|(\d+))', str(error))
    if found is None:
        raise error
    name, value = found[1], found[2] or found[3]
    if wishes.yes:
        given = {**_changed(wishes.reading), name: value}
        options = " ".join(f"--{setting.replace('_', '-')} {shlex.quote(str(each))}" for setting, each in given.items())
        raise type(error)(f"{error}\nHere this is an option: discreet init DATA {options}", error.offenders)
    console.print(str(error), markup=False)
    return ask(name, value, lambda answer: _with_setting(wishes.reading, name, answer))


def _changed(reading: Reading) -> dict[str, str | int]:
    """The settings that take one value and are not the default."""
    values = {setting.name: getattr(reading, setting.name) for setting in fields(Reading)}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, str | int) and not isinstance(value, bool) and value != getattr(DEFAULT_READING, name)
    }


def _with_setting(reading: Reading, name: str, answer: str) -> Reading:
    if name == "header_row" and not answer.isdecimal():
        raise InputError("header_row is the number of a line, 1 or more.")
    changed = replace(reading, **{name: int(answer) if name == "header_row" else answer})  # type: ignore[arg-type]
    changed.check()
    return changed


def _finished_table(wishes: Wishes, layout: str | None) -> TableProposal | None:
    """The finished table that the file seems to have; None for records."""
    if layout == "records" or (layout is None and any(role in wishes.columns for role in FOR_RECORDS)):
        return None
    found = propose_table(wishes.data, wishes.reading)
    if found is None and layout == "table":
        raise InputError(
            f"{wishes.data}: no finished table was found, whose rows or columns have labels of totals such as Total. Write a job "
            'with [table], see "Finished tables".'
        )
    if found is None or layout == "table" or wishes.yes:
        return found
    show_table(found)
    return (
        found if ask_yes("Is this a finished table, with its totals? (no: these are records)", default=True) else None
    )


def _job_for_table(wishes: Wishes, file: str, found: TableProposal) -> str:
    wrong = [role for role in FOR_RECORDS if role in wishes.columns]
    if wrong:
        raise InputError(f"--{wrong[0]} is for records, and --layout table says that this is a finished table.", wrong)
    found, reading = chosen_table(found, wishes.by, wishes.columns), wishes.reading
    rules = wishes.rules
    if not wishes.yes:
        found, reading = asked_table(found, reading)
        rules = rules or _asked_rules(table_rules(found))
    metadata = _metadata(
        wishes, {"title": found.texts.title or _title(found.value, found.dimensions), **found.texts.about}
    )
    draft = JobDraft(file, reading, tuple(rules) or table_rules(found), metadata)
    if wishes.yes:
        show_table(found)
    return table_job(draft, found)


def _job_for_records(wishes: Wishes, file: str, profile: Profile) -> str:
    if "count" in wishes.columns:
        raise InputError("--count is for finished tables; of records, contributors are counted: --contributor.")
    roles = chosen_roles(profile, propose_roles(profile), wishes.by, wishes.columns)
    rules = wishes.rules
    if not wishes.yes:
        console.print(_columns(profile, roles))
        roles = _asked_roles(profile, roles)
        reading = _asked_marks(profile, roles, wishes.reading)
        if reading != wishes.reading:  # then other texts are codes
            wishes, profile = replace(wishes, reading=reading), profile_records(wishes.data, reading)
        roles = _asked_codes(profile, roles)
        rules = rules or _asked_rules(records_rules(roles))
    if not roles.dimensions:
        gaps = [column for column in profile.columns.values() if column.codes and column.filled < column.records]
        without = [f"{c.name!r} has no code in {c.records - c.filled:,} of {c.records:,} records" for c in gaps]
        why = f" ({'; '.join(without)})" if without else ""
        raise InputError(f"{wishes.data}: no column looks like a dimension{why}. Name one or more with --by.")
    response = roles.response or "Number"
    metadata = _metadata(wishes, {"title": _title(response, tuple(roles.dimensions)), "unit": unit_in_name(response)})
    if wishes.yes:
        console.print(_columns(profile, roles))
    draft = JobDraft(file, wishes.reading, tuple(rules) or records_rules(roles), metadata)
    return records_job(draft, roles)


def records_rules(roles: Roles) -> tuple[str, ...]:
    """The rules that are proposed for records. Their parameters are examples: each office sets its own."""
    return ("FREQ(3)",) if roles.response is None else ("P(10)", "FREQ(3)")


def _title(response: str, dimensions: Sequence[str]) -> str:
    *first, last = dimensions
    return f"{response[:1].upper()}{response[1:]} by {', '.join(first)}{' and ' if first else ''}{last}"


def _metadata(wishes: Wishes, proposed: Mapping[str, str]) -> ReleaseMetadata:
    """Title, unit and source of the published table: by options, else as answered, else as proposed."""
    found = {name: wishes.texts.get(name, proposed.get(name, "")) for name in METADATA_QUESTIONS}
    if not wishes.yes:
        console.print(f"\nWhat readers see with the table; {NO_COLUMN} for nothing.\n")
        for name, question in METADATA_QUESTIONS.items():
            if name not in wishes.texts:
                answer = ask(question, found[name] or NO_COLUMN, str)
                found[name] = "" if answer == NO_COLUMN else answer
    metadata = ReleaseMetadata(title=found["title"], unit=found["unit"], source=found["source"])
    for fault in metadata.faults():
        raise InputError(fault)
    return metadata


def _columns(profile: Profile, roles: Roles) -> Grid:
    """The columns of a file, what they contain and what they are used for. Codes are shown of dimensions only."""
    grid = Grid(box=None, pad_edge=False)
    for heading, justify in (
        ("column", "left"),
        ("entries", "right"),
        ("different", "right"),
        ("used as", "left"),
        ("", "left"),
    ):
        grid.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for column in profile.columns.values():
        role = roles.used.get(column.name, "")
        shown = roles.reasons.get(column.name, "")
        if column.name in roles.dimensions:
            codes = ", ".join(column.codes[:MAX_CODES_SHOWN]) + (" …" if len(column.codes) > MAX_CODES_SHOWN else "")
            shown = f"{codes}; {roles.dimensions[column.name].answer or 'not grouped'}"
        about = "" if column.codes or not column.filled else "about "
        grid.add_row(
            escape(column.name), f"{column.filled:,}", f"{about}{column.distinct:,}", escape(role), escape(shown)
        )
    return grid


def _asked_roles(profile: Profile, roles: Roles) -> Roles:
    """The roles after questions to the user; a faulty answer is asked again."""
    console.print(f"\nPress Enter to accept what is in brackets; {NO_COLUMN} means none.\n")
    questions = {
        "response": "Column to add up (none: records are counted)",
        "contributor": "Column that says which contributor a record is about",
        "holding": "Column with the holding of each contributor",
        "weight": "Column with sampling weights",
    }
    for role, question in questions.items():
        roles = ask(
            question,
            getattr(roles, role) or NO_COLUMN,
            lambda answer, role=role, roles=roles: chosen_roles(profile, roles, (), {role: answer}),  # type: ignore[misc]
        )
    roles = ask(
        "Dimensions, separated by commas",
        ", ".join(roles.dimensions),
        lambda answer: chosen_roles(profile, roles, [name.strip() for name in answer.split(",")], {}),
    )
    return roles


def _asked_codes(profile: Profile, roles: Roles) -> Roles:
    """The roles with the groupings of the codes of each dimension, and with those that are the same."""
    groupings = {
        name: ask(
            grouping_question(profile, name, grouping),
            grouping.answer or NO_COLUMN,
            lambda answer, name=name: Grouping.of(profile, name, answer),  # type: ignore[misc]
        )
        for name, grouping in roles.dimensions.items()
    }
    roles = replace(roles, dimensions=groupings)
    spelling = {
        name: _asked_spelling(profile.columns[name]) for name, one in groupings.items() if one.hierarchy is None
    }
    return replace(roles, spelling={name: found for name, found in spelling.items() if found != AS_WRITTEN})


def _asked_spelling(column: ColumnProfile) -> Spelling:
    """Which codes of a dimension are the same, and the code of records that have none."""
    strip: bool | None = None
    merge: dict[str, str] = {}
    for group in spellings(column.codes):
        right, *others = sorted(group, key=lambda code: (code != code.strip(), code.islower() or code.isupper(), code))
        for code in others:
            if differ_in_blanks(code, right):
                if strip is None:
                    strip = ask_yes(
                        f"{column.name}: {code!r} and {right!r} differ in blanks: are they the same?", default=True
                    )
            elif ask_yes(f"{column.name}: is {code!r} the same as {right!r}?", default=True):
                merge[code] = right
            else:
                merge[code] = code
    gaps = column.records - column.filled
    if gaps > 1:  # a single one is likely to be a line of sums
        answer = ask(f"{column.name}: the code of {gaps:,} records that have none", "unknown", str)
        merge |= {"": answer} if answer != NO_COLUMN else {}
    return Spelling(strip, merge)


def _asked_marks(profile: Profile, roles: Roles, reading: Reading) -> Reading:
    """How texts in place of numbers are to be read."""
    if roles.response is None or not profile.columns[roles.response].marks or reading.no_value != "error":
        return reading
    marks = marks_in(profile, roles.response)

    def understood(answer: str) -> Reading:
        if answer == NO_COLUMN:
            return reading
        if answer not in ("drop", "zero"):
            raise InputError("Answer drop, zero or -.")
        return replace(reading, missing=(*reading.missing, *marks), no_value=answer)  # type: ignore[arg-type]

    n = plural(profile.columns[roles.response].marks, "record")
    return ask(
        f"{roles.response} has {some(marks)} in place of a number in {n}: drop these records, take them for zero, or neither (-)",
        "drop",
        understood,
    )


def _asked_rules(proposed: Sequence[str]) -> Sequence[str]:
    def parsed(answer: str) -> Sequence[str]:
        return [str(rule) for rule in parse_rules(answer.replace(" ", "").replace("),", ")|"))]

    return ask("Rules of your office; these are examples", ", ".join(proposed), parsed) if proposed else ()
