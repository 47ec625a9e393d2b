"""Roles are proposed from names and contents of columns, and users may choose others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.data.survey import business_survey
from discreet.errors import InputError
from discreet.jobs.profile import digit_levels, profile_records
from discreet.jobs.roles import Grouping, chosen_roles, propose_roles, words_of

NACE = ["0111", "0112", "0121", "0122", "2011", "2012", "2021", "2022"]

NUMBERED = ["0111", "0113", "0210", "0322", "1011", "1052", "1105", "1320", "2015", "2229", "2511"]


@pytest.fixture
def profiled(tmp_path):
    """Writes records and returns their profile."""

    def profiled(records: pd.DataFrame):
        path = tmp_path / "records.csv"
        records.to_csv(path, index=False)
        return profile_records(path)

    return profiled


def survey(records: int = 400) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    region = draw.choice(["N1", "N2", "S1", "S2"], records)
    return pd.DataFrame(
        {
            "Firm_ID": [f"F{i:05d}" for i in range(records)],
            "nace": draw.choice(NACE, records),
            "part": [code[0] for code in region],
            "region": region,
            "Umsatz": draw.lognormal(3, 1, records).round(2),
            "employees": draw.integers(1, 900, records),
            "weight": draw.choice([1.5, 2, 3.25], records),
            "year": 2024,
        }
    )


def test_the_synthetic_survey_gets_the_roles_that_its_demo_job_gives_it(tmp_path):
    made = business_survey(1, 3000)
    made.records.to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "industry.hrc").write_text(made.industry.to_hrc(), encoding="utf-8")
    roles = propose_roles(profile_records(tmp_path / "survey.csv"))
    assert (roles.response, roles.contributor, roles.holding) == ("turnover", "firm", "holding")
    assert roles.dimensions["industry"] == Grouping(hierarchy="industry.hrc")
    assert list(roles.dimensions) == ["industry", "region"]


def test_names_digits_and_coarser_columns_are_understood(profiled):
    roles = propose_roles(profiled(survey()))
    assert (roles.response, roles.contributor, roles.weight, roles.holding) == ("Umsatz", "Firm_ID", "weight", None)
    assert roles.dimensions == {
        "nace": Grouping(levels=(1, 1, 1, 1)[:0] or (2, 1, 1)),
        "region": Grouping(columns=("part",)),
    }


def test_a_holding_that_differs_within_a_contributor_is_not_proposed(profiled):
    records = survey().assign(group="one for all")
    records["Firm_ID"] = records.Firm_ID.str[:-1]  # ten records per firm
    assert propose_roles(profiled(records.assign(holding=records.Firm_ID.str[-2:]))).holding == "holding"
    assert propose_roles(profiled(records.assign(holding=list("AB") * 200))).holding is None


def test_a_column_with_many_missing_codes_is_no_dimension(profiled):
    """A few are a fault, such as a line of sums, whose line the check names; leaving the column out would hide it."""
    records = survey()
    records.loc[3, "region"] = None
    assert "region" in propose_roles(profiled(records)).dimensions
    records.loc[:30, "region"] = None
    assert "region" not in propose_roles(profiled(records)).dimensions


def test_records_without_numbers_are_counted(profiled):
    roles = propose_roles(profiled(survey()[["nace", "region"]]))
    assert (roles.response, roles.contributor) == (None, None)
    assert set(roles.dimensions) == {"nace", "region"}


def test_what_users_choose_goes_before_what_is_proposed(profiled):
    profile = profiled(survey())
    roles = chosen_roles(profile, propose_roles(profile), ["part"], {"response": "employees", "weight": "-"})
    assert (roles.response, roles.weight, list(roles.dimensions)) == ("employees", None, ["part"])
    assert "Umsatz" not in roles.used


@pytest.mark.parametrize(
    ("by", "given", "message"),
    [
        (["regoin"], {}, "no column 'regoin'. Did you mean 'region'"),
        (["region"], {"response": "region"}, "'region' is a dimension"),
    ],
)
def test_faulty_choices_are_explained(profiled, by, given, message):
    profile = profiled(survey())
    with pytest.raises(InputError, match=message):
        chosen_roles(profile, propose_roles(profile), by, given)


@pytest.mark.parametrize("answer", ["-", "digits 1,1", "columns part"])
def test_groupings_are_written_as_they_are_answered(profiled, answer):
    assert (Grouping.of(profiled(survey()), "region", answer).answer or "-") == answer


@pytest.mark.parametrize(
    ("answer", "message"), [("digits two", "widths"), ("columns prat", "no column"), ("x.hrc", "no file")]
)
def test_faulty_groupings_are_explained(profiled, answer, message):
    with pytest.raises(InputError, match=message):
        Grouping.of(profiled(survey()), "region", answer)


@pytest.mark.parametrize(
    ("codes", "levels"),
    [
        (NACE, [2, 1, 1]),
        (["DE11", "DE12", "DE21", "DE22", "FR11", "FR12"], [2, 1, 1]),
        (["011", "022", "133", "244"], None),  # nothing is shared
        (["1", "22", "333", "444"], None),
        (["A1", "A2"], None),
        (NUMBERED, None),  # first digits alone are no evidence
        (["C10", "C11", "C25", "G45", "G46", "G47"], [1, 2]),  # sections and divisions of NACE
        (["F01", "F02", "F11", "F12"], None),
    ],
)
def test_levels_are_beginnings_that_several_codes_share(codes, levels):
    assert digit_levels(codes) == levels


@pytest.mark.parametrize("answer", ["digits 2,4", "digits 2,1", "digits 4,4", "digits 2,0", "digits"])
def test_widths_add_up_to_the_length_of_the_codes(profiled, answer):
    """Otherwise the groups are others than meant, or the fault shows only when all questions are answered."""
    profile = profiled(pd.DataFrame({"nace": NUMBERED, "n": range(len(NUMBERED))}))
    with pytest.raises(InputError, match="digits 2,2 reads 0111 as 01 > 0111"):
        Grouping.of(profile, "nace", answer)
    assert Grouping.of(profile, "nace", "digits 2,2").levels == (2, 2)


def test_words_in_names():
    assert words_of("SizeClass_2024") == ["size", "class"]
    assert words_of("BETRIEB-Nr.") == ["betrieb", "nr"]


def test_profiles_and_roles_show_no_entries(profiled):
    profile = profiled(survey())
    assert "F00001" not in repr(profile) + repr(profile.columns["Firm_ID"])


def test_numbers_are_seen_in_every_format(tmp_path):
    (tmp_path / "r.csv").write_text("a;b;c;d\n1.362,50;1'000;(12);5 €\n2,5;1 000;−7;6 €\n", encoding="utf-8")
    columns = profile_records(tmp_path / "r.csv").columns
    assert [column.is_numeric for column in columns.values()] == [True, True, True, False]
    assert (columns["a"].separators, columns["c"].negative) == (2, 2)
