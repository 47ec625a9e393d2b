"""Widths of intervals and positions of values in them, drawn from the secret."""

from __future__ import annotations

import numpy as np

from discreet.problem import BoolArray
from discreet.relations import FloatArray

LEAST, MOST = 2.5, 5.0  # widths, in units of what is needed; drawn with a triangular density of their logarithm
CLOSE = 0.04  # of the value is needed at least: then a guess within 1 % of the value gains nothing from the levels
UNTOLD = 1e-6  # of the value is needed where there is neither a level nor a last digit
FAR, NEAR = 0.1, 0.45  # positions above a known bound that stand in for those that would break the levels
HAIR = 1e-9  # of the last digit: noise in levels worked out with floats

Ends = tuple[FloatArray, FloatArray]


def drawn_ends(
    value: FloatArray,
    levels: FloatArray,
    known: FloatArray,
    tick: float | None,
    rng: np.random.Generator,
) -> Ends:
    """The lower and upper ends of an interval for each value, with ``levels`` (down, up, sliding) inside.

    Of a width W the position of the value is uniform from 0 to W, and is mirrored at the levels: nearer to an end than its
    level L it becomes 2L − position. W is at least 2.5 times twice the larger level, so that around the middle the density is
    that of the uniform distribution, and twice that next to the levels.

    Everybody knows that values lie between the two rows of ``known``. Where an interval might reach beyond one of these bounds
    it ends there, and the share of it below (or above) the value is drawn instead. With a ``tick`` ends are multiples of it.
    """
    rooms = np.stack([value - known[0], known[1] - value])
    down, up = (_ticks(np.minimum(level, room), tick) for level, room in zip(levels[:2], rooms, strict=True))
    size = np.where(value != 0, np.abs(value), 1.0)
    least = UNTOLD * size if tick is None else np.full(len(value), 2 * tick)
    needed = np.maximum.reduce([2 * down, 2 * up, levels[2], CLOSE * np.abs(value), least])
    ends = np.log([LEAST, MOST])
    width = _ticks(needed * np.exp(rng.triangular(ends[0], ends.mean(), ends[1], len(value))), tick)
    chance, other = rng.random((2, len(value)))
    below = _mirrored(chance, width, down, up, tick)
    lower, upper = value - below, value + width - below
    beyond = np.stack([rooms[0] < width - up, rooms[1] < width - down])
    larger = 2 * np.maximum(down, up)
    for near, sign, other_level in ((0, 1.0, up), (1, -1.0, down)):
        at = np.flatnonzero(beyond[near])
        least = np.maximum(rooms[near] + other_level, larger)[at]
        far = _from_bound(chance[at], other[at], rooms[near, at], width[at], least)
        ends = [lower, upper] if near == 0 else [upper, lower]
        ends[0][at] = known[near, at]
        ends[1][at] = known[near, at] + sign * far if tick is None else _outwards(known[near, at] + sign * far, sign, tick)
    both = beyond.all(axis=0)
    lower[both], upper[both] = known[0, both], known[1, both]
    return np.maximum(lower, known[0]), np.minimum(upper, known[1])


def at_known_bounds(ends: Ends, known: FloatArray) -> BoolArray:
    """Intervals that tell nothing beyond what everybody knows."""
    return np.asarray((ends[0] <= known[0]) & (ends[1] >= known[1]))


def _ticks(length: FloatArray, tick: float | None) -> FloatArray:
    """The next multiple from a length on."""
    return length if tick is None else np.ceil(length / tick - HAIR) * tick


def _outwards(end: FloatArray, sign: float, tick: float) -> FloatArray:
    """The next multiple in the direction of the sign."""
    return sign * np.ceil(sign * end / tick - HAIR) * tick


def _mirrored(chance: FloatArray, width: FloatArray, down: FloatArray, up: FloatArray, tick: float | None) -> FloatArray:
    """How far below the value its interval begins."""
    if tick is None:
        below = chance * width
        below = np.where(below < down, 2 * down - below, below)
        above = width - below
        return np.asarray(width - np.where(above < up, 2 * up - above, above))
    w, d, u = (np.rint(length / tick) for length in (width, down, up))
    place = np.floor(chance * (w + 1))
    place = np.where(place < d, 2 * d - 1 - place, place)
    rest = w - place
    return np.asarray((w - np.where(rest < u, 2 * u - 1 - rest, rest)) * tick)


def _from_bound(
    chance: FloatArray, other: FloatArray, room: FloatArray, width: FloatArray, least: FloatArray
) -> FloatArray:
    """The width of an interval from a known bound on, of which the value takes a random share.

    The share is uniform from 0 to 1; where it is so large that less than ``least`` would be left, or below a tenth, it is
    drawn anew below the middle. Values so near to the bound that all shares are small get the ``width``.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(least > 0, room / least, 0.0)
        share = np.where((chance < FAR) | (chance > most), FAR + (NEAR - FAR) * other, chance)
        return np.where(most < NEAR, width, room / share)
