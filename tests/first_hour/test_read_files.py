"""Files as programs write them end in the right numbers, or in one question after which the next run succeeds."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from discreet import Reading, read_table, tabulate
from discreet.data.columns import Columns
from discreet.data.numerals import number_format
from discreet.data.reading import DEFAULT_READING
from discreet.data.records import open_records
from discreet.errors import InputError

COLUMNS = Columns(("region",), "turnover", None, (), None, None, None)
# The settings that a message may ask for, and how it writes them.
ANSWERS = {
    "decimal": re.compile(r'decimal = "([.,])"'),
    "encoding": re.compile(r'encoding = "([\w-]+)"'),
    "delimiter": re.compile(r'delimiter = "(,|;|\\t|\|)"'),
    "header_row": re.compile(r"header_row = (\d+)"),
    "parentheses": re.compile(r'parentheses = "(negative)"'),
}


def numbers(path: Path, reading: Reading = DEFAULT_READING, columns: Columns = COLUMNS) -> list[float | None]:
    """The numbers of the first column of numbers, in the order of the file."""
    with open_records(path, columns, reading) as opened:
        frame = opened.rows.select(x=opened.number(opened.rows, columns.numbers[0])).to_pandas()
    return [None if x != x else x for x in frame.x.tolist()]


def question(path: Path, reading: Reading = DEFAULT_READING, columns: Columns = COLUMNS) -> str:
    with pytest.raises(InputError) as error:
        tabulate(path, list(columns.by), columns.response, extra=columns.extra, reading=reading)
    return str(error.value)


def file(folder: Path, values: list[str], sep: str = ";", name: str = "d.csv") -> Path:
    lines = [f"region{sep}turnover", *(f"R{sep}{value}" for value in values)]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / name


# -- one column ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "truth"),
    [
        (["1.362,50", "950"], [1362.5, 950]),
        (["1362,5", "1.362"], [1362.5, 1362]),
        (["1.362.400", "1.362"], [1362400, 1362]),
        (["0.123", "1.362"], [0.123, 1.362]),
        (["1.3625", "1.362"], [1.3625, 1.362]),
        (["1234.567", "1.362"], [1234.567, 1.362]),
        (["1,362,400", "1,362"], [1362400, 1362]),
        (["1,362.5", "950"], [1362.5, 950]),
        (["1 362", "1\u00a0362,5", "1\u202f362\u202f400"], [1362, 1362.5, 1362400]),
        (["1'362", "1’362.5"], [1362, 1362.5]),
        (["-5", "5-", "−5", "- 5", "+5"], [-5, -5, -5, -5, 5]),
        (["1.5e3", "2E-1"], [1500, 0.2]),
        (["1,5e3", ".5".replace(".", ",")], [1500, 0.5]),
        (['"7"', " 8 ", "007"], [7, 8, 7]),
    ],
    ids=str,
)
def test_one_value_decides_for_the_column(tmp_path, values, truth):
    assert numbers(file(tmp_path, values)) == truth


@pytest.mark.parametrize(
    ("values", "point", "comma"),
    [
        (["1.362", "950", "87"], [1.362, 950, 87], [1362, 950, 87]),
        (["1,362", "950"], [1362, 950], [1.362, 950]),
        (["1.362", "1234"], [1.362, 1234], [1362, 1234]),
        (["-1.362", "1 362"], [-1.362, 1362], [-1362, 1362]),
    ],
    ids=str,
)
def test_a_column_with_two_readings_is_a_question_that_names_both(tmp_path, values, point, comma):
    """The German spreadsheet: read as 1.362, the total of the table was 119,704 instead of 887,945."""
    path = file(tmp_path, values)
    asked = question(path)
    assert "'turnover' can be read in two ways" in asked
    assert "(line 2)" in asked
    assert 'decimal = "."' in asked
    assert 'decimal = ","' in asked
    assert "362" not in asked
    assert numbers(path, Reading(decimal=".")) == point
    assert numbers(path, Reading(decimal=",")) == comma


def test_the_setting_for_thousands_decides_too(tmp_path):
    assert numbers(file(tmp_path, ["1.362", "950"]), Reading(thousands=".")) == [1362, 950]
    assert numbers(file(tmp_path, ["1.362", "1 362"]), Reading(thousands=" ")) == [1.362, 1362]


def test_numbers_of_two_kinds_are_an_error_with_their_lines(tmp_path):
    asked = question(file(tmp_path, ["1.5", "2,25", "3", "1.362,5"]))
    assert "numbers of two kinds: 1 with a decimal point (line 2) and 2 with a decimal comma (lines 3, 5)" in asked


def test_all_columns_and_faults_of_a_file_are_one_message(tmp_path):
    rows = ["region;turnover;staff;pay", "R;1,5;many;NA", "R;;3;12 €", "", '"S\nT";x;5%;(7)', "R;2;;9"]
    (tmp_path / "d.csv").write_text("\n".join(rows), encoding="utf-8")
    asked = question(tmp_path / "d.csv", columns=replace(COLUMNS, extra=("staff", "pay")))
    assert len(asked.splitlines()) == 5
    assert "1 of 4 records have text instead of a number in column 'turnover', e.g. in cell 'S\\nT' (line 5)" in asked
    assert "no number in column 'turnover', e.g. in cell 'R' (line 3)" in asked
    assert "text instead of a number in column 'staff', e.g. in cell 'R' (lines 2, 5)" in asked
    assert 'If "NA" means no value, add missing = ["NA"]' in asked
    assert "Remove currencies" in asked
    assert "many" not in asked


def test_two_columns_with_two_readings_are_one_question(tmp_path):
    (tmp_path / "d.csv").write_text("region;turnover;staff\nR;1.362;2.500\n", encoding="utf-8")
    asked = question(tmp_path / "d.csv", columns=replace(COLUMNS, extra=("staff",)))
    assert "'turnover' can be read in two ways" in asked
    assert "'staff' can be read in two ways" in asked


def test_parentheses_are_a_question(tmp_path):
    """Negative for accountants, unreliable for statistical offices."""
    path = file(tmp_path, ["(1.5)", "2.5"])
    assert 'If a number in parentheses is negative, add parentheses = "negative"' in question(path)
    assert numbers(path, Reading(parentheses="negative")) == [-1.5, 2.5]


@pytest.mark.parametrize(
    "value", ["12 %", "€ 5", "5 EUR", "$5", "1_000", "inf", "nan", "1.2.3", "12,34,567", "1 23", "0x1F"]
)
def test_what_is_not_only_a_number_is_refused(tmp_path, value):
    assert "text instead of a number in column 'turnover', e.g. in cell 'R' (line 3)" in question(
        file(tmp_path, ["1", value])
    )


# -- no value --------------------------------------------------------------------------------------------------


def test_records_without_a_value_are_left_out_or_zero_and_counted(tmp_path):
    path = file(tmp_path, ["5", "NA", "", "7"])
    asked = question(path)
    assert 'missing = ["NA"]' in asked
    assert 'no_value = "drop"' in asked
    dropped = tabulate(path, ["region"], "turnover", reading=Reading(missing=("NA",), no_value="drop"))
    assert (dropped.count[0], dropped.value[0], dropped.provenance) == (2, 12, {"no_value_left_out": 2})
    zero = tabulate(path, ["region"], "turnover", reading=Reading(missing=("NA",), no_value="zero"))
    assert (zero.count[0], zero.value[0], zero.provenance) == (4, 12, {"no_value_zero": 2})
    assert zero.digest != dropped.digest


def test_a_weight_is_never_zero_because_it_is_missing(tmp_path):
    (tmp_path / "d.csv").write_text("region,turnover,w\nR,1,2\nR,,2\nR,3,\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"1 of 3 records have no number in column 'w', e.g. in cell 'R' \(line 4\)"):
        tabulate(tmp_path / "d.csv", ["region"], "turnover", weight="w", reading=Reading(no_value="zero"))


def test_missing_texts_hold_in_all_columns(tmp_path):
    """Otherwise all firms without a holding would be one respondent called NA."""
    (tmp_path / "d.csv").write_text("region,turnover,firm,holding\nR,1,a,NA\nR,2,b,NA\n", encoding="utf-8")
    table = tabulate(
        tmp_path / "d.csv",
        ["region"],
        "turnover",
        contributor="firm",
        holding="holding",
        reading=Reading(missing=("NA",)),
    )
    assert table.contributors == ("a", "b")


def test_cells_of_a_finished_table_without_a_value(tmp_path):
    (tmp_path / "t.csv").write_text("region;v\nTotal;1.250,5\nA;1.250,5\nB;-\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"1 of 3 records have text .* \(line 4\).*missing = \[\"-\"\]"):
        read_table(tmp_path / "t.csv", ["region"], "v")
    table = read_table(tmp_path / "t.csv", ["region"], "v", reading=Reading(missing=("-",), no_value="zero"))
    assert table.value.tolist() == [1250.5, 1250.5, 0]
    assert table.provenance == {"cells_zero": 1}


# -- text files ------------------------------------------------------------------------------------------------

TEXT = "région;turnover\nÎle;1,5\nÎle;2,5\n"
WITH_ACCENTS = replace(COLUMNS, by=("région",))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_with_a_mark_and_all_line_ends(tmp_path, encoding, end):
    (tmp_path / "d.txt").write_bytes(TEXT.replace("\n", end).encode(encoding))
    assert numbers(tmp_path / "d.txt", columns=WITH_ACCENTS) == [1.5, 2.5]


@pytest.mark.parametrize(
    ("encoding", "setting"), [("windows-1252", "windows-1252"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be")]
)
def test_bytes_that_are_not_utf_8_are_a_question(tmp_path, encoding, setting):
    (tmp_path / "d.csv").write_bytes(TEXT.encode(encoding))
    assert f'encoding = "{setting}"' in question(tmp_path / "d.csv", columns=WITH_ACCENTS)
    assert numbers(tmp_path / "d.csv", Reading(encoding=setting), WITH_ACCENTS) == [1.5, 2.5]


def test_letters_further_down_are_found_with_their_lines(tmp_path):
    (tmp_path / "d.csv").write_bytes("region;turnover\nA;1,5\nÎle;2,5\nA;3\nÎle;1\n".encode("latin-1"))
    assert "lines 3, 5: not in UTF-8" in question(tmp_path / "d.csv")


def test_a_mark_that_contradicts_the_setting(tmp_path):
    (tmp_path / "d.csv").write_bytes(TEXT.encode("utf-8-sig"))
    assert "byte order mark of UTF-8, not latin-1" in question(tmp_path / "d.csv", Reading(encoding="latin-1"))


def test_a_wrong_encoding(tmp_path):
    (tmp_path / "d.csv").write_bytes(b"region;turnover\n\x81;1\n")
    assert "cannot be read as windows-1252" in question(tmp_path / "d.csv", Reading(encoding="windows-1252"))


MESSY = {
    "tabs": "region\tturnover\nA\t1,5\nB\t2,5\n",
    "bars": "region|turnover\nA|1,5\nB|2,5\n",
    "commas and quotes": 'region,turnover\nA,"1,5"\nB,"2,5"\n',
    "Excel's own line": "sep=;\nregion;turnover\nA;1,5\nB;2,5\n",
    "blank lines": "\n\nregion;turnover\n\nA;1,5\n;\n  ;\nB;2,5\n\n",
    "empty columns": "region;turnover;;\nA;1,5;;\nB;2,5;;\n",
    "some empty columns": "region;turnover\nA;1,5;\nB;2,5;;\n",
    "ends without a line end": "region;turnover\nA;1,5\nB;2,5",
    "two kinds of line ends": "region;turnover\r\nA;1,5\nB;2,5\r\n",
    "blanks around names": " region ; turnover\nA;1,5\nB;2,5\n",
    "quoted line ends": 'region;turnover;note\nA;1,5;"a\nb"\nB;2,5;\n',
    "a comma in another name": "region;turnover;a, b\nA;1,5;x\nB;2,5;y\n",
}


@pytest.mark.parametrize("name", MESSY)
def test_messy_files(tmp_path, name):
    (tmp_path / "d.csv").write_bytes(MESSY[name].encode())
    assert numbers(tmp_path / "d.csv") == [1.5, 2.5]
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(MESSY[name].encode()))
    assert numbers(tmp_path / "d.csv.gz") == [1.5, 2.5]


def test_title_lines_are_a_question(tmp_path):
    (tmp_path / "d.csv").write_text("Turnover by region, 2025\n\nregion;turnover\nA;1,5\n", encoding="utf-8")
    assert "line 1 is not the header, but line 3 is. Add header_row = 3" in question(tmp_path / "d.csv")
    assert numbers(tmp_path / "d.csv", Reading(header_row=3)) == [1.5]
    (tmp_path / "d.csv").write_text("Turnover\nregion;turnover\nA;1\nB;x\n", encoding="utf-8")
    assert "(line 4)" in question(tmp_path / "d.csv", Reading(header_row=2))


def test_notes_and_uneven_lines_are_named_all_at_once(tmp_path):
    (tmp_path / "d.csv").write_text("region;turnover\nA;1,5\nB;2;3\nSource: office\n", encoding="utf-8")
    assert "d.csv, lines 3, 4: more or fewer than the 2 fields of the header. Delete notes" in question(
        tmp_path / "d.csv"
    )


def test_a_decimal_comma_between_commas_is_not_two_fields(tmp_path):
    assert "more or fewer than the 2 fields" in question(file(tmp_path, ["1,5", "2,5"], ","))


def test_blank_lines_may_be_errors(tmp_path):
    (tmp_path / "d.csv").write_text("region;turnover\nA;1\n\nB;2\n;\n", encoding="utf-8")
    assert "lines 3, 5: blank" in question(tmp_path / "d.csv", Reading(skip_blank=False))


def test_a_header_that_two_signs_split(tmp_path):
    (tmp_path / "d.csv").write_text("region,a;turnover,b\n1,2;3,4\n", encoding="utf-8")
    by_semicolon = replace(COLUMNS, by=("region,a",), response="turnover,b")
    assert numbers(tmp_path / "d.csv", columns=by_semicolon) == [3.4]
    asked = question(tmp_path / "d.csv", columns=replace(COLUMNS, by=("x",)))
    assert "can be split at every comma and at every semicolon" in asked
    assert 'delimiter = ","' in asked


# -- workbooks -------------------------------------------------------------------------------------------------


def workbook(path: Path, rows: list[list[Any]], title: str = "Sheet", **others: list[list[Any]]) -> Path:
    book = Workbook()
    book.active.title = title
    for name, content in {title: rows, **others}.items():
        sheet = book[name] if name in book else book.create_sheet(name)
        for row in content:
            sheet.append(row)
    book.save(path)
    return path


def test_numbers_of_a_workbook_are_exact_and_text_among_them_is_read(tmp_path):
    """A number of 1.362 has one reading; the text 1.362 has two unless another one decides."""
    path = workbook(tmp_path / "d.xlsx", [["region", "turnover"], ["A", 1.362], ["B", 7], [3, "2,5"]])
    assert numbers(path) == [1.362, 7, 2.5]
    assert tabulate(path, ["region"], "turnover").dimensions["region"].codes == ("Total", "3", "A", "B")
    path = workbook(tmp_path / "d.xlsx", [["region", "turnover"], ["A", 1.5], [], ["B", "1.362"]])
    asked = question(path)
    assert "'turnover' can be read in two ways" in asked
    assert "(row 4)" in asked


def test_sheet_and_header_of_a_workbook_are_questions(tmp_path):
    header, data = ["region", "turnover"], ["A", 1]
    path = workbook(tmp_path / "d.xlsx", [["Notes"]], "Info", Data=[["Title"], [], header, data], Old=[["x"]])
    assert "row 3 of sheet 'Data' is the header. Add header_row = 3" in question(path)
    assert numbers(path, Reading(header_row=3)) == [1]
    path = workbook(tmp_path / "e.xlsx", [header, data], "2024", **{"2025": [header, ["A", 2]], "note": [["n"]]})
    assert "several sheets have these columns: '2024', '2025'" in question(path)
    assert numbers(path, Reading(sheet="2025")) == [2]
    assert "has no sheet '2023'. It has '2024', '2025', 'note'" in question(path, Reading(sheet="2023"))


def test_dates_and_formulas_without_results_are_refused(tmp_path):
    path = workbook(tmp_path / "d.xlsx", [["region", "turnover", "day"], [date(2025, 2, 3), 1, date(2025, 2, 3)]])
    assert "column 'region' has 1 date (row 2)" in question(path)
    path = workbook(tmp_path / "e.xlsx", [["region", "turnover"], ["A", "=1+1"], ["B", 2]])
    assert "1 row (row 2) with formulas without results" in question(path)


def test_content_beside_the_columns_of_a_workbook(tmp_path):
    path = workbook(tmp_path / "d.xlsx", [["region", "turnover"], ["A", 1, None, "estimated"], ["B", 2]])
    assert "row 2: content to the right of the columns" in question(path)


def test_a_workbook_as_a_finished_table(tmp_path):
    rows = [["region", "v"], ["Total", "1.250,5"], ["A", 1250.5], [None, None]]
    assert read_table(workbook(tmp_path / "t.xlsx", rows), ["region"], "v").value.tolist() == [1250.5, 1250.5]


# -- any format ------------------------------------------------------------------------------------------------


@st.composite
def columns_of_numbers(draw: st.DrawFn) -> tuple[list[float], list[str], str, str]:
    """Numbers, the texts in which one program writes them, and its decimal separator and sign between thousands."""
    decimal = draw(st.sampled_from(".,"))
    thousands = draw(st.sampled_from(["", *sorted({".", ",", " ", "\u00a0", "\u202f", "'"} - {decimal})]))
    minus = draw(st.sampled_from(["-{}", "−{}", "{}-", "({})"]))
    places = draw(st.sampled_from([0, 1, 3, 3]))
    sizes = st.one_of(st.integers(0, 999), st.integers(1000, 9_999_999)).map(lambda n: n / 10**places)
    values = draw(st.lists(st.tuples(sizes, st.booleans(), st.booleans()), min_size=1, max_size=5))
    texts = []
    for value, negative, grouped in values:
        text = f"{value:{',' if grouped and thousands else ''}.{places}f}"
        text = text.translate({ord(","): thousands, ord("."): decimal})
        texts.append(minus.format(text) if negative and value else text)
    return [-value if negative else value for value, negative, _ in values], texts, decimal, thousands


@settings(deadline=None, max_examples=200)
@given(columns_of_numbers())
def test_no_column_has_wrong_numbers(drawn):
    """Either the true numbers or a question; with the decimal separator always the true numbers."""
    truth, texts, decimal, _thousands = drawn
    chosen = number_format(texts, Reading(parentheses="negative"))
    if chosen is not None:
        assert [chosen.number_of(text) for text in texts] == truth
    chosen = number_format(texts, Reading(parentheses="negative", decimal=decimal))
    assert [chosen.number_of(text) for text in texts] == truth


@st.composite
def files(draw: st.DrawFn) -> tuple[list[float], dict[str, Any], bytes]:
    """Numbers, the settings with which they are written, and the file."""
    truth, texts, decimal, _thousands = draw(columns_of_numbers())
    delimiter = draw(st.sampled_from(",;\t|"))
    titles = draw(st.sampled_from([[], [], ["Turnover; 2025"], ["A title", ""]]))
    lines = [delimiter.join(("Région", "turnover"))]
    lines += [f'Île{delimiter}"{text}"' if delimiter == "," else f"Île{delimiter}{text}" for text in texts]
    if draw(st.booleans()):
        lines.insert(draw(st.integers(1, len(lines))), draw(st.sampled_from(["", delimiter])))
    can_be_latin = all(ord(sign) < 256 for text in texts for sign in text)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", *(["windows-1252"] if can_be_latin else [])]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    style = {"decimal": decimal, "delimiter": delimiter, "encoding": encoding, "parentheses": "negative"}
    return truth, {**style, "header_row": len(titles) + 1}, (end.join([*titles, *lines]) + end).encode(encoding)


def answered(message: str, answers: dict[str, Any], style: dict[str, Any]) -> dict[str, Any]:
    """The answers so far, and those to a question."""
    asked = {name for name, pattern in ANSWERS.items() if pattern.search(message)}
    assert asked - answers.keys(), message
    return answers | {name: style[name] for name in asked}


@settings(deadline=None, max_examples=6)
@given(files())
def test_no_file_gives_wrong_numbers(tmp_path_factory, drawn):
    truth, style, content = drawn
    path = tmp_path_factory.mktemp("read") / "d.csv"
    path.write_bytes(content)
    answers: dict[str, Any] = {}
    columns = replace(COLUMNS, by=("Région",))
    for _ in range(5):  # questions on letters, the header, the decimal separator and parentheses
        try:
            found = numbers(path, Reading(**answers), columns)
        except InputError as error:
            answers = answered(str(error), answers, style)
            continue
        if None not in found:
            assert found == truth
            return
        answers = answered(question(path, Reading(**answers), columns), answers, style)
    raise AssertionError("too many questions")
