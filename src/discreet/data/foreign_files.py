"""Files of other kinds than their names say, known by how they begin."""

from __future__ import annotations

import re

# How files of other kinds begin, what they are, and what to do.
BEGINNINGS: dict[bytes, str] = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a workbook with a password, or one of Excel 97 to 2003. "
    "Open it in a spreadsheet, remove the password, and save it as .xlsx.",
    b"PK\x03\x04": "a workbook or a zip file. Rename a workbook to .xlsx; unpack a zip file.",
    b"PAR1": "a Parquet file. Rename it to .parquet.",
    b"%PDF": "a PDF document. Ask for the table as a CSV file or a workbook.",
    b"\x1f\x8b": "compressed by gzip. Rename it to .csv.gz.",
}
WEB_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html|\?xml|table)", re.IGNORECASE)


def foreign_kind(head: bytes) -> str | None:
    """What a file is that begins like this, if it is neither text with delimiters nor what its name says, and what to do."""
    if WEB_PAGE.match(head):
        return "a web page or XML. Open it in a spreadsheet and save it as .xlsx."
    return next((words for beginning, words in BEGINNINGS.items() if head.startswith(beginning)), None)
