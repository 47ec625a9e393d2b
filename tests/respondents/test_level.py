"""The level in force: every single respondent is protected unless that is impossible, or the level of cells is chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.helpers.drawn import is_exposed, posed
from tests.helpers.fixed import few_and_many

from discreet import audit, audit_respondents, link, protect, publish, tabulate
from discreet.assess import assess
from discreet.errors import NoSafePatternError, NotSafeError
from discreet.inference.respondents.sensitivity import measures_of_rules
from discreet.jobs.job import run_job
from discreet.jobs.job_file import read_job
from discreet.level import level_of
from discreet.testing import random_problem, random_table

RULES = ("P(20)", "PQ(10,40)", "P(15)", "NK(2,85)")
JOB = """
[data]
file = "survey.csv"
response = "turnover"
contributor = "firm"
[dimensions.industry]
[dimensions.region]
[rules]
sensitive = ["P(20)"]
"""


def survey(seed: int, size: int = 90) -> pd.DataFrame:
    """Firms of very different size, some of them in several cells."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "firm": [f"F{k}" for k in rng.integers(0, size - 15, size)],
            "industry": rng.choice(list("ABCDE"), size),
            "region": rng.choice(list("NSEW"), size),
            "turnover": np.ceil(rng.lognormal(4, 1.5, size)),
        }
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_default_job_leaves_nobody_learnable(tmp_path, seed):
    """At the level of cells some of these surveys have respondents that others can estimate too closely."""
    survey(seed).to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    result = run_job(read_job(tmp_path / "job.toml"))
    assert result.level.covers_respondents
    assert result.level.not_covered == ""
    assert result.problem.table.contributions is not None
    assert result.respondents.passed
    assert audit_respondents(result.problem, result.protection).passed
    assert result.release is not None


def test_cells_alone_leave_somebody_learnable():
    """What the default was: over a few drawn surveys it exposes respondents."""
    exposed = 0
    for seed in range(8):
        problem = assess(tabulate(survey(seed), ["industry", "region"], "turnover", contributor="firm"), "P(20)")
        exposed += len(audit_respondents(problem, protect(problem, level="cells")).respondents)
        assert audit_respondents(problem, protect(problem)).passed
    assert exposed > 0


@pytest.mark.parametrize("seed", few_and_many(48, 220))
def test_nobody_is_exposed_by_default_says_exhaustive_search(seed):
    """Small surveys with holdings, negative contributions and hierarchies, by all quick methods."""
    rng = np.random.default_rng(5000 + seed)
    rule = RULES[seed % len(RULES)]
    few = rule.startswith("NK")
    shape = (2, 3) if few else (3, 3) if seed % 3 else (2, 4)
    method = ("kelly", "hypercube", "auto")[seed % 3]
    (measure,) = measures_of_rules(rule)
    while True:  # some surveys cannot be protected at all
        problem = posed(
            rng, rule, shape=shape, respondents=7, negative=0.2 * (seed % 2), deep=seed % 5 == 0 and not few
        )
        try:
            found = protect(problem, method, seed=seed, time_limit=30)
        except NoSafePatternError:
            continue
        break
    assert level_of(problem, found.only_suppresses).covers_respondents
    assert is_exposed(problem, found.suppressed, measure) == {}
    assert audit(problem, found).passed


# -- which level is in force ------------------------------------------------------------------------------------


def named(rule: str | list[str] = "P(20)", **options: object):
    return assess(tabulate(survey(0), ["industry", "region"], "turnover", **options), rule)


@pytest.mark.parametrize(
    ("options", "rule", "reason"),
    [
        ({}, "P(20)", "the table does not name its contributors"),
        ({"contributor": "firm"}, "FREQ(3)", "no rule about contributions is used (P, PQ or NK)"),
        ({"contributor": "firm"}, [], "no rule about contributions is used (P, PQ or NK)"),
    ],
)
def test_why_respondents_are_not_covered(options, rule, reason):
    statuses = {"A × N": "primary"} if rule == [] else None
    table = tabulate(survey(0), ["industry", "region"], "turnover", **options)
    in_force = level_of(assess(table, rule, statuses=statuses), True)
    assert (in_force.level, in_force.requested, in_force.reason) == ("cells", False, reason)
    assert in_force.not_covered == (
        f"Not covered: respondents who use their own figures to learn about others, because {reason}."
    )


@pytest.mark.parametrize("options", [{"contributor": "firm"}, {"holding": "firm"}])
@pytest.mark.parametrize("rule", ["P(20)", "PQ(10,40)", "NK(2,85)", ["FREQ(3)", "P(10)"]])
def test_where_contributors_are_named_and_a_rule_is_about_them(options, rule):
    problem = named(rule, **options)
    assert level_of(problem, True).covers_respondents
    assert problem.table.knows_respondents


def test_other_methods_cover_cells():
    in_force = level_of(named(contributor="firm"), False)
    assert "that requires suppression, and other values or intervals are published here" in in_force.not_covered
    problem = named(contributor="firm")
    found = protect(problem, "intervals", time_limit=20)
    assert publish(problem, found, audit(problem, found)) is not None


def test_linked_tables_without_a_finest_one_cover_cells():
    frame = survey(0)
    parts = [tabulate(frame, by, "turnover", contributor="firm", top=3) for by in (["industry"], ["region"])]
    in_force = level_of(assess(link(*parts), "P(20)"), True)
    assert "no table is finer than all others" in in_force.not_covered


def test_a_table_that_lists_too_few_contributions_covers_cells():
    table = tabulate(survey(0), ["industry", "region"], "turnover", contributor="firm", top=2)
    problem = assess(table, "P(20)").with_columns(rules=("P(20,3)",))
    assert "lists too few of the largest contributions" in level_of(problem, True).not_covered


def test_a_problem_of_cells_alone_is_protected_as_before():
    problem = random_problem(np.random.default_rng(1), random_table(np.random.default_rng(1), (4, 4)))
    found = protect(problem)
    assert np.array_equal(found.suppressed, protect(problem, level="cells").suppressed)
    assert publish(problem, found, audit(problem, found)) is not None


def test_publishing_takes_the_audit_of_respondents_unless_cells_are_asked_for():
    problem = named(contributor="firm")
    found = protect(problem)
    checked = audit(problem, found)
    with pytest.raises(NotSafeError, match="respondents were not audited"):
        publish(problem, found, checked)
    assert publish(problem, found, checked, audit_respondents(problem, found)) is not None
    assert publish(problem, found, checked, level="cells") is not None


def test_a_count_keeps_no_contributions():
    """Nothing about contributions is asked of it."""
    assert tabulate(survey(0), ["industry", "region"], holding="firm").contributions is None
