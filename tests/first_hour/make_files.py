"""Writes the messy files of this folder again, into ``files``: ``python tests/first_hour/make_files.py``.

Files of R and LibreOffice are made by these programs, which must be installed; files of other programs are written byte for byte
as they write them. ``README.md`` has the sources.
"""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
from openpyxl import Workbook
from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

FILES = Path(__file__).parent / "files"
# firm, region, branch, turnover, employees, exports; None is missing
RECORDS: list[tuple[str, str, str, float, int, float | None]] = [
    ("F001", "Île-de-France", "C10", 1362.5, 1362, 1200.25),
    ("F002", "Île-de-France", "C10", 250, 95, 0),
    ("F003", "Île-de-France", "G47", 12040.25, 847, None),
    ("F004", "Île-de-France", "G47", 0, 3, 0),
    ("F005", "Baden-Württemberg", "C10", 887.75, 12040, 500),
    ("F006", "Baden-Württemberg", "C10", 95.1, 88, 12.5),
    ("F007", "Baden-Württemberg", "G47", 1000, 1000, 250),
    ("F008", "Baden-Württemberg", "G47", 3.05, 2, 1),
    ("F009", "Nord", "C10", 1000000, 45, 750000),
    ("F010", "Nord", "C10", 0.5, 1, 0),
    ("F011", "Nord", "G47", -120.75, 12, 0),
    ("F012", "Nord", "G47", 4500.75, 2500, 33.25),
]
# The choices of the dialog "Export Text File": comma, double quotes, UTF-8, no quotes around all text, cells as they are shown.
CALC_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true"
HEADER = ("firm", "region", "branch", "turnover", "employees", "exports")


def plain(number: float) -> str:
    """A number as programs print it without a format: as many digits as it has, without a trailing point."""
    return repr(number).removesuffix(".0") if isinstance(number, float) else str(number)


def comma(number: float) -> str:
    return plain(number).replace(".", ",")


def grouped(number: float, group: str, decimal: str, places: int = 2) -> str:
    """A number with separated thousands, as with the number format #,##0.00."""
    text = f"{number:,.{places}f}"
    return text.translate(str.maketrans({",": group, ".": decimal}))


def lines(
    number: Callable[[float], str],
    delimiter: str,
    end: str = "\r\n",
    missing: str = "",
    whole: Callable[[int], str] = str,
    quoting: int = csv.QUOTE_MINIMAL,
) -> str:
    """The records as delimited text."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(HEADER)
    for firm, region, branch, turnover, employees, exports in RECORDS:
        shown = missing if exports is None else number(exports)
        writer.writerow([firm, region, branch, number(turnover), whole(employees), shown])
    return out.getvalue()


# -- spreadsheets ----------------------------------------------------------------------------------------------


def excel_text() -> None:
    write("excel_de_utf8.csv", lines(comma, ";"), "utf-8-sig")
    write("excel_de.csv", lines(comma, ";", whole=lambda n: grouped(n, ".", ",", 0)), "cp1252")
    nbsp = "\N{NO-BREAK SPACE}"
    write(
        "excel_fr.csv", lines(lambda n: grouped(n, nbsp, ","), ";", whole=lambda n: grouped(n, nbsp, ",", 0)), "cp1252"
    )
    write(
        "excel_en.csv",
        lines(lambda n: grouped(n, ",", "."), ",", whole=lambda n: grouped(n, ",", ".", 0)),
        "cp1252",
    )
    # Besides fields with quotes and tabs, Excel quotes those with a comma.
    text = "\r\n".join(
        "\t".join(f'"{field}"' if "," in field else field for field in line.split("\t"))
        for line in lines(comma, "\t").split("\r\n")
    )
    write("excel_unicode.txt", text, "utf-16")


def excel_books() -> None:
    """Workbooks with title rows above the records, numbers stored as text, and a cross-table."""
    book = Workbook()
    sheet = new_sheet(book, "Auszug")
    for row in (["Umsatz nach Region und Branche"], ["Stand: 31.12.2024"], [], HEADER):
        sheet.append(list(row))
    sheet.merge_cells("A1:F1")
    for record in RECORDS:
        sheet.append(list(record))
    book.save(FILES / "excel_title.xlsx")

    book = Workbook()
    sheet = new_sheet(book, "cells")
    sheet.append(["region", "branch", "turnover"])
    for region, branch, turnover in cells():
        sheet.append([region, branch, grouped(turnover, ".", ",")])
    book.save(FILES / "excel_text_numbers.xlsx")

    book = Workbook()
    cross_sheet(new_sheet(book, "Tabelle 1"))
    book.save(FILES / "excel_cross.xlsx")


def new_sheet(book: Workbook, title: str) -> Worksheet:
    sheet = book.worksheets[0]
    sheet.title = title
    return sheet


def cells() -> Iterable[tuple[str, str, float]]:
    """The cells of the table of turnover by region and branch, totals included."""
    regions, branches = (sorted({record[i] for record in RECORDS}) for i in (1, 2))  # type: ignore[type-var]
    for region in ["Total", *regions]:
        for branch in ["Total", *branches]:
            chosen = [r[3] for r in RECORDS if region in ("Total", r[1]) and branch in ("Total", r[2])]
            yield str(region), str(branch), round(sum(chosen), 2)


def cross_sheet(sheet: Worksheet) -> None:
    """A table as statistical offices lay them out: title, merged headers, footnotes, totals first and last, notes below."""
    found = {(region, branch): value for region, branch, value in cells()}
    sheet["A1"] = "Tabelle 1: Umsatz nach Branche und Region 2024"
    sheet["A2"] = "in 1 000 EUR"
    sheet.merge_cells("A1:E1")
    sheet["A4"], sheet["B4"] = "Branche", "Region"
    sheet.merge_cells("A4:A5")
    sheet.merge_cells("B4:E4")
    regions = ["Baden-Württemberg", "Nord", "Île-de-France"]
    for column, label in enumerate(["Insgesamt", regions[0], "Nord 1)", regions[2]], start=2):
        sheet.cell(5, column, label)
    for row, branch in enumerate(["C10", "G47", "Total"], start=7):
        sheet.cell(row, 1, "Insgesamt" if branch == "Total" else branch)
        sheet.cell(row, 1).alignment = Alignment(indent=0 if branch == "Total" else 1)
        for column, region in enumerate(["Total", *regions], start=2):
            sheet.cell(row, column, found[region, branch]).number_format = "#,##0.00"
    sheet["A11"], sheet["A12"] = "1) Ohne Inseln.", "Quelle: Unternehmensregister"


def calc() -> None:
    """LibreOffice Calc opens a workbook and saves it as CSV, with the locale's numbers, and as a workbook."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book = Workbook()
        sheet = new_sheet(book, "records")
        sheet.append(list(HEADER))
        for record in RECORDS:
            sheet.append(list(record))
        for row in sheet.iter_rows(min_row=2, min_col=4, max_col=4):
            row[0].number_format = "#,##0.00"
        book.save(folder / "calc.xlsx")
        for language in ("de", "en"):
            converted(folder / "calc.xlsx", CALC_CSV, {"de": "de-DE", "en": "en-US"}[language], f"calc_{language}.csv")
        converted(FILES / "excel_cross.xlsx", "xlsx", "de-DE", "calc_cross.xlsx")
        converted(FILES / "excel_cross.xlsx", CALC_CSV, "de-DE", "calc_cross.csv")


def converted(source: Path, kind: str, locale: str, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        (profile / "user").mkdir(parents=True)
        (profile / "user" / "registrymodifications.xcu").write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" '
            'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><item oor:path="/org.openoffice.Setup/L10N">'
            f'<prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>{locale}</value></prop></item></oor:items>\n',
            encoding="utf-8",
        )
        command = ["soffice", f"-env:UserInstallation={profile.as_uri()}", "--headless", "--convert-to", kind]
        subprocess.run([*command, "--outdir", folder, str(source)], check=True, capture_output=True)
        shutil.copy(Path(folder) / f"{source.stem}{Path(name).suffix}", FILES / name)


def google() -> None:
    write("google_sheets_de.csv", lines(lambda n: grouped(n, ".", ","), ",", whole=str), "utf-8")


# -- statistical programs --------------------------------------------------------------------------------------


def spss() -> None:
    write("spss.csv", lines(comma, ";", missing=" "), "utf-8-sig")
    write("spss.dat", lines(plain, "\t", missing=" "), "utf-8-sig")
    import pyreadstat  # not needed by the tests

    frame = pd.DataFrame(RECORDS, columns=list(HEADER))
    pyreadstat.write_sav(frame, str(FILES / "spss.sav"))


def r() -> None:
    """``write.csv``, ``write.csv2`` and ``write.table`` with their defaults."""
    write("r_input.csv", lines(plain, ",", "\n", missing="NA"), "utf-8")
    script = 'x <- read.csv("r_input.csv"); write.csv(x, "r_write_csv.csv"); write.csv2(x, "r_write_csv2.csv"); '
    command = ["Rscript", "-e", script + 'write.table(x, "r_write_table.txt")']
    subprocess.run(command, check=True, cwd=FILES, capture_output=True)
    (FILES / "r_input.csv").unlink()


def sas() -> None:
    """PROC EXPORT with the format comma12.2, and a DATA step that puts values in columns of fixed width."""

    def comma12_2(number: float) -> str:
        return grouped(number, ",", ".")

    write("sas_proc_export.csv", lines(comma12_2, ",", whole=lambda n: grouped(n, ",", ".", 0)), "cp1252")
    text = ["|".join(HEADER)]
    for firm, region, branch, turnover, employees, exports in RECORDS:
        shown = "." if exports is None else plain(exports)
        numbers = [f"{number:>12}" for number in (plain(turnover), str(employees), shown)]
        text.append("|".join([firm, f"{region:<20}", f"{branch:<5}", *numbers]))
    write("sas_put.txt", "\r\n".join([*text, ""]), "cp1252")


def stata() -> None:
    text = ["\t".join(HEADER)]
    for firm, region, branch, turnover, employees, exports in RECORDS:
        quoted = [f'"{field}"' for field in (firm, region, branch)]
        text.append("\t".join([*quoted, plain(turnover), str(employees), "" if exports is None else plain(exports)]))
    write("stata_outsheet.out", "\n".join([*text, ""]), "utf-8")


# -- programs of programmers -----------------------------------------------------------------------------------


def pandas() -> None:
    pd.DataFrame(RECORDS, columns=list(HEADER)).to_csv(FILES / "pandas_to_csv.csv")


def sql() -> None:
    write("mysql_batch.tsv", lines(plain, "\t", "\n", missing="NULL"), "utf-8")
    write("postgres_copy.csv", lines(plain, ",", "\n"), "utf-8")


def write(name: str, text: str, encoding: str) -> None:
    (FILES / name).write_bytes(text.encode(encoding))


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    for make in (excel_text, excel_books, calc, google, spss, r, sas, stata, pandas, sql):
        make()
