"""The deviations of a cell that a pattern, maybe a fractional one, leaves one attacker, and the cuts that limit them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.cut_proofs import CapacityProof
from discreet.inference.max_flow import Network, network, residual_edges_by_node
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.core.cuts import Cut
from discreet.methods.core.deviations import NEGLIGIBLE, Pulls, PullsOf, ReachProgram, limits_by_cell
from discreet.methods.core.requirements import Requirement, requirements
from discreet.methods.suppress.optimal.cuts import MIN_SHARE, MIN_VIOLATION, capacity_cut, cover_cut
from discreet.problem import Problem, Status

MIN_RELATIVE_DEVIATION = 1e-9  # share of its slack or of the largest deviation: smaller deviations are rounding errors
MAX_FLOWS_AT_ONCE = 1000  # requirements: memory is needed for the nodes reached by each flow
MAX_CUT_ENTRIES = 1_000_000  # cells in all cuts of a round: more make the master program slow
MIN_CUTS_PER_ROUND = 20  # even if they have more entries than that
MAX_ARCS_FOR_SHORT_CUTS = 50_000  # larger networks take too long for a second round of flows
PUBLISHED_SHARE = 1e-5  # of published cells in flows: of equally violated cuts, those with few cells are found then
UNLIMITED_LEVELS = 1e6  # slack of so many levels is treated as unlimited


Multipliers = list[tuple[IntArray, FloatArray]]  # per side of a requirement: relations, and the multiplier of each
NO_RELATIONS = np.zeros(0, dtype=np.int64), np.zeros(0)


class PatternSeparator:
    """The programs of one attacker over all cells that may be suppressed, and the cuts that follow from them.

    If ``proves``, each cut carries its proof, unless the proof is not found.
    """

    def __init__(self, problem: Problem, attacker: Attacker, *, proves: bool = False) -> None:
        self.attacker, self.proves = attacker, proves
        self.slack = problem.slack(attacker)
        self.free = problem.status == Status.FREE
        self.forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        self.slack[:, problem.status == Status.PUBLISHED] = 0.0
        # Levels of free cells are required only if the cell is suppressed.
        protected = np.flatnonzero(np.isin(problem.status, (Status.PRIMARY, Status.FREE)))
        levels = problem.levels(attacker)[:, protected] * (1 - LEVEL_TOLERANCE)
        self.requirements = requirements(levels, protected.tolist())
        self._rng = np.random.default_rng(0)
        self._relations = problem.table.relations
        self._over(np.arange(self._relations.shape[0]))

    def _over(self, rows: IntArray) -> None:
        """Set up the programs over these relations, and over the cells in them that can deviate."""
        relations = sparse.csr_array(self._relations[rows])
        inside = np.zeros(self.slack.shape[1], dtype=bool)
        inside[relations.indices] = True
        self.cells = np.flatnonzero(inside & self.slack.any(axis=0))
        relations = sparse.csr_array(relations[:, self.cells])
        used = np.diff(relations.indptr) > 0
        self.rows, self.relations = rows[used], sparse.csr_array(relations[used])
        self._pulls = PullsOf(self.relations)
        self.net = network(self.relations)
        if self.net is not None:
            edges, self._first = residual_edges_by_node(self.net.tail, self.net.head, self.net.nodes)
            self._arcs = edges % len(self.cells)
        self._nodes: tuple[IntArray, FloatArray] | None = None
        self._program: ReachProgram | None = None
        self._found: dict[tuple[int, int], tuple[IntArray, FloatArray]] = {}  # deviations that met a requirement

    def concerns(self, rows: IntArray) -> bool:
        """Whether there is a requirement for a cell of these relations."""
        return bool(np.isin([one.cell for one in self.requirements], self._relations[rows].indices).any())

    def within(self, rows: IntArray) -> PatternSeparator:
        """The same attacker with only some of the relations: cuts against a weaker attacker hold against the stronger."""
        other = copy(self)
        other._over(rows)
        inside = set(self._relations[rows].indices.tolist())
        other.requirements = [one for one in self.requirements if one.cell in inside]
        return other

    def place(self, cell: int) -> int:
        """The place of a cell in ``cells``; −1 if it cannot deviate."""
        at = int(np.searchsorted(self.cells, cell))
        return at if at < len(self.cells) and self.cells[at] == cell else -1

    def can_deviate(self, cell: int) -> bool:
        at = self.place(cell)
        return at >= 0 and not (self.net is not None and self.net.pinned[at])

    def cuts(self, x: FloatArray, required: list[Requirement]) -> tuple[list[Cut], list[Requirement]]:
        """Cuts that the pattern violates, and the requirements from which they follow."""
        required = [requirement for requirement in required if x[requirement.cell] > MIN_VIOLATION]
        pinned = [requirement for requirement in required if not self.can_deviate(requirement.cell)]
        required = [requirement for requirement in required if self.can_deviate(requirement.cell)]
        cuts, violated = ([], []) if self.net is None else self._network_cuts(self.net, x, required)
        if self.proves and any(cut.proof is None for cut in cuts):
            self.net = None
        if self.net is None:
            self._program = None
            cuts, violated = [], []
            for requirement in required:
                found = self._program_cuts(x, requirement)
                cuts += found
                violated += [requirement] if found else []
        for requirement in pinned:  # protected only by publishing the cell, if it is free
            cut = capacity_cut(np.zeros(0, np.int64), np.zeros(0), self.free, self.forced, requirement.cell)
            cuts += [] if cut is None else [cut]
        return cuts, violated + pinned

    def plain_cuts(self) -> list[Cut]:
        """The cuts of sensitive cells that follow from single relations."""
        columns = self.relations.tocsc()
        x, found = self.forced.astype(float), []
        for one in self.requirements:
            place = self.place(one.cell)
            if place < 0 or self.free[one.cell]:
                continue
            for k in range(columns.indptr[place], columns.indptr[place + 1]):
                row = slice(self.relations.indptr[columns.indices[k]], self.relations.indptr[columns.indices[k] + 1])
                at, pull = self.relations.indices[row], -self.relations.data[row] / columns.data[k]
                cells, pull = self.cells[at[at != place]], pull[at != place]
                limits = np.sum([Pulls(cells, SIGN[side] * pull).limits(self.slack) for side in one.sides], axis=0)
                row_of, weight = self.rows[columns.indices[[k]]], float(columns.data[k])
                multipliers = [(row_of, np.array([SIGN[side] / weight])) for side in one.sides]
                found += self._cuts_of(x, one, cells, limits / one.level, partial(list, multipliers))
        return found

    def _program_cuts(self, x: FloatArray, requirement: Requirement) -> list[Cut]:
        """Cuts that the pattern violates because it does not let the cell deviate far enough.

        First as if no cell need deviate by more than the level: that is always true only in networks, but the cuts are better.
        If there are none, cells may deviate within their slack.
        """
        if self._known_deviation(x, requirement):
            return []
        for largest in (1.0, np.inf):
            # Cells that the pattern does not suppress at all do not deviate.
            self._program = self._program or ReachProgram(self.relations, np.flatnonzero(x[self.cells] > 0))
            reach, (places, weight), multipliers = self._push(self._program, x, requirement, largest)
            if reach >= x[requirement.cell] * (1 - MIN_SHARE):
                return []
            cuts = self._cuts_of(x, requirement, self.cells[places], weight, partial(list, multipliers))
            if cuts:
                return cuts
        return []

    def _cuts_of(
        self,
        x: FloatArray,
        requirement: Requirement,
        cells: IntArray,
        weight: FloatArray,
        multipliers: Callable[[], Multipliers | None],
    ) -> list[Cut]:
        """The cuts that follow from the weights of these cells, if the pattern violates one by enough."""
        cut = capacity_cut(cells, weight, self.free, self.forced, requirement.cell)
        if cut is None:
            return []
        cover = cover_cut(cut, x)  # often violated by more, but excludes fewer integral patterns
        both = [cut] if cover is None or cover.shortfall(x) <= cut.shortfall(x) else [cover, cut]
        both = both if both[0].shortfall(x) > MIN_VIOLATION * x[requirement.cell] else []
        violated = [one for one in both if one.shortfall(x) > MIN_SHARE]
        used = multipliers() if self.proves and violated else None
        if used is None:
            return violated
        proof = CapacityProof(self.attacker.name, requirement.cell, requirement.sides, tuple(used))
        return [replace(one, proof=replace(proof, cover=one.columns if one is cover else None)) for one in violated]

    def _network_cuts(
        self, net: Network, x: FloatArray, required: list[Requirement]
    ) -> tuple[list[Cut], list[Requirement]]:
        """The same if relations are nodes of a network and cells its arcs: the nodes that a largest flow reaches make a cut."""
        reach, _ = self._flows(net, x, required)
        violated = [one for one, far in zip(required, reach, strict=True) if far < x[one.cell] * (1 - MIN_SHARE)]
        left = violated
        if len(violated) > MAX_FLOWS_AT_ONCE:
            left = [violated[i] for i in self._rng.permutation(len(violated))[:MAX_FLOWS_AT_ONCE]]
        # A small share of published cells makes flows end where such cells are few.
        thin = np.where(self.free, np.minimum(x + PUBLISHED_SHARE, 1.0), x)
        cuts = []
        for share in (thin, x) if len(self.cells) <= MAX_ARCS_FOR_SHORT_CUTS else (x,):
            _, reached = self._flows(net, share, left)
            found = [self._cuts_at(net, x, one, nodes) for one, nodes in zip(left, reached, strict=True)]
            cuts += [cut for both in found for cut in both]
            left = [one for one, both in zip(left, found, strict=True) if not both]
        cuts.sort(key=lambda cut: len(cut.columns))
        total = np.cumsum([len(cut.columns) for cut in cuts])
        return cuts[: max(int(np.searchsorted(total, MAX_CUT_ENTRIES)), MIN_CUTS_PER_ROUND)], violated

    def _cuts_at(self, net: Network, x: FloatArray, requirement: Requirement, reached: BoolArray) -> list[Cut]:
        """The cuts between the nodes that flows reach and all others; one row of nodes per side."""
        if not reached.any(axis=1).all():
            return []
        sides = zip(reached, requirement.sides, strict=True)
        crossing = [self._crossing(net, nodes, requirement, side) for nodes, side in sides]
        cells = np.unique(np.concatenate([cells for cells, _ in crossing]))
        weight = np.zeros(len(cells))
        for side_cells, side_weight in crossing:
            weight[np.searchsorted(cells, side_cells)] += side_weight
        return self._cuts_of(x, requirement, cells, weight, partial(self._potentials, net, reached, requirement))

    def _potentials(self, net: Network, reached: BoolArray, requirement: Requirement) -> Multipliers | None:
        """The multipliers of relations that limit flows by the cells which lead out of the nodes reached; None if not found."""
        multipliers: Multipliers = []
        place, (node, sign) = self.place(requirement.cell), self._nodes_of_relations(net)
        for nodes, side in zip(reached, requirement.sides, strict=True):
            if nodes[net.tail[place]] and nodes[net.head[place]]:  # its own slack limits the deviation
                multipliers.append(NO_RELATIONS)
                continue
            weight = sign * nodes[node]
            crossing = np.where(net.pinned, 0.0, nodes[net.head].astype(float) - nodes[net.tail])
            if not np.array_equal(self.relations.T @ weight, crossing):
                return None
            used = np.flatnonzero(weight)
            multipliers.append((self.rows[used], weight[used] * SIGN[side] / crossing[place]))
        return multipliers

    def _nodes_of_relations(self, net: Network) -> tuple[IntArray, FloatArray]:
        """The node of each relation, and its sign in the network; the sign is 0 if the relation is not a node."""
        if self._nodes is None:
            m, entries = self.relations.shape[0], self.relations.tocoo()
            moves = ~net.pinned[entries.col]
            row, column, weight = entries.row[moves], entries.col[moves], entries.data[moves]
            ends, n_cells = np.concatenate([net.tail[column], net.head[column]]), np.bincount(row, minlength=m)
            pair, first, count = np.unique(np.tile(row, 2) * net.nodes + ends, return_index=True, return_counts=True)
            common = np.flatnonzero(count == n_cells[pair // net.nodes])  # the end that all cells of a relation share
            node, sign = np.zeros(m, dtype=np.int64), np.zeros(m)
            at, is_head = first[common] % max(len(row), 1), first[common] >= len(row)
            node[pair[common] // net.nodes] = pair[common] % net.nodes
            sign[pair[common] // net.nodes] = np.where(is_head, 1.0, -1.0) * weight[at]
            self._nodes = node, sign
        return self._nodes

    def _flows(
        self, net: Network, share: FloatArray, required: list[Requirement]
    ) -> tuple[list[float], list[BoolArray]]:
        """The largest deviation of each cell, as a share of its level, and the nodes that flows reach, one row per side."""
        from discreet.methods.suppress.optimal.network_kernel import largest_flows

        at = np.flatnonzero((share[self.cells] > 0) & ~net.pinned)
        place = np.full(len(share), -1)
        place[self.cells[at]] = np.arange(len(at))
        slack = np.ascontiguousarray(self.slack[:, self.cells[at]])
        deviations, nodes = list[float](), list[BoolArray]()
        for begin in range(0, len(required), MAX_FLOWS_AT_ONCE):
            batch = required[begin : begin + MAX_FLOWS_AT_ONCE]
            single = [(place[one.cell], side, one.level) for one in batch for side in one.sides]
            arcs, sides, levels = (np.array(part) for part in zip(*single, strict=True))
            reach, reached = largest_flows(
                net.tail[at], net.head[at], net.nodes, slack, share[self.cells[at]], arcs, sides, levels
            )
            ends = np.cumsum([len(one.sides) for one in batch])[:-1]
            deviations += [float(each.sum()) for each in np.split(reach, ends)]
            nodes += np.split(reached, ends)
        return deviations, nodes

    def _crossing(
        self, net: Network, reached: BoolArray, requirement: Requirement, side: int
    ) -> tuple[IntArray, FloatArray]:
        """Cells that lead out of the nodes reached, and what they contribute if suppressed, as a share of the level."""
        cell, place = requirement.cell, self.place(requirement.cell)
        if reached[net.tail[place]] and reached[net.head[place]]:  # its own slack limits the deviation
            return np.array([cell]), self.slack[side, [cell]] / requirement.level
        fewer = np.flatnonzero(reached if 2 * reached.sum() <= len(reached) else ~reached)
        arcs = np.concatenate([self._arcs[self._first[node] : self._first[node + 1]] for node in fewer.tolist()])
        out, into = reached[net.tail[arcs]], reached[net.head[arcs]]
        cells = self.cells[arcs]
        leads = (out != into) & (cells != cell) & ~net.pinned[arcs]
        cells, out = cells[leads], out[leads]
        weight = np.where(out, self.slack[UP, cells], self.slack[DOWN, cells]) / requirement.level
        order = np.argsort(cells)
        return cells[order], weight[order]

    def _push(
        self, program: ReachProgram, share: FloatArray, requirement: Requirement, largest: float
    ) -> tuple[float, tuple[IntArray, FloatArray], Multipliers]:
        """The largest deviation of the cell, what cells (by place) contribute if suppressed, and the multipliers that prove it.

        Deviations and contributions are shares of the level.
        """
        cell, level = requirement.cell, requirement.level
        cells, place = self.cells[program.cells], self.place(requirement.cell)
        program.limit(np.minimum(self.slack[:, cells] / level, min(largest, UNLIMITED_LEVELS)) * share[cells])
        reach, pulls, multipliers = 0.0, [], []
        for side in requirement.sides:
            solution = program.push(place, side)
            if not solution.optimal:
                return np.inf, NO_RELATIONS, []
            reach += float(solution.objective)
            if self.forced[cell] and len(requirement.sides) == 1 and reach >= 1 - MIN_SHARE:
                self._found[cell, side] = self._used_slack(cells, solution.primal * level)
            pulls.append(self._limited(self._pulls(program.rows, solution.row_dual, place, side)))
            used = np.flatnonzero(solution.row_dual)
            multipliers.append((self.rows[program.rows[used]], solution.row_dual[used]))
        return reach, limits_by_cell(pulls, self.slack[:, self.cells] / level), multipliers

    def _limited(self, pulls: Pulls) -> Pulls:
        """Without rounding errors on cells with unlimited slack, which would contribute any amount."""
        unlimited = np.isinf(self.slack[:, self.cells[pulls.cells]]).any(axis=0)
        kept = ~unlimited | (np.abs(pulls.weight) >= NEGLIGIBLE)
        return Pulls(pulls.cells[kept], pulls.weight[kept])

    def _used_slack(self, cells: IntArray, deviation: FloatArray) -> tuple[IntArray, FloatArray]:
        """The cells that deviate, and which share of their slack they use."""
        slack, size = np.where(deviation > 0, self.slack[UP, cells], self.slack[DOWN, cells]), np.abs(deviation)
        used = np.flatnonzero((size > MIN_RELATIVE_DEVIATION * np.minimum(slack, size.max())) & (slack > 0))
        return cells[used], size[used] / slack[used]

    def _known_deviation(self, x: FloatArray, requirement: Requirement) -> bool:
        """Whether a deviation found before, which meets the requirement, is still feasible."""
        key = requirement.cell, requirement.sides[0]
        if len(requirement.sides) > 1 or key not in self._found:
            return False
        cells, share = self._found[key]
        return bool(np.all(share <= x[cells] * (1 + MIN_SHARE)))
