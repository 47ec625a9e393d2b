"""What knowing p gives away about cells of one or two respondents, and what such cells give away about p."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks.exact import ExactIntervals, exact, midpoint, stand_in
from discreet.attacks.finding import Finding
from discreet.attacks.fit import fit
from discreet.attacks.public import Public
from discreet.errors import InputError, NoSafePatternError
from discreet.methods import protect
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.progress import Progress, Silent

RULE = "numbers of respondents are published; the p-percent rule, with the same p up and down"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Shrunk(Finding):
    """Intervals that are narrower than the exact ones, by what p says about them."""

    before: ExactIntervals

    def _more(self) -> dict[str, object]:
        return {"exact_lower": self.before.lower, "exact_upper": self.before.upper}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PercentBound(Finding):
    """Bounds of p, in percent: one from above for each cell of one or two respondents, ``least`` from below."""

    percent: FloatArray
    least: float = 0.0

    @property
    def greatest(self) -> float:
        """The smallest of the upper bounds: the agency's p is not above it."""
        return float(self.percent.min(initial=100.0))

    def _more(self) -> dict[str, object]:
        return {"p_at_most": self.percent}


def shrink(
    public: Public, p: float, *, own: Mapping[str, float] | None = None, progress: Progress | None = None
) -> Shrunk:
    """Shrink the exact intervals [l, u] of cells of one or two respondents by the protection that p says they have.

    One respondent: the level is p·x, so l/(1 − p) ≤ x ≤ u/(1 + p). Two: it is p·x₁ with x₁ ≥ x/2, so p/2 does instead of p.
    One of the two, whose ``own`` contribution w is in the cell, knows that x₁ is at least w and at least x − w:
    w + (l − w)/(1 − p) and l + p·w ≤ x ≤ w + (u − w)/(1 + p) and u − p·w. What that says about other cells is worked out, too.
    """
    share = _share(p)
    before = exact(public, progress=progress)
    lower, upper = before.lower.copy(), before.upper.copy()
    few = _few(public, before)
    part = share * _weight(public, before)
    lower[few], upper[few] = (lower / (1 - part))[few], (upper / (1 + part))[few]
    for label, w in (own or {}).items():
        i = before.row(label)
        low, high = before.lower[i], before.upper[i]
        lower[i] = max(lower[i], w + (low - w) / (1 - share), low + share * w)
        upper[i] = min(upper[i], w + (high - w) / (1 + share), high - share * w)
    # A parameter that is given to some digits makes ends meet only to as many.
    gap = (lower > upper) & (lower - upper <= 1e-9 * np.abs(lower))
    lower[gap] = upper[gap] = ((lower + upper) / 2)[gap]
    narrow = [column.copy() for column in (public.lower, public.upper)]
    for column, end in zip(narrow, (lower, upper), strict=True):
        column[before.cell] = end
    after = exact(public.knowing(*narrow), progress=progress)
    at = np.searchsorted(before.cell, after.cell)  # cells that are known exactly by now are no longer among the unknown
    lower[at], upper[at] = after.lower, after.upper
    return Shrunk(
        attack="shrink",
        assumes=f"p is known; {RULE}",
        public=public,
        cell=before.cell,
        lower=lower,
        upper=upper,
        estimate=midpoint(lower, upper),
        certain=True,
        before=before,
    )


def bound_p(public: Public, *, seen: ExactIntervals | None = None, progress: Progress | None = None) -> PercentBound:
    """Upper bounds of p from exact intervals [l, u]: (u − l)/(u + l) for one respondent, twice that for two.

    Each cell gives one; of many, the smallest may be close. (For two respondents the source has no factor 2: so sharp a bound
    takes one of the two, who subtracts what it contributed.)
    """
    seen = seen or exact(public, progress=progress)
    few = np.flatnonzero(_few(public, seen) & np.isfinite(seen.upper) & (seen.upper > 0))
    lower, upper = seen.lower[few], seen.upper[few]
    percent = np.minimum(100 * (upper - lower) / (upper + lower) / _weight(public, seen)[few], 100.0)
    return PercentBound(
        attack="bound-p",
        assumes=RULE,
        public=public,
        cell=seen.cell[few],
        lower=lower,
        upper=upper,
        estimate=midpoint(lower, upper),
        certain=True,
        percent=percent,
        parameters={"p_at_most": float(percent.min(initial=100.0))},
    )


def bisect_p(
    public: Public,
    method: str | Method = "kelly",
    *,
    steps: int = 7,
    seed: int = 0,
    progress: Progress | None = None,
) -> PercentBound:
    """A lower bound of p by trial and error: protect a fitted table with some p; if that suppresses less, the true p is larger.

    A guess: the fitted table is not the true one, and the agency's method and costs (here: the values) must be known. ``least``
    stays 0 where the trials say nothing.
    """
    progress = progress or Silent()
    above = bound_p(public)
    surrogate = _surrogate(public)
    suppressed = np.isnan(public.published)
    few = np.zeros(len(public), dtype=bool)
    few[above.cell] = True

    def hides_less(p: float) -> bool:
        return _hides_less(
            surrogate, few, p, suppressed, lambda problem: protect(problem, method, seed=seed).suppressed
        )

    least, most = 0.0, above.greatest
    progress.stage("bisect-p", steps)
    # Where not even the largest p makes the method suppress what is suppressed, it was another method, or another table.
    for step in range(0 if hides_less(most) else steps):
        trial = (least + most) / 2
        if hides_less(trial):
            least = trial
        else:
            most = trial
        progress.update(step + 1)
    return replace(
        above,
        attack="bisect-p",
        assumes=f"method and costs are known; {RULE}",
        certain=False,
        least=least,
        parameters={"p_at_least": least, "p_at_most": above.greatest},
    )


def _surrogate(public: Public) -> Problem:
    """A table that an intruder takes for the true one."""
    fitted = fit(public)
    value = np.where(public.lower == public.upper, public.lower, public.published)
    value[fitted.cell] = fitted.estimate
    problem, _ = stand_in(public, np.clip(value, public.lower, public.upper))
    return problem.with_columns(cost=np.abs(value))


def _hides_less(
    surrogate: Problem, few: BoolArray, p: float, suppressed: BoolArray, pattern: Callable[[Problem], BoolArray]
) -> bool:
    value = surrogate.table.value
    level = np.where(few, p / 100 * value, 0.0)
    status = np.where(few, Status.PRIMARY, Status.FREE).astype(np.int8)
    least, endless = np.minimum(value, 0.0), np.full(len(value), np.inf)
    asked = surrogate.with_columns(status=status, lower=level, upper=level, prior_lower=least, prior_upper=endless)
    try:
        return bool(np.any(suppressed & ~pattern(asked)))
    except NoSafePatternError:
        return False


def _share(p: float) -> float:
    if not 0 < p < 100:
        raise InputError(f"p is a percentage between 0 and 100, not {p:g}.")
    return p / 100


def _counts(public: Public) -> IntArray:
    if public.count is None:
        raise InputError("Numbers of respondents are not in the public view: make it with counts=True.")
    return public.count


def _few(public: Public, seen: ExactIntervals) -> BoolArray:
    """Hidden cells of one or two respondents, which are sensitive whatever p is, and that cannot be negative."""
    cell = seen.cell
    return np.asarray(
        np.isin(_counts(public)[cell], (1, 2)) & (public.lower[cell] >= 0) & np.isnan(public.published[cell])
    )


def _weight(public: Public, seen: ExactIntervals) -> FloatArray:
    """What share of a cell its largest contribution is at least."""
    return np.where(_counts(public)[seen.cell] == 1, 1.0, 0.5)
