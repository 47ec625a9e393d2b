"""Information loss and remaining risk of a protection, measured in the same way for all methods."""

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

MAX_RELATIVE_WIDTH = 2.0  # from 0 to twice the value: a wider interval counts as no further loss
CLOSE_GUESS_ERROR = 0.1  # relative error up to which a guess counts as close
RELATIVE_ADDITIVITY_TOLERANCE = 1e-9  # of the values in a relation, because the last digit of a float is rounded


@dataclass(frozen=True)
class Loss:
    """Information loss. Shares add up to 1; a measure is None if there are no cells to measure it on."""

    exact: float | None  # share of all cells that are published with their values
    adjusted: float | None  # share published with another value, which stands for an interval
    interval: float | None  # share published as an interval without a value
    suppressed: float | None  # share suppressed
    value_exact: float | None  # the same shares of the value at the finest level
    value_adjusted: float | None
    value_interval: float | None
    value_suppressed: float | None
    deviation: float  # sum of absolute deviations of published values from the true ones
    deviation_mean: float | None
    deviation_share: float | None  # the sum as a share of the true values of the published cells
    deviation_relative: float | None  # mean of the deviation as a share of the value
    width: float | None  # mean relative width of the audit intervals of cells that are not sensitive
    additive: bool  # published values satisfy all relations between them
    broken: int  # number of relations between published values that do not hold
    relations: int  # number of relations between published values


@dataclass(frozen=True)
class Risk:
    """The remaining risk from one attacker, or the largest risk from any attacker."""

    attacker: str
    protected: int  # cells that need protection from this attacker
    exposed: int
    slack: float | None  # the smallest distance to an end of an audit interval, as a multiple of the required one
    guess_error: float | None  # median relative error of the middle of the audit interval, over sensitive cells
    guessed: float | None  # share of the sensitive cells for which the middle is a close guess
    told_error: float | None  # median relative error of the published value, over sensitive cells that have one


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """The cells whose widths are computed, the same for all methods; ``of`` is the number of cells that are not sensitive."""

    cells: IntArray
    of: int

    @classmethod
    def drawn(cls, problem: Problem, size: int | None) -> Sample:
        """All cells that are not sensitive, or a random sample that depends on the problem only."""
        candidates = np.flatnonzero(np.isin(problem.status, (Status.FREE, Status.PUBLISHED)))
        if size is None or len(candidates) <= size:
            return cls(candidates, len(candidates))
        chosen = np.random.default_rng(int(problem.digest[:12], 16)).choice(candidates, size, replace=False)
        return cls(np.sort(chosen), len(candidates))


@dataclass(frozen=True, eq=False, repr=False)
class Meter:
    """Measures every protection of one problem on the same cells."""

    problem: Problem
    sample: Sample
    executor: Executor | None
    progress: Progress

    def loss(self, protection: Protection) -> Loss:
        listed, table = protection.listed, self.problem.table.listed
        base, base_value, shares = table.is_base, np.abs(table.value[table.is_base]), dict[str, Any]()
        for kind, cells in _kinds(listed).items():
            shares[kind] = _share(cells, np.ones(len(table)))
            shares[f"value_{kind}"] = _share(cells[base], base_value)
        broken, relations = _broken_relations(listed)
        return Loss(
            **shares,
            **_deviations(listed),
            width=self._width(protection),
            additive=not broken,
            broken=broken,
            relations=relations,
        )

    def risks(self, protection: Protection) -> tuple[Risk, tuple[Risk, ...]]:
        """The largest risk from any attacker, cell by cell, and the risk from each attacker."""
        checked = audit(self.problem, protection, executor=self.executor, progress=self.progress)
        error = _error_of_published_values(protection)
        each = [
            _risk(checked, np.flatnonzero(checked.attacker == a), name, error)
            for a, name in enumerate(checked.attackers)
        ]
        return _risk(checked, np.arange(len(checked.cell)), "any attacker", error), tuple(each)

    def _width(self, protection: Protection) -> float | None:
        """The mean relative width over the sample; published cells have width 0."""
        cells = self.sample.cells
        if not len(cells):
            return None
        audited = cells[withheld(protection)[cells]]
        checked = audit(
            self.problem,
            protection,
            attackers=self.problem.attackers()[:1],
            cells=audited,
            executor=self.executor,
            progress=self.progress,
        )
        widths = relative_width(self.problem.table.value[audited], checked.lower, checked.upper)
        return float(widths.sum() / len(cells))


def relative_width(value: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Widths as shares of the values, at most :data:`MAX_RELATIVE_WIDTH`; for a zero, that or 0."""
    width, size = upper - lower, np.abs(value)
    relative = np.divide(width, size, out=np.where(width > 0, np.inf, 0.0), where=size > 0)
    return np.asarray(np.minimum(relative, MAX_RELATIVE_WIDTH))


def guess_errors(value: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The relative error of the middle of each interval as a guess; infinite if the interval is unbounded."""
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):
        error = np.where(bounded, np.abs((lower + upper) / 2 - value), np.inf)
    return np.asarray(error / np.abs(value))


def _kinds(protection: Protection) -> dict[str, BoolArray]:
    """The cells of each kind of publication."""
    return {
        "exact": protection.decision == Decision.PUBLISHED,
        "adjusted": protection.decision == Decision.ADJUSTED,
        "interval": protection.has_interval,
        "suppressed": protection.suppressed & ~protection.has_interval,
    }


def _share(cells: BoolArray, weight: FloatArray) -> float | None:
    """The share of some cells in the weight of all."""
    total = float(weight.sum())
    return float(weight[cells].sum()) / total if total > 0 else None


def _deviations(protection: Protection) -> dict[str, Any]:
    """The measures of deviations of published values."""
    published = ~np.isnan(protection.published)
    value = protection.problem.table.value[published]
    deviation, size = np.abs(protection.published[published] - value), np.abs(value)
    nonzero = size > 0
    return {
        "deviation": float(deviation.sum()),
        "deviation_mean": float(deviation.mean()) if len(deviation) else None,
        "deviation_share": float(deviation.sum() / size.sum()) if nonzero.any() else None,
        "deviation_relative": float((deviation[nonzero] / size[nonzero]).mean()) if nonzero.any() else None,
    }


def _broken_relations(protection: Protection) -> tuple[int, int]:
    """The number of relations between published values that do not hold, and of all relations between published values.

    True values may violate relations in the last digit: published values may violate them by as much.
    """
    table = protection.problem.table
    size = abs(table.relations)
    checked = size @ np.isnan(protection.published).astype(float) == 0
    published = np.nan_to_num(protection.published)
    violation, of_values = (np.abs(table.relations @ value - table.rhs) for value in (published, table.value))
    broken = checked & (violation > of_values + RELATIVE_ADDITIVITY_TOLERANCE * (size @ np.abs(published)))
    return int(broken.sum()), int(checked.sum())


def _risk(checked: Audit, rows: IntArray, attacker: str, told_error: float | None) -> Risk:
    """The risk according to these rows of the audit; of several rows for a cell, the closest attacker counts."""
    # An exposed cell without levels, which only must not be published, has no slack.
    slack = np.where(checked.safe | checked.required.any(axis=0), slacks(checked), 0.0)[rows]
    error = _closest_guesses(checked, rows)
    return Risk(
        attacker=attacker,
        protected=len(np.unique(checked.cell[rows])),
        exposed=len(np.unique(checked.cell[rows][~checked.safe[rows]])),
        slack=float(slack.min()) if len(rows) else None,
        guess_error=float(np.median(error)) if len(error) else None,
        guessed=float((error <= CLOSE_GUESS_ERROR).mean()) if len(error) else None,
        told_error=told_error,
    )


def _closest_guesses(checked: Audit, rows: IntArray) -> FloatArray:
    """The error of the best guess for each sensitive cell that is not zero."""
    value = checked.problem.table.value
    sensitive = (checked.problem.status == Status.PRIMARY) & (value != 0)
    rows = rows[sensitive[checked.cell[rows]]]
    cells, index = np.unique(checked.cell[rows], return_inverse=True)
    closest = np.full(len(cells), np.inf)
    np.minimum.at(closest, index, guess_errors(value[checked.cell[rows]], checked.lower[rows], checked.upper[rows]))
    return closest


def _error_of_published_values(protection: Protection) -> float | None:
    """The median relative error of published values of sensitive cells, which a reader may take for the true ones."""
    value = protection.problem.table.value
    cells = (protection.problem.status == Status.PRIMARY) & (value != 0) & ~np.isnan(protection.published)
    if not cells.any():
        return None
    return float(np.median(np.abs(protection.published[cells] - value[cells]) / np.abs(value[cells])))
