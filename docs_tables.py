"""Tables of the reference pages that are made from the source: options of methods and parameters of rules.

``make tables`` writes them into the pages, between comments such as ``<!-- options of optimal -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path

from discreet.methods import METHODS, options_of
from discreet.rules import RULES

REFERENCE = Path(__file__).parent / "docs" / "reference"
PAGES = ("methods.md", "rules.md")
MARKED = re.compile(r"(?<=<!-- )(options|parameters) of ([\w-]+) -->\n.*?<!-- end -->", flags=re.S)


def options_table(method: str) -> str:
    """The class of a method in Python, and one row per option."""
    options = options_of(METHODS[method])
    shown = f"In Python: `discreet.methods.{METHODS[method].__name__}`."
    if not options:
        return f"{shown} It has no options of its own.\n"
    rows = [
        (f"`{each.name}`", each.type, f"`{each.default}`" if each.default else "–", each.meaning) for each in options
    ]
    return f"{shown}\n\n{_table(('option', 'type', 'default', 'meaning'), rows)}"


def parameters_table(rule: str) -> str:
    """One row per parameter of a rule."""
    rows = [
        (
            f"`{each.name}`",
            "–" if each.default in (MISSING, None) else f"`{each.default}`",
            each.metadata["meaning"] + ("; keyword only" if each.kw_only else ""),
        )
        for each in fields(RULES[rule])
    ]
    return _table(("parameter", "default", "meaning"), rows)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---").replace("|--- |", "|---|")


def with_tables(page: str) -> str:
    """The text of a page with its tables as the source states them now."""
    made = {"options": options_table, "parameters": parameters_table}
    return MARKED.sub(lambda found: f"{found[1]} of {found[2]} -->\n\n{made[found[1]](found[2])}\n<!-- end -->", page)


if __name__ == "__main__":
    for name in PAGES:
        path = REFERENCE / name
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
