"""Published intervals that are symmetric around the true values give those away, and q with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks.exact import ReducedSystem, midpoint, unit_of
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.data.table import digits_of
from discreet.inference.congruent import components
from discreet.solvers import new_model


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recovered(Finding):
    """Midpoints of published intervals, claimed as values where they fit the table; ``q`` is a share."""

    fits: BoolArray  # the midpoints around this cell keep all relations
    checks: IntArray  # how many relations say so

    @property
    def q(self) -> float:
        """Within which share of a value, at best, prior knowledge was assumed to be; NaN if no interval is symmetric."""
        return self.parameters["q"]

    def _more(self) -> dict[str, object]:
        return {"fits": self.fits, "checks": self.checks}


def recover(public: Public, *, tolerance: float = 1e-9) -> Recovered:
    """Take midpoints of the intervals of suppressed cells for values where these add up.

    Exact intervals that were worked out from symmetric prior knowledge are symmetric around the true values, whatever the
    table (Proposition 1 and Theorem 1 of Cox), so their midpoints keep all relations. That they do is no proof: in a single
    alternating cycle those of any exact intervals do. Where an interval ends at zero, that cells are not negative explains it
    as well, so nothing is claimed. Where only some suppressed cells have intervals, such as x ± r in place of each sensitive
    value, their midpoints are claimed if the others can make up for them. The cell whose interval is widest in proportion has
    a radius of q times its value: q = max (u − l)/(u + l).
    """
    system = ReducedSystem.of(public)
    low, high = public.told_lower[system.cells], public.told_upper[system.cells]
    middle = midpoint(low, high)
    # A value that was published in place of another is in the middle of its interval, and known not to be the truth.
    told = ~np.isnan(middle) & np.isnan(public.published[system.cells])
    fits, checks = np.zeros(len(told), dtype=bool), np.zeros(len(told), dtype=np.int64)
    grain = _grain(low[told], high[told])
    least, most = public.lower[system.cells], public.upper[system.cells]
    for members, relations in components(system.rows, np.ones(len(told), dtype=bool)):
        mine = members[told[members]]
        nearest = np.minimum(np.abs(low[mine]), np.abs(high[mine]))
        if not len(mine) or np.any(nearest <= 1e-9 * (high[mine] - low[mine])):  # an end at zero
            continue
        here = np.diff(sparse.csr_array(system.rows[:, members]).indptr) > 0
        value = np.where(told[members], middle[members], 0.0)
        # Ends that were rounded to some digits let each midpoint be off by half of the last one.
        slack = tolerance * (abs(relations) @ np.abs(value)) + grain / 2 * np.diff(relations.indptr)
        rest = ~told[members]
        left = system.rhs[here] - relations @ value
        fits[mine] = _possible(relations[:, rest], left, slack, least[members][rest], most[members][rest])
        checks[mine] = relations.shape[0]
    return Recovered(
        attack="symmetric",
        assumes="intervals were worked out from symmetric prior knowledge",
        public=public,
        cell=system.cells[told],
        lower=np.where(fits, middle, low)[told],
        upper=np.where(fits, middle, high)[told],
        estimate=middle[told],
        certain=True,
        parameters={"q": _q(low[fits], high[fits])},
        fits=fits[told],
        checks=checks[told],
    )


def _possible(rows: sparse.csr_array, rhs: FloatArray, slack: FloatArray, lower: FloatArray, upper: FloatArray) -> bool:
    """Whether cells without an interval can make up for what is left of the relations."""
    if not rows.shape[1]:
        return bool(np.all(np.abs(rhs) <= slack))
    unit = unit_of(rhs, lower, upper)
    model = new_model()
    ends = (rhs - slack) / unit, (rhs + slack) / unit
    model.load(np.zeros(rows.shape[1]), lower / unit, upper / unit, sparse.csr_array(rows), *ends)
    return model.solve().optimal


def _grain(low: FloatArray, high: FloatArray) -> float:
    """The last digit of interval ends that were rounded; whole ends may simply be whole."""
    digits = digits_of(np.concatenate([low, high]))
    return 0.0 if not digits else 10.0**-digits


def _q(low: FloatArray, high: FloatArray) -> float:
    middle = (low + high) / 2
    told = middle != 0
    return float(((high - low)[told] / 2 / np.abs(middle[told])).max()) if told.any() else np.nan
