"""Decisions by hand: files of statuses of cells, of consents to publication, and of codes that replace others. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.data.cell_names import read_cells
from discreet.data.side_files import read_side_file
from discreet.errors import InputError


def read_statuses(path: str | Path, dimensions: Sequence[str] = ()) -> dict[str, tuple[str, str]]:
    """Statuses by hand from a file with the columns cell, status and maybe reason. Cells are labels such as ``A × North``.

    In place of ``cell`` there may be a column for each of the ``dimensions``.
    """
    statuses: dict[str, tuple[str, str]] = {}
    for number, row in read_cells(path, ["status"], ["reason"], dimensions):
        cell = row["cell"]
        if cell in statuses:
            raise InputError(f"{path}, line {number}: cell {cell!r} occurs a second time.", [cell])
        statuses[cell] = (row["status"].strip().lower(), row.get("reason", ""))
    return statuses


def read_waivers(path: str | Path, dimensions: Sequence[str] = ()) -> list[str | tuple[str, str]]:
    """Waivers from a file with the column respondent, and maybe cell or the dimensions; without a cell they are for all cells."""
    rows = [row for _, row in read_cells(path, ["respondent"], dimensions=dimensions, everywhere=True)]
    return [(row["respondent"], row["cell"]) if row.get("cell") else row["respondent"] for row in rows]


def read_recode(path: str | Path) -> dict[str, str]:
    """The new code of each code that is replaced, from a file with the columns code and into."""
    new_codes: dict[str, str] = {}
    for number, row in read_side_file(path, ["code", "into"]):
        code, new = row["code"], row["into"]
        if code in new_codes or not new:
            raise InputError(f"{path}, line {number}: {code!r} has no new code, or a second one.", [code])
        new_codes[code] = new
    return new_codes
