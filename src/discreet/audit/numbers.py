"""Exact numbers: read from floats as the decimals they were written as, and written down without loss."""

from __future__ import annotations

import re
from fractions import Fraction

Rational = int | Fraction  # whole numbers stay Python integers, which are much faster
Bound = Fraction | float  # a float only where it is infinite

BITS = 10_000  # of the denominator of a number that can still be written down

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")
_RATIO = re.compile(r"-?[1-9][0-9]*/[1-9][0-9]*")


def decimal(number: float) -> Fraction:
    """The shortest decimal that is read back as this float: 12.35 is 1235/100, so decimals add up as on paper."""
    return Fraction(repr(float(number)))


def text(number: Bound) -> str:
    """``12.5`` where a decimal is exact, else ``7/3``; ``inf`` without end."""
    if isinstance(number, float):
        return str(number)
    places, rest = 0, number.denominator
    for factor in (2, 5):
        times = 0
        while rest % factor == 0:
            rest //= factor
            times += 1
        places = max(places, times)
    if rest > 1:
        return f"{number.numerator}/{number.denominator}"
    digits = str(abs(number.numerator) * 10**places // number.denominator).zfill(places + 1)
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if number < 0 else "") + whole + ("." + part if part else "")


def number(written: str) -> Fraction:
    """What :func:`text` wrote, finite; ValueError for any other spelling, so that each number has just one."""
    if _DECIMAL.fullmatch(written) and written != "-0":
        return Fraction(written)
    found = Fraction(written) if _RATIO.fullmatch(written) else None
    if found is None or text(found) != written:
        raise ValueError(f"{written!r} is not a number as certificates write them.")
    return found


def quotient(a: Rational, b: Rational) -> Rational:
    """``a / b`` without rounding."""
    found = Fraction(a) / b
    return found.numerator if found.denominator == 1 else found
