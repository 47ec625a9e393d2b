"""The judge finds what leaks, lets pass what does not, agrees with brute force, and finds nothing in the package's releases."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.attackers import Attacker
from tests.oracles.by_hand import records_of, write_release
from tests.oracles.draw_jobs import METHODS, Draw, draw
from tests.oracles.insiders import _unknown, exposed
from tests.oracles.judge import Guess, judge
from tests.oracles.midpoint import scores, suspicions
from tests.oracles.reader import read
from tests.oracles.records import read_survey
from tests.oracles.release import read_release
from tests.oracles.replay import replay, try_replay
from tests.oracles.rules import needs, parse
from tests.oracles.sessions import try_jobs

FIRMS = {"data": {"response": "value", "contributor": "firm"}}
CELLS = {"protect": {"level": "cells"}}


def kinds(job: Path) -> dict[str, str]:
    return {one.what: one.kind for one in judge(job).violations}


# -- it reads nothing but files ----------------------------------------------------------------------------------


def test_only_the_black_box_imports_the_package():
    for path in Path(__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        imports = [line for line in text.splitlines() if line.startswith(("import ", "from ")) and "discreet" in line]
        assert not imports or path.name == "black_box.py", path


# -- releases that leak ------------------------------------------------------------------------------------------

LEVEL_0 = {
    "a x": [0],
    "a y": [40, 35, 30],
    "a z": [30, 29, 28],
    "b x": [50, 45, 20],
    "b y": [60, 55, 20],
    "b z": [10, 25, 24],
}


def test_a_sensitive_zero_that_is_suppressed_alone_is_computed(tmp_path):
    """192 − 105 − 87 = 0, although no level is required."""
    job = write_release(
        tmp_path,
        records_of(LEVEL_0),
        "ab",
        {"sensitive": ["P(10)", "FREQ(3)"]},
        suppressed=[("a", "x")],
        **FIRMS,
        **CELLS,
    )
    assert kinds(job) == {"a × x": "exact"}


@pytest.mark.parametrize(
    ("rules", "amounts"),
    [
        ({"sensitive": ["FREQ(3,0)"]}, [7]),
        ({"sensitive": ["P(20)"], "boundary": "inclusive"}, [20, 5, 2, 2]),
    ],
)
def test_level_0_on_positive_cells(tmp_path, rules, amounts):
    """By a margin of nothing, and on the boundary of a rule."""
    records = records_of(LEVEL_0 | {"a x": amounts})
    for suppressed, found in (
        ([("a", "x")], {"a × x": "exact"}),
        ([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")], {}),
    ):
        job = write_release(
            tmp_path / str(len(suppressed)), records, "ab", rules, suppressed=suppressed, **FIRMS, **CELLS
        )
        assert [tuple(place) for place in needs(read_survey(job))] == [("a", "x")]
        assert kinds(job) == found


def test_a_cell_made_primary_by_hand(tmp_path):
    job = write_release(
        tmp_path,
        records_of(LEVEL_0),
        "ab",
        {"sensitive": ["P(1)"]},
        suppressed=[("a", "x")],
        data=FIRMS["data"],
        protect=CELLS["protect"],
    )
    (tmp_path / "statuses.csv").write_text("cell,status\na × x,primary\n", encoding="utf-8")
    job.write_text(job.read_text().replace("[rules]", '[rules]\nstatuses = "statuses.csv"'))
    assert kinds(job) == {"a × x": "exact"}


def test_a_sensitive_cell_that_is_published_is_computed(tmp_path):
    job = write_release(
        tmp_path, records_of({"a x": [50], "a y": [9, 9, 9]}), "ab", {"sensitive": ["P(10)"]}, **FIRMS, **CELLS
    )
    assert kinds(job)["a × x"] == "exact"


def test_cells_behind_cyclic_linked_tables(tmp_path):
    """All of a0 is in b0, and b0 × c1 is 69: so a0 × c1 is 69 at most, and a0 × c0 at least 8, its value."""
    amounts = {"a0 b0 c0": [8], "a0 b0 c1": [29, 6, 34], "a1 b0 c0": [50, 47]}
    amounts |= {"a1 b1 c0": [27, 51, 58], "a1 b1 c1": [4, 385, 70]}
    suppressed = [("Total", "Total", c) for c in ("c0", "c1")]
    suppressed += [
        place for c in ("c0", "c1") for place in (("Total", "b1", c), ("a0", "Total", c), ("a1", "Total", c))
    ]
    tables = {"tables": [["a", "b"], ["b", "c"], ["a", "c"]]}
    rules = {"sensitive": ["NK(1,75)"]}
    job = write_release(
        tmp_path, records_of(amounts), "abc", rules, suppressed=suppressed, top=tables, **FIRMS, **CELLS
    )
    assert kinds(job) == {"a0 × Total × c0": "interval"}
    # Only the cells behind tell: without the table by a and b the same cell is safe.
    tables = {"tables": [["b", "c"], ["a", "c"]]}
    job = write_release(
        tmp_path, records_of(amounts), "abc", rules, suppressed=suppressed, top=tables, **FIRMS, **CELLS
    )
    assert kinds(job) == {}


def test_a_suppressed_count_is_not_zero(tmp_path):
    """Three symbols that add up to 3 are three ones, where zeros are published; where they may be suppressed they need not be."""
    places = [*product("ABC", "xyz", [1]), *product("D", "xyz", [7]), ("D", "w", 6)]
    records = [{"a": a, "b": b} for a, b, n in places for _ in range(n)]
    suppressed = list(product("ABC", "xyz"))
    job = write_release(tmp_path, records, "ab", {"sensitive": ["FREQ(3)"]}, suppressed=suppressed)
    assert kinds(job) == {" × ".join(place): "exact" for place in suppressed}
    job = write_release(
        tmp_path, records, "ab", {"sensitive": ["FREQ(3)"], "zeros": "suppressible"}, suppressed=suppressed
    )
    assert kinds(job) == {}


def test_ends_of_intervals_rounded_inwards(tmp_path):
    """The cell is 2, and the release says that it is at least 2.4."""
    big = 10**10
    records = records_of({"A x": [big], "A y": [2], "B x": [big], "B y": [big]})
    told = {("A", "y"): ("×", "2.4", "3"), ("A", "x"): ("×", big - 1, big + 1)}
    rules = {"sensitive": ["FREQ(2)"]}
    job = write_release(tmp_path, records, "ab", rules, told=told, data=FIRMS["data"], protect={"method": "intervals"})
    assert kinds(job) == {"A × y": "false"}


def test_narrow_intervals_between_huge_values(tmp_path):
    """Of 2 the reader must think 1.6 to 2.4 possible; the interval of its neighbour of ten billion gives it away."""
    big = 10**10
    records = records_of({"A x": [big // 4] * 4, "A y": [2], "B x": [big // 4] * 4, "B y": [big // 4] * 4})
    rules, settings = {"sensitive": ["FREQ(2)"]}, {"data": FIRMS["data"], "protect": {"method": "intervals"}}
    around = {"A x": big, "A y": 2, "B x": big, "B y": big}
    for width, found in ((0.5, {}), (0.3, {"A × y": "interval"})):
        told = {tuple(label.split()): ("×", value - width, value + width) for label, value in around.items()}
        told[("A", "y")] = ("×", 1, 3)
        job = write_release(tmp_path, records, "ab", rules, told=told, **settings)
        assert kinds(job) == found


def test_whole_numbers_say_more_than_linear_programs(tmp_path):
    """Published to within [1.4, 2.6] a count is 2."""
    records = [{"a": a, "b": b} for a, b, n in product("AB", "xy", [2]) for _ in range(n)]
    told = {place: ("×", "1.4", "2.6") for place in product("AB", "xy")}
    rules = {"sensitive": ["FREQ(3,20,1)"]}
    job = write_release(tmp_path, records, "ab", rules, told=told, protect={"method": "intervals"})
    assert set(kinds(job).values()) == {"exact"}


def middles(n: int, place: float | None) -> list[Guess]:
    """Intervals of width 40 around values; the value in a given place of the interval, or anywhere."""
    rng = np.random.default_rng(2)
    found = []
    for value in rng.uniform(50, 200, n):
        low = value - 40 * (rng.random() if place is None else place)
        found.append(Guess(value, low, low + 40, (low, low + 40), 10.0, 0.0))
    return found


class Case:
    def __init__(self, guesses):
        self.method, self.guesses = "intervals", tuple(guesses)


def test_values_in_the_middle_of_their_intervals_are_noticed():
    assert len(suspicions([Case(middles(200, 0.5))])) == 2  # published and inferred
    assert suspicions([Case(middles(200, None))]) == []


def test_values_moved_by_their_level_are_noticed():
    """v / 1.2 or v / 0.8 is the truth."""
    rng = np.random.default_rng(3)
    up = [(value, value * rng.choice([0.8, 1.2])) for value in rng.uniform(50, 200, 200)]
    guesses = [Guess(v, 0.6 * v, 1.5 * v, (shown, shown), 0.2 * v, 0.0) for v, shown in up]
    (line,) = suspicions([Case(guesses)])
    assert "put right by the level: 200 of 200" in line


def test_chance_is_what_uniform_values_hit():
    """Over many uniform values hits are as many as expected, also of whole numbers."""
    rng = np.random.default_rng(4)
    whole = [Guess(float(v), 20.0, 30.0, (20.0, 30.0), 3.0, 1.0) for v in rng.integers(20, 31, 3000)]
    for guesses in (middles(3000, None), whole):
        for score in scores([Case(guesses)])[:2]:
            assert abs(score.hits - score.expected) < 4 * score.deviation


def test_replay_keeps_the_tables_that_lead_to_the_same_release(tmp_path):
    """Whoever knows that a method suppresses this square for one table only knows that table."""
    records = [{"a": a, "b": b} for a, b, n in zip("AABB", "xyxy", [1, 2, 2, 1], strict=True) for _ in range(n)]
    job = write_release(tmp_path, records, "ab", {"sensitive": ["FREQ(3,20,1)"]}, suppressed=product("AB", "xy"))
    text = (tmp_path / "out" / "release.csv").read_text(encoding="utf-8")
    truth = {("A", "x"): 1, ("A", "y"): 2, ("B", "x"): 2, ("B", "y"): 1}
    anything = replay(job, lambda counts: text)
    assert (anything.tables, anything.kept, anything.sensitive, anything.narrower) == (2, 2, 4, 0)
    known = replay(job, lambda counts: text if counts == truth else None)
    assert (known.kept, known.narrower) == (1, 4)
    assert known.violation is not None
    assert anything.violation is None


@pytest.mark.slow
def test_replay_of_tiny_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "discreet.jobs.attacks.MIN_ATTACK_SECONDS", 30.0
    )  # audits are proven in these tests, which takes longer
    found = [try_replay(seed, tmp_path / str(seed)) for seed in range(40)]
    assert not [(seed, str(one.violation)) for seed, one in enumerate(found) if one.violation is not None]
    assert sum(one.outcome == "replayed" for one in found) >= 5


# -- insiders: examples of Daalmans and de Waal (2010) -------------------------------------------------------------


def crowd(**cells: float) -> dict[str, list[float]]:
    return {name.replace("_", " "): [value / 10] * 10 for name, value in cells.items()}


SQUARE = [("A", "I"), ("A", "II"), ("B", "I"), ("B", "II")]


def test_two_lone_respondents_know_each_other(tmp_path):
    """Example 3."""
    amounts = crowd(A_II=200, B_I=250, B_II=150, B_III=300, C_I=600, C_II=450, C_III=500)
    amounts |= {"A I": [100], "A III": [150]}
    suppressed = [("A", "I"), ("A", "III"), ("B", "I"), ("B", "III")]
    rules = {"sensitive": ["P(20)"]}
    job = write_release(tmp_path, records_of(amounts), "ab", rules, suppressed=suppressed, **FIRMS)
    assert kinds(job) == {"1 of A I": "insider", "1 of A III": "insider"}
    job = write_release(tmp_path, records_of(amounts), "ab", rules, suppressed=suppressed, **FIRMS, **CELLS)
    assert kinds(job) == {}


def test_somebody_in_the_next_cell(tmp_path):
    """Example 4: the firm with 28 of B × I knows that of A × I to within 17 of 155, where a fifth is required."""
    amounts = crowd(A_II=380, A_III=340, B_II=80, B_III=60, C_I=610, C_II=800, C_III=270)
    amounts |= {"A I": [155, 4, 1], "B I": [28, 10, 2]}
    job = write_release(tmp_path, records_of(amounts), "ab", {"sensitive": ["P(20)"]}, suppressed=SQUARE, **FIRMS)
    survey = read_survey(job)
    (one,) = exposed(survey, read_release(survey, survey.out / "release.csv"))
    assert (one.target, one.insiders) == ("1 of A I", ("1 of B I",))
    assert one.share == pytest.approx((17 - 5) / (0.2 * 155 - 5))


def test_a_cell_known_closely_whose_respondents_are_not(tmp_path):
    """Example 5 is safe for every respondent."""
    amounts = crowd(A_II=900, B_II=2350, C_I=2000, C_II=1000) | {"A I": [1000, 500, 100], "B I": [100, 30, 20]}
    job = write_release(tmp_path, records_of(amounts), "ab", {"sensitive": ["P(20)"]}, suppressed=SQUARE, **FIRMS)
    assert kinds(job) == {}


def test_the_investment_table(tmp_path):
    """Salazar-González (2002), figure 2: II × C can be anything from 5 to 30, so levels of 8 are kept and of 12 not."""
    amounts = crowd(I_A=20, I_B=50, I_C=10, II_A=8, II_B=19, III_A=17, III_B=32, III_C=12) | {"II C": [22]}
    suppressed = [("II", "A"), ("II", "C"), ("III", "A"), ("III", "C")]
    for margin, found in ((8 / 0.22, {}), (12 / 0.22, {"II × C": "interval"})):
        rules = {"sensitive": [f"FREQ(2,{margin:.4f})"]}
        job = write_release(tmp_path, records_of(amounts), "ab", rules, suppressed=suppressed, **FIRMS, **CELLS)
        assert kinds(job) == found
    survey = read_survey(job)
    system = read(survey, read_release(survey, survey.out / "release.csv")).system(survey)
    attacker, columns = Attacker(system, 1.0), system.of(survey, ("II", "C"))
    assert [22 + sign * attacker.furthest(columns, sign) for sign in (-1, 1)] == pytest.approx([5, 30])


# -- against brute force -------------------------------------------------------------------------------------------


MOST = 10  # that a suppressed count is tried with


@pytest.mark.parametrize("seed", range(12))
def test_intervals_of_counts_are_those_of_all_tables(tmp_path, seed):
    """All whole tables that agree with a release are listed; the attackers find the same intervals."""
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 4, (2, 3)) + (rng.random((2, 3)) < 0.2) * 2
    n[0, 0] = max(n[0, 0], 1)
    records = [{"a": "AB"[i], "b": "xyz"[j]} for i, j in product(range(2), range(3)) for _ in range(n[i, j])]
    shown = {("AB"[i], "xyz"[j]): int(n[i, j]) for i, j in product(range(2), range(3)) if n[i, j]}
    for a in "AB":
        shown[(a, "Total")] = sum(v for (x, y), v in shown.items() if x == a and y != "Total")
    for b in ("x", "y", "z", "Total"):
        shown[("Total", b)] = sum(v for (x, y), v in shown.items() if x != "Total" and y == b)
    shown = {place: v for place, v in shown.items() if v}
    gone = [place for place in shown if rng.random() < 0.6]
    for place in [place for place in gone if "Total" not in place][4:]:
        gone.remove(place)
    least = int(rng.integers(2))
    rules = {"sensitive": ["FREQ(3)"], "zeros": "published" if least else "suppressible"}
    survey = read_survey(write_release(tmp_path, records, "ab", rules, suppressed=gone))
    assert {place: cell.value for place, cell in survey.cells.items()} == shown
    system = read(survey, read_release(survey, survey.out / "release.csv")).system(survey)

    finest = [(a, b) for a in "AB" for b in "xyz"]
    ranges = []
    for place in finest:
        known = shown.get(place, 0)
        ranges.append(range(least, MOST + 1) if place in gone else range(known, known + 1))
    possible: dict[tuple[str, str], set[int]] = {place: set() for place in gone}
    for values in product(*ranges):
        table = dict(zip(finest, values, strict=True))
        sums = {
            place: sum(v for (a, b), v in table.items() if place[0] in (a, "Total") and place[1] in (b, "Total"))
            for place in [*shown, *product(("A", "B", "Total"), ("x", "y", "z", "Total"))]
        }
        if all(s == shown.get(place, 0) for place, s in sums.items() if place not in gone) and all(
            sums[place] >= least for place in gone
        ):
            for place in gone:
                possible[place].add(sums[place])
    whole, linear = Attacker(system, 1.0, integer=True), Attacker(system, 1.0)
    for place, values in possible.items():
        columns = system.of(survey, place)
        for attacker in (whole, linear):
            reach = [attacker.furthest(columns, sign) for sign in (-1, 1)]
            low, high = shown[place] - reach[0], shown[place] + reach[1]
            assert low == pytest.approx(min(values))
            assert high == pytest.approx(max(values)) or (not np.isfinite(high) and max(values) >= MOST)
        assert whole.moves(columns) == (len(values) > 1)


@pytest.mark.parametrize("rule", ["P(20)", "PQ(10,40)", "NK(2,80)", "NK(1,60)", "P(30,2)"])
@pytest.mark.parametrize("seed", range(4))
def test_insiders_are_those_whom_some_combination_serves(tmp_path, rule, seed):
    """In two-way tables every combination that matters has multipliers −1, 0 and 1: all of them are tried."""
    rng = np.random.default_rng([seed, 7])
    records = []
    for a, b in product("AB", "xyz"):
        for _ in range(rng.integers(1, 4)):
            records.append({"a": a, "b": b, "firm": f"F{rng.integers(7)}", "value": int(np.ceil(rng.lognormal(3, 1)))})
    suppressed = [place for place in product("AB", "xyz") if rng.random() < 0.75]
    job = write_release(tmp_path, records, "ab", {"sensitive": [rule]}, suppressed=suppressed, **FIRMS)
    survey = read_survey(job)
    release = read_release(survey, survey.out / "release.csv")
    unknown = _unknown(survey, release)
    names = list(unknown.amounts)
    amount = np.zeros((len(names), len(unknown.cells)))
    for who, mine in unknown.amounts.items():
        amount[names.index(who)] = mine
    multipliers = np.array(list(product((-1, 0, 1), repeat=unknown.rows.shape[0])))
    weights = np.unique(np.abs(multipliers @ unknown.rows.toarray()), axis=0)
    parts, total = weights @ amount.T, weights @ amount.sum(axis=0)
    lead, other, size = parse([rule])[0].measure
    found = set()
    for t, target in enumerate(names):
        best = np.sort(np.delete(parts, t, axis=1), axis=1)[:, ::-1][:, :size].sum(axis=1)
        score = float(lead) * parts[:, t] + float(other) * best - total
        if ((score > 1e-9 * total) & (parts[:, t] > 0)).any():
            found.add(target)
    assert {one.target for one in exposed(survey, release)} == found


# -- the package's releases ----------------------------------------------------------------------------------------

SEEDS, JOBS, CHUNK = 260, 130, 5  # of so many seeds the jobs that are tried, and how many one test tries


@cache
def varied_seeds() -> list[int]:
    """Seeds of jobs: all those that have something that none before them has, and as many others as there are to be."""
    seen: set[object] = set()
    new, others = [], []
    for seed in range(SEEDS):
        traits = traits_of(draw(seed))
        (others if traits <= seen else new).append(seed)
        seen |= traits
    return sorted([*new, *others[: JOBS - len(new)]])


def traits_of(job: Draw) -> set[object]:
    """What distinguishes a job: its method with each kind of data, and each of its rules and settings."""
    traits: set[object] = {(job.method, word) for word in job.kind.split()}
    traits |= {rule.partition("(")[0] for rule in job.rules["sensitive"]}
    for section in (job.rules, job.data, job.protect, job.output):
        traits |= {(name, str(value)) for name, value in section.items() if name not in ("sensitive", "options")}
    return traits


def test_every_method_is_tried_with_every_kind_of_data():
    tried = set[object]().union(*(traits_of(draw(seed)) for seed in varied_seeds()))
    assert tried == set[object]().union(*(traits_of(draw(seed)) for seed in range(SEEDS)))
    assert {method for method, *_ in filter(lambda one: isinstance(one, tuple), tried)} >= set(METHODS)
    assert len(varied_seeds()) == JOBS


@pytest.mark.parametrize("first", range(0, JOBS, CHUNK))
def test_random_jobs_keep_their_promise(first):
    """More of them: ``python -m tests.oracles --jobs 10000``."""
    tally = try_jobs(varied_seeds()[first : first + CHUNK])
    assert not [f"seed {case.seed} ({case.method}, {case.kind}): {one}" for case, one in tally.violations]
    assert sum(case.outcome == "released" for case in tally.cases) > CHUNK / 3


def test_values_are_not_guessed_from_what_is_published():
    """Methods that publish intervals or other values, over 40 jobs: the middle is hit no more often than by chance."""
    tally = try_jobs(range(SEEDS, SEEDS + 40), ("intervals", "combined", "perturb", "adjust"))
    assert not [f"seed {case.seed} ({case.method}, {case.kind}): {one}" for case, one in tally.violations]
    assert suspicions(tally.cases) == []
