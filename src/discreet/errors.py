"""What can go wrong, by what the reader should do about it.

Every message says what, where and what to do, and names cells by label: never a confidential value.
"""

from __future__ import annotations

from collections.abc import Sequence


class DiscreetError(Exception):
    """Base of all errors raised on purpose. ``offenders`` lists the codes or cells the message is about."""

    exit_code = 2

    def __init__(self, message: str, offenders: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.offenders = list(offenders)


class InputError(DiscreetError):
    """The data or the request cannot be used as given."""


class HierarchyError(InputError):
    """Codes that do not form the tree they should."""


class TableError(InputError):
    """Cells that do not form the table they should."""


class RuleError(InputError):
    """A rule, cost or method that cannot be read or applied."""


class FormatError(InputError):
    """A file that is not what its name says."""


class JobError(InputError):
    """A job file with unknown, missing or contradictory entries."""


class NoSafePatternError(DiscreetError):
    """No protection reaches the levels asked for, or none was found in the time given."""

    exit_code = 1


class NotSafeError(DiscreetError):
    """Publication refused: the audit did not pass, or is not about this protection."""

    exit_code = 1


LONGEST = 80  # letters of a code or name that a message repeats


def some(items: Sequence[object], limit: int = 3) -> str:
    """``'a', 'b', 'c' and 4 more``: enough to find the place, not enough to flood a log."""
    shown = ", ".join(repr(text if len(text) <= LONGEST else text[:LONGEST] + "…") for text in map(str, items[:limit]))
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


def plural(n: int, noun: str) -> str:
    """``1 cell``, ``2 cells``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
