"""Tables that readers have together: audited together, whether a job protects them together or one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.argus_survey import JOB, OPEN, TABLE, said

from discreet.argus.run import ArgusResult


def test_tables_protected_one_by_one_are_audited_together(run: Callable[..., ArgusResult]) -> None:
    second = TABLE.replace('"Region"', '"Year"').replace("P(20)", "P(1)")
    result = run(
        f"{OPEN}{TABLE}{second}<READMICRODATA>\n<SUPPRESS> MOD(1)\n<SUPPRESS> MOD(2)\n"
        '<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (2,1,,"b.csv")\n'
    )
    assert result.passed
    assert said(result, "table 1 and table 2 together: audit of cells: safe")


def test_exposed_together_nothing_is_published(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    """Table 1 suppresses the total of a size that table 2 publishes."""
    (tmp_path / "hide.hst").write_text("1;All;U\n1;N;U\n")
    second = '<SPECIFYTABLE> "Size""Year"|"Turnover"\n<SAFETYRULE> P(1)\n'
    result = run(
        f'{OPEN}{TABLE.replace("P(20)", "P(1)")}{second}<READMICRODATA>\n<APRIORI> "hide.hst",1,";"\n<SUPPRESS> MOD(1)\n'
        '<SUPPRESS> MOD(2)\n<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (2,1,,"b.csv")\n<WRITETABLE> (2,5,,"c.tab")\n'
    )
    assert not result.passed
    assert said(result, "table 1 and table 2 together: audit of cells:", "exposed", "protect them together")
    assert said(result, "a.csv is not written: the tables did not pass an audit together")
    assert {file.name for file in result.files} == {"c.tab", "c.rda"}


def test_two_patterns_of_a_table_are_not_both_to_publish(run: Callable[..., ArgusResult]) -> None:
    result = run(
        f'{JOB}<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (1,2,,"b.csv")\n<SUPPRESS> RND(1,1000)\n'
        '<WRITETABLE> (1,1,,"c.csv")\n'
    )
    assert said(result, "table 1 in a.csv and table 1 in c.csv are the same table in two ways", "Write one of them")
    assert not result.passed
    assert result.files == ()


def test_two_suppressions_of_a_table_are_audited_together(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    """The value of a cell that one file suppresses stands in the other."""
    (tmp_path / "one.hst").write_text("1;N1;U\n")
    (tmp_path / "other.hst").write_text("1;N1;C;900000\n1;All;C;1\n1;N;C;900000\n2;N1;C;900000\n3;N1;C;900000\n")
    job = JOB.replace("P(20)", "FREQ(1,20)")
    one = f'{job}<APRIORI> "one.hst",1,";"\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1,1,,"a.csv")\n'
    for again in (one, f"{one}<CLEAR>\n{job}"):
        result = run(
            f'{again}<APRIORI> "other.hst",1,";"\n<APRIORI> "one.hst",1,";"\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1,1,,"b.csv")\n'
        )
        assert not result.passed
        assert said(result, "table 1 in a.csv and table 1 in b.csv together", "exposed", "write one of them")
        assert result.files == ()


def test_the_same_table_suppressed_and_rounded_is_not_published(run: Callable[..., ArgusResult]) -> None:
    turned = TABLE.replace('"Size""Region"', '"Region""Size"')
    result = run(
        f"{OPEN}{TABLE}{turned}<READMICRODATA>\n<SUPPRESS> MOD(1)\n<SUPPRESS> RND(2,1000)\n"
        '<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (2,1,,"b.csv")\n'
    )
    assert not result.passed
    assert result.files == ()


def test_tables_protected_together_and_one_of_them_again_are_audited_together(run: Callable[..., ArgusResult]) -> None:
    second = TABLE.replace('"Region"', '"Year"').replace("P(20)", "P(1)")
    result = run(f"{OPEN}{TABLE}{second}<READMICRODATA>\n<SUPPRESS> MOD(0)\n<SUPPRESS> OPT(1)\n")
    assert said(result, "table 1 and table 2 together: audit of cells")


def test_respondents_who_combine_tables(run: Callable[..., ArgusResult]) -> None:
    for second, words in (('"Size"', "audit of respondents"), ('"Size""Year"', "who combine them are not audited")):
        tables = f"{TABLE}{TABLE.replace(chr(34) + 'Size' + chr(34) * 2 + 'Region' + chr(34), second)}".replace(
            "P(20)", "P(1)"
        )
        result = run(f"{OPEN}{tables}<READMICRODATA>\n<SUPPRESS> MOD(1,5,1,1)\n<SUPPRESS> MOD(2,5,1,1)\n")
        assert said(result, "table 1 and table 2 together: ", words)


def test_a_file_of_a_replaced_protection_is_audited_with_others(run: Callable[..., ArgusResult]) -> None:
    result = run(
        f'{OPEN}{TABLE}{TABLE.replace("Region", "Year")}<READMICRODATA>\n<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"a.csv")\n'
        "<SUPPRESS> MOD(1,5,1,1)\n<SUPPRESS> MOD(2)\n<CLEAR>\n"
    )
    assert said(result, "table 1 in a.csv and table 2 together: audit of cells")


def test_tables_of_two_sessions_do_not_affect_each_other(run: Callable[..., ArgusResult]) -> None:
    session = f"{JOB}<SUPPRESS> MOD(1{{}})\n"
    result = run(
        f'{session.format("")}<WRITETABLE> (1,1,,"a.csv")\n<CLEAR>\n{session.format(",5,1,1")}<WRITETABLE> (1,1,,"b.csv")\n'
    )
    assert not said(result, "in two ways")
    assert {file.name for file in result.files} == {"a.csv", "b.csv"}


def test_what_is_not_audited_together_is_said(run: Callable[..., ArgusResult]) -> None:
    other = TABLE.replace("Turnover", "Staff")
    result = run(
        f"{OPEN}{TABLE}{other}{TABLE}<READMICRODATA>\n<SUPPRESS> MOD(1)\n<SUPPRESS> MOD(2)\n<SUPPRESS> RND(3,1000)\n<CLEAR>\n"
    )
    assert said(result, "tables of different responses are not audited together")
    assert said(result, "table 1 and table 3 are the same table in two ways")
    assert said(result, "tables before <CLEAR> are audited together with those after it only where", "same file")


def test_decisions_apply_to_linked_tables_too(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    """A sensitive cell that is made safe is a decision of which the verdict on all tables tells."""
    second = TABLE.replace('"Region"', '"Year"')
    first = run(f"{OPEN}{TABLE}<READMICRODATA>\n").works[0]
    unsafe = first.views.table.label(int(np.flatnonzero(first.found.status == 3)[0]))
    (tmp_path / "hand.hst").write_text(f"{unsafe.replace(' × ', ';')};S\n")
    result = run(f'{OPEN}{TABLE}{second}<READMICRODATA>\n<APRIORI> "hand.hst",1,";",0\n<SUPPRESS> MOD(0)\n')
    joint = result.works[0].joint
    assert [one.cell for one in joint.problem.overrides] == [f"{unsafe} × Total"]
    assert said(result, "all tables:", "1 sensitive cell")


@pytest.mark.parametrize("rules", ["P(20)", "P(20)|WGT(1)"])
def test_tables_that_form_a_cycle_have_cells_behind_them(run: Callable[..., ArgusResult], rules: str) -> None:
    tables = "".join(
        f'<SPECIFYTABLE> {by}|"Turnover"\n<SAFETYRULE> {rules}\n'
        for by in ('"Size""Year"', '"Year""Region"', '"Size""Region"')
    )
    result = run(f"{OPEN}{tables}<READMICRODATA>\n<SUPPRESS> MOD(0,5,1,1)\n")
    assert result.passed
    joint = result.works[0].joint
    assert joint.problem.table.behind is not None
    why = "weights" if "WGT" in rules else "no table is finer than all others"
    assert said(result, "all tables", why)
    assert all(work.joint is joint for work in result.works)


# -- several sessions, recodes, weights -----------------------------------------------------------------------------

YEARS = TABLE.replace('"Region"', '"Year"').replace("P(20)", "FREQ(1,20)|MAN(50)")
BY_YEAR = f"{OPEN}{YEARS}<READMICRODATA>\n"


def suppressing(tmp_path: Path, *cells: str) -> str:
    """Commands that suppress these cells of a table by size and year, which protect each other, and write a.csv."""
    (tmp_path / "u.hst").write_text("".join(f"{cell};U\n{cell};PL;1;1\n" for cell in cells))
    return '<APRIORI> "u.hst",1,";",0\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1,1,,"a.csv")\n'


SQUARE = ("1;21", "1;22", "2;21", "2;22")


@pytest.mark.parametrize(
    ("recode", "safe"),
    [
        ("A:1,3\nB:2,4\n", False),  # A is 1 and 3, and 3 is published
        ("1:1,3\n", False),  # the name of an old code
        ("A:1,2\nB:3,4\n", True),
    ],
)
def test_a_recode_before_and_after_clear(
    run: Callable[..., ArgusResult], tmp_path: Path, recode: str, safe: bool
) -> None:
    """The sum of a suppressed and a published cell was taken for another figure, and the audit said safe."""
    (tmp_path / "s.grc").write_text(recode)
    recoded = f'{BY_YEAR}<RECODE> 1,Size,"s.grc"\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1,1,,"b.csv")\n'
    fine = f"{BY_YEAR}{suppressing(tmp_path, *SQUARE)}"
    result = run(f"{fine}<CLEAR>\n{recoded}" if "A" in recode else f"{recoded}<CLEAR>\n{fine}")
    assert result.passed == safe
    assert said(result, "together: audit of cells: safe") == safe
    assert bool(result.files) == safe


def test_a_level_of_a_hierarchy_before_and_after_clear(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    """The coarse table shows a total that the fine one suppresses."""
    (tmp_path / "u.hst").write_text("N;U\nS;U\nN;PL;1;1\n")
    job = f'{OPEN}<SPECIFYTABLE> "Region"|"Turnover"\n<SAFETYRULE> FREQ(1,20)|MAN(0)\n<READMICRODATA>\n'
    result = run(
        f'{job}<APRIORI> "u.hst",1,";",0\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1,1,,"a.csv")\n'
        f'<CLEAR>\n{job}<RECODE> 1,Region,1\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1,1,,"b.csv")\n'
    )
    assert said(result, "table 1 in a.csv and table 1 in b.csv together: audit of cells:", "exposed")
    assert result.files == ()


def test_groupings_that_do_not_nest(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    """Three groupings of four sizes, of which no two nest: the sizes behind them are known not to be negative."""
    jobs = []
    for name, groups in (("x", "A:1,2\nB:3,4\n"), ("y", "C:1,3\nD:2,4\n"), ("z", "E:1,4\nF:2,3\n")):
        (tmp_path / f"{name}.grc").write_text(groups)
        jobs.append(f'{BY_YEAR}<RECODE> 1,Size,"{name}.grc"\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1,1,,"{name}.csv")\n')
    (tmp_path / "u.hst").write_text("A;21;U\nB;21;U\nA;22;U\nB;22;U\n")
    jobs[0] = jobs[0].replace("<SUPPRESS>", '<APRIORI> "u.hst",1,";",0\n<SUPPRESS>')
    result = run("<CLEAR>\n".join(jobs))
    # C, D, E and F bound each of the sizes, and so their sum A.
    assert said(result, "x.csv and table 1 in y.csv and table 1 in z.csv together: audit of cells:")


@pytest.mark.parametrize("rules", ["FREQ(1,20)|WGT(1)", "FREQ(1,20)"])
def test_weighted_beside_unweighted(run: Callable[..., ArgusResult], rules: str) -> None:
    """Where all weights are 1, as for the largest units, the unweighted table shows what the weighted one suppresses."""
    other = YEARS.replace("FREQ(1,20)|MAN(50)", rules)
    result = run(
        f"{OPEN}{YEARS}{other}<READMICRODATA>\n<SUPPRESS> OPT(1)\n<SUPPRESS> OPT(2)\n"
        '<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (2,1,,"b.csv")\n<WRITETABLE> (2,5,,"b.tab")\n'
    )
    assert said(result, "cannot be audited together", "with weights") == ("WGT" in rules)
    assert result.passed == ("WGT" not in rules)
    assert {file.suffix for file in result.files} == ({".tab", ".rda"} if "WGT" in rules else {".csv", ".tab", ".rda"})


def test_a_cycle_across_clear(run: Callable[..., ArgusResult]) -> None:
    """The cells behind have a variable that the later session does not use; this crashed."""
    first = "".join(
        f'<SPECIFYTABLE> {by}|"Turnover"\n<SAFETYRULE> FREQ(1,20)\n' for by in ('"Size""Region"', '"Region""Year"')
    )
    result = run(f"{OPEN}{first}<READMICRODATA>\n<SUPPRESS> MOD(0)\n<CLEAR>\n{BY_YEAR}<SUPPRESS> OPT(1)\n")
    assert said(
        result, "table 1 of session 1 and table 2 of session 1 and table 1 of session 2 together: audit", "safe"
    )


def test_tables_without_files_to_publish_are_audited_across_clear(
    run: Callable[..., ArgusResult], tmp_path: Path
) -> None:
    """Tables may be published from confidential files, too."""
    hidden = suppressing(tmp_path, *SQUARE).replace('(1,1,,"a.csv")', '(1,5,,"a.tab")')
    result = run(f'{BY_YEAR}{hidden}<CLEAR>\n{BY_YEAR}<SUPPRESS> OPT(1)\n<WRITETABLE> (1,5,,"b.tab")\n')
    assert said(result, "table 1 of session 1 and table 1 of session 2 together: audit of cells:", "exposed")
    assert not result.passed


def test_metadata_may_call_a_variable_differently(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    other = (tmp_path / "survey.rda").read_text().replace("Size 8", "SIZE 8").replace("Turnover", "TURNOVER")
    (tmp_path / "other.rda").write_text(other)
    second = BY_YEAR.replace("survey.rda", "other.rda")
    result = run(f"{BY_YEAR}{suppressing(tmp_path, *SQUARE)}<CLEAR>\n{second}<SUPPRESS> OPT(1)\n")
    assert said(result, "together: audit of cells:", "exposed")
    (tmp_path / "other.rda").write_text(other.replace("SIZE 8", "SIZE 21"))
    result = run(f"{BY_YEAR}{suppressing(tmp_path, *SQUARE)}<CLEAR>\n{second}<SUPPRESS> OPT(1)\n")
    assert said(result, "cannot be audited together", "variable 'Size' is another one in other.rda")


@pytest.mark.parametrize(("base", "safe"), [(1, False), (100_000, True)])
def test_a_rounded_margin_beside_a_suppressed_table(
    run: Callable[..., ArgusResult], tmp_path: Path, base: int, safe: bool
) -> None:
    """The rounded table shows a suppressed total too closely; this was not audited, and both were published."""
    (tmp_path / "u.hst").write_text("Total;21;U\nTotal;22;U\n1;21;M\n1;22;M\n")
    margin = YEARS.replace('"Size"', "")
    result = run(
        f'{OPEN}{YEARS}{margin}<READMICRODATA>\n<APRIORI> "u.hst",1,";",0\n<SUPPRESS> OPT(1)\n<SUPPRESS> RND(2,{base})\n'
        '<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (2,1,,"b.csv")\n'
    )
    assert result.passed == safe
    assert bool(result.files) == safe


def test_cells_suppressed_by_decision_that_another_table_shows(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    (tmp_path / "m.hst").write_text("1;Total;M\n1;21;M\n2;Total;M\n2;21;M\n")
    result = run(
        f'{OPEN}{YEARS}{YEARS.replace(chr(34) + "Year" + chr(34), "")}<READMICRODATA>\n<APRIORI> "m.hst",1,";",0\n'
        "<SUPPRESS> OPT(1)\n<SUPPRESS> OPT(2)\n"
    )
    assert said(result, "table 1 and table 2: 2 cells that one of them must suppress by decision, another one shows")


# -- tables protected together --------------------------------------------------------------------------------------


def test_tables_protected_together_with_singletons_are_published(run: Callable[..., ArgusResult]) -> None:
    """Nothing was written, as the respondents of single tables had not been audited."""
    tables = '<SPECIFYTABLE> "Size""Year"|"Turnover"\n<SAFETYRULE> P(20)\n<SPECIFYTABLE> "Year"|"Turnover"\n<SAFETYRULE> {}\n'
    written = '<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (2,1,,"b.csv")\n'
    result = run(f"{OPEN}{tables.format('P(30)')}<READMICRODATA>\n<SUPPRESS> MOD(0,5,1,1)\n{written}")
    assert {file.name for file in result.files} == {"a.csv", "b.csv"}
    assert all(work.respondents is not None for work in result.works)
    assert result.works[0].joint.problem.rules == ("P(20)", "P(30)")  # the rules of all tables apply to all respondents
    result = run(f"{OPEN}{tables.format('P(0)|P(0)|P(20)')}<READMICRODATA>\n<SUPPRESS> MOD(0,5,1,1)\n{written}")
    assert said(result, "all tables:", "not possible: rules P or NK for records and for holdings")
    assert result.passed


def test_the_a_priori_percentage_holds_for_linked_tables(run: Callable[..., ArgusResult]) -> None:
    """Readers of all tables knew no more than that values are not negative."""
    result = run(
        f'{OPEN}{TABLE}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> P(20)\n<READMICRODATA>\n<SUPPRESS> GH(0,60,0,0)\n'
    )
    problem = result.works[0].joint.problem
    assert problem.prior_upper.tolist() == pytest.approx((1.6 * problem.table.value).tolist(), abs=0.01) or (
        np.isfinite(problem.prior_upper[problem.table.value > 0]).all()
    )


def test_audit_intervals_of_linked_tables_are_those_of_all(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    result = run(
        f'{OPEN}{TABLE}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> P(20)\n<READMICRODATA>\n<SUPPRESS> MOD(0)\n'
        '<WRITETABLE> (1,5,AR+QU-,"a.tab")\n'
    )
    (work, _), checked = result.works, result.works[0].joint.checked
    shown = {
        tuple(row[:2]): row[-6:-4]
        for row in (line.split(";") for line in (tmp_path / "a.tab").read_text().splitlines())
    }
    assert len(checked.cell)
    for cell, low, high in zip(checked.cell, checked.lower, checked.upper, strict=True):
        size, region = checked.problem.table.label(int(cell)).split(" × ")
        if np.isfinite([low, high]).all():
            assert [float(text) for text in shown[size, region]] == pytest.approx([low, high], abs=0.051)
    assert work.place is not None


def test_tables_in_files_of_other_data_are_not_audited_together(
    run: Callable[..., ArgusResult], tmp_path: Path
) -> None:
    """Those of the same data are, also if others come between them."""
    opened = ""
    for name, n in (("a", 5), ("b", 6), ("c", 5)):
        code = "21" if name == "c" else "N"
        (tmp_path / f"{name}.txt").write_text(f"Total;{n + 4};4;S\n{code};{n};3;S\nrest;4;1;S\n")
        variable = "Year" if name == "c" else "Region"
        (tmp_path / f"{name}.rda").write_text(
            f'<SEPARATOR> ";"\n"{variable}"\n<RECODEABLE>\n"Turnover"\n<NUMERIC>\n"n"\n<FREQUENCY>\n"S"\n<STATUS>\n'
        )
        opened += f'<OPENTABLEDATA> "{name}.txt"\n<OPENMETADATA> "{name}.rda"\n'
        opened += f'<SPECIFYTABLE> "{variable}"|"Turnover"\n<SAFETYRULE>\n'
    result = run(f"{opened}<READTABLE> 0\n" + "".join(f"<SUPPRESS> OPT({k})\n" for k in (1, 2, 3)))
    assert said(result, "table 1 and table 2 are not audited together", "differ between them")
    assert said(result, "table 1 and table 3 together: audit of cells: safe")
    assert result.passed
