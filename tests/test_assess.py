"""From a table to a problem: sensitive cells, protection levels and prior bounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.assess import assess
from discreet.data.finished_table import read_table
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import InputError, RuleError, TableError
from discreet.problem import Override, Problem, Status
from discreet.rules import Dominance, Percent

# Ann dominates a × x, Cleo is alone in b × y; the other cells are far from sensitive, and a × z is empty.
CELLS = pd.DataFrame(
    [
        ("a", "x", 100, 2, 90, 10, 0, "Ann", "Bob", None),
        ("a", "y", 200, 10, 30, 25, 20, "Bob", "Dan", "Eve"),
        ("a", "z", 0, 0, 0, 0, 0, None, None, None),
        ("b", "x", 300, 20, 30, 30, 25, "Flo", "Gus", "Hal"),
        ("b", "y", 50, 1, 50, 0, 0, "Cleo", None, None),
        ("b", "z", 400, 30, 30, 30, 25, "Flo", "Gus", "Hal"),
        ("a", "Total", 300, 12, 90, 40, 25, "Ann", "Bob", "Dan"),
        ("b", "Total", 750, 51, 60, 60, 50, "Flo", "Gus", "Cleo"),
        ("Total", "x", 400, 22, 90, 30, 30, "Ann", "Flo", "Gus"),
        ("Total", "y", 250, 11, 50, 30, 25, "Cleo", "Bob", "Dan"),
        ("Total", "z", 400, 30, 30, 30, 25, "Flo", "Gus", "Hal"),
        ("Total", "Total", 1050, 63, 90, 60, 60, "Ann", "Flo", "Gus"),
    ],
    columns=["row", "column", "value", "n", "x1", "x2", "x3", "w1", "w2", "w3"],
)


@pytest.fixture(scope="module")
def table() -> Table:
    return read_table(CELLS, ["row", "column"], "value", count="n", top=["x1", "x2", "x3"], who=["w1", "w2", "w3"])


def sensitive(problem: Problem) -> list[str]:
    return problem.table.labels(problem.primaries)


def status(problem: Problem, label: str) -> Status:
    return Status(problem.status[problem.table.index(label)])


def levels(problem: Problem, label: str) -> tuple[float, float]:
    i = problem.table.index(label)
    return float(problem.lower[i]), float(problem.upper[i])


# -- rules ------------------------------------------------------------------------------------------------------------


def test_a_rule_makes_cells_primary_with_the_levels_it_asks_for(table):
    problem = assess(table, "P(10)")
    assert sensitive(problem) == ["a × x", "b × y"]
    assert levels(problem, "a × x") == pytest.approx((9, 9))
    assert levels(problem, "b × y") == pytest.approx((5, 5))
    assert problem.rules == ("P(10)",)


def test_all_other_cells_need_no_protection(table):
    problem = assess(table, "P(10)")
    others = problem.status != Status.PRIMARY
    assert not problem.lower[others].any()
    assert not problem.upper[others].any()
    assert not problem.sliding.any()


@pytest.mark.parametrize("rules", ["P(10)|FREQ(3)", ["P(10)", "FREQ(3)"], [Percent(10), "FREQ(3)"], ("FREQ(3)|P(10)",)])
def test_of_several_rules_the_largest_levels_count(table, rules):
    """FREQ asks for 20 percent of the value, P for 10 percent of the largest contribution."""
    problem = assess(table, rules)
    assert sensitive(problem) == ["a × x", "b × y"]
    assert levels(problem, "a × x") == pytest.approx((20, 20))
    assert levels(problem, "b × y") == pytest.approx((10, 10))


def test_on_the_boundary_of_a_rule(table):
    """Bob and Dan make 27.5 percent of a × y, and Flo and Gus exactly 15 percent of b × z."""
    assert "b × z" not in sensitive(assess(table, "NK(2,15)"))
    assert "b × z" in sensitive(assess(table, "NK(2,15)", boundary="inclusive"))
    made = Dominance(2, 15, boundary="inclusive")
    assert "b × z" in sensitive(assess(table, made, boundary="strict"))


def test_without_rules_and_statuses_nothing_is_sensitive(table):
    problem = assess(table, [])
    assert sensitive(problem) == []
    assert problem.rules == ()


def test_rules_that_cannot_be_applied(table):
    with pytest.raises(RuleError, match="needs the 4 largest"):
        assess(table, "NK(4,80)")
    with pytest.raises(RuleError, match="count"):
        assess(table.with_columns(count=None), "FREQ(3)")
    with pytest.raises(RuleError, match="requested protection"):
        assess(table, "REQ(50)")


# -- zeros and costs --------------------------------------------------------------------------------------------------


def test_zeros_stay_published(table):
    problem = assess(table, "P(10)")
    assert status(problem, "a × z") == Status.PUBLISHED
    assert (problem.status == Status.PUBLISHED).sum() == 1


def test_a_zero_made_of_contributions_is_none(table):
    """Contributions that cancel: the sum is zero, the respondents are not."""
    i = table.index("a × z")
    magnitude = table.magnitude.copy()
    magnitude[i] = 80.0
    problem = assess(table.with_columns(magnitude=magnitude), "P(10)")
    assert status(problem, "a × z") == Status.FREE


def test_costs_by_name_and_by_cell(table):
    assert assess(table, "P(10)").cost.tolist() == table.value.tolist()
    assert assess(table, "P(10)", cost="unit").cost.tolist() == [1.0] * 12
    assert assess(table, "P(10)", cost="count").cost.tolist() == table.count.tolist()
    assert assess(table, "P(10)", cost=np.arange(12.0)).cost.tolist() == list(range(12))
    with pytest.raises(RuleError, match=r"'valeu'.*'value'"):
        assess(table, "P(10)", cost="valeu")


# -- by hand ----------------------------------------------------------------------------------------------------------


def test_statuses_by_hand_override_the_rules(table):
    by_hand = {
        "a × x": ("free", "old"),
        "b × y": ("published", "known"),
        ("b", "x"): "hidden",
        "a × y": "primary",
        "a × z": "free",
    }
    problem = assess(table, "P(10)", statuses=by_hand)
    assert sensitive(problem) == ["a × y"]
    assert status(problem, "a × x") == Status.FREE
    assert status(problem, "b × y") == Status.PUBLISHED
    assert status(problem, "b × x") == Status.SUPPRESSED
    assert status(problem, "a × z") == Status.FREE
    assert levels(problem, "b × y") == (0, 0)
    # If it is suppressed after all, it is protected as the rules say.
    assert levels(problem, "a × x") == levels(assess(table, "P(10)"), "a × x") == pytest.approx((9, 9))
    assert problem.overrides == (
        Override("a × x", ("P(10)",), "free", "old"),
        Override("b × y", ("P(10)",), "published", "known"),
    )


def test_a_sensitive_cell_that_is_to_be_hidden_stays_sensitive(table):
    problem = assess(table, "P(10)", statuses={"a × x": "hidden"})
    assert problem.with_columns(must_suppress=(), by_hand={}).digest == assess(table, "P(10)").digest
    assert not problem.overrides


@pytest.mark.parametrize("word", ["free", "published"])
@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_sensitive_cell_is_not_let_go_without_a_reason(table, word, reason):
    with pytest.raises(
        InputError, match=r"without a reason: 'a × x'.*column 'reason'.*'suppressed' or leave them to the rules"
    ) as caught:
        assess(table, "P(10)", statuses={"a × x": word if reason is None else (word, reason)})
    assert caught.value.offenders == ["a × x"]


@pytest.mark.parametrize("given", [("free", None), ("free",), ("free", "a", "b"), 3, None])
def test_a_status_by_hand_is_a_word_with_or_without_a_reason(table, given):
    with pytest.raises(InputError, match="a word, or a word and a reason"):
        assess(table, "P(10)", statuses={"a × x": given})


def test_a_cell_has_one_status_by_hand(table):
    with pytest.raises(InputError, match="Cell 'a × x' has two statuses by hand"):
        assess(table, "P(10)", statuses={"a × x": "primary", ("a", "x"): "suppressed"})


def test_zeros_that_are_not_stored_cannot_be_suppressed(table):
    with pytest.raises(InputError, match="zeros is 'published' or 'suppressible', not 'gone'"):
        assess(table, "P(10)", zeros="gone")
    records = pd.DataFrame({"r": ["a", "b"], "c": ["x", "y"]})
    with pytest.raises(InputError, match="2 empty cells are not stored, and readers would know that those are zero"):
        assess(tabulate(records, ["r", "c"]), "FREQ(3)", zeros="suppressible")


def test_decisions_are_part_of_what_was_protected(table):
    """A verdict about one decision is not one about another."""
    made = [assess(table, "P(10)", statuses={"a × x": ("published", reason)}) for reason in ("known", "agreed")]
    assert made[0].digest != made[1].digest


def test_waivers_that_make_a_difference_are_counted(table):
    assert assess(table, "P(10)").waived == 0
    assert assess(table, "P(10)", waivers=["nobody"]).waived == 0
    assert assess(table, "P(10)", waivers=["Cleo"]).waived == 1  # b × y
    assert assess(table, "P(10)", waivers=["Ann"]).waived == 1  # a × x still protects Bob, but less


def test_statuses_by_hand_without_rules(table):
    problem = assess(table, (), statuses={"a × y": "primary"}, margin=7.5)
    assert sensitive(problem) == ["a × y"]
    assert levels(problem, "a × y") == pytest.approx((15, 15))


def test_the_margin_is_for_cells_that_no_rule_protects(table):
    problem = assess(table, "P(10)", statuses={"a × x": "primary", "a × y": "primary"})
    assert levels(problem, "a × x") == pytest.approx((9, 9))
    assert levels(problem, "a × y") == pytest.approx((40, 40))


def test_a_zero_by_hand_has_nothing_to_protect_it_by(table):
    problem = assess(table, (), statuses={"a × z": "primary"})
    assert status(problem, "a × z") == Status.PRIMARY
    assert levels(problem, "a × z") == (0, 0)


def test_statuses_of_cells_that_do_not_exist(table):
    with pytest.raises(TableError, match="no cell 'a × w'") as caught:
        assess(table, "P(10)", statuses={"a × w": "free"})
    assert caught.value.offenders == ["a × w"]
    with pytest.raises(TableError, match="no cell 'a × w'"):
        assess(table, "P(10)", statuses={("a", "w"): "free"})


def test_statuses_that_do_not_exist(table):
    with pytest.raises(
        InputError,
        match=r"'a × x': there is no status 'secret'.*'primary', 'free', 'published', 'suppressed', 'hidden'",
    ):
        assess(table, "P(10)", statuses={"a × x": "secret"})


@pytest.mark.parametrize("margin", [-1, np.nan, np.inf])
def test_margins_that_are_none(table, margin):
    with pytest.raises(RuleError, match="margin is a percentage of the magnitude, 0 or more"):
        assess(table, "P(10)", margin=margin)


# -- waivers ----------------------------------------------------------------------------------------------------------


def test_who_consents_is_no_longer_protected(table):
    """Without Ann the target in a × x is Bob, and she can estimate his 10 to within 10 percent."""
    problem = assess(table, "P(10)", waivers=["Ann"])
    assert sensitive(problem) == ["a × x", "b × y"]
    assert levels(problem, "a × x") == pytest.approx((1, 1))


def test_a_cell_all_of_whose_contributors_consent_is_let_go(table):
    assert sensitive(assess(table, "P(10)|FREQ(3)", waivers=["Ann", "Bob"])) == ["b × y"]
    assert sensitive(assess(table, "P(10)|FREQ(3)", waivers=["Cleo"])) == ["a × x"]
    assert sensitive(assess(table, "P(10)|FREQ(3)", waivers=["Ann", "Bob", "Cleo"])) == []


def test_consent_for_one_cell_is_for_no_other(table):
    assert sensitive(assess(table, "P(10)", waivers=[("Cleo", "b × y")])) == ["a × x"]
    assert sensitive(assess(table, "P(10)", waivers=[("Cleo", ("b", "y"))])) == ["a × x"]
    assert sensitive(assess(table, "P(10)", waivers=[("Cleo", "Total × y"), ("Ann", "b × y")])) == ["a × x", "b × y"]


def test_consent_of_somebody_unknown_changes_nothing(table):
    plain, with_it = assess(table, "P(10)"), assess(table, "P(10)", waivers=["Nobody"])
    assert with_it.digest == plain.digest


def test_consent_for_an_unknown_cell_is_an_error(table):
    with pytest.raises(TableError, match="no cell 'b × w'"):
        assess(table, "P(10)", waivers=[("Cleo", "b × w")])


def test_waivers_need_the_names_of_contributors(table):
    for anonymous in (table.with_columns(top_contributor=None), table.with_columns(top=None)):
        with pytest.raises(InputError, match="need the names of contributors"):
            assess(anonymous, "FREQ(3)", waivers=["Ann"])


# -- prior knowledge of all readers --------------------------------------------------------------------------------------


def test_everybody_knows_that_nothing_is_negative(table):
    problem = assess(table, "P(10)")
    assert not problem.prior_lower.any()
    assert np.isposinf(problem.prior_upper).all()


def test_everybody_knows_everything_to_within_q_percent(table):
    problem = assess(table, "PQ(5,40)", prior=40)
    some = table.value > 0
    assert problem.prior_lower == pytest.approx(0.6 * table.value)
    assert problem.prior_upper[some] == pytest.approx(1.4 * table.value[some])


def test_so_many_percent_say_nothing_of_a_zero():
    """A sensitive zero would be known to all readers, and so need no protection."""
    frame = pd.DataFrame({"g": list("abbb"), "v": [0, 5, 6, 7]})
    problem = assess(tabulate(frame, "g", "v"), "FREQ(3)", prior=50)
    zero = problem.table.index("a")
    assert (problem.prior_lower[zero], problem.prior_upper[zero]) == (0, np.inf)
    outsider = problem.attackers()[0]
    assert problem.with_least_width(problem.levels(outsider), outsider, problem.status > 0)[2, zero] > 0


def test_no_level_reaches_beyond_what_everybody_knows(table):
    """Readers who know a value to within 30 percent cannot be made to consider 160 percent of it possible."""
    problem = assess(table, (), statuses={"a × y": "primary"}, margin=60, prior=30)
    assert levels(problem, "a × y") == pytest.approx((60, 60))
    problem = assess(table, (), statuses={"a × y": "primary"}, margin=160)
    assert levels(problem, "a × y") == pytest.approx((200, 320))


@pytest.mark.parametrize("prior", [0, -5, 100.5, np.nan, np.inf])
def test_a_prior_out_of_range_is_refused_and_not_repeated(table, prior):
    """It is the q of the pq rule."""
    with pytest.raises(RuleError, match="above 0 and up to 100") as caught:
        assess(table, "P(10)", prior=prior)
    assert f"{prior:g}" not in str(caught.value).replace("above 0 and up to 100", "")


def test_where_values_are_negative_nobody_knows_any_sign(table):
    negative = table.with_columns(value=-table.value, magnitude=table.magnitude)
    problem = assess(negative, "P(10)")
    assert np.isneginf(problem.prior_lower).all()
    assert np.isposinf(problem.prior_upper).all()
    assert sensitive(problem) == ["a × x", "b × y"]
    assert levels(problem, "a × x") == pytest.approx((9, 9))


def test_where_contributions_are_negative_nobody_knows_any_sign():
    """All cells are positive, but what they are made of is not."""
    records = pd.DataFrame({"r": ["a", "a", "b", "b"], "who": list("jklm"), "x": [100.0, -30.0, 50.0, 60.0]})
    table = tabulate(records, "r", "x", contributor="who")
    assert table.value.min() > 0
    problem = assess(table, "P(10)", statuses={"a": "primary"}, margin=100)
    assert np.isneginf(problem.prior_lower).all()
    assert levels(problem, "a")[0] >= 0.1 * 100
    near = assess(table, "P(10)", prior=50)
    i = table.index("a")
    assert (near.prior_lower[i], near.prior_upper[i]) == pytest.approx((70 - 65, 70 + 65))


def test_small_counts_could_be_anything_from_nothing_to_the_threshold():
    records = pd.DataFrame({"r": ["a", "a", *"bbbbb", *"cccc"]})
    problem = assess(tabulate(records, "r"), "FREQ(5)")
    assert sensitive(problem) == ["a", "c"]
    assert levels(problem, "a") == (2, 3)
    assert levels(problem, "c") == (4, 1)


def test_the_problem_shows_its_shape_only(table):
    assert repr(assess(table, "P(10)")) == "Problem(Table(value by row × column: 12 cells, 7 relations), 2 primary)"


def test_waivers_in_another_spelling_are_refused_without_names():
    records = pd.DataFrame({"g": ["a", "a", "b"], "firm": ["Acme", "Bell", "Cork"], "v": [90.0, 5.0, 5.0]})
    table = tabulate(records, "g", "v", contributor="firm", top=3)
    with pytest.raises(
        InputError, match=r"1 waiver names a respondent in another spelling .* is waiver number 2"
    ) as error:
        assess(table, "P(10)", waivers=["Dale", " ACME"])
    assert "acme" not in str(error.value).lower()
    assess(table, "P(10)", waivers=["Dale", "Acme"])


def test_a_cell_has_one_status_however_it_is_named(table):
    for other in (("a", "x"), "a x x", "a*x"):
        with pytest.raises(InputError, match="'a × x' has two statuses by hand"):
            assess(table, "P(10)", statuses={"a × x": "primary", other: ("free", "why")})


@pytest.mark.parametrize("word", ["suppressed", "hidden", "primary"])
def test_suppression_by_hand_lowers_no_level(table, word):
    plain = assess(table, "P(10)")
    given = assess(table, "P(10)", statuses=dict.fromkeys(table.labels(plain.primaries), word), margin=0)
    assert given.primaries.tolist() == plain.primaries.tolist()
    for name in ("lower", "upper", "sliding", "prior_lower", "prior_upper"):
        assert np.array_equal(getattr(given, name), getattr(plain, name))


# -- missing codes, least levels --------------------------------------------------------------------------------


def by_size(codes=("9",)) -> Table:
    records = pd.DataFrame({"size": list("1112229"), "turnover": [40, 30, 20, 25, 30, 35, 80]})
    return tabulate(records, {"size": Hierarchy.flat("12").with_missing(codes)}, "turnover")


def test_cells_with_a_missing_code_may_be_published_by_decision():
    table = by_size()
    assert [table.label(i) for i in np.flatnonzero(table.has_missing_code)] == ["9"]
    judged, safe = (assess(table, "FREQ(3)", missing_codes=one) for one in ("judged", "safe"))
    assert [judged.status[3], safe.status[3]] == [Status.PRIMARY, Status.FREE]
    assert safe.overrides == (Override("9", ("FREQ(3)",), "free", "a dimension has a code that means missing"),)
    assert safe.lower[3] == judged.lower[3] > 0  # if it is suppressed, it is protected
    assert judged.digest != safe.digest


def test_a_status_by_hand_has_precedence_over_missing_codes():
    for word in ("primary", "suppressed"):
        problem = assess(by_size(), "FREQ(3)", missing_codes="safe", statuses={"9": word})
        assert (problem.status[3], problem.overrides) == (Status.PRIMARY, ())
    with pytest.raises(InputError, match="missing_codes is 'judged' or 'safe', not 'no'"):
        assess(by_size(), "FREQ(3)", missing_codes="no")


def test_no_level_is_below_the_least(table):
    free = assess(table, "P(10)", least_level=7.5)
    assert np.all(free.lower[free.primaries] >= 7.5)
    assert np.all(free.upper[free.primaries] >= 7.5)
    assert not free.lower[free.free].any()
    large = assess(table, "P(10)", least_level=1e6)
    assert (
        large.lower.tolist() == np.where(large.status == Status.PRIMARY, table.value, 0).tolist()
    )  # nothing is negative
    width = assess(tabulate(pd.DataFrame({"g": list("aab")}), "g"), "FREQ(3,20,2)", least_level=1)
    assert not width.lower.any()  # a rule that requires a width only
    zero = assess(by_size(), [], statuses={"9": "primary"}, least_level=7.5, margin=0)
    assert zero.upper[3] == 7.5
    with pytest.raises(RuleError, match="least_level is a number"):
        assess(table, "P(10)", least_level=-1)
