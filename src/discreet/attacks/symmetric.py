"""Inference of values and of q from published intervals that are symmetric around the true values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks.exact import ReducedSystem, solver_unit
from discreet.attacks.finding import Finding, midpoint
from discreet.attacks.public import Public
from discreet.data.table import digits_of
from discreet.inference.congruent_tables import components
from discreet.solvers import new_model


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recovered(Finding):
    """Midpoints of published intervals, claimed as values where they are additive; ``q`` is a share."""

    fits: BoolArray  # the midpoints in the component of this cell fulfil all relations
    checks: IntArray  # number of these relations

    @property
    def q(self) -> float:
        """The assumed accuracy of prior knowledge, as a share of the value; NaN if no interval is symmetric."""
        return self.parameters["q"]

    def _extra_columns(self) -> dict[str, object]:
        return {"fits": self.fits, "checks": self.checks}


def recover(public: Public, *, tolerance: float = 1e-9) -> Recovered:
    """Claim the midpoints of the intervals of suppressed cells as values where they are additive.

    Exact intervals that follow from symmetric prior bounds are symmetric around the true values, for every table
    (Proposition 1 and Theorem 1 of Cox), so their midpoints fulfil all relations. The converse does not hold: in a single
    alternating cycle the midpoints of any exact intervals are additive. An interval that ends at zero may be due to
    nonnegativity alone, so nothing is claimed. If only some suppressed cells have intervals, such as x ± r in place of each
    sensitive value, their midpoints are claimed if values of the other cells exist that make the table additive. The cell with
    the relatively widest interval has a radius of q times its value: q = max (u − l)/(u + l).
    """
    system = ReducedSystem.of(public)
    low, high = public.published_lower[system.cells], public.published_upper[system.cells]
    middle = midpoint(low, high)
    # An adjusted value is in the middle of its interval, and readers know that it is not the true one.
    claimed = ~np.isnan(middle) & np.isnan(public.published[system.cells])
    fits, checks = np.zeros(len(claimed), dtype=bool), np.zeros(len(claimed), dtype=np.int64)
    # Ends rounded to some decimals let each midpoint be off by half of the last digit; integer ends may be exact.
    digits = digits_of(np.concatenate([low[claimed], high[claimed]]))
    rounding = 10.0**-digits if digits else 0.0
    lower, upper = public.lower[system.cells], public.upper[system.cells]
    for members, relations in components(system.rows, np.ones(len(claimed), dtype=bool)):
        cells, others = members[claimed[members]], ~claimed[members]
        smallest_end = np.minimum(np.abs(low[cells]), np.abs(high[cells]))
        if not len(cells) or np.any(smallest_end <= 1e-9 * (high[cells] - low[cells])):  # an end at zero
            continue
        here = np.diff(sparse.csr_array(system.rows[:, members]).indptr) > 0
        value = np.where(others, 0.0, middle[members])
        slack = tolerance * (abs(relations) @ np.abs(value)) + rounding / 2 * np.diff(relations.indptr)
        rhs = system.rhs[here] - relations @ value
        fits[cells] = _is_feasible(relations[:, others], rhs, slack, lower[members][others], upper[members][others])
        checks[cells] = relations.shape[0]
    symmetric = fits & (middle != 0)
    radius = (high - low)[symmetric] / 2 / np.abs(middle[symmetric])
    parameters = {"q": float(radius.max()) if len(radius) else np.nan}
    low, high = (np.where(fits, middle, end) for end in (low, high))
    assumes = "intervals follow from symmetric prior bounds"
    found = (assumes, public, system.cells[claimed], low[claimed], high[claimed])
    return Recovered.certain_intervals(
        "symmetric", *found, parameters=parameters, fits=fits[claimed], checks=checks[claimed]
    )


def _is_feasible(
    rows: sparse.csr_array, rhs: FloatArray, slack: FloatArray, lower: FloatArray, upper: FloatArray
) -> bool:
    """Whether values of the cells without an interval exist with which the relations hold."""
    unit = solver_unit(rhs, lower, upper)
    model = new_model()
    ends = (rhs - slack) / unit, (rhs + slack) / unit
    model.load(np.zeros(rows.shape[1]), lower / unit, upper / unit, sparse.csr_array(rows), *ends)
    return model.solve().optimal
