"""Numbers as texts: which texts are numbers with a decimal point, with a decimal comma, or with both readings.

Patterns are the same for texts in Python and for columns of a database engine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import ibis

from discreet.data.reading import DECIMAL_SEPARATORS, Reading

Expr: TypeAlias = Any  # Ibis expressions have no static types worth naming

SPACES = " \u00a0\u202f\u2009\u2007"  # between thousands: also non-breaking, narrow, thin and figure spaces
MINUS = "\u2212-"  # the minus of typesetters and the hyphen, which stands last in a class of characters
_SIGNS = {" ": f"[{SPACES}]", "'": "['\u2019]", ".": r"\.", ",": ","}  # variants of each separator
_BLANK = f"[{SPACES}\t\r\n]*"
GIVEN = f"[^{SPACES}\t\r\n]"  # found in a text that is not blank
_INTEGER = "^-?[0-9]+$"


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written: ``decimal`` "." or ",", the sign between ``thousands`` (None: any), and whether (5) is −5."""

    decimal: str = "."
    thousands: str | None = None
    parentheses: bool = False

    @classmethod
    def of(cls, reading: Reading, decimal: str) -> NumberFormat:
        return cls(decimal, reading.thousands, reading.parentheses == "negative")

    @cached_property
    def pattern(self) -> str:
        """A regular expression that matches the whole text of a number."""
        point = _SIGNS[self.decimal]
        plain = rf"(?:[0-9]+(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        signs = [sign for sign in _SIGNS if sign != self.decimal and self.thousands in (None, sign)]
        # A number has one sign between its thousands, and never a zero before the first.
        groups = "|".join(f"(?:{_SIGNS[sign]}[0-9]{{3}})+" for sign in signs)
        number = rf"(?:{plain}|[1-9][0-9]{{0,2}}(?:{groups})(?:{point}[0-9]*)?)"
        forms = [rf"[+{MINUS}]?{_BLANK}{number}", rf"{number}{_BLANK}[{MINUS}]"]
        forms += [rf"\({_BLANK}{number}{_BLANK}\)"] if self.parentheses else []
        return f"^{_BLANK}(?:{'|'.join(forms)}){_BLANK}$"

    @property
    def _others(self) -> str:
        """All signs between thousands and all blanks."""
        return f"[{SPACES}\t\r\n'\u2019{'.' if self.decimal == ',' else ','}]"

    def matches(self, column: Expr) -> Expr:
        """Whether each text of a column is a number."""
        return column.re_search(self.pattern)

    def number(self, column: Expr) -> Expr:
        """The numbers of a column of texts; null for other texts."""
        bare = column.re_replace(self._others, "").replace(self.decimal, ".")
        size = bare.re_replace(rf"^[+({MINUS}]|[){MINUS}]$", "").try_cast("float64")
        signed = ibis.ifelse(bare.re_search(rf"^[({MINUS}]|[{MINUS}]$"), -size, size)
        # Most numbers are written plainly, and the first pattern is the fastest.
        plain = _INTEGER if self.decimal == "," else r"^-?[0-9]+(?:\.[0-9]*)?$"
        read = ibis.ifelse(self.matches(column), signed, ibis.null("float64"))
        return ibis.ifelse(column.re_search(plain), column.try_cast("float64"), read)

    def number_of(self, text: str) -> float | None:
        """The number that a text is; None for other texts."""
        if not re.search(self.pattern, text):
            return None
        bare = re.sub(self._others, "", text).replace(self.decimal, ".")
        size = float(re.sub(rf"^[+({MINUS}]|[){MINUS}]$", "", bare))
        return -size if re.search(rf"^[({MINUS}]|[{MINUS}]$", bare) else size


def formats(reading: Reading) -> list[NumberFormat]:
    """The formats that the settings allow: one, or one for each decimal separator."""
    decimals = [d for d in DECIMAL_SEPARATORS if reading.decimal in (None, d) and d != reading.thousands]
    return [NumberFormat.of(reading, decimal) for decimal in decimals]


def evidence(column: Expr, point: NumberFormat, comma: NumberFormat) -> Expr:
    """What each text says about the decimal separator of its column: "point", "comma", "either", or null for nothing.

    A text is "either" if it is a number with both, and not the same one: 1.234 is 1234 if the comma is the decimal separator.
    """
    has_sign = column.contains(".") | column.contains(",")
    as_point, as_comma = point.matches(column), comma.matches(column)
    nothing = ibis.null("string")
    either = ibis.ifelse(as_comma, ibis.literal("either"), ibis.literal("point"))
    found = ibis.ifelse(as_point, either, ibis.ifelse(as_comma, ibis.literal("comma"), nothing))
    return ibis.ifelse(has_sign, found, nothing)


def evidence_of(text: str, point: NumberFormat, comma: NumberFormat) -> str | None:
    """What a text says about the decimal separator of its column, as :func:`evidence` does."""
    if "." not in text and "," not in text:
        return None
    as_point, as_comma = (re.search(one.pattern, text) is not None for one in (point, comma))
    return "either" if as_point and as_comma else "point" if as_point else "comma" if as_comma else None


def number_format(texts: Iterable[str], reading: Reading) -> NumberFormat | None:
    """The format in which all these texts are numbers; None if there are two readings, or numbers of two kinds."""
    allowed = formats(reading)
    if len(allowed) == 1:
        return allowed[0]
    found = {evidence_of(text, *allowed) for text in texts}
    return settled(allowed, "point" in found, "comma" in found, "either" in found)


def settled(allowed: Sequence[NumberFormat], point: bool, comma: bool, either: bool) -> NumberFormat | None:
    """The format that the evidence of a column decides for; None if it is contradictory, or if there are two readings."""
    if (point and comma) or (either and not point and not comma):
        return None
    return allowed[1 if comma else 0]


def written_one_way(number: float) -> str:
    """A text that all formats read as this number: without a decimal separator."""
    if not math.isfinite(number):
        return str(number)
    sign, digits, exponent = Decimal(repr(float(number))).as_tuple()
    text = "-" * sign + "".join(map(str, digits))
    return text if not exponent else f"{text}e{exponent}"
