"""What every method owes its user: a safe pattern, honestly reported, or a reason why there is none."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.helpers import drawn
from tests.helpers.interrupt import Interrupt, InterruptAtHint

from discreet.assess import assess
from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.data.separate import separate
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import InputError, NoSafePatternError, RuleError
from discreet.level import level_of
from discreet.methods import METHODS, SUPPRESSION, protect, split
from discreet.problem import Problem, Status
from discreet.progress import SAFE_ALREADY, Silent
from discreet.protection import Decision, Protection, suppress
from discreet.testing import (
    cross_table,
    infer,
    pose,
    random_hierarchy,
    random_linked_table,
    random_problem,
    random_table,
)

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
# For methods that are hopeless on anything larger.
SMALLER = {
    "3-D": lambda rng: random_table(rng, (2, 2, 2), values="integer"),
    "3-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 3, levels=2), 2, 1)),
    "4-D": lambda rng: random_table(rng, (2, 2, 1, 1)),
}
PRIORS = ("sign", "percent", "mixed")
COMPOSED = ("auto", "eliminate", "guided", "hypercube", "improve", "modular")  # of what others do: fewer draws
STATUSES = {"optimal", "within_gap", "time_limit", "interrupted", "heuristic"}


@pytest.fixture(params=SUPPRESSION)
def method(request, monkeypatch) -> str:
    if request.param == "first-model":
        for kind, smaller in SMALLER.items():
            monkeypatch.setitem(TABLES, kind, smaller)
    return request.param


def draw(kind: str, seed: int, **options) -> Problem:
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    options = {"prior": PRIORS[seed % 3], "sliding": seed % 2 == 1, "already_suppressed": 0.03, **options}
    return random_problem(rng, TABLES[kind](rng), **options)


def solved(method: str, problem: Problem, **options) -> Protection | None:
    """The method's answer; None if it finds no safe pattern, after checking by linear programs that there is none."""
    try:
        return protect(problem, method, **options)
    except NoSafePatternError as error:
        message, named = str(error), error.offenders
    assert named, "it should name the cell"
    assert named[0] in message
    everything = suppress(problem, problem.status != Status.PUBLISHED)
    assert not reached(everything, problem.table.index(named[0]), slack=-1e-6), f"{named[0]} could be protected"
    return None


def reached(protection: Protection, cell: int, slack: float = 1e-6) -> bool:
    """Whether a cell's levels are reached, by plain linear programs."""
    problem = protection.problem
    low, high = infer(protection, cell)
    value = problem.table.value[cell]
    have = np.array([value - low, high - value, high - low])
    need = np.array([problem.lower[cell], problem.upper[cell], problem.sliding[cell]])
    return bool((have >= need - slack * np.maximum(need, 1.0)).all())


def check_contract(problem: Problem, protection: Protection) -> None:
    suppressed = protection.suppressed
    report = protection.report
    # Safe, says the audit, and says somebody else.
    assert audit(problem, protection).passed
    assert audit(problem, protection, intervals=False).passed
    for cell in problem.primaries:
        assert reached(protection, int(cell))
    # Everything is where it should be.
    assert (protection.decision[problem.status == Status.PRIMARY] == Decision.PRIMARY).all()
    assert (protection.decision[problem.status == Status.SUPPRESSED] == Decision.SECONDARY).all()
    assert not suppressed[problem.status == Status.PUBLISHED].any()
    assert np.isnan(protection.published[suppressed]).all()
    assert np.array_equal(protection.published[~suppressed], problem.table.value[~suppressed])
    # And honestly reported.
    assert report.status in STATUSES
    assert report.cost == pytest.approx(problem.cost[suppressed].sum())
    assert report.n_primary == len(problem.primaries)
    assert report.n_secondary == suppressed.sum() - report.n_primary
    assert report.problem == problem.digest
    assert report.seconds >= 0
    assert report.bound is None or report.bound <= report.cost * (1 + 1e-9)
    assert (report.gap is None) is (report.bound is None)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("draws", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_random_problems_are_protected_or_shown_to_be_hopeless(method, kind, draws):
    protected, enough = 0, 1 if method in COMPOSED else draws
    for seed in range(10):
        if seed >= enough and (protected or method in COMPOSED):
            return
        problem = draw(kind, seed)
        protection = solved(method, problem, gap=0.05)  # proofs to the end are for smaller tables
        if protection is not None:
            check_contract(problem, protection)
            protected += 1
    assert protected  # or nothing was tested


@pytest.mark.parametrize("kind", ["2-D", "3-D", "linked"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_many_primaries(method, kind, seed):
    """Half of the finest cells are sensitive: they protect each other."""
    problem = draw(kind, seed, primaries=0.5, must_publish=0.0)
    protection = solved(method, problem)
    if protection is not None:
        check_contract(problem, protection)


@pytest.mark.parametrize("kind", ["2-D, hierarchical", "3-D", "linked"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_same_seed_gives_the_same_pattern(method, kind, seed):
    problem = draw(kind, 20 + seed, prior="sign")
    first, second = solved(method, problem, seed=seed), solved(method, problem, seed=seed)
    if first is not None:
        assert first.digest == second.digest
        assert first.report.seed == second.report.seed == seed
        assert replace(first.report, seconds=0) == replace(second.report, seconds=0)


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 10), marks=pytest.mark.slow)], ids=["two", "more"])
def test_any_seed_is_safe(method, seeds):
    problem = draw("3-D", 3, prior="sign")
    for seed in seeds:
        protection = solved(method, problem, seed=seed)
        assert protection is not None
        check_contract(problem, protection)


def test_the_problem_is_left_as_it_was(method):
    problem = draw("3-D", 4, prior="sign")
    before = replace(problem).digest
    solved(method, problem)
    assert replace(problem).digest == before


UNITS = (("2-D", 1e-3), ("3-D", 1e9), ("linked", 1e12))
OTHER_UNITS = [unit for unit in product(("2-D", "3-D", "linked"), (1e-3, 1e9, 1e12)) if unit not in UNITS]


@pytest.mark.parametrize(
    ("kind", "factor"), [*UNITS, *(pytest.param(*unit, marks=pytest.mark.slow) for unit in OTHER_UNITS)]
)
def test_the_unit_of_measurement_does_not_matter(method, kind, factor):
    """The pattern found in other units is safe in the old ones, as linear programs see it."""
    problem = draw(kind, 6, must_publish=0.0)
    table = problem.table.with_columns(value=problem.table.value * factor, magnitude=problem.table.magnitude * factor)
    names = ("lower", "upper", "sliding", "prior_lower", "prior_upper", "cost")
    scaled = problem.with_columns(table=table, **{name: getattr(problem, name) * factor for name in names})
    protection = protect(scaled, method)
    assert audit(scaled, protection).passed
    check_contract(problem, suppress(problem, protection.suppressed))


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e12])
def test_a_tiny_level_beside_huge_values(method, size):
    table = cross_table("abc", "def", np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]) * size + 1)
    problem = pose(table, {"a × d": 1.0, "b × e": 1.0})
    protection = protect(problem, method)
    assert audit(problem, protection).passed
    assert protection.suppressed.sum() >= 4


def test_a_large_level_beside_tiny_ones(method):
    """The large cell needs a large partner, not the small cells that are suppressed for the tiny levels."""
    table = cross_table("abc", "def", [[1e9, 1e9, 40], [1e9, 1e9, 50], [30, 60, 70]])
    problem = pose(table, {"a × d": 2e8, "a × f": 2.0, "c × d": 2.0})
    protection = protect(problem, method)
    assert audit(problem, protection).passed
    assert reached(protection, table.index("a × d"))


# -- nothing to do, and nothing that can be done --------------------------------------------------------------


def test_a_problem_without_primaries_hides_nothing(method):
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {})
    protection = protect(problem, method)
    assert not protection.suppressed.any()
    assert protection.report.cost == 0
    assert audit(problem, protection).passed


def test_a_table_without_cells(method):
    nothing = np.zeros(0)
    table = Table({}, np.zeros((0, 0)), nothing, sparse.csr_array((0, 0)), names=())
    problem = Problem(table, nothing, nothing, nothing, nothing, nothing, nothing, nothing)
    assert len(protect(problem, method).suppressed) == 0


def test_primaries_without_levels_are_not_suppressed_alone(method):
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {"a × c": 0.0})
    protection = protect(problem, method)
    assert protection.suppressed[problem.table.index("a × c")]
    assert protection.suppressed.sum() == 4
    check_contract(problem, protection)


def test_cells_hidden_already_stay_hidden_and_help(method):
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    status = pose(table, {"a × c": 2.0}).status.copy()
    for label in ("a × d", "b × c", "b × d"):
        status[table.index(label)] = Status.SUPPRESSED
    problem = pose(table, {"a × c": 2.0}).with_columns(status=status)
    protection = protect(problem, method)
    check_contract(problem, protection)
    assert protection.suppressed.sum() == 4


def test_a_cell_outside_all_relations(method):
    table = Table({}, np.zeros((0, 2)), np.array([5.0, 7.0]), sparse.csr_array((0, 2)), names=("p", "q"))
    problem = pose(table, {"p": 1.0})
    protection = protect(problem, method)
    assert protection.suppressed.tolist() == [True, False]
    assert audit(problem, protection).passed


TOTALS = ("Total × Total", "Total × c", "Total × d", "a × Total", "b × Total")


@pytest.mark.parametrize(
    ("level", "published", "why"),
    [
        (6.0, (), "below zero, where everybody knows it is not"),
        ((0.0, 0.0, 1.0), ("a × d", "a × Total"), "its row is published"),
        ((2.0, 0.0), ("b × c", "Total × c"), "its column is published"),
        (1.0, (*TOTALS, "b × d"), "no way round"),
    ],
)
def test_a_hopeless_cell_is_named(method, level, published, why):
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": level}, published=published)
    reason = "even the suppression of all cells that may be does not give it slack|even if all cells|it needs cells"
    with pytest.raises(NoSafePatternError, match=f"No pattern protects 'a × c': ({reason})") as caught:
        protect(problem, method)
    assert caught.value.offenders == ["a × c"], why
    assert caught.value.exit_code == 1


def test_width_may_lie_on_both_sides(method):
    """Sliding level 10: the cell can move 6 up and 5 down, and neither way by 10."""
    problem = pose(cross_table("ab", "cd", [[5, 6], [6, 5]]), {"a × c": (0.0, 0.0, 10.0)}, published=TOTALS)
    check_contract(problem, protect(problem, method))


@pytest.mark.parametrize("levels", [(0.0, 0.0, 11.0), (5.0, 6.0, 11.0), (4.0, 0.0, 11.0), (0.0, 5.5, 11.0)])
def test_width_to_the_last_drop(method, levels):
    problem = pose(cross_table("ab", "cd", [[5, 6], [6, 5]]), {"a × c": levels}, published=TOTALS)
    check_contract(problem, protect(problem, method))


# -- stopping -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"time_limit": float("nan")}, {"time_limit": -1.0}, {"gap": float("nan")}])
def test_limits_that_are_no_numbers_are_refused(options):
    with pytest.raises(InputError, match=f"{next(iter(options))} is a number, 0 or more, not"):
        protect(draw("2-D", 2, prior="sign", primaries=0.3), "kelly", **options)


@pytest.mark.parametrize("kind", TABLES)
def test_no_time_at_all_gives_a_safe_pattern_or_none(method, kind):
    problem = draw(kind, 2, prior="sign", primaries=0.3)
    try:
        protection = protect(problem, method, time_limit=0.0)
    except NoSafePatternError:
        return
    check_contract(problem, protection)


@pytest.mark.parametrize("kind", ["2-D", "3-D", "linked"])
def test_an_interrupt_never_leaves_an_unsafe_pattern(method, kind):
    problem = draw(kind, 0, prior="sign", must_publish=0.0)
    for after in (0, 6) if method in COMPOSED else (0, 2, 5, 9):
        try:
            protection = protect(problem, method, progress=Interrupt(after))
        except KeyboardInterrupt:
            continue
        check_contract(problem, protection)


def test_an_interrupt_while_cleaning_up_keeps_what_is_safe():
    """Kelly has a safe pattern by then: it is returned, with all the cells that were not looked at still suppressed."""
    problem = draw("3-D", 2, prior="sign", must_publish=0.0, primaries=0.3)
    whole = protect(problem, "kelly")
    stopped = 0
    for after in range(6):
        progress = Interrupt(after, during="clean up")
        protection = protect(problem, "kelly", progress=progress)
        check_contract(problem, protection)
        if progress.seen > after:
            assert protection.report.status == "interrupted"
            assert protection.report.cost >= whole.report.cost - 1e-9
            stopped += 1
    assert stopped


def counts(rng: np.random.Generator) -> Problem:
    """Readers know that the cells are integers: whether a pattern is safe is seen by a further audit."""
    records = pd.DataFrame({name: rng.integers(0, 4, 60) for name in "ab"}).astype(str)
    return assess(tabulate(records, ["a", "b"]), "FREQ(3)")


def large(rng: np.random.Generator) -> Problem:
    return draw("3-D", 2, prior="sign", must_publish=0.0, primaries=0.3)


def of_respondents(rng: np.random.Generator) -> Problem:
    return drawn.posed(rng, "P(20)", shape=(4, 4), respondents=20)


@pytest.mark.parametrize(
    ("method", "make"),
    [
        *((name, large) for name in SUPPRESSION if name != "first-model"),
        ("kelly", counts),
        *product(("kelly", "optimal", "auto"), [of_respondents]),
    ],
)
def test_ctrl_c_keeps_the_safe_pattern_whenever_the_hint_says_so(method, make):
    problem = make(np.random.default_rng(3))
    hinted = 0
    for after in (0, 3):
        progress = InterruptAtHint(after)
        found = protect(problem, method, progress=progress)
        assert audit(problem, found).passed
        if level_of(problem, True).covers_respondents:
            assert audit_respondents(problem, found).passed
        if progress.hint:
            hinted += 1
            assert found.report.status in ("interrupted", "optimal")
    assert hinted


def test_there_is_no_hint_while_another_table_has_no_pattern_yet(monkeypatch):
    """Ctrl-C would end the run without a result."""
    monkeypatch.setattr(split, "MAX_CELLS_PER_BUNDLE", 10)
    rng = np.random.default_rng(1)
    records = pd.DataFrame({name: rng.integers(0, size, 60) for name, size in (("half", 2), ("a", 6), ("b", 6))})
    table = tabulate(records.astype(str).assign(x=rng.integers(1, 99, 60)), ["half", "a", "b"], "x", top=3)
    problem = assess(separate(table, "half"), "P(40)")
    assert len(split.bundles(problem)) == 2
    cleaned: list[list[str]] = []  # the hints of each clean-up

    class Hints(Silent):
        def stage(self, name: str, total: int) -> None:
            cleaned.extend([[]] if name == "clean up" else [])

        def update(self, done: int, note: str = "") -> None:
            if cleaned:
                cleaned[-1].append(note.partition("\n")[2])

    protect(problem, "kelly", progress=Hints())
    first, last = cleaned
    assert first
    assert SAFE_ALREADY not in first
    assert SAFE_ALREADY in last


# -- asking -----------------------------------------------------------------------------------------------------


def test_an_unknown_method_is_refused():
    with pytest.raises(RuleError, match="There is no method 'kely'"):
        protect(pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {}), "kely")


@pytest.mark.parametrize("name", SUPPRESSION)
def test_methods_can_be_handed_in_and_are_documented(name):
    chosen = METHODS[name]()
    assert chosen.name == name
    assert METHODS[name].__doc__
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 1.0})
    assert protect(problem, chosen).report.method == name


# -- Kelly ------------------------------------------------------------------------------------------------------


def superfluous(problem: Problem, protection: Protection) -> list[str]:
    """Secondaries that could be published again, one at a time, without exposing anything."""
    found = []
    for cell in np.flatnonzero(protection.suppressed & (problem.status == Status.FREE)):
        fewer = protection.suppressed.copy()
        fewer[cell] = False
        if audit(problem, suppress(problem, fewer), intervals=False).passed:
            found.append(problem.table.label(int(cell)))
    return found


@pytest.mark.parametrize("kind", TABLES)
def test_kelly_hides_nothing_without_need(kind):
    for seed in (30, 31):
        problem = draw(kind, seed, sliding=False)
        protection = solved("kelly", problem)
        if protection is not None:
            assert superfluous(problem, protection) == []


@pytest.mark.parametrize("kind", ["2-D, hierarchical", "2-D, negative", "4-D", "not nested"])
def test_kelly_hides_nothing_without_need_for_width(kind):
    for seed in (32, 33):
        problem = draw(kind, seed, sliding=True)
        protection = protect(problem, "kelly")
        assert superfluous(problem, protection) == []
