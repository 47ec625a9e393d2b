"""Which protection requirements a publication violates, and the multipliers that prove it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.inference.max_flow import joined
from discreet.methods.core.deviations import Pulls, PullsOf, ReachProgram
from discreet.methods.core.requirements import Requirement
from discreet.progress import Budget, OutOfTime

Point = TypeVar("Point")
PointOf = TypeVar("PointOf", contravariant=True)
AnyCut = TypeVar("AnyCut")
CutOf = TypeVar("CutOf", covariant=True)

SHORTFALL_TOLERANCE = 1e-8  # share of a level that may be missing: solvers are not more exact
UNLIMITED_SLACK = 1e6  # in levels: more slack than this is as good as unlimited, and is reduced to it
# Programs are in units of the median level, or of the level of the requirement if that differs by more than this factor.
MAX_LEVEL_RATIO = 1e3


@dataclass(frozen=True, eq=False)
class Violation:
    """A violated requirement: the share of its level that is missing, and per side the pulls (reduced costs) that prove it."""

    requirement: Requirement
    shortfall: float
    pulls: tuple[Pulls, ...]

    @property
    def missing(self) -> float:
        """The missing part of the level."""
        return self.shortfall * self.requirement.level


class Publication(Protocol[PointOf, CutOf]):
    """What a method publishes at a point: the slack that it leaves each cell, and cuts. Points solve the master program."""

    def slack(self, attacker: int, point: PointOf) -> FloatArray:
        """The slack of each cell for an attacker (by number): rows down and up."""

    def cut(self, attacker: int, point: PointOf, violation: Violation) -> CutOf:
        """The cut for a violation: pulls times slack add up to at least the level, with the slack replaced by its tangent.

        The slack is a concave function of the point, so every safe publication satisfies the cut.
        """


class Separator(Generic[Point, AnyCut]):
    """The linear programs of one attacker (by number), one for each set of cells that relations connect."""

    def __init__(self, publication: Publication[Point, AnyCut], attacker: int, relations: sparse.csr_array) -> None:
        self._publication, self._attacker, self._relations = publication, attacker, relations
        self._isolated = np.bincount(relations.indices, minlength=relations.shape[1]) == 0
        self._pulls = PullsOf(relations)

    def separate(
        self,
        point: Point,
        requirements: Sequence[Requirement],
        budget: Budget | None = None,
        capped: tuple[IntArray, FloatArray] | None = None,
    ) -> tuple[list[AnyCut], list[Violation]]:
        """The violated requirements and a cut for each; raises :class:`OutOfTime`."""
        violations = list(self.violations(point, requirements, budget, capped))
        return [self.cut(point, violation) for violation in violations], violations

    def cut(self, point: Point, violation: Violation) -> AnyCut:
        return self._publication.cut(self._attacker, point, violation)

    def violations(
        self,
        point: Point,
        requirements: Sequence[Requirement],
        budget: Budget | None = None,
        capped: tuple[IntArray, FloatArray] | None = None,
        min_shortfall: float = SHORTFALL_TOLERANCE,
    ) -> Iterator[Violation]:
        """The requirements of which a point lacks more than the share ``min_shortfall`` of the level; raises :class:`OutOfTime`.

        ``capped`` are cells whose slack counts only up to a share of the level in question: their indices, and an array with
        the share of every cell. This gives stronger cuts at fractional points.
        """
        if not requirements:
            return
        slack = self._publication.slack(self._attacker, point)
        by_cell: dict[int, list[Requirement]] = {}
        for requirement in requirements:
            by_cell.setdefault(requirement.cell, []).append(requirement)
        none = np.zeros(0, dtype=np.int64), np.zeros(0)  # as a proof: no multipliers of rows; as ``capped``: no cells
        for requirement in (each for cell in by_cell if self._isolated[cell] for each in by_cell[cell]):
            reach = float(sum(slack[side, requirement.cell] for side in requirement.sides))
            if 1 - reach / requirement.level > min_shortfall:
                yield self._violation(requirement, reach, [none] * len(requirement.sides))
        levels = np.array([requirement.level for requirement in requirements])
        slack = np.minimum(slack, UNLIMITED_SLACK * levels.max())
        required = np.zeros(slack.shape[1], dtype=bool)
        required[list(by_cell)] = True
        required &= ~self._isolated
        for cells, rows in components(self._relations, np.asarray(slack.any(axis=0)), required):
            reach_program = ReachProgram(self._relations, cells, rows)
            program = _Component(reach_program, slack[:, cells], float(np.median(levels)), capped or none)
            for cell in cells[required[cells]].tolist():
                if budget is not None and budget.over:
                    raise OutOfTime
                for requirement in by_cell[cell]:
                    reach, multipliers = program.reach(requirement)
                    if 1 - reach / requirement.level > min_shortfall:
                        yield self._violation(requirement, reach, [(rows, each) for each in multipliers])

    def _violation(
        self, requirement: Requirement, reach: float, proof: Sequence[tuple[IntArray, FloatArray]]
    ) -> Violation:
        pulls = (
            self._pulls(rows, multipliers, requirement.cell, side)
            for side, (rows, multipliers) in zip(requirement.sides, proof, strict=True)
        )
        return Violation(requirement, 1 - reach / requirement.level, tuple(pulls))


class _Component:
    """The program of cells that relations connect, in units of a level; ``capped`` is as in :meth:`Separator.violations`."""

    def __init__(
        self, program: ReachProgram, slack: FloatArray, unit: float, capped: tuple[IntArray, FloatArray]
    ) -> None:
        self._program, self._slack, self._unit = program, slack, unit
        self._capped = np.flatnonzero(np.isin(program.cells, capped[0]))
        self._share = capped[1][program.cells[self._capped]]
        program.limit(slack / unit)

    def reach(self, requirement: Requirement) -> tuple[float, list[FloatArray]]:
        """How far the cell can deviate, added up over the sides of the requirement; per side the multipliers that prove it."""
        if not self._unit / MAX_LEVEL_RATIO <= requirement.level <= self._unit * MAX_LEVEL_RATIO:
            self._unit = requirement.level
            self._program.limit(np.minimum(self._slack / self._unit, UNLIMITED_SLACK))
        if len(self._capped):
            most = np.minimum(self._slack[:, self._capped], self._share * requirement.level)
            self._program.limit(most / self._unit, self._capped)
        reach, multipliers = 0.0, []
        for side in requirement.sides:
            solution = self._program.push(requirement.cell, side)
            if not solution.optimal:
                raise ArithmeticError(f"The solver could not solve an attacker's program: {solution.outcome.value}.")
            reach += solution.objective * self._unit
            multipliers.append(solution.row_dual)
        return reach, multipliers


def components(
    relations: sparse.csr_array, deviating: BoolArray, wanted: BoolArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """The connected components with a wanted cell: cells that can deviate, and the rows that connect them."""
    m, n = relations.shape
    if not m:
        return
    entries = relations.tocoo()
    kept = deviating[entries.col]
    count, label = joined(entries.row[kept], m + entries.col[kept], m + n)
    of_row, of_cell = label[:m], label[m:]
    chosen = np.zeros(count, dtype=bool)
    chosen[of_cell[wanted]] = True
    rows, cells = np.argsort(of_row, kind="stable"), np.argsort(of_cell, kind="stable")
    row_at = np.searchsorted(of_row[rows], np.arange(count + 1))
    cell_at = np.searchsorted(of_cell[cells], np.arange(count + 1))
    for k in np.flatnonzero(chosen).tolist():
        yield cells[cell_at[k] : cell_at[k + 1]], rows[row_at[k] : row_at[k + 1]]
