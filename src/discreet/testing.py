"""Small tables, random problems and an independent audit, for tests of this package and of your own methods."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from discreet.arrays import FloatArray
from discreet.attackers import Attacker
from discreet.data.hierarchy import Hierarchy
from discreet.data.link import link
from discreet.data.table import Table
from discreet.errors import TableError
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress

Values = Literal["lognormal", "integer"]
Prior = Literal["sign", "percent", "nothing", "mixed"]
DIMENSION_NAMES = "abcdefgh"


def cross_table(
    rows: Sequence[str],
    columns: Sequence[str],
    values: ArrayLike,
    *,
    total: str = "Total",
    names: tuple[str, str] = ("row", "column"),
) -> Table:
    """A two-way table. Totals are computed, or given in a last row and a last column of ``values`` and checked."""
    down, across = Hierarchy.flat(rows, total), Hierarchy.flat(columns, total)
    given = np.asarray(values, dtype=np.float64)
    if given.shape == (len(rows), len(columns)):
        grid = _add_up([down, across], given)
    elif given.shape == (len(down), len(across)):
        grid = np.roll(given, 1, axis=(0, 1))
    else:
        raise TableError(
            f"Values of shape {given.shape} do not fill {len(rows)} rows and {len(columns)} columns, with or without totals."
        )
    dimensions = {names[0]: down, names[1]: across}
    return Table.from_cells(dimensions, np.indices(grid.shape).reshape(2, -1), grid.ravel()).check_additive()


def pose(
    table: Table,
    levels: Mapping[str, float | tuple[float, float] | tuple[float, float, float]],
    *,
    published: Collection[str] = (),
    lower: float = 0.0,
    upper: float = np.inf,
) -> Problem:
    """A problem with levels for some cells: one level up and down, ``(lower, upper)`` or ``(lower, upper, sliding)``.

    The cost of a cell is its magnitude; the prior bounds of all readers are ``lower`` and ``upper``.
    """
    n = len(table)
    status, required = np.full(n, Status.FREE, dtype=np.int8), np.zeros((3, n))
    status[[table.index(label) for label in published]] = Status.PUBLISHED
    for label, level in levels.items():
        given = level if isinstance(level, tuple) else (level, level)
        required[: len(given), table.index(label)] = given
        status[table.index(label)] = Status.PRIMARY
    down, up, slide = required
    return Problem(table, status, table.magnitude, down, up, slide, np.full(n, lower), np.full(n, upper))


def suppressing(problem: Problem, *labels: str) -> Protection:
    """The protection that suppresses these cells, and primary cells and those already suppressed."""
    suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
    suppressed[[problem.table.index(label) for label in labels]] = True
    return suppress(problem, suppressed)


def random_hierarchy(rng: np.random.Generator, leaves: int, *, levels: int = 1, trees: int = 1) -> Hierarchy:
    """A random hierarchy with ``levels`` levels below the total; several ``trees`` are groupings that do not nest."""
    grown = []
    for tree in range(trees):
        pairs: list[tuple[str, str | None]] = []
        below = [f"l{i}" for i in range(leaves)]
        for level in range(levels - 1):
            groups = max(2, len(below) // 2)
            member = rng.permutation(np.arange(len(below)) % groups)
            pairs += [(code, f"{tree}.{level}.{g}") for code, g in zip(below, member, strict=True)]
            below = [f"{tree}.{level}.{g}" for g in range(groups)]
        grown.append(Hierarchy.from_pairs([*pairs, *((code, "Total") for code in below)]))
    return grown[0] if trees == 1 else Hierarchy.join(*grown)


def random_table(
    rng: np.random.Generator,
    shape: Sequence[int | Hierarchy],
    *,
    values: Values = "lognormal",
    zeros: float = 0.1,
    negative: float = 0.0,
) -> Table:
    """A random table without empty combinations; a number in ``shape`` is a flat dimension with this number of parts.

    ``zeros`` and ``negative`` are shares of the finest cells.
    """
    dimensions = {
        name: part if isinstance(part, Hierarchy) else Hierarchy.flat(f"{name}{i}" for i in range(part))
        for name, part in zip(DIMENSION_NAMES, shape, strict=False)
    }
    leaves = tuple(int(h.is_leaf.sum()) for h in dimensions.values())
    size = rng.lognormal(3, 1.2, leaves) if values == "lognormal" else rng.integers(1, 10, leaves)
    inner = np.where(rng.random(leaves) < zeros, 0.0, size.round(2))
    signed = np.where(rng.random(leaves) < negative, -inner, inner)
    grid, magnitude = (_add_up(list(dimensions.values()), part) for part in (signed, inner))
    codes = np.indices(grid.shape).reshape(len(shape), -1)
    return Table.from_cells(dimensions, codes, grid.ravel(), magnitude=magnitude.ravel())


def random_linked_table(rng: np.random.Generator, shape: tuple[int, int, int] = (3, 3, 3)) -> Table:
    """The linked tables a × b and a × c of random three-way data."""
    full = random_table(rng, shape)
    parts = []
    for kept, dropped in (([0, 1], 2), ([0, 2], 1)):
        at = full.codes[dropped] == 0
        dimensions = {DIMENSION_NAMES[d]: full.dimensions[DIMENSION_NAMES[d]] for d in kept}
        parts.append(Table.from_cells(dimensions, full.codes[kept][:, at], full.value[at]))
    return link(*parts)


def random_problem(
    rng: np.random.Generator,
    table: Table,
    *,
    primaries: float = 0.15,
    sliding: bool = False,
    prior: Prior = "sign",
    must_publish: float = 0.05,
    already_suppressed: float = 0.0,
) -> Problem:
    """A problem with levels of 5 to 25 percent for a share of the nonzero cells, mainly base cells; random costs and statuses.

    ``prior`` is the prior knowledge of all readers: the ``sign`` of each cell, each cell to within 30 to 100 ``percent``,
    ``nothing``, or one of these per bound (``mixed``). Levels are within the prior bounds, but may be impossible for other
    reasons. There are no other requirements: ``least`` is zero.
    """
    n, value, size = len(table), table.value, table.magnitude
    primary = rng.random(n) < np.where(table.is_base, primaries, primaries / 3) * (size > 0)
    status = np.where(rng.random(n) < must_publish, Status.PUBLISHED, Status.FREE)
    status = np.where(rng.random(n) < already_suppressed, Status.SUPPRESSED, status)
    known = {
        "nothing": (np.full(n, -np.inf), np.full(n, np.inf)),
        "sign": (np.where(value < 0, -np.inf, 0.0), np.where(value < 0, 0.0, np.inf)),
        "percent": (value - rng.uniform(0.3, 1, n) * size, value + rng.uniform(0.3, 1, n) * size),
    }
    kinds = list(known) if prior == "mixed" else [prior]
    below, above = rng.integers(len(kinds), size=(2, n))
    prior_lower = np.choose(below, [known[kind][0] for kind in kinds])
    prior_upper = np.choose(above, [known[kind][1] for kind in kinds])
    lower, upper = (rng.uniform(0.05, 0.25, (2, n)) * size * (rng.random((2, n)) < 0.9)).round(2)
    slide = rng.uniform(0.1, 0.6, n) * size * (rng.random(n) < 0.5) if sliding else np.zeros(n)
    return Problem(
        table,
        status=np.where(primary, Status.PRIMARY, status).astype(np.int8),
        cost=np.choose(rng.integers(3, size=n), [np.ones(n), size, rng.uniform(0, 50, n).round()]),
        lower=np.where(primary, np.minimum(lower, value - prior_lower), 0.0),
        upper=np.where(primary, np.minimum(upper, prior_upper - value), 0.0),
        sliding=np.where(primary, np.minimum(slide, prior_upper - prior_lower), 0.0),
        prior_lower=prior_lower,
        prior_upper=prior_upper,
        least_width=np.zeros(n),
    )


def infer(
    protection: Protection, cell: int, attacker: Attacker | None = None, method: str = "highs-ds"
) -> tuple[float, float]:
    """The audit interval of a cell by two linear programs of SciPy: slow, and independent of the audit."""
    table, attacker = protection.problem.table, attacker or protection.problem.attackers()[0]
    bounds = np.stack(
        [np.maximum(protection.lower, attacker.lower), np.minimum(protection.upper, attacker.upper)], axis=1
    )
    # Finite intervals of small tables end within this distance, so that an end at this distance means no bound.
    true, limit = table.value[cell], 1e3 * max(1.0, float(np.abs(table.value).sum()))
    bounds[cell] = np.clip(bounds[cell], true - limit, true + limit)
    ends = []
    for sign in (-1.0, 1.0):
        goal = np.where(np.arange(len(table)) == cell, -sign, 0.0)
        solved = linprog(goal, A_eq=table.relations, b_eq=table.rhs, bounds=bounds, method=method)
        if solved.status != 0:
            raise ArithmeticError(f"linprog did not solve the attacker's program: {solved.message}")
        deviation = float(solved.x[cell] - true)
        ends.append(true + deviation if abs(deviation) < 0.999 * limit else sign * np.inf)
    return float(ends[0]), float(ends[1])


def _add_up(hierarchies: Sequence[Hierarchy], grid: FloatArray) -> FloatArray:
    """The values of all codes of every dimension, from the values of the leaves."""
    for axis, hierarchy in enumerate(hierarchies):
        leaf, code = hierarchy.ancestors
        sums = np.zeros((len(hierarchy), int(hierarchy.is_leaf.sum())))
        sums[code, (np.cumsum(hierarchy.is_leaf) - 1)[leaf]] = 1.0
        grid = np.moveaxis(np.tensordot(sums, grid, axes=(1, axis)), 0, axis)
    return grid
