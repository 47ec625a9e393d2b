"""What a job says, and what it does not publish."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.argus_survey import JOB, OPEN, TABLE, said

from discreet.argus.run import ArgusResult, run_batch
from discreet.errors import InputError, NoSafePatternError
from discreet.io import read_problem
from discreet.io.argus.results import read_result
from discreet.io.argus.statuses import ArgusStatus
from discreet.protection import suppress


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("<GOINTERACTIVE>", ["<GOINTERACTIVE> skipped", "window"]),
        ("<SOLVER> XPRESS", ["solver XPRESS is not used"]),
        ("<ANCO>", ["<ANCO> skipped"]),
        ("<JJ>", ["<JJ> skipped"]),
        ("<COVER>", ["<COVER> skipped", "shared cells"]),
        ("<SILENT>", ["<SILENT> skipped"]),
        ("<SUPPRESS> MOD(1,5)", ["limit per subtable is not used"]),
        ("<SUPPRESS> MOD(1,5,0,0,1)", ["minimum frequency", "no equivalent"]),
        ("<SUPPRESS> MOD(1,5,0,0,0,200,0.9,1.1)", ["max_cost and lower_margin and upper_margin", "not used"]),
        ("<SUPPRESS> MOD(1,5,1,0,0)", ["level is that of contributions"]),
        ("<SUPPRESS> GH(1,75,1,0)", ["size of the model is not used"]),
        ("<SUPPRESS> GH(1,75)", ["a priori percentage"]),
        ("<SUPPRESS> OPT(1,1)", ["OPT has no singleton options"]),
        ("<SUPPRESS> NET(1)", ["MOD"]),
        ("<SUPPRESS> RND(1,1000,1,1,1,2,0)", ["partitions are not needed"]),
        ("<SUPPRESS> RND(1,1000,1,1,1,2,0)", ["first that is safe"]),
        ("<SUPPRESS> RND(1,1000,1,1,1,2,0)", ["costs by cell are not used"]),
        ('<WRITETABLE> (1,5,AS+,"t.tab")', ["AS has no effect on type 5"]),
    ],
)
def test_nothing_is_dropped_silently(run: Callable[..., ArgusResult], command: str, words: list[str]) -> None:
    if command == "<SUPPRESS> NET(1)":
        words = ["NET → kelly"]
    assert said(run(f"{JOB}{command}\n"), *words)


def test_singleton_options_that_cannot_be_followed_are_explained(run: Callable[..., ArgusResult]) -> None:
    for rules, why in (
        ("FREQ(3,20)", "no rule P or NK"),
        ("P(20)|WGT(1)", "weights"),
        ("P(9)|P(0)|P(8)", "for records and for holdings"),
    ):
        result = run(f"{JOB.replace('P(20)', rules)}<SUPPRESS> MOD(1,5,1,1)\n")
        assert said(result, "level of contributions, which is not possible", why)


def test_holdings_are_respondents_if_rules_are_about_them(run: Callable[..., ArgusResult]) -> None:
    result = run(f"{JOB.replace('P(20)', 'P(0)|P(0)|P(20)')}<SUPPRESS> MOD(1,5,1,1)\n")
    (work,) = result.works
    assert work.respondents is not None
    assert set(work.views.table.contributors) <= {f"{group:03d}" for group in range(30)}


def test_an_unprotected_table_is_not_published(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    result = run(f'{JOB}<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (1,3,AS+,"b.txt")\n')
    assert not result.passed
    assert [file.name for file in result.files] == ["b.txt"]
    assert said(result, "a.csv is not written", "not protected")


def test_a_table_whose_audit_fails_is_not_published(
    run: Callable[..., ArgusResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "discreet.argus.protecting.run_plan", lambda problem, plan, progress: suppress(problem, problem.status == 1)
    )
    result = run(f'{JOB}<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (1,4,,"b.sbs")\n')
    assert not result.passed
    assert [file.name for file in result.files] == ["b.sbs"]
    assert said(result, "audit:", "exposed")
    assert said(result, "a.csv is not written", "audit did not pass")


@pytest.mark.parametrize(
    ("method", "kind", "response"),
    [("CTA(1)", 1, '"Turnover"'), ("CTA(1)", 3, '"Turnover"'), ("CKM(1)", 7, "<FREQ>")],
)
def test_cells_suppressed_by_hand_stay_suppressed_among_other_values(
    run: Callable[..., ArgusResult], tmp_path: Path, method: str, kind: int, response: str
) -> None:
    """The true value of such a cell stood in the file to publish."""
    job = JOB.replace('"Turnover"', response).replace("P(20)", "FREQ(1,20)" if kind == 7 else "P(10)")
    (tmp_path / "ptable.txt").write_text(
        "i;j;p;v;p_int_ub\n0;0;1;0;1\n1;0;0.3;1;0.3\n1;1;0.4;0;0.7\n1;2;0.3;1;1\n2;1;0.3;1;0.3\n2;2;0.4;0;0.7\n2;3;0.3;1;1\n"
    )
    work = run(job).works[0]
    safe = np.flatnonzero((work.found.status == ArgusStatus.SAFE) & work.views.table.is_base)
    size, region = work.views.table.label(int(safe[0])).split(" × ")
    (tmp_path / "hide.hst").write_text(f"{size};{region};M\n")
    result = run(f'{job}<APRIORI> "hide.hst",1,";"\n<SUPPRESS> {method}\n<WRITETABLE> (1,{kind},QU-,"a.csv")\n')
    assert result.passed
    lines = (tmp_path / "a.csv").read_text().splitlines()
    if kind == 1:
        row = next(line for line in lines if line.startswith(f"{size},"))
        shown = dict(zip(lines[0].split(","), row.split(","), strict=True))[region]
    else:
        found = next(line for line in lines if line.replace(";", ",").startswith(f"{size},{region},"))
        shown = found.replace(";", ",").split(",")[2]
    assert shown == "x"


def test_levels_by_hand_below_those_of_the_rules_are_said(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    job = JOB.replace("P(20)", "P(90)")
    at = np.flatnonzero(run(f"{job}<SUPPRESS> MOD(1)\n").works[0].found.lower > 0)[0]
    table = run(f"{job}<SUPPRESS> MOD(1)\n").works[0].views.table
    (tmp_path / "low.hst").write_text(f"{table.label(at).replace(' × ', ';')};PL;0.1;0.1\n")
    assert said(
        run(f'{job}<APRIORI> "low.hst",1,";"\n<SUPPRESS> MOD(1)\n'), "levels of 1 cell are below those of the rules"
    )


def test_a_job_does_not_read_what_it_writes(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    """Outputs are written at the end: until then the file has the results of an earlier run, or does not exist."""
    (tmp_path / "a.tab").write_text("old")
    with pytest.raises(InputError, match=r"line 9: a\.tab is an output of this job.*a job of its own"):
        run(
            f'{JOB}<SUPPRESS> MOD(1)\n<WRITETABLE> (1,5,,"a.tab")\n<CLEAR>\n<OPENTABLEDATA> "C:\\A.TAB"\n<OPENMETADATA> "a.rda"\n'
            '<SPECIFYTABLE> "Size""Region"|"Turnover"\n<READTABLE> 0\n<SUPPRESS> MOD(1)\n'
        )
    assert (tmp_path / "a.tab").read_text() == "old"


def test_linked_tables_from_files(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    """The same tables, written and read again, are protected in the same way."""
    second = TABLE.replace('"Region"', '"Year"')
    protect = "<SUPPRESS> MOD(0)\n"
    records = run(
        f'{OPEN}{TABLE}{second}<READMICRODATA>\n<WRITETABLE> (1,5,,"a.tab")\n<WRITETABLE> (2,5,,"b.tab")\n{protect}'
    )
    opened = "".join(
        f'<OPENTABLEDATA> "{name}.tab"\n<OPENMETADATA> "{name}.rda"\n{table}'
        for name, table in (("a", TABLE), ("b", second))
    )
    files = run(f"{opened}<READTABLE>\n{protect}")
    assert files.passed
    assert said(files, "statuses in a.tab are not used, because rules are given")
    for one, other in zip(records.works, files.works, strict=True):
        assert one.views.table.labels() == other.views.table.labels()
        assert one.protection.suppressed.tolist() == other.protection.suppressed.tolist()


def test_tables_of_three_dimensions_are_written_in_blocks(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    result = run(
        f'{OPEN}<SPECIFYTABLE> "Year""Size""Region"|"Turnover"\n<SAFETYRULE> P(20)\n<READMICRODATA>\n<SUPPRESS> MOD(1)\n'
        '<WRITETABLE> (1,1,,"cube.csv")\n<WRITETABLE> (1,1,,"cube.csv")\n'
    )
    assert said(result, "cube.csv is written a second time")
    (work,) = result.works
    table = work.views.table
    found = {cell.codes: cell for cell in read_result(tmp_path / "cube.csv", table.dimensions)}
    assert len(found) == table.n_combinations
    for i, label in enumerate(table.labels()):
        cell = found[tuple(label.split(" × "))]
        assert cell.suppressed == bool(work.protection.suppressed[i])
        assert cell.suppressed or cell.value == pytest.approx(table.value[i], abs=0.051)


def test_trivial_levels_are_left_out_of_jj_files(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    run(f'{JOB}<WRITETABLE> (1,6,,"all.jj")\n<WRITETABLE> (1,6,TR+,"few.jj")\n')
    full, short = (read_problem(tmp_path / name) for name in ("all.jj", "few.jj"))
    # W and W1 are the same region, in the total and in each of four sizes; so are regions of which one part alone has records.
    pairs = int((np.diff(full.table.relations.indptr) == 2).sum())
    assert pairs >= 5
    assert len(full) - len(short) == pairs
    assert len(full.table.relations.data) > len(short.table.relations.data)
    assert short.table.relations.shape[0] == len({row.tobytes() for row in short.table.relations.toarray()})


def test_confidential_files_are_private_and_the_release_is_not(run: Callable[..., ArgusResult]) -> None:
    umask = os.umask(0o022)
    try:
        result = run(
            f'<LOGBOOK> "log.txt"\n{JOB}<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"a.csv")\n<WRITETABLE> (1,2,AS+,"b.csv")\n'
            '<WRITETABLE> (1,5,,"c.tab")\n<WRITETABLE> (1,6,TR+,"d.jj")\n'
        )
    finally:
        os.umask(umask)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in result.files}
    assert modes["a.csv"] == 0o644
    assert {mode for name, mode in modes.items() if name != "a.csv"} == {0o600}


def test_primary_and_secondary_cells_look_alike_in_publishable_files(
    run: Callable[..., ArgusResult], tmp_path: Path
) -> None:
    """A job in which roles are swapped writes the same bytes."""
    result = run(f"{JOB}<SUPPRESS> MOD(1)\n")
    (work,) = result.works
    table = work.views.table
    hidden = [table.label(i).replace(" × ", ";") for i in range(len(table)) if work.protection.suppressed[i]]
    texts = []
    for word in ("M", "U"):
        (tmp_path / "roles.hst").write_text("".join(f"{cell};{word}\n" for cell in hidden))
        outputs = "".join(f'<WRITETABLE> (1,{kind},,"{word}{kind}.txt")\n' for kind in (1, 2, 3))
        run(f'{JOB.replace("P(20)", "MAN(0)|FREQ(0,0)")}<APRIORI> "roles.hst",1,";"\n<SUPPRESS> MOD(1)\n{outputs}')
        texts.append(
            [
                (tmp_path / f"{word}{kind}.txt").read_bytes()
                for kind in (1, 2, 3)
                if (tmp_path / f"{word}{kind}.txt").exists()
            ]
        )
    assert texts[0] == texts[1]
    assert texts[0]


def test_no_safe_pattern_writes_nothing(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    everything = "".join(f"{size};{code};P\n" for size in ("Total", *"1234") for code in ("All", "N", "S", "W"))
    (tmp_path / "keep.hst").write_text(everything)
    before = set(tmp_path.iterdir())
    with pytest.raises(NoSafePatternError):
        run(f'<LOGBOOK> "log.txt"\n{JOB}<APRIORI> "keep.hst",1,";"\n<WRITETABLE> (1,5,,"a.tab")\n<SUPPRESS> OPT(1)\n')
    assert set(tmp_path.iterdir()) - before == {tmp_path / "job.arb"}


def test_the_logbook_is_continued(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    for _ in range(2):
        run(f'<LOGBOOK> "log.txt"\n{JOB}')
    assert (tmp_path / "log.txt").read_text().count("table 1: Turnover by Size × Region") == 2


def test_what_recodes_logbooks_and_decimals_leave_out_is_said(run: Callable[..., ArgusResult], tmp_path: Path) -> None:
    """Each logbook has what was said until the next; of several only the last was written."""
    (tmp_path / "s.grc").write_text('A:1,2,7,8\n<CODELIST> "sizes.cdl"\n')
    layout = (tmp_path / "survey.rda").read_text().replace("<NUMERIC>\n  <DECIMALS> 1", "<NUMERIC>")
    (tmp_path / "survey.rda").write_text(layout)
    result = run(
        f'<LOGBOOK> "one.txt"\n{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE>\n<READMICRODATA>\n<LOGBOOK> "two.txt"\n'
        '<RECODE> 1,Size,"s.grc"\n'
    )
    assert said(result, "rules: none, so that cells are primary only by hand")
    assert said(result, "files show Turnover with fewer decimals than it has (<DECIMALS>)")
    assert said(result, "s.grc: no record has these codes: '7', '8'")
    assert said(result, "the labels in sizes.cdl are not used")
    one, two = ((tmp_path / name).read_text() for name in ("one.txt", "two.txt"))
    assert (one + two).splitlines() == list(result.log)
    assert "recoded" in two
    assert "recoded" not in one


def test_a_later_rule_with_a_larger_level_is_said(run: Callable[..., ArgusResult]) -> None:
    assert said(run(JOB.replace("P(20)", "P(20)|FREQ(3,90)")), "violate a later rule with a larger level")


def test_the_repr_of_a_result_shows_no_values(run: Callable[..., ArgusResult]) -> None:
    assert repr(run(JOB)) == "ArgusResult(1 table, 0 files)"


# -- the classical survey --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif("BENCH_DATA" not in os.environ, reason="BENCH_DATA names no folder with microdata/tau_testW")
def test_the_classical_survey_of_tau_argus(tmp_path: Path) -> None:
    """42,723 records: 153 cells, 34 of them empty, and 9 primaries by P(15)."""
    for file in (Path(os.environ["BENCH_DATA"]) / "microdata" / "tau_testW").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "job.arb").write_text(
        '<OPENMICRODATA> "tau_testW.asc"\n<OPENMETADATA> "tau_testW.rda"\n<SPECIFYTABLE> "Size""Region"|"Var2"\n'
        '<SAFETYRULE> P(15)\n<READMICRODATA>\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1,1,,"a.csv")\n<SUPPRESS> MOD(1,5,1,1,1)\n'
        '<WRITETABLE> (1,5,,"b.tab")\n'
    )
    result = run_batch(tmp_path / "job.arb")
    (work,) = result.works
    table = work.views.table
    assert table.n_combinations == 153
    assert table.n_empty == 34
    assert sum(3 <= status <= 9 for status in work.found.status) == 9
    assert said(result, "9 primary and 6 secondary cells suppressed")  # the optimum without singleton options
    assert work.respondents is not None
    assert result.passed
