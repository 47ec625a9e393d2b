"""The exact interval of every protected cell, for every attacker, and whether it is wide enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from discreet.attackers import Attacker
from discreet.audit import tolerances
from discreet.audit.congruent import CongruentTables, Push, components, endless
from discreet.audit.propagate import propagate
from discreet.errors import InputError, TableError, some
from discreet.problem import BoolArray, Problem, Status
from discreet.progress import Progress, Silent
from discreet.protection import Protection
from discreet.relations import FloatArray
from discreet.table import digits_of


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Per attacker and protected cell: the interval that can be inferred, and the verdict.

    With ``exact`` the bounds are the tightest that can be inferred; otherwise they are attained values,
    gone after only as far as the verdict needs.
    """

    problem: Problem
    protection: str  # digest of what was audited
    attackers: tuple[str, ...]
    knowledge: tuple[str, ...]  # digests of what each attacker knows beforehand
    attacker: NDArray[np.int64]
    cell: NDArray[np.int64]
    lower: FloatArray
    upper: FloatArray
    safe: BoolArray
    exact: bool

    def __repr__(self) -> str:
        verdict = "safe" if self.passed else f"{len(self.exposed):,} of {len(self.cell):,} cells exposed"
        return f"Audit({len(self.attackers)} attacker(s), {verdict})"

    @property
    def passed(self) -> bool:
        return bool(self.safe.all())

    @property
    def exposed(self) -> list[str]:
        """Labels of cells that can be inferred too closely."""
        return self.problem.table.labels(np.unique(self.cell[~self.safe]))

    @cached_property
    def _row(self) -> dict[tuple[int, int], int]:
        return {(int(a), int(c)): row for row, (a, c) in enumerate(zip(self.attacker, self.cell, strict=True))}

    def interval(self, label: str | Sequence[str], attacker: str | None = None) -> tuple[float, float]:
        """What an attacker (the first, unless named) can infer about one audited cell."""
        who = 0 if attacker is None else self.attackers.index(attacker)
        cell = self.problem.table.index(label)
        if (who, cell) not in self._row:
            raise TableError(f"Cell {self.problem.table.label(cell)!r} was not audited; pass it in cells=.", [label])
        row = self._row[who, cell]
        return float(self.lower[row]), float(self.upper[row])

    def frame(self) -> pd.DataFrame:
        """One row an audited cell. Confidential: it holds true values and protection levels."""
        p, c = self.problem, self.cell
        value = p.table.value[c]
        columns = {
            "cell": p.table.labels(c),
            "value": value,
            "lower": self.lower,
            "upper": self.upper,
            "required_lower": value - p.lower[c],
            "required_upper": value + p.upper[c],
            "safe": self.safe,
        }
        if len(self.attackers) > 1:
            columns["attacker"] = np.array(self.attackers, dtype=object)[self.attacker]
        return pd.DataFrame(columns)


def audit(
    problem: Problem,
    protection: Protection,
    *,
    attackers: Sequence[Attacker] | None = None,
    cells: Sequence[int] | NDArray[np.integer] | None = None,
    intervals: bool = True,
    progress: Progress | None = None,
) -> Audit:
    """Audit what would be published.

    ``cells`` defaults to all primary cells. With ``intervals=False`` only the verdict is worked out, which is faster.
    """
    progress = progress or Silent()
    if protection.problem.digest != problem.digest:
        raise TableError("The protection belongs to another problem. Audit it with the problem it was made for.")
    value = problem.table.value
    noise = tolerances.CERTAIN * np.maximum(problem.table.magnitude, 1e-300)
    lies = np.flatnonzero((protection.lower > value + noise) | (protection.upper < value - noise))
    if len(lies):
        labels = problem.table.labels(lies)
        raise TableError(
            f"{len(labels)} cells are published as intervals without the true value: {some(labels)}.", labels
        )
    targets = problem.primaries if cells is None else np.asarray(cells, dtype=np.int64)
    against = tuple(problem.attackers() if attackers is None else attackers)
    if not against:
        raise InputError("An audit needs at least one attacker.")
    progress.stage("audit", 2 * len(targets) * len(against))
    parts = [_against(problem, protection, who, targets, intervals, progress) for who in against]
    lower, upper, safe = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Audit(
        problem=problem,
        protection=protection.digest,
        attackers=tuple(who.name for who in against),
        knowledge=tuple(who.digest for who in against),
        attacker=np.repeat(np.arange(len(against)), len(targets)),
        cell=np.tile(targets, len(against)),
        lower=lower,
        upper=upper,
        safe=safe,
        exact=intervals,
    )


def _against(
    problem: Problem,
    protection: Protection,
    attacker: Attacker,
    targets: NDArray[np.int64],
    intervals: bool,
    progress: Progress,
) -> tuple[FloatArray, FloatArray, BoolArray]:
    value = problem.table.value
    low = np.minimum(np.maximum(protection.lower, attacker.lower) - value, 0.0)
    high = np.maximum(np.minimum(protection.upper, attacker.upper) - value, 0.0)
    uncertain = high - low > tolerances.CERTAIN * np.maximum(problem.table.magnitude, 1e-300)
    down, up = np.zeros(len(value)), np.zeros(len(value))  # how far each cell is known to move; never too far
    is_target = np.zeros(len(value), dtype=bool)
    is_target[targets] = True
    done = 2 * int((~uncertain[targets]).sum())
    for cells, relations in components(problem.table.relations, uncertain):
        mine = np.flatnonzero(is_target[cells])
        if len(mine):
            found = _explore(problem, cells, relations, low[cells], high[cells], mine, intervals)
            down[cells], up[cells] = found
            done += 2 * len(mine)
            progress.update(done)
    reach_down, reach_up = down[targets], up[targets]
    safe = (
        _reaches(reach_down, problem.lower[targets])
        & _reaches(reach_up, problem.upper[targets])
        & _reaches(reach_down + reach_up, problem.sliding[targets])
        # A primary whose value is simply told is exposed, however little protection it asked for.
        & ~((protection.lower == protection.upper) & (problem.status == Status.PRIMARY))[targets]
    )
    return _tidy(value[targets] - reach_down, value), _tidy(value[targets] + reach_up, value), safe


def _tidy(bound: FloatArray, value: FloatArray) -> FloatArray:
    """Bounds a hair from a number as round as the table's own are that number: 1262, not 1261.9999999928."""
    digits = digits_of(value)
    if digits is None:
        return bound
    near = np.round(bound, digits)
    with np.errstate(invalid="ignore"):  # infinite bounds stay what they are
        return np.where(np.abs(near - bound) <= 1e-9 * np.maximum(np.abs(bound), 1.0), near, bound)


def _reaches(reach: FloatArray, level: FloatArray) -> BoolArray:
    return reach >= level * (1 - tolerances.REACH)


def _explore(
    problem: Problem,
    cells: NDArray[np.int64],
    relations: sparse.csr_array,
    low: FloatArray,
    high: FloatArray,
    targets: NDArray[np.int64],
    intervals: bool,
) -> FloatArray:
    """How far, down and up, the cells of one component are shown to move; for targets as far as they can.

    Each congruent table met on the way shows how far all other cells move, too.
    """
    low, high = propagate(relations, low, high)
    edge = np.stack([-low, high])  # nothing moves farther than this
    level = np.stack([problem.lower[cells], problem.upper[cells]])
    sliding = problem.sliding[cells]
    reach = np.zeros((2, len(cells)))
    reach[:, targets] = np.where(endless(relations, low, high, targets), np.inf, 0.0)
    needed = np.maximum(level.max(axis=0), sliding / 2)[targets]
    tables = CongruentTables(relations, low, high, _typical(needed, low, high))

    def settled(i: int, side: int) -> bool:
        if reach[side, i] >= edge[side, i] * (1 - tolerances.REACH):
            return True
        if intervals:
            return False
        lost = np.any(edge[:, i] < level[:, i] * (1 - 2 * tolerances.REACH)) or edge[:, i].sum() < sliding[i] * (
            1 - 2 * tolerances.REACH
        )
        enough = _reaches(reach[side, i], level[side, i]) and _reaches(reach[:, i].sum(), sliding[i])
        return bool(lost or enough)

    for i in targets[np.argsort(-needed, kind="stable")].tolist():
        for side, sign in enumerate((-1, 1)):
            if settled(i, side):
                continue
            push = tables.push(i, sign)
            _credit(reach, push)
            stake = max(level[side, i], sliding[i] / 2)
            if push.residual > tolerances.RESIDUAL * stake and (stake > 0 or np.isinf(push.residual)):
                for unit, room in _ladder(stake, edge[side, i]):
                    near = np.maximum(low, -room), np.minimum(high, room)
                    _credit(reach, CongruentTables(relations, *near, unit).push(i, sign))
    return reach


def _credit(reach: FloatArray, push: Push) -> None:
    """Credit every cell with its move, if that dwarfs the numerical error of the table showing it."""
    move = np.where(np.abs(push.difference) * tolerances.RESIDUAL >= push.residual, push.difference, 0.0)
    np.maximum(reach[0], -move, out=reach[0])
    np.maximum(reach[1], move, out=reach[1])


def _ladder(stake: float, edge: float) -> Iterator[tuple[float, float]]:
    """Units to try again in, and how far cells may move: moves far larger than what is at stake blur it."""
    if 0 < edge < np.inf:
        yield edge, np.inf
    if stake > 0:
        yield from ((stake, np.inf), (stake, 1e9 * stake), (stake, 1e6 * stake))


def _typical(needed: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """The unit of a program: the usual level, or where there are none the usual room."""
    sizes = needed if np.any(needed > 0) else np.concatenate([-low, high])
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(sizes)) if len(sizes) else 1.0
