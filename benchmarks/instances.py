"""Seeded instances: flat and hierarchical tables of two to four dimensions, magnitudes and counts; JJ files by path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.io import read_problem
from discreet.problem import Problem, Status

LEVEL = 0.15  # protection levels of generated primaries, as a share of the value
ZEROS = 0.10  # share of empty inner cells


@dataclass(frozen=True)
class Instance:
    name: str
    make: Callable[[int], Problem]


def tree(branching: tuple[int, ...], letter: str) -> Hierarchy:
    """``(5, 6)``: a total of five groups of six."""
    pairs: list[tuple[str, str | None]] = []
    above = ["Total"]
    for width in branching:
        here = [f"{parent if parent != 'Total' else letter}{i:02d}" for parent in above for i in range(1, width + 1)]
        pairs += zip(here, np.repeat(above, width).tolist(), strict=True)
        above = here
    return Hierarchy.from_pairs(pairs)


def filled(hierarchies: list[Hierarchy], inner: np.ndarray) -> Table:
    """The table with all totals of an array of leaf values; empty cells are left out."""
    full = inner
    for axis, hierarchy in enumerate(hierarchies):
        leaf, node = hierarchy.ancestors
        place = np.cumsum(hierarchy.is_leaf) - 1
        members = sparse.csr_array((np.ones(len(leaf)), (node, place[leaf])), shape=(len(hierarchy), inner.shape[axis]))
        moved = np.moveaxis(full, axis, 0)
        summed = members @ moved.reshape(moved.shape[0], -1)
        full = np.moveaxis(summed.reshape(len(hierarchy), *moved.shape[1:]), 0, axis)
    codes = np.array(np.nonzero(full), dtype=np.int32)
    dimensions = {f"d{axis + 1}": hierarchy for axis, hierarchy in enumerate(hierarchies)}
    return Table.from_cells(dimensions, codes, full[tuple(codes)])


def generated(branching: list[tuple[int, ...]], *, share: float, counts: bool, seed: int) -> Problem:
    """Lognormal values (or Poisson counts), ``share`` of the inner cells primary at ±15 % (counts below 3 for counts)."""
    rng = np.random.default_rng(seed)
    hierarchies = [tree(widths, letter) for widths, letter in zip(branching, "ABCD", strict=False)]
    shape = [int(h.is_leaf.sum()) for h in hierarchies]
    if counts:
        inner = rng.poisson(np.exp(rng.normal(1.5, 1.0, shape))).astype(float)
    else:
        inner = np.round(np.exp(rng.normal(5.0, 1.5, shape))) * (rng.random(shape) >= ZEROS)
    table = filled(hierarchies, inner)
    base = np.flatnonzero(table.is_base)
    if counts:
        primary = np.flatnonzero(table.value < 3)
        lower, upper = table.value, np.maximum(3 - table.value, 0)
    else:
        primary = rng.choice(base, max(1, int(share * len(base))), replace=False)
        lower = upper = LEVEL * table.value
    status = np.full(len(table), Status.FREE, dtype=np.int8)
    status[primary] = Status.PRIMARY
    sensitive = status == Status.PRIMARY
    return Problem(
        table,
        status=status,
        cost=table.value,
        lower=np.where(sensitive, lower, 0.0),
        upper=np.where(sensitive, upper, 0.0),
        sliding=np.zeros(len(table)),
        prior_lower=np.zeros(len(table)),
        prior_upper=np.full(len(table), np.inf),
    )


def shaped(name: str, *branching: tuple[int, ...], share: float = 0.05, counts: bool = False) -> Instance:
    """``shaped("x", (5, 6), (27,))``: five groups of six by 27."""
    return Instance(name, lambda seed: generated(list(branching), share=share, counts=counts, seed=seed))


INSTANCES = {
    instance.name: instance
    for instance in [
        shaped("flat2d_50", (50,), (50,)),
        shaped("flat2d_100", (100,), (100,)),
        shaped("flat2d_100_1pc", (100,), (100,), share=0.01),
        shaped("flat2d_200", (200,), (200,)),
        shaped("flat3d_10", (10,), (10,), (10,)),
        shaped("flat3d_20", (20,), (20,), (20,)),
        shaped("flat4d_6", (6,), (6,), (6,), (6,)),
        shaped("hier2d_1k", (5, 6), (27,)),
        shaped("hier2d_5k", (6, 5, 4), (5, 7)),
        shaped("hier3d_3k", (3, 4), (3, 4), (12,)),
        shaped("hier3d_10k", (4, 4), (4, 4), (4, 5)),
        shaped("hier3d_50k", (5, 6), (5, 6), (5, 8), share=0.06),
        shaped("hier4d_4k", (2, 3), (2, 3), (6,), (5,)),
        shaped("count2d_100", (100,), (100,), counts=True),
        shaped("count3d_3k", (3, 4), (3, 4), (12,), counts=True),
    ]
}


def folder(path: Path) -> dict[str, Instance]:
    """Every JJ file in a folder."""
    return {
        file.name.split(".jj")[0]: Instance(file.name.split(".jj")[0], lambda _, file=file: read_problem(file))
        for file in sorted(path.iterdir())
        if file.name.endswith((".jj", ".jj.gz"))
    }
