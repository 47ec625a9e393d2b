"""Random widths of intervals and random positions of values in them."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray
from discreet.guesses import CENTRAL_HALF_WIDTH, HIT_RELATIVE_ERROR
from discreet.problem import Problem

MIN_WIDTH_FACTOR, MAX_WIDTH_FACTOR = 2.5, 5.0  # of the needed width; drawn with a triangular density of the logarithm
MIN_SHARE_FROM_BOUND = 0.1  # least share of an interval between a known bound and the value, if the share is drawn
MAX_SMALL_LEVEL = 2  # ticks: levels up to this size, as of small counts, are close to the least possible level
MIN_REACHABLE_SHARE = 0.45  # values that cannot reach this share of an interval from a bound are close to it
MIN_WIDTH_SHARE = 1e-6  # of the value: width that is needed without a level and without a last digit
TICK_NOISE = 1e-9  # of a tick: rounding error of levels

Ends = tuple[FloatArray, FloatArray]


def drawn_ends(
    value: FloatArray, levels: FloatArray, known: FloatArray, tick: float | None, rng: np.random.Generator
) -> Ends:
    """The lower and upper ends of a random interval for each value, with ``levels`` (down, up, sliding) inside.

    The position of the value in an interval of width W is uniform from 0 to W. If it is closer to an end than a level allows,
    it is drawn again from all allowed positions except those around the middle. There the density is that of the uniform
    distribution, and elsewhere at most twice as large, because W is at least 2.5 times twice the larger level.

    All readers know that values lie between the two rows of ``known``. An interval that could exceed one of these bounds ends
    there, and the share of the interval between bound and value is drawn instead. With a ``tick`` ends are multiples of it.
    """
    slacks = np.stack([value - known[0], known[1] - value])
    down, up = (_ticks(np.minimum(level, slack), tick) for level, slack in zip(levels[:2], slacks, strict=True))
    size = np.abs(value)
    least = MIN_WIDTH_SHARE * np.where(size > 0, size, 1.0) if tick is None else np.full(len(value), 2 * tick)
    needed = np.maximum.reduce([2 * down, 2 * up, levels[2], least])
    low, high = np.log([MIN_WIDTH_FACTOR, MAX_WIDTH_FACTOR])
    width = needed * np.exp(rng.triangular(low, (low + high) / 2, high, len(value)))
    # There must be positions in which a guess of the middle misses the value, unless it always hits.
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
            length = _for_small_levels(_ticks(length, tick), slacks[side, at], width[at], level[at], tick, rng)
        end = known[side, at] + sign * length
        at_bound, opposite = (lower, upper) if side == 0 else (upper, lower)
        at_bound[at], opposite[at] = known[side, at], sign * _ticks(sign * end, tick)
    both = beyond.all(axis=0)
    lower[both], upper[both] = known[0, both], known[1, both]
    return np.maximum(lower, known[0]), np.minimum(upper, known[1])


def sign_bounds(problem: Problem) -> FloatArray:
    """Prior bounds that do not depend on values: zero if a cell cannot be negative, or cannot be positive.

    Other prior bounds of attackers depend on values, often as the value ± a percentage: an interval that ended at such a bound
    would disclose it to other readers.
    """
    return np.stack([np.where(problem.prior_lower >= 0, 0.0, -np.inf), np.where(problem.prior_upper <= 0, 0.0, np.inf)])


def _ticks(length: FloatArray, tick: float | None) -> FloatArray:
    """The length rounded up to a multiple of the tick."""
    return length if tick is None else np.ceil(length / tick - TICK_NOISE) * tick


def drawn_place(
    chance: FloatArray, other: FloatArray, width: FloatArray, levels: Ends, band: FloatArray, tick: float | None
) -> FloatArray:
    """The distance of the lower end from the value, with levels (down, up) inside; drawn again outside the middle ``band``."""
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
    """The width of an interval that starts at a known bound, where the ``slack`` up to the value takes a random share.

    The share is uniform from 0 to 1. If it is too large for the ``level`` beyond the value, or below a tenth, it is drawn again
    outside the middle. Values so close to the bound that they are always below the middle get the ``width``.
    """
    largest = slack / np.maximum(slack + level, np.finfo(float).tiny)
    below = 0.5 - CENTRAL_HALF_WIDTH - MIN_SHARE_FROM_BOUND
    above = np.maximum(largest - 0.5 - CENTRAL_HALF_WIDTH, 0.0)
    again = other * (below + above)
    again = np.where(again <= below, MIN_SHARE_FROM_BOUND + again, largest - (again - below))
    share = np.where((chance < MIN_SHARE_FROM_BOUND) | (chance > largest), again, chance)
    return np.where(largest < MIN_REACHABLE_SHARE, width, slack / share)


def _for_small_levels(
    length: FloatArray, slack: FloatArray, width: FloatArray, level: FloatArray, tick: float, rng: np.random.Generator
) -> FloatArray:
    """Lengths of intervals from a known bound; for levels of a few ticks, one to two times their drawn ``width``.

    For small counts, the shortest interval with the level would disclose the value, and so would the longest one for a drawn
    share. The width does not depend on the value, and it has slack for the level because the bound is near. If the middle is
    the value, which is frequent among so few numbers, half of the intervals are one tick longer.
    """
    small = np.flatnonzero(level <= (MAX_SMALL_LEVEL + TICK_NOISE) * tick)
    stretch, chance = rng.random((2, len(small)))
    longer = _ticks(width[small] * (1 + stretch), tick)
    middle = np.abs(longer - 2 * slack[small]) < tick / 2
    found = length.copy()
    found[small] = longer + np.where(middle & (chance < 0.5), tick, 0.0)
    return found
