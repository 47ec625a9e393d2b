"""Writes a new job file, with comments that explain its entries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields

from discreet.data.reading import Reading
from discreet.jobs.roles import Grouping, Roles

COUNT_RULES = ("FREQ(3)",)
MAGNITUDE_RULES = ("P(10)", "FREQ(3)")  # the parameters are examples: each office sets its own


def proposed_rules(roles: Roles) -> tuple[str, ...]:
    return COUNT_RULES if roles.response is None else MAGNITUDE_RULES


def job_text(file: str, title: str, roles: Roles, reading: Reading, rules: Sequence[str]) -> str:
    """The text of a job file for records. ``file`` is their path as seen from the folder of the job file."""
    return "\n".join(_lines(file, title, roles, reading, rules)) + "\n"


def _lines(file: str, title: str, roles: Roles, reading: Reading, rules: Sequence[str]) -> Iterator[str]:
    yield "# A job for discreet. Check it with `discreet check`, run it with `discreet run`."
    yield "# It has the parameters of your rules: keep it confidential."
    yield f"title = {_toml(title)}"
    yield ""
    yield "[data]"
    yield f"file = {_toml(file)}"
    for setting in fields(Reading):
        value = getattr(reading, setting.name)
        if value != setting.default:
            yield f"{setting.name} = {_toml(value)}"
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
        yield f"[dimensions.{_key(name)}]{_because(roles, name)}"
        yield from _grouping(grouping)
        yield ""
    if roles.further:
        yield "# These columns could be dimensions too:"
        yield from (f"# [dimensions.{_key(name)}]" for name in roles.further)
        yield ""
    yield "[rules]"
    yield "# Your office sets the rules and their parameters; these are examples. `discreet rules` lists all rules."
    yield f"sensitive = {_toml(list(rules))}"
    yield ""
    yield "[protect]"
    yield 'method = "auto"  # `discreet methods` lists all methods'
    yield ""
    yield "[output]"
    yield 'folder = "output"'
    yield 'formats = ["csv", "xlsx"]'
    yield "share = true  # also a report that may be published with the release"


def _grouping(grouping: Grouping) -> Iterator[str]:
    if grouping.hierarchy is not None:
        yield f"hierarchy = {_toml(grouping.hierarchy)}"
    elif grouping.levels is not None:
        yield f"levels = {_toml(list(grouping.levels))}  # codes are grouped by their first digits"
    elif grouping.columns:
        yield f"columns = {_toml(list(grouping.columns))}  # coarser columns, coarsest first"
    else:
        yield '# hierarchy = "groups.csv"  # a file with the columns code and parent, if codes have groups'


def _because(roles: Roles, column: str) -> str:
    reason = roles.reasons.get(column)
    return f"  # {reason}" if reason else ""


def _key(name: str) -> str:
    """A key of TOML, in quotes unless it is bare."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: object) -> str:
    """A text, number, truth value or list of them. Texts of JSON are texts of TOML."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False).replace("\x7f", "\\u007f")
