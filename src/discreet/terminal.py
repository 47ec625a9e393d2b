"""Releases as text tables in a terminal."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
from rich.cells import cell_len, set_cell_size
from rich.console import Console

from discreet.display import crossed
from discreet.printable import printable
from discreet.release import SYMBOL


def print_release(frame: pd.DataFrame, rows: int, console: Console) -> None:
    """Print the first rows, and as many columns as fit; no number is cut off."""
    columns = _columns(frame)
    length = len(columns[0]) - 1
    columns = [column[: rows + 1] for column in columns]
    widths = [max(map(cell_len, column)) for column in columns]
    fit = len(columns)
    if console.is_terminal:
        fit = max(2, int((np.cumsum(widths) + 2 * np.arange(fit) <= shutil.get_terminal_size().columns).sum()))
    for number, (head, *cells) in enumerate(zip(*columns[:fit], strict=True)):
        padded = (" " * (width - cell_len(cell)) + cell for cell, width in zip(cells, widths[1:], strict=False))
        line = "  ".join([set_cell_size(head, widths[0]), *padded]).rstrip()
        console.print(line, markup=False, style=None if number else "bold")
    left_out = [f"{n:,} {kind}" for n, kind in ((length - rows, "rows"), (len(columns) - fit, "columns")) if n > 0]
    if left_out:
        console.print(f"{' and '.join(left_out)} more", style="dim")


def _columns(frame: pd.DataFrame) -> list[list[str]]:
    """Headings and entries as text; two code columns and one of values as a cross table."""
    suppressed = frame.pop("suppressed") if "suppressed" in frame and frame.shape[1] > 1 else None
    text = [frame[name].astype(object).where(frame[name].notna(), "").map(str) for name in frame]
    if suppressed is not None:
        text[-1] = text[-1].mask(suppressed.astype(str) == "True", SYMBOL)
    listed = [[printable(entry) for entry in (str(name), *column)] for name, column in zip(frame, text, strict=True)]
    return crossed(listed)
