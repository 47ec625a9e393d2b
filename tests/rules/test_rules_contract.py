"""What every entry of RULES must do: a new rule is tested as soon as it is listed."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from tests.rules.rule_tables import table_of

from discreet.errors import RuleError
from discreet.rules import RULES, Rule, Sensitivity, combine, in_words, parse_rule, parse_rules

EXAMPLES = {
    "P": ["P(10)", "P(17.65)", "P(10,2)"],
    "PQ": ["PQ(10,50)", "PQ(10,50,3)", "PQ(12.5,100)"],
    "NK": ["NK(1,75)", "NK(2,85)", "NK(3,73.91)"],
    "FREQ": ["FREQ(3)", "FREQ(5,30)", "FREQ(3,20,2)"],
    "WFREQ": ["WFREQ(3)", "WFREQ(5,30)", "WFREQ(3,20,2)"],
    "ZERO": ["ZERO(10)", "ZERO(0.5)"],
    "REQ": ["REQ(70)", "REQ(50,12.5)", "REQ(50,12.5,3)", "REQ(100,20,4,2)", "REQ(30,20,0,1)"],
}
ALL = [text for texts in EXAMPLES.values() for text in texts]
CELLS = [[100.0], [60.0, 40.0], [50.0, -30.0, 20.0], [10.0] * 20, [0.0, 0.0], [0.0], []]


def cells_for(rule: Rule):
    top = max(rule.depth, 1)
    weighted = np.array([1.5 * len(cell) for cell in CELLS])
    return table_of(CELLS, top=top, requested=np.ones((len(CELLS), top), dtype=bool), weighted_count=weighted)


def test_every_rule_has_examples_here():
    assert set(EXAMPLES) == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_rules_are_frozen_documented_and_know_their_name(name):
    rule = parse_rule(EXAMPLES[name][0])
    assert type(rule) is RULES[name]
    assert RULES[name].name == name
    assert str(parse_rule(RULES[name].example)) == RULES[name].example
    assert "S = " in RULES[name].__doc__
    assert "Source" in RULES[name].__doc__
    with pytest.raises(FrozenInstanceError):
        rule.extra = 1


@pytest.mark.parametrize("text", ALL)
def test_string_form_comes_back(text):
    assert str(parse_rule(text)) == text
    assert parse_rule(str(parse_rule(text))) == parse_rule(text)
    assert isinstance(parse_rule(text), Rule)


OTHER = {"strict": "inclusive", None: 2.0}


@pytest.mark.parametrize("text", ALL)
def test_words_show_every_parameter_and_change_with_each(text):
    """A statistician reads the words to find a slip of the pen in the rule: no parameter may be without effect on them."""
    rule = parse_rule(text)
    words = in_words(rule)
    assert words.startswith("A cell is sensitive if ")
    assert words.endswith(".")
    assert not re.search(r"\s\s|None", words)
    for field in fields(rule):
        given = getattr(rule, field.name)
        if field.name == "margin" and getattr(rule, "width", None) is not None:
            continue  # a width replaces the margin
        other = OTHER.get(given) if field.name in ("boundary", "width") else given + 1
        other = 3.0 if other is None else other
        try:
            changed = replace(rule, **{field.name: other})
        except RuleError:
            changed = replace(rule, **{field.name: given - 1})
        assert in_words(changed) != words


@pytest.mark.parametrize(
    ("text", "boundary", "words"),
    [
        (
            "P(10)",
            "strict",
            "if a contributor can estimate what another contributes with an error of less than 10 percent.",
        ),
        ("P(10)", "inclusive", "with an error of 10 percent or less."),
        ("P(10,5)", "strict", "if 5 contributors who pool their figures can estimate what another contributes"),
        ("PQ(10,50)", "strict", "if a contributor who knows all others to within 50 percent beforehand can estimate"),
        ("PQ(10,50,2)", "strict", "if 2 contributors who pool their figures and know all others to within 50 percent"),
        ("NK(1,75)", "strict", "if its largest contributor makes more than 75 percent of it."),
        ("NK(2,85.5)", "inclusive", "if its 2 largest contributors together make 85.5 percent or more of it."),
        (
            "FREQ(3)",
            "strict",
            "fewer than 3. Readers may infer its value no more closely than to within 20 percent; of a",
        ),
        ("FREQ(3,20,2)", "strict", "fewer than 3. What readers can infer about it must have a width of 2 at least."),
        ("WFREQ(3)", "strict", "they represent fewer than 3 units by their sampling weights."),
        ("ZERO(10)", "strict", "all of them contribute zero. Readers may not be able to exclude any value up to 10."),
        ("REQ(70)", "strict", "if a contributor who requested protection makes more than 70 percent of it."),
    ],
)
def test_words_say_what_the_rule_requires(text, boundary, words):
    assert words in in_words(parse_rule(text, boundary))


def test_a_rule_of_a_users_own_is_shown_by_its_notation():
    class Own:
        depth = 0

        def __call__(self, cells, waived=None):
            raise NotImplementedError

        def __str__(self):
            return "OWN(1)"

    assert in_words(Own()) == "OWN(1)"


@pytest.mark.parametrize("text", ALL)
def test_verdict_has_one_entry_a_cell_and_levels_only_where_sensitive(text):
    rule = parse_rule(text)
    verdict = rule(cells_for(rule))
    for column in fields(Sensitivity):
        array = getattr(verdict, column.name)
        assert array.shape == (len(CELLS),)
        assert array.dtype == (bool if column.name == "sensitive" else np.float64)
        assert np.isfinite(array).all()
    for level in (verdict.lower, verdict.upper, verdict.sliding):
        assert (level >= 0).all()
        assert (level[~verdict.sensitive] == 0).all()
    assert np.array_equal(verdict.score > 0, verdict.sensitive)


def limits_numbers(text: str) -> bool:
    """Whether a rule is about the number of contributors, whatever they contribute."""
    return text.startswith(("FREQ", "WFREQ", "ZERO")) or getattr(parse_rule(text), "minimum", 0) > 0


@pytest.mark.parametrize("text", [text for text in ALL if not limits_numbers(text)])
def test_cells_of_zeros_are_sensitive_only_where_the_boundary_counts(text):
    """Daalmans & de Waal, section 2: readers learn that no respondent in the cell had any turnover."""
    strict = parse_rule(text)
    assert not strict(cells_for(strict)).sensitive[4:].any()
    inclusive = parse_rule(text, boundary="inclusive")
    if hasattr(inclusive, "boundary"):
        verdict = inclusive(cells_for(inclusive))
        assert verdict.sensitive[4:].tolist() == [True, True, False]  # the last cell has no contributor
        assert not verdict.lower[4:].any()
        assert not verdict.upper[4:].any()


@pytest.mark.parametrize("text", [*EXAMPLES["P"], *EXAMPLES["PQ"]])
def test_fewer_than_three_respondents_are_always_sensitive(text):
    rule = parse_rule(text)
    cells = [[1e-9], [1e12], [-5.0], [0.1, 0.2], [1 / 3, 1e-12], [1e15, 1 / 7]]
    verdict = rule(table_of(cells, top=rule.depth))
    assert verdict.sensitive.all()
    assert verdict.score.tolist() == pytest.approx([max(map(abs, c)) for c in cells], rel=1e-15)


@pytest.mark.parametrize("text", ALL)
def test_the_error_says_how_many_contributions_to_store(text):
    rule = parse_rule(text)
    if rule.depth == 0:
        return
    requested = np.ones((len(CELLS), rule.depth), dtype=bool)
    with pytest.raises(RuleError, match=rf"stores none.*tabulate\(\.\.\., top={rule.depth}\)"):
        rule(table_of(CELLS, top=None, requested=requested))
    if rule.depth > 1:
        with pytest.raises(
            RuleError, match=rf"stores {rule.depth - 1}. .*top = .* in \[table\] of a job.*tabulate.*top={rule.depth}\)"
        ):
            rule(table_of(CELLS, top=rule.depth - 1, requested=requested[:, 1:]))


def test_fewer_stored_contributions_do_if_they_are_everybody():
    cells = [[100.0, 40.0], [70.0], []]
    for text in ("P(10,4)", "PQ(10,50,4)", "NK(5,80)"):
        few, many = parse_rule(text)(table_of(cells, top=2)), parse_rule(text)(table_of(cells, top=8))
        assert np.array_equal(few.upper, many.upper)
        assert few.sensitive.tolist() == [True, True, False]
        with pytest.raises(RuleError, match="top=5"):
            parse_rule(text)(table_of(cells, top=2, count=False))
        consents = parse_rule(text)(table_of(cells, top=2), waived=np.ones((3, 2), dtype=bool))
        assert not consents.sensitive.any()


def test_nothing_stored_is_enough_for_empty_cells():
    assert not parse_rule("P(10)")(table_of([[], []], top=0)).sensitive.any()
    assert len(parse_rule("P(10)")(table_of([], top=2)).score) == 0


def test_rules_that_need_other_columns_say_so():
    with pytest.raises(
        RuleError,
        match=r"Rule FREQ needs the number of contributors to each cell: name .*count = .* in .table. of a job",
    ):
        parse_rule("FREQ(3)")(table_of(CELLS, count=False))
    with pytest.raises(RuleError, match=r"WFREQ needs the number of units that contributors represent.*use FREQ"):
        parse_rule("WFREQ(3)")(table_of(CELLS))
    for columns in ({"count": False}, {"counts_zeros": False}):
        with pytest.raises(RuleError, match=r"ZERO needs the number of contributors.*those of zero included"):
            parse_rule("ZERO(5)")(table_of(CELLS, **columns))
    with pytest.raises(RuleError, match="REQ needs to know which contributors requested protection"):
        parse_rule("REQ(70)")(table_of(CELLS))
    with pytest.raises(RuleError, match="flags: align them with top"):
        parse_rule("REQ(70)")(table_of(CELLS, top=2, requested=np.ones((len(CELLS), 1), dtype=bool)))


@pytest.mark.parametrize("text", ALL)
def test_waivers_must_be_aligned_with_the_stored_contributions(text):
    rule = parse_rule(text)
    cells = cells_for(rule)
    with pytest.raises(RuleError, match="align them with top"):
        rule(cells, waived=np.ones((len(CELLS), 9), dtype=bool))


def test_waivers_need_stored_contributions():
    with pytest.raises(RuleError, match="Waivers are given for the largest contributors"):
        parse_rule("FREQ(3)")(table_of(CELLS, top=None), waived=np.ones((len(CELLS), 1), dtype=bool))


@pytest.mark.parametrize("text", ALL)
def test_messages_and_reprs_show_no_values(text):
    rule = parse_rule(text)
    assert repr(rule(cells_for(rule))).endswith("of 7 cells sensitive)")


# -- reading ------------------------------------------------------------------------------------------------


def test_combined_strings_and_rules_may_be_mixed():
    made = parse_rules(["P(10)|FREQ(3)", parse_rule("NK(2,85)")], boundary="inclusive")
    assert [str(rule) for rule in made] == ["P(10)", "FREQ(3)", "NK(2,85)"]
    assert made[0].boundary == "inclusive"
    assert made[2].boundary == "strict"  # a rule that is made already is kept as it is
    assert parse_rules("P(10)|FREQ(3)") == parse_rules(["P(10)", "FREQ(3)"])
    assert parse_rules(made[0]) == (made[0],)


def test_spaces_and_case_do_not_matter():
    assert parse_rule("  nk ( 2 , 85.0 ) ") == parse_rule("NK(2,85)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PP(10)", "Did you mean P"),
        ("REQUEST(70)", "Did you mean REQ"),
        ("DOMINANCE(1,75)", r"Did you mean NK\? Write NK\(n,k\), such as NK\(2,85\)\."),
        ("XYZ(1)", r"There is no rule 'XYZ'\. The rules are P\(p\[,coalition\]\), "),
        ("P", r"begins with 'P' cannot be read\. Write P\(p\[,coalition\]\), such as P\(10\); what is in square"),
        ("P 17", r"begins with 'P' cannot be read\. Write P\(p"),
        ("P17", r"begins with 'P' cannot be read\. Write P\(p"),
        ("p%", r"begins with 'P' cannot be read\. Write P\(p"),
        ("FREQ 4", r"begins with 'FREQ' cannot be read\. Write FREQ\(n"),
        ("freq(4", r"begins with 'FREQ' cannot be read\. Write FREQ\(n"),
        ("NK(1;75)", r"numbers with a decimal point, separated by commas.*write NK\(n,k\), such as NK\(2,85\)"),
        ("P(17%)", "Rule P takes numbers with a decimal point, separated by commas, and no other signs"),
        ("dominance 1 75", r"begins with 'DOMINANCE' cannot be read\. Write NK\(n,k\)"),
        ("17%", r"A rule cannot be read\. Write its name and then its numbers in brackets"),
        ("", "A rule cannot be read"),
        ("P(17)(2)", "cannot be read"),
        ("P()", r"Rule P was given 0 numbers: write P\(p\[,coalition\]\)"),
        ("P(1,2,3)", "was given 3 numbers"),
        ("NK(2)", r"write NK\(n,k\)"),
        ("REQ()", r"write REQ\(share\[,margin\]\[,minimum\]\[,kind\]\)"),
        ("P(ten)", "Rule P takes numbers with"),
        ("P(17,)", "takes numbers with"),
        ("P(0)", "p must be more than 0 and less than 100 percent"),
        ("P(-5)", "p must be more than 0"),
        ("P(100)", "less than 100"),
        ("P(nan)", "p must be"),
        ("P(10,0)", "coalition must be an integer, 1 or more"),
        ("P(10,1.5)", "coalition must be an integer"),
        ("P(10,inf)", "coalition must be an integer"),
        ("PQ(10,10)", "q must be more than p"),
        ("PQ(50,10)", "q must be more than p"),
        ("PQ(10,101)", "100 percent at most"),
        ("NK(0,85)", "n must be an integer"),
        ("NK(1.5,85)", "n must be an integer"),
        ("NK(2,0)", "k must be more than 0"),
        ("NK(2,100)", "k must be more than 0 and less than 100"),
        ("FREQ(0)", "n must be an integer"),
        ("FREQ(2.5)", "n must be an integer"),
        ("FREQ(3,-1)", "Rule FREQ: margin must be from 0 to 100 percent"),
        ("WFREQ(0)", "n must be an integer"),
        ("ZERO(0)", "range must be a number above 0"),
        ("ZERO(inf)", "range must be a number above 0"),
        ("ZERO()", r"write ZERO\(range\)"),
        ("REQ(100)", "share"),
        ("REQ(70,101)", "margin must be from 0 to 100 percent"),
        ("FREQ(3,20,-2)", "width must be a number, 0 or more"),
    ],
)
def test_bad_strings_are_explained(text, message):
    with pytest.raises(RuleError, match=message) as caught:
        parse_rule(text)
    assert not any(number in str(caught.value) for number in ("1.5", "-5", "101", "17", "75", "4"))
    assert "#" not in str(caught.value)


def test_bad_boundary_and_bad_objects_are_explained():
    with pytest.raises(RuleError, match="Rule P: boundary must be 'strict' or 'inclusive'"):
        parse_rule("P(10)", boundary="loose")
    with pytest.raises(RuleError, match="A rule is a string or a Rule, not a int"):
        parse_rules([10])


# -- combining ----------------------------------------------------------------------------------------------


def test_combination_is_the_strictest_of_all():
    cells = table_of([[100.0, 5.0, 1.0], [40.0, 30.0], [10.0] * 9], top=2)
    verdicts = [rule(cells) for rule in parse_rules("P(10)|NK(1,90)|FREQ(3,50)")]
    both = combine(verdicts)
    assert both.sensitive.tolist() == [True, True, False]
    for name in ("score", "lower", "upper", "sliding"):
        assert np.array_equal(getattr(both, name), np.max([getattr(v, name) for v in verdicts], axis=0))
    wide = replace(verdicts[0], sliding=np.array([7.0, 0.0, 0.0]))
    assert combine([wide, verdicts[1]]).sliding.tolist() == [7.0, 0.0, 0.0]
    with pytest.raises(RuleError, match="There are no rules to combine: give at least one"):
        combine([])
