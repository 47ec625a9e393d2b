"""HTML for notebooks: compact, and with no more information than the ``repr`` of an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

MAX_SHOWN_ROWS, MAX_SHOWN_COLUMNS = 20, 12  # of a table, so that it fits on a screen


def card(title: str, facts: Mapping[str, str], note: str = "") -> str:
    """A heading, named facts and a note."""
    rows = "".join(
        f'<tr><th style="text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(fact)}</td></tr>'
        for name, fact in facts.items()
    )
    remark = f"<small>{escape(note)}</small>" if note else ""
    return f"<div><b>{escape(title)}</b><table>{rows}</table>{remark}</div>"


def html_table(title: str, columns: Sequence[Sequence[str]], note: str = "") -> str:
    """A table from columns that start with their headings; further rows and columns are left out and counted."""
    lines = list(zip(*(column[: MAX_SHOWN_ROWS + 1] for column in columns[:MAX_SHOWN_COLUMNS]), strict=True))
    cells = "".join(
        "<tr>"
        + "".join(
            f'<{tag} style="text-align:{"right" if c else "left"}">{escape(text)}</{tag}>'
            for c, text in enumerate(line)
        )
        + "</tr>"
        for tag, line in zip(("th", *("td",) * len(lines)), lines, strict=False)
    )
    beyond = (len(columns[0]) - 1 - MAX_SHOWN_ROWS, "rows"), (len(columns) - MAX_SHOWN_COLUMNS, "columns")
    left_out = [f"{n:,} {kind} more" for n, kind in beyond if n > 0]
    remark = "; ".join([*left_out, *([note] if note else [])])
    return f"<div><b>{escape(title)}</b><table>{cells}</table><small>{escape(remark)}</small></div>"


def crossed(columns: list[list[str]]) -> list[list[str]]:
    """Two columns of codes and one of values as a cross table; other columns unchanged."""
    if len(columns) != 3:
        return columns
    (title, *rows), (_, *across), (_, *values) = columns
    at = dict(zip(zip(rows, across, strict=True), values, strict=True))
    if len(at) < len(rows):
        return columns
    codes = list(dict.fromkeys(rows))
    return [[title, *codes], *([c, *(at.get((r, c), "") for r in codes)] for c in dict.fromkeys(across))]
