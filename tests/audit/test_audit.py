"""The audit's intervals and verdicts against independent routes: plain linear programs, exact flows, enumeration."""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from discreet.attackers import Attacker
from discreet.audit import audit, certificate
from discreet.data.table import Table
from discreet.errors import TableError
from discreet.methods import protect
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection, suppress
from discreet.testing import (
    cross_table,
    infer,
    pose,
    random_hierarchy,
    random_linked_table,
    random_problem,
    random_table,
    suppressing,
)

TABLES = {
    "2-D": lambda rng: random_table(rng, (4, 4)),
    "2-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=3), 3)),
    "2-D, negative": lambda rng: random_table(rng, (4, 3), negative=0.3),
    "3-D": lambda rng: random_table(rng, (3, 3, 3), values="integer", zeros=0.3),
    "3-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 2, 2)),
    "4-D": lambda rng: random_table(rng, (2, 2, 2, 2), values="integer"),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2, trees=2), 3), negative=0.1),
    "linked": random_linked_table,
}
PRIORS = ("sign", "percent", "nothing", "mixed")


def random_protection(rng: np.random.Generator, problem: Problem) -> Protection:
    """A random mix: cells published, suppressed, or published as intervals; no primary is published exactly."""
    n, value, size = len(problem), problem.table.value, problem.table.magnitude
    kind = rng.choice(3, size=n, p=[0.35, 0.45, 0.2])
    kind[problem.status == Status.PUBLISHED] = 0
    must = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED)) & (kind == 0)
    kind[must] = rng.integers(1, 3, size=must.sum())
    protection = suppress(problem, kind > 0)
    lower = np.where(kind == 2, value - rng.uniform(0, 0.5, n) * size, protection.lower)
    upper = np.where(kind == 2, value + rng.uniform(0, 0.5, n) * size, protection.upper)
    return replace(protection, lower=lower, upper=upper)


def case(kind: str, prior: str, seed: int) -> tuple[Problem, Protection]:
    rng = np.random.default_rng([seed, list(TABLES).index(kind), PRIORS.index(prior)])
    problem = random_problem(rng, TABLES[kind](rng), primaries=0.25, sliding=True, prior=prior, already_suppressed=0.05)
    return problem, random_protection(rng, problem)


def close(found: tuple[float, float], expected: tuple[float, float], size: float) -> bool:
    return all(a == b or abs(a - b) <= 1e-5 * max(size, 1.0) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("kind", TABLES)
def test_the_tables_used_here_add_up_and_come_back_with_the_seed(kind):
    problem, protection = case(kind, "mixed", seed=0)
    problem.table.check_additive()
    assert case(kind, "mixed", seed=0)[1].digest == protection.digest
    assert case(kind, "mixed", seed=1)[1].digest != protection.digest


# -- exact intervals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", TABLES)
def test_intervals_are_those_of_one_linear_program_a_bound(kind, prior):
    problem, protection = case(kind, prior, seed=1)
    targets = np.union1d(problem.primaries, np.flatnonzero(protection.suppressed)[:4])
    verdict = audit(problem, protection, cells=targets)
    assert verdict.exact
    for row, cell in enumerate(targets):
        found = verdict.lower[row], verdict.upper[row]
        assert close(found, infer(protection, int(cell)), problem.table.magnitude[cell])


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", ["2-D", "3-D", "not nested"])
def test_intervals_agree_with_an_interior_point_method(kind, prior):
    problem, protection = case(kind, prior, seed=2)
    verdict = audit(problem, protection)
    for row, cell in enumerate(verdict.cell):
        found = verdict.lower[row], verdict.upper[row]
        expected = infer(protection, int(cell), method="highs-ipm")
        assert close(found, expected, problem.table.magnitude[cell])


@pytest.mark.parametrize("seed", range(5))
def test_intervals_agree_with_listing_every_whole_table(seed):
    """3 × 3 suppressed cells, totals published: four determine the rest. In two dimensions the bounds are whole."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(0, 6, (3, 3))
    rows, columns = inner.sum(axis=1), inner.sum(axis=0)
    four = np.array(list(itertools.product(range(16), repeat=4))).reshape(-1, 2, 2)
    third = np.concatenate([four, rows[:2, None] - four.sum(axis=2, keepdims=True)], axis=2)
    tables = np.concatenate([third, columns - third.sum(axis=1, keepdims=True)], axis=1)
    tables = tables[(tables >= 0).all(axis=(1, 2))]
    labels = [f"{r} × {c}" for r in "123" for c in "abc"]
    problem = pose(cross_table("123", "abc", inner), dict.fromkeys(labels, 1.0))
    verdict = audit(problem, suppressing(problem))
    for i, label in enumerate(labels):
        values = tables.reshape(-1, 9)[:, i]
        assert verdict.interval(label) == pytest.approx((values.min(), values.max()))


def flow(protection: Protection, cell: int, sign: int) -> float:
    """How far a cell of a flat two-way table of whole numbers moves, exactly, at any size.

    Cells are arcs between rows and columns, totals run backwards, and a move is a circulation: what goes through the
    cell must come back through the others, so it is the largest flow from the arc's head to its tail.
    """
    table = protection.problem.table
    who = protection.problem.attackers()[0]
    slacks: dict[tuple[str, int], dict[tuple[str, int], float]] = {}
    own = 0.0
    for i, (r, c) in enumerate(table.codes.T.tolist()):
        value = int(table.value[i])
        up, down = (
            math.inf if math.isinf(end) else abs(int(end) - value)
            for end in (min(protection.upper[i], who.upper[i]), max(protection.lower[i], who.lower[i]))
        )
        tail, head = ("row", r), ("column", c)
        if (r == 0) != (c == 0):
            tail, head = head, tail
        if i == cell:
            source, target, own = (head, tail, up) if sign > 0 else (tail, head, down)
            up = down = 0
        slacks.setdefault(tail, {})[head] = up
        slacks.setdefault(head, {})[tail] = down
    moved = 0.0
    while moved < own:
        before = {source: source}
        queue = deque([source])
        while queue and target not in before:
            node = queue.popleft()
            for neighbour, room in slacks[node].items():
                if room > 0 and neighbour not in before:
                    before[neighbour] = node
                    queue.append(neighbour)
        if target not in before:
            break
        path = [target]
        while path[-1] != source:
            path.append(before[path[-1]])
        steps = [(b, a) for a, b in itertools.pairwise(path)]
        least = min(slacks[a][b] for a, b in steps)
        if math.isinf(least):
            return own
        for a, b in steps:
            slacks[a][b] -= least
            slacks[b][a] += least
        moved += least
    return min(own, moved)


def whole_problem(rng: np.random.Generator, spread: float) -> Problem:
    """A flat two-way table of whole numbers from 1 to about 10^spread, with levels just as different."""
    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 5)))
    table = cross_table("abcd"[: shape[0]], "wxyz"[: shape[1]], np.floor(10 ** rng.uniform(0, spread, shape)))
    base = np.flatnonzero(table.is_base)
    chosen = rng.choice(base, size=int(rng.integers(1, min(4, len(base)) + 1)), replace=False)
    levels = {
        label: tuple(np.floor(10 ** rng.uniform(0, np.log10(value) + 0.2, 2)).clip(0, (value, np.inf)).tolist())
        for label, value in zip(table.labels(chosen), table.value[chosen], strict=True)
    }
    return pose(table, levels)


@pytest.mark.parametrize(
    ("spread", "draws"),
    [(1, 15), (6, 15), (12, 15), *(pytest.param(spread, 60, marks=pytest.mark.slow) for spread in (1, 3, 6, 9, 12))],
)
def test_intervals_and_verdicts_are_exact_at_any_size(spread, draws):
    """Levels from 1 up beside values up to 10¹²; the truth is found in whole numbers."""
    rng = np.random.default_rng(spread)
    for _ in range(draws):
        problem = whole_problem(rng, spread)
        suppressed = (rng.random(len(problem)) < 0.5) | (problem.status == Status.PRIMARY)
        protection = suppress(problem, suppressed)
        p = problem.primaries
        down, up = (np.array([flow(protection, int(i), sign) for i in p]) for sign in (-1, 1))
        exact, quick = audit(problem, protection), audit(problem, protection, intervals=False)
        for verdict in (exact, quick):
            assert verdict.safe.tolist() == ((down >= problem.lower[p]) & (up >= problem.upper[p])).tolist()
        value = problem.table.value[p]
        assert np.allclose(exact.lower, value - down, rtol=1e-6, atol=1e-9 * value.max())
        assert np.allclose(exact.upper, value + up, rtol=1e-6, atol=1e-9 * value.max())


# -- verdicts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", TABLES)
def test_the_quick_verdict_is_the_same_and_claims_no_more(kind, prior):
    """Tables met while looking at other cells are credited too, but never beyond the true interval."""
    for seed in range(3, 6):
        problem, protection = case(kind, prior, seed)
        exact, quick = audit(problem, protection), audit(problem, protection, intervals=False)
        assert not quick.exact
        assert quick.safe.tolist() == exact.safe.tolist()
        slack = 1e-6 * np.maximum(problem.table.magnitude[exact.cell], 1.0)
        assert (quick.lower >= exact.lower - slack).all()
        assert (quick.upper <= exact.upper + slack).all()


@pytest.mark.parametrize("kind", TABLES)
def test_verdicts_follow_from_the_levels_and_the_true_intervals(kind):
    problem, protection = case(kind, "sign", seed=7)
    verdict = audit(problem, protection)
    for row, cell in enumerate(verdict.cell):
        lower, upper = infer(protection, int(cell))
        value = problem.table.value[cell]
        spare = [
            value - lower - problem.lower[cell],
            upper - value - problem.upper[cell],
            upper - lower - problem.sliding[cell],
        ]
        if min(map(abs, spare)) > 1e-5:
            assert verdict.safe[row] == (min(spare) > 0)


@pytest.mark.parametrize("kind", TABLES)
def test_hiding_more_never_tells_more(kind):
    problem, _ = case(kind, "sign", seed=8)
    rng = np.random.default_rng(8)
    must = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
    may = problem.status != Status.PUBLISHED
    less = must | (may & (rng.random(len(problem)) < 0.3))
    more = less | (may & (rng.random(len(problem)) < 0.3))
    small, large = (audit(problem, suppress(problem, suppressed)) for suppressed in (less, more))
    slack = 1e-6 * np.maximum(problem.table.magnitude[small.cell], 1.0)
    assert (large.lower <= small.lower + slack).all()
    assert (large.upper >= small.upper - slack).all()


@pytest.mark.parametrize("factor", [1e-3, 1e9, 1e12])
@pytest.mark.parametrize("kind", ["2-D", "2-D, negative", "3-D", "linked"])
def test_the_unit_of_measurement_does_not_matter(kind, factor):
    for seed in range(3):
        problem, protection = case(kind, "mixed", seed)
        table = problem.table.with_columns(
            value=problem.table.value * factor, magnitude=problem.table.magnitude * factor
        )
        names = ("lower", "upper", "sliding", "prior_lower", "prior_upper", "cost")
        scaled = problem.with_columns(table=table, **{name: getattr(problem, name) * factor for name in names})
        columns = {name: getattr(protection, name) * factor for name in ("published", "lower", "upper")}
        other = replace(protection, problem=scaled, **columns)
        before, after = audit(problem, protection), audit(scaled, other)
        assert after.safe.tolist() == before.safe.tolist()
        slack = 1e-6 * max(problem.table.magnitude.max(), 1.0)
        assert after.lower / factor == pytest.approx(before.lower, rel=1e-6, abs=slack)
        assert after.upper / factor == pytest.approx(before.upper, rel=1e-6, abs=slack)


SQUARE = ("a × c", "a × d", "b × c", "b × d")


@pytest.mark.parametrize("size", [1e6, 1e7, 1e9, 1e12])
def test_a_level_of_1_beside_huge_values(size):
    """The cell can move by its own value, up and down: neither less nor for ever."""
    problem = pose(cross_table("ab", "cd", np.full((2, 2), size)), {"a × c": 1.0})
    verdict = audit(problem, suppressing(problem, *SQUARE))
    assert verdict.passed
    assert verdict.interval("a × c") == pytest.approx((0, 2 * size))


@pytest.mark.parametrize("size", [1e6, 1e8, 1e9, 1e12])
@pytest.mark.parametrize("turned", [False, True])
def test_small_levels_do_not_make_a_large_one_look_reached(size, turned):
    """Up is limited by the 3 % cells, so the large cell, which needs 10 %, is exposed whatever else is at stake."""
    values = np.array([[size, 0.03 * size], [0.03 * size, size]])
    large, small, other = ("a × d", "a × c", "b × d") if turned else ("a × c", "a × d", "b × c")
    table = cross_table("ab", "cd", values[:, ::-1] if turned else values)
    problem = pose(table, {large: 0.1 * size, small: 1.0, other: 1.0})
    protection = suppressing(problem, *SQUARE)
    for intervals in (True, False):
        assert audit(problem, protection, intervals=intervals).exposed == [large]
    assert audit(problem, protection).interval(large) == pytest.approx((0, 1.03 * size))


@pytest.mark.parametrize("totals", [(), ("Total × c", "Total × d")])
def test_room_for_huge_moves_does_not_blur_small_ones(totals):
    """The cell may lie anywhere from 0 to 49,425,507. Suppressing two totals besides gives others room, and takes none."""
    table = cross_table("ab", "cd", [[1784, 49423723], [273277, 940593275034]])
    problem = pose(table, {"a × c": 13.0})
    protection = suppressing(problem, *SQUARE, *totals)
    cell = table.index("a × c")
    assert flow(protection, cell, -1) == 1784
    assert flow(protection, cell, 1) == (49423723 if totals else 273277)
    for intervals in (True, False):
        assert audit(problem, protection, intervals=intervals).passed


@pytest.mark.parametrize("size", [1e3, 1e9, 1e12])
def test_a_small_cell_pinned_among_huge_ones(size):
    """The small cell is alone in its row: that everything else moves freely is no protection."""
    table = cross_table("abe", "cd", [[size, size], [size, size], [5, 7]])
    problem = pose(table, {"e × c": 1.0, "a × c": 1.0})
    verdict = audit(problem, suppressing(problem, *SQUARE))
    assert verdict.interval("e × c") == pytest.approx((5, 5))
    assert verdict.exposed == ["e × c"]


# -- odd tables -----------------------------------------------------------------------------------------------


def bare(value: list[float], relations: list[list[float]]) -> Table:
    n = len(value)
    matrix = sparse.csr_array(np.array(relations, dtype=float).reshape(-1, n))
    return Table({}, np.zeros((0, n)), np.array(value, dtype=float), matrix, names=tuple("pqrstuvw"[:n]))


def test_redundant_relations_change_nothing():
    problem, protection = case("3-D", "mixed", seed=1)
    table = problem.table
    rng = np.random.default_rng(0)
    mixed = sparse.csr_array(rng.integers(-1, 2, (5, table.relations.shape[0])).astype(float)) @ table.relations
    more = sparse.csr_array(sparse.vstack([table.relations, table.relations, mixed], format="csr"))
    redundant = problem.with_columns(table=table.with_columns(relations=more, rhs=None))
    before, after = audit(problem, protection), audit(redundant, replace(protection, problem=redundant))
    assert after.lower == pytest.approx(before.lower, abs=1e-6)
    assert after.upper == pytest.approx(before.upper, abs=1e-6)


def test_constants_in_relations_change_nothing():
    """q + r = 10 with the total left out of the table says as much as a published total."""
    table = bare([4, 6], [[1, 1]]).with_columns(rhs=np.array([10.0]))
    problem = pose(table, {"p": 4.0})
    assert audit(problem, suppressing(problem, "q")).interval("p") == pytest.approx((0, 10))


@pytest.mark.parametrize(("lower", "upper"), [(0.0, np.inf), (-np.inf, np.inf), (0.0, 12.0)])
def test_a_cell_outside_all_relations_is_known_as_well_as_before(lower, upper):
    problem = pose(bare([5, 3, 2, 9], [[-1, 1, 1, 0]]), {"s": 1.0, "q": 1.0}, lower=lower, upper=upper)
    verdict = audit(problem, suppressing(problem, "r"))
    assert verdict.interval("s") == pytest.approx((lower, upper))
    assert verdict.passed


def test_a_table_without_relations():
    problem = pose(bare([5, 7], []), {"p": 1.0}, upper=20.0)
    assert audit(problem, suppressing(problem)).interval("p") == pytest.approx((0, 20))
    assert audit(problem, suppressing(problem, "q")).interval("p") == pytest.approx((0, 20))


def test_hidden_zeros_give_room_upwards_only():
    problem = pose(cross_table("ab", "cd", [[5, 0], [0, 7]]), {"a × c": (0.0, 0.0, 1.0)})
    assert audit(problem, suppressing(problem, *SQUARE)).interval("a × c") == pytest.approx((0, 5))
    problem = pose(cross_table("ab", "cd", [[0, 5], [7, 0]]), {"a × c": (0.0, 5.0)})
    verdict = audit(problem, suppressing(problem, *SQUARE))
    assert verdict.interval("a × c") == pytest.approx((0, 5))
    assert verdict.passed


def test_a_zero_that_must_be_protected_and_is_pinned():
    problem = pose(cross_table("ab", "cd", [[0, 5], [7, 3]]), {"a × c": (0.0, 1.0)})
    assert audit(problem, suppressing(problem)).exposed == ["a × c"]


def test_nothing_hidden_and_nothing_to_protect():
    table = cross_table("ab", "cd", [[5, 1], [2, 7]])
    problem = pose(table, {})
    verdict = audit(problem, suppressing(problem))
    assert verdict.passed
    assert len(verdict.cell) == 0
    assert audit(problem, suppressing(problem), cells=[table.index("a × c")]).interval("a × c") == (5, 5)


def test_a_primary_published_as_it_is_is_exposed():
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {"a × c": 1.0})
    value = problem.table.value
    everything = replace(
        suppressing(problem),
        decision=np.full(len(value), Decision.PUBLISHED),
        published=value,
        lower=value,
        upper=value,
    )
    verdict = audit(problem, everything)
    assert verdict.exposed == ["a × c"]
    assert verdict.interval("a × c") == (5, 5)


def test_an_interval_that_is_published_is_all_a_reader_may_believe():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": (2.0, 3.0)})
    square = suppressing(problem, *SQUARE)
    cell = problem.table.index("a × c")
    for low, high, safe in [(3, 8, True), (3.01, 8, False), (3, 7.99, False)]:
        lower, upper = square.lower.copy(), square.upper.copy()
        lower[cell], upper[cell] = low, high
        verdict = audit(problem, replace(square, lower=lower, upper=upper))
        assert verdict.interval("a × c") == pytest.approx((low, high))
        assert verdict.passed is safe


def test_sliding_levels_ask_for_width_wherever_it_lies():
    table = cross_table("ab", "cd", [[5, 6], [6, 5]])
    for sliding, safe in [(11, True), (11.001, False)]:
        problem = pose(table, {"a × c": (0.0, 0.0, sliding)})
        for intervals in (True, False):
            assert audit(problem, suppressing(problem, *SQUARE), intervals=intervals).passed is safe


# -- several attackers ----------------------------------------------------------------------------------------


def test_every_attacker_is_audited_with_what_they_know():
    problem, protection = case("2-D", "sign", seed=9)
    rng = np.random.default_rng(9)
    value, size = problem.table.value, problem.table.magnitude
    insider = Attacker(
        "insider", value - rng.uniform(0, 1, len(value)) * size, value + rng.uniform(0, 1, len(value)) * size
    )
    everyone = [*problem.attackers(), insider]
    verdict = audit(problem, protection, attackers=everyone)
    assert verdict.attackers == ("outsider", "insider")
    assert len(verdict.cell) == 2 * len(problem.primaries)
    for cell, label in zip(problem.primaries, problem.table.labels(problem.primaries), strict=True):
        for who in everyone:
            found = verdict.interval(label, attacker=who.name)
            assert close(found, infer(protection, int(cell), who), size[cell])
    assert set(verdict.frame()["attacker"]) == {"outsider", "insider"}


def test_one_attacker_who_learns_too_much_is_enough():
    table = cross_table("ab", "cd", [[10, 5], [7, 8]])
    problem = pose(table, {"a × c": 2.0})
    square = suppressing(problem, *SQUARE)
    lower, upper = np.zeros(len(table)), np.full(len(table), np.inf)
    lower[table.index("a × d")] = 4.0  # contributes 4 of these 5: only 1 is left to move up by
    contributor = Attacker("contributor", lower, upper)
    assert audit(problem, square).passed
    verdict = audit(problem, square, attackers=[*problem.attackers(), contributor])
    assert verdict.exposed == ["a × c"]
    assert not verdict.passed
    assert verdict.interval("a × c", attacker="contributor") == pytest.approx((2, 11))
    assert verdict.interval("a × c") == pytest.approx((2, 15))


# -- refusals and looks ---------------------------------------------------------------------------------------


def test_a_protection_of_another_problem_is_refused():
    table = cross_table("ab", "cd", [[5, 1], [2, 7]])
    one, other = pose(table, {"a × c": 1.0}), pose(table, {"a × c": 1.5})
    with pytest.raises(TableError, match=r"The protection belongs to another problem. Audit it with the problem"):
        audit(one, suppressing(other, *SQUARE))


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_published_intervals_without_the_truth_are_refused(side):
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {"a × c": 1.0})
    square = suppressing(problem, *SQUARE)
    cell = problem.table.index("b × d")
    ends = getattr(square, side).copy()
    ends[cell] = 7.25 if side == "lower" else 6.75
    with pytest.raises(TableError, match="without the true value: 'b × d'") as caught:
        audit(problem, replace(square, **{side: ends}))
    assert caught.value.offenders == ["b × d"]
    assert "7.25" not in str(caught.value)
    assert "6.75" not in str(caught.value)


def test_cells_that_were_not_audited_have_no_interval():
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {"a × c": 1.0})
    verdict = audit(problem, suppressing(problem, *SQUARE))
    with pytest.raises(TableError, match="'b × d' was not audited"):
        verdict.interval("b × d")


def test_the_frame_has_one_row_a_cell_and_the_repr_no_values():
    problem = pose(cross_table("ab", "cd", [[5123, 1234], [2345, 7456]]), {"a × c": (2000.0, 3.0)})
    verdict = audit(problem, suppressing(problem))
    frame = verdict.frame()
    assert list(frame) == ["cell", "value", "lower", "upper", "required_lower", "required_upper", "safe"]
    assert frame.iloc[0].tolist() == ["a × c", 5123, 5123, 5123, 3123, 5126, False]
    assert repr(verdict) == "Audit(1 attacker(s), 1 of 1 cells exposed)"


def test_progress_ends_where_it_said_it_would():
    class Recorder:
        def __init__(self) -> None:
            self.total = 0
            self.seen: list[int] = []

        def stage(self, name: str, total: int) -> None:
            self.total = total

        def update(self, done: int, note: str = "") -> None:
            self.seen.append(done)

    recorder = Recorder()
    problem, _ = case("3-D", "sign", seed=1)
    audit(problem, protect(problem), progress=recorder)
    assert recorder.seen == sorted(recorder.seen)
    assert recorder.seen[-1] == recorder.total == len(problem.primaries)


# -- numbers of very different size -------------------------------------------------------------------------------


def beside(large: float, slack: float, level: float) -> tuple[Problem, Protection]:
    """Cell q is suppressed beside p, which every attacker knows to within ``slack``."""
    table = bare([large, 7.0, large + 7.0], [[1, 1, -1]])
    none, need = np.zeros(3), np.array([0, level, 0])
    prior = np.array([large - slack, 0, 0]), np.array([large + slack, np.inf, np.inf])
    problem = Problem(table, np.array([0, 1, 0]), np.ones(3), need, need, none, *prior, least_width=none)
    return problem, suppress(problem, np.array([True, True, False]))


@pytest.mark.parametrize("intervals", [True, False])
@pytest.mark.parametrize(("large", "room"), [(2e13, 5), (1e15, 0.5), (2**52, 1), (100, 1e-9), (1, 1e-13)])
def test_what_is_not_known_exactly_is_not_known(large, room, intervals):
    """However small a share of a large number is not known: a small cell beside it needs no more."""
    for share in (0.9, 1.1):
        problem, protection = beside(large, room, share * room)
        checked = audit(problem, protection, intervals=intervals, certify=True)
        assert checked.passed == (share < 1)
        assert certificate(checked, protection)["safe"] == checked.passed
        if intervals:
            assert checked.interval("q") == pytest.approx((7 - room, 7 + room), rel=1e-3 * room)


def test_decimals_beside_large_numbers_are_subtracted_as_certificates_do():
    """10000000000000.002 is as near as floats get to 10¹³ + 0.001: 0.002 above 10¹³ on paper, 0.001953125 for floats."""
    table = bare([1e13 + 0.001, 5.0, 1e13 + 5.001], [[1, 1, -1]])
    prior = np.array([1e13, 0, 0]), np.array([1e13 + 0.003, np.inf, np.inf])
    for level, safe in ((0.00196, True), (0.00201, False)):
        need = np.array([0, level, 0])
        problem = Problem(
            table, np.array([0, 1, 0]), np.ones(3), need, need, np.zeros(3), *prior, least_width=np.zeros(3)
        )
        protection = suppress(problem, np.array([True, True, False]))
        checked = audit(problem, protection, certify=True)
        assert checked.passed == certificate(checked, protection)["safe"] == safe
        assert checked.interval("q") == (4.998, 5.002)


@pytest.mark.parametrize("seed", range(10))
def test_the_truth_lies_in_every_interval_and_no_end_beyond_what_was_known(seed):
    """Ends are rounded as the table's numbers are, which for 8 · 10¹² and six decimals is beyond what floats can tell."""
    rng = np.random.default_rng(seed)
    inner = np.round(10 ** rng.uniform(-3, 13, (3, 3)), rng.integers(0, 7))
    table = cross_table("abc", "xyz", inner)
    room = np.where(rng.random((2, len(table))) < 0.5, 10 ** rng.uniform(-9, 3, (2, len(table))), np.inf)
    lower, upper = np.maximum(table.value - room[0], 0.0), table.value + room[1]
    problem = pose(table, {}).with_columns(prior_lower=lower, prior_upper=upper)
    protection = suppress(problem, rng.random(len(table)) < 0.6)
    checked = audit(problem, protection, cells=np.arange(len(table)))
    assert (lower <= checked.lower).all()
    assert (checked.lower <= table.value).all()
    assert (table.value <= checked.upper).all()
    assert (checked.upper <= upper).all()


def test_half_of_a_large_whole_number_is_not_rounded_away():
    """2p = q: p goes up by a half where q goes up by one, and is not known for that."""
    table = bare([8e12, 1.6e13], [[2, -1]])
    prior = np.array([0, 1.6e13]), np.array([np.inf, 1.6e13 + 1])
    problem = Problem(table, np.array([1, 0]), np.ones(2), *np.zeros((3, 2)), *prior)
    assert audit(problem, suppress(problem, np.ones(2, bool))).interval("p") == (8e12, 8e12 + 0.5)
