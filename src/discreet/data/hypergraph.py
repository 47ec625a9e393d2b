"""Sets of margins as hypergraphs: which hang together in cycles, and which cliques cover them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import TypeVar

Node = TypeVar("Node")


def cores(edges: Sequence[frozenset[int]], above: Mapping[int, frozenset[int]]) -> list[list[frozenset[int]]]:
    """What Graham's reduction leaves, connected part by connected part; nothing if the hypergraph is acyclic.

    A node in one edge only is removed, and so is an edge within another one, until nothing changes (Graham 1979). A node
    stays as long as its edge has nodes that it is ``above`` of: these mean nothing without it.
    """
    left = [set(edge) for edge in dict.fromkeys(edges)]
    while True:
        before = sum(map(len, left)), len(left)
        many: dict[int, int] = {}
        for edge in left:
            for node in edge:
                many[node] = many.get(node, 0) + 1
        for edge in left:
            needed = {up for node in edge for up in above[node]}
            edge -= {node for node in edge if many[node] == 1 and node not in needed}
        distinct = [set(edge) for edge in dict.fromkeys(map(frozenset, left))]
        left = [edge for edge in distinct if not any(edge < other for other in distinct)]
        if (sum(map(len, left)), len(left)) == before:
            return [part for part in _connected([frozenset(edge) for edge in left]) if len(part) > 1]


def _connected(edges: Sequence[frozenset[int]]) -> list[list[frozenset[int]]]:
    parts: list[list[frozenset[int]]] = []
    for edge in edges:
        touching = [part for part in parts if any(edge & other for other in part)]
        parts = [part for part in parts if part not in touching]
        parts.append([other for part in touching for other in part] + [edge])
    return parts


def cliques(edges: Sequence[frozenset[Node]], size: Mapping[Node, int]) -> list[frozenset[Node]]:
    """Cliques of a chordal graph that hold every edge, by eliminating nodes: those first that add fewest neighbours.

    Any tables over the cliques that agree where these overlap have a table over all nodes behind them, and it is nonnegative if
    they are (Lauritzen 1996, section 2.1 and lemma 3.8). ``size`` is the number of categories of a node; ties go by cells.
    """
    beside: dict[Node, set[Node]] = {node: set() for edge in edges for node in edge}
    for edge in edges:
        for node in edge:
            beside[node] |= edge - {node}
    order = {node: i for i, node in enumerate(beside)}
    found: list[frozenset[Node]] = []
    while beside:

        def price(node: Node) -> tuple[int, int, int]:
            around = beside[node]
            missing = sum(b not in beside[a] for a, b in combinations(around, 2))
            return missing, prod(size[other] for other in (node, *around)), order[node]

        node = min(beside, key=price)
        around = beside.pop(node)
        for other in around:
            beside[other] |= around - {other}
            beside[other].discard(node)
        clique = frozenset((node, *around))
        if not any(clique <= other for other in found):
            found.append(clique)
    return found


def overlaps(found: Sequence[frozenset[Node]]) -> Iterator[tuple[int, int, frozenset[Node]]]:
    """The edges of a junction tree: pairs of cliques, and the nodes that they share. Largest overlaps first (Prim)."""
    inside, outside = [0], list(range(1, len(found)))
    while outside:
        one, two = max(((i, j) for i in inside for j in outside), key=lambda pair: len(found[pair[0]] & found[pair[1]]))
        inside.append(two)
        outside.remove(two)
        if found[one] & found[two]:
            yield one, two, found[one] & found[two]
