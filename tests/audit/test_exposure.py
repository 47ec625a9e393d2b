"""Which cells are exposed, and how: what must hold in every table, and the formulas once more, one cell at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.exposure import main as benchmark
from benchmarks.exposure import suffices
from click.testing import CliRunner
from scipy import sparse

from discreet.attackers import Attacker
from discreet.audit import audit, exposure
from discreet.audit.exposure import EXPOSURE_SETS
from discreet.cli.main import cli
from discreet.data.table import Table
from discreet.errors import NoSafePatternError, TableError
from discreet.io import read_problem, write_problem
from discreet.io.pattern import write_pattern
from discreet.methods import protect
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection, suppress
from discreet.testing import (
    cross_table,
    pose,
    random_hierarchy,
    random_linked_table,
    random_problem,
    random_table,
    suppressing,
)

pytestmark = pytest.mark.usefixtures("levels_alone")


def weighted(rng: np.random.Generator) -> Table:
    """Relations with weights other than 1 and −1."""
    matrix = rng.choice([0, 0, 1, 1, -1, 2, -0.5], (4, 8)).astype(float)
    value = rng.integers(1, 30, 8).astype(float)
    return Table({}, np.zeros((0, 8)), value, sparse.csr_array(matrix), names=tuple("pqrstuvw"), rhs=matrix @ value)


TABLES = {
    "2-D": lambda rng: random_table(rng, (5, 5)),
    "2-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=3), 4)),
    "2-D, negative": lambda rng: random_table(rng, (4, 4), negative=0.3),
    "3-D": lambda rng: random_table(rng, (3, 3, 4), values="integer"),
    "linked": random_linked_table,
    "weighted": weighted,
}
PRIORS = ("sign", "percent", "mixed")


def case(kind: str, prior: str, seed: int, primaries: float = 0.25) -> tuple[Problem, Protection]:
    """Primaries, also among the totals, and other suppressed cells; some primaries published as intervals."""
    rng = np.random.default_rng([seed, list(TABLES).index(kind), PRIORS.index(prior)])
    problem = random_problem(
        rng, TABLES[kind](rng), primaries=primaries, sliding=True, prior=prior, already_suppressed=0.05
    )
    may = problem.status != Status.PUBLISHED
    must = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
    protection = suppress(problem, must | (may & (rng.random(len(problem)) < 0.1)))
    intervals = protection.suppressed & (rng.random(len(problem)) < 0.1)
    slack = rng.uniform(0, 0.5, (2, len(problem))) * problem.table.magnitude
    lower = np.where(intervals, problem.table.value - slack[0], protection.lower)
    upper = np.where(intervals, problem.table.value + slack[1], protection.upper)
    return problem, replace(protection, lower=lower, upper=upper)


# -- what must hold in every table ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", TABLES)
def test_sets_contain_each_other_as_they_should(kind, prior, seed):
    problem, protection = case(kind, prior, seed)
    found = exposure(problem, protection)
    assert found.cell.tolist() == problem.primaries.tolist()
    assert found.labels("exposed") == audit(problem, protection).exposed
    assert not (found.unpicked & ~found.exposed).any()
    assert not (found.fully & found.partially).any()
    assert (found.fully | found.partially).tolist() == found.exposed.tolist()
    assert (found.initially | found.consequently).tolist() == found.unpicked.tolist()
    assert found.initially.any() == found.unpicked.any()
    for candidates in (found.k1, found.k3, found.k5):
        assert not (candidates & ~found.exposed).any()
    assert not (found.initially & ~found.k5).any()
    assert (found.k_pl & found.exposed & ~found.k5).sum() == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", TABLES)
def test_protecting_all_exposed_cells_protects_the_others_too(kind, seed):
    """Hiding more never tells more: what is not exposed now is not exposed later. For ``k5`` that is only experience."""
    problem, _ = case(kind, "sign", seed, primaries=0.15)
    found = exposure(problem)
    status = problem.status.copy()
    status[found.cell[~found.exposed]] = Status.SUPPRESSED
    try:
        pattern = protect(problem.with_columns(status=status)).suppressed
    except NoSafePatternError:
        return
    assert audit(problem, suppress(problem, pattern), intervals=False).passed


# -- the formulas, one cell at a time ---------------------------------------------------------------------------


def by_hand(problem: Problem, protection: Protection) -> dict[str, list[bool]]:
    """K_1, K_pl, K_nv and K_s in plain loops."""
    value, who = problem.table.value, problem.attackers()[0]
    down = np.maximum(value - np.maximum(protection.lower, who.lower), 0.0)
    up = np.maximum(np.minimum(protection.upper, who.upper) - value, 0.0)
    secret = down + up > 1e-9
    rows = problem.table.relations.toarray()
    primary = problem.status == Status.PRIMARY
    sets: dict[str, list[bool]] = {"alone": [], "k_pl": [], "k_nv": [], "k_s": []}
    for p in problem.primaries:
        alone, slack, least = False, [down[p], up[p]], np.inf
        for row in rows[rows[:, p] != 0] if secret[p] else []:
            others = [i for i in np.flatnonzero(row) if i != p and secret[i]]
            alone |= not others
            gives = [0.0, 0.0]
            for i in others:
                level = min(problem.lower[i], down[i]) * primary[i], min(problem.upper[i], up[i]) * primary[i]
                for side in (0, 1):
                    same = row[i] * row[p] > 0
                    gives[side] += abs(row[i] / row[p]) * level[1 - side if same else side]
            slack = [min(a, b) for a, b in zip(slack, gives, strict=True)]
            least = min(least, sum(abs(row[i] / row[p] * value[i]) for i in others if primary[i]))
        need = problem.lower[p], problem.upper[p], problem.sliding[p]
        has = slack[0], slack[1], slack[0] + slack[1]
        sets["alone"].append(alone)
        sets["k_pl"].append(any(h < n * (1 - 1e-7) for h, n in zip(has, need, strict=True)))
        sets["k_nv"].append(abs(value[p]) + max(need) > least)
        sets["k_s"].append(max(need[0] + need[1], need[2], abs(value[p])) > 3 * least)
    return sets


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", TABLES)
def test_candidates_by_hand(kind, prior, seed):
    problem, protection = case(kind, prior, seed)
    found = exposure(problem, protection)
    for flag, expected in by_hand(problem, protection).items():
        assert getattr(found, flag).tolist() == expected, flag


def bare(value: list[float], relations: list[list[float]]) -> Table:
    matrix, values = sparse.csr_array(np.array(relations)), np.array(value)
    return Table({}, np.zeros((0, len(value))), values, matrix, names=tuple("pqrst"[: len(value)]), rhs=matrix @ values)


def test_a_sensitive_total_counts_with_its_sign():
    """p + q = r: as far as the total r may go up or down, its part p may go the same way."""
    found = exposure(pose(bare([10, 20, 30], [[1.0, 1.0, -1.0]]), {"p": 3.0, "r": (8.0, 1.0)}))
    assert found.assured_lower.tolist() == [2, 27]
    assert found.assured_upper.tolist() == [11, 33]
    assert found.labels("k_pl") == ["p", "r"]


def test_weights_count():
    """2 p + q = 40: half of what q may move is what p may move, the other way."""
    found = exposure(pose(bare([10, 20], [[2.0, 1.0]]), {"p": (1.0, 3.0), "q": (4.0, 2.0)}))
    assert list(zip(found.assured_lower, found.assured_upper, strict=True)) == [(9, 12), (14, 22)]
    assert found.labels("k_pl") == ["p"]


def test_what_is_known_beforehand_is_round_0():
    table = cross_table("ab", "cd", [[10, 20], [30, 40]])
    problem = pose(table, {"a × c": 2.0, "b × d": 2.0})
    square = suppressing(problem, "a × d", "b × c")
    assert exposure(problem, square).counts()["exposed"] == 0
    upper = problem.prior_upper.copy()
    upper[table.index("a × c")] = 11.0
    found = exposure(
        problem.with_columns(prior_upper=upper), replace(square, problem=problem.with_columns(prior_upper=upper))
    )
    assert found.frame().set_index("cell")["round"].to_dict() == {"a × c": 0, "b × d": 2}
    assert found.labels("partially") == ["a × c", "b × d"]


def test_a_published_primary_is_fully_exposed_before_any_unpicking():
    problem = pose(cross_table("ab", "cd", [[10, 20], [30, 40]]), {"a × c": 2.0})
    value = problem.table.value
    everything = replace(
        suppressing(problem),
        decision=np.full(len(value), Decision.PUBLISHED),
        published=value,
        lower=value,
        upper=value,
    )
    found = exposure(problem, everything)
    assert found.labels("fully") == found.labels("initially") == found.labels("k5") == ["a × c"]
    assert found.round.tolist() == [0]


def test_width_is_asked_for_wherever_it_lies():
    """Between 0 and 30 in any case; 31 is more than that, although no level is required on either side."""
    table = cross_table("ab", "cd", [[10, 20], [30, 40]])
    for sliding, exposed in [(30.0, []), (31.0, ["a × c"])]:
        problem = pose(table, {"a × c": (0.0, 0.0, sliding)})
        found = exposure(problem, suppressing(problem, "a × d", "b × c", "b × d"))
        assert found.labels("exposed") == found.labels("unpicked") == exposed


def test_cells_that_are_not_exposed_may_stand_between_two_that_are():
    """In round 1 q is bounded, and not exposed; through it r is in round 2. Nothing exposed was needed: r is initial."""
    table = bare([2, 8, 8], [[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]])
    found = exposure(pose(table, {"p": 1.0, "q": 1.0, "r": (1.0, 3.0)}))
    assert found.labels("unpicked") == found.labels("initially") == ["r"]
    assert found.round.tolist() == [-1, -1, 2]


def test_a_primary_that_asks_for_nothing_is_no_candidate():
    problem = pose(cross_table("ab", "cd", [[10, 20], [30, 40]]), {"a × c": 0.0})
    found = exposure(problem)
    assert found.labels("alone") == ["a × c"]
    assert found.labels("exposed") == found.labels("k1") == found.labels("k3") == found.labels("k5") == []


def test_a_cell_hidden_already_hides_others_but_promises_nothing():
    """Beside b × c, a × c is not alone; since nothing protects b × c, it does not count on it."""
    table = cross_table("ab", "cd", [[10, 20], [30, 40]])
    problem = pose(table, {"a × c": 2.0})
    status = problem.status.copy()
    status[[table.index(cell) for cell in ("a × d", "b × c", "b × d")]] = Status.SUPPRESSED
    found = exposure(problem.with_columns(status=status))
    assert found.counts() == dict.fromkeys(("conditional", *EXPOSURE_SETS), 0) | {
        "primaries": 1,
        "k_pl": 1,
        "k_nv": 1,
        "k_s": 1,
    }


# -- several attackers, refusals and looks -------------------------------------------------------------------------


class Watched(Problem):
    """A problem with a second attacker, who contributes most of one cell."""

    def attackers(self) -> tuple[Attacker, ...]:
        lower = self.prior_lower.copy()
        lower[self.table.index("a × d")] = 19.0
        return (*super().attackers(), Attacker("contributor", lower, self.prior_upper))


def test_one_attacker_is_enough():
    table = cross_table("ab", "cd", [[10, 20], [30, 40]])
    problem = pose(table, {"a × c": 2.0})
    watched = Watched(**{name: getattr(problem, name) for name in problem.__dataclass_fields__})
    pattern = suppress(problem, suppressing(problem, "a × d", "b × c", "b × d").suppressed)
    assert exposure(problem, pattern).labels("exposed") == []
    found = exposure(watched, replace(pattern, problem=watched))
    assert found.labels("partially") == found.labels("initially") == ["a × c"]


def test_an_audit_at_hand_saves_the_programs_if_it_is_the_right_one():
    problem, protection = case("2-D", "sign", 1)
    cells = np.flatnonzero(protection.suppressed | (problem.status == Status.PRIMARY))
    found = exposure(problem, protection, checked=audit(problem, protection, cells=cells))
    assert found.frame().equals(exposure(problem, protection).frame())
    wrong = [
        audit(problem, protection, intervals=False),
        audit(problem, protection, cells=problem.primaries[1:]),
        audit(problem, suppressing(problem)),
    ]
    for checked in wrong:
        with pytest.raises(TableError, match=r"this protection. Audit again"):
            exposure(problem, protection, checked=checked)


def test_the_frame_has_one_row_a_primary_and_nothing_shows_values():
    problem = pose(cross_table("ab", "cd", [[5123, 1234], [2345, 7456]]), {"a × c": 2000.0, "b × d": 3.0})
    found = exposure(problem)
    frame = found.frame()
    assert list(frame) == ["cell", *EXPOSURE_SETS, "round"]
    assert frame["cell"].tolist() == ["a × c", "b × d"]
    assert repr(found) == "Exposure(2 of 2 primaries exposed, 2 by single relations)"
    assert found.counts()["primaries"] == 2
    assert "5123" not in frame.to_csv() + str(found.counts())


def test_a_table_without_primaries():
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {})
    assert set(exposure(problem).counts().values()) == {0}


# -- on the command line --------------------------------------------------------------------------------------------


@pytest.fixture
def jj_file(tmp_path):
    """Each sensitive cell is alone in its column."""
    table = cross_table("ab", "cde", [[71301, 62210, 15003], [53117, 44023, 20101]])
    problem = pose(table, {"a × c": 7000.0, "b × d": 100.0, "b × e": 3000.0})
    write_problem(problem, tmp_path / "problem.jj")
    return tmp_path / "problem.jj"


def test_attack_without_a_pattern_hides_only_what_is_sensitive(jj_file, tmp_path, capsys):
    out = tmp_path / "attack.csv"
    assert cli.main(["attack", str(jj_file), "--out", str(out), "--quiet"], standalone_mode=False) == 1
    output = capsys.readouterr().out
    assert output.startswith("3 suppressed cells: 3 can be computed exactly,\n")
    for line in (
        "3  of 3 sensitive cells are exposed",
        "3    fully: their values can be computed",
        "3    by single relations, one after the other",
        "0    only by several relations at once",
        "3  candidates by K5",
    ):
        assert line in output
    assert not any(str(secret) in output for secret in (71301, 44023, 20101))
    frame = pd.read_csv(out)
    assert list(frame)[:7] == ["cell", "value", "lower", "upper", "required_lower", "required_upper", "safe"]
    assert list(frame)[7:] == [*EXPOSURE_SETS, "round"]
    assert frame["alone"].all()


def test_attack_with_a_safe_pattern_has_no_more_to_say(jj_file, tmp_path, capsys):
    problem = read_problem(jj_file)
    write_pattern(protect(problem), tmp_path / "pattern.csv")
    out = tmp_path / "attack.csv"
    words = ["attack", str(jj_file), "--pattern", str(tmp_path / "pattern.csv"), "--out", str(out)]
    assert cli.main(words, standalone_mode=False) == 0
    assert "candidates" not in capsys.readouterr().out
    frame = pd.read_csv(out)
    assert frame["exposed"].isna().sum() == len(frame) - 3  # only sensitive cells have sets


def test_the_benchmark_prints_a_table_for_a_folder(jj_file):
    run = CliRunner().invoke(benchmark, [str(jj_file.parent)])
    assert run.exit_code == 0, run.output
    assert "| problem | 12 | 3 | 3 | 3 | 3 | 3 | 3 | 3 |" in run.output


def test_the_benchmark_tells_candidates_that_suffice_from_those_that_do_not(jj_file):
    problem = read_problem(jj_file)
    assert suffices(problem, np.ones(3, dtype=bool))
    assert not suffices(problem, np.zeros(3, dtype=bool))


@pytest.mark.parametrize("kind", ["2-D", "3-D"])
def test_only_what_the_audit_finds_exposed_is_unpicked(kind):
    """On the line itself sums of floats may see it otherwise. The verdict is the audit's, whatever it is."""
    problem, protection = case(kind, "percent", 0)
    checked = audit(problem, protection)
    assert exposure(problem, protection, checked=checked).unpicked.any()
    found = exposure(problem, protection, checked=replace(checked, safe=np.ones_like(checked.safe)))
    for flag in ("exposed", "unpicked", "initially", "consequently", "together"):
        assert not getattr(found, flag).any()
    assert (found.round == -1).all()
