"""Controlled rounding: additive, near, safe and as good as any; and the simple roundings beside it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.helpers.fixed import secret
from tests.helpers.rounding_brute import best, deviation, is_safe, roundings
from tests.helpers.small import insiders

from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.data.hierarchy import Hierarchy
from discreet.data.link import link
from discreet.data.table import Table
from discreet.errors import NoSafePatternError, RuleError
from discreet.methods import protect, with_options
from discreet.methods.context import Run
from discreet.methods.rounding import anneal as annealing
from discreet.methods.rounding import improve as improving
from discreet.methods.rounding import search as searching
from discreet.methods.rounding.controlled import ControlledRounding
from discreet.methods.rounding.first_model import RoundingFirstModel
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.program import RoundingProgram
from discreet.methods.rounding.simple import ConventionalRounding, RandomRounding
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection
from discreet.solvers import Outcome, Solution
from discreet.solvers.highs import HighsModel
from discreet.testing import cross_table, pose, random_hierarchy, random_table

TABLES = {
    "2-D": lambda rng: random_table(rng, (2, 3), values="integer"),
    "2-D, negative": lambda rng: random_table(rng, (3, 2), values="integer", negative=0.3),
    "2-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 2), values="integer"),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2, trees=2), 1), values="integer"),
    "3-D": lambda rng: random_table(rng, (2, 2, 2), values="integer"),
    "linked": lambda rng: linked(rng),
}


def linked(rng: np.random.Generator) -> Table:
    """Tables a × b and a × c of whole numbers, which share the margin a."""
    full = random_table(rng, (2, 2, 2), values="integer")
    parts = []
    for kept, dropped in (([0, 1], 2), ([0, 2], 1)):
        at = full.codes[dropped] == 0
        dimensions = {"abc"[d]: full.dimensions["abc"[d]] for d in kept}
        parts.append(Table.from_cells(dimensions, full.codes[kept][:, at], full.value[at]))
    return link(*parts)


def closely_watched(rng: np.random.Generator, problem: Problem) -> Attacker:
    """Somebody who knows half of the cells that are not sensitive: little is left to move."""
    known = (rng.random(len(problem)) < 0.5) & (problem.status != Status.PRIMARY)
    value = problem.table.value
    return Attacker("neighbour", np.where(known, value, -np.inf), np.where(known, value, np.inf))


def drawn(kind: str, seed: int) -> tuple[Problem, float, int, bool]:
    """A problem with levels that a rounding may reach, a base, steps, and whether zeros stay."""
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    table = TABLES[kind](rng)
    n, base = len(table), float(rng.choice([2, 3, 4, 5, 2.5]))
    primary = rng.random(n) < 0.2
    status = np.where(rng.random(n) < 0.08, Status.SUPPRESSED, Status.FREE)
    status = np.where((rng.random(n) < 0.3) & (table.value % base == 0), Status.PUBLISHED, status)
    status = np.where(primary, Status.PRIMARY, status).astype(np.int8)
    has_levels = primary | (rng.random(n) < 0.1)
    lower, upper, sliding = rng.integers(0, [[2], [3], [4]], (3, n)) * has_levels * base / 4
    if seed % 2:
        lower, upper = np.zeros((2, n))
    negative = table.value < 0
    problem = Problem(
        table,
        status,
        np.ones(n),
        np.minimum(lower, np.where(negative, np.inf, table.value)),
        np.minimum(upper, np.where(negative, -table.value, np.inf)),
        sliding,
        np.where(negative, -np.inf, 0.0),
        np.where(negative, 0.0, np.inf),
        least_width=np.zeros(n),  # levels alone say what is safe
    )
    if seed % 3 == 1:
        problem = problem.with_columns(others=insiders(rng, problem))
    if seed % 3 == 2:
        problem = problem.with_columns(others=(closely_watched(rng, problem),))
    steps = 2 if seed % 5 == 4 and n < 16 else 1
    return problem, base, steps, not (seed % 5 == 3 and n < 16)


def check(problem: Problem, found: Protection, base: float, steps: int = 1, zero_restricted: bool = True) -> None:
    """What every controlled rounding owes its user."""
    table, status = problem.table, problem.status
    told = np.isin(status, (Status.FREE, Status.PRIMARY))
    published = found.published
    # Multiples, near, and zeros stay.
    assert np.allclose(published[told] / base, np.rint(published[told] / base), atol=1e-9)
    off = np.abs(published - table.value)[told]
    assert np.all(off <= steps * base if not zero_restricted else off < steps * base - 1e-9)
    if zero_restricted:
        assert np.all(published[told & (table.value == 0)] == 0)
        if steps == 1:
            multiple = told & np.isclose(table.value % base, 0)
            assert np.allclose(published[multiple], table.value[multiple])
    # Cells that must be published are; those that were suppressed still are.
    assert np.array_equal(published[status == Status.PUBLISHED], table.value[status == Status.PUBLISHED])
    assert np.isnan(published[status == Status.SUPPRESSED]).all()
    # Relations of cells that are all published hold.
    whole = abs(table.relations) @ (status == Status.SUPPRESSED) == 0
    assert np.allclose((table.relations @ np.nan_to_num(published) - table.rhs)[whole], 0.0, atol=1e-9)
    assert found.report.cost == pytest.approx(off.sum())
    assert audit(problem, found).passed


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 40), marks=pytest.mark.slow)], ids=["few", "many"])
def test_the_best_of_all_roundings_of_small_tables(kind, seeds):
    """Method, first model and brute force agree: on the deviation, or on there being no safe rounding."""
    solved = 0
    for seed in seeds:
        problem, base, steps, zeros = drawn(kind, seed)
        least = best(problem, base, steps, zeros)
        for method in (ControlledRounding, RoundingFirstModel):
            chosen = method(base=base, steps=steps, zero_restricted=zeros)
            if least is None:
                with pytest.raises(NoSafePatternError):
                    protect(problem, chosen)
                continue
            found = protect(problem, chosen)
            check(problem, found, base, steps, zeros)
            assert found.report.cost == pytest.approx(least), (kind, seed)
            assert found.report.status == "optimal"
            assert found.report.bound == pytest.approx(least)
            solved += 1
    assert solved >= len(seeds) / 4  # or little was tested


# -- known tables ---------------------------------------------------------------------------------------------


def test_a_small_table_has_six_zero_restricted_roundings():
    problem = pose(cross_table("abc", "de", [[1, 0], [3, 3], [12, 20]]), {})
    assert len(list(roundings(problem, 5))) == 6
    found = protect(problem, ControlledRounding(base=5))
    check(problem, found, 5)
    assert found.report.cost == found.report.bound == best(problem, 5) == 18


@pytest.fixture
def cube() -> Problem:
    """A table of Causey, Cox and Ernst's kind: 2 × 2 × 2 with all totals, and no zero-restricted rounding to base 2."""
    grid = np.array([[[3, 3], [0, 0]], [[5, 4], [5, 3]]], dtype=float)
    for axis in range(3):
        grid = np.concatenate([grid.sum(axis=axis, keepdims=True), grid], axis=axis)
    dimensions = {name: Hierarchy.flat([f"{name}0", f"{name}1"]) for name in "abc"}
    return pose(Table.from_cells(dimensions, np.indices(grid.shape).reshape(3, -1), grid.ravel()), {})


def test_a_cube_without_a_rounding_is_recognised(cube):
    assert not list(roundings(cube, 2))
    with pytest.raises(NoSafePatternError, match=r"There is no additive rounding.*steps.*relax=true"):
        protect(cube, ControlledRounding(base=2))
    with pytest.raises(NoSafePatternError, match="No rounding of this kind is additive and protects all"):
        protect(cube, RoundingFirstModel(base=2))


@pytest.mark.parametrize(
    ("options", "steps", "zeros"),
    [({"steps": 2}, 2, True), ({"zero_restricted": False}, 1, False), ({"relax": True}, 2, True)],
)
def test_a_cube_without_a_rounding_has_a_relaxed_one(cube, options, steps, zeros):
    found = protect(cube, ControlledRounding(base=2, **options))
    check(cube, found, 2, steps, zeros)
    assert found.report.cost == 18
    assert ("steps=2" in found.report.note) is ("relax" in options)


def test_a_cube_cannot_be_relaxed_for_less(cube):
    assert best(cube, 2, 1, zero_restricted=False) == 18


# -- cuts -----------------------------------------------------------------------------------------------------


def test_attackers_who_know_much_are_kept_out_by_cuts():
    """Where somebody knows most cells it matters how the others are rounded; own intervals are not enough to see it."""
    cuts = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = random_table(rng, (3, 2), values="integer", zeros=0.0)
        problem = pose(table, {"a0 × b0": (2.0, 2.0, 8.0)}, lower=-np.inf)
        unknown = [table.index(f"{a} × {b}") for a in ("a0", "Total") for b in ("b0", "b1")]
        known = ~np.isin(np.arange(len(table)), unknown)
        who = Attacker("neighbour", *(np.where(known, table.value, end) for end in (-np.inf, np.inf)))
        problem = problem.with_columns(others=(who,))
        least = best(problem, 7)
        if least is None:
            with pytest.raises(
                NoSafePatternError, match=r"No additive rounding of this kind protects all sensitive cells|No multiple"
            ):
                protect(problem, ControlledRounding(base=7))
            continue
        found = protect(problem, ControlledRounding(base=7))
        check(problem, found, 7)
        assert found.report.cost == pytest.approx(least)
        cuts += found.report.work["cuts"]
    assert cuts


# -- what readers are told -----------------------------------------------------------------------------------


def test_readers_of_whole_numbers_know_one_less_than_a_base():
    problem = pose(cross_table("ab", "cd", [[7, 10], [4, 9]]), {})
    found = protect(problem, ControlledRounding(base=5))
    assert np.array_equal(found.upper - found.published, np.full(9, 4.0))
    assert found.published[problem.table.index("a × d")] == 10  # a multiple stays, but nobody knows that it was one
    assert (found.decision == Decision.ADJUSTED).all()


def test_readers_of_other_numbers_know_a_base():
    problem = pose(cross_table("ab", "cd", [[7.5, 10], [4, 9]]), {})
    found = protect(problem, ControlledRounding(base=5))
    assert np.array_equal(found.published - found.lower, np.full(9, 5.0))


def test_steps_widen_what_readers_know():
    problem = pose(cross_table("ab", "cd", [[7, 10], [4, 9]]), {})
    found = protect(problem, ControlledRounding(steps=3))
    assert np.array_equal(found.upper - found.published, np.full(9, 14.0))
    open_end = protect(problem, ControlledRounding(steps=3, zero_restricted=False))
    assert np.array_equal(open_end.upper - open_end.published, np.full(9, 15.0))


@pytest.mark.parametrize(
    ("factor", "base"), [(0.1, 0.5), (0.1, 0.1), (1000, 5000), (-1, 5), (1 / 3, 5 / 3), (1e9, 5e9)]
)
def test_units_do_not_matter(factor, base):
    """Decimals, thousands, thirds and negative numbers: the same rounding in another unit."""
    inner = np.array([[7, 13, 1], [4, 9, 0], [22, 3, 6]])
    signed = pose(cross_table("abc", "def", np.round(inner * factor, 12)), {}, lower=-np.inf)
    found = protect(signed, ControlledRounding(base=base))
    check(signed, found, base)
    plain = pose(cross_table("abc", "def", inner), {}, lower=-np.inf)
    expected = protect(plain, ControlledRounding(base=base / abs(factor))).report.cost
    assert found.report.cost == pytest.approx(expected * abs(factor))


def test_every_cell_may_have_its_own_base():
    table = cross_table("ab", "cd", [[7, 13], [4, 9]])
    each = np.where(table.is_base, 3.0, 6.0)
    found = protect(pose(table, {}), ControlledRounding(base=each))
    assert not np.any(found.published % each)
    assert np.all(np.abs(found.published - table.value) < each)
    assert np.allclose(table.relations @ found.published, 0)
    with pytest.raises(RuleError, match="or one per cell"):
        protect(pose(table, {}), ControlledRounding(base=[5, 5]))


def test_cells_that_must_be_published_stand_in_the_way_if_they_are_no_multiples():
    problem = pose(cross_table("ab", "cd", [[7, 13], [4, 9]]), {}, published=["a × c"])
    with pytest.raises(NoSafePatternError, match=r"'a × Total'. Let these cells be rounded"):
        protect(problem, ControlledRounding(base=5))
    fine = pose(cross_table("ab", "cd", [[10, 13], [4, 9]]), {}, published=["a × c"])
    found = protect(fine, ControlledRounding(base=5))
    check(fine, found, 5)
    assert found.decision[fine.table.index("a × c")] == Decision.PUBLISHED


def test_a_base_too_small_for_the_levels_names_the_cell():
    problem = pose(cross_table("ab", "cd", [[7, 13], [4, 9]]), {"a × c": 5.0})
    with pytest.raises(
        NoSafePatternError, match="No multiple of the base that may be published protects 'a × c'"
    ) as caught:
        protect(problem, ControlledRounding(base=3))
    assert caught.value.offenders == ["a × c"]


def test_base_one_tells_whole_numbers_as_they_are():
    table = cross_table("ab", "cd", [[7, 13], [4, 9]])
    found = protect(pose(table, {}), ControlledRounding(base=1))
    assert (found.decision == Decision.PUBLISHED).all()
    with pytest.raises(NoSafePatternError, match="'a × c'"):
        protect(pose(table, {"a × c": 0.0}), ControlledRounding(base=1))


def test_a_table_without_cells():
    nothing = np.zeros(0)
    table = Table({}, np.zeros((0, 0)), nothing, sparse.csr_array((0, 0)), names=())
    problem = Problem(table, nothing, nothing, nothing, nothing, nothing, nothing, nothing)
    for name in ("round", "round-first-model", "random-round", "conventional-round"):
        assert protect(problem, name).report.cost == 0


# -- large tables ---------------------------------------------------------------------------------------------


def test_networks_and_integer_programs_agree():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        shape = (random_hierarchy(rng, 8, levels=3), 6) if seed % 2 else (9, 7)
        problem = pose(random_table(rng, shape, values="integer"), {})
        program = RoundingProgram(RoundingGrid.of(problem, 4, 1, True))
        assert program.is_network()
        whole, relaxed = program.solve(Run().budget), program.relaxed(Run().budget)
        assert program.grid.deviation(whole.steps) == pytest.approx(program.grid.deviation(relaxed.steps))
        assert relaxed.bound == pytest.approx(program.grid.deviation(relaxed.steps))


def test_tables_of_three_dimensions_piece_by_piece(monkeypatch):
    """As if the table were too large for an integer program as a whole: a valid rounding, and an honest gap."""
    rng = np.random.default_rng(3)
    problem = pose(random_table(rng, (5, 5, 4), values="integer"), {"a0 × b0 × c0": (0.0, 0.0, 3.0)})
    exact = protect(problem, ControlledRounding(base=3), time_limit=20).report
    monkeypatch.setattr(searching, "MAX_EXACT_COLUMNS", 10)
    monkeypatch.setattr(improving, "MAX_PIECE_CELLS", 60)
    found = protect(problem, ControlledRounding(base=3))
    check(problem, found, 3)
    assert found.report.bound <= exact.cost <= found.report.cost
    assert found.report.status == ("optimal" if found.report.gap == 0 else "heuristic")
    again = protect(problem, ControlledRounding(base=3))
    assert again.digest == found.digest


@pytest.mark.parametrize("seed", range(6))
def test_annealing_ends_at_a_rounding_or_not_at_all(seed, monkeypatch):
    monkeypatch.setattr(annealing, "ANNEALING_SWEEPS", 200)
    problem = pose(random_table(np.random.default_rng(seed), (5, 4, 4), values="integer"), {})
    for steps in (1, 2):
        grid = RoundingGrid.of(problem, 3.0, steps, True)
        found = annealing.annealed(grid, Run(seed=seed))
        again = annealing.annealed(grid, Run(seed=seed))
        assert (found is None) == (again is None)
        if found is not None:
            assert np.array_equal(found, again)
            assert not annealing.out_of_bounds(grid, found).any()
            published = grid.multiples.amount(found)
            assert np.all(problem.table.relations @ published == 0)
            assert np.all(published % 3 == 0)
        assert found is not None or steps == 1


def test_annealing_leaves_a_cube_without_a_rounding_and_cells_it_cannot_round_alone(cube):
    assert annealing.annealed(RoundingGrid.of(cube, 2.0, 1, True), Run()) is None
    assert annealing.annealed(RoundingGrid.of(cube, np.r_[4.0, np.full(len(cube) - 1, 2.0)], 2, True), Run()) is None
    fixed = cube.with_columns(status=np.where(np.arange(len(cube)) == 0, Status.PUBLISHED, cube.status))
    assert annealing.annealed(RoundingGrid.of(fixed, 2.0, 2, True), Run()) is None


def test_large_tables_are_relaxed_where_annealing_finds_nothing(monkeypatch, cube):
    monkeypatch.setattr(searching, "MAX_EXACT_COLUMNS", 0)
    found = protect(cube, ControlledRounding(base=2, relax=True))
    assert "steps=2" in found.report.note
    assert audit(cube, found).passed


def test_where_no_rounding_is_found_the_reason_is_given(monkeypatch, cube):
    stopped = Solution(Outcome.STOPPED, np.nan, np.zeros(0), np.zeros(0), np.nan, None, 0)
    with monkeypatch.context() as context:
        context.setattr(HighsModel, "solve", lambda *given, **more: stopped)
        with pytest.raises(
            NoSafePatternError, match="No rounding was found before the time limit, or the solver failed"
        ):
            protect(cube, ControlledRounding(base=2))
    monkeypatch.setattr(searching, "MAX_EXACT_COLUMNS", 0)
    with pytest.raises(NoSafePatternError, match=r"No rounding of this kind was found. Another kind"):
        searching.RoundingSearch(RoundingGrid.of(cube, 2.0, 1, True), Run(), False).search()


def test_a_rounding_that_exposes_cells_is_mended_around_them(monkeypatch):
    """Where somebody knows most cells, annealed roundings leave some exposed, and cuts are learnt."""
    monkeypatch.setattr(searching, "MAX_EXACT_COLUMNS", 0)
    monkeypatch.setattr(searching.RoundingProgram, "is_network", lambda self: False)
    monkeypatch.setattr(annealing, "ANNEALING_SWEEPS", 100)
    cuts = 0
    for seed in range(12):
        table = random_table(np.random.default_rng(seed), (3, 2, 2), values="integer", zeros=0.0)
        problem = pose(table, {"a0 × b0 × c0": (2.0, 2.0, 8.0)}, lower=-np.inf)
        unknown = [table.index(f"{a} × {b} × c0") for a in ("a0", "Total") for b in ("b0", "b1")]
        unknown += [table.index(f"{a} × {b} × Total") for a in ("a0", "Total") for b in ("b0", "b1")]
        known = ~np.isin(np.arange(len(table)), unknown)
        who = Attacker("neighbour", *(np.where(known, table.value, end) for end in (-np.inf, np.inf)))
        problem = problem.with_columns(others=(who,))
        try:
            found = protect(problem, ControlledRounding(base=7, relax=True))
        except NoSafePatternError:
            continue
        assert audit(problem, found).passed
        cuts += found.report.work["cuts"]
    assert cuts


def test_an_interrupt_keeps_the_rounding_so_far(monkeypatch):
    monkeypatch.setattr(searching, "MAX_EXACT_COLUMNS", 10)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(searching, "one_pass", interrupted)
    problem = pose(random_table(np.random.default_rng(3), (5, 5, 4), values="integer"), {})
    found = protect(problem, ControlledRounding(base=3))
    check(problem, found, 3)
    assert found.report.status in ("interrupted", "optimal")


def test_no_time_gives_no_rounding_or_one_that_holds():
    problem = pose(random_table(np.random.default_rng(3), (12, 12, 12), values="integer"), {})
    try:
        found = protect(problem, ControlledRounding(base=3), time_limit=1e-9)
    except NoSafePatternError:
        return
    assert np.all(problem.table.relations @ found.published == 0)
    assert np.all(np.abs(found.published - problem.table.value) < 3)


# -- unbiased ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [False, True])
def test_unbiased_roundings_are_the_truth_on_average(deep):
    """150 draws: each cell's mean is within four standard errors; every draw is a zero-restricted rounding."""
    rng = np.random.default_rng(1)
    shape = (random_hierarchy(rng, 5, levels=2), 3) if deep else (4, 3)
    problem = pose(random_table(rng, shape, values="integer"), {})
    draws = []
    for seed in range(150):
        found = protect(problem, ControlledRounding(base=5, unbiased=True), secret=secret(seed))
        draws.append(found.published)
    check(problem, found, 5)
    value = problem.table.value
    part = value / 5 % 1
    error = 5 * np.sqrt(part * (1 - part) / len(draws))
    assert np.all(np.abs(np.mean(draws, axis=0) - value) <= 4 * error + 1e-12)
    assert len({tuple(draw) for draw in draws}) > 5


def test_unbiased_roundings_leave_hidden_cells_aside():
    table = cross_table("abc", "def", [[7, 13, 1], [4, 9, 0], [22, 3, 6]])
    problem = pose(table, {})
    status = problem.status.copy()
    status[[table.index("a × d"), table.index("b × Total")]] = Status.SUPPRESSED
    problem = problem.with_columns(status=status)
    for seed in range(20):
        check(problem, protect(problem, ControlledRounding(base=5, unbiased=True), secret=secret(seed)), 5)


def test_unbiased_roundings_that_expose_a_cell_are_refused():
    problem = pose(cross_table("ab", "cd", [[7, 13], [4, 9]]), {"a × c": (0.0, 5.0)})
    refused = []
    for number in range(20):
        try:
            check(problem, protect(problem, ControlledRounding(base=5, unbiased=True), secret=secret(number)), 5)
        except NoSafePatternError as error:
            refused.append(error)
    assert 0 < len(refused) < 20
    assert all(
        "The rounding that was drawn exposes 1 cells" in str(error) and error.offenders == ["a × c"]
        for error in refused
    )


def test_cells_that_cannot_be_rounded_without_bias_are_refused():
    third = pose(cross_table("ab", "cd", [[1 / 3, 13], [4, 9]]), {})
    with pytest.raises(RuleError, match="Unbiased rounding computes in units of the last decimal"):
        protect(third, ControlledRounding(base=5, unbiased=True))
    table = cross_table("ab", "cd", [[7, 13], [4, 9]])
    fixed = pose(table, {}, published=table.labels())
    with pytest.raises(NoSafePatternError, match="these cells must not change but are not multiples of the base"):
        protect(fixed, ControlledRounding(base=5, unbiased=True))


def test_unbiased_rounding_is_for_networks(cube):
    with pytest.raises(RuleError, match="are networks, such as"):
        protect(cube, ControlledRounding(base=2, unbiased=True))


# -- each cell on its own ---------------------------------------------------------------------------------------


def test_random_rounding_is_unbiased_but_not_additive():
    problem = pose(cross_table("ab", "cd", [[7, 10], [4, 9]]), {"a × c": 1.0})
    draws = [protect(problem, RandomRounding(base=5), secret=secret(number)) for number in range(500)]
    mean = np.mean([draw.published for draw in draws], axis=0)
    assert np.all(np.abs(mean - problem.table.value) < 4 * 2.5 / np.sqrt(500))
    assert any(np.any(problem.table.relations @ draw.published) for draw in draws)
    assert all(draw.published[problem.table.index("a × d")] == 10 for draw in draws)
    assert np.all(draws[0].upper - draws[0].published == 4)
    audit(problem, draws[0])


def test_conventional_rounding_goes_to_the_nearest_and_from_the_middle_away_from_zero():
    problem = pose(cross_table("ab", "cd", [[7.5, -7.5], [4, 1]]), {}, lower=-np.inf)
    found = protect(problem, ConventionalRounding(base=5))
    told = {label: found.published[problem.table.index(label)] for label in ("a × c", "a × d", "b × c", "b × d")}
    assert told == {"a × c": 10, "a × d": -10, "b × c": 5, "b × d": 0}
    assert np.all(found.upper - found.published == 2.5)
    whole = protect(pose(cross_table("ab", "cd", [[7, 8], [4, 1]]), {}), ConventionalRounding(base=5))
    assert np.all(whole.upper - whole.published == 2)


# -- options ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "options", "what"),
    [
        ("round", {"base": 0}, "The base to round to must be a positive number"),
        ("round", {"base": -5.0}, "positive"),
        ("round", {"base": float("nan")}, "positive"),
        ("round", {"base": "many"}, "base"),
        ("round", {"steps": 0}, "The number of steps must be an integer from 1 on"),
        ("round", {"steps": "1.5"}, "steps"),
        ("round", {"unbiased": True, "steps": 2}, "An unbiased rounding goes to the multiples next to a cell"),
        ("round-first-model", {"base": [[1, 2]]}, "positive"),
        ("random-round", {"base": 0.0}, "positive"),
        ("conventional-round", {"base": np.inf}, "positive"),
    ],
)
def test_options_that_make_no_sense_are_refused(method, options, what):
    with pytest.raises(RuleError, match=what):
        with_options(method, **options)


def test_tiny_bases_round_nothing_or_are_refused():
    problem = pose(cross_table("ab", "cd", [[1, 2], [3, 4]]), {})
    found = protect(problem, ControlledRounding(base=1e-12))
    assert found.published == pytest.approx(problem.table.value)
    with pytest.raises(RuleError, match=r"it. Choose a larger base"):
        protect(problem, ControlledRounding(base=1e-300))


def test_options_may_come_as_texts():
    assert with_options("round", base="2", steps="2", zero_restricted="false") == ControlledRounding(2, False, 2)


def test_brute_force_judges_as_the_audit_does():
    problem = pose(cross_table("ab", "cd", [[7, 13], [4, 9]]), {"a × c": (2.0, 2.0)})
    found = protect(problem, ControlledRounding(base=5))
    safe = [v for v in roundings(problem, 5) if is_safe(problem, v, 5)]
    assert [float(x) for x in found.published] in [[float(x) for x in v] for v in safe]
    assert min(float(deviation(problem, v)) for v in safe) == found.report.cost
