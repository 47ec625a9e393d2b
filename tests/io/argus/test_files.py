"""The files of τ-ARGUS: metadata, code lists, recodes, a priori files and statuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.errors import FormatError
from discreet.io.argus.apriori import read_apriori
from discreet.io.argus.codelist import read_codelist
from discreet.io.argus.metadata import metadata_text, read_metadata
from discreet.io.argus.recode import read_recode
from discreet.io.argus.records import read_records
from discreet.io.argus.statuses import OF_FLAG, OF_LETTER, ArgusStatus, flag
from discreet.io.argus.text import fields, words

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        (tmp_path / "file.txt").write_text(text, encoding="utf-8")
        return tmp_path / "file.txt"

    return write


# -- words and fields -------------------------------------------------------------------------------------------------


def test_words_may_hold_blanks_in_quotes():
    assert words('<REQUEST> "1" "a b" c') == ["<REQUEST>", "1", "a b", "c"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a;b; c ", ["a", "b", "c"]),
        ('"a;b";c', ["a;b", "c"]),
        ('"say ""no""";1', ['say "no"', "1"]),
        ('5" pipe;1', ['5" pipe', "1"]),
        ("a;;", ["a", "", ""]),
        ('"";1', ["", "1"]),
    ],
)
def test_fields_of_a_line(line, expected):
    assert fields(line, ";") == expected


# -- metadata ------------------------------------------------------------------------------------------------------------


def test_every_keyword_of_records(write):
    found = read_metadata(
        write(
            "Region 1 2 99 98\n<RECODABLE>\n<TOTCODE> Alles\n<CODELIST> r.cdl\n<HIERARCHICAL>\n<HIERCODELIST> r.hrc\n"
            '<HIERLEADSTRING> "-"\n<DISTANCE> 1 4\n<TRUNCABLE>\nNace 4 5\n<RECODEABLE>\n<HIERARCHICAL>\n'
            "<HIERLEVELS> 3 1 1 0 0\nW 10 4\n<WEIGHT>\n<DECIMALS> 1\nG 15 2\n<HOLDING>\nR 18 1\n<REQUEST> 1 2\nK 20 9\n"
            "<RECORDKEY>\n<PFILE> p.txt\nX 30 8\n<NUMERIC>\n<CKM> T(3)\n<INCLUDEZEROS> N\n<SEPARATION> Y\n<PARITY> N\n"
            "<SCALING> F(0.03,0.3)\n"
        ),
        "records",
    )
    region, nace, weight, group, asked, key, x = found.variables
    assert (region.start, region.width, region.missing, region.total) == (0, 2, ("99", "98"), "Alles")
    assert (region.codelist, region.hierarchy, region.leader) == ("r.cdl", "r.hrc", "-")
    assert region.distances == (1, 4, 4, 4, 4)
    assert region.noted == ((9, "<TRUNCABLE>"),)
    assert nace.levels == (3, 1, 1)
    assert (weight.weight, weight.numeric, weight.decimals) == (True, True, 1)
    assert (group.holding, asked.request, key.record_key, key.probabilities) == (True, ("1", "2"), True, "p.txt")
    assert [keyword for _, keyword in x.noted] == ["<CKM>", "<INCLUDEZEROS>", "<SEPARATION>", "<PARITY>", "<SCALING>"]
    assert found.find("REGION") is region
    assert found.find("nowhere") is None


def test_metadata_of_tables_are_read_as_they_are_written(write):
    text = (
        '<SEPARATOR> ";"\n<SAFE> a\n<UNSAFE> b\n<PROTECT> c\n"Size of firm" "99"\n  <RECODEABLE>\n  <TOTCODE> T\n'
        "  <HIERARCHICAL>\n  <HIERLEVELS> 1 1\n  <DISTANCE> 1 2 3 4 5\nX\n  <NUMERIC>\n  <DECIMALS> 2\nN\n  <FREQUENCY>\n"
        "S\n  <NUMERIC> <SHADOW>\nC\n  <NUMERIC> <COST>\nT1\n  <MAXSCORE>\nT2\n  <MAXSCORE>\nSt\n  <STATUS>\nL\n"
        "  <NUMERIC> <LOWERPL>\nU\n  <NUMERIC> <UPPERPL>\n"
    )
    first = read_metadata(write(text), "table")
    assert (first.safe, first.unsafe, first.protect, first.separator) == ("a", "b", "c", ";")
    assert [one.role for one in first.variables] == [
        "",
        "",
        "frequency",
        "shadow",
        "cost",
        *["largest"] * 2,
        "status",
        "lower",
        "upper",
    ]
    second = read_metadata(write(metadata_text(first)), "table")
    kept = [{**vars(one), "line": 0, "missing": ()} for one in first.variables]
    assert [{**vars(one), "line": 0, "missing": ()} for one in second.variables] == kept


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("A 1 2\n<RECODEABEL>\n", "line 2: there is no keyword <RECODEABEL>. Did you mean <RECODEABLE>"),
        ("A 1 2\n<STATUS>\n", "line 2: there is no keyword <STATUS>"),
        ("A 1 2\n<DECIMALS>\n", "line 2: one value is expected here, found 0"),
        ("A 1 2\n<DECIMALS> two\n", "line 2: integers are expected here"),
        ("A 1 2\n<HIERLEVELS> 1 2\n", "line 2: the levels have 3 characters together, and the variable 2"),
        ("A 1 2\n<REQUEST> 1 2 3\n", "line 2: one or two codes"),
        ("A 1 2\n<NUMERIC> yes\n", "line 2: 'yes' is not expected here"),
        ("a 1 2\nA 3 4\n", "line 2: variable 'A' occurs a second time"),
    ],
)
def test_metadata_that_are_none(write, text, says):
    with pytest.raises(FormatError, match=says):
        read_metadata(write(text), "records")


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (["1.234", "2.5"], [1.234, 2.5]),
        (["1.234", "2.345"], [1.234, 2.345]),  # no comma in the file: the point is the decimal separator
        (["1.234,5", "2"], [1234.5, 2]),
        (["0,25", "1,125"], [0.25, 1.125]),
    ],
)
def test_the_decimal_separator_is_that_of_the_whole_file(tmp_path, numbers, expected):
    (tmp_path / "t.rda").write_text('<SEPARATOR> ";"\nX\n<NUMERIC>\nY\n<NUMERIC>\n')
    (tmp_path / "t.tab").write_text("".join(f"{number};7\n" for number in numbers))
    frame = read_records(tmp_path / "t.tab", read_metadata(tmp_path / "t.rda", "table"), point=True)
    assert frame.X.tolist() == expected


def test_numbers_that_a_comma_makes_ambiguous_are_a_question(tmp_path):
    (tmp_path / "t.rda").write_text('<SEPARATOR> ";"\nX\n<NUMERIC>\n')
    (tmp_path / "t.tab").write_text("1,234\n2,345\n")
    with pytest.raises(FormatError, match="'X' can be read in two ways"):
        read_records(tmp_path / "t.tab", read_metadata(tmp_path / "t.rda", "table"), point=True)


# -- code lists and recodes -----------------------------------------------------------------------------------------------


def test_labels_may_hold_commas(write):
    assert read_codelist(write(' 1,Groningen\nZd, South, "far"\n')) == {"1": "Groningen", "Zd": 'South, "far'}


def test_a_code_has_one_label(write):
    with pytest.raises(FormatError, match="line 2: code '1' occurs a second time"):
        read_codelist(write("1,a\n 1,b\n"))


@pytest.mark.parametrize(
    ("text", "codes", "expected"),
    [
        ("1: - 49\n2: 50 - 99\n3: 100 – 149\n4: 150 –", ["7", "49", "50", "120", "182"], ["1", "1", "2", "3", "4"]),
        ("1: 02 - 06, 09", ["01", "02", "05", "09"], ["01", "1", "1", "1"]),
        ("A: a,b\nB: c", ["a", "b", "c", "d"], ["A", "A", "B", "d"]),
        ("A: zz, a", ["a", "b"], ["A", "b"]),
    ],
)
def test_recodes(write, text, codes, expected):
    new = read_recode(write(text)).of(codes)
    assert [new.get(code, code) for code in codes] == expected


def test_keywords_of_recodes(write):
    found = read_recode(write('<MISSING> 9 X\n<CODELIST> "new.cdl"\nA: 1-3\n'))
    assert (found.missing, found.codelist) == (("9", "X"), "new.cdl")
    tree = read_recode(write("<TREERECODE>\n142\n1500\n"))
    assert (tree.is_tree, list(tree.closed)) == (True, ["142", "1500"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no recodes"),
        ("1 2 3\n", "line 1: a recode reads"),
        ("A: 1-2-3\n", "line 1: '1-2-3' is neither a code nor a range"),
        ("A: ,1\n", "is neither a code nor a range"),
        ("A: 1-1\n", "begins and ends at the same code"),
        ("<MISING> 9\nA: 1\n", "line 1: there is no keyword <MISING>. Did you mean <MISSING>"),
    ],
)
def test_recodes_that_are_none(write, text, says):
    with pytest.raises(FormatError, match=says):
        read_recode(write(text))


def test_a_code_has_one_new_code(write):
    with pytest.raises(FormatError, match="line 2: code '2' is recoded to 'A' already"):
        read_recode(write("A: 1-2\nB: 2-3\n")).of(["1", "2", "3"])


# -- a priori files ----------------------------------------------------------------------------------------------------------


def test_decisions(write):
    entries, skipped = read_apriori(
        write("a,b,u\n// a comment\na,c,PL,3\na,d,w,2.5\n a , e , ml ,\n"), 2, ",", skip_faults=False
    )
    assert [(one.line, one.codes, one.word, one.numbers) for one in entries] == [
        (1, ("a", "b"), "U", ()),
        (3, ("a", "c"), "PL", (3.0, 3.0)),
        (4, ("a", "d"), "W", (2.5,)),
        (5, ("a", "e"), "ML", ()),
    ]
    assert skipped == []


# -- statuses ------------------------------------------------------------------------------------------------------------------


def test_statuses_have_letters_and_flags():
    assert "".join(status.letter for status in ArgusStatus) == "SSUUUUUUUPMMEE"
    assert all(OF_LETTER[letter].letter == letter for letter in "SUPME")
    flags = [flag(status, percent_rule=False, two_largest=True) for status in ArgusStatus]
    assert "".join(flags) == "VVCBABBBBVDDV-"
    assert set(flags) | {"F"} == set(OF_FLAG)
    assert flag(ArgusStatus.UNSAFE_RULE, percent_rule=True, two_largest=True) == "F"
    assert flag(ArgusStatus.UNSAFE_RULE, percent_rule=False, two_largest=False) == "B"
    assert all(status.words for status in ArgusStatus)
