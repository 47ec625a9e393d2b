"""Whole-number bounds against a list of all whole tables, and against the linear programs they narrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from discreet.attackers import Attacker
from discreet.audit import audit, narrowed
from discreet.audit.integer_audit import integer_bounds
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import TableError
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.testing import cross_table, pose, random_hierarchy, random_table, suppressing


def whole_tables(protection: Protection, who: Attacker) -> np.ndarray:
    """Every whole table that agrees with what is published and known, one a row; cell by cell, with a look ahead."""
    table = protection.problem.table
    first = np.ceil(np.maximum(protection.lower, who.lower) - 1e-9)
    last = np.floor(np.minimum(protection.upper, who.upper) + 1e-9)
    dense = table.relations.toarray()
    cells = np.argsort(last - first, kind="stable")  # what is known comes first

    def extend(known: list[float], place: int, sums: np.ndarray) -> Iterator[list[float]]:
        if place == len(cells):
            yield known
            return
        cell, rest = cells[place], cells[place + 1 :]
        least = np.minimum(dense[:, rest] * first[rest], dense[:, rest] * last[rest]).sum(axis=1)
        most = np.maximum(dense[:, rest] * first[rest], dense[:, rest] * last[rest]).sum(axis=1)
        for value in np.arange(first[cell], last[cell] + 1):
            new = sums + dense[:, cell] * value
            if np.all(new + least <= table.rhs) and np.all(new + most >= table.rhs):
                yield from extend([*known, value], place + 1, new)

    found = np.array(list(extend([], 0, np.zeros(len(dense)))))
    return found[:, np.argsort(cells)]


def weighted(rng: np.random.Generator) -> Table:
    """Cells tied by relations with weights up to 3, as after replacing totals: here whole tables are far between."""
    matrix = rng.integers(-3, 4, (int(rng.integers(1, 4)), 7)).astype(float)
    value = rng.integers(0, 6, 7).astype(float)
    names = tuple("pqrstuv")
    return Table({}, np.zeros((0, 7)), value, sparse.csr_array(matrix), names=names, rhs=matrix @ value)


TABLES = {
    "2-D": lambda rng: random_table(rng, (3, 3), values="integer", zeros=0.3),
    "2-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 3), values="integer"),
    "3-D": lambda rng: random_table(rng, (2, 3, 3), values="integer", zeros=0.3),
    "3-D, cube": lambda rng: random_table(rng, (3, 3, 3), values="integer", zeros=0.4),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 5, levels=2, trees=2), 2), values="integer"),
    "negative": lambda rng: random_table(rng, (2, 2, 3), values="integer", negative=0.3),
    "weighted": weighted,
}
SUPPRESSED = {"3-D": 0.9, "3-D, cube": 0.85, "negative": 1.0, "weighted": 1.0}  # share of the finest cells


def case(kind: str, seed: int) -> tuple[Problem, Protection]:
    """Some cells suppressed, known to within a few units that need not be whole; some published as intervals."""
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    table = TABLES[kind](rng)
    n, value = len(table), table.value
    suppressed = rng.random(n) < np.where(table.is_base, SUPPRESSED.get(kind, 0.75), 0.15)
    narrow = suppressed & (rng.random(n) < 0.2)
    status = np.where(suppressed, np.where(rng.random(n) < 0.7, Status.PRIMARY, Status.SUPPRESSED), Status.FREE)
    levels = rng.choice([0.0, 0.5, 1.0, 2.0], (3, n)) * (status == Status.PRIMARY)
    below, above = rng.choice([0.4, 1.0, 1.5, 2.0, 3.7], (2, n))
    problem = Problem(table, status, np.ones(n), *levels, value - below, value + above, least_width=np.zeros(n))
    protection = suppress(problem, suppressed)
    return problem, replace(
        protection,
        lower=np.where(narrow, value - rng.choice([0.0, 0.7, 1.0, 2.6], n), protection.lower),
        upper=np.where(narrow, value + rng.choice([0.0, 0.7, 1.0, 2.6], n), protection.upper),
    )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", TABLES)
def test_bounds_are_those_of_a_list_of_all_whole_tables(kind, seed):
    problem, protection = case(kind, seed)
    suppressed = np.flatnonzero(protection.suppressed)
    linear = audit(problem, protection, cells=suppressed)
    found = narrowed(linear, protection)
    tables = whole_tables(protection, problem.attackers()[0])
    assert found.lower.tolist() == tables[:, suppressed].min(axis=0).tolist()
    assert found.upper.tolist() == tables[:, suppressed].max(axis=0).tolist()
    # Never wider than without whole numbers, and said to differ exactly where it does.
    assert (found.lower >= linear.lower - 1e-6).all()
    assert (found.upper <= linear.upper + 1e-6).all()
    apart = np.maximum(np.abs(found.lower - linear.lower), np.abs(found.upper - linear.upper))
    assert found.differs.tolist() == (apart > 1e-6).tolist()
    # Verdicts follow from these bounds and the levels, and no cell is safer than before.
    value = problem.table.value[suppressed]
    down, up = value - found.lower, found.upper - value
    published = (protection.lower == protection.upper)[suppressed] & (problem.status[suppressed] == Status.PRIMARY)
    enough = (
        (down >= problem.lower[suppressed])
        & (up >= problem.upper[suppressed])
        & (down + up >= problem.sliding[suppressed])
    )
    assert found.safe.tolist() == (enough & ~published).tolist()
    assert not (found.safe & ~linear.safe).any()


# -- the example of the documentation -------------------------------------------------------------------------


CUBE = [
    [[1, 1, 0], [2, 0, 1], [2, 0, 1]],
    [[2, 1, 2], [1, 1, 2], [1, 1, 0]],
    [[2, 2, 0], [2, 1, 0], [1, 0, 0]],
]
HIDDEN_IN_CUBE = "112 113 121 123 131 132 211 213 221 222 223 231 232 311 312 321 322"


def three_way(inner: np.ndarray) -> Table:
    """A three-way table with all its totals."""
    padded = np.pad(inner, [(1, 0)] * 3)
    for axis in range(3):
        total = [slice(None)] * 3
        total[axis] = slice(0, 1)
        padded[tuple(total)] = padded.sum(axis=axis, keepdims=True)
    dimensions = {name: Hierarchy.flat(f"{name}{i + 1}" for i in range(3)) for name in "abc"}
    return Table.from_cells(dimensions, np.indices(padded.shape).reshape(3, -1), padded.ravel()).check_additive()


def label(cell: str) -> str:
    return " × ".join(name + code for name, code in zip("abc", cell, strict=True))


@pytest.fixture
def cube() -> Problem:
    """Three ways of three codes, all totals published, 17 of 27 inner cells suppressed, one of them protected."""
    problem = pose(three_way(np.array(CUBE)), {label("221"): (1.0, 0.0)})
    status = problem.status.copy()
    cells = [problem.table.index(label(cell)) for cell in HIDDEN_IN_CUBE.split()]
    status[cells] = np.where(problem.status[cells] == Status.PRIMARY, Status.PRIMARY, Status.SUPPRESSED)
    return problem.with_columns(status=status, least_width=np.zeros(len(problem)))


def test_three_dimensions_can_be_safe_for_any_numbers_and_open_for_whole_ones(cube):
    """Found by random search. The only way to move takes 2 off a cell that holds 1: half of it is possible, no whole one."""
    protection = suppressing(cube)
    linear = audit(cube, protection, cells=np.flatnonzero(protection.suppressed))
    assert linear.passed
    assert linear.interval(label("221")) == pytest.approx((0, 1))
    assert sorted(np.round(linear.upper - linear.lower, 6)) == [0.5] * 16 + [1.0]
    found = narrowed(linear, protection)
    assert found.exposed == [label("221")]
    assert found.differs.all()
    assert found.lower.tolist() == found.upper.tolist() == cube.table.value[linear.cell].tolist()
    reader = Attacker("reader", cube.prior_lower, np.full(len(cube), cube.table.value.max()))
    assert len(whole_tables(protection, reader)) == 1


def test_the_only_move_of_the_example_is_half_a_step(cube):
    cells = np.flatnonzero(suppressing(cube).suppressed)
    matrix = cube.table.relations.toarray()[:, cells]
    assert np.linalg.matrix_rank(matrix) == len(cells) - 1
    move = np.linalg.svd(matrix)[2][-1]
    move /= -np.abs(move).min() * np.sign(move[cells.tolist().index(cube.table.index(label("221")))])
    assert sorted(np.round(move, 6)) == [-2.0] + [-1.0] * 7 + [1.0] * 9


# -- what is special -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_two_ways_and_whole_bounds_change_nothing(seed):
    """The relations of a two-way table form a network: its extreme tables are whole."""
    rng = np.random.default_rng(seed)
    table = cross_table("abcd", "vwxyz", rng.integers(0, 30, (4, 5)))
    problem = pose(table, dict.fromkeys(table.labels(np.flatnonzero(table.is_base)), 1.0))
    protection = suppressing(problem, *rng.choice(table.labels(np.flatnonzero(~table.is_base)), 3, replace=False))
    linear = audit(problem, protection)
    found = narrowed(linear, protection)
    assert not found.differs.any()
    assert found.safe.tolist() == linear.safe.tolist()


def test_bounds_without_end_stay_without_end():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    problem = pose(table, {"a × c": 1.0}, lower=-np.inf)
    protection = suppressing(problem, "a × d", "b × c", "b × d", "Total × c")
    found = narrowed(audit(problem, protection), protection)
    assert (found.lower[0], found.upper[0]) == (-np.inf, np.inf)


def test_a_range_known_beforehand_is_rounded_inwards():
    """Known to lie between 4.6 and 5.4, a count is 5, and its neighbours are known with it."""
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    problem = pose(table, {"a × c": 0.3, "a × d": 0.3})
    known = table.value[table.index("a × c")] + np.array([-0.4, 0.4])
    lower, upper = problem.prior_lower.copy(), problem.prior_upper.copy()
    lower[table.index("a × c")], upper[table.index("a × c")] = known
    problem = problem.with_columns(prior_lower=lower, prior_upper=upper, least_width=np.zeros(len(table)))
    protection = suppressing(problem, "b × c", "b × d")
    linear = audit(problem, protection)
    assert linear.passed
    found = narrowed(linear, protection)
    assert found.lower.tolist() == found.upper.tolist() == [5, 6]
    assert found.exposed == ["a × c", "a × d"]


@pytest.mark.parametrize("size", [1e6, 1e9, 1e12])
def test_large_counts(size):
    table = cross_table("ab", "cd", [[size, size + 1], [size + 2, size + 3]])
    problem = pose(table, {"a × c": 1.0})
    protection = suppressing(problem, "a × d", "b × c", "b × d")
    found = narrowed(audit(problem, protection), protection)
    assert (found.lower[0], found.upper[0]) == (0, 2 * size + 1)


def test_every_attacker_keeps_to_what_they_know():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    problem = pose(table, {"a × c": 1.0})
    protection = suppressing(problem, "a × d", "b × c", "b × d")
    lower, upper = np.zeros(len(table)), np.full(len(table), np.inf)
    lower[table.index("b × d")], upper[table.index("b × d")] = 6.5, 8.5
    attackers = [*problem.attackers(), Attacker("contributor", lower, upper)]
    linear = audit(problem, protection, attackers=attackers)
    found = narrowed(linear, protection, attackers=attackers)
    assert list(zip(found.lower, found.upper, strict=True)) == [(0, 11), (5, 6)]
    assert found.safe.tolist() == [True, False]
    assert found.frame()["differs"].tolist() == [False, True]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", TABLES)
def test_verdicts_alone_are_those_of_the_exact_intervals(kind, seed):
    problem, protection = case(kind, seed)
    exact, quick = (audit(problem, protection, whole=True, intervals=intervals) for intervals in (True, False))
    assert quick.safe.tolist() == exact.safe.tolist()


def test_tables_of_counts_are_audited_in_whole_numbers(cube):
    counts = cube.with_columns(table=cube.table.with_columns(is_count=True), least_width=np.ones(len(cube)))
    protection = suppressing(counts)
    checked = audit(counts, protection)
    assert checked.linear is not None
    assert not checked.passed
    assert len(checked.exposed) == 17  # also those that were suppressed beforehand
    assert audit(counts, protection, whole=False).linear is None


# -- refusals and looks -----------------------------------------------------------------------------------------


def test_tables_of_other_numbers_are_refused():
    problem = pose(cross_table("ab", "cd", [[5, 6.25], [8, 7]]), {"a × c": 1.0})
    protection = suppressing(problem, "a × d", "b × c", "b × d")
    with pytest.raises(
        TableError, match=r"4 cells are not whole numbers, e.g. .*Leave out --whole, or whole=True"
    ) as caught:
        narrowed(audit(problem, protection), protection)
    assert "a × d" in caught.value.offenders
    assert "6.25" not in str(caught.value)


def test_an_audit_of_something_else_is_refused():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 1.0})
    square = suppressing(problem, "a × d", "b × c", "b × d")
    with pytest.raises(TableError, match="The audit is about another protection or other attackers"):
        narrowed(audit(problem, suppressing(problem)), square)


def test_the_repr_shows_no_values_and_progress_ends_where_it_said(cube):
    class Recorder:
        total, seen = 0, 0

        def stage(self, name: str, total: int) -> None:
            self.total = total

        def update(self, done: int, note: str = "") -> None:
            assert done >= self.seen
            self.seen = done

    recorder = Recorder()
    protection = suppressing(cube)
    found = narrowed(audit(cube, protection), protection, progress=recorder)
    assert repr(found) == "Audit(1 attacker(s), 1 of 1 cells exposed)"
    assert recorder.seen == recorder.total == 1


def test_an_endless_way_up_and_a_width_without_end():
    """Nothing is left to look for on the other side; no number comes of inf − inf."""
    relations = sparse.csr_array(np.array([[1.0, -1.0]]))
    low, high = np.array([-3.0, -3.0]), np.array([np.inf, np.inf])
    reach = np.array([[3.0], [np.inf]])
    with np.errstate(all="raise"):
        found = integer_bounds(relations, low, high, np.array([0]), reach, np.full((3, 1), np.inf))
    assert found.tolist() == [[3.0], [np.inf]]
