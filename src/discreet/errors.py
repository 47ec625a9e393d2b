"""Errors, by what the user should do about them.

A message says what is wrong, where, and what to do. It names cells by label and never shows a confidential value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class DiscreetError(Exception):
    """Base of all errors of the package. ``offenders`` lists the codes or cells that the message is about."""

    exit_code = 2

    def __init__(self, message: str, offenders: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.offenders = list(offenders)


class InputError(DiscreetError):
    """The data or the request cannot be used as given."""


class HierarchyError(InputError):
    """Codes that do not form a valid hierarchy."""


class TableError(InputError):
    """Cells that do not form a valid table."""


class RuleError(InputError):
    """A rule, cost or method that cannot be read or applied."""


class FormatError(InputError):
    """A file that is not in the format of its name."""


class JobError(InputError):
    """A job file with unknown, missing or contradictory entries."""


class NoSafePatternError(DiscreetError):
    """No protection meets the requirements, or none was found within the time limit."""

    exit_code = 1


class NotSafeError(DiscreetError):
    """Publication refused: the audit did not pass, or is not about this protection."""

    exit_code = 1


@contextmanager
def reading(path: str | Path, fault: str, *kinds: type[Exception]) -> Iterator[None]:
    """Replace errors of these kinds while a file is read, whose messages may quote the contents, by ``fault``."""
    try:
        yield
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except DiscreetError:
        raise
    except kinds:
        raise FormatError(fault) from None


@contextmanager
def placing(place: str | Path) -> Iterator[None]:
    """Prefix messages about input with the file, or the line of a file, that they are about."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{place}: {error}", error.offenders) from None


MAX_QUOTED_LETTERS = 80  # of a code or name in a message: longer ones would flood it


def some(items: Sequence[object], limit: int = 3) -> str:
    """The first items and the number of others, e.g. ``'a', 'b', 'c' and 4 more``."""
    short = [
        text if len(text) <= MAX_QUOTED_LETTERS else text[:MAX_QUOTED_LETTERS] + "…" for text in map(str, items[:limit])
    ]
    shown = ", ".join(map(repr, short))
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


def dimension_section(name: str) -> str:
    """The section of a job file about a dimension: ``[dimensions.region]``, ``[dimensions."size class"]``."""
    return f"[dimensions.{toml_key(name)}]"


def toml_key(name: str) -> str:
    """A key of TOML, in quotes unless it is bare."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def numbers_of_lines(unit: str, numbers: Sequence[int], count: int, limit: int = 5) -> str:
    """The first numbers of lines or rows and how many more there are, e.g. ``lines 2, 5, 6, 9, 12 and 7 more``."""
    shown = ", ".join(str(number) for number in numbers[:limit])
    more = count - min(len(numbers), limit)
    return f"{unit if count == 1 else f'{unit}s'} {shown}{f' and {more:,} more' if more else ''}"


def plural(n: int, noun: str, several: str = "") -> str:
    """``1 cell``, ``2 cells``; ``several`` is the plural if it is not the noun with an s."""
    return f"{n:,} {noun if n == 1 else several or f'{noun}s'}"
