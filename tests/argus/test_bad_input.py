"""What is wrong with a job is said with the file, the line and the nearest known word; nothing is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.helpers.argus_survey import JOB, OPEN, TABLE, survey

from discreet.argus.cell_key import read_probabilities
from discreet.argus.parser import read_batch
from discreet.argus.run import run_batch
from discreet.errors import FormatError, InputError

COUNTS = JOB.replace('"Turnover"', "<FREQ>").replace("P(20)", "FREQ(2,10)|WGT(1)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    survey(tmp_path)
    return tmp_path


def refused(folder: Path, text: str | bytes, says: str) -> None:
    """The job is refused with this message, and no file is written or changed."""
    path = folder / "job.arb"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = {file: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(InputError, match=says) as caught:
        run_batch(path)
    assert caught.value.exit_code == 2
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no commands"),
        ("// nothing\n", "has no commands"),
        ("SUPPRESS MOD(1)\n", "line 1: a command begins with a keyword such as <SUPPRESS>"),
        ("<SUPRESS> MOD(1)\n", "line 1: there is no command <SUPRESS>. Did you mean <SUPPRESS>"),
        ("<OPENMICRODATA>\n", "line 1: the name of a file is missing"),
        (f"{OPEN}<SPECIFYTABLE> Size\n", "line 3: expected .*response"),
        (f'{OPEN}<SPECIFYTABLE> "Size""SIZE"|"Turnover"\n', "line 3: variable 'Size' spans the table twice"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"|||2\n', "line 3: lambda is a number from 0 to 1"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"|||x\n', "line 3: lambda is a number, not 'x'"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"|||1|1\n', "line 3: expected no more than"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> Q(3)\n', "line 4: there is no rule Q"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> FREK(3,1)\n', "Did you mean FREQ"),
        (
            f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> NK(3)\n',
            r"line 4: NK takes NK\(n,k\), and was given 1",
        ),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> P(1,2,3,4)\n', r"P takes P\(p\[,q\]\[,n\]\)"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> P(-1)\n', "P takes numbers of 0 or more"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> P(ten)\n', "a parameter of P is a number, not 'ten'"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> WGT(2)\n', "WGT takes 0 or 1"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> ZERO(1)|ZERO(2)\n', "ZERO stands 1 times at most"),
        (f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> P 20\n', "expected a name and parameters in brackets"),
        (f"{JOB}<SUPPRESS> MODULAR(1)\n", "line 6: there is no method MODULAR. Did you mean MOD"),
        (f"{JOB}<SUPPRESS> MOD()\n", "line 6: MOD needs the number of a table"),
        (f"{JOB}<SUPPRESS> OPT(0)\n", "line 6: the number of a table is 1 or more"),
        (f"{JOB}<SUPPRESS> OPT(1,5,6)\n", r"line 6: OPT takes OPT\(table\[,minutes\]\), and was given 3"),
        (f"{JOB}<SUPPRESS> RND(1,5,1.5)\n", "line 6: steps of RND is an integer, not 1.5"),
        (f"{JOB}<SUPPRESS> RND(1,2.55)\n", "line 6: the base of RND has more decimals than the variable"),
        (f"{JOB}<SUPPRESS> RND(1)\n", r"line 6: RND takes RND\(table,base"),
        (f"{JOB}<SUPPRESS> RND(1,0)\n", "base of RND is a number above 0"),
        (f"{JOB}<SUPPRESS> RND(1,5,0,10,0,4)\n", "stop of RND is 1 or 2 or 3, not 4"),
        (f"{JOB}<SUPPRESS> MOD(1,5,2)\n", "single_single of MOD is 0 or 1, not 2"),
        (f"{JOB}<SUPPRESS> MOD(1) and more\n", "nothing is expected after the command"),
        (f"{JOB}<SUPPRESS> MOD(2)\n", "line 6: there is no table 2: 1 are specified and read"),
        (f'{JOB}<WRITETABLE> (1,8,,"a.csv")\n', "line 6: types of output are 1 to 7, not '8'"),
        (f'{JOB}<WRITETABLE> (1,3,3,"a.csv")\n', "line 6: there is no option 3"),
        (f'{JOB}<WRITETABLE> (1,3,AZ+,"a.csv")\n', "there is no option AZ. Did you mean A"),
        (f'{JOB}<WRITETABLE> (1,3,AS,"a.csv")\n', r"option AS is followed by \+ or -"),
        (f'{JOB}<WRITETABLE> 1,3,AS+,"a.csv"\n', "line 6: <WRITETABLE> takes"),
        (f'{JOB}<WRITETABLE> (1,3,AS+,"")\n', "the name of a file is missing"),
        (f'{JOB}<APRIORI> "a.hst",1\n', "line 6: <APRIORI> takes"),
        (f'{JOB}<APRIORI> "a.hst",1,";",2\n', "ignore errors is 0 or 1, not '2'"),
        (f'{JOB}<APRIORI> "a.hst",0,";"\n', "the number of a table is 1 or more"),
        (f'{JOB}<APRIORI> "a.hst",1,""\n', "line 6: the separator of the a priori file is missing"),
        (f"{JOB}<RECODE> 1,Size\n", "line 6: <RECODE> takes"),
        (f"{JOB}<SOLVER> CPLX\n", "line 6: there is no solver 'CPLX'. Did you mean CPLEX"),
        (f"{JOB}<READTABLE> 1\n", "line 6: the data are records: use <READMICRODATA>"),
        (f"{OPEN}{TABLE}<READTABLE> 3\n", "line 5: <READTABLE> takes 0, 1, 1T or 2"),
        ("<OPENMETADATA> a.rda\n", "line 1: <OPENMICRODATA> or <OPENTABLEDATA> comes first"),
        (f"{OPEN}<READMICRODATA>\n", "line 3: <SPECIFYTABLE> and <SAFETYRULE> come first"),
        (f"{OPEN}<SAFETYRULE> P(1)\n", "line 3: <SPECIFYTABLE> comes first"),
        (f"{OPEN}{TABLE}<SUPPRESS> MOD(1)\n", "line 5: <READMICRODATA> or <READTABLE> comes first"),
        (f"{OPEN}{OPEN}", "line 3: data are open: <CLEAR> comes first"),
    ],
)
def test_commands(folder: Path, text: str, says: str) -> None:
    refused(folder, text, says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            JOB.replace("survey.asc", "surwey.asc"),
            r"job\.arb, line 1: file surwey.asc does not exist. Did you mean survey.asc|line 5",
        ),
        (JOB.replace("survey.rda", "none.rda"), r"job\.arb, line 2: file none.rda does not exist"),
        (JOB.replace('"Size"', '"Sise"'), "line 5: survey.rda has no variable 'Sise'. Did you mean Size"),
        (JOB.replace('"Size"', '"Staff"'), "variable 'Staff' cannot span a table"),
        (JOB.replace('"Turnover"', '"Size"'), "variable 'Size' is not <NUMERIC>"),
        (
            JOB.replace("P(20)", "P(20)|FREQ(2,10)").replace('"Turnover"', "<FREQ>"),
            "P does not apply to a table of counts",
        ),
        (f"{JOB}<SUPPRESS> CKM(1)\n", "line 6: CKM of magnitudes is not available"),
        (f'{JOB}<WRITETABLE> (1,7,,"a.txt")\n', r"line 6: type 7 \(cell key\) is not for this kind of protection"),
        (f'{JOB}<SUPPRESS> CTA(1)\n<WRITETABLE> (1,4,,"a.txt")\n', r"line 7: type 4 \(SBS\) is not for this kind"),
        (f'{JOB}<WRITETABLE> (1,5,,"survey.asc")\n', "line 6: survey.asc is a file that the job reads"),
        (f'{JOB}<WRITETABLE> (1,5,,"survey.tab")\n', "line 6: survey.rda is a file that the job reads"),
        (f'<LOGBOOK> "job.arb"\n{JOB}', "line 1: job.arb is a file that the job reads"),
        (f"{JOB}<RECODE> 1,Region,2\n<RECODE> 1,Size,1\n", "line 7: variable 'Size' is not hierarchical"),
        (f"{JOB}<RECODE> 1,Year,1\n", "line 6: survey.rda has no variable|does not span table 1"),
        (f"{COUNTS}<SUPPRESS> CKM(1)\n", "line 6: CKM of weighted counts is not available here: leave out WGT"),
        (
            f"{JOB}<SUPPRESS> MOD(1)\n<RECODE> 1,Region,1\n",
            "line 7: .*table 1.* is protected or has decisions of an a priori",
        ),
    ],
)
def test_what_commands_name(folder: Path, text: str, says: str) -> None:
    refused(folder, text, says)


def test_duplicated_codes_in_a_hierarchy(folder: Path) -> None:
    with (folder / "region.hrc").open("a") as file:
        file.write("--N1\n")
    refused(folder, JOB, r"job\.arb, line 5: .*region\.hrc, line 10: code 'N1' occurs a second time, first in line 2")


def test_codes_that_are_not_in_the_hierarchy(folder: Path) -> None:
    text = (folder / "region.hrc").read_text().replace("--S3\n", "")
    (folder / "region.hrc").write_text(text)
    refused(folder, JOB, r"1 codes of variable 'Region' are not in region\.hrc: 'S3'. Did you mean 'S")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("5;N1;U\n", r"hand\.hst, line 1: variable 'Size' has no code '5'"),
        ("1;N11;U\n", r"hand\.hst, line 1: variable 'Region' has no code 'N11'. Did you mean 'N1'"),
        ("Total;All;U\n1;N1;SV\n", r"hand\.hst, line 2: 'SV' is none of S, U, P"),
        ("Total;All\n", r"hand\.hst, line 1: expected 2 codes and what changes, found 2 fields"),
        ("Total,All,U\n", r"hand\.hst, line 1: the separator ';' does not occur"),
        ("Total;All;C\n", r"hand\.hst, line 1: C has 1 numbers after it, found 0"),
        ("Total;All;C;-5\n", r"hand\.hst, line 1: C takes numbers of 0 or more"),
        ("Total;All;PL;1;2\n", r"hand\.hst, line 1: the cell is safe: protection levels are for unsafe cells"),
        ("Total;All;U\nTotal;All;P\n", r"hand\.hst, line 2: the cell is unsafe by hand: it cannot become protected"),
        ("Total;All;AB;1;2\n", r"hand\.hst, line 1: prior bounds \(AB\) cannot be set"),
    ],
)
def test_decisions_that_cannot_be_applied(folder: Path, lines: str, says: str) -> None:
    """Statuses for cells that do not exist, unknown words, wrong numbers: an error unless the job ignores them."""
    (folder / "hand.hst").write_text(lines)
    refused(folder, f'{JOB}<APRIORI> "hand.hst",1,";",0\n', f"line 6: .*{says}")


def test_statuses_for_cells_without_records(folder: Path) -> None:
    survey(folder, n=6)
    (folder / "hand.hst").write_text("4;W1;U\n")
    refused(
        folder,
        f'{JOB}<APRIORI> "hand.hst",1,";",0\n',
        r"line 1: cell '4 × W1' does not exist: no record has all its codes",
    )


def test_decisions_that_are_ignored_are_said(folder: Path) -> None:
    (folder / "hand.hst").write_text("Total;All;U\n1;nowhere;U\n1;N1;PLX;3\n")
    (folder / "job.arb").write_text(f'{JOB}<APRIORY> "hand.hst",1,";"\n')
    log = run_batch(folder / "job.arb").log
    assert any("hand.hst, line 2: variable 'Region' has no code 'nowhere'. Left out." in line for line in log)
    assert any("hand.hst, line 3: 'PLX' is none of" in line for line in log)


def test_records_without_a_key_matter_to_the_cell_key_method_only(folder: Path) -> None:
    text = (folder / "survey.asc").read_text().splitlines()
    (folder / "survey.asc").write_text("\n".join([text[0][:36], *text[1:]]))
    counts = JOB.replace('"Turnover"', "<FREQ>").replace("P(20)", "FREQ(2,10)")
    (folder / "job.arb").write_text(counts)
    assert run_batch(folder / "job.arb").passed
    refused(folder, f"{counts}<SUPPRESS> CKM(1)\n", "CKM needs a variable with <RECORDKEY>, and a key in every record")


@pytest.mark.parametrize(
    ("attribute", "job", "says"),
    [
        (
            '  <PFILE> "ptable.txt"\n',
            COUNTS.replace("|WGT(1)", "") + "<SUPPRESS> CKM(1)\n",
            "CKM needs a probability table",
        ),
        (
            "  <HOLDING>\n",
            JOB.replace("P(20)", "P(0,0)|FREQ(0,0)|FREQ(3,10)"),
            r"<HOLDING>.*, and survey\.rda has none",
        ),
        (
            "  <HIERLEVELS> 1 1 1\n",
            JOB.replace("Size", "Industry"),
            "'Industry' is hierarchical, but neither <HIERLEVELS> nor",
        ),
    ],
)
def test_metadata_without_what_a_command_needs(folder: Path, attribute: str, job: str, says: str) -> None:
    text = (folder / "survey.rda").read_text()
    assert attribute in text
    (folder / "survey.rda").write_text(text.replace(attribute, ""))
    refused(folder, job, says)


@pytest.mark.parametrize(
    ("variable", "recode", "says"),
    [
        ("Region", "<TREERECODE>\nS\nX\n", r"recode\.grc, line 3: variable 'Region' has no code 'X'"),
        (
            "Region",
            "1: N1, N2\n",
            r"recode\.grc: variable 'Region' is hierarchical: its recodes begin with <TREERECODE>",
        ),
        ("Year", "<MISSING> 98\n1: 21, 22\n", r"recode\.grc: the missing code '99' would become one that is not"),
    ],
)
def test_recodes_that_cannot_be_applied(folder: Path, variable: str, recode: str, says: str) -> None:
    (folder / "recode.grc").write_text(recode)
    job = JOB.replace('"Size"', '"Year"')
    refused(folder, f'{job}<RECODE> 1,{variable},"recode.grc"\n', says)


P_ROWS = ["i;j;p;v;p_int_ub", "0;0;1;0;1", "1;0;0.5;-1;0.5", "1;2;0.5;1;1"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("1;0;0.5;-1;0.5", "1;zero;0.5;-1;0.5"), r"ptable\.txt, line 3: expected the numbers i;j;p;v;p_int_ub"),
        (("1;0;0.5;-1;0.5", "1;0;2;-1;0.5"), r"ptable\.txt, line 3: i and j are counts, 0 or more, and p is"),
        (("0;0;1;0;1", "3;3;1;0;1"), r"ptable\.txt needs a row for every count from 0 on"),
        (("1;2;0.5;1;1", "1;2;0.4;1;1"), r"ptable\.txt: the probabilities of count 1 do not add up to 1"),
        (("0;0;1;0;1", "0;1;1;1;1"), r"ptable\.txt: the rows of count 0 change it. Give it the probability 1"),
    ],
)
def test_probability_tables_that_are_none(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    (tmp_path / "ptable.txt").write_text("\n".join(P_ROWS).replace(*change) + "\n")
    with pytest.raises(FormatError, match=says):
        read_probabilities(tmp_path / "ptable.txt")


def test_records_that_do_not_fit_the_metadata(folder: Path) -> None:
    text = (folder / "survey.asc").read_text().splitlines()
    (folder / "survey.asc").write_text("\n".join([*text[:3], text[3][:22] + "  many  " + text[3][30:], *text[4:]]))
    refused(folder, JOB, r"survey\.asc, line 4: variable 'Turnover' is not a number")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (JOB.replace("P(20)", "P(20,2.5)"), "line 4: n of P is an integer, not 2.5"),
        (JOB.replace("P(20)", "NK(2.5,80)"), "line 4: n of NK is an integer, not 2.5"),
        (f"{JOB}<SUPPRESS> MOD({'9' * 5000})\n", "line 6: the number of a table"),
        (f'{JOB}<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"a\0b")\n', "line 7: the name of a file has a character"),
        (f'{JOB}<WRITETABLE> (1,5,,"x.rda")\n', r"line 6: x\.rda is the name of its metadata, too"),
        (
            f'{JOB}<LOGBOOK> "a.csv"\n<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"a.csv")\n',
            r"a\.csv is the logbook and a table",
        ),
    ],
)
def test_numbers_and_names_that_cannot_be_used(folder: Path, text: str, says: str) -> None:
    refused(folder, text, says)


@pytest.mark.parametrize(
    ("at", "says"),
    [
        (slice(9, 11), r"survey\.asc, line 5: variable 'Region' has no code \(1 record in all\)"),
        (slice(22, 30), r"survey\.asc, line 5: variable 'Turnover' has no number, or one that is listed as missing"),
    ],
)
def test_records_without_a_code_or_a_number(folder: Path, at: slice, says: str) -> None:
    """Lines of the file are named, blank ones counted."""
    text = (folder / "survey.asc").read_text().splitlines()
    width = at.stop - at.start
    text[3] = text[3][: at.start] + " " * width + text[3][at.stop :]
    (folder / "survey.asc").write_text("\n".join(["", *text]))
    refused(folder, JOB, says)


def test_names_of_variables_do_not_clash_with_those_of_the_program(folder: Path) -> None:
    """A holding named `record` made every record a holding of its own, and cells of few holdings safe."""
    job = JOB.replace("P(20)", "FREQ(0,0)|FREQ(4,20)|REQ(10,10,3,10)").replace('"Region"', '"Size"', 0)
    (folder / "job.arb").write_text(job)
    before = run_batch(folder / "job.arb").works[0].found
    meta = (folder / "survey.rda").read_text()
    for name in ("record", "requests it", "number of requests", "key high"):
        (folder / "survey.rda").write_text(meta.replace("\nGroup ", f'\n"{name}" '))
        assert np.array_equal(run_batch(folder / "job.arb").works[0].found.status, before.status)
        (folder / "survey.rda").write_text(meta.replace("\nSize ", f'\n"{name}" '))
        (folder / "job.arb").write_text(job.replace('"Size"', f'"{name}"'))
        assert np.array_equal(run_batch(folder / "job.arb").works[0].found.status, before.status)
        (folder / "job.arb").write_text(job)


# -- files from other systems ----------------------------------------------------------------------------------------------


def test_the_sign_with_which_dos_ends_files(folder: Path) -> None:
    (folder / "job.arb").write_text(JOB)
    expected = run_batch(folder / "job.arb").works[0].views.table.value
    (folder / "survey.asc").write_text((folder / "survey.asc").read_text() + "\x1a")
    assert np.array_equal(run_batch(folder / "job.arb").works[0].views.table.value, expected)


def test_windows_paths_line_ends_capitals_and_latin_1(folder: Path) -> None:
    job = JOB.replace("survey.asc", "C:\\Data\\Überblick\\SURVEY.ASC").replace("survey.rda", "..\\x\\Survey.RDA")
    job += '<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"D:\\Results\\release.csv")\n'
    (folder / "job.arb").write_bytes(job.replace("\n", "\r\n").encode("latin-1"))
    result = run_batch(folder / "job.arb")
    assert [file.name for file in result.files] == ["release.csv"]
    assert any(
        "C:\\Data\\Überblick\\SURVEY.ASC: there is no such path here; survey.asc beside the job" in line
        for line in result.log
    )
    assert any(
        "D:\\Results\\release.csv" in line and "release.csv beside the other results" in line for line in result.log
    )


def test_results_in_another_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("results")
    (folder / "job.arb").write_text(f'{JOB}<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"release.csv")\n')
    before = set(folder.iterdir())
    run_batch(folder / "job.arb", out=other)
    assert {file.name for file in other.iterdir()} == {"release.csv"}
    assert set(folder.iterdir()) == before


def test_comments_and_the_older_spelling(folder: Path) -> None:
    text = f'//{JOB.splitlines()[0]}\n{JOB}<SUPPRESS> MOD(1) // modular\n\\\\ old comment\n<WRITETABLE> (1,1,,"a//b.csv")\n'
    (folder / "job.arb").write_text(text)
    commands = read_batch(folder / "job.arb")
    assert commands[-1].file == "a//b.csv"
    assert [command.line for command in commands] == [2, 3, 4, 5, 6, 7, 9]


# -- tables in files ---------------------------------------------------------------------------------------------------------

TABLE_META = """\
<SEPARATOR> ";"
A
  <RECODEABLE>
  <TOTCODE> T
B
  <RECODEABLE>
X
  <NUMERIC>
N
  <FREQUENCY>
S
  <STATUS>
"""
TABLE_JOB = '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "A""B"|"X"\n<SAFETYRULE>\n'
CELLS = ["T;Total;10;5;S", "T;b;10;5;S", "a;Total;4;2;U", "a;b;4;2;U", "c;Total;6;3;S", "c;b;6;3;s"]


@pytest.mark.parametrize(
    ("change", "how", "says"),
    [
        (("a;b;4;2;U", "a;b;5;2;U"), "", r"<READTABLE> 1 computes totals, and <READTABLE> 2 takes them"),
        (("a;Total;4;2;U", "a;b;4;2;U"), "", r"t\.tab, line 4: cell 'a × b' occurs a second time, first in line 3"),
        (("c;b;6;3;s", "c;b;6;3;X"), "", r"t\.tab, line 6: there is no status 'X'. Statuses are"),
        (("c;b;6;3;s", "c;b;six;3;S"), "", r"t\.tab, line 6: variable 'X' is not a number"),
        (("c;b;6;3;s", "c;b;6;3"), "", r"t\.tab, line 6: expected 5 fields, found 4"),
        (("c;b;6;3;s", "c;b;;3;s"), "", r"t\.tab, line 6: variable 'X' has no number"),
        (("c;b;6;3;s", "c;b;6;3.5;s"), "", r"variable 'N' counts contributors"),
        (("a;Total;4;2;U\n", ""), "", r"1 total is missing"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, change: tuple[str, str], how: str, says: str) -> None:
    (tmp_path / "t.rda").write_text(TABLE_META)
    text = "\n".join(CELLS) + "\n"
    assert change[0] in text
    (tmp_path / "t.tab").write_text(text.replace(*change))
    refused(tmp_path, f"{TABLE_JOB}<READTABLE> {how}\n", f"job.arb, line 5: .*{says}")


def test_totals_that_differ_from_their_parts(tmp_path: Path) -> None:
    """1 computes totals, 1T keeps their statuses, 2 takes them as they are."""
    (tmp_path / "t.rda").write_text(TABLE_META)
    (tmp_path / "t.tab").write_text("\n".join(CELLS).replace("a;b;4;2;U", "a;b;5;2;U"))
    found = {}
    for how in ("1", "1T", "2"):
        (tmp_path / "job.arb").write_text(f"{TABLE_JOB}<READTABLE> {how}\n")
        result = run_batch(tmp_path / "job.arb")
        work = result.works[0]
        found[how] = (
            work.views.table.value[work.views.table.index("T × Total")],
            work.found.status[work.views.table.index("a × Total")],
        )
        assert any("total" in line and ("replaced" in line or "differ" in line) for line in result.log)
    assert found == {"1": (11, 1), "1T": (11, 9), "2": (10, 9)}


def test_rules_that_a_table_in_a_file_cannot_follow(tmp_path: Path) -> None:
    """REQ and WGT were ignored without a word."""
    (tmp_path / "t.rda").write_text(TABLE_META)
    (tmp_path / "t.tab").write_text("\n".join(CELLS))
    for rules, says in (
        ("REQ(10,10,3,10)", "does not say who requested protection"),
        ("FREQ(3,10)|WGT(1)", "has no weights"),
        ("NK(3,70)", r"the 3 largest contributions .*<MAXSCORE>\. t\.rda has none"),
    ):
        job = TABLE_JOB.replace("<SAFETYRULE>", f"<SAFETYRULE> {rules}")
        refused(tmp_path, f"{job}<READTABLE> 0\n", f"job.arb, line 5: .*{says}")


@pytest.mark.parametrize(
    ("job", "meta", "says"),
    [
        (
            TABLE_JOB.replace("<SAFETYRULE>", "<SAFETYRULE> FREQ(0,0)|FREQ(3,10)"),
            TABLE_META,
            "has no holdings: leave out",
        ),
        (TABLE_JOB.replace('"A"', '"C"'), TABLE_META, r"t\.rda has no variable 'C'\."),
        (
            TABLE_JOB.replace('"A"', '"X"').replace('|"X"', '|"N"'),
            TABLE_META,
            "variable 'X' cannot span a table: it is not <REC",
        ),
        (TABLE_JOB.replace('|"X"', '|"B"'), TABLE_META, "variable 'B' is not <NUMERIC>"),
        (
            TABLE_JOB.replace('|"X"', "|<FREQ>"),
            TABLE_META.replace("<FREQUENCY>", "<NUMERIC>"),
            "needs a variable with <FREQ",
        ),
        (
            TABLE_JOB.replace("<SAFETYRULE>", "<SAFETYRULE> FREQ(3,10)"),
            TABLE_META.replace("<FREQUENCY>", "<NUMERIC>"),
            "FREQ needs the number of contributors to each cell: a variable with <FREQUENCY>",
        ),
        (
            TABLE_JOB.replace('|"X"', '|"X"||-1') + "<READTABLE>\n<SUPPRESS> MOD(1)\n",
            TABLE_META.replace("<FREQUENCY>", "<NUMERIC>"),
            "costs by frequency need the number of contributors to each cell",
        ),
        (
            f'{TABLE_JOB}<READTABLE>\n<RECODE> 1,A,"x.grc"\n',
            TABLE_META,
            "line 6: tables that are read as tables cannot be",
        ),
    ],
)
def test_jobs_that_a_table_in_a_file_cannot_serve(tmp_path: Path, job: str, meta: str, says: str) -> None:
    (tmp_path / "t.rda").write_text(meta)
    (tmp_path / "t.tab").write_text("\n".join(CELLS))
    refused(tmp_path, job if "<READTABLE>" in job else f"{job}<READTABLE>\n", says)


def test_totals_are_computed_from_the_finest_cells(tmp_path: Path) -> None:
    (tmp_path / "t.rda").write_text(TABLE_META)
    (tmp_path / "t.tab").write_text("T;Total;10;5;S\nT;b;10;5;S\na;Total;10;5;S\n")
    refused(tmp_path, f"{TABLE_JOB}<READTABLE> 1\n", r"t\.tab has no cells at the finest level, from which totals")


def test_tables_of_different_responses_are_not_protected_together(folder: Path) -> None:
    second = '<SPECIFYTABLE> "Size""Year"|"Staff"\n<SAFETYRULE> P(20)\n'
    job = f"{OPEN}{TABLE}{second}<READMICRODATA>\n<SUPPRESS> MOD(0)\n"
    refused(folder, job, "tables with different responses cannot be protected together: 'Staff', 'Turnover'")


def test_largest_contributions_that_are_not_in_order(tmp_path: Path) -> None:
    """The p% rule took the first for the largest, and called a cell with one dominant contributor safe."""
    (tmp_path / "t.rda").write_text(TABLE_META.replace("S\n", "M1\n  <MAXSCORE>\nM2\n  <MAXSCORE>\nS\n"))
    cells = [f"{one[:-1]}1;3;S" if one.startswith("a") else f"{one[:-1]}3;2;S" for one in CELLS]
    (tmp_path / "t.tab").write_text("\n".join(cells))
    job = TABLE_JOB.replace("<SAFETYRULE>", "<SAFETYRULE> P(20)")
    refused(tmp_path, f"{job}<READTABLE> 0\n", r"t\.tab, line 3: variable 'M2' is larger than the one before it")


def test_totals_without_cells_at_the_finest_level(tmp_path: Path) -> None:
    """Computed totals left such cells out without a word."""
    (tmp_path / "t.rda").write_text(TABLE_META)
    (tmp_path / "t.tab").write_text("\n".join([*CELLS, "d;Total;500;9;S"]))
    refused(
        tmp_path,
        f"{TABLE_JOB}<READTABLE> 1\n",
        r"t\.tab, line 7: cell 'd × Total' has a value, and no cell at the finest",
    )
    (tmp_path / "t.tab").write_text("\n".join([*CELLS, "d;Total;0;0;E"]))
    (tmp_path / "job.arb").write_text(f"{TABLE_JOB}<READTABLE> 1\n")
    assert run_batch(tmp_path / "job.arb").passed


def test_given_levels_are_at_least_one_unit(tmp_path: Path) -> None:
    (tmp_path / "t.rda").write_text(f"{TABLE_META}L\n  <LOWERPL>\nU\n  <UPPERPL>\n")
    (tmp_path / "t.tab").write_text("\n".join(f"{one};0;0" for one in CELLS))
    (tmp_path / "job.arb").write_text(f"{TABLE_JOB}<READTABLE> 0\n")
    found = run_batch(tmp_path / "job.arb").works[0].found
    assert sorted(found.lower.tolist()) == sorted(found.upper.tolist()) == [0, 0, 0, 0, 1, 1]


def test_levels_of_contributions_that_cancel_out(tmp_path: Path) -> None:
    """100 − 100: the level was a share of the value, which is 0."""
    meta = "A 1 1\n  <RECODEABLE>\nX 3 6\n  <NUMERIC>\n"
    rows = [("a", 100), ("a", -100), *(("b", 50 + k) for k in range(4)), *(("c", 40 + k) for k in range(4))]
    (tmp_path / "s.rda").write_text(meta)
    (tmp_path / "s.asc").write_text("".join(f"{code} {value:6}\n" for code, value in rows))
    (tmp_path / "job.arb").write_text(
        '<OPENMICRODATA> "s.asc"\n<OPENMETADATA> "s.rda"\n<SPECIFYTABLE> "A"|"X"\n<SAFETYRULE> P(20)\n<READMICRODATA>\n'
    )
    work = run_batch(tmp_path / "job.arb").works[0]
    i = work.views.table.index("a")
    assert (work.found.lower[i], work.found.upper[i]) == (20, 20)  # 20 percent of 100, and the remainder is 0
