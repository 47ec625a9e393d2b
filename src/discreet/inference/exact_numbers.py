"""Exact numbers: read from floats as the decimals they were written as, and written down without loss."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np

from discreet.arrays import FloatArray

Rational = int | Fraction  # whole numbers stay Python integers, which are much faster
Bound = Fraction | float  # a float only where it is infinite

MAX_DENOMINATOR_BITS = 10_000  # of the denominator of a number that can still be written down
MAX_SIMPLE_DENOMINATOR = 10**6  # the largest denominator of a simple fraction
MAX_SCALED_DECIMALS = 6  # of decimals that are subtracted all at once

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")
_RATIO = re.compile(r"-?[1-9][0-9]*/[1-9][0-9]*")


def decimal_fraction(parse_number: float) -> Fraction:
    """The shortest decimal that is read back as this float: 12.35 is 1235/100, so decimals add up as on paper."""
    return Fraction(repr(float(parse_number)))


def simple_fraction(parse_number: float) -> Fraction:
    """The simple fraction that a float was meant as, such as 7/30 where 0.7 was divided by 3; else the decimal.

    So that relations which are multiples of each other, or add up to another one, do so exactly.
    """
    near = Fraction(parse_number).limit_denominator(MAX_SIMPLE_DENOMINATOR)
    return near if abs(float(near) - parse_number) <= 2 * math.ulp(parse_number) else decimal_fraction(parse_number)


def exact_difference(a: float, b: float) -> Bound:
    """``a − b`` as on paper, of the decimals the two were written as; ``a`` may be infinite."""
    return a if math.isinf(a) else decimal_fraction(a) - decimal_fraction(b)


def exact_differences(a: FloatArray, b: FloatArray) -> FloatArray:
    """:func:`difference` as floats: of 10000000000000.002 and 10¹³ that is 0.002, not 0.001953125.

    To the last digit, except between numbers of many digits: there to within 1e-12 of it.
    """
    found = a - b
    left = np.flatnonzero(np.isfinite(found))
    # Up to 15 digits, decimals with few places are whole numbers of their last place, and subtracted without loss.
    for places in range(MAX_SCALED_DECIMALS + 1):
        unit = 10.0**places
        one, other = a[left], b[left]
        with np.errstate(over="ignore"):  # too large for whole numbers anyway
            whole, minus = np.rint(one * unit), np.rint(other * unit)
        fits = (whole / unit == one) & (minus / unit == other) & (np.maximum(np.abs(whole), np.abs(minus)) < 1e15)
        found[left[fits]] = (whole - minus)[fits] / unit
        left = left[~fits]
    # Of the others, floats lose digits where little is left of large numbers.
    left = left[np.abs(found[left]) < 1e-3 * np.abs(b[left])]
    found[left] = [float(exact_difference(x, y)) for x, y in zip(a[left].tolist(), b[left].tolist(), strict=True)]
    return found


def format_number(parse_number: Bound) -> str:
    """``12.5`` where a decimal is exact, else ``7/3``; ``inf`` without end."""
    if isinstance(parse_number, float):
        return str(parse_number)
    places, rest = 0, parse_number.denominator
    for factor in (2, 5):
        times = 0
        while rest % factor == 0:
            rest //= factor
            times += 1
        places = max(places, times)
    if rest > 1:
        return f"{parse_number.numerator}/{parse_number.denominator}"
    digits = str(abs(parse_number.numerator) * 10**places // parse_number.denominator).zfill(places + 1)
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if parse_number < 0 else "") + whole + ("." + part if part else "")


def parse_number(written: str) -> Fraction:
    """What :func:`text` wrote, finite; ValueError for any other spelling, so that each number has just one."""
    if _DECIMAL.fullmatch(written) and written != "-0":
        return Fraction(written)
    found = Fraction(written) if _RATIO.fullmatch(written) else None
    if found is None or format_number(found) != written:
        raise ValueError(f"{written!r} is not a number as certificates write them.")
    return found


def quotient(a: Rational, b: Rational) -> Rational:
    """``a / b`` without rounding."""
    found = Fraction(a) / b
    return found.numerator if found.denominator == 1 else found
