"""Fixed-width records with a layout of τ-ARGUS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from discreet.data.reading import Reading
from discreet.data.tabulate import tabulate
from discreet.errors import FormatError, InputError
from discreet.io.rda import read_microdata

LAYOUT = """\
year 1 2 99
<RECODEABLE>
<TOTCODE> Alles
size 4 2 99 98
<RECODEABLE>
industry 7 5
<RECODEABLE>
<HIERARCHICAL>
<HIERCODELIST> "industry.hrc"
<HIERLEADSTRING> "@"
weight 13 4
<NUMERIC>
<DECIMALS> 1
<WEIGHT>
turnover 18 8 9999999
<NUMERIC>
"""

RECORDS = """\
91 01 34120  1.0    120.5
91 99 5      2.5    71301
92 02 34121    1     -3e2
"""


@pytest.fixture
def read(tmp_path) -> Callable[..., pd.DataFrame]:
    def read(records: str | bytes = RECORDS, layout: str | bytes = LAYOUT) -> pd.DataFrame:
        for name, text in (("survey.asc", records), ("survey.rda", layout)):
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_microdata(tmp_path / "survey.asc", tmp_path / "survey.rda")

    return read


# -- reading ----------------------------------------------------------------------------------------------------------


def test_codes_are_text_and_numbers_are_numbers(read):
    frame = read()
    assert list(frame) == ["year", "size", "industry", "weight", "turnover"]
    assert frame.year.tolist() == ["91", "91", "92"]
    assert frame["size"].tolist() == ["01", "99", "02"]
    assert frame.industry.tolist() == ["34120", "5", "34121"]
    assert frame.weight.tolist() == [1.0, 2.5, 1.0]
    assert frame.turnover.tolist() == [120.5, 71301.0, -300.0]


def test_codes_listed_as_missing_are_kept(read):
    assert "99" in read()["size"].tolist()


def test_numbers_listed_as_missing_are_missing(read):
    """They would count as nearly ten million each."""
    frame = read(RECORDS.replace("   71301", " 9999999"))
    assert frame.turnover.isna().tolist() == [False, True, False]


def test_empty_numbers_are_missing(read):
    frame = read(RECORDS.replace("71301", "     "))
    assert frame.turnover.isna().tolist() == [False, True, False]


def test_missing_numbers_are_not_tabulated(read):
    frame = read(RECORDS.replace("   71301", " 9999999"))
    with pytest.raises(InputError, match="no number in column 'turnover'"):
        tabulate(frame, "year", "turnover")


def test_records_of_a_layout_can_be_tabulated(read):
    table = tabulate(read(), {"year": None, "size": None}, "turnover", weight="weight")
    assert table.value[0] == pytest.approx(120.5 + 2.5 * 71301 - 300)


def test_short_lines_have_empty_ends(read):
    assert read(RECORDS + "93 01\n").industry.tolist()[-1] == ""


def test_empty_lines_are_skipped_and_still_count(read):
    assert len(read(RECORDS.replace("\n", "\n\n"))) == 3
    with pytest.raises(FormatError, match=r"survey\.asc, line 3: variable 'turnover'"):
        read(RECORDS.replace("\n", "\n\n").replace("71301", "many "))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_from_any_system(read, end):
    frame = read(RECORDS.replace("\n", end), LAYOUT.replace("\n", end))
    assert frame.turnover.tolist() == [120.5, 71301.0, -300.0]


def test_a_mark_of_the_encoding_is_no_part_of_the_first_record(read):
    frame = read("\ufeff" + RECORDS, "\ufeff" + LAYOUT)
    assert frame.year.tolist() == ["91", "91", "92"]
    assert "year" in frame


def test_older_encodings(read):
    """Positions count characters; 0x85 is a letter to Windows, and the end of a line to Unicode."""
    frame = read("Zü 1\nA\x85 2\n".encode("latin-1"), "Städt 1 2\nn 4 1\n<NUMERIC>\n".encode("latin-1"))
    assert list(frame) == ["Städt", "n"]
    assert frame["Städt"].str[0].tolist() == ["Z", "A"]
    assert frame.n.tolist() == [1, 2]


def test_positions_count_characters(read):
    assert read("Zürich 71301\n", "city 1 6\nvalue 8 5\n<NUMERIC>\n").value.tolist() == [71301]


def test_options_in_small_letters(read):
    assert read(layout=LAYOUT.replace("<NUMERIC>", "<numeric>")).turnover.tolist()[0] == 120.5


# -- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        ("", "lists no variables"),
        ("\n\n", "lists no variables"),
        ("<NUMERIC>\n", "line 1: an option before the first variable"),
        ("year\n", "line 1: a variable reads"),
        ("year 1\n", "line 1: a variable reads"),
        ("\nyear one 2\n", "line 2: a variable reads"),
        ("year 0 2\n", "line 1: a variable reads"),
        ("year 1 0\n", "line 1: a variable reads"),
        ("year -1 2\n", "line 1: a variable reads"),
        ("year 1 ²\n", "line 1: a variable reads"),
        ("year 1 2\nsize 4 2\nyear 7 2\n", "line 3: variable 'year' occurs a second time"),
        ('year 1 2\n<SEPARATOR> ","\n', "line 2: <SEPARATOR> comes before the first variable"),
        ("year 1 2\n<NUMERICAL>\n", "line 2: there is no keyword <NUMERICAL>. Did you mean <NUMERIC>"),
        ("<SPSS>\nyear 1 2\n", "line 1: system files of SPSS are not read"),
    ],
)
def test_layouts_that_are_none(read, layout, says):
    with pytest.raises(FormatError, match=rf"survey\.rda.*{says}"):
        read(layout=layout)


def test_files_with_separators(read):
    frame = read('1;"A;1";2.5\n2; B ;3\n', '<SEPARATOR> ";"\nid 3\ncode 5\n<RECODEABLE>\nx 8\n<NUMERIC>\n')
    assert frame.id.tolist() == ["1", "2"]
    assert frame.code.tolist() == ["A;1", "B"]
    assert frame.x.tolist() == [2.5, 3.0]


def test_files_with_separators_have_all_fields(read):
    with pytest.raises(FormatError, match=r"survey\.asc, line 2: expected 2 fields, found 3"):
        read("1,2\n1,2,3\n", '<SEPARATOR> ","\nid 3\nx 8\n<NUMERIC>\n')


def test_codes_that_differ_in_blanks_alone(read):
    with pytest.raises(FormatError, match=r"codes of variable 'code' differ in nothing but blanks.*'1'"):
        read(" 1 5\n1  6\n", "code 1 2\n<RECODEABLE>\nx 4 1\n<NUMERIC>\n")


def test_text_where_a_number_should_be_is_placed_and_not_repeated(read):
    with pytest.raises(FormatError, match=r"survey\.asc, line 2: variable 'turnover' is not a number") as caught:
        read(RECORDS.replace("71301", "7130l"))
    assert "7130l" not in str(caught.value)


def test_a_layout_that_does_not_fit(read):
    with pytest.raises(FormatError, match=r"line 1: variable 'turnover'.*Is the layout right"):
        read(layout=LAYOUT.replace("turnover 18 8", "turnover 7 8"))


def test_empty_missing_and_other_files(read, tmp_path):
    with pytest.raises(FormatError, match=r"survey\.asc is empty"):
        read("\n \n")
    with pytest.raises(FormatError, match=r"nowhere\.asc does not exist"):
        read_microdata(tmp_path / "nowhere.asc", tmp_path / "survey.rda")
    with pytest.raises(FormatError, match=r"nowhere\.rda does not exist"):
        read_microdata(tmp_path / "survey.asc", tmp_path / "nowhere.rda")
    folder = Path(tmp_path)
    with pytest.raises(FormatError, match="cannot be read"):
        read_microdata(folder, tmp_path / "survey.rda")
    with pytest.raises(FormatError, match="cannot be read"):
        read_microdata(tmp_path / "survey.asc", folder)


def test_numbers_with_two_readings_are_a_question(tmp_path):
    (tmp_path / "d.asc").write_text("a 1.362\nb   950\n")
    (tmp_path / "d.rda").write_text("code 1 1\n<RECODEABLE>\nx 3 5\n<NUMERIC>\n")
    with pytest.raises(FormatError, match="'x' can be read in two ways"):
        read_microdata(tmp_path / "d.asc", tmp_path / "d.rda")
    found = read_microdata(tmp_path / "d.asc", tmp_path / "d.rda", Reading(decimal=","))
    assert found.x.tolist() == [1362, 950]


def test_an_encoding_may_be_given(tmp_path):
    (tmp_path / "d.asc").write_bytes("é 1\n".encode("cp850"))
    (tmp_path / "d.rda").write_text("code 1 1\n<RECODEABLE>\nx 3 1\n<NUMERIC>\n")
    assert read_microdata(tmp_path / "d.asc", tmp_path / "d.rda", Reading(encoding="cp850")).code.tolist() == ["é"]
    with pytest.raises(FormatError, match="cannot be read as utf-8"):
        read_microdata(tmp_path / "d.asc", tmp_path / "d.rda", Reading(encoding="utf-8"))
