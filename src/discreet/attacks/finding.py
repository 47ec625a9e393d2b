"""What an attack claims, and, once the truth is laid beside it, how much of that is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks.public import Public
from discreet.errors import InputError
from discreet.inference import tolerances
from discreet.inference.requirements import due, required
from discreet.protection import Protection

PINNED = 1e-9  # share of a value within which a range counts as a single number
STEPS = 10  # relations, one after the other, through which what does not add up carries on


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Finding:
    """Claims about some cells of a public view: a range, which may be NaN, and a best estimate.

    ``certain``: the ranges follow from what is published, if what the attack ``assumes`` is so; otherwise they are guesses.
    """

    attack: str
    assumes: str
    public: Public
    cell: IntArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    certain: bool
    parameters: Mapping[str, float] = field(default_factory=dict)  # of the rule, where the attack is after them

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.attack}: {len(self.cell):,} cells, {int(self.pinned.sum()):,} exactly)"

    @property
    def labels(self) -> list[str]:
        return [self.public.labels[i] for i in self.cell]

    @property
    def pinned(self) -> BoolArray:
        """Claimed to be known exactly."""
        size = np.fmax(np.abs(np.where(np.isfinite(self.lower), self.lower, 0.0)), 1e-300)
        with np.errstate(invalid="ignore"):  # of endless ranges
            return np.asarray(self.upper - self.lower <= PINNED * size)

    @property
    def silent(self) -> BoolArray:
        """Nothing is claimed or estimated."""
        return np.isnan(self.lower) & np.isnan(self.upper) & np.isnan(self.estimate)

    @property
    def silence(self) -> str:
        """Why nothing is claimed about any cell, if this finding knows more than its attack does."""
        return ""

    def row(self, label: str) -> int:
        """Where a cell stands in the columns."""
        found = np.flatnonzero(self.cell == self.public.index(label))
        if not len(found):
            raise InputError(f"The attack {self.attack!r} says nothing about the cell {label!r}.", [label])
        return int(found[0])

    def range(self, label: str) -> tuple[float, float]:
        """The range of one cell."""
        row = self.row(label)
        return float(self.lower[row]), float(self.upper[row])

    def frame(self) -> pd.DataFrame:
        """One row a cell. It holds what an intruder would know: treat it like the table itself."""
        return pd.DataFrame(
            {"cell": self.labels, "lower": self.lower, "upper": self.upper, "estimate": self.estimate, **self._more()}
        )

    def _more(self) -> dict[str, object]:
        """Further columns of the frame."""
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """What only the data owner knows: the values, which cells must be protected, and how well."""

    labels: Mapping[str, int]
    value: FloatArray
    protected: BoolArray
    levels: FloatArray  # (3, cells): lower, upper, sliding
    off: float = 0.0  # by how much sums of the values themselves fail to add up, and what follows from them with them

    @classmethod
    def of(cls, protection: Protection) -> Truth:
        problem = protection.problem
        table = problem.table
        outsider = problem.attackers()[0]
        protected = np.zeros(len(problem), dtype=bool)
        protected[due(problem, protection, outsider)] = True
        labels = {label: i for i, label in enumerate(table.listed.labels())}
        off = STEPS * float(np.abs(table.relations @ table.value - table.rhs).max(initial=0.0))
        return cls(labels, table.value, protected, required(problem, protection, outsider), off)


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """How near a finding comes to the truth; one entry for each cell that the truth knows about. Confidential."""

    finding: Finding
    truth: Truth
    row: IntArray  # of the finding
    value: FloatArray
    error: FloatArray  # of the estimate, with its sign
    holds: BoolArray  # the truth is in the range
    exact: BoolArray  # rightly claimed to be known exactly
    sensitive: BoolArray
    near: BoolArray  # the estimate of a sensitive cell is nearer than the levels allow; by luck, perhaps
    compromised: BoolArray  # sensitive, and rightly claimed to lie in a range narrower than the levels allow
    narrower: BoolArray  # sensitive, and the range, rightly or not, does not reach as far as the levels require

    def __repr__(self) -> str:
        return (
            f"Score({self.finding.attack}: {int(self.exact.sum()):,} of {len(self.row):,} cells exactly, "
            f"{int(self.compromised.sum()):,} compromised, {int(self.wrong.sum()):,} claims wrong)"
        )

    @property
    def wrong(self) -> BoolArray:
        """Ranges that leave the truth out."""
        claims = ~np.isnan(self.finding.lower[self.row]) & ~np.isnan(self.finding.upper[self.row])
        return np.asarray(claims & ~self.holds)

    @property
    def bias(self) -> float:
        """Mean error of the estimates there are."""
        told = self.error[np.isfinite(self.error)]
        return float(told.mean()) if len(told) else np.nan

    @property
    def typical(self) -> float:
        """Median error of the estimates there are, as a share of the value."""
        told = np.isfinite(self.error) & (self.value != 0)
        return float(np.median(np.abs(self.error[told] / self.value[told]))) if told.any() else np.nan

    def labels(self, which: BoolArray) -> list[str]:
        return [self.finding.labels[i] for i in self.row[which]]

    def frame(self) -> pd.DataFrame:
        """What was found and how near it is, one row a cell. Confidential."""
        columns = ("value", "error", "holds", "exact", "sensitive", "near", "compromised", "narrower")
        found = self.finding.frame().iloc[self.row].reset_index(drop=True)
        return found.assign(**{name: getattr(self, name) for name in columns})


def score(finding: Finding, truth: Truth) -> Score:
    """Lay the truth beside a finding."""
    at = np.array([truth.labels.get(label, -1) for label in finding.labels], dtype=np.int64)
    row = np.flatnonzero(at >= 0)
    at = at[row]
    value, levels, sensitive = truth.value[at], truth.levels[:, at], truth.protected[at]
    lower, upper, estimate = (column[row] for column in (finding.lower, finding.upper, finding.estimate))
    noise = PINNED * np.maximum(np.abs(value), 1e-300)
    with np.errstate(invalid="ignore"):  # of endless ranges
        width = np.nan_to_num(upper - lower, nan=0.0, posinf=0.0)
    ends = tolerances.REACH * width  # by how much those of an audit may be off
    slack = noise + ends + truth.off
    holds = (lower <= value + slack) & (value - slack <= upper)
    exact = finding.pinned[row] & holds
    down, up, slide = levels * (1 - tolerances.REACH) - np.minimum(ends, levels / 1000)
    with np.errstate(invalid="ignore"):  # no range, no claim
        short = (value - lower < down - noise) | (upper - value < up - noise) | (upper - lower < slide - noise)
        # A guess is no bound: it counts only if it rules out everything beyond the levels.
        close = short if finding.certain else (lower > value - down) & (upper < value + up)
        near = sensitive & (estimate - value > -down) & (estimate - value < up)
    return Score(
        finding,
        truth,
        row,
        value,
        error=estimate - value,
        holds=holds,
        exact=exact,
        sensitive=sensitive,
        near=near,
        compromised=sensitive & holds & close,
        narrower=sensitive & short,
    )
