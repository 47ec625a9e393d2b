"""The synthetic survey of the demo: the same for a seed, and as awkward as real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.data.survey import REGIONS, SECTIONS, Survey, business_survey


@pytest.fixture(scope="module")
def survey() -> Survey:
    return business_survey()


def test_the_same_seed_gives_the_same_survey(survey):
    again = business_survey(1)
    pd.testing.assert_frame_equal(survey.records, again.records)
    assert (survey.industry, survey.region) == (again.industry, again.region)


def test_another_seed_gives_another_survey(survey):
    other = business_survey(2)
    assert len(other.records) == len(survey.records)
    assert not other.records.turnover.equals(survey.records.turnover)


@pytest.mark.parametrize("size", [1000, 40_000])
def test_it_has_as_many_establishments_as_asked_for(size):
    assert len(business_survey(3, size).records) == size


def test_columns_and_kinds(survey):
    assert list(survey.records) == ["firm", "holding", "industry", "region", "turnover", "employees"]
    assert survey.records.turnover.dtype == survey.records.employees.dtype == np.int64
    assert (survey.records.turnover >= 0).all()
    assert (survey.records.employees >= 1).all()
    assert survey.records.drop(columns="holding").notna().all(axis=None)


def test_codes_are_leaves_of_their_classifications(survey):
    for name, hierarchy in (("industry", survey.industry), ("region", survey.region)):
        leaves = {code for code, leaf in zip(hierarchy.codes, hierarchy.is_leaf, strict=True) if leaf}
        assert set(survey.records[name]) <= leaves
    assert set(survey.industry.codes) >= {"Total", *SECTIONS}
    assert survey.industry.depth.max() == 3
    assert set(survey.region.codes) >= {"Total", *REGIONS}
    assert survey.region.depth.max() == 2


def test_some_firms_have_several_establishments_and_some_belong_to_holdings(survey):
    firms = survey.records.groupby("firm")
    assert 0.05 < (firms.size() > 1).mean() < 0.15
    assert (firms.region.nunique() > 1).any()
    held = survey.records.drop_duplicates("firm").holding
    assert 0.03 < held.notna().mean() < 0.05
    assert (held.value_counts() > 1).any()


def test_a_firm_belongs_to_one_holding_in_all_its_records(survey):
    assert (survey.records.groupby("firm").holding.nunique(dropna=False) == 1).all()


def test_large_firms_dominate_many_cells(survey):
    firms = survey.records.groupby(["industry", "region", "firm"]).turnover.sum()
    cells = firms.groupby(["industry", "region"])
    share = cells.max() / cells.sum().clip(lower=1)
    assert 0.05 < (share > 0.7).mean() < 0.5
    assert (cells.size() < 3).any()
    turnover = np.sort(survey.records.groupby("firm").turnover.sum())[::-1]
    assert turnover[: len(turnover) // 100].sum() > 0.2 * turnover.sum()
