"""Figures rounded to the nearest multiple of a base, and what readers know of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.arrays import FloatArray
from discreet.data.table import digits_of
from discreet.errors import RuleError


def rounded(value: FloatArray, among: FloatArray, base: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The nearest multiples, halves upward, and the least and the greatest figure that is rounded so.

    Figures have as many decimals as those ``among`` which they are: readers know that a figure shown as 10 is 5, 6 … or 14
    if all are whole and the base is 10. Where there is no such limit they know it to within half a base.
    """
    digits = digits_of(among)
    if digits is None:
        shown = base * np.floor(value / base + 0.5)
        return shown, np.minimum(shown - base / 2, value), np.maximum(shown + base / 2, value)
    tick = 10**digits
    step = Fraction(repr(base)) * tick
    if step.denominator != 1 or step < 2:
        raise RuleError(
            f"The base {base:g} is not a multiple of the last digit of the figures, {1 / tick:g}, or does not change it. "
            f"Choose a multiple of {1 / tick:g}, {2 / tick:g} at least.",
            [base],
        )
    whole, width = [round(one * tick) for one in value.tolist()], int(step)
    times = [(2 * one + width) // (2 * width) for one in whole]
    # Two neighbours differ by one base, and a half belongs to the upper one.
    first = [-((-width * (2 * k - 1)) // 2) for k in times]
    shown, lower, upper = (
        np.array([one / tick for one in ticks], dtype=np.float64)
        for ticks in ([k * width for k in times], first, [one + width - 1 for one in first])
    )
    return shown, np.minimum(lower, value), np.maximum(upper, value)
