"""The command init, which writes a job file for a file of records."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TypeVar

import click
from rich.markup import escape
from rich.table import Table as Grid

from discreet.cli.check import show_check
from discreet.cli.common import ExistingFile, NewFile, console, reading_options
from discreet.data.reading import Reading
from discreet.errors import DiscreetError, InputError
from discreet.io import writing
from discreet.jobs.new_job import job_text, proposed_rules
from discreet.jobs.profile import Profile, profile_records
from discreet.jobs.roles import NO_COLUMN, Grouping, Roles, chosen_roles, grouping_question, propose_roles
from discreet.rules import parse_rules

Meaning = TypeVar("Meaning")
MAX_CODES_SHOWN = 4


@click.command("init")
@click.argument("data", type=ExistingFile)
@click.option("--response", metavar="COLUMN", help=f"Column to add up; {NO_COLUMN} to count records. Default: a guess.")
@click.option("--by", multiple=True, metavar="COLUMN", help="A dimension; repeat for more. Default: a guess.")
@click.option(
    "--contributor", metavar="COLUMN", help=f"Column with contributors; {NO_COLUMN} for none. Default: a guess."
)
@click.option("--holding", metavar="COLUMN", help=f"Column with holdings; {NO_COLUMN} for none. Default: a guess.")
@click.option(
    "--weight", metavar="COLUMN", help=f"Column with sampling weights; {NO_COLUMN} for none. Default: a guess."
)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="E.g. P(10); repeat for more. Default: examples.")
@click.option("--yes", is_flag=True, help="Ask nothing: the guesses and the options apply.")
@reading_options
@click.option("--out", type=NewFile(".toml"), help="Job file to write (.toml). Default: job.toml beside the data.")
def init_command(
    data: Path,
    by: tuple[str, ...],
    rules: Sequence[str],
    yes: bool,
    out: Path | None,
    reading: Reading,
    **given: str | None,
) -> int:
    """Look at a file of records and write a job file for it, with comments."""
    out = out or data.parent / "job.toml"
    if out.exists():
        raise InputError(f"{out} exists, and nothing is overwritten. Give another name with --out.")
    if not (yes or asks()):
        raise click.UsageError(
            "Questions are asked in a terminal. Give --yes to accept the guesses, and options instead."
        )
    with _options_named():
        profile = profile_records(data, reading)
    roles = chosen_roles(profile, propose_roles(profile), by, {role: name for role, name in given.items() if name})
    if not yes:
        console.print(_columns(profile, roles))
        roles = _asked_roles(profile, roles)
        rules = rules or _asked_rules(roles)
    if not roles.dimensions:
        raise InputError(f"{data}: no column looks like a dimension. Name one or more with --by.")
    rules = rules or proposed_rules(roles)
    parse_rules(rules)
    text = job_text(os.path.relpath(data, out.parent), data.stem, roles, reading, rules)
    with writing(out) as draft:
        draft.write_text(text, encoding="utf-8")
    if yes:
        console.print(_columns(profile, roles))
    console.print(
        f"Written: {escape(str(out))}. Every guess is in it with its reason: read it and change what is wrong.\n"
    )
    return show_check(out)


@contextmanager
def _options_named() -> Iterator[None]:
    """Name in messages about entries of a job file, which does not exist yet, the options that do the same."""
    try:
        yield
    except InputError as error:
        found = re.search(
            rf"\b({'|'.join(setting.name for setting in fields(Reading))}) = (\"[^\"]*\"|\d+)", str(error)
        )
        if found is None:
            raise
        option = f"--{found[1].replace('_', '-')} {found[2]}"
        raise type(error)(f"{error}\nHere this is an option: discreet init DATA {option}", error.offenders) from None


def asks() -> bool:
    """Whether questions can be asked: input comes from a terminal."""
    return sys.stdin.isatty()


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
        roles = _ask(
            question,
            getattr(roles, role) or NO_COLUMN,
            lambda answer, role=role, roles=roles: chosen_roles(profile, roles, (), {role: answer}),  # type: ignore[misc]
        )
    roles = _ask(
        "Dimensions, separated by commas",
        ", ".join(roles.dimensions),
        lambda answer: chosen_roles(profile, roles, [name.strip() for name in answer.split(",")], {}),
    )
    groupings = {
        name: _ask(
            grouping_question(profile, name),
            grouping.answer or NO_COLUMN,
            lambda answer, name=name: Grouping.of(profile, name, answer),  # type: ignore[misc]
        )
        for name, grouping in roles.dimensions.items()
    }
    return replace(roles, dimensions=groupings)


def _asked_rules(roles: Roles) -> Sequence[str]:
    def parsed(answer: str) -> Sequence[str]:
        return [str(rule) for rule in parse_rules(answer.replace(" ", "").replace("),", ")|"))]

    return _ask("Rules of your office; these are examples", ", ".join(proposed_rules(roles)), parsed)


def _ask(question: str, default: str, understood: Callable[[str], Meaning]) -> Meaning:
    """What an answer means. A faulty answer gets a message, and the question is asked again."""
    while True:
        answer = str(click.prompt(question, default=default)).strip()
        try:
            return understood(answer)
        except DiscreetError as error:
            console.print(f"  {error}", markup=False)
