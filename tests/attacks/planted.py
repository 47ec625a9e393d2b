"""Tables with leaks that were put there on purpose."""

from __future__ import annotations

from functools import cache

import numpy as np

from discreet import Attacker, Decision, Problem, Protection, Table, audit, protect, suppress
from discreet.protection import publish_intervals
from discreet.testing import cross_table, pose, random_problem, random_table

SQUARE = ("x × x", "x × b", "c × x", "c × b")
SEEDS = range(100)


@cache
def safe_table(seed: int, shape: tuple[int, ...] = (4, 4)) -> Protection:
    """A random table, protected by a heuristic."""
    rng = np.random.default_rng(seed)
    while True:
        problem = random_problem(rng, random_table(rng, shape, zeros=0.05), must_publish=0.0)
        if (problem.lower > 0).any():
            return protect(problem, "kelly")


def without_a_secondary(found: Protection) -> Protection | None:
    """The same with one secondary published after all, the first that matters."""
    for cell in np.flatnonzero(found.decision == Decision.SECONDARY).tolist():
        suppressed = found.suppressed.copy()
        suppressed[cell] = False
        edited = suppress(found.problem, suppressed)
        if not audit(found.problem, edited, intervals=False).passed:
            return edited
    return None


def square_without_a_corner(rng: np.random.Generator, table: Table | None = None) -> tuple[Protection, Protection, str]:
    """A cell that a square of suppressed cells protects, the same with a corner published after all, and the cell's label."""
    table = random_table(rng, (3, 3), zeros=0.0) if table is None else table
    rows, columns = (rng.permutation(3)[:2] for _ in range(2))
    corners = [f"a{i} × b{j}" for i in rows for j in columns]
    slack = min(table.value[table.index(label)] for label in corners)
    problem = pose(table, {corners[0]: 0.9 * slack})
    suppressed = np.isin(table.labels(), corners)
    leaking = suppressed.copy()
    leaking[table.index(corners[rng.integers(1, 4)])] = False
    return suppress(problem, suppressed), suppress(problem, leaking), corners[0]


def uneven_table(rng: np.random.Generator) -> Table:
    """Values as surveys have them: with all digits of a float, small ones beside large ones, in any unit."""
    values = 10.0 ** rng.integers(-4, 10) * np.exp(rng.uniform(0, 3) * rng.standard_normal((3, 3)))
    return cross_table([f"a{i}" for i in range(3)], [f"b{j}" for j in range(3)], values)


def symmetric_intervals(problem: Problem, suppressed: np.ndarray, share: np.ndarray | float) -> Protection:
    """Exact intervals of suppressed cells that follow from knowing all cells to within a share of their values, published."""
    value = problem.table.value
    known = Attacker("symmetric", value - share * np.abs(value), value + share * np.abs(value))
    seen = audit(problem, suppress(problem, suppressed), attackers=[known], cells=np.flatnonzero(suppressed))
    lower, upper = value.copy(), value.copy()
    lower[seen.cell], upper[seen.cell] = seen.lower, seen.upper
    return publish_intervals(problem, np.where(suppressed, np.nan, value), lower, upper, cost=0.0)


def tight_square(x: float, p: float) -> Protection:
    """X of one respondent, protected by no more than p percent of its value on either side."""
    slack = p / 100 * x
    table = cross_table(["x", "c"], ["x", "b"], [[x, slack], [3 * slack, slack]])
    count = np.full(len(table), 20)
    count[table.index("x × x")] = 1
    problem = pose(table.with_columns(count=count), {"x × x": slack})
    suppressed = np.zeros(len(table), dtype=bool)
    suppressed[[table.index(label) for label in SQUARE]] = True
    return suppress(problem, suppressed)


def levels_as_intervals(found: Protection) -> Protection:
    """The same with the protection interval of every sensitive cell published, and nothing about the others."""
    problem, value, suppressed = found.problem, found.problem.table.value, found.suppressed
    sensitive = problem.lower > 0
    low = np.where(sensitive, value - problem.lower, -np.inf)
    high = np.where(sensitive, value + problem.upper, np.inf)
    ends = (np.where(suppressed, end, value) for end in (low, high))
    return publish_intervals(problem, np.where(suppressed, np.nan, value), *ends, cost=0.0)
