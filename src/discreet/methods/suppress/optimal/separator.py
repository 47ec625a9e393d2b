"""One attacker's side: how much a pattern, maybe a fractional one, lets a cell move, and what stops it."""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.max_flow import Network, network
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.core.cuts import Cut
from discreet.methods.core.deviations import NEGLIGIBLE, Pulls, PullsOf, ReachProgram, limits_by_cell
from discreet.methods.core.requirements import Requirement, requirements
from discreet.methods.suppress.optimal.cuts import LEAST, capacity_cut, cover_cut
from discreet.problem import Problem, Status

NOISE = 1e-9  # of a multiplier
VIOLATED = 1e-3  # cuts that are missed by less are not worth a row


class PatternSeparator:
    """The programs of one attacker over all cells that may be suppressed, and the cuts that follow from them."""

    def __init__(self, problem: Problem, attacker: Attacker) -> None:
        value = problem.table.value
        self.slack = np.stack([np.maximum(value - attacker.lower, 0.0), np.maximum(attacker.upper - value, 0.0)])
        self.free = problem.status == Status.FREE
        self.forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        self.slack[:, problem.status == Status.PUBLISHED] = 0.0
        # Levels of free cells hold only once such a cell is suppressed.
        protected = np.flatnonzero(np.isin(problem.status, (Status.PRIMARY, Status.FREE)))
        levels = problem.levels(attacker)[:, protected] * (1 - LEVEL_TOLERANCE)
        self.requirements = requirements(levels, protected.tolist())
        self._required = np.array([one.cell for one in self.requirements], dtype=np.int64)
        self._rng = np.random.default_rng(0)
        self._over(problem.table.relations)

    def _over(self, relations: sparse.csr_array) -> None:
        """Set up the programs over these relations, and over the cells in them that can move."""
        inside = np.zeros(self.slack.shape[1], dtype=bool)
        inside[relations.indices] = True
        self.cells = np.flatnonzero(inside & self.slack.any(axis=0))
        relations = sparse.csr_array(relations[:, self.cells])
        self.relations = sparse.csr_array(relations[np.diff(relations.indptr) > 0])
        self._pulls = PullsOf(self.relations)
        self.net = network(self.relations)
        if self.net is not None:
            ends = np.concatenate([self.net.tail, self.net.head])
            order = np.argsort(ends, kind="stable")
            self._arcs = order % len(self.cells)
            self._first = np.searchsorted(ends[order], np.arange(self.net.nodes + 1))
        self._view: ReachProgram | None = None
        self._flow: dict[tuple[int, int], tuple[IntArray, FloatArray]] = {}

    def concerns(self, relations: sparse.csr_array) -> bool:
        """Whether there is a requirement for a cell of these relations."""
        return bool(np.isin(self._required, relations.indices).any())

    def within(self, relations: sparse.csr_array) -> PatternSeparator:
        """The same attack by somebody who knows only some of the relations: what stops him stops everybody."""
        other = copy(self)
        other._over(relations)
        inside = set(relations.indices.tolist())
        other.requirements = [one for one in self.requirements if one.cell in inside]
        return other

    def place(self, cell: int) -> int:
        """Where a cell is in ``cells``; −1 if it cannot move."""
        at = int(np.searchsorted(self.cells, cell))
        return at if at < len(self.cells) and self.cells[at] == cell else -1

    def can_move(self, cell: int) -> bool:
        at = self.place(cell)
        return at >= 0 and not (self.net is not None and self.net.pinned[at])

    def cuts(self, x: FloatArray, asked: list[Requirement]) -> tuple[list[Cut], list[Requirement]]:
        """Cuts that the pattern misses, and the requirements they are for."""
        asked = [requirement for requirement in asked if x[requirement.cell] > VIOLATED]
        stuck = [requirement for requirement in asked if not self.can_move(requirement.cell)]
        asked = [requirement for requirement in asked if self.can_move(requirement.cell)]
        if self.net is not None:
            cuts, violated = self._network_cuts(self.net, x, asked)
        else:
            self._view = None
            found = [(some, requirement) for requirement in asked if (some := self._cuts(x, requirement))]
            cuts, violated = [cut for some, _ in found for cut in some], [requirement for _, requirement in found]
        for requirement in stuck:  # nothing helps, except not to suppress it where that is possible
            cut = capacity_cut(np.zeros(0, np.int64), np.zeros(0), self.free, self.forced, requirement.cell)
            cuts += [] if cut is None else [cut]
        return cuts, violated + stuck

    def plain_cuts(self) -> list[Cut]:
        """What each relation by itself says about the cells in it."""
        columns = self.relations.tocsc()
        x, found = self.forced.astype(float), []
        for one in self.requirements:
            place = self.place(one.cell)
            if place < 0:
                continue
            for k in range(columns.indptr[place], columns.indptr[place + 1]):
                r, own = columns.indices[k], columns.data[k]
                others = slice(self.relations.indptr[r], self.relations.indptr[r + 1])
                at, pull = self.relations.indices[others], -self.relations.data[others] / own
                cells, pull = self.cells[at[at != place]], pull[at != place]
                weight = np.zeros(len(cells))
                for side in one.sides:
                    up, down = (UP, DOWN) if side == UP else (DOWN, UP)
                    weight += np.abs(pull) * np.where(pull > 0, self.slack[up, cells], self.slack[down, cells])
                if not self.free[one.cell]:
                    found += self._following(x, one, cells, weight / one.level)
        return found

    def _cuts(self, x: FloatArray, requirement: Requirement) -> list[Cut]:
        """Cuts that the pattern misses because it does not let the cell move far enough.

        First as if no cell need move by more than the level: not always true except in networks, but what stops such flows
        makes better cuts. Where these do not suffice, cells may move as far as they can.
        """
        if self._still_flows(x, requirement):
            return []
        for most in (1.0, np.inf):
            # Cells that the pattern does not suppress at all do not deviate.
            self._view = self._view or ReachProgram(self.relations, np.flatnonzero(x[self.cells] > 0))
            reach, places, weight = self._push(self._view, x, requirement, most)
            if reach >= x[requirement.cell] * (1 - LEAST):
                return []
            cuts = self._following(x, requirement, self.cells[places], weight)
            if cuts:
                return cuts
        return []

    def _following(self, x: FloatArray, requirement: Requirement, cells: IntArray, weight: FloatArray) -> list[Cut]:
        """The cuts that follow from what these cells add, if the pattern misses one by enough.

        One that leaves out some of the cells is often missed by more, but rules out fewer patterns without fractions.
        """
        cut = capacity_cut(cells, weight, self.free, self.forced, requirement.cell)
        if cut is None:
            return []
        cover = cover_cut(cut, x)
        both = [cut] if cover is None or cover.shortfall(x) <= cut.shortfall(x) else [cover, cut]
        both = both if both[0].shortfall(x) > VIOLATED * x[requirement.cell] else []
        return [one for one in both if one.shortfall(x) > LEAST]

    def _network_cuts(
        self, net: Network, x: FloatArray, asked: list[Requirement]
    ) -> tuple[list[Cut], list[Requirement]]:
        """The same where relations are nodes of a network and cells its arcs: nodes that a flow gets to make a cut."""
        far, _ = self._stops_in(net, x, asked)
        violated = [one for one, reach in zip(asked, far, strict=True) if reach < x[one.cell] * (1 - LEAST)]
        some = violated if len(violated) <= MANY else [violated[i] for i in self._rng.permutation(len(violated))[:MANY]]
        # Of cuts that are missed by the same, one of few cells is worth more. Where cells that are not suppressed take part a
        # little, flows are stopped where such cells are few.
        thin = np.where(self.free, np.minimum(x + THIN, 1.0), x)
        cuts = []
        for share in (thin, x) if len(self.cells) <= WIDE else (x,):
            _, reached = self._stops_in(net, share, some)
            found = [self._cuts_at(net, x, one, nodes) for one, nodes in zip(some, reached, strict=True)]
            cuts += [cut for both in found for cut in both]
            some = [one for one, both in zip(some, found, strict=True) if not both]
        cuts.sort(key=lambda cut: len(cut.columns))
        total = np.cumsum([len(cut.columns) for cut in cuts])
        return cuts[: max(int(np.searchsorted(total, HEAVY)), LIGHT)], violated

    def _cuts_at(self, net: Network, x: FloatArray, requirement: Requirement, reached: BoolArray) -> list[Cut]:
        """The cuts between the nodes that flows get to and all others; one row of nodes a side."""
        if not reached.any(axis=1).all():
            return []
        sides = zip(reached, requirement.sides, strict=True)
        crossing = [self._crossing(net, nodes, requirement, side) for nodes, side in sides]
        cells = np.unique(np.concatenate([cells for cells, _ in crossing]))
        weight = np.zeros(len(cells))
        for some_cells, some_weight in crossing:
            weight[np.searchsorted(cells, some_cells)] += some_weight
        return self._following(x, requirement, cells, weight)

    def _stops_in(
        self, net: Network, share: FloatArray, asked: list[Requirement]
    ) -> tuple[list[float], list[BoolArray]]:
        """How far cells move, and the nodes that flows get to, one row a side."""
        from discreet.methods.suppress.optimal.network_kernel import stops

        chosen = share[self.cells] > 0
        at = np.flatnonzero(chosen & ~net.pinned)
        place = np.full(len(share), -1)
        place[self.cells[at]] = np.arange(len(at))
        slack = np.ascontiguousarray(self.slack[:, self.cells[at]])
        far_all, reached_all = [], []
        for begin in range(0, len(asked), MANY):
            some = asked[begin : begin + MANY]
            single = [(place[one.cell], side, one.level) for one in some for side in one.sides]
            arcs, sides, levels = (np.array(part) for part in zip(*single, strict=True))
            far, reached = stops(
                net.tail[at], net.head[at], net.nodes, slack, share[self.cells[at]], arcs, sides, levels
            )
            k = 0
            for one in some:
                far_all.append(float(far[k : k + len(one.sides)].sum()))
                reached_all.append(reached[k : k + len(one.sides)])
                k += len(one.sides)
        return far_all, reached_all

    def _crossing(
        self, net: Network, reached: BoolArray, requirement: Requirement, side: int
    ) -> tuple[IntArray, FloatArray]:
        """Cells that could lead farther from the nodes reached, and what they would add."""
        own = requirement.cell
        if reached[net.tail[self.place(own)]] and reached[net.head[self.place(own)]]:  # it is stopped by its own slack
            return np.array([own]), self.slack[side, [own]] / requirement.level
        few = np.flatnonzero(reached if 2 * reached.sum() <= len(reached) else ~reached)
        arcs = np.concatenate([self._arcs[self._first[node] : self._first[node + 1]] for node in few.tolist()])
        out, into = reached[net.tail[arcs]], reached[net.head[arcs]]
        cells = self.cells[arcs]
        leads = (out != into) & (cells != own) & ~net.pinned[arcs]
        cells, out = cells[leads], out[leads]
        weight = np.where(out, self.slack[UP, cells], self.slack[DOWN, cells]) / requirement.level
        order = np.argsort(cells)
        return cells[order], weight[order]

    def _push(
        self, view: ReachProgram, share: FloatArray, requirement: Requirement, most: float
    ) -> tuple[float, IntArray, FloatArray]:
        """How far the cell can deviate, as a share of the level, and what other cells (by place) would add if suppressed."""
        cell, level = requirement.cell, requirement.level
        cells, place = self.cells[view.cells], self.place(requirement.cell)
        view.limit(np.minimum(self.slack[:, cells] / level, min(most, AMPLE)) * share[cells])
        reach, pulls = 0.0, []
        for side in requirement.sides:
            solution = view.push(place, side)
            if not solution.optimal:
                return np.inf, np.zeros(0, np.int64), np.zeros(0)
            reach += float(solution.objective)
            if self.forced[cell] and len(requirement.sides) == 1 and reach >= 1 - LEAST:
                self._flow[cell, side] = self._shares(cells, solution.primal * level)
            pulls.append(self._limited(self._pulls(view.rows, solution.row_dual, place, side)))
        return reach, *limits_by_cell(pulls, self.slack[:, self.cells] / level)

    def _limited(self, pulls: Pulls) -> Pulls:
        """Without rounding errors on cells with unlimited slack, where they would be everything."""
        unlimited = np.isinf(self.slack[:, self.cells[pulls.cells]]).any(axis=0)
        kept = ~unlimited | (np.abs(pulls.weight) >= NEGLIGIBLE)
        return Pulls(pulls.cells[kept], pulls.weight[kept])

    def _shares(self, cells: IntArray, move: FloatArray) -> tuple[IntArray, FloatArray]:
        """Which cells move, and which share of their slack they take."""
        slack = np.where(move > 0, self.slack[UP, cells], self.slack[DOWN, cells])
        moving = np.flatnonzero((np.abs(move) > NOISE * np.minimum(slack, np.abs(move).max())) & (slack > 0))
        return cells[moving], np.abs(move[moving]) / slack[moving]

    def _still_flows(self, x: FloatArray, requirement: Requirement) -> bool:
        """Whether the way the cell moved last time is still open."""
        key = requirement.cell, requirement.sides[0]
        if len(requirement.sides) > 1 or key not in self._flow:
            return False
        cells, share = self._flow[key]
        return bool(np.all(share <= x[cells] * (1 + LEAST)))


MANY = 1000  # requirements at a time
HEAVY = 1_000_000  # cells in all cuts found at a time; but so many cuts at least:
LIGHT = 20
WIDE = 50_000  # arcs: too many to look for cuts with few cells among them all
THIN = 1e-5  # of a cell that is not suppressed takes part: among cuts missed by the same, those of few cells are found
AMPLE = 1e6  # this many levels of slack are as good as endless
