"""Widths of intervals and positions of values in them, drawn from the secret."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.guesses import CENTRAL_HALF_WIDTH, HIT_RELATIVE_ERROR
from discreet.problem import Problem

LEAST, MOST = 2.5, 5.0  # widths, in units of what is needed; drawn with a triangular density of their logarithm
FAR = 0.1  # least share of an interval that lies between a known bound and the value, where it has slack to be drawn
FEW = (
    2  # last digits: levels that are no larger, as those of small counts, are nearly as large as the least possible one
)
BELOW = 0.45  # values that cannot reach this share of an interval from a known bound on are near to that bound
UNTOLD = 1e-6  # of the value is needed where there is neither a level nor a last digit
HAIR = 1e-9  # of the last digit: noise in levels worked out with floats

Ends = tuple[FloatArray, FloatArray]


def drawn_ends(
    value: FloatArray, levels: FloatArray, known: FloatArray, tick: float | None, rng: np.random.Generator
) -> Ends:
    """The lower and upper ends of an interval for each value, with ``levels`` (down, up, sliding) inside.

    Of a width W the position of the value is uniform from 0 to W; where that is nearer to an end than a level allows it is drawn
    anew from all allowed positions but those around the middle. There the density is that of the uniform distribution, and
    elsewhere at most twice as large, as W is at least 2.5 times twice the larger level.

    Everybody knows that values lie between the two rows of ``known``. Where an interval might reach beyond one of these bounds
    it ends there, and the share of it between bound and value is drawn instead. With a ``tick`` ends are multiples of it.
    """
    slacks = np.stack([value - known[0], known[1] - value])
    down, up = (_ticks(np.minimum(level, slack), tick) for level, slack in zip(levels[:2], slacks, strict=True))
    size = np.abs(value)
    least = UNTOLD * np.where(size > 0, size, 1.0) if tick is None else np.full(len(value), 2 * tick)
    needed = np.maximum.reduce([2 * down, 2 * up, levels[2], least])
    low, high = np.log([LEAST, MOST])
    width = needed * np.exp(rng.triangular(low, (low + high) / 2, high, len(value)))
    # Unless a close guess always hits, there must be positions where it does not.
    width = _ticks(width + np.where(width > 2 * HIT_RELATIVE_ERROR * size, 2 * HIT_RELATIVE_ERROR * size, 0.0), tick)
    chance, other = rng.random((2, len(value)))
    below = drawn_place(
        chance, other, width, (down, up), np.maximum(CENTRAL_HALF_WIDTH * width, HIT_RELATIVE_ERROR * size), tick
    )
    lower, upper = value - below, value + width - below
    beyond = np.stack([slacks[0] < width - up, slacks[1] < width - down])
    for side, sign, level in ((0, 1.0, up), (1, -1.0, down)):
        at = np.flatnonzero(beyond[side])
        length = _from_bound(chance[at], other[at], slacks[side, at], width[at], level[at])
        if tick is not None:
            length = _of_few_ticks(_ticks(length, tick), slacks[side, at], width[at], level[at], tick, rng)
        far = known[side, at] + sign * length
        near, opposite = (lower, upper) if side == 0 else (upper, lower)
        near[at], opposite[at] = known[side, at], far if tick is None else _outwards(far, sign, tick)
    both = beyond.all(axis=0)
    lower[both], upper[both] = known[0, both], known[1, both]
    return np.maximum(lower, known[0]), np.minimum(upper, known[1])


def sign_bounds(problem: Problem) -> FloatArray:
    """What is known of every cell before publication whatever its value is: that it is not negative, or not positive.

    Other bounds that attackers are said to know depend on values, often as values ± so many percent: an interval that ended
    there would tell them to those who do not know them.
    """
    return np.stack([np.where(problem.prior_lower >= 0, 0.0, -np.inf), np.where(problem.prior_upper <= 0, 0.0, np.inf)])


def at_known_bounds(ends: Ends, known: FloatArray) -> BoolArray:
    """Intervals that tell nothing beyond what everybody knows."""
    return np.asarray((ends[0] <= known[0]) & (ends[1] >= known[1]))


def _ticks(length: FloatArray, tick: float | None) -> FloatArray:
    """The next multiple from a length on."""
    return length if tick is None else np.ceil(length / tick - HAIR) * tick


def _outwards(end: FloatArray, sign: float, tick: float) -> FloatArray:
    """The next multiple in the direction of the sign."""
    return sign * np.ceil(sign * end / tick - HAIR) * tick


def drawn_place(
    chance: FloatArray, other: FloatArray, width: FloatArray, levels: Ends, band: FloatArray, tick: float | None
) -> FloatArray:
    """How far below the value an interval of this width begins, with levels (down, up) inside; rarely around the ``band``."""
    if tick is None:
        place, first, last = chance * width, levels[0], width - levels[1]
        below, above = np.maximum(width / 2 - band - first, 0.0), np.maximum(last - width / 2 - band, 0.0)
        again = other * (below + above)
        again = np.where(again <= below, first + again, last - (again - below))
        again = np.where(below + above > 0, again, first + other * (last - first))
        return np.where((place < first) | (place > last), again, place)
    w, first, up, band = (np.rint(length / tick) for length in (width, *levels, np.ceil(band / tick) * tick))
    place, last = np.floor(chance * (w + 1)), w - up
    below, above = np.maximum(np.ceil(w / 2 - band) - first, 0.0), np.maximum(last - np.floor(w / 2 + band), 0.0)
    again = np.floor(other * (below + above))
    again = np.where(again < below, first + again, last - (again - below))
    again = np.where(below + above > 0, again, first + np.floor(other * (last - first + 1)))
    return np.asarray(np.where((place < first) | (place > last), again, place) * tick)


def _from_bound(
    chance: FloatArray, other: FloatArray, slack: FloatArray, width: FloatArray, level: FloatArray
) -> FloatArray:
    """The width of an interval from a known bound on, of which the ``slack`` up to the value takes a random share.

    The share is uniform from 0 to 1. Where it is so large that the ``level`` beyond the value would not fit, or below a tenth,
    it is drawn anew outside the middle. Values so near to the bound that they are always below the middle get the ``width``.
    """
    most = slack / np.maximum(slack + level, np.finfo(float).tiny)
    below, above = 0.5 - CENTRAL_HALF_WIDTH - FAR, np.maximum(most - 0.5 - CENTRAL_HALF_WIDTH, 0.0)
    again = other * (below + above)
    again = np.where(again <= below, FAR + again, most - (again - below))
    share = np.where((chance < FAR) | (chance > most), again, chance)
    return np.where(most < BELOW, width, slack / share)


def _of_few_ticks(
    length: FloatArray, slack: FloatArray, width: FloatArray, level: FloatArray, tick: float, rng: np.random.Generator
) -> FloatArray:
    """Intervals from a known bound on, those with levels of a few ticks one to two times as long as their drawn ``width``.

    Of small counts the shortest interval that holds the level would tell the value, and so would the longest that a share of it
    leads to; the width does not depend on it, and has slack for the level, or no bound would be near. Where the middle is the
    value, which it often is among so few numbers, every other interval is a tick longer.
    """
    few = np.flatnonzero(level <= (FEW + HAIR) * tick)
    stretch, chance = rng.random((2, len(few)))
    longer = _ticks(width[few] * (1 + stretch), tick)
    middle = np.abs(longer - 2 * slack[few]) < tick / 2
    found = length.copy()
    found[few] = longer + np.where(middle & (chance < 0.5), tick, 0.0)
    return found
