"""Exact rational numbers: read from floats as decimals or simple fractions, and written without loss."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np

from discreet.arrays import FloatArray

Rational = int | Fraction  # integers stay Python integers, which are much faster
Bound = Fraction | float  # a float only if it is infinite

MAX_DENOMINATOR_BITS = 10_000  # 3,010 digits: Python refuses to write integers of more than 4,300
MAX_SIMPLE_DENOMINATOR = 10**6  # weights are quotients of small integers
MAX_SCALED_DECIMALS = 6  # values rarely have more decimals; others are subtracted one by one

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")
_RATIO = re.compile(r"-?[1-9][0-9]*/[1-9][0-9]*")


def decimal_fraction(number: float) -> Fraction:
    """The shortest decimal that is read back as this float: 12.35 is 1235/100, so decimals add up as on paper."""
    return Fraction(repr(float(number)))


def simple_fraction(number: float) -> Fraction:
    """The simple fraction next to a float, such as 7/30 for 0.7/3; the decimal if no simple fraction rounds to it.

    So relations that are multiples or sums of others are so exactly.
    """
    near = Fraction(number).limit_denominator(MAX_SIMPLE_DENOMINATOR)
    return near if abs(float(near) - number) <= 2 * math.ulp(number) else decimal_fraction(number)


def exact_difference(a: float, b: float) -> Bound:
    """``a − b`` of the shortest decimals of two floats; ``a`` may be infinite."""
    return a if math.isinf(a) else decimal_fraction(a) - decimal_fraction(b)


def exact_differences(a: FloatArray, b: FloatArray) -> FloatArray:
    """:func:`exact_difference` rounded to floats: 10000000000000.002 − 10¹³ is 0.002, not 0.001953125.

    Correctly rounded, except for numbers of many digits, where the relative error is at most 1e-12.
    """
    found = a - b
    left = np.flatnonzero(np.isfinite(found))
    # Decimals of up to 15 digits are integers in units of their last decimal, and floats subtract those exactly.
    for decimals in range(MAX_SCALED_DECIMALS + 1):
        unit = 10.0**decimals
        one, other = a[left], b[left]
        with np.errstate(over="ignore"):  # such numbers are above 1e15 anyway
            minuend, subtrahend = np.rint(one * unit), np.rint(other * unit)
        fits = (minuend / unit == one) & (subtrahend / unit == other)
        fits &= np.maximum(np.abs(minuend), np.abs(subtrahend)) < 1e15
        found[left[fits]] = (minuend - subtrahend)[fits] / unit
        left = left[~fits]
    # The float differences of the others are inaccurate only if they are small.
    left = left[np.abs(found[left]) < 1e-3 * np.abs(b[left])]
    found[left] = [float(exact_difference(x, y)) for x, y in zip(a[left].tolist(), b[left].tolist(), strict=True)]
    return found


def format_number(number: Bound) -> str:
    """``12.5`` if a decimal is exact, else ``7/3``; ``inf`` if infinite."""
    if isinstance(number, float):
        return str(number)
    decimals, rest = 0, number.denominator
    if rest == 1:
        return str(number.numerator)
    for factor in (2, 5):
        times = 0
        while rest % factor == 0:
            rest //= factor
            times += 1
        decimals = max(decimals, times)
    if rest > 1:
        return f"{number.numerator}/{number.denominator}"
    digits = str(abs(number.numerator) * 10**decimals // number.denominator).zfill(decimals + 1)
    integer, fraction = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    return ("-" if number < 0 else "") + integer + ("." + fraction if fraction else "")


def parse_number(written: str) -> Fraction:
    """The finite number that :func:`format_number` wrote; ValueError for any other spelling, so that each number has one."""
    if _DECIMAL.fullmatch(written) and written != "-0":
        return Fraction(written)
    found = Fraction(written) if _RATIO.fullmatch(written) else None
    if found is None or format_number(found) != written:
        raise ValueError("This is not a number in the notation of certificates.")
    return found


def quotient(a: Rational, b: Rational) -> Rational:
    """``a / b`` without rounding."""
    found = Fraction(a) / b
    return found.numerator if found.denominator == 1 else found
