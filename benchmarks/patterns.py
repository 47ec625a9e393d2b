"""Seeded suppression patterns for the audit to work on, kept on disk: making one may take minutes and is no part of it.

Three rules make them, each safe by what it does, and each checked by the audit that is measured:

* ``sequential``: the method kelly without its clean-up, the kind of pattern that a quick heuristic leaves;
* ``cycles``, for flat tables of two dimensions: the same idea as shortest paths, which takes seconds for a million cells;
* ``boxes``, for hierarchical tables too large for the first: the cheapest of some random boxes around each primary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from benchmarks.instances import INSTANCES, Instance, shaped
from benchmarks.record import RESULTS
from discreet.arrays import BoolArray
from discreet.data.hierarchy import Hierarchy
from discreet.methods.context import Run
from discreet.methods.suppress.pattern import Pattern
from discreet.problem import Problem
from discreet.protection import Protection, suppress

VERSION = 2  # raise it when a rule or an instance changes: patterns on disk of another version are not used
KEPT = RESULTS / "patterns"

DRAWS = 60  # boxes to choose from for each primary
ACROSS = 0.1  # share of dimensions in which a box reaches into another group, so that totals are suppressed, too

IntArray = NDArray[np.int64]
Rule = Callable[[Problem, int], BoolArray]  # from problem and seed to what is suppressed


@dataclass(frozen=True)
class Recipe:
    """A table and the rule that suppresses cells in it."""

    instance: Instance
    rule: Rule


def largest_first(problem: Problem) -> list[int]:
    """Primaries by level: what protects a large one often protects small ones as well."""
    level = np.maximum(problem.lower, problem.upper)[problem.primaries]
    return [int(p) for p in problem.primaries[np.argsort(-level, kind="stable")]]


def sequential(problem: Problem, seed: int) -> BoolArray:
    """What kelly suppresses before it publishes again what was not needed."""
    pattern = Pattern(problem, seed)
    pattern.grow(Run())
    return pattern.suppressed


def cycles(problem: Problem, seed: int) -> BoolArray:
    """Flat tables of two dimensions: close the cheapest cycle through each primary, over suppressed cells for free.

    Rows and columns are the nodes of a graph (the totals, too) and cells its edges. Along a cycle the cells can
    alternately grow and shrink by the level of the primary, if each of them is at least that large.
    """
    value, (row, column) = problem.table.value, problem.table.codes
    rows, columns = row.max() + 1, column.max() + 1
    suppressed = np.zeros(len(problem), dtype=bool)
    suppressed[problem.primaries] = True
    slack = np.zeros((rows, columns))  # of suppressed cells
    slack[row[suppressed], column[suppressed]] = value[suppressed]
    # Ties are broken by the seed, and what is suppressed already is next to free.
    price = problem.cost * np.random.default_rng(seed).uniform(1.0, 1.0 + 1e-6, len(value))
    ends = np.concatenate([row, rows + column]), np.concatenate([rows + column, row])
    graph = sparse.csr_array((np.tile(np.arange(1.0, len(value) + 1), 2), ends), shape=(rows + columns,) * 2)
    edge = graph.data.astype(np.int64) - 1
    edge_of = {(int(r), int(rows + c)): i for i, (r, c) in enumerate(zip(row, column, strict=True))}
    for p in largest_first(problem):
        r, c, level = row[p], column[p], max(problem.lower[p], problem.upper[p])
        others_down, others_across = (np.flatnonzero(line >= level) for line in (slack[:, c], slack[r]))
        corners = slack[np.ix_(others_down[others_down != r], others_across[others_across != c])]
        if np.any(corners >= level):  # a cycle of four suppressed cells: no need to look for a longer one
            continue
        weight = np.where(suppressed, 1e-9, price)
        weight[(value < level) | (np.arange(len(value)) == p)] = np.inf
        graph.data = weight[edge]
        _, before = csgraph.dijkstra(graph, indices=int(r), return_predecessors=True)
        at = int(rows + c)
        while at != r:
            back = int(before[at])
            new = edge_of[min(at, back), max(at, back)]
            suppressed[new] = True
            slack[row[new], column[new]] = value[new]
            at = back
    return suppressed


def boxes(problem: Problem, seed: int) -> BoolArray:
    """Full hierarchical tables: suppress the cheapest of some random boxes around each primary.

    In each dimension a box holds the primary's code and another finest one, with the groups above them that the two do not
    share. Moving its cells by the primary's level, by turns up and down, keeps every total; each must be that large.
    Where no such box is found, everything above the primary's code takes the place of another code: first in one dimension,
    then in two, at last in all, which always works but moves the grand total.
    """
    rng = np.random.default_rng(seed)
    value, codes, hierarchies = problem.table.value, problem.table.codes, list(problem.table.dimensions.values())
    classes = [_Codes(hierarchy) for hierarchy in hierarchies]
    place = np.full([len(h) for h in hierarchies], -1)
    place[tuple(codes)] = np.arange(len(value))
    suppressed = np.zeros(len(problem), dtype=bool)
    suppressed[problem.primaries] = True
    covered = np.zeros(len(problem), dtype=bool)

    def draw(p: int, level: float) -> list[IntArray]:
        for ups in range(len(classes) + 1):
            drawn = []
            for _ in range(DRAWS):
                upwards = rng.permutation(len(classes)) < ups
                sides = [
                    part.way[code] if up else part.pair(code, rng, ACROSS if ups == 0 else 0.5)
                    for part, code, up in zip(classes, codes[:, p].tolist(), upwards, strict=True)
                ]
                cells = place[np.ix_(*sides)].ravel()
                if cells.min() >= 0 and value[cells].min() >= level:
                    drawn.append(cells)
            if drawn:
                return drawn
        raise AssertionError("a primary and everything it is part of can always move together")

    for p in largest_first(problem):
        if not covered[p]:
            drawn = draw(p, max(problem.lower[p], problem.upper[p]))
            best = min(drawn, key=lambda cells: float(problem.cost[cells[~suppressed[cells]]].sum()))
            suppressed[best] = covered[best] = True
    return suppressed


class _Codes:
    """For each finest code: the way from it to the total, and which other ones are in its group or in another."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        parent, leaves = hierarchy.parents[0], np.flatnonzero(hierarchy.is_leaf)
        self.way: dict[int, list[int]] = {}
        self.near: dict[int, IntArray] = {}
        self.far: dict[int, IntArray] = {}
        for code in leaves.tolist():
            self.way[code] = [code]
            while self.way[code][-1] != 0:
                self.way[code].append(int(parent[self.way[code][-1]]))
            family = parent[leaves] == parent[code]
            self.near[code] = leaves[family & (leaves != code)]
            self.far[code] = leaves[~family]

    def pair(self, code: int, rng: np.random.Generator, across: float) -> list[int]:
        """A code and another one, with what is above only one of them."""
        among = self.far[code] if rng.random() < across and len(self.far[code]) else self.near[code]
        one, other = self.way[code], self.way[int(among[rng.integers(len(among))])]
        return [c for c in one if c not in other] + [c for c in other if c not in one]


def recipes(rule: Rule, *instances: Instance) -> dict[str, Recipe]:
    return {instance.name: Recipe(instance, rule) for instance in instances}


GROWTH = {
    "flat2d": [
        shaped(f"flat2d_grow_{size}", (n,), (n,)) for size, n in (("1k", 31), ("10k", 99), ("100k", 315), ("1m", 999))
    ],
    "hier3d": [
        shaped("hier3d_grow_1k", (2, 3), (2, 4), (2, 4)),
        shaped("hier3d_grow_10k", (4, 4), (4, 4), (4, 5)),
        shaped("hier3d_grow_100k", (5, 8), (5, 8), (6, 7)),
        shaped("hier3d_grow_1m", (9, 10), (9, 10), (9, 10)),
    ],
}
AUDITED = {
    **recipes(cycles, INSTANCES["flat2d_200"]),
    **recipes(sequential, INSTANCES["flat3d_20"], INSTANCES["hier3d_10k"], INSTANCES["hier3d_50k"]),
    **recipes(cycles, shaped("flat2d_500", (500,), (500,)), shaped("flat2d_500_half_pc", (500,), (500,), share=0.005)),
}
WARM_UP = (
    "flat2d_grow_10k",
    "hier3d_grow_10k",
)  # of both kinds, and large enough for every part of the audit to be used
PATTERNS = {**AUDITED, **recipes(cycles, *GROWTH["flat2d"]), **recipes(boxes, *GROWTH["hier3d"])}


def pattern(name: str, seed: int = 1, kept: Path = KEPT) -> Protection:
    """The pattern called ``name``; its table is ``.problem``."""
    recipe = PATTERNS[name]
    return suppressed_by(name, recipe.instance.make(seed), recipe.rule, seed, kept)


def suppressed_by(name: str, problem: Problem, rule: Rule, seed: int, kept: Path = KEPT) -> Protection:
    """What a rule suppresses, from disk if it was worked out before."""
    path = kept / f"{name}-seed{seed}-v{VERSION}.npz"
    suppressed = _read(path, problem)
    if suppressed is None:
        suppressed = rule(problem, seed)
        kept.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, suppressed=suppressed, problem=problem.digest)
    return suppress(problem, suppressed, method=rule.__name__, seed=seed)


def _read(path: Path, problem: Problem) -> BoolArray | None:
    if not path.exists():
        return None
    with np.load(path) as file:
        return np.asarray(file["suppressed"]) if str(file["problem"]) == problem.digest else None
