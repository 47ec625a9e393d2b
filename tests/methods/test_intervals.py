"""Interval publication: as cheap as programs written down from scratch say it can be, and safe from every attacker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from tests.helpers.fixed import secret
from tests.helpers.interrupt import Interrupt
from tests.helpers.small import insiders, need_protection_if_hidden

from discreet.arrays import BoolArray, FloatArray
from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import NoSafePatternError, RuleError
from discreet.methods import protect, with_options
from discreet.methods.core.compact_model import CompactModel
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.core.separator import Separator
from discreet.methods.intervals import plan
from discreet.methods.intervals.first_model import IntervalsFirstModel
from discreet.methods.intervals.intervals import Intervals
from discreet.methods.intervals.plan import _proven
from discreet.methods.intervals.publication import WidthPublication, Widths
from discreet.methods.intervals.search import WidthSearch
from discreet.methods.intervals.widen import Renewal
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection
from discreet.testing import cross_table, pose, random_hierarchy, random_linked_table, random_problem, random_table

TABLES = {
    "2-D": lambda rng: random_table(rng, (4, 4)),
    "2-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=3), 3)),
    "2-D, negative": lambda rng: random_table(rng, (4, 3), negative=0.3),
    "3-D": lambda rng: random_table(rng, (3, 3, 3), values="integer"),
    "3-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 2, 2)),
    "4-D": lambda rng: random_table(rng, (2, 2, 2, 2)),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2, trees=2), 3)),
    "linked": random_linked_table,
}
PRIORS = ("sign", "percent", "nothing", "mixed")
EXACT, ORACLE = Intervals(exact=True, rounded=False), IntervalsFirstModel(rounded=False)


def draw(kind: str, seed: int, **options) -> Problem:
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    options = {
        "prior": PRIORS[seed % 4],
        "sliding": seed % 2 == 1,
        "already_suppressed": 0.05 * (seed % 3 == 2),
        **options,
    }
    problem = random_problem(rng, TABLES[kind](rng), must_publish=0.02, **options)
    if seed % 3 != 1:
        return problem
    knowing = tuple(Attacker(who.name, who.lower, who.upper) for who in insiders(rng, problem))
    return problem.with_columns(others=knowing)


def solved(problem: Problem, method: Intervals | IntervalsFirstModel, **options) -> Protection | None:
    try:
        return protect(problem, method, **options)
    except NoSafePatternError:
        return None


def check(problem: Problem, found: Protection) -> None:
    """Safe from everybody, true, and nothing touched that must not be."""
    value = problem.table.value
    assert audit(problem, found, intervals=False).passed
    assert ((found.lower <= value) & (value <= found.upper)).all()
    published, suppressed = problem.status == Status.PUBLISHED, problem.status == Status.SUPPRESSED
    assert np.array_equal(found.published[published], value[published])
    assert np.isinf(found.lower[suppressed]).all()
    assert np.isinf(found.upper[suppressed]).all()
    assert np.isfinite(found.lower[~suppressed]).all()
    assert np.isfinite(found.upper[~suppressed]).all()
    assert found.report.bound is None or found.report.bound <= found.report.cost * (1 + 1e-7) + 1e-12


# -- a second opinion, from nothing but the problem -----------------------------------------------------------


@dataclass
class ManualStatus:
    """Figure 6 for scipy, cell by cell, with intervals only where they are allowed, and there so wide at least."""

    problem: Problem
    up: float = 1.0
    down: float = 1.0
    allowed: BoolArray | None = None
    width: float = 0.0

    def cost(self) -> float:
        """Infinite if nothing protects all cells."""
        p, n, m = self.problem, len(self.problem), self.problem.table.relations.shape[0]
        value = p.table.value
        weight = np.where(value != 0, p.cost / np.where(value != 0, np.abs(value), 1.0), p.cost)
        suppressed = p.status == Status.SUPPRESSED
        weight = np.where(suppressed, 0.0, weight)
        allowed = p.status != Status.PUBLISHED if self.allowed is None else self.allowed
        limit = np.where(allowed, np.inf, 0.0)
        flows, rows, least = [], [], []
        for who in p.attackers():
            slack = np.clip(value - who.lower, 0, None), np.clip(who.upper - value, 0, None)
            for cell in p.primaries:
                lower, upper, sliding = p.levels(who)[:, cell]
                for signs, level in (((-1,), lower), ((1,), upper), ((-1, 1), sliding)):
                    if level > 0:
                        rows.append([(len(flows) + k, cell, sign) for k, sign in enumerate(signs)])
                        least.append(level)
                        flows += [slack] * len(signs)
        k = len(flows)
        eye, every = sparse.eye_array(n, format="csr"), sparse.eye_array(k, format="csr")
        shown = sparse.csr_array(eye[np.flatnonzero(~suppressed)])
        down, up = (sparse.kron(np.array([side]), shown) for side in ((1, 0), (0, 1)))
        once = np.ones((k, 1))
        below = sparse.hstack([sparse.kron(once, -down), sparse.kron(every, -shown)])  # −f ≤ z⁻
        above = sparse.hstack([sparse.kron(once, -up), sparse.kron(every, shown)])  # f ≤ z⁺
        requirement = sparse.lil_array((len(rows), 2 * n + n * k))
        for r, terms in enumerate(rows):
            for f, cell, sign in terms:
                requirement[r, 2 * n + f * n + cell] = -sign
        wide = sparse.hstack([-eye, -eye, sparse.csr_array((n, n * k))])
        keep = sparse.hstack([sparse.csr_array((m * k, 2 * n)), sparse.kron(every, p.table.relations)])
        need = np.where(allowed & ~suppressed & (p.status != Status.PUBLISHED), self.width * np.abs(value), 0.0)
        tick = 10.0 ** -next(d for d in range(4) if np.allclose(value, np.round(value, d)))
        need = np.where(p.status == Status.PRIMARY, np.maximum(need, tick), need)
        bounds = [(0, limit[i]) for i in range(n)] * 2
        for slack in flows:
            low, high = (np.where(np.isfinite(part), part, 1e6) for part in slack)
            bounds += [*zip(-low, high, strict=True)]
        goal = np.r_[self.down * weight, self.up * weight, np.zeros(n * len(flows))]
        found = linprog(
            goal,
            A_ub=sparse.csr_array(sparse.vstack([below, above, requirement, wide])),
            b_ub=np.r_[np.zeros(2 * shown.shape[0] * k), -np.array(least), -need],
            A_eq=sparse.csr_array(keep),
            b_eq=np.zeros(m * k),
            bounds=bounds,
        )
        return float(found.fun) if found.status == 0 else np.inf


def compared(kind: str, seeds: range) -> int:
    """How many problems could be compared: those that nothing protects are told apart by both alike."""
    both = 0
    for seed in seeds:
        problem = draw(kind, seed)
        found, oracle = solved(problem, EXACT), solved(problem, ORACLE)
        assert (found is None) is (oracle is None)
        if found is None or oracle is None:
            continue
        check(problem, found)
        assert found.report.cost == pytest.approx(oracle.report.cost, rel=1e-6, abs=1e-9)
        assert found.report.bound == pytest.approx(found.report.cost, rel=1e-6, abs=1e-9)
        assert found.report.status == oracle.report.status == "optimal"
        both += 1
    return both


@pytest.mark.parametrize("kind", TABLES)
def test_cuts_cost_what_the_whole_program_costs(kind):
    """A third of the problems have several attackers, half have sliding levels."""
    assert compared(kind, range(2)) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_cuts_cost_what_the_whole_program_costs_in_many_problems(kind):
    assert compared(kind, range(2, 30)) >= 10


@pytest.mark.parametrize("renewing", [0.5, 0.0], ids=["renewed", "no time to renew"])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 12), marks=pytest.mark.slow)], ids=["few", "many"])
def test_widths_made_of_what_single_demands_need(kind, seeds, renewing, monkeypatch):
    """They meet every demand by themselves, cost no less than the best, and the search goes on from them to the best."""
    costs: list[float] = []
    renewed = Renewal.renewed

    def watched(self: Renewal, budget: Budget) -> FloatArray | None:
        z = renewed(self, Budget(600.0))
        if z is not None:
            costs.append(self.s.cost(z))
            for number, requirements in enumerate(self.s.requirements):
                assert Separator(WidthPublication(self.s), number, self.s.relations).separate(
                    Widths(z), requirements
                ) == ([], [])
        return z

    monkeypatch.setattr(Renewal, "renewed", watched)
    monkeypatch.setattr("discreet.methods.intervals.widen.RENEWAL_SHARE", renewing)
    monkeypatch.setattr(WidthSearch, "_violates_most", lambda self, z: True)
    for seed in seeds:
        problem = draw(kind, seed)
        found, best = (solved(problem, method) for method in (EXACT, ORACLE))
        assert (found is None) is (best is None)
        if found is not None:
            check(problem, found)
            assert found.report.cost == pytest.approx(best.report.cost, rel=1e-6, abs=1e-9)
            assert costs[-1] >= best.report.cost * (1 - 1e-6)
    assert costs


@pytest.mark.parametrize("kind", ["2-D", "2-D, negative", "3-D", "linked"])
def test_a_program_written_from_scratch_agrees(kind):
    for seed in range(2):
        problem = draw(kind, seed, primaries=0.08)
        found = solved(problem, Intervals(exact=True, up=2.0, down=0.5, rounded=False))
        best = ManualStatus(problem, up=2.0, down=0.5).cost()
        assert (found is None) is bool(np.isinf(best))
        if found is not None:
            assert found.report.cost == pytest.approx(best, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", TABLES)
def test_round_ends_are_safe_and_no_narrower(kind):
    for seed in range(2):
        problem = draw(kind, seed)
        found, exact = solved(problem, Intervals(exact=True)), solved(problem, EXACT)
        if found is not None and exact is not None:
            check(problem, found)
            digits = 0 if kind == "3-D" else 2
            shown = found.suppressed & np.isfinite(found.lower)
            known = np.isin(found.lower, problem.prior_lower), np.isin(found.upper, problem.prior_upper)
            assert (np.isclose(found.lower, found.lower.round(digits), atol=1e-9) | known[0])[shown].all()
            assert (np.isclose(found.upper, found.upper.round(digits), atol=1e-9) | known[1])[shown].all()
            assert found.report.cost >= exact.report.bound * (1 - 1e-6)
            assert found.report.status == "optimal"


@pytest.mark.parametrize(
    "seeds", [range(5, 8), pytest.param([*range(5), *range(8, 24)], marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_cells_that_need_protection_once_they_get_an_interval_are_protected(seeds):
    """The whole program decides with binaries which of them to use; cuts take those that the cheapest intervals use."""
    dearer = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, random_table(rng, (4, 3)), prior=PRIORS[seed % 4], must_publish=0.0)
        problem = need_protection_if_hidden(rng, problem)
        found, oracle = solved(problem, EXACT), solved(problem, ORACLE)
        if found is None or oracle is None:
            assert oracle is None
            continue
        check(problem, found)
        assert found.report.cost >= oracle.report.cost * (1 - 1e-6)
        assert found.report.bound <= oracle.report.cost * (1 + 1e-6)
        assert found.report.status in ("optimal", "heuristic")
        dearer += found.report.status == "heuristic"
        with_choices = solved(problem, Intervals(exact=True, fixed=1e-12, rounded=False))
        assert with_choices is not None
        assert with_choices.report.cost == pytest.approx(oracle.report.cost, rel=1e-4, abs=1e-6)
    assert dearer < len(seeds)


# -- few intervals, and wide ones -----------------------------------------------------------------------------


def tiny(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    values = rng.integers(2, 12, (3, 3)).astype(float)
    totals = ("Total × Total", "Total × d", "a × Total") if seed % 2 else ("Total × Total",)
    problem = pose(cross_table("abc", "def", values), {"a × d": (2.0, 1.0), "b × e": (1.0, 0.0, 3.0)}, published=totals)
    cost = rng.integers(1, 9, len(problem)).astype(float)
    status = problem.status.copy()
    status[rng.choice(problem.free, len(problem.free) - 6, replace=False)] = Status.PUBLISHED
    return problem.with_columns(cost=cost, status=status)


def by_enumeration(problem: Problem, at_most: int | None, fixed: float, width: float) -> float:
    best = np.inf
    for number in range(len(problem.free) + 1):
        for chosen in combinations(problem.free.tolist(), number):
            if at_most is not None and number + len(problem.primaries) > at_most:
                continue
            allowed = problem.status == Status.PRIMARY
            allowed[list(chosen)] = True
            cost = ManualStatus(problem, allowed=allowed, width=width).cost()
            best = min(best, cost + fixed * problem.cost[allowed].sum())
    return best


@pytest.mark.parametrize(
    ("at_most", "fixed", "width"), [(6, 0.0, 0.0), (4, 0.0, 0.0), (None, 0.7, 0.0), (None, 0.0, 1.2), (7, 0.2, 0.5)]
)
def test_few_and_wide_intervals_are_the_cheapest_of_all_choices(at_most, fixed, width):
    for seed in range(2):
        problem = tiny(seed)
        best = by_enumeration(problem, at_most, fixed, width)
        found = solved(problem, Intervals(exact=True, at_most=at_most, fixed=fixed, width=width, rounded=False))
        assert (found is None) is bool(np.isinf(best))
        if found is not None:
            check(problem, found)
            assert found.report.cost == pytest.approx(best, rel=1e-5)
            assert found.report.status == "optimal"
            assert at_most is None or found.suppressed.sum() <= at_most
            wide = found.upper - found.lower
            assert (wide[found.suppressed] >= width * np.abs(problem.table.value[found.suppressed]) * (1 - 1e-9)).all()


def test_a_limit_that_is_too_small_is_said_so():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 2.0, "b × d": 1.0})
    with pytest.raises(NoSafePatternError, match="each needs an interval") as caught:
        protect(problem, Intervals(exact=True, at_most=1))
    assert caught.value.offenders == ["a × c", "b × d"]
    with pytest.raises(NoSafePatternError, match=r"with 3 intervals or fewer. Allow more of them"):
        protect(problem, Intervals(exact=True, at_most=3))
    assert protect(problem, Intervals(exact=True, at_most=4)).suppressed.sum() == 4


# -- statuses, nothing to do, and nothing that can be done ----------------------------------------------------


@pytest.mark.parametrize("method", [Intervals(), Intervals(exact=True), IntervalsFirstModel(), Intervals(at_most=100)])
def test_a_problem_without_primaries_is_published_as_it_is(method):
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {})
    found = protect(problem, method)
    assert not found.suppressed.any()
    assert found.report.cost == found.report.bound == 0


@pytest.mark.parametrize("method", [Intervals(), Intervals(exact=True), IntervalsFirstModel(), Intervals(width=0.1)])
def test_a_table_without_cells(method):
    nothing = np.zeros(0)
    table = Table({}, np.zeros((0, 0)), nothing, sparse.csr_array((0, 0)), names=())
    problem = Problem(table, nothing, nothing, nothing, nothing, nothing, nothing, nothing)
    assert len(protect(problem, method).suppressed) == 0


@pytest.mark.parametrize("method", [Intervals(), Intervals(exact=True), IntervalsFirstModel()])
def test_a_cell_outside_all_relations_needs_no_other(method):
    table = Table({}, np.zeros((0, 2)), np.array([5.0, 7.0]), sparse.csr_array((0, 2)), names=("p", "q"))
    problem = pose(table, {"p": (1.0, 2.0, 4.0)})
    found = protect(problem, method)
    assert audit(problem, found).passed
    wide = found.upper[0] - found.lower[0]
    assert wide == 4 if found.report.symmetric else wide >= 5  # a drawn one is wider than asked
    assert not found.suppressed[1]


@pytest.mark.parametrize("method", [Intervals(), Intervals(exact=True), IntervalsFirstModel()])
def test_a_primary_without_levels_is_just_not_told(method):
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {"a × c": 0.0})
    found = protect(problem, method)
    assert "a × c" in problem.table.labels(np.flatnonzero(found.suppressed))
    wide = float((found.upper - found.lower)[problem.table.index("a × c")])
    assert wide == 1 if found.report.symmetric else wide >= 5
    if not found.report.symmetric:  # and readers cannot work it out
        lower, upper = audit(problem, found).interval("a × c")
        assert upper - lower > 1


def test_cells_hidden_already_cost_nothing_and_help():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    status = pose(table, {"a × c": 2.0}).status.copy()
    for label in ("a × d", "b × c", "b × d"):
        status[table.index(label)] = Status.SUPPRESSED
    problem = pose(table, {"a × c": 2.0}).with_columns(status=status)
    found = protect(problem, Intervals(exact=True))
    check(problem, found)
    assert found.report.cost == pytest.approx(4.0)  # two up and two down at a weight of 1


@pytest.mark.parametrize("method", ["intervals", Intervals(exact=True), "intervals-first-model"])
@pytest.mark.parametrize(
    ("level", "published"), [(6.0, ()), (1.0, ("a × d", "a × Total")), ((2.0, 0.0), ("b × c", "Total × c"))]
)
def test_a_hopeless_cell_is_named(method, level, published):
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": level}, published=published)
    with pytest.raises(NoSafePatternError, match="'a × c'") as caught:
        protect(problem, method)
    assert caught.value.offenders == ["a × c"]


@pytest.mark.parametrize("size", [1e-3, 1e3, 1e9, 1e12])
def test_the_unit_of_measurement_does_not_matter(size):
    table = cross_table("abc", "def", np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]) * size)
    problem = pose(table, {"a × d": size, "b × e": 2 * size})
    found = protect(problem, EXACT)
    check(problem, found)
    assert found.report.cost == pytest.approx(protect(problem, ORACLE).report.cost)


@pytest.mark.parametrize("size", [1e6, 1e12])
def test_a_tiny_level_beside_huge_values(size):
    table = cross_table("abc", "def", np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]) * size + 1)
    problem = pose(table, {"a × d": 1.0, "b × e": 1.0})
    found, exact = protect(problem, "intervals"), protect(problem, Intervals(exact=True))
    check(problem, found)
    check(problem, exact)
    assert (exact.upper - exact.lower).max() <= 4
    assert (found.upper - found.lower).max() <= 40


def test_the_same_secret_gives_the_same_intervals_and_the_same_seed_does_not():
    problem = draw("3-D", 0, prior="sign")
    first, second = (protect(problem, "intervals", seed=3, secret=secret(1)) for _ in range(2))
    assert first.digest == second.digest
    assert protect(problem, "intervals", seed=3).digest != first.digest
    first, second = (protect(problem, Intervals(exact=True), seed=3) for _ in range(2))
    assert first.digest == second.digest
    assert first.report.work == second.report.work


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"up": -1.0}, "The option 'up' is a factor, from 0 to"),
        ({"at_most": -1}, "At most -1 intervals cannot be published"),
        ({"width": -0.1}, "The option 'width' is from 0 to"),
        ({"fixed": float("nan")}, "'fixed'"),
        ({"fixed": 1e20}, "'fixed'"),
        ({"up": 1e308}, "'up'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises(RuleError, match=words):
        Intervals(**options)


def test_options_may_come_as_texts():
    method = with_options("intervals", up="2", at_most="12", rounded="false")
    assert method == Intervals(up=2.0, at_most=12, rounded=False)


@pytest.mark.parametrize("method", ["intervals", Intervals(exact=True), "intervals-first-model"])
def test_levels_of_large_figures_are_reached_to_the_last_unit(method):
    """What is noise for a solver, a ten-millionth of a width, is 100 units here."""
    table = cross_table(["a", "b"], ["c", "d"], np.array([[10, 20], [30, 40]]) * 10**9)
    found = protect(pose(table, {"a × c": 10**9}), method)
    cell = table.index("a × c")
    assert table.value[cell] - found.lower[cell] >= 10**9
    assert found.upper[cell] - table.value[cell] >= 10**9


def test_widths_that_no_solver_takes_are_refused():
    table = cross_table(["a", "b"], ["d", "e"], [[1, 20], [30, 1e16]])
    with pytest.raises(RuleError, match=r"'Total × Total'.*too large beside the protection levels for width=0\.2"):
        protect(pose(table, {"a × d": 1}), Intervals(exact=True, width=0.2))


# -- stopping -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [Intervals(), Intervals(fixed=0.5), IntervalsFirstModel()])
def test_no_time_at_all_gives_safe_intervals_or_none(method):
    for kind in ("2-D", "3-D"):
        problem = draw(kind, 0)
        found = solved(problem, method, time_limit=0.0)
        if found is not None:
            check(problem, found)


def test_without_time_or_with_intervals_that_fail_the_audit_there_are_none(monkeypatch):
    with pytest.raises(
        NoSafePatternError, match="The time limit ended before there were intervals that protect all cells"
    ):
        protect(draw("3-D", 0), EXACT, time_limit=0.0)
    monkeypatch.setattr(plan, "published", lambda *given, **more: None)
    with pytest.raises(NoSafePatternError, match="The audit found the intervals too narrow"):
        protect(draw("2-D", 0), EXACT)


def test_a_program_without_solution_says_what_to_allow(monkeypatch):
    def without_solution(model: CompactModel, budget: Budget) -> None:
        raise Infeasible

    monkeypatch.setattr(CompactModel, "solve", without_solution)
    with pytest.raises(NoSafePatternError, match="Let more cells have intervals, widen the prior bounds of attackers"):
        protect(draw("2-D", 0), IntervalsFirstModel())


def test_a_gap_that_is_wide_enough_ends_it_sooner():
    rng = np.random.default_rng(5)
    problem = random_problem(rng, random_table(rng, (5, 5, 4)), primaries=0.15)
    near, exact = (protect(problem, EXACT, gap=gap) for gap in (0.05, 0.0))
    check(problem, near)
    assert near.report.status in ("within_gap", "optimal")
    assert near.report.gap <= 0.05
    assert near.report.bound <= exact.report.cost * (1 + 1e-6) <= near.report.cost * (1 + 2e-6)
    assert near.report.work["rounds"] <= exact.report.work["rounds"]


def test_drawn_intervals_are_not_called_optimal():
    """Their program may be solved to the end, but it is that of the positions drawn: the narrowest intervals cost less."""
    problem = pose(cross_table("abc", "xyz", [[20, 50, 10], [8, 19, 22], [17, 32, 12]]), {"a × x": 4.0, "b × y": 3.0})
    found, exact = protect(problem, "intervals", secret=secret()), protect(problem, Intervals(exact=True))
    assert exact.report.status == "optimal"
    assert exact.report.cost < found.report.cost
    assert found.report.status == "heuristic"
    assert found.report.bound is None
    assert found.report.gap is None
    assert "the cheapest intervals for the positions drawn cost " in found.report.note
    assert "positions" not in exact.report.note


@pytest.mark.parametrize(
    ("gap", "said"), [(0.0, "cost no less"), (1e-7, "cost no less"), (0.0912, "at most 9.2% less")]
)
def test_what_is_proven_about_drawn_intervals_is_not_rounded_down(gap, said):
    assert _proven(gap).endswith(said)


def test_an_interrupt_keeps_what_is_safe():
    rng = np.random.default_rng(5)
    problem = random_problem(rng, random_table(rng, (5, 5, 4)), primaries=0.15)
    for after in (0, 2):
        found = protect(problem, "intervals", progress=Interrupt(after))  # by the first report there are some
        check(problem, found)
        assert found.report.status == "interrupted"


def test_no_interval_is_told_for_a_cell_that_follows_from_published_ones():
    """A total of one cell is that cell: if one is published, an interval for the other would be a pretence."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        chain = Hierarchy.from_pairs([("A", None), ("B", None), ("A1", "A"), ("B1", "B"), ("B2", "B")])
        problem = random_problem(rng, random_table(rng, (chain, 3), values="integer"))
        try:
            found = protect(problem, "intervals", time_limit=20, secret=secret(seed))
        except NoSafePatternError:
            continue
        unknown = found.lower < found.upper
        alone = (problem.table.relations != 0).astype(int) @ unknown == 1
        follows = unknown & ((problem.table.relations[alone] != 0).sum(axis=0) > 0)
        assert not np.any(follows & (problem.status == Status.FREE) & np.isfinite(found.upper - found.lower))
