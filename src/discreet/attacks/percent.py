"""Inference from p about cells of one or two respondents, and from such cells about p."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.attacks.exact import ExactIntervals, congruent_problem, exact
from discreet.attacks.finding import Finding
from discreet.attacks.fit import fit
from discreet.attacks.public import Public
from discreet.errors import InputError, NoSafePatternError
from discreet.methods import protect
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.progress import Progress, Silent

P_RULE_ASSUMPTION = "numbers of respondents are published; the p-percent rule, with the same p up and down"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Shrunk(Finding):
    """Intervals that are narrower than the exact ones because p is known."""

    before: ExactIntervals

    def _extra_columns(self) -> dict[str, object]:
        return {"exact_lower": self.before.lower, "exact_upper": self.before.upper}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PercentBound(Finding):
    """Bounds of p, in percent: an upper bound for each cell of one or two respondents, and the lower bound ``least``."""

    percent: FloatArray
    least: float = 0.0

    @property
    def greatest(self) -> float:
        """The smallest of the upper bounds."""
        return float(self.percent.min(initial=100.0))

    def _extra_columns(self) -> dict[str, object]:
        return {"p_at_most": self.percent}


def shrink(
    public: Public, p: float, *, own: Mapping[str, float] | None = None, progress: Progress | None = None
) -> Shrunk:
    """Shrink the exact intervals [l, u] of cells of one or two respondents, given that they meet the levels of p.

    One respondent: the level is p·x, so l/(1 − p) ≤ x ≤ u/(1 + p). Two: it is p·x₁ with x₁ ≥ x/2, so p/2 replaces p.
    One of the two, whose ``own`` contribution w is in the cell, knows that x₁ is at least w and at least x − w:
    w + (l − w)/(1 − p) and l + p·w ≤ x ≤ w + (u − w)/(1 + p) and u − p·w. The intervals of other cells shrink accordingly.
    """
    if not 0 < p < 100:
        raise InputError(f"p is a percentage above 0 and below 100, not {p:g}.")
    share = p / 100
    before = exact(public, progress=progress)
    lower, upper = before.lower.copy(), before.upper.copy()
    small, largest_share = _small_cells(public, before)
    level = share * largest_share
    lower[small], upper[small] = (lower / (1 - level))[small], (upper / (1 + level))[small]
    for label, w in (own or {}).items():
        i = before.row(label)
        low, high = before.lower[i], before.upper[i]
        lower[i] = max(lower[i], w + (low - w) / (1 - share), low + share * w)
        upper[i] = min(upper[i], w + (high - w) / (1 + share), high - share * w)
    # Ends that should be equal may cross by the rounding of p.
    crossed = (lower > upper) & (lower - upper <= 1e-9 * np.abs(lower))
    lower[crossed] = upper[crossed] = ((lower + upper) / 2)[crossed]
    bounds = public.lower.copy(), public.upper.copy()
    for column, end in zip(bounds, (lower, upper), strict=True):
        column[before.cell] = end
    after = exact(public.with_bounds(*bounds), progress=progress)
    at = np.searchsorted(before.cell, after.cell)  # cells known exactly by now are no longer unknown
    lower[at], upper[at] = after.lower, after.upper
    assumes = f"p is known; {P_RULE_ASSUMPTION}"
    return Shrunk.certain_intervals("shrink", assumes, public, before.cell, lower, upper, before=before)


def bound_p(public: Public, *, progress: Progress | None = None) -> PercentBound:
    """Upper bounds of p from exact intervals [l, u]: (u − l)/(u + l) for one respondent, twice that for two.

    Each cell has one bound; the smallest of many may be close to p. (For two respondents the source has no factor 2: only
    one of the two, after subtracting its own contribution, has such a sharp bound.)
    """
    intervals = exact(public, progress=progress)
    small, largest_share = _small_cells(public, intervals)
    rows = np.flatnonzero(small & np.isfinite(intervals.upper) & (intervals.upper > 0))
    lower, upper = intervals.lower[rows], intervals.upper[rows]
    percent = np.minimum(100 * (upper - lower) / (upper + lower) / largest_share[rows], 100.0)
    found = (P_RULE_ASSUMPTION, public, intervals.cell[rows], lower, upper)
    parameters = {"p_at_most": float(percent.min(initial=100.0))}
    return PercentBound.certain_intervals("bound-p", *found, percent=percent, parameters=parameters)


def bisect_p(
    public: Public, method: str | Method = "kelly", *, steps: int = 7, seed: int = 0, progress: Progress | None = None
) -> PercentBound:
    """A lower bound of p by bisection: protect a fitted table with some p; if that suppresses less, the true p is larger.

    A guess: the fitted table is not the true one, and the agency's method and costs (here: the values) must be known. ``least``
    is 0 if the trials show nothing.
    """
    progress = progress or Silent()
    above = bound_p(public)
    surrogate, suppressed = _fitted_problem(public), np.isnan(public.published)
    small = np.zeros(len(public), dtype=bool)
    small[above.cell] = True

    def suppresses_less(p: float) -> bool:
        try:
            return bool(np.any(suppressed & ~protect(_with_p(surrogate, small, p), method, seed=seed).suppressed))
        except NoSafePatternError:
            return False

    low, high = 0.0, above.greatest
    progress.stage("bisect-p", steps)
    # If not even the largest p leads to all suppressions, the method or the table was another one.
    for step in range(0 if suppresses_less(high) else steps):
        trial = (low + high) / 2
        low, high = (trial, high) if suppresses_less(trial) else (low, trial)
        progress.update(step + 1)
    return replace(
        above,
        attack="bisect-p",
        assumes=f"method and costs are known; {P_RULE_ASSUMPTION}",
        certain=False,
        least=low,
        parameters={"p_at_least": low, "p_at_most": above.greatest},
    )


def _fitted_problem(public: Public) -> Problem:
    """A problem with a table that an attacker may take for the true one."""
    fitted = fit(public)
    value = np.where(public.lower == public.upper, public.lower, public.published)
    value[fitted.cell] = fitted.estimate
    problem, _ = congruent_problem(public, np.clip(value, public.lower, public.upper))
    return problem.with_columns(cost=np.abs(value))


def _with_p(surrogate: Problem, primary: BoolArray, p: float) -> Problem:
    value = surrogate.table.value
    level = np.where(primary, p / 100 * value, 0.0)
    status = np.where(primary, Status.PRIMARY, Status.FREE).astype(np.int8)
    lowest, unbounded = np.minimum(value, 0.0), np.full(len(value), np.inf)
    return surrogate.with_columns(status=status, lower=level, upper=level, prior_lower=lowest, prior_upper=unbounded)


def _small_cells(public: Public, intervals: ExactIntervals) -> tuple[BoolArray, FloatArray]:
    """Suppressed, nonnegative cells of one or two respondents, which are sensitive for every p; least share of the largest."""
    if public.count is None:
        raise InputError("Numbers of respondents are not in the public view: make it with counts=True.")
    cell, count = intervals.cell, public.count[intervals.cell]
    small = np.isin(count, (1, 2)) & (public.lower[cell] >= 0) & np.isnan(public.published[cell])
    return small, np.where(count == 1, 1.0, 0.5)
