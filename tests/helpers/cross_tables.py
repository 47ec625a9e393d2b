"""Workbooks with a cross-table in a layout that is drawn, and what its cells are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from openpyxl import Workbook


@dataclass(frozen=True)
class DrawnTable:
    """A workbook, and the value of each cell by its label; the dimensions of rows come first."""

    path: Path
    in_rows: int
    header_row: int
    expected: dict[str, float]
    sizes: tuple[int, ...]


def drawn_cross_table(
    rng: np.random.Generator, path: Path, sizes: Any, totals: Sequence[str] = ("Total", "Total", "Total")
) -> DrawnTable:
    """Titles, notes, blank rows, order of codes, repeated, merged or single outer labels, and numbers as text are drawn."""
    names = [[f"{letter}{i}" for i in range(n)] for letter, n in zip("abc", sizes, strict=True)]
    base = rng.integers(0, 5000, size=sizes) / 4
    full = base
    for axis in range(3):
        full = np.concatenate([full.sum(axis=axis, keepdims=True), full], axis=axis)
    labels = [[total, *codes] for total, codes in zip(totals, names, strict=True)]
    orders = [rng.permutation(len(codes)) for codes in labels]
    in_rows = int(rng.integers(1, 3))  # dimensions in the stub
    stub = [tuple(i) for i in _product([orders[d] for d in range(in_rows)])]
    head = [tuple(i) for i in _product([orders[d] for d in range(in_rows, 3)])]
    above, left, blank = (int(n) for n in rng.integers(0, 3, size=3))
    style = str(rng.choice(["repeated", "blank", "merged"]))
    book = Workbook()
    sheet = book.worksheets[0]
    for row in range(above):
        sheet.cell(1 + row, 1 + left, f"Title {row} of 2024")
    top = 1 + above + (1 if above else 0)
    first = top + 3 - in_rows + (1 if rng.random() < 0.3 else 0)
    start = 1 + left + in_rows
    as_text = rng.random() < 0.3
    _write_labels(sheet, stub, labels[:in_rows], style, lambda position, level: (first + position, 1 + left + level))
    _write_labels(sheet, head, labels[in_rows:], style, lambda position, level: (top + level, start + position))
    for i, outer in enumerate(stub):
        for j, inner in enumerate(head):
            number = float(full[(*outer, *inner)])
            sheet.cell(first + i, start + j, f"{number:.2f}".replace(".", ",") if as_text else number)
    for row in range(blank):
        sheet.cell(first + len(stub) + 1 + row, 1 + left, f"{row + 1}) Note.")
    book.save(path)
    expected = {" × ".join(labels[d][k] for d, k in enumerate(at)): full[at] for at in np.ndindex(full.shape)}
    return DrawnTable(path, in_rows, top, expected, tuple(full.shape))


def _product(orders: list[Any]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for order in orders:
        found = [(*before, int(i)) for before in found for i in order]
    return found


def _write_labels(sheet: Any, codes: Any, labels: Any, style: str, cell: Any) -> None:
    for level in range(len(labels)):
        begin = 0
        for position, code in enumerate(codes):
            same = position > begin and codes[begin][: level + 1] == code[: level + 1]
            last = level == len(labels) - 1
            begin = begin if same else position
            if not same or last or style == "repeated":
                sheet.cell(*cell(position, level)).value = labels[level][code[level]]
            ends = position == len(codes) - 1 or codes[position + 1][: level + 1] != code[: level + 1]
            if style == "merged" and not last and ends and position > begin:
                a, b = cell(begin, level), cell(position, level)
                sheet.merge_cells(start_row=a[0], start_column=a[1], end_row=b[0], end_column=b[1])
