"""What a method decides: per cell, what the public is told, and how good that is."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, FloatArray
from discreet.data.table import read_only
from discreet.display import card
from discreet.errors import TableError, some
from discreet.problem import Problem, Status

MANUAL = "manual"  # the method of patterns that come from elsewhere


class Decision(IntEnum):
    """What becomes of a cell."""

    PUBLISHED = 0
    PRIMARY = 1  # suppressed because it is sensitive
    SECONDARY = 2  # suppressed to protect others
    ADJUSTED = 3  # published with another value that stands for an interval: rounded or perturbed

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, repr=False)
class SolveReport:
    """How good a protection is. Whether it is safe is the audit's business."""

    method: str
    status: str  # optimal, within_gap, time_limit, interrupted, heuristic, infeasible
    cost: float  # of all suppressed cells, primaries included; methods that suppress none say what they count
    bound: float | None  # no safe pattern costs less
    seconds: float
    n_primary: int
    n_secondary: int
    n_adjusted: int = 0  # cells published with another value, which stands for an interval
    solver: str = ""
    seed: int = 0  # public: breaks ties
    problem: str = ""  # digest of the input
    work: dict[str, int] = field(default_factory=dict)  # what it took, e.g. the number of cuts
    note: str = ""  # what else there is to say, e.g. which methods were used
    secret: str = field(
        default="", repr=False
    )  # of randomness that protects; never shown, and in the confidential report alone
    symmetric: bool = False  # intervals are as narrow as levels allow: values are in their middles
    secret_limit: bool = False  # readers are told of larger changes than the method ever makes, and must not know

    def __repr__(self) -> str:
        return f"SolveReport({self.method}: {self.status}, {self.n_primary:,} primary, {self.n_secondary:,} secondary)"

    @property
    def gap(self) -> float | None:
        """How far above the bound the cost is, as a share of the cost."""
        if self.bound is None:
            return None
        return max(0.0, (self.cost - self.bound) / self.cost) if self.cost > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "gap": self.gap}


@dataclass(frozen=True, eq=False, repr=False)
class Protection:
    """Per cell: the decision, the published value (NaN where suppressed) and the interval a reader learns.

    A value published as it is has the interval [v, v]; an adjusted one the interval that the reader knows it to stand for,
    e.g. [v − r, v + r]; a suppressed cell has none; a suppressed cell that is published as an interval has that one.
    """

    problem: Problem
    decision: NDArray[np.int8]
    published: FloatArray
    lower: FloatArray
    upper: FloatArray
    report: SolveReport

    def __post_init__(self) -> None:
        for name in ("decision", "published", "lower", "upper"):
            if len(getattr(self, name)) != len(self.problem):
                raise TableError(f"The protection's column {name!r} does not have one entry a cell.")
            object.__setattr__(self, name, read_only(getattr(self, name)))
        # The audit reads the intervals, the reader sees the published values: they must tell the same story.
        exactly = (self.lower == self.published) & (self.upper == self.published)
        inside = (self.lower <= self.published) & (self.published <= self.upper)
        about = inside & np.isfinite(self.lower) & np.isfinite(self.upper)
        told = np.where(
            self.suppressed, np.isnan(self.published), np.where(self.decision == Decision.ADJUSTED, about, exactly)
        )
        if not told.all():
            labels = self.problem.table.labels(np.flatnonzero(~told))
            raise TableError(
                f"{len(labels)} cells are published other than their intervals say, e.g. {some(labels)}.", labels
            )

    def __repr__(self) -> str:
        r = self.report
        adjusted = f"{r.n_adjusted:,} adjusted, " if r.n_adjusted else ""
        return f"Protection({r.method}: {r.n_primary:,} primary, {r.n_secondary:,} secondary, {adjusted}{r.status})"

    def _repr_html_(self) -> str:
        r = self.report
        exactly = int((self.decision == Decision.PUBLISHED).sum())
        facts = {"published": f"{exactly:,}", "primary": f"{r.n_primary:,}", "secondary": f"{r.n_secondary:,}"}
        facts |= {"adjusted": f"{r.n_adjusted:,}"} if r.n_adjusted else {}
        facts["status"] = r.status
        return card(f"Protection by {r.method}", facts, "Confidential: values and costs are not shown.")

    @property
    def suppressed(self) -> BoolArray:
        return np.asarray((self.decision == Decision.PRIMARY) | (self.decision == Decision.SECONDARY))

    @property
    def only_suppresses(self) -> bool:
        """A suppression pattern: every cell is published as it is, or nothing is told about it."""
        told = self.suppressed & (np.isfinite(self.lower) | np.isfinite(self.upper))
        return not np.any(told | (self.decision == Decision.ADJUSTED))

    @cached_property
    def listed(self) -> Protection:
        """The protection without the cells behind linked tables, which are never listed; the others keep their numbers."""
        n = self.problem.table.n_listed
        if n == len(self.problem):
            return self
        told = (self.published[:n], self.lower[:n], self.upper[:n])
        return Protection(self.problem.listed, self.decision[:n], *told, report=self.report)

    @cached_property
    def digest(self) -> str:
        h = hashlib.sha256(self.problem.digest.encode())
        for array in (self.decision, self.published, self.lower, self.upper):
            h.update(np.ascontiguousarray(array).tobytes())
        return h.hexdigest()


def suppress(problem: Problem, suppressed: BoolArray, *, method: str = MANUAL, **report: Any) -> Protection:
    """The protection that suppresses the given cells entirely and publishes the others as they are.

    A pattern may publish primary cells; the audit will then find them exposed.
    ``report`` fills in the :class:`SolveReport`: status, bound, seconds, solver, seed, work.
    """
    suppressed = np.asarray(suppressed, dtype=bool)
    value = problem.table.value
    return tell(
        problem,
        published=np.where(suppressed, np.nan, value),
        lower=np.where(suppressed, -np.inf, value),
        upper=np.where(suppressed, np.inf, value),
        cost=float(problem.cost[suppressed].sum()),
        method=method,
        **report,
    )


def tell(
    problem: Problem,
    published: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    cost: float,
    method: str = MANUAL,
    **report: Any,
) -> Protection:
    """The protection that tells readers these values, NaN where there is none, and that cells lie in these intervals.

    Where the interval is the value alone a cell is published as it is; otherwise it is suppressed if it has no value, and
    adjusted if it has one. Cells that must be published keep their values, though readers may not know it of each: that a
    zero is one, where others are rounded to zero. No interval may leave the truth out.
    """
    value = problem.table.value
    published, lower, upper = (np.array(column, dtype=np.float64) for column in (published, lower, upper))
    suppressed = np.isnan(published)
    exactly = (lower == value) & (upper == value) & (published == value)
    decision = np.where(problem.status == Status.PRIMARY, Decision.PRIMARY, Decision.SECONDARY)
    decision = np.where(suppressed, decision, np.where(exactly, Decision.PUBLISHED, Decision.ADJUSTED)).astype(np.int8)
    for wrong, what in (
        ((problem.status == Status.SUPPRESSED) & ~suppressed, "that are suppressed already are published"),
        ((problem.status == Status.PUBLISHED) & suppressed, "that must be published are suppressed"),
        (
            (problem.status == Status.PUBLISHED) & (published != value),
            "that must be published as they are get other values",
        ),
        (~((lower <= value) & (value <= upper)), "lie outside the intervals that readers are told"),
    ):
        if wrong.any():
            labels = problem.table.labels(np.flatnonzero(wrong))
            raise TableError(f"{len(labels)} cells {what}, e.g. {labels[0]!r}.", labels)
    return Protection(
        problem,
        decision,
        published,
        lower,
        upper,
        report=SolveReport(
            method=method,
            status=report.pop("status", "heuristic"),
            cost=cost,
            bound=report.pop("bound", None),
            seconds=report.pop("seconds", 0.0),
            n_primary=int((decision == Decision.PRIMARY).sum()),
            n_secondary=int((decision[: problem.table.n_listed] == Decision.SECONDARY).sum()),
            n_adjusted=int((decision == Decision.ADJUSTED).sum()),
            problem=problem.digest,
            **report,
        ),
    )
