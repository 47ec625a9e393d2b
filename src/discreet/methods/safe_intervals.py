"""Safe interval release: intervals for suppressed values that are not symmetric but have unbiased midpoints."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.special import ndtr, ndtri

from discreet.arrays import FloatArray
from discreet.data.table import digits_of
from discreet.errors import InputError, NoSafePatternError, some
from discreet.methods import protect
from discreet.methods.check import is_safe
from discreet.methods.intervals.positions import drawn_ends, sign_bounds
from discreet.methods.method import Method
from discreet.problem import Problem
from discreet.progress import Progress
from discreet.protection import Protection, publish_intervals
from discreet.secret import Secret

Draw = Literal["uniform", "mirrored", "independent"]
LEVEL_SHARE_OF_RADIUS = 0.2  # least level for drawing, so that cells without levels get intervals, too
CUTOFF = 4.0  # standard deviations at which the normal distribution is cut off


def draw_bounds(
    value: FloatArray, level: FloatArray, radius: FloatArray, rng: np.random.Generator, draw: Draw = "mirrored"
) -> tuple[FloatArray, FloatArray]:
    """Random bounds l′ and u′ inside [a − R, a + R] and outside (a − r, a + r) whose midpoint is a on average.

    l′ is uniform between a − R and a − r. ``mirrored``, as in the procedure of Cox: u′ is normal around the mirror image
    2a − l′, cut off at the nearer of a + r and a + R and at the same distance on the other side, so that the midpoint is
    a on average for every l′. ``independent``: u′ is uniform between a + r and a + R, so it is a on average over all l′.
    """
    slack = radius - level
    lower = value - radius + rng.random(len(value)) * slack
    if draw == "independent":
        return lower, value + level + rng.random(len(value)) * slack
    reach = np.minimum(value - level - lower, lower - (value - radius))
    tail = ndtr(-CUTOFF)  # not by scipy.stats, whose import takes half a second
    noise = ndtri(tail + rng.random(len(value)) * (1 - 2 * tail)) / CUTOFF
    return lower, 2 * value - lower + np.maximum(reach, 0.0) * noise


def safe_intervals(
    problem: Problem,
    method: str | Method = "kelly",
    *,
    draw: Draw = "uniform",
    share: float = 1.0,
    seed: int = 0,
    secret: Secret | str | None = None,
    tries: int = 20,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Protection:
    """Suppress cells by a method against readers who know random bounds, and publish these bounds.

    The bounds are drawn from the ``secret``, by default a new one of the operating system. With ``draw="uniform"`` the position
    of the value between them is drawn as by the method ``intervals``. Otherwise they are those of :func:`draw_bounds` within a
    radius of ``share`` times the magnitude of a cell, or the distance to the prior bounds if that is less. With ``"mirrored"``,
    the published procedure, midpoints are very close to the values; with ``"independent"`` they are farther away, but many are
    still closer than the levels require. If no pattern protects the cells of a draw, bounds are drawn again. The result has
    passed the audit.
    """
    if draw not in get_args(Draw):
        raise InputError(f"draw is {' or '.join(map(repr, get_args(Draw)))}, not {draw!r}.")
    if not 0 < share <= 1 or tries < 1:
        raise InputError(
            "The share of the magnitude that intervals reach is above 0 and at most 1; at least one try is needed."
        )
    table, value = problem.table, problem.table.value
    lower_level, upper_level, sliding = problem.strictest
    level = np.maximum.reduce([lower_level, upper_level, sliding / 2])
    slack = np.minimum(value - problem.prior_lower, problem.prior_upper - value)
    radius = np.maximum(np.minimum(slack, share * table.magnitude), 0.0)
    short = np.flatnonzero(level > radius * (1 + 1e-9))
    if len(short):
        labels = table.labels(short)
        raise NoSafePatternError(
            f"{len(labels)} cells have levels larger than the radius of their intervals, e.g. {some(labels)}. "
            "Use the method 'intervals', whose intervals reach the levels on both sides.",
            labels,
        )
    digits = digits_of(value)
    secret = Secret.of(secret)
    rng = secret.generator(f"safe-intervals {problem.digest}")
    for draws in range(1, tries + 1):
        if draw == "uniform":
            inner = np.maximum(level, LEVEL_SHARE_OF_RADIUS * radius)
            tick = None if digits is None else 10.0**-digits
            bounds = drawn_ends(value, np.stack([inner, inner, 0 * inner]), sign_bounds(problem), tick, rng)
        else:
            bounds = draw_bounds(value, np.minimum(level, radius), radius, rng, draw)
        lower, upper = _rounded_outwards(*bounds, value, digits)
        try:
            drawn = problem.with_columns(
                prior_lower=np.maximum(lower, problem.prior_lower), prior_upper=np.minimum(upper, problem.prior_upper)
            )
            found = protect(
                drawn, method, seed=seed, time_limit=time_limit, progress=progress, level="cells", secret=secret
            )
        except NoSafePatternError:
            continue
        suppressed = found.suppressed
        released = publish_intervals(
            problem,
            np.where(suppressed, np.nan, value),
            np.where(suppressed, lower, value),
            np.where(suppressed, upper, value),
            cost=float(problem.cost[suppressed].sum()),
            method="safe-intervals",
            seconds=found.report.seconds,
            solver=found.report.solver,
            seed=seed,
            secret=secret.digits,
            work={"draws": draws},
            note=f"pattern by {found.report.method}",
        )
        if is_safe(problem, released, progress=progress):
            return released
    raise NoSafePatternError(
        f"No pattern protects the table with any of {tries} draws of intervals. Allow more tries, or a larger share."
    )


def _rounded_outwards(
    lower: FloatArray, upper: FloatArray, value: FloatArray, digits: int | None
) -> tuple[FloatArray, FloatArray]:
    """Ends rounded outwards to as many digits as the values of the table; wider intervals are safe, too."""
    if digits is not None:
        unit = 10.0**digits
        lower, upper = np.floor(lower * unit - 1e-6) / unit, np.ceil(upper * unit + 1e-6) / unit
        lower, upper = np.round(lower, digits), np.round(upper, digits)
    return np.minimum(lower, value), np.maximum(upper, value)
