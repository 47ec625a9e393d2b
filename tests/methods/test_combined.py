"""Several ways in one table: as cheap as trying all choices says it can be, the pure methods as special cases, always safe."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from tests.helpers.fixed import secret
from tests.helpers.interrupt import Interrupt
from tests.helpers.small import insiders, need_protection_if_hidden, small_problem

from discreet.arrays import BoolArray
from discreet.audit import audit
from discreet.errors import InputError, NoSafePatternError, RuleError
from discreet.io.pattern import read_pattern, write_pattern
from discreet.jobs.job import run_job
from discreet.jobs.job_file import read_job
from discreet.methods import protect, with_options
from discreet.methods.combined.combined import Combined, rounded
from discreet.methods.combined.treatments import WORDS, select
from discreet.methods.intervals.choices import Completer
from discreet.methods.intervals.intervals import Intervals
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection
from discreet.testing import cross_table, pose, random_hierarchy, random_linked_table, random_problem, random_table

TABLES = (
    lambda rng: random_table(rng, (4, 4)),
    lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=3), 3)),
    lambda rng: random_table(rng, (4, 3), negative=0.3),
    lambda rng: random_table(rng, (3, 3, 2), values="integer"),
    lambda rng: random_table(rng, (2, 2, 2, 2)),
    lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2, trees=2), 3)),
    random_linked_table,
)
PRIORS = ("sign", "percent", "nothing", "mixed")


def solved(problem: Problem, method: str | Method, **options) -> Protection | None:
    try:
        return protect(problem, method, **options)
    except NoSafePatternError:
        return None


def check(problem: Problem, found: Protection, ways: list[str] | None = None) -> None:
    """Safe from everybody, true, honestly counted, and every cell told the way it should be."""
    value, status = problem.table.value, problem.status
    assert audit(problem, found, intervals=False).passed
    assert ((found.lower <= value) & (value <= found.upper)).all()
    assert np.array_equal(found.published[status == Status.PUBLISHED], value[status == Status.PUBLISHED])
    assert found.suppressed[status == Status.SUPPRESSED].all()
    assert found.report.bound is None or found.report.bound <= found.report.cost * (1 + 1e-7) + 1e-9
    if ways is None:
        return
    nothing, exactly = np.isinf(found.lower) & np.isinf(found.upper), found.lower == found.upper
    for way, ok in {
        "publish": exactly,
        "suppress": nothing | exactly,
        "interval": np.isfinite(found.lower) & np.isfinite(found.upper) & (exactly | found.suppressed),
        "round": np.isin(found.decision, [Decision.PUBLISHED, Decision.ADJUSTED]),
    }.items():
        assert ok[(np.array(ways) == way) & (status != Status.SUPPRESSED)].all(), way


# -- all cells alike: the pure methods ------------------------------------------------------------------------


def suppression_costs_the_same(seeds: range) -> int:
    both = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        problem = small_problem(rng, TABLES[seed % len(TABLES)](rng), seed)
        found, best = solved(problem, Combined(suppress="all")), solved(problem, "optimal")
        assert (found is None) is (best is None)
        if found is not None and best is not None:
            check(problem, found)
            assert found.only_suppresses
            assert found.report.cost == pytest.approx(best.report.cost, rel=1e-6, abs=1e-9)
            assert found.report.status == "optimal"
            both += 1
    return both


def test_suppression_alone_costs_what_optimal_costs():
    assert suppression_costs_the_same(range(4)) >= 1


@pytest.mark.slow
def test_suppression_alone_costs_what_optimal_costs_in_many_problems():
    assert suppression_costs_the_same(range(4, 150)) >= 40


def test_suppression_alone_costs_what_the_first_model_costs():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, random_table(rng, (3, 3)), primaries=0.2, must_publish=0.0)
        found, best = solved(problem, "combined"), solved(problem, "first-model")
        assert (found is None) is (best is None)
        if found is not None and best is not None:
            assert found.report.cost == pytest.approx(best.report.cost)


def intervals_cost_the_same(seeds: range) -> int:
    both = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        problem = random_problem(
            rng, TABLES[seed % len(TABLES)](rng), prior=PRIORS[seed % 4], sliding=seed % 2 == 1, already_suppressed=0.05
        )
        if seed % 3 == 1:
            problem = problem.with_columns(others=insiders(rng, problem))
        if seed % 4 == 2:
            problem = need_protection_if_hidden(rng, problem)
        # Only the whole program is exact about levels that count once a cell gets an interval.
        conditional = any(problem.levels(who)[:, problem.free].any() for who in problem.attackers())
        found = solved(problem, Combined(interval="all", exact=True))
        try:
            best = protect(problem, "intervals-first-model" if conditional else Intervals(exact=True))
        except NoSafePatternError as error:
            if "too narrow" in str(error):  # its one large program is less precise: no second opinion
                continue
            best = None
        assert (found is None) is (best is None)
        if found is not None and best is not None:
            check(problem, found, ["interval"] * len(problem))
            assert found.report.bound == pytest.approx(best.report.bound, rel=1e-5, abs=1e-6)
            assert found.report.status == "optimal"
            both += 1
    return both


def test_intervals_alone_cost_what_intervals_cost():
    assert intervals_cost_the_same(range(6)) >= 2


@pytest.mark.slow
def test_intervals_alone_cost_what_intervals_cost_in_many_problems():
    assert intervals_cost_the_same(range(6, 100)) >= 40


def test_options_of_intervals_mean_the_same():
    rng = np.random.default_rng(1)
    problem = random_problem(rng, random_table(rng, (4, 3)), primaries=0.2, must_publish=0.0)
    options = {"up": 2.0, "down": 0.5, "width": 0.3, "at_most": 9}
    found, same = (
        protect(problem, Combined(interval="all", exact=True, **options)),
        protect(problem, Intervals(exact=True, **options)),
    )
    assert found.report.bound == pytest.approx(same.report.bound, rel=1e-5)


# -- mixtures, by trying all choices --------------------------------------------------------------------------


@dataclass
class ManualStatus:
    """One linear program for scipy for each choice of cells, from nothing but the problem."""

    problem: Problem
    ways: list[str]
    base: float
    at_most: int | None = None

    def __post_init__(self) -> None:
        p, value = self.problem, self.problem.table.value
        self.way = np.array(self.ways)
        self.free, self.primary = p.status == Status.FREE, p.status == Status.PRIMARY
        self.rounds = (self.way == "round") & (self.free | self.primary)
        self.shown = np.where(self.rounds, self.base * np.floor(value / self.base + 0.5), value)
        # Whole figures that are rounded to what is shown: all near it are tried.
        near = [
            [t for t in np.arange(s - self.base, s + self.base + 1) if self.base * np.floor(t / self.base + 0.5) == s]
            for s in self.shown
        ]
        self.low = np.where(self.rounds, [min(n, default=0) for n in near], value)
        self.high = np.where(self.rounds, [max(n, default=0) for n in near], value)
        asked = np.array([p.levels(who).any(axis=0) for who in p.attackers()]).any(axis=0)
        choice = (self.way == "suppress") | ((self.way == "interval") & (asked | (self.at_most is not None)))
        self.choices = np.flatnonzero(self.free & choice)

    def best(self) -> float:
        best, p = np.inf, self.problem
        forced = (self.primary | self.rounds).sum()
        change = np.abs(self.shown - p.table.value) / np.where(p.table.value != 0, np.abs(p.table.value), 1)
        for choice in product([False, True], repeat=len(self.choices)):
            chosen = np.zeros(len(p), dtype=bool)
            chosen[self.choices] = choice
            suppressed = (self.way == "suppress") & (chosen | self.primary | (p.status == Status.SUPPRESSED))
            cost = (p.cost * change).sum() + p.cost[suppressed].sum()
            if cost < best and (self.at_most is None or forced + sum(choice) <= self.at_most):
                best = min(best, cost + self._widths(chosen))
        return float(best)

    def _widths(self, chosen: BoolArray) -> float:
        """What intervals cost; infinite if nothing protects all cells."""
        p, value, n = self.problem, self.problem.table.value, len(self.problem)
        told = np.isin(np.arange(n), self.choices) & ~chosen
        wide = (self.way == "interval") & (self.primary | self.free) & ~told
        out = (p.status == Status.SUPPRESSED) | ((self.way == "suppress") & (self.primary | chosen))
        weight = np.where(wide, p.cost / np.where(value != 0, np.abs(value), 1.0), 0.0)
        asked = self.primary | (self.free & (self.rounds | chosen))
        flows, rows = [], []
        for who in p.attackers():
            low, high = np.minimum(who.lower - value, 0), np.maximum(who.upper - value, 0)
            low, high = (
                np.where(self.rounds, f(a, b - value), a)
                for f, a, b in ((np.maximum, low, self.low), (np.minimum, high, self.high))
            )
            slack = [np.where(out | wide | self.rounds, part, 0.0) for part in (low, high)]
            for cell in np.flatnonzero(asked):
                lower, upper, sliding = p.levels(who)[:, cell]
                for signs, level in (((-1,), lower), ((1,), upper), ((-1, 1), sliding)):
                    if level > 0:
                        rows.append(([(len(flows) + k, cell, sign) for k, sign in enumerate(signs)], level))
                        flows += [slack] * len(signs)
        k, m = len(flows), p.table.relations.shape[0]
        eye, every, once = sparse.eye_array(n, format="csr"), sparse.eye_array(k, format="csr"), np.ones((k, 1))
        shown = sparse.csr_array(eye[np.flatnonzero(wide)])
        down, up = (sparse.kron(np.array([side]), shown) for side in ((1, 0), (0, 1)))
        requirement = sparse.lil_array((len(rows), 2 * n + n * k))
        for r, (terms, _) in enumerate(rows):
            for f, cell, sign in terms:
                requirement[r, 2 * n + f * n + cell] = -sign
        tick = np.where(wide & self.primary, 1.0, 0.0)
        above = [
            sparse.hstack([sparse.kron(once, -down), sparse.kron(every, -shown)]),
            sparse.hstack([sparse.kron(once, -up), sparse.kron(every, shown)]),
            requirement,
            sparse.hstack([-eye, -eye, sparse.csr_array((n, n * k))]),
        ]
        bounds = [(0, None)] * (2 * n) + [
            (max(a, -1e5), min(b, 1e5)) for low, high in flows for a, b in zip(low, high, strict=True)
        ]
        found = linprog(
            np.r_[weight, weight, np.zeros(n * k)],
            A_ub=sparse.csr_array(sparse.vstack(above)),
            b_ub=np.r_[np.zeros(2 * shown.shape[0] * k), [-level for _, level in rows], -tick],
            A_eq=sparse.hstack([sparse.csr_array((m * k, 2 * n)), sparse.kron(every, p.table.relations)], format="csr"),
            b_eq=np.zeros(m * k),
            bounds=bounds,
        )
        return float(found.fun) if found.status == 0 else np.inf


def tiny(seed: int) -> tuple[Problem, list[str], int | None]:
    """Whole numbers, at most seven cells about which there is something to decide, everything else by chance."""
    rng = np.random.default_rng(seed)
    shape = ((3, 3), (3, 2), (2, 2, 2), (4, 2))[seed % 4]
    problem = random_problem(
        rng,
        random_table(rng, shape, values="integer", zeros=0.0),
        primaries=0.25,
        prior=PRIORS[seed % 4],
        sliding=seed % 2 == 1,
        must_publish=0.0,
        already_suppressed=0.1 * (seed % 5 == 0),
    )
    if seed % 3 == 1:
        problem = need_protection_if_hidden(rng, problem)
    if seed % 3 == 2:
        problem = problem.with_columns(others=insiders(rng, problem))
    ways = rng.choice(WORDS, len(problem), p=[0.1, 0.35, 0.35, 0.2])
    ways[(problem.status == Status.PRIMARY) & (ways == "publish")] = "interval"
    ways[(problem.status == Status.PRIMARY) & (ways == "round") & (rng.random(len(problem)) < 0.7)] = "suppress"
    at_most = int((problem.status == Status.PRIMARY).sum() + (ways == "round").sum() + 4) if seed % 4 == 3 else None
    while len(more := ManualStatus(problem, ways.tolist(), 5.0, at_most).choices) > 7:
        ways[rng.choice(more)] = "publish"
    return problem, ways.tolist(), at_most


def mixtures(seeds: range) -> int:
    both = 0
    for seed in seeds:
        problem, ways, at_most = tiny(seed)
        best = ManualStatus(problem, ways, 5.0, at_most).best()
        found = solved(problem, Combined(ways=ways, base=5.0, at_most=at_most, exact=True))
        assert (found is None) is bool(np.isinf(best)), seed
        if found is not None:
            check(problem, found, ways)
            assert found.report.bound == pytest.approx(best, rel=1e-5, abs=1e-6), seed
            assert found.report.status == "optimal"
            withheld = (found.lower < found.upper) & (problem.status != Status.SUPPRESSED)
            assert at_most is None or withheld.sum() <= at_most
            both += 1
    return both


def test_mixtures_are_the_cheapest_of_all_choices():
    assert mixtures(range(6)) >= 2


@pytest.mark.slow
def test_mixtures_are_the_cheapest_of_all_choices_in_many_tables():
    assert mixtures(range(6, 120)) >= 35


# -- the table of the paper -----------------------------------------------------------------------------------


def investment(levels: dict[str, tuple[float, float]] | None = None) -> Problem:
    """Figure 1."""
    table = cross_table(["I", "II", "III"], ["A", "B", "C"], [[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    return pose(table, levels or {"II × C": (2, 4)})


def test_suppression_alone_hides_a_square():
    """Figure 2."""
    found = protect(investment(), "combined")
    assert found.report.cost == 8 + 22 + 17 + 12
    assert found.suppressed.sum() == 4


def test_intervals_for_totals_let_one_cell_be_hidden_alone():
    problem = investment()
    found = protect(problem, Combined(interval="totals", exact=True))
    check(problem, found, np.where(problem.table.is_base, "suppress", "interval").tolist())
    assert problem.table.labels(np.flatnonzero(np.isinf(found.lower))) == ["II × C"]
    assert found.report.cost == pytest.approx(22 + 3 * 6)
    assert found.report.note == "cells suppressed: 1, in intervals: 3"
    assert audit(problem, found).interval("II × C") == (20, 26)


def test_rounded_totals_let_one_cell_be_hidden_alone():
    problem = investment()
    found = protect(problem, Combined(round="totals", base=12))
    assert problem.table.labels(np.flatnonzero(found.suppressed)) == ["II × C"]
    at = problem.table.index("II × Total")
    assert (found.published[at], found.lower[at], found.upper[at]) == (48, 42, 53)
    assert found.report.cost == found.report.bound == pytest.approx(22 + 20)
    assert found.report.note == "cells suppressed: 1, in intervals: 0, rounded to multiples of 12: 7"
    assert audit(problem, found).interval("II × C") == (20, 26)


# -- which cells are treated how ------------------------------------------------------------------------------


def by_level() -> Problem:
    rng = np.random.default_rng(3)
    return random_problem(rng, random_table(rng, (random_hierarchy(rng, 6, levels=3), 3)), must_publish=0.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", lambda t: np.zeros(len(t), dtype=bool)),
        ("all", lambda t: np.ones(len(t), dtype=bool)),
        ("finest", lambda t: t.is_base),
        ("totals", lambda t: ~t.is_base),
        ("b=Total", lambda t: t.codes[1] == 0),
        ("a:0", lambda t: t.codes[0] == 0),
        ("a:2", lambda t: t.dimensions["a"].depth[t.codes[0]] == 2),
        ("a:finest & b:totals", lambda t: t.dimensions["a"].is_leaf[t.codes[0]] & (t.codes[1] == 0)),
        ("b=b0; b = b1", lambda t: np.isin(t.codes[1], [1, 2])),
    ],
)
def test_cells_are_named_by_level_and_code(text, expected):
    problem = by_level()
    assert np.array_equal(select(problem, text), expected(problem.table))


def test_sensitive_cells_have_a_name():
    problem = by_level()
    assert np.array_equal(select(problem, "sensitive"), problem.status == Status.PRIMARY)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"suppress": "local"}, "'local' is not a condition on cells"),
        ({"interval": "column=D"}, "no code 'D'"),
        ({"interval": "column:7"}, "from 0 .the total. to 1"),
        ({"interval": "totals", "round": "row=Total", "base": 5}, "4 cells are in both interval and round"),
        ({"interval": "rest"}, "Both suppress and interval are 'rest': give conditions for one of them"),
        ({"suppress": "finest"}, "No treatment is given for 7 cells"),
        ({"publish": "finest"}, "1 sensitive cells are in publish"),
        ({"round": "totals"}, "give the base of rounding"),
        ({"round": "totals", "base": 2.5}, "must be a multiple of the last digit"),
        ({"round": "totals", "base": 1}, "must be a multiple of the last digit"),
        ({"ways": {"IV × A": "round"}}, "no cell 'IV × A'"),
        ({"ways": {"I × A": "swap"}}, "'swap' is not a way"),
        ({"ways": ["round"]}, "There are 1 ways for 16 cells: give one per cell"),
        ({"ways": "nowhere.csv"}, "does not exist"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        protect(investment(), Combined(**options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base": 0}, "The base of rounding is a number above 0"),
        ({"at_most": -1}, "The option 'at_most' is a number of cells, 0 or more"),
        ({"up": -1}, "The option 'up' is a factor, from 0 to"),
        ({"width": float("nan")}, "The option 'width' is a share, 0 or more"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises(RuleError, match=words):
        Combined(**options)


def test_options_may_come_as_texts():
    method = with_options("combined", interval="totals", round="row=I & finest", base="5", at_most="12", ways="a.csv")
    assert method == Combined(interval="totals", round="row=I & finest", base=5.0, at_most=12, ways="a.csv")


def test_single_cells_go_before_selections(tmp_path):
    problem = investment()
    (tmp_path / "ways.csv").write_text("cell,way\nI × A,publish\nTotal × Total,round\n", encoding="utf-8")
    from_file = protect(
        problem, Combined(interval="totals", ways=str(tmp_path / "ways.csv"), base=100), secret=secret()
    )
    by_label = protect(
        problem,
        Combined(interval="totals", ways={"I × A": "publish", "Total × Total": "round"}, base=100),
        secret=secret(),
    )
    assert from_file.digest == by_label.digest
    assert from_file.published[problem.table.index("Total × Total")] == 200
    assert from_file.published[problem.table.index("I × A")] == 20


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cell,status\n", "first line must name the columns 'cell', 'way'; 'way' is missing"),
        ("cell,way\nI × A\n", "line 2: expected 2 fields, found 1"),
        ("cell,way\nI × A,round\nI × A,round\n", "line 3: the cell 'I × A' occurs twice"),
        ("cell,way\nI × A,hide\n", "line 2: 'hide' is not a way"),
    ],
)
def test_a_file_of_ways_that_cannot_be_read_is_said_so(tmp_path, text, words):
    (tmp_path / "ways.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        protect(investment(), Combined(ways=str(tmp_path / "ways.csv")))


# -- rounding -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("base", "digits"), [(2, 0), (5, 0), (10, 0), (0.5, 1), (0.3, 1), (7, 0)])
def test_readers_know_all_figures_that_are_rounded_alike(base, digits):
    """By rounding every figure near the shown one."""
    tick = 10.0**-digits
    value = (np.arange(-60, 61) * tick).round(digits)
    shown, lower, upper = rounded(value, value, base)
    assert np.allclose(np.abs(shown - value).max(), min(base / 2, np.floor(base / tick / 2 + 1e-9) * tick))
    inner = slice(25, -25)
    for s, low, high in zip(shown[inner], lower[inner], upper[inner], strict=True):
        alike = value[shown == s]
        assert (low, high) == pytest.approx((alike.min(), alike.max()))
        assert low <= s <= high


def test_figures_with_endless_decimals_are_known_to_within_half_a_base():
    value = np.array([np.pi, -np.e, 1 / 3])
    shown, lower, upper = rounded(value, value, 0.5)
    assert shown.tolist() == [3.0, -2.5, 0.5]
    assert np.allclose(upper - lower, 0.5)
    assert ((lower <= value) & (value <= upper)).all()


def test_a_rounded_cell_that_needs_protection_gets_it_or_the_base_is_too_small():
    problem = investment()
    everything = {label: "interval" for label in problem.table.labels()} | {"II × C": "round"}
    found = protect(problem, Combined(ways=everything, base=20))
    check(problem, found)
    assert found.published[problem.table.index("II × C")] == 20
    with pytest.raises(
        NoSafePatternError,
        match=r"No intervals protect 'II × C': even with unlimited intervals for all cells.*larger base",
    ) as caught:
        protect(problem, Combined(ways=everything, base=5))
    assert caught.value.offenders == ["II × C"]


def test_free_cells_that_are_rounded_keep_their_own_levels():
    problem = investment()
    lower = problem.lower.copy()
    lower[problem.table.index("I × A")] = 3.0
    problem = problem.with_columns(lower=lower)
    with pytest.raises(NoSafePatternError, match="'I × A'"):
        protect(problem, Combined(round="row=I & column=A", base=2))
    check(problem, protect(problem, Combined(round="row=I & column=A", base=10)))


# -- limits, statuses, nothing to do --------------------------------------------------------------------------


def test_a_limit_that_is_too_small_is_said_so():
    problem = investment()
    with pytest.raises(
        NoSafePatternError, match=r"8 cells must not be published exactly.*suppressed and rounded cells count"
    ):
        protect(problem, Combined(round="totals", base=2, at_most=3))
    with pytest.raises(NoSafePatternError, match="with 3 intervals or fewer"):
        protect(problem, Combined(interval="totals", at_most=3))
    assert protect(problem, Combined(interval="totals", at_most=4)).suppressed.sum() == 4


@pytest.mark.parametrize("options", [{}, {"interval": "all"}, {"interval": "totals", "at_most": 3}])
def test_a_problem_without_primaries_is_published_as_it_is(options):
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {})
    found = protect(problem, Combined(**options))
    assert not found.suppressed.any()
    assert found.report.cost == found.report.bound == 0


def test_a_table_without_cells():
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {}).only(np.zeros(0, dtype=np.int64))
    assert len(protect(problem, "combined").suppressed) == 0


def test_statuses_go_before_ways():
    problem = investment()
    status = problem.status.copy()
    status[problem.table.index("I × B")] = Status.SUPPRESSED
    status[problem.table.index("Total × Total")] = Status.PUBLISHED
    problem = problem.with_columns(status=status)
    found = protect(problem, Combined(publish="row=I & column=B", round="totals", suppress="rest", base=5))
    check(problem, found)
    assert np.isnan(found.published[problem.table.index("I × B")])
    assert found.published[problem.table.index("Total × Total")] == 190
    assert found.decision[problem.table.index("Total × Total")] == Decision.PUBLISHED


@pytest.mark.parametrize("published", [("II × A", "II × B", "II × Total"), ("I × C", "III × C", "Total × C")])
def test_a_hopeless_cell_is_named(published):
    problem = investment()
    with pytest.raises(NoSafePatternError, match=r"'II × C'.*Suppress more cells") as caught:
        protect(problem, Combined(ways={label: "publish" for label in published}))
    assert caught.value.offenders == ["II × C"]


# -- stopping, and the same again -----------------------------------------------------------------------------


def larger() -> Problem:
    rng = np.random.default_rng(5)
    return random_problem(rng, random_table(rng, (6, 6)), primaries=0.15, must_publish=0.0)


@pytest.mark.parametrize("options", [{}, {"interval": "totals"}, {"interval": "totals", "round": "", "at_most": 30}])
def test_no_time_at_all_gives_something_safe(options):
    problem = larger()
    found = solved(problem, Combined(**options), time_limit=0.0)
    if found is not None:
        check(problem, found)
    if not options:
        assert found is not None


def test_drawn_intervals_are_not_called_optimal_and_suppressions_are():
    drawn, suppressed = protect(investment(), Combined(interval="all", suppress="")), protect(investment(), Combined())
    assert (drawn.report.status, drawn.report.bound) == ("heuristic", None)
    assert "for the positions drawn" in drawn.report.note
    assert suppressed.report.status == "optimal"
    assert suppressed.report.bound == suppressed.report.cost


def test_an_interrupt_keeps_what_is_safe():
    problem, kept = larger(), 0
    for after in (0, 3, 6):
        try:
            found = protect(problem, Combined(interval="totals"), progress=Interrupt(after))
        except KeyboardInterrupt:
            continue
        check(problem, found)
        kept += 1
    assert kept


def test_the_same_secret_gives_the_same_table():
    problem = larger()
    first, second = (protect(problem, Combined(interval="totals"), seed=3, gap=0.1, secret=secret()) for _ in range(2))
    assert first.digest == second.digest
    assert first.report.work == second.report.work
    assert first.report.bound is None  # that of the cells that were chosen would not be one of the problem


# -- around it ------------------------------------------------------------------------------------------------


def test_the_pattern_can_be_written_and_read(tmp_path):
    problem = investment()
    found = protect(problem, Combined(interval="row=Total", round="column=Total & row:1", base=10))
    write_pattern(found, tmp_path / "told.csv")
    again = read_pattern(problem, tmp_path / "told.csv")
    for column in ("decision", "published", "lower", "upper"):
        assert np.array_equal(getattr(again, column), getattr(found, column), equal_nan=True)


def test_a_job_finds_the_file_of_ways_beside_it(tmp_path):
    records = "row,column,value\n" + "".join(f"r{i % 3},c{i % 4},{i + 1}\n" for i in range(60)) + "r0,c0,900\n"
    (tmp_path / "records.csv").write_text(records, encoding="utf-8")
    (tmp_path / "ways.csv").write_text("cell,way\nTotal × Total,publish\n", encoding="utf-8")
    (tmp_path / "job.toml").write_text(
        """
title = "Ways"
[data]
file = "records.csv"
response = "value"
[dimensions.row]
[dimensions.column]
[rules]
sensitive = ["P(15)"]
[protect]
method = "combined"
options = { interval = "totals", ways = "ways.csv" }
""",
        encoding="utf-8",
    )
    result = run_job(read_job(tmp_path / "job.toml"))
    assert result.audit.passed
    assert result.protection.report.method == "combined"


def test_choices_are_not_cleaned_up_after_the_time_limit(monkeypatch):
    """A safe result may take longer than the limit, but no longer than it must: the clean-up tries cell after cell."""
    spent = []
    clean_up = Completer._without_needless

    def noted(self, chosen, z, price, budget):
        spent.append(budget.seconds)
        return clean_up(self, chosen, z, price, budget)

    monkeypatch.setattr(Completer, "_without_needless", noted)
    rng = np.random.default_rng(3)
    problem = random_problem(rng, random_table(rng, (5, 5)), must_publish=0.0)
    assert audit(problem, protect(problem, "combined", time_limit=0.0)).passed
    assert spent
    assert set(spent) == {0.0}
