"""The result of a method: for each cell the decision and the published interval, and a report on its quality."""

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

MANUAL = "manual"  # the method name of patterns from other sources


class Decision(IntEnum):
    """How a cell is published."""

    PUBLISHED = 0
    PRIMARY = 1  # suppressed because it is sensitive
    SECONDARY = 2  # suppressed to protect others
    ADJUSTED = 3  # published with a value that stands for an interval: rounded or perturbed

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, repr=False)
class SolveReport:
    """The quality of a protection. Its safety is determined by the audit."""

    method: str
    status: str  # optimal, within_gap, time_limit, interrupted or heuristic
    cost: float  # of all suppressed cells, primary ones included; methods that suppress none measure another cost
    bound: float | None  # no safe solution costs less; None if the method proves no bound
    seconds: float
    n_primary: int
    n_secondary: int
    n_adjusted: int = 0  # cells published with a value that stands for an interval
    solver: str = ""
    seed: int = 0  # public: of the random choices of a search
    problem: str = ""  # digest of the input
    work: dict[str, int] = field(default_factory=dict)  # work statistics, e.g. the number of cuts
    note: str = ""  # further information, e.g. the methods used
    # The key of the random numbers that protect: never shown, and written to the confidential report only.
    secret: str = field(default="", repr=False)
    symmetric: bool = False  # a simple guess finds sensitive values, e.g. the middles of published intervals
    secret_limit: bool = False  # the announced limit of changes is larger than the true limit, which is secret

    def __repr__(self) -> str:
        return f"SolveReport({self.method}: {self.status}, {self.n_primary:,} primary, {self.n_secondary:,} secondary)"

    @property
    def gap(self) -> float | None:
        """(cost − bound) / cost, None without a bound."""
        if self.bound is None:
            return None
        return max(0.0, (self.cost - self.bound) / self.cost) if self.cost > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "gap": self.gap}


@dataclass(frozen=True, eq=False, repr=False)
class Protection:
    """For each cell the decision, the published value (NaN if suppressed) and the interval that readers learn.

    A cell published exactly, with the value v, has the interval [v, v]; an adjusted one the interval that its value stands for,
    e.g. [v − r, v + r]; a suppressed one the interval that is published instead, and [−∞, ∞] if there is none.
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
                raise TableError(
                    f"The protection's column {name!r} does not have one entry per cell. Give one for each."
                )
            object.__setattr__(self, name, read_only(getattr(self, name)))
        # The audit uses the intervals and readers see the values, so the two must agree.
        exactly = (self.lower == self.published) & (self.upper == self.published)
        inside = (self.lower <= self.published) & (self.published <= self.upper)
        inside_finite = inside & np.isfinite(self.lower) & np.isfinite(self.upper)
        agrees = np.where(
            self.suppressed,
            np.isnan(self.published),
            np.where(self.decision == Decision.ADJUSTED, inside_finite, exactly),
        )
        if not agrees.all():
            labels = self.problem.table.labels(np.flatnonzero(~agrees))
            raise TableError(
                f"The published values of {len(labels)} cells contradict their intervals, e.g. {some(labels)}. "
                "Publish NaN for suppressed cells, and values within the intervals of others.",
                labels,
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
    def has_interval(self) -> BoolArray:
        """Which suppressed cells are published as intervals, with at least one finite end."""
        return np.asarray(self.suppressed & (np.isfinite(self.lower) | np.isfinite(self.upper)))

    @property
    def only_suppresses(self) -> bool:
        """Whether every cell is published with its value or suppressed without an interval."""
        return not np.any(self.has_interval | (self.decision == Decision.ADJUSTED))

    @cached_property
    def listed(self) -> Protection:
        """The protection without cells behind linked tables, which are not part of a release; other cells keep their indices."""
        n = self.problem.table.n_listed
        if n == len(self.problem):
            return self
        columns = (self.decision[:n], self.published[:n], self.lower[:n], self.upper[:n])
        return Protection(self.problem.listed, *columns, report=self.report)

    @cached_property
    def digest(self) -> str:
        h = hashlib.sha256(self.problem.digest.encode())
        for array in (self.decision, self.published, self.lower, self.upper):
            h.update(np.ascontiguousarray(array).tobytes())
        return h.hexdigest()


def suppress(problem: Problem, suppressed: BoolArray, *, method: str = MANUAL, **report: Any) -> Protection:
    """The protection that suppresses the given cells without intervals and publishes the values of the others.

    The pattern may publish primary cells: the audit then finds them exposed.
    ``report`` holds fields of the :class:`SolveReport`: status, bound, seconds, solver, seed, work.
    """
    suppressed = np.asarray(suppressed, dtype=bool)
    value = problem.table.value
    return publish_intervals(
        problem,
        published=np.where(suppressed, np.nan, value),
        lower=np.where(suppressed, -np.inf, value),
        upper=np.where(suppressed, np.inf, value),
        cost=float(problem.cost[suppressed].sum()),
        method=method,
        **report,
    )


def publish_intervals(
    problem: Problem,
    published: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    cost: float,
    method: str = MANUAL,
    **report: Any,
) -> Protection:
    """The protection that publishes these values, NaN for suppressed cells, and these intervals.

    Other cells are published exactly if the value and both ends of the interval are the true value, and adjusted otherwise.
    Every interval must contain the true value. The published value of a cell with the status ``published`` is the true one, but
    it may have an interval: readers cannot distinguish a true zero from a cell that is rounded to zero.
    """
    value = problem.table.value
    published, lower, upper = (np.array(column, dtype=np.float64) for column in (published, lower, upper))
    suppressed = np.isnan(published)
    exactly = (lower == value) & (upper == value) & (published == value)
    decision = np.where(problem.status == Status.PRIMARY, Decision.PRIMARY, Decision.SECONDARY)
    decision = np.where(suppressed, decision, np.where(exactly, Decision.PUBLISHED, Decision.ADJUSTED)).astype(np.int8)
    for wrong, fault in (
        ((problem.status == Status.SUPPRESSED) & ~suppressed, "that must be suppressed are published"),
        ((problem.status == Status.PUBLISHED) & suppressed, "that must be published are suppressed"),
        ((problem.status == Status.PUBLISHED) & (published != value), "that must keep their values get other values"),
        (~((lower <= value) & (value <= upper)), "lie outside their published intervals"),
    ):
        if wrong.any():
            labels = problem.table.labels(np.flatnonzero(wrong))
            raise TableError(
                f"{len(labels)} cells {fault}, e.g. {labels[0]!r}. Change what is published, or the statuses.", labels
            )
    return Protection(
        problem,
        decision,
        published,
        lower,
        upper,
        report=SolveReport(
            method=method,
            cost=cost,
            n_primary=int((decision == Decision.PRIMARY).sum()),
            n_secondary=int((decision[: problem.table.n_listed] == Decision.SECONDARY).sum()),
            n_adjusted=int((decision == Decision.ADJUSTED).sum()),
            problem=problem.digest,
            **{"status": "heuristic", "bound": None, "seconds": 0.0} | report,
        ),
    )
