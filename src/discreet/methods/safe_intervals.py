"""Safe interval release: intervals for suppressed values, not symmetric, but with midpoints that are right on average."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.special import ndtr, ndtri

from discreet.arrays import FloatArray
from discreet.audit import audit
from discreet.data.table import digits_of
from discreet.errors import InputError, NoSafePatternError, some
from discreet.methods import protect
from discreet.methods.intervals.positions import drawn_ends, sign_bounds
from discreet.methods.method import Method
from discreet.problem import Problem
from discreet.progress import Progress
from discreet.protection import Protection, publish_intervals
from discreet.secret import Secret

Draw = Literal["uniform", "mirrored", "independent"]
ROOM = 0.2  # of the radius that cells without levels are drawn as if they needed
WIDE = 4.0  # standard deviations at which the normal distribution is cut off


def draw_bounds(
    value: FloatArray, level: FloatArray, radius: FloatArray, rng: np.random.Generator, draw: Draw = "mirrored"
) -> tuple[FloatArray, FloatArray]:
    """Bounds l′ and u′ inside [a − R, a + R] and outside (a − r, a + r), drawn so that their midpoint is a on average.

    l′ is uniform between a − R and a − r. ``mirrored``, as in the procedure of Cox: u′ is normal around the mirror image
    2a − l′, cut off where the nearer of a + r and a + R is reached and as far on the other side, so that the midpoint is
    right on average for every l′. ``independent``: u′ is uniform between a + r and a + R, so it is right on average over all l′.
    """
    slack = radius - level
    lower = value - radius + rng.random(len(value)) * slack
    if draw == "independent":
        return lower, value + level + rng.random(len(value)) * slack
    reach = np.minimum(value - level - lower, lower - (value - radius))
    tail = ndtr(-WIDE)  # scipy.stats has this distribution ready, but takes half a second to load
    noise = ndtri(tail + rng.random(len(value)) * (1 - 2 * tail)) / WIDE
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
    """Suppress cells by a method, against readers who know drawn bounds, and publish those bounds.

    Bounds come from the ``secret``, by default a new one of the operating system. With ``draw="uniform"`` the value's position
    between them is drawn as by the method ``intervals``. The others are those of :func:`draw_bounds`, from symmetric knowledge of
    ``share`` times the magnitude of a cell, or less where everybody knows more: with ``"mirrored"``, the published procedure,
    midpoints stay very close to the values; with ``"independent"`` they are farther off, though many are still nearer than the
    levels allow. Where no pattern protects the cells of a draw, another is drawn. The result has passed the audit.
    """
    if draw not in get_args(Draw):
        raise InputError(f"draw is {' or '.join(map(repr, get_args(Draw)))}, not {draw!r}.")
    if not 0 < share <= 1 or tries < 1:
        raise InputError(
            "The share of a value that is assumed to be known is above 0 and at most 1; at least one try is needed."
        )
    table, value = problem.table, problem.table.value
    level, radius = _levels(problem), _radius(problem, share)
    short = np.flatnonzero(level > radius * (1 + 1e-9))
    if len(short):
        labels = table.labels(short)
        raise NoSafePatternError(
            f"{len(labels)} cells need more protection than symmetric intervals around them leave, e.g. {some(labels)}. "
            "Use the method 'intervals', whose intervals reach as far on either side as levels ask.",
            labels,
        )
    digits = digits_of(value)
    of_all = Secret.of(secret)
    rng = of_all.generator(f"safe-intervals {problem.digest}")
    for k in range(tries):
        if draw == "uniform":
            slack = np.maximum(level, ROOM * radius)
            known = sign_bounds(problem)
            bounds = drawn_ends(
                value, np.stack([slack, slack, 0 * slack]), known, None if digits is None else 10.0**-digits, rng
            )
        else:
            bounds = draw_bounds(value, np.minimum(level, radius), radius, rng, draw)
        lower, upper = _outwards(*bounds, value, digits)
        try:
            known_too = np.maximum(lower, problem.prior_lower), np.minimum(upper, problem.prior_upper)
            drawn = problem.with_columns(prior_lower=known_too[0], prior_upper=known_too[1])
            found = protect(
                drawn, method, seed=seed, time_limit=time_limit, progress=progress, level="cells", secret=of_all
            )
        except NoSafePatternError:
            continue
        told = _told(problem, found, lower, upper, of_all, seed, k + 1)
        if audit(problem, told, intervals=False, progress=progress).passed:
            return told
    raise NoSafePatternError(
        f"No pattern protects the table with any of {tries} draws of intervals. Allow more tries, or a larger share."
    )


def _told(
    problem: Problem, found: Protection, lower: FloatArray, upper: FloatArray, secret: Secret, seed: int, draws: int
) -> Protection:
    value, suppressed = problem.table.value, found.suppressed
    return publish_intervals(
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


def _levels(problem: Problem) -> FloatArray:
    """What every attacker must be kept from, on either side."""
    levels = [problem.levels(who) for who in problem.attackers()]
    return np.asarray(np.max([np.maximum(np.maximum(low, up), slide / 2) for low, up, slide in levels], axis=0))


def _radius(problem: Problem, share: float) -> FloatArray:
    value = problem.table.value
    slack = np.minimum(value - problem.prior_lower, problem.prior_upper - value)
    return np.maximum(np.minimum(slack, share * problem.table.magnitude), 0.0)


def _outwards(
    lower: FloatArray, upper: FloatArray, value: FloatArray, digits: int | None
) -> tuple[FloatArray, FloatArray]:
    """Ends with as many digits as the table; wider intervals tell less."""
    if digits is not None:
        unit = 10.0**digits
        lower, upper = np.floor(lower * unit - 1e-6) / unit, np.ceil(upper * unit + 1e-6) / unit
        lower, upper = np.round(lower, digits), np.round(upper, digits)
    return np.minimum(lower, value), np.maximum(upper, value)
