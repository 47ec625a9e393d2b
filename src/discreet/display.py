"""How objects look in a notebook: small, and telling no more than their ``repr`` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

ROWS, COLUMNS = 20, 12  # of a table that is shown


def card(title: str, facts: Mapping[str, str], note: str = "") -> str:
    """A heading, facts by name, and a remark."""
    rows = "".join(
        f'<tr><th style="text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(fact)}</td></tr>'
        for name, fact in facts.items()
    )
    remark = f"<small>{escape(note)}</small>" if note else ""
    return f"<div><b>{escape(title)}</b><table>{rows}</table>{remark}</div>"


def grid(title: str, columns: Sequence[Sequence[str]], note: str = "") -> str:
    """Columns, each beginning with its heading; as many rows and columns as are easily seen."""
    lines = list(zip(*(column[: ROWS + 1] for column in columns[:COLUMNS]), strict=True))
    cells = "".join(
        "<tr>"
        + "".join(
            f'<{tag} style="text-align:{"right" if c else "left"}">{escape(text)}</{tag}>'
            for c, text in enumerate(line)
        )
        + "</tr>"
        for tag, line in zip(("th", *("td",) * len(lines)), lines, strict=False)
    )
    beyond = (len(columns[0]) - 1 - ROWS, "rows"), (len(columns) - COLUMNS, "columns")
    left_out = [f"{n:,} {what} more" for n, what in beyond if n > 0]
    remark = "; ".join([*left_out, *([note] if note else [])])
    return f"<div><b>{escape(title)}</b><table>{cells}</table><small>{escape(remark)}</small></div>"


def crossed(columns: list[list[str]]) -> list[list[str]]:
    """Two columns of codes and one of values as rows and columns; anything else as it is."""
    if len(columns) != 3:
        return columns
    (title, *rows), (_, *across), (_, *values) = columns
    at = dict(zip(zip(rows, across, strict=True), values, strict=True))
    if len(at) < len(rows):
        return columns
    codes = list(dict.fromkeys(rows))
    return [[title, *codes], *([c, *(at.get((r, c), "") for r in codes)] for c in dict.fromkeys(across))]
