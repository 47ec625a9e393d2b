"""The claims of an attack, and their comparison with the true values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks.public import Public
from discreet.errors import InputError
from discreet.inference import tolerances
from discreet.inference.requirements import cells_to_protect, required_levels
from discreet.protection import Protection

# Intervals narrower than this share of the value count as exact. Sums of floats are accurate to about 1e-12 of their largest
# addend; no protection level is as small as 1e-9 of a value.
RELATIVE_WIDTH_OF_EXACT_CLAIMS = 1e-9
# Factor by which a violation of one relation may grow in an interval that is inferred from several relations in sequence.
ADDITIVITY_ERROR_FACTOR = 10


@dataclass(frozen=True, eq=False, repr=False)
class Finding:
    """Claims about cells of a public view: an interval per cell, which may be NaN, and a best estimate."""

    attack: str
    assumes: str
    public: Public
    cell: IntArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    certain: bool  # intervals follow from the publication if the assumptions hold; otherwise they are guesses
    # Of the rule, if the attack estimates them.
    parameters: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @classmethod
    def certain_intervals(
        cls,
        attack: str,
        assumes: str,
        public: Public,
        cell: IntArray,
        lower: FloatArray,
        upper: FloatArray,
        **fields: Any,
    ) -> Self:
        """A certain finding with the midpoints of its intervals as estimates."""
        return cls(attack, assumes, public, cell, lower, upper, midpoint(lower, upper), certain=True, **fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.attack}: {len(self.cell):,} cells, {int(self.pinned.sum()):,} exactly)"

    @property
    def labels(self) -> list[str]:
        return [self.public.labels[i] for i in self.cell]

    @property
    def pinned(self) -> BoolArray:
        """Whether the value of each cell is claimed to be known exactly."""
        size = np.fmax(np.abs(np.where(np.isfinite(self.lower), self.lower, 0.0)), 1e-300)
        with np.errstate(invalid="ignore"):  # unbounded intervals
            return np.asarray(self.upper - self.lower <= RELATIVE_WIDTH_OF_EXACT_CLAIMS * size)

    @property
    def unclaimed(self) -> BoolArray:
        """Cells without interval and without estimate."""
        return np.isnan(self.lower) & np.isnan(self.upper) & np.isnan(self.estimate)

    @property
    def reason_without_claims(self) -> str:
        """Why there is no claim about any cell."""
        return "it says nothing about this table"

    def row(self, label: str) -> int:
        """The position of a cell in the columns of the finding."""
        found = np.flatnonzero(self.cell == self.public.index(label))
        if not len(found):
            raise InputError(
                f"The attack {self.attack!r} says nothing about the cell {label!r}. "
                "It is about cells that are not published exactly.",
                [label],
            )
        return int(found[0])

    def range(self, label: str) -> tuple[float, float]:
        """The interval of one cell."""
        row = self.row(label)
        return float(self.lower[row]), float(self.upper[row])

    def frame(self) -> pd.DataFrame:
        """One row per cell. Confidential: it contains what an attacker would know."""
        columns = {"cell": self.labels, "lower": self.lower, "upper": self.upper, "estimate": self.estimate}
        return pd.DataFrame({**columns, **self._extra_columns()})

    def _extra_columns(self) -> dict[str, object]:
        """Columns of the frame that only this kind of finding has."""
        return {}


def midpoint(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The middle of each interval; NaN if it is unbounded."""
    finite = np.isfinite(lower) & np.isfinite(upper)
    return np.where(finite, (np.where(finite, lower, 0.0) + np.where(finite, upper, 0.0)) / 2, np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The confidential side of a table: values, cells that need protection, and their protection levels."""

    labels: Mapping[str, int]
    value: FloatArray
    protected: BoolArray
    levels: FloatArray  # (3, cells): lower, upper, sliding
    additivity_error: float = 0.0  # by which intervals may miss the values because the values do not add up exactly

    @classmethod
    def of(cls, protection: Protection) -> Truth:
        problem = protection.problem
        table = problem.table
        outsider = problem.attackers()[0]
        protected = np.zeros(len(problem), dtype=bool)
        protected[cells_to_protect(problem, protection, outsider)] = True
        labels = {label: i for i, label in enumerate(table.listed.labels())}
        violation = float(np.abs(table.relations @ table.value - table.rhs).max(initial=0.0))
        levels = required_levels(problem, protection, outsider)
        return cls(labels, table.value, protected, levels, ADDITIVITY_ERROR_FACTOR * violation)


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """A finding compared with the truth: one entry per cell for which the truth is available. Confidential."""

    finding: Finding
    truth: Truth
    row: IntArray  # of the finding
    value: FloatArray
    error: FloatArray  # estimate minus value
    holds: BoolArray  # the interval contains the value
    exact: BoolArray  # correctly claimed to be known exactly
    sensitive: BoolArray
    near: BoolArray  # sensitive, and the estimate is closer to the value than the levels allow, possibly by chance
    compromised: BoolArray  # sensitive, and correctly claimed to lie in an interval narrower than the levels allow
    narrower: BoolArray  # sensitive, and the interval, correct or not, does not cover the required interval

    def __repr__(self) -> str:
        return (
            f"Score({self.finding.attack}: {int(self.exact.sum()):,} of {len(self.row):,} cells exactly, "
            f"{int(self.compromised.sum()):,} compromised, {int(self.wrong.sum()):,} claims wrong)"
        )

    @property
    def wrong(self) -> BoolArray:
        """Claimed intervals that do not contain the value."""
        claims = ~np.isnan(self.finding.lower[self.row]) & ~np.isnan(self.finding.upper[self.row])
        return np.asarray(claims & ~self.holds)

    @property
    def bias(self) -> float:
        """Mean error of the estimates."""
        estimated = self.error[np.isfinite(self.error)]
        return float(estimated.mean()) if len(estimated) else np.nan

    @property
    def typical(self) -> float:
        """Median absolute error of the estimates, as a share of the value."""
        estimated = np.isfinite(self.error) & (self.value != 0)
        return float(np.median(np.abs(self.error[estimated] / self.value[estimated]))) if estimated.any() else np.nan

    def labels(self, selected: BoolArray) -> list[str]:
        return [self.finding.labels[i] for i in self.row[selected]]

    def frame(self) -> pd.DataFrame:
        """The finding and its comparison with the truth, one row per cell. Confidential."""
        columns = ("value", "error", "holds", "exact", "sensitive", "near", "compromised", "narrower")
        found = self.finding.frame().iloc[self.row].reset_index(drop=True)
        return found.assign(**{name: getattr(self, name) for name in columns})


def score(finding: Finding, truth: Truth) -> Score:
    """Compare a finding with the truth."""
    at = np.array([truth.labels.get(label, -1) for label in finding.labels], dtype=np.int64)
    row = np.flatnonzero(at >= 0)
    at = at[row]
    value, levels, sensitive = truth.value[at], truth.levels[:, at], truth.protected[at]
    lower, upper, estimate = (column[row] for column in (finding.lower, finding.upper, finding.estimate))
    noise = RELATIVE_WIDTH_OF_EXACT_CLAIMS * np.maximum(np.abs(value), 1e-300)
    with np.errstate(invalid="ignore"):  # unbounded intervals
        width = np.nan_to_num(upper - lower, nan=0.0, posinf=0.0)
    audit_error = tolerances.LEVEL_TOLERANCE * width  # tolerance of the interval ends that an audit computes
    tolerance = noise + audit_error + truth.additivity_error
    holds = (lower <= value + tolerance) & (value - tolerance <= upper)
    down, up, slide = levels * (1 - tolerances.LEVEL_TOLERANCE) - np.minimum(audit_error, levels / 1000)
    with np.errstate(invalid="ignore"):  # NaN: no claim
        reach = np.stack([value - lower, upper - value, upper - lower])
    # Where no level is required, an interval that ends at the value is wide enough, also if the end is inaccurate.
    short = ((reach < np.stack([down, up, slide]) - noise) & (levels > 0)).any(axis=0)
    with np.errstate(invalid="ignore"):
        # A guess compromises a cell only if it rules out everything beyond the levels.
        disclosing = short if finding.certain else (lower > value - down) & (upper < value + up)
        near = sensitive & (estimate - value > -down) & (estimate - value < up)
    return Score(
        finding,
        truth,
        row,
        value,
        error=estimate - value,
        holds=holds,
        exact=finding.pinned[row] & holds,
        sensitive=sensitive,
        near=near,
        compromised=sensitive & holds & disclosing,
        narrower=sensitive & short,
    )
