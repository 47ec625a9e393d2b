"""Cycles of linked tables, for which readers can infer more from the cells behind them than from the published cells alone.

A dimension is divided into splits, each a code and its children, so that tables may end at different levels of a hierarchy. A
table is a set of splits, linked tables are a hypergraph, and its cycles are what remains after Graham's reduction.
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

Edge = frozenset[int]  # the splits by which a table, or a margin of it, is classified
Equation = Mapping[int, float]  # coefficients of responses


@dataclass(frozen=True, eq=False)
class Split:
    """A code of a dimension and its children. Splits that share codes below the total have the same ``axis``."""

    axis: Axis
    parent: int
    children: IntArray


class LinkedCycles:
    """The cycles of linked tables: ``single`` of one response each, ``tied`` of responses connected by equations.

    Responses with contributions of both signs have no cycles: their cells have no bounds, so cells behind add no information.
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
            list(dict.fromkeys(edge for table in tables if table.response == name for edge in self._edges(table)))
            for name in responses
        ]
        signed = [any(is_signed(table) for table in tables if table.response == name) for name in responses]
        groups = _tied(equations, edges, signed)
        self.tied = [({response: edges[response] for response in group}, tying) for group, tying in groups]
        self.single = [
            (response, core)
            for response, response_edges in enumerate(edges)
            if not signed[response] and not any(response in group for group, _ in groups)
            for core in self._cores(response_edges)
        ]

    def __bool__(self) -> bool:
        return bool(self.single or self.tied)

    @cached_property
    def ancestors(self) -> list[list[set[int]]]:
        """For each dimension and code the code itself and its ancestors in any tree."""
        found: list[list[set[int]]] = []
        for hierarchy in self.hierarchies:
            code, above = hierarchy.lineage(np.arange(len(hierarchy)))
            first = np.searchsorted(code, np.arange(1, len(hierarchy)))
            found.append([set(ups.tolist()) for ups in np.split(above, first)])
        return found

    def _edges(self, table: Table) -> list[Edge]:
        """The splits of a table: one set, or one for each tree if the trees of a dimension have different finest codes."""
        choices: list[list[Edge]] = []
        for name, hierarchy in table.dimensions.items():
            d = self.names.index(name)
            place = np.array([self.hierarchies[d].index(code) for code in hierarchy.codes])
            finest = {
                frozenset(np.setdiff1d(np.flatnonzero(tree != ABSENT), tree).tolist()) for tree in hierarchy.parents
            }
            everything = [np.ones(len(hierarchy), dtype=bool)]
            inside = [tree != ABSENT for tree in hierarchy.parents] if len(finest) > 1 else everything
            choices.append([self._splits_of(d, place[codes]) for codes in inside])
        return [frozenset[int]().union(*choice) for choice in product(*choices)]

    def _splits_of(self, dimension: int, codes: IntArray) -> Edge:
        """The splits of a dimension that consist of these codes."""
        present = np.zeros(len(self.hierarchies[dimension]), dtype=bool)
        present[codes] = True
        listed = ((s, split) for s, split in enumerate(self.splits) if split.axis.dimension == dimension)
        return frozenset(s for s, split in listed if present[split.parent] and present[split.children].all())

    def _cores(self, edges: Sequence[Edge]) -> list[list[Edge]]:
        """The cycles of tables. If groupings do not nest and no table has all of them, all tables count as one cycle."""
        used = frozenset[int]().union(*edges)
        axes = {self.splits[s].axis for s in used}
        for axis in axes:
            of_axis = frozenset(s for s in used if self.splits[s].axis == axis)
            if not self._is_tree(of_axis) and not any(of_axis <= edge for edge in edges):
                return [list(edges)] if len(edges) > 1 else []
        # The reduction treats splits of an axis that are in the same tables alike: the first represents all of them.
        classes: dict[tuple[Axis, frozenset[int]], list[int]] = {}
        for s in sorted(used):
            where = frozenset(e for e, edge in enumerate(edges) if s in edge)
            classes.setdefault((self.splits[s].axis, where), []).append(s)
        first = {s: members[0] for members in classes.values() for s in members}
        above = dict.fromkeys(used, frozenset[int]()) if len(classes) == len(axes) else self._above
        first_above = {
            members[0]: frozenset(first[t] for s in members for t in above[s] if t in first) - {members[0]}
            for members in classes.values()
        }
        found = cores([frozenset(first[s] for s in edge) for edge in edges], first_above)
        represented = {members[0]: frozenset(members) for members in classes.values()}
        return [[frozenset[int]().union(*(represented[s] for s in edge)) for edge in core] for core in found]

    def _is_tree(self, splits: Edge) -> bool:
        parents = [self.splits[s].parent for s in splits]
        children = np.concatenate([self.splits[s].children for s in splits])
        return len(set(parents)) == len(parents) and len(np.unique(children)) == len(children)

    @cached_property
    def _above(self) -> dict[int, frozenset[int]]:
        """For each split the splits on the way from the total to it."""
        by_parent: dict[tuple[int, int], list[int]] = {}
        for s, split in enumerate(self.splits):
            by_parent.setdefault((split.axis.dimension, split.parent), []).append(s)
        return {
            s: frozenset(
                t
                for up in self.ancestors[split.axis.dimension][split.parent]
                for t in by_parent.get((split.axis.dimension, up), ())
                if up != split.parent
            )
            for s, split in enumerate(self.splits)
        }


def is_signed(table: Table) -> bool:
    """Whether contributions have both signs: readers then know no bounds, so cells behind add no information."""
    return bool(np.any((table.value < 0) | (table.magnitude > np.abs(table.value) * (1 + 1e-9))))


def _tied(
    equations: Sequence[Equation], edges: Sequence[Sequence[Edge]], signed: Sequence[bool]
) -> list[tuple[list[int], list[Equation]]]:
    """Groups of responses with the equations that imply more for the cells behind than for the published ones.

    An equation between a total and its addends in the same tables implies no more: the table behind the total is the sum of
    those behind its addends. Nor does one with a response without bounds, whose values follow from the others.
    """
    n_equations = np.bincount(np.array([r for one in equations for r in one], dtype=np.int64), minlength=len(edges))
    groups: list[tuple[set[int], list[Equation]]] = []
    for equation in equations:
        positive = sum(weight > 0 for weight in equation.values())
        is_sum = min(positive, len(equation) - positive) == 1 and all(n_equations[r] == 1 for r in equation)
        in_same_tables = len({frozenset(edges[r]) for r in equation}) == 1
        if any(signed[r] and n_equations[r] == 1 for r in equation) or (is_sum and in_same_tables):
            continue
        touching = [group for group in groups if group[0] & set(equation)]
        groups = [group for group in groups if group not in touching]
        responses = set(equation).union(*(group for group, _ in touching))
        groups.append((responses, [one for _, tying in touching for one in tying] + [equation]))
    return [(sorted(group), tying) for group, tying in groups]


def _splits(dimension: int, hierarchy: Hierarchy) -> list[Split]:
    """The splits of all trees of a dimension; those that share codes below the total have the same axis."""
    groups = [(parent, children) for _, parent, children in hierarchy.equations()]
    ends = [(children[0], code) for parent, children in groups for code in (parent, *children.tolist()) if code]
    first, second = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    graph = sparse.csr_array((np.ones(len(first)), (first, second)), shape=(len(hierarchy), len(hierarchy)))
    _, component = csgraph.connected_components(graph, directed=False)
    return [Split(Axis(dimension, int(component[children[0]])), parent, children) for parent, children in groups]
