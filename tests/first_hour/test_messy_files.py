"""Exports of programs with their defaults end in the right table, or in one message at a time that names the next step."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.first_hour.make_files import FILES, RECORDS

from discreet import Reading, Table, read_cross_table, read_table, tabulate
from discreet.errors import InputError

HERE = Path(__file__).parent
COLUMNS = {"turnover": 3, "employees": 4, "exports": 5}  # of a record
BOTH, ALL = ("turnover", "employees"), ("turnover", "employees", "exports")


def truth(column: str) -> dict[str, float]:
    """The table of a column by region and branch; a missing value is zero."""
    cells: dict[str, float] = {}
    for record in RECORDS:
        number: Any = record[COLUMNS[column]] or 0
        for region in ("Total", record[1]):
            for branch in ("Total", record[2]):
                label = f"{region} × {branch}"
                cells[label] = round(cells.get(label, 0) + number, 2)
    return cells


def from_records(path: Path, columns: Sequence[str], reading: Reading) -> Table:
    return tabulate(path, ["region", "branch"], columns[0], extra=columns[1:], reading=reading)


def from_cells(path: Path, columns: Sequence[str], reading: Reading) -> Table:
    return read_table(path, ["region", "branch"], columns[0], reading=reading)


def from_cross_table(path: Path, columns: Sequence[str], reading: Reading) -> Table:
    by = {"region": None, "branch": None}
    return read_cross_table(path, ["branch"], ["region"], columns[0], by=by, reading=reading).table()


@dataclass(frozen=True)
class Story:
    """What a user meets with a file: messages, and the settings that they name."""

    file: str
    columns: tuple[str, ...] = BOTH
    steps: tuple[tuple[str, dict[str, Any]], ...] = ()
    read: Callable[[Path, Sequence[str], Reading], Table] = from_records
    end: str = ""  # the message that sends the user back to the program
    rename: bool = False  # the message asks for another name of the file

    def __str__(self) -> str:
        return f"{self.file}-{'-'.join(self.columns)}"


WINDOWS = (r'encoding = "windows-1252"', {"encoding": "windows-1252"})
GERMAN = (r"'employees' can be read in two ways.*Add decimal = \",\" if that means 1234", {"decimal": ","})
ENGLISH = (r"'employees' can be read in two ways.*Add decimal = \"\.\" if that means 1234", {"decimal": "."})
EMPTY = (r'have no number in column .exports.*no_value = .*"zero" if zero is meant', {"no_value": "zero"})


def marked(mark: str) -> tuple[str, dict[str, Any]]:
    """A text for no value is asked about."""
    message = rf'missing = \["{re.escape(mark)}"\], and no_value = .*"zero" if zero is meant'
    return message, {"missing": (mark,), "no_value": "zero"}


STORIES = [
    Story("excel_de_utf8.csv"),
    Story("excel_de.csv", ("turnover",), (WINDOWS,)),
    Story("excel_de.csv", ("employees",), (WINDOWS, GERMAN)),
    Story("excel_fr.csv", steps=(WINDOWS,)),
    Story("excel_en.csv", ("turnover",), (WINDOWS,)),
    Story("excel_unicode.txt"),
    Story("excel_title.xlsx", steps=((r"header_row = 4", {"header_row": 4}),)),
    Story("excel_text_numbers.xlsx", ("turnover",), read=from_cells),
    Story("excel_cross.xlsx", ("turnover",), read=from_cross_table),
    Story("calc_de.csv"),
    Story("calc_en.csv"),
    Story("calc_cross.xlsx", ("turnover",), read=from_cross_table),
    Story("calc_cross.csv", ("turnover",), read=from_cross_table),
    Story("google_sheets_de.csv"),
    Story("spss.csv", ALL, (EMPTY,)),
    Story("spss.dat", end=r"should end in .*If it is text, rename it, e\.g\. to \.txt", rename=True),
    Story("spss.sav", end="In SPSS save it as CSV: File > Save As"),
    Story("r_write_csv.csv", ALL, (marked("NA"),)),
    Story("r_write_csv2.csv"),
    Story("r_write_table.txt", end="as R's write.table writes them. Write the file with write.csv or write.csv2"),
    Story("sas_proc_export.csv", ("turnover",), (WINDOWS,)),
    Story("sas_proc_export.csv", ALL, (WINDOWS, ENGLISH, EMPTY)),
    Story("sas_put.txt", ALL, (WINDOWS, marked("."))),
    Story("stata_outsheet.out", end=r"should end in .*If it is text, rename it, e\.g\. to \.txt", rename=True),
    Story("pandas_to_csv.csv"),
    Story("mysql_batch.tsv", ALL, (marked("NULL"),)),
    Story("postgres_copy.csv"),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_messy_file_ends_in_the_right_table(story, tmp_path):
    settings: dict[str, Any] = {}
    path = FILES / story.file
    for message, answer in story.steps:
        with pytest.raises(InputError, match=message):
            story.read(path, story.columns, Reading(**settings))
        settings |= answer
    if story.end:
        with pytest.raises(InputError, match=story.end):
            story.read(path, story.columns, Reading(**settings))
        if not story.rename:
            return
        path = shutil.copy(path, tmp_path / "data.txt")
    table = story.read(path, story.columns, Reading(**settings))
    assert found(table, table.value) == truth(story.columns[0])
    for column in story.columns[1:] if story.read == from_records else ():
        assert found(table, table.extra[column]) == truth(column)


def found(table: Table, values: Any) -> dict[str, float]:
    """The cells of a table, with Total for each total, codes without blanks, and sums without errors of binary fractions."""
    totals = {hierarchy.total for hierarchy in table.dimensions.values()}
    return {
        " × ".join("Total" if code in totals else code.strip() for code in label.split(" × ")): round(value, 2)
        for label, value in zip(table.labels(), values.tolist(), strict=True)
    }


def test_every_file_is_read_and_described():
    files = {path.name for path in FILES.iterdir()}
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    assert {story.file for story in STORIES} == files
    assert len(files) >= 20
    assert not [name for name in files if f"`{name}`" not in readme]
