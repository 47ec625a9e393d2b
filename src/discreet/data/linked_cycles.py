"""Cycles of linked tables: where the cells behind them tell a reader more than the published ones.

A dimension is taken apart into splits, a code and its parts, so that tables may stop at different levels of a hierarchy. A
table is a set of splits, and a set of tables a hypergraph, reduced by Graham's algorithm: what is left are the cycles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import IntArray
from discreet.data.cross_classification import Axis
from discreet.data.hierarchy import ABSENT, Hierarchy
from discreet.data.hypergraph import cores
from discreet.data.table import Table

Edge = frozenset[int]  # the splits that a table, or a margin of it, classifies by
Equation = Mapping[int, float]  # weights of responses


@dataclass(frozen=True, eq=False)
class Split:
    """A code of a dimension and its parts. ``axis`` joins the splits of a dimension that share codes below the total."""

    axis: Axis
    parent: int
    children: IntArray


class LinkedCycles:
    """The cycles among linked tables, response by response, and the responses that equations tie together.

    Contributions of both signs have no bounds, so that cells behind them tell nothing: their responses have no cycles.
    """

    def __init__(
        self,
        dimensions: Mapping[str, Hierarchy],
        tables: Sequence[Table],
        responses: Sequence[str],
        equations: Sequence[Equation],
    ) -> None:
        self.names, self.hierarchies = list(dimensions), list(dimensions.values())
        self.splits = [split for d, h in enumerate(self.hierarchies) for split in _splits(d, h)]
        edges = [
            list(dict.fromkeys(edge for table in tables if table.response == name for edge in self.edges_of(table)))
            for name in responses
        ]
        signed = [any(is_signed(table) for table in tables if table.response == name) for name in responses]
        groups = _tied(equations, edges, signed)
        self.tied = [({response: edges[response] for response in group}, told) for group, told in groups]
        self.alone = [
            (response, core)
            for response, own in enumerate(edges)
            if not signed[response] and not any(response in group for group, _ in groups)
            for core in self._cores(own)
        ]

    def __bool__(self) -> bool:
        return bool(self.alone or self.tied)

    @cached_property
    def ups(self) -> list[list[set[int]]]:
        """For each dimension and code the codes above it, and itself."""
        return [_ancestors(h) for h in self.hierarchies]

    def edges_of(self, table: Table) -> list[Edge]:
        """The splits of a table; a set each for trees of a dimension that do not share their finest codes."""
        choices: list[list[Edge]] = []
        for name, own in table.dimensions.items():
            d = self.names.index(name)
            place = np.array([self.hierarchies[d].index(code) for code in own.codes])
            ends = {frozenset(np.setdiff1d(np.flatnonzero(tree != ABSENT), tree).tolist()) for tree in own.parents}
            inside = [tree != ABSENT for tree in own.parents] if len(ends) > 1 else [np.ones(len(own), dtype=bool)]
            choices.append([self._within(d, place[here]) for here in inside])
        return [frozenset[int]().union(*choice) for choice in product(*choices)]

    def _within(self, dimension: int, codes: IntArray) -> Edge:
        known = np.zeros(len(self.hierarchies[dimension]), dtype=bool)
        known[codes] = True
        mine = ((s, split) for s, split in enumerate(self.splits) if split.axis.dimension == dimension)
        return frozenset(s for s, split in mine if known[split.parent] and known[split.children].all())

    def _cores(self, edges: Sequence[Edge]) -> list[list[Edge]]:
        """The cycles of tables. Where groupings do not nest, and no table has them all, all tables count as one cycle."""
        used = frozenset[int]().union(*edges)
        axes = {self.splits[s].axis for s in used}
        for axis in axes:
            mine = frozenset(s for s in used if self.splits[s].axis == axis)
            if not self._is_tree(mine) and not any(mine <= edge for edge in edges):
                return [list(edges)] if len(edges) > 1 else []
        # Splits of an axis that are in the same tables stand or fall together: usually all of them, and one stands for all.
        kin: dict[tuple[Axis, frozenset[int]], list[int]] = {}
        for s in sorted(used):
            kin.setdefault((self.splits[s].axis, frozenset(e for e, edge in enumerate(edges) if s in edge)), []).append(
                s
            )
        lead = {s: mine[0] for mine in kin.values() for s in mine}
        above = dict.fromkeys(used, frozenset[int]()) if len(kin) == len(axes) else self._above
        upper = {
            mine[0]: frozenset(lead[t] for s in mine for t in above[s] if t in lead) - {mine[0]}
            for mine in kin.values()
        }
        found = cores([frozenset(lead[s] for s in edge) for edge in edges], upper)
        whole = {mine[0]: frozenset(mine) for mine in kin.values()}
        return [[frozenset[int]().union(*(whole[s] for s in edge)) for edge in core] for core in found]

    def _is_tree(self, splits: Edge) -> bool:
        parents = [self.splits[s].parent for s in splits]
        children = np.concatenate([self.splits[s].children for s in splits])
        return len(set(parents)) == len(parents) and len(np.unique(children)) == len(children)

    @cached_property
    def _above(self) -> dict[int, frozenset[int]]:
        """For each split those that lead to it from the total."""
        of: dict[tuple[int, int], list[int]] = {}
        for s, split in enumerate(self.splits):
            of.setdefault((split.axis.dimension, split.parent), []).append(s)
        return {
            s: frozenset(
                t
                for up in self.ups[split.axis.dimension][split.parent]
                for t in of.get((split.axis.dimension, up), ())
                if up != split.parent
            )
            for s, split in enumerate(self.splits)
        }


def is_signed(table: Table) -> bool:
    """Whether contributions have both signs: readers then know no bounds, and cells behind tell nothing."""
    return bool(np.any((table.value < 0) | (table.magnitude > np.abs(table.value) * (1 + 1e-9))))


def _tied(
    equations: Sequence[Equation], edges: Sequence[Sequence[Edge]], signed: Sequence[bool]
) -> list[tuple[list[int], list[Equation]]]:
    """Responses whose equations say more about the cells behind than about the published ones, and these equations.

    Where a total and its parts are in the same tables, the table behind the total is the sum of those behind its parts. A
    response without bounds follows from the others.
    """
    many = np.bincount(np.array([r for one in equations for r in one], dtype=np.int64), minlength=len(edges))
    groups: list[tuple[set[int], list[Equation]]] = []
    for one in equations:
        positive = sum(weight > 0 for weight in one.values())
        is_sum = min(positive, len(one) - positive) == 1 and all(many[r] == 1 for r in one)
        alike = len({frozenset(edges[r]) for r in one}) == 1
        if any(signed[r] and many[r] == 1 for r in one) or (is_sum and alike):
            continue
        touching = [group for group in groups if group[0] & set(one)]
        groups = [group for group in groups if group not in touching]
        groups.append((set(one).union(*(g for g, _ in touching)), [e for _, told in touching for e in told] + [one]))
    return [(sorted(group), tied) for group, tied in groups]


def _splits(dimension: int, hierarchy: Hierarchy) -> list[Split]:
    """The groups of all trees of a dimension; those that share codes below the total have one axis."""
    groups = [(parent, children) for _, parent, children in hierarchy.equations()]
    ends = [(children[0], code) for parent, children in groups for code in (parent, *children.tolist()) if code]
    first, second = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    graph = sparse.csr_array((np.ones(len(first)), (first, second)), shape=(len(hierarchy), len(hierarchy)))
    _, kin = csgraph.connected_components(graph, directed=False)
    return [Split(Axis(dimension, int(kin[children[0]])), parent, children) for parent, children in groups]


def _ancestors(hierarchy: Hierarchy) -> list[set[int]]:
    """For each code all codes above it in any tree, and itself."""
    found = [{code} for code in range(len(hierarchy))]
    changed = True
    while changed:
        changed = False
        for parent in hierarchy.parents:
            for code, up in enumerate(parent.tolist()):
                if up >= 0 and not found[up] <= found[code]:
                    found[code] |= found[up]
                    changed = True
    return found
