"""What stands beside the verdict: nothing that weakens it is left out, and nothing confidential is in it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet.assess import assess
from discreet.attackers import Attacker
from discreet.attacks import AttackReport, Knowledge, Public, run
from discreet.attacks.finding import Truth, score
from discreet.attacks.replay import Replayed
from discreet.attacks.run import OUT_OF_TIME
from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.data.finished_table import read_table
from discreet.data.hierarchy import Hierarchy
from discreet.data.link import link
from discreet.data.reading import Reading
from discreet.data.separate import separate
from discreet.data.table import PROVENANCE
from discreet.data.tabulate import tabulate
from discreet.errors import TableError
from discreet.io import read_problem, write_problem
from discreet.io.pattern import read_pattern, write_pattern
from discreet.level import level_of
from discreet.methods import protect, with_options
from discreet.methods.counts.cell_key import CellKey
from discreet.promise import SUBJECTS, conditions, safe, shareable_promise
from discreet.protection import suppress
from discreet.testing import cross_table, pose

RECORDS = pd.DataFrame(
    {
        "row": list("aaaabbbbb"),
        "column": list("xxyyxxyyy"),
        "firm": [f"F{k}" for k in range(9)],
        "x": [91, 8, 30, 25, 61, 55, 50, 45, 20],
        "w": [1.0, 2, 1, 1, 1, 1, 1, 3, 1],
    }
)
BY = ["row", "column"]


def promise(*results, **options) -> list[str]:
    return [condition.sentence for condition in conditions(*results, **options)]


def said(problem, respondents: bool = False, found=None) -> str:
    found = found or protect(problem, "kelly", level="contributions" if respondents else "cells")
    return "\n".join(promise(found, audit_respondents(problem, found) if respondents else None))


def shared(problem, respondents: bool = False, found=None) -> str:
    found = found or protect(problem, "kelly", level="contributions" if respondents else "cells")
    return "\n".join(shareable_promise(found, audit_respondents(problem, found) if respondents else None))


def make(records=RECORDS, rules="P(10)", **options):
    options = {"contributor": "firm", "top": 4, "contributions": True, **options}
    return assess(tabulate(records, BY, "x", **options), rules)


def test_an_ordinary_table_has_a_level_and_attackers_and_no_more():
    problem = make()
    asked = level_of(problem, True, "cells")
    assert promise(protect(problem, "kelly", level="cells"), level=asked) == [
        "Not covered: respondents who use their own figures to learn about others, because level cells was requested.",
        "No attack was tried on this result: it was audited only.",
        "Attackers assumed: a reader of all published cells who knows that values are not negative.",
    ]


def test_the_level_of_contributions_is_said():
    assert "Checked at the level of contributions" in said(make(), respondents=True)


def test_cells_that_respondents_may_work_out_are_counted():
    """A × x has four firms and is sensitive by their number alone; the only firm of A × y computes it as 1006 − 600."""
    cells = {(row, column): [80 + k for k in range(9)] for row in "ABC" for column in "xyz"}
    cells |= {("A", "x"): [100, 101, 102, 103], ("A", "y"): [600]}
    named = [(row, column, x, f"{row}{column}{k}") for (row, column), xs in cells.items() for k, x in enumerate(xs)]
    table = tabulate(pd.DataFrame(named, columns=["row", "column", "x", "firm"]), BY, "x", contributor="firm")
    words = "1 cell needs protection that the rules P, PQ and NK do not require."
    assert words in said(assess(table, ["P(10)", "FREQ(5,10)"]), respondents=True)
    assert words in said(assess(table, "P(10)", statuses={"B × x": "primary"}), respondents=True)
    assert "do not require" not in said(assess(table, "P(10)"), respondents=True)
    # A × y is sensitive by both rules, and needs more protection by the number of its firms.
    assert "2 cells need protection" in said(assess(table, ["P(10)", "FREQ(5,30)"]), respondents=True)


def test_dropped_records_are_counted():
    by = {"row": Hierarchy.flat(["a", "b"]), "column": Hierarchy.flat(["x", "y"])}
    more = pd.DataFrame({"row": ["c", "c"], "column": ["x", "x"], "firm": ["G", "H"], "x": [1, 2]})
    table = tabulate(pd.concat([RECORDS, more]), by, "x", contributor="firm", unknown="drop")
    assert "2 records were left out of the table" in said(assess(table, "P(10)"))


def test_waivers_signs_weights_and_prior_bounds_are_said():
    table = make().table
    assert "1 cell needs less protection, or none" in said(assess(table, "P(10)", waivers=[("F0", "a × x")]))
    assert "Values may be negative" in said(make(RECORDS.assign(x=[-90, *RECORDS.x[1:]])))
    assert "assumed to be secret" in said(make(weight="w", weights="secret"))
    assert "secret" not in said(make(weight="w"))
    assert "counted by their sampling weights" in said(make(rules=["P(10)", "WFREQ(2)"], weight="w"))
    assert "who knows bounds of cells beforehand" in said(assess(table, "P(10)", prior=90))


def test_what_readers_know_beforehand_is_said():
    problem = make()
    assert "who knows that values are not negative" in said(problem)
    assert "who knows no more beforehand" in said(make(RECORDS.assign(x=[-90, *RECORDS.x[1:]])))
    table, unbounded = problem.table, np.where(problem.table.is_base, 0.0, -np.inf)
    found = protect(problem, "kelly", level="cells")
    for lower, words in (
        (unbounded, "that some values are not negative"),
        (table.value / 2, "bounds of cells beforehand"),
    ):
        changed = problem.with_columns(
            prior_lower=lower, lower=np.minimum(problem.lower, table.value - lower), smallest_value=np.zeros(len(table))
        )
        assert f"who knows {words}" in said(changed, found=suppress(changed, found.suppressed))


def test_further_attackers_are_counted_not_named():
    problem = make()
    who = Attacker("Smith & Sons", problem.prior_lower, problem.prior_upper)
    text = said(problem.with_columns(others=(who,)))
    assert "and 1 attacker with knowledge of their own" in text
    assert "Smith" not in text


def test_zeros_of_suppressed_counts_are_said():
    table = tabulate(RECORDS, BY)
    problem = assess(table, (), statuses={"a × x": "primary"})
    assert "readers know that a suppressed count is not zero" in said(problem)
    assert "count" not in said(make())


def test_a_largest_change_that_must_stay_secret_is_said(tmp_path):
    """The announced limit is 5, the largest change 1: a reader who knows the 1 has a narrower interval than was audited."""
    records = pd.concat([RECORDS] * 5).assign(key=range(1, 46))
    problem = assess(tabulate(records, BY, extra=["key"]), "FREQ(3)")
    announced, public = (CellKey(deviation=1, variance=0.5, announced=most) for most in (5, None))
    found = protect(problem, announced)
    words = "safety against readers depends on the largest change staying secret."
    assert words in said(problem, found=found)
    assert words not in said(problem, found=protect(problem, public))
    write_pattern(found, tmp_path / "pattern.csv")
    assert f"If the method ensures that, {words}" in said(
        problem, found=read_pattern(problem, tmp_path / "pattern.csv")
    )


def test_what_a_jj_file_does_not_say_is_told_when_it_is_written_and_read(tmp_path):
    """A waiver, a record left out and secret weights, all of which the bundle keeps."""
    by = {"row": Hierarchy.flat(["a", "b"]), "column": Hierarchy.flat(["x", "y"])}
    more = pd.DataFrame({"row": ["c"], "column": ["x"], "firm": ["G"], "x": [1], "w": [1.0]})
    records = pd.concat([RECORDS, more])
    table = tabulate(records, by, "x", contributor="firm", unknown="drop", weight="w", weights="secret")
    problem = assess(table, "P(10)", waivers=[("F0", "a × x")])
    with pytest.warns(UserWarning, match="does not say") as caught:
        write_problem(problem, tmp_path / "problem.jj")
    message = str(caught[0].message)
    assert all(
        words in message
        for words in ("publication of 1 cell", "leaves out 1 record", "weights are assumed to be secret")
    )
    words = "The problem comes from a JJ file. Not known are its rules, consents of respondents, records left out"
    again = read_problem(tmp_path / "problem.jj")
    assert words in said(again)
    write_problem(again, tmp_path / "problem.discreet")
    assert words in said(read_problem(tmp_path / "problem.discreet"))
    assert words not in said(problem)


def test_an_ordinary_problem_is_written_as_jj_without_a_word(tmp_path):
    problem = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_problem(problem, tmp_path / "problem.jj")


def test_sentences_hold_no_values_names_or_parameters():
    problem = make(rules=["P(13.37)", "FREQ(3,21.5)"], weight="w", weights="secret")
    text = said(problem, respondents=True)
    for secret in ("13.37", "21.5", "P(", "FREQ", "F0", "a × x", "91"):
        assert secret not in text


def test_every_subject_says_a_sentence_or_nothing():
    problem = make()
    assert len(promise(protect(problem, "kelly"))) <= len(SUBJECTS)
    assert all(sentence.endswith(".") for sentence in promise(protect(problem, "kelly")))


def test_without_decisions_safe_is_safe():
    assert safe(protect(make(), "kelly")) == "safe"


@pytest.mark.parametrize(("n", "words"), [(1, "1 cell published"), (2, "2 cells published")])
def test_safe_says_how_many_cells_are_excepted(n, words):
    table = make().table
    cells = table.labels(assess(table, "P(10)").primaries)[:n]
    problem = assess(table, "P(10)", statuses={cell: ("published", "known") for cell in cells})
    assert safe(protect(problem, "kelly")) == f"safe except for {words} by decision"


def test_intervals_with_values_in_their_middles_are_called_so():
    """If they are accepted, the verdict says so, as attacks that guess the middle are then left out."""
    problem = pose(cross_table("abc", "xyz", [[20, 50, 10], [8, 19, 22], [17, 32, 12]]), {"a × x": 4.0, "b × y": 3.0})
    exact = promise(protect(problem, with_options("intervals", exact=True)))
    assert sum("a simple guess finds most of them" in sentence for sentence in exact) == 1
    drawn = promise(protect(problem, "intervals"))
    assert not any("a simple guess" in sentence for sentence in drawn)


# -- every condition ---------------------------------------------------------------------------------------------------


def released(by_hand: dict[str, object], **options):
    return protect(assess(make().table, "P(10)", statuses=by_hand, **options), level="cells")


def with_lab(*scores, **skipped: str):
    return {"of": released({}), "attacks": AttackReport(scores, skipped)}


def narrower(problem):
    """An attacker against whom half of the levels is enough."""
    levels = np.stack([problem.lower, problem.upper, problem.sliding]) / 2
    return Attacker("A", problem.prior_lower, problem.prior_upper, levels)


def linked_in_a_cycle():
    records = pd.concat([RECORDS.assign(size=size, firm=RECORDS.firm + size) for size in "sml"])
    return link(*(tabulate(records, by, "x") for by in (BY, ["row", "size"], ["column", "size"])), behind=False)


def partly_audited():
    found = released({})
    return {"of": found, "audit": audit(found.problem, found, cells=[found.problem.primaries[0]])}


def with_respondents(problem, **level):
    found = protect(problem, level="contributions")
    return {"of": found, "respondents": audit_respondents(problem, found)}


def counts(method="kelly", **options):
    table = tabulate(pd.concat([RECORDS] * 5).assign(key=range(1, 46)), BY, extra=["key"])
    return {"of": protect(assess(table, "FREQ(11)"), with_options(method, **options) if options else method)}


def tabulated_without(unknown="drop", **options):
    by = {"row": Hierarchy.flat(["a", "b"]), "column": None}
    return {"of": tabulate(pd.concat([RECORDS, RECORDS[:2].assign(row="c")]), by, "x", unknown=unknown, **options)}


def without_a_number(no_value):
    records = RECORDS.assign(x=[None, *RECORDS.x[1:]])
    return {"of": tabulate(records, ["row", "column"], "x", reading=Reading(no_value=no_value))}


def finished_without_a_number(no_value):
    cells = pd.DataFrame({"row": ["Total", "a", "b", "c"], "x": [5.0, 2.0, 3.0, None]})
    return {"of": read_table(cells, ["row"], "x", reading=Reading(no_value=no_value))}


def finished_with_counts(count="n"):
    cells = pd.DataFrame({"row": ["Total", "a", "b", "c"], "x": [12, 2, 3, 7], "n": [9, 1, 3, 5]})
    table = read_table(cells, ["row"], "x", count=count)
    return {"of": protect(assess(table, "FREQ(2)"), "kelly")}


def not_settled():
    found = released({})
    sampled = run(found, ["sample"], knows=Knowledge(draws=10))
    return {"of": found, "attacks": sampled}


def seen_through():
    """One table is left to an attacker who knows the method."""
    found = released({})
    cell = found.problem.primaries
    value = found.problem.table.value[cell]
    claims = dict.fromkeys(("lower", "upper", "estimate", "baseline_lower", "baseline_upper"), value)
    tables = {"tried": 9, "kept": 1, "effective": 1.0, "all_tables": True, "estimated": False, "obstacle": ""}
    seen = Replayed("replay", "the method is known", Public.of(found), cell, certain=False, **claims, **tables)
    return {"of": found, "attacks": AttackReport((score(seen, Truth.of(found)),), {})}


MIDDLES = pose(cross_table("abc", "xyz", [[20, 50, 10], [8, 19, 22], [17, 32, 12]]), {"a × x": 4.0, "b × y": 3.0})
# For each condition the results for which it is stated, and a part of its sentence.
EXAMPLES = {
    "decisions": (lambda: {"of": released({"a × x": ("published", "agreed")})}, "1 sensitive cell is published"),
    "by_hand": (lambda: {"of": make_by_hand({"b × x": "primary", "b × y": "published"})}, "1 cell to 'primary'"),
    "waivers": (lambda: {"of": assess(make().table, "P(10)", waivers=["F0"])}, "because respondents consent"),
    "records_left_out": (tabulated_without, "2 records were left out of the table"),
    "no_value_left_out": (
        lambda: without_a_number("drop"),
        "1 record was left out of the table, because no number is given",
    ),
    "no_value_zero": (lambda: without_a_number("zero"), "1 record counts as zero"),
    "cells_left_out": (
        lambda: finished_without_a_number("drop"),
        "1 cell was left out of the table, because no number",
    ),
    "cells_zero": (lambda: finished_without_a_number("zero"), "1 cell counts as zero, because no number is given"),
    "codes_replaced": (lambda: tabulated_without(recode={"column": {"x": "y"}}), "1 code is replaced by others"),
    "totals_unpublished": (lambda: {"of": separate(make().table, "row")}, "3 totals are left out of the table"),
    "unrecorded": (lambda: {"of": make().with_columns(unrecorded=True)}, "comes from a JJ file"),
    "negative_values": (
        lambda: {"of": make(RECORDS.assign(x=[-90, *RECORDS.x[1:]])).table},
        "1 cell at the finest level",
    ),
    "zero_contributions": (
        lambda: {"of": make(RECORDS.assign(x=[0, *RECORDS.x[1:]]), "FREQ(3)")},
        "In 1 cell at the fin",
    ),
    "secret_weights": (
        lambda: {"of": make(weight="w", weights="secret").table},
        "weights, if there are any, are assumed",
    ),
    "weighted_number": (lambda: {"of": make(rules="WFREQ(2)", weight="w")}, "counted by their sampling weights"),
    "levels_of_zero": (
        lambda: {"of": make_by_hand({"b × y": "primary"}, margin=0)},
        "1 sensitive cell has protection levels",
    ),
    "levels_at_prior_bounds": (lambda: {"of": assess(make().table, "P(90)", prior=5)}, "end at bound"),
    "lower_levels": (
        lambda: {"of": make().with_columns(others=(narrower(make()),))},
        "Against 1 attacker 3 sensitive cells need",
    ),
    "cells_behind": (lambda: {"of": linked_in_a_cycle()}, "the cells behind them are left out"),
    "secret_limit": (
        lambda: counts("cell-key", deviation=1, variance=0.5, announced=5),
        "largest change staying secret",
    ),
    "symmetric": (lambda: {"of": protect(MIDDLES, with_options("intervals", exact=True))}, "a simple guess finds most"),
    "respondents_not_covered": (lambda: {"of": released({})}, "Not covered: respondents"),
    "respondents": (lambda: with_respondents(make()), "Checked at the level of contributions"),
    "largest_only": (lambda: with_respondents(few_contributions()), "lists only the largest contributions"),
    "beyond_contributions": (
        lambda: with_respondents(make(rules=["P(10)", "FREQ(3)"])),
        "protection that the rules P, PQ and NK do not require",
    ),
    "unaudited": (partly_audited, "pairs of a protected cell and an attacker"),
    "attacks_not_tried": (lambda: {"of": released({})}, "No attack was tried"),
    "attacks_not_finished": (
        lambda: with_lab(fit=OUT_OF_TIME),
        "Attacks not finished in time: fit. Attacks that are requested by name",
    ),
    "attacks_left_out": (lambda: with_lab(exact="not requested"), "Quick attacks left out: counts, symmetric, fit"),
    "attacks_without_result": (not_settled, "The attack sample has no result for"),
    "attacks_method_known": (seen_through, "To an attacker who knows the method"),
    "attacks_method_unknown": (lambda: with_lab(replay="no reason"), "would infer: no reason."),
    "counts_given": (finished_with_counts, "The numbers of contributors are not in the release"),
    "zeros": (counts, "Zeros are published"),
    "attackers": (lambda: {"of": released({})}, "Attackers assumed"),
}


def make_by_hand(by_hand, **options):
    return assess(make().table, "P(10)", statuses=by_hand, **options)


def few_contributions():
    more = pd.DataFrame({"row": ["b"], "column": ["y"], "firm": ["F9"], "x": [1]})
    return make(pd.concat([RECORDS, more]), contributions=False, top=3)


def test_every_condition_has_an_example():
    assert set(EXAMPLES) == {subject.name for subject in SUBJECTS if subject.internal is not None}


def test_every_condition_is_documented():
    page = (Path(__file__).parents[1] / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f"| `{name}` |" not in page] == []


def test_every_entry_of_the_provenance_of_a_table_has_a_sentence():
    assert set(PROVENANCE) <= {subject.name for subject in SUBJECTS}
    with pytest.raises(TableError, match="There is no provenance 'unheard'"):
        make().table.with_columns(provenance={"unheard": 1})


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_condition_is_stated_where_it_holds(name):
    made, words = EXAMPLES[name]
    found = {condition.name: condition.sentence for condition in conditions(**made())}
    assert words in found[name]
    assert found[name].endswith(".")


def test_of_a_table_of_counts_the_numbers_of_contributors_are_the_release():
    names = [condition.name for condition in conditions(**finished_with_counts(count="x"))]
    assert "counts_given" not in names


def test_conditions_that_weaken_the_verdict_come_first():
    weaken = [condition.weakens for condition in conditions(**with_lab(replay="no reason"))]
    assert weaken == sorted(weaken, reverse=True)


def test_the_conditions_of_a_problem_survive_its_file(tmp_path):
    by = {"row": Hierarchy.flat(["a", "b"]), "column": None}
    records = pd.concat([RECORDS, RECORDS[:2].assign(row="c")])
    table = tabulate(records, by, "x", contributor="firm", unknown="drop", recode={"column": {"y": "x"}})
    problem = assess(table, "P(10)", statuses={"b × x": "primary", "a × x": ("published", "agreed")})
    write_problem(problem, tmp_path / "p.discreet")
    assert conditions(read_problem(tmp_path / "p.discreet")) == conditions(problem)


# -- sentences for readers of the release -----------------------------------------------------------------------------


def test_readers_are_told_the_level():
    problem = make()
    covered, uncovered = shared(problem, respondents=True), shared(problem)
    assert "Checked at the level of contributions" in covered
    assert "Not covered" not in covered
    assert "Not covered: respondents who use their own figures to learn about others.\n" in uncovered
    assert "level of contributions" not in uncovered


def test_readers_are_told_of_cells_behind_linked_tables_that_were_left_out():
    records = pd.concat([RECORDS.assign(size=size, firm=RECORDS.firm + size) for size in "sml"])
    tables = [tabulate(records, by, "x", contributor="firm") for by in (BY, ["row", "size"], ["column", "size"])]
    with_them, without = (assess(link(*tables, behind=behind), "P(10)") for behind in (True, False))
    assert "the cells behind them are left out: readers who use them may infer more." in shared(without)
    assert "behind" not in shared(with_them)


def test_readers_are_told_of_consents_records_left_out_and_weights_without_numbers():
    by = {"row": Hierarchy.flat(["a", "b"]), "column": Hierarchy.flat(["x", "y"])}
    more = pd.DataFrame({"row": ["c"], "column": ["x"], "firm": ["G"], "x": [1], "w": [1.0]})
    records = pd.concat([RECORDS, more])
    table = tabulate(records, by, "x", contributor="firm", unknown="drop", weight="w", weights="secret")
    text = shared(assess(table, ["P(13.37)", "WFREQ(2)"], waivers=[("F0", "a × x")]))
    for words in (
        "Respondents who consent",
        "were left out of the table",
        "assumed to be secret",
        "by their sampling weights",
    ):
        assert words in text
    assert not any(character.isdigit() for character in text)


def test_readers_are_told_that_of_holdings_only_the_largest_contributions_are_known():
    words = "The table lists only the largest contributions to each cell"
    more = pd.DataFrame({"row": ["b"], "column": ["y"], "firm": ["F9"], "x": [1]})
    few = make(pd.concat([RECORDS, more]), contributions=False, top=3)
    for text in (said(few, respondents=True), shared(few, respondents=True)):
        assert words in text
    assert words not in shared(make(), respondents=True)


def test_readers_are_told_that_respondents_may_know_more_than_readers_do():
    """Whether any cell needs protection by other rules depends on values: it is said in any case."""
    words = "protection holds against readers only"
    assert words in shared(make(rules=["P(10)", "FREQ(3)"]), respondents=True)
    assert words in shared(make(), respondents=True)
    assert words not in shared(make())


def test_a_secret_limit_and_values_in_the_middle_are_not_told_to_readers():
    """The sentence would reveal the guess: the one about guesses, which is shown for every table, must suffice."""
    records = pd.concat([RECORDS] * 5).assign(key=range(1, 46))
    problem = assess(tabulate(records, BY, extra=["key"]), "FREQ(3)")
    announced, public = (protect(problem, CellKey(deviation=1, variance=0.5, announced=most)) for most in (5, None))
    assert shareable_promise(announced) == shareable_promise(public)
    middle = pose(cross_table("abc", "xyz", [[20, 50, 10], [8, 19, 22], [17, 32, 12]]), {"a × x": 4.0, "b × y": 3.0})
    exact, drawn = protect(middle, with_options("intervals", exact=True)), protect(middle, "intervals")
    assert shareable_promise(exact) == shareable_promise(drawn)
    assert "A guess may still be close to a true value" in shared(middle, found=exact)


def test_negative_values_are_not_told_to_readers():
    """That a suppressed value may be negative can be news to them."""
    negative = RECORDS.assign(x=[-90, *RECORDS.x[1:]])
    assert "Values may be negative" in said(make(negative))
    assert shared(make(negative)) == shared(make())


def test_of_a_table_that_is_published_as_it_is_there_is_nothing_to_guess():
    problem = make(RECORDS[RECORDS.firm == "F0"].assign(x=0))
    assert not protect(problem, "kelly").suppressed.any()
    assert "guess" not in shared(problem)


def test_readers_are_told_no_counts_names_or_parameters():
    problem = make(rules=["P(13.37)", "FREQ(3,21.5)"], weight="w", weights="secret")
    who = Attacker("Smith & Sons", problem.prior_lower, problem.prior_upper)
    for found in (problem, problem.with_columns(others=(who,))):
        text = shared(found, respondents=True)
        for secret in ("P(", "PQ", "NK", "FREQ", "F0", "a × x", "Smith", "attacker"):
            assert secret not in text
        assert not any(character.isdigit() for character in text)


@pytest.mark.parametrize("largest", [60.0, 500.0])
def test_that_consents_may_be_there_is_told_to_readers_whatever_the_values(largest):
    """With 500 the consent makes a cell less sensitive, with 60 it makes no difference: readers must not tell these apart."""
    frame = pd.DataFrame(
        {"r": ["a"] * 4 + ["b"] * 4, "f": list("PQRSTUVW"), "v": [largest, 50, 45, 40, 60, 50, 45, 40]}
    )
    table = tabulate(frame, ["r"], "v", contributor="f", top=4)
    problem = assess(table, "P(20)", waivers=["P"])
    found = protect(problem)
    assert any("consent to publication, if there are any" in one for one in shareable_promise(found))
