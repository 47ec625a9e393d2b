"""Boxes: the corners of a box in one table change by the same amount, alternately up and down, so that all sums are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.inference.deviations import Deviation
from discreet.inference.max_flow import network
from discreet.inference.subtables import Subtable, subtables

MAX_PLACES_PER_CELL = 100  # in a sparser grid the breakdowns are not dimensions but several groupings of the same cells
MIN_CELLS_FOR_BOXES = 2_000  # that may deviate: in smaller systems linear programs are as fast
MIN_TARGETS_FOR_BOXES = 100
FIRST_ATTEMPTS = 50  # if less than a quarter of them succeed, the table has too few boxes
LEVEL_FACTOR = 1 + 1e-9  # a box moves a cell by slightly more than its level, so that rounding errors do not matter


class Boxes:
    """The cheapest boxes in the tables of a system of relations.

    A corner must have all its relations in the table of the box: then no other table changes.
    """

    def __init__(self, relations: sparse.csr_array, tables: Sequence[Subtable]) -> None:
        self._columns = sparse.csc_array(relations)
        n_relations = np.diff(self._columns.indptr)
        self._grids: list[_Grid] = []
        self._home = np.full(relations.shape[1], -1)  # the grid that has all relations of a cell
        for table in tables:
            cells, n_inside = np.unique(relations[table.rows].indices, return_counts=True)
            closed = cells[n_inside == n_relations[cells]]
            self._home[closed] = len(self._grids)
            self._grids.append(_Grid(table, np.isin(table.cells, closed)))

    def around(self, p: int, levels: tuple[float, float], price: FloatArray, slack: FloatArray) -> Deviation | None:
        """The cheapest box with a corner ``p`` that can change by these levels down and up; None if there is none."""
        if self._home[p] < 0:
            return None
        grid = self._grids[self._home[p]]
        down, up = levels[0] * LEVEL_FACTOR, levels[1] * LEVEL_FACTOR
        here = slack[:, grid.cells]
        can_follow = grid.closed & (here[UP] >= up) & (here[DOWN] >= down)
        can_oppose = grid.closed & (here[DOWN] >= up) & (here[UP] >= down)
        along = np.where(can_follow, price[grid.cells], np.inf)
        opposed = np.where(can_oppose, price[grid.cells], np.inf)
        found = grid.cheapest(p, along, opposed)
        if found is None:
            return None
        cells, sign = found
        if np.any(self._columns[:, cells] @ sign):
            return None
        return Deviation(cells, sign * max(down, up))


@dataclass(eq=False)
class BoxedTargets:
    """How far targets can deviate by boxes alone, down and up; ``shown``: the numbers of the boxes that prove it, or -1."""

    reach: FloatArray
    shown: IntArray
    boxes: list[Deviation]


def boxes_pay(relations: sparse.csr_array, low: FloatArray, high: FloatArray, n_targets: int) -> bool:
    """Whether boxes are worth trying before linear programs: in large systems that are not networks."""
    uncertain = np.flatnonzero(low < high)
    if n_targets < MIN_TARGETS_FOR_BOXES or len(uncertain) < MIN_CELLS_FOR_BOXES:
        return False
    return network(relations[:, uncertain]) is None


def reach_by_boxes(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, targets: IntArray, required: FloatArray
) -> BoxedTargets:
    """Search a box for each target that needs one; ``required`` are the lower, upper and sliding levels of the targets.

    All corners change by the same amount, so a box is exactly congruent if all weights are integers.
    """
    n = len(targets)
    found = BoxedTargets(np.zeros((2, n)), np.full((2, n), -1), [])
    if not np.array_equal(relations.data, np.rint(relations.data)):
        return found
    boxes, slack = Boxes(relations, subtables(relations)), np.stack([-low, high])
    at = np.full(relations.shape[1], -1)
    at[targets] = np.arange(n)
    lower, upper, sliding = required
    price, succeeded = np.ones(len(low)), 0
    price[targets] = 0.0  # boxes with many targets settle many
    order = np.argsort(-required.max(axis=0), kind="stable").tolist()
    for attempt, k in enumerate(order):
        if attempt == FIRST_ATTEMPTS and 4 * succeeded < attempt:
            break
        down, up = found.reach[:, k]
        if down >= lower[k] and up >= upper[k] and down + up >= sliding[k]:
            succeeded += 1
            continue
        box = boxes.around(int(targets[k]), (lower[k], max(upper[k], sliding[k] - lower[k])), price, slack)
        if box is not None:
            succeeded += 1
            _credit(found, box, at, slack)
    return found


def _credit(found: BoxedTargets, box: Deviation, at: IntArray, slack: FloatArray) -> None:
    """Update the reach of the targets in a box by its largest multiples in both directions."""
    along = box.amount > 0
    largest = {
        side: float(np.where(along, slack[side, box.cells], slack[1 - side, box.cells]).min()) for side in (DOWN, UP)
    }
    target = at[box.cells]
    for side in (DOWN, UP):
        reach = np.where(along, largest[side], largest[1 - side])
        better = np.flatnonzero((target >= 0) & (reach > found.reach[side, target]))
        found.reach[side, target[better]] = reach[better]
        found.shown[side, target[better]] = len(found.boxes)
    found.boxes.append(box)


class _Grid:
    """The cells of a table by position."""

    def __init__(self, table: Subtable, closed: BoolArray) -> None:
        self.cells, self.closed = table.cells, closed
        self._at = table.at
        self._shape = tuple((table.at.max(axis=1) + 1).tolist())

    @cached_property
    def _place(self) -> IntArray | None:
        """Per position the number of the cell in ``cells``, or that of the entry after the last; None if most are empty."""
        if np.prod(self._shape, dtype=float) > MAX_PLACES_PER_CELL * len(self.cells):
            return None
        place = np.full(self._shape, len(self.cells))
        place[tuple(self._at)] = np.arange(len(self.cells))
        return place

    def cheapest(self, p: int, along: FloatArray, opposed: FloatArray) -> tuple[IntArray, FloatArray] | None:
        """The corners of the cheapest box around ``p`` and their signs, given what each cell costs if it changes like ``p``, or
        in the opposite direction. None if there is no box.
        """
        if self._place is None:
            return None
        x = self._at[:, np.searchsorted(self.cells, p)].tolist()
        like, unlike = np.append(along, np.inf)[self._place], np.append(opposed, np.inf)[self._place]
        # Sums over corners, one dimension after the other: the corner at ``p`` and the other one, at all positions.
        for d, at in enumerate(x):
            here = tuple(slice(at, at + 1) if k == d else slice(None) for k in range(len(x)))
            # A total changes like its parts, and one part of it opposite to another.
            same = np.full(self._shape[d], at == 0)
            same[0] = True
            same = same.reshape([-1 if k == d else 1 for k in range(len(x))])
            like, unlike = (
                like[here] + np.where(same, like, unlike),
                unlike[here] + np.where(same, unlike, like),
            )
        for d, at in enumerate(x):
            like[tuple(at if k == d else slice(None) for k in range(len(x)))] = np.inf
        y = np.unravel_index(int(np.argmin(like)), self._shape)
        if not np.isfinite(like[y]):
            return None
        corners = np.zeros((len(x), 1), dtype=np.int64)
        sign: FloatArray = np.ones(1)
        for d, at in enumerate(x):
            both = np.repeat(corners, 2, axis=1)
            both[d, ::2], both[d, 1::2] = at, y[d]
            corners = both
            sign = np.asarray(np.kron(sign, [1.0, 1.0 if at == 0 or y[d] == 0 else -1.0]), dtype=np.float64)
        return self.cells[self._place[tuple(corners)]], sign
