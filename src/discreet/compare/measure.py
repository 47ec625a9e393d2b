"""What a protection loses and what it leaves at risk, measured the same way whatever the method."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.audit import Audit, audit
from discreet.inference.requirements import withheld
from discreet.problem import Problem, Status
from discreet.progress import Progress
from discreet.protection import Decision, Protection
from discreet.report.intervals import slacks

MAX_RELATIVE_WIDTH = (
    2.0  # a cell known to within 100 percent of its value either way, or less closely: there is no more to lose
)
CLOSE_GUESS_ERROR = 0.1  # a guess this near to the value, as a share of it, is a close one
RELATIVE_ADDITIVITY_TOLERANCE = (
    1e-9  # share of the values in a relation that published ones may be off by, for the last digit of a float
)

ANYBODY = "anybody"


@dataclass(frozen=True)
class Loss:
    """What readers lose. Shares add up to 1; None where there is nothing to measure it on."""

    exact: float | None  # shares of all cells: published as they are,
    adjusted: float | None  # with another value that stands for an interval,
    interval: float | None  # as an interval alone,
    suppressed: float | None  # and not told at all
    value_exact: float | None  # the same of the value at the finest level
    value_adjusted: float | None
    value_interval: float | None
    value_suppressed: float | None
    deviation: float  # of published values from the true ones, in all
    deviation_mean: float | None
    deviation_share: float | None  # in all, as a share of the published cells' true values
    deviation_relative: float | None  # mean of the deviation as a share of the value
    width: float | None  # mean relative width of what readers can infer about cells that are not sensitive
    additive: bool  # published values add up, wherever a relation has no others
    broken: int  # relations between published values that do not hold
    relations: int  # that are between published values alone


@dataclass(frozen=True)
class Risk:
    """What an attacker can still find out, or at least one of them."""

    attacker: str
    protected: int  # cells that need protection from this attacker
    exposed: int
    slack: float | None  # how many times the required distance is left open where it is tightest
    guess_error: float | None  # median relative error of the middle of the inferred interval, sensitive cells
    guessed: float | None  # share of the sensitive cells for which it is a close guess
    told_error: float | None  # median relative error of the published value, of sensitive cells that have one


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Cells that are not sensitive, the same for all methods: those whose widths are worked out."""

    cells: IntArray
    of: int

    @classmethod
    def drawn(cls, problem: Problem, most: int | None) -> Sample:
        """All of them, or so many drawn at random, always the same ones."""
        every = np.flatnonzero(np.isin(problem.status, (Status.FREE, Status.PUBLISHED)))
        if most is None or len(every) <= most:
            return cls(every, len(every))
        chosen = np.random.default_rng(int(problem.digest[:12], 16)).choice(every, most, replace=False)
        return cls(np.sort(chosen), len(every))


@dataclass(frozen=True, eq=False, repr=False)
class Meter:
    """Measures every protection of one problem on the same cells."""

    problem: Problem
    sample: Sample
    executor: Executor | None
    progress: Progress

    def loss(self, protection: Protection) -> Loss:
        listed, table = protection.listed, self.problem.table.listed
        everywhere, base = np.ones(len(table), dtype=bool), table.is_base
        size, told = np.abs(table.value), _told(listed)
        cells: dict[str, Any] = {kind: _share(these, everywhere) for kind, these in told.items()}
        value: dict[str, Any] = {f"value_{kind}": _share(these, base, size) for kind, these in told.items()}
        broken, relations = _broken(listed)
        return Loss(
            **cells,
            **value,
            **_deviations(listed),
            width=self._width(protection),
            additive=not broken,
            broken=broken,
            relations=relations,
        )

    def risks(self, protection: Protection) -> tuple[Risk, tuple[Risk, ...]]:
        """What at least one attacker finds out, and what each does."""
        seen = audit(self.problem, protection, executor=self.executor, progress=self.progress)
        told = _told_error(protection)
        each = [_risk(seen, np.flatnonzero(seen.attacker == a), name, told) for a, name in enumerate(seen.attackers)]
        return _risk(seen, np.arange(len(seen.cell)), ANYBODY, told), tuple(each)

    def _width(self, protection: Protection) -> float | None:
        """The mean over the sample; cells that are simply told have no width."""
        cells = self.sample.cells
        if not len(cells):
            return None
        asked = cells[withheld(protection)[cells]]
        seen = audit(
            self.problem,
            protection,
            attackers=self.problem.attackers()[:1],
            cells=asked,
            executor=self.executor,
            progress=self.progress,
        )
        return float(relative_width(self.problem.table.value[asked], seen.lower, seen.upper).sum() / len(cells))


def relative_width(value: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Widths as shares of the values, :data:`WIDEST` at most; of a zero nothing or that."""
    width, size = upper - lower, np.abs(value)
    relative = np.divide(width, size, out=np.where(width > 0, np.inf, 0.0), where=size > 0)
    return np.asarray(np.minimum(relative, MAX_RELATIVE_WIDTH))


def guess_errors(value: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """How far the middle of each interval is from the value, as a share of it; infinite where there is no middle."""
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):
        off = np.where(bounded, np.abs((lower + upper) / 2 - value), np.inf)
    return np.asarray(off / np.abs(value))


def _told(protection: Protection) -> dict[str, BoolArray]:
    """Which cells are published as they are, adjusted, told as an interval alone, and suppressed."""
    bounded = np.isfinite(protection.lower) | np.isfinite(protection.upper)
    return {
        "exact": protection.decision == Decision.PUBLISHED,
        "adjusted": protection.decision == Decision.ADJUSTED,
        "interval": protection.suppressed & bounded,
        "suppressed": protection.suppressed & ~bounded,
    }


def _share(these: BoolArray, among: BoolArray, weight: FloatArray | None = None) -> float | None:
    weight = np.ones(len(these)) if weight is None else weight
    whole = float(weight[among].sum())
    return float(weight[these & among].sum()) / whole if whole > 0 else None


def _deviations(protection: Protection) -> dict[str, Any]:
    """Of published values: in all, mean, as a share of the cells' values, and the mean share."""
    shown = ~np.isnan(protection.published)
    value = protection.problem.table.value[shown]
    off, size = np.abs(protection.published[shown] - value), np.abs(value)
    some = size > 0
    return {
        "deviation": float(off.sum()),
        "deviation_mean": float(off.mean()) if len(off) else None,
        "deviation_share": float(off.sum() / size.sum()) if some.any() else None,
        "deviation_relative": float((off[some] / size[some]).mean()) if some.any() else None,
    }


def _broken(protection: Protection) -> tuple[int, int]:
    """How many relations between published values do not hold, and of how many.

    A table need not be additive to the last digit itself: published values may be off by as much as the true ones.
    """
    table = protection.problem.table
    size = abs(table.relations)
    checked = size @ np.isnan(protection.published).astype(float) == 0
    published = np.nan_to_num(protection.published)
    off, before = (np.abs(table.relations @ value - table.rhs) for value in (published, table.value))
    wrong = checked & (off > before + RELATIVE_ADDITIVITY_TOLERANCE * (size @ np.abs(published)))
    return int(wrong.sum()), int(checked.sum())


def _risk(seen: Audit, rows: IntArray, attacker: str, told_error: float | None) -> Risk:
    """From these rows of the audit; where several are about a cell, the attacker counts who comes closest to it."""
    # Where nothing is asked for but not to be told, a cell that is told has no slack all the same.
    slack = np.where(seen.safe | seen.required.any(axis=0), slacks(seen), 0.0)[rows]
    error = _closest_guesses(seen, rows)
    return Risk(
        attacker=attacker,
        protected=len(np.unique(seen.cell[rows])),
        exposed=len(np.unique(seen.cell[rows][~seen.safe[rows]])),
        slack=float(slack.min()) if len(rows) else None,
        guess_error=float(np.median(error)) if len(error) else None,
        guessed=float((error <= CLOSE_GUESS_ERROR).mean()) if len(error) else None,
        told_error=told_error,
    )


def _closest_guesses(seen: Audit, rows: IntArray) -> FloatArray:
    """Of each sensitive cell that is not zero, the error of the best guess."""
    value = seen.problem.table.value
    sensitive = (seen.problem.status == Status.PRIMARY) & (value != 0)
    rows = rows[sensitive[seen.cell[rows]]]
    cells, place = np.unique(seen.cell[rows], return_inverse=True)
    closest = np.full(len(cells), np.inf)
    np.minimum.at(closest, place, guess_errors(value[seen.cell[rows]], seen.lower[rows], seen.upper[rows]))
    return closest


def _told_error(protection: Protection) -> float | None:
    """Readers who know nothing of intervals take a published value for the true one."""
    value = protection.problem.table.value
    cells = (protection.problem.status == Status.PRIMARY) & (value != 0) & ~np.isnan(protection.published)
    if not cells.any():
        return None
    return float(np.median(np.abs(protection.published[cells] - value[cells]) / np.abs(value[cells])))
