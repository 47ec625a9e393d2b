"""Values rounded to the nearest multiple of a base, and the intervals that they stand for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.arrays import FloatArray
from discreet.data.table import digits_of
from discreet.errors import RuleError


def rounded(value: FloatArray, among: FloatArray, base: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The nearest multiples, halves rounded up, and the least and the greatest value with the same rounded value.

    Values have as many decimals as the values ``among`` them: readers know that a published 10 is 5, 6 … or 14 if all values
    are integers and the base is 10. Without a limit of decimals they know the value to within half a base.
    """
    digits = digits_of(among)
    if digits is None:
        shown = base * np.floor(value / base + 0.5)
        return shown, np.minimum(shown - base / 2, value), np.maximum(shown + base / 2, value)
    tick = 10**digits
    step = Fraction(repr(base)) * tick
    if step.denominator != 1 or step < 2:
        raise RuleError(
            f"The base {base:g} must be a multiple of the last digit of the values, {1 / tick:g}, and larger than it. "
            f"Choose a multiple of {1 / tick:g}, at least {2 / tick:g}.",
            [base],
        )
    width = int(step)
    times = [(2 * round(one * tick) + width) // (2 * width) for one in value.tolist()]
    # The least value that is rounded to each multiple: halves are rounded up.
    first = [-((-width * (2 * k - 1)) // 2) for k in times]
    shown, lower, upper = (
        np.array([one / tick for one in ticks], dtype=np.float64)
        for ticks in ([k * width for k in times], first, [one + width - 1 for one in first])
    )
    return shown, np.minimum(lower, value), np.maximum(upper, value)
