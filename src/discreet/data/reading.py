"""How a text file or a workbook is to be read: the settings that decide where a file can be read in several ways."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from discreet.errors import InputError

NoValue = Literal["error", "drop", "zero"]  # for records without a number

DECIMAL_SEPARATORS = (".", ",")
# One sign stands for its variants: a space for all spaces within a line, the apostrophe for the typographic one.
THOUSANDS_SEPARATORS = (".", ",", " ", "'")
DELIMITERS = (",", ";", "\t", "|")
# After a message about a title, which finished tables have as well.
OR_FINISHED = (
    'If it is a finished table with totals, write a job with [table] and layout = "cross", see "Finished tables".'
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is to be read. Settings that are ``None`` follow from the file, or an error asks for them."""

    encoding: str | None = None  # as Python calls it: "windows-1252"
    delimiter: str | None = None  # between the fields of a line
    decimal: str | None = None
    thousands: str | None = None
    parentheses: str | None = None  # what a number in parentheses is
    missing: tuple[str, ...] = ()  # texts that mean no value, besides an empty field
    no_value: NoValue = "error"  # what to do with a record without a number; "zero" never applies to weights
    skip_blank: bool = True  # lines without any text are skipped, otherwise an error
    sheet: str | None = None  # of a workbook
    header_row: int | None = None  # line with the names of the columns, from 1; None: the first that is not blank

    def faults(self) -> Iterator[str]:
        """A sentence on each setting that cannot be used."""
        if self.encoding is not None and not _is_encoding(self.encoding):
            yield f'encoding {self.encoding!r} is not known. Write, for example, "utf-8", "utf-16" or "windows-1252".'
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            yield 'delimiter is "," ";" "|" or "\\t".'
        if self.decimal is not None and self.decimal not in DECIMAL_SEPARATORS:
            yield 'decimal is "." or ",".'
        if self.thousands is not None and self.thousands not in THOUSANDS_SEPARATORS:
            yield 'thousands is one character: "." "," " " (any space) or "\'". Leave it out if numbers have no such sign.'
        if self.decimal is not None and self.decimal == self.thousands:
            yield f"decimal and thousands are both {self.decimal!r}: they differ."
        if self.parentheses not in (None, "negative"):
            yield 'parentheses is "negative", or left out if no number is in parentheses.'
        if self.no_value not in get_args(NoValue):
            yield f"no_value is {' or '.join(map(repr, get_args(NoValue)))}, not {self.no_value!r}."
        if self.header_row is not None and self.header_row < 1:
            yield "header_row is the number of a line, 1 or more."

    def check(self) -> None:
        for fault in self.faults():
            raise InputError(fault)


DEFAULT_READING = Reading()


def has_columns(names: Sequence[str], used: Sequence[str]) -> bool:
    """Whether a line has the name of each column that is used, once."""
    return all(list(names).count(name) == 1 for name in used)


def _is_encoding(name: str) -> bool:
    """Whether an encoding of text with this name exists."""
    try:
        return codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        return False
