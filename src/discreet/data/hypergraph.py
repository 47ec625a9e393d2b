"""Hypergraphs of margins: their cyclic components, and cliques that cover them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import TypeVar

Node = TypeVar("Node")


def cores(edges: Sequence[frozenset[int]], above: Mapping[int, frozenset[int]]) -> list[list[frozenset[int]]]:
    """The connected components that remain after Graham's reduction; none if the hypergraph is acyclic.

    Nodes in a single edge and edges contained in others are removed until nothing changes (Graham 1979). A node is kept while
    it is in ``above`` of another node of its edge.
    """
    left = [set(edge) for edge in dict.fromkeys(edges)]
    while True:
        before = sum(map(len, left)), len(left)
        degree = Counter(node for edge in left for node in edge)
        for edge in left:
            needed = {up for node in edge for up in above[node]}
            edge -= {node for node in edge if degree[node] == 1 and node not in needed}
        distinct = [set(edge) for edge in dict.fromkeys(map(frozenset, left))]
        left = [edge for edge in distinct if not any(edge < other for other in distinct)]
        if (sum(map(len, left)), len(left)) == before:
            return [component for component in _components(map(frozenset, left)) if len(component) > 1]


def _components(edges: Iterable[frozenset[int]]) -> list[list[frozenset[int]]]:
    components: list[list[frozenset[int]]] = []
    for edge in edges:
        touching = [component for component in components if any(edge & other for other in component)]
        components = [component for component in components if component not in touching]
        components.append([other for component in touching for other in component] + [edge])
    return components


def cliques(edges: Sequence[frozenset[Node]], size: Mapping[Node, int]) -> list[frozenset[Node]]:
    """Cliques of a chordal graph that contain every edge, by elimination of nodes in the order of minimum fill-in.

    Nonnegative tables over the cliques that agree on their overlaps are margins of a nonnegative table over all nodes
    (Lauritzen 1996, section 2.1 and lemma 3.8). ``size`` is the number of categories of a node; ties in fill-in are broken by
    the number of cells.
    """
    neighbours: dict[Node, set[Node]] = {node: set() for edge in edges for node in edge}
    for edge in edges:
        for node in edge:
            neighbours[node] |= edge - {node}
    order = {node: i for i, node in enumerate(neighbours)}
    found: list[frozenset[Node]] = []
    while neighbours:

        def elimination_cost(node: Node) -> tuple[int, int, int]:
            around = neighbours[node]
            fill_in = sum(b not in neighbours[a] for a, b in combinations(around, 2))
            return fill_in, prod(size[other] for other in (node, *around)), order[node]

        node = min(neighbours, key=elimination_cost)
        around = neighbours.pop(node)
        for other in around:
            neighbours[other] |= around - {other}
            neighbours[other].discard(node)
        clique = frozenset((node, *around))
        if not any(clique <= other for other in found):
            found.append(clique)
    return found


def overlaps(found: Sequence[frozenset[Node]]) -> Iterator[tuple[int, int, frozenset[Node]]]:
    """The edges of a junction tree: pairs of cliques and the nodes they share, by Prim's algorithm, largest overlaps first."""
    inside, outside = [0], list(range(1, len(found)))
    while outside:
        one, two = max(((i, j) for i in inside for j in outside), key=lambda pair: len(found[pair[0]] & found[pair[1]]))
        inside.append(two)
        outside.remove(two)
        if found[one] & found[two]:
            yield one, two, found[one] & found[two]
