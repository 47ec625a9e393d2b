"""How files and users name cells: by label, or by one code per dimension."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path

from discreet.data.hierarchy import LABEL_SEPARATOR, Hierarchy
from discreet.data.side_files import SideRows, read_side_file, side_lines
from discreet.data.spelling import without_stray_blanks
from discreet.errors import FormatError, TableError, some

# What users type for ×; an x needs blanks around it, as it occurs in words.
TYPED_SEPARATOR = re.compile(r"\s*[×*]\s*|\s+[xX]\s+")
MAX_TYPED_SEPARATORS = 12  # in one label: with more there are too many ways to read it
MAX_SIMILAR_SOUGHT = 20_000  # with which a mistyped code is compared: less than a second


def read_cells(
    path: str | Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    dimensions: Sequence[str] = (),
    *,
    everywhere: bool = False,
) -> SideRows:
    """The lines of a side file with the column ``cell``, or instead of it one column for each of the ``dimensions``.

    ``everywhere`` allows lines without a cell.
    """
    header = {name.strip().casefold() for name in next(side_lines(path), (1, []))[1]}
    if "cell" not in header and header & {name.casefold() for name in dimensions}:
        rows = read_side_file(path, [*dimensions, *required], optional)
        return [(number, {"cell": _label(path, number, row, dimensions), **row}) for number, row in rows]
    if everywhere:
        return read_side_file(path, required, ["cell", *optional])
    return read_side_file(path, ["cell", *required], optional)


def _label(path: str | Path, number: int, row: dict[str, str], dimensions: Sequence[str]) -> str:
    """The label of the codes in a line, which are removed from it; empty if there is none."""
    codes = [row.pop(name) for name in dimensions]
    empty = [name for name, code in zip(dimensions, codes, strict=True) if not code.strip()]
    if not empty:
        return LABEL_SEPARATOR.join(codes)
    if len(empty) == len(codes):
        return ""
    raise FormatError(f"{path}, line {number}: there is no code in column {empty[0]!r}. For a total write its code.")


def label_meant(text: str, dimensions: Sequence[Hierarchy]) -> str:
    """The label of the cell that a text names with ``x`` or ``*`` in place of ``×``, or with other blanks in its codes."""
    if not dimensions:  # cells of a JJ file, which have names only
        return LABEL_SEPARATOR.join(TYPED_SEPARATOR.split(text))
    found = {LABEL_SEPARATOR.join(codes) for codes in _readings(text, dimensions)}
    if len(found) > 1:
        raise TableError(f"{text!r} may be any of the cells {some(sorted(found))}. Write × between its codes.", [text])
    if found:
        return found.pop()
    raise TableError(f"There is no cell {text!r}. {_advice(text, dimensions)}", [text])


def _readings(text: str, dimensions: Sequence[Hierarchy]) -> list[list[str]]:
    """All codes, one per dimension, that a text may name."""
    signs = list(TYPED_SEPARATOR.finditer(text))[:MAX_TYPED_SEPARATORS]
    found = []
    for chosen in combinations(signs, len(dimensions) - 1):
        ends = [0, *(end for sign in chosen for end in sign.span()), len(text)]
        parts = [text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True)]
        codes = [_code_meant(part, hierarchy) for part, hierarchy in zip(parts, dimensions, strict=True)]
        found += [[code for code in codes if code is not None]] if None not in codes else []
    return found


def _code_meant(text: str, hierarchy: Hierarchy) -> str | None:
    if text in hierarchy:
        return text
    alike = [code for code in hierarchy.codes if without_stray_blanks(code) == without_stray_blanks(text)]
    return alike[0] if len(alike) == 1 else None


def _advice(text: str, dimensions: Sequence[Hierarchy]) -> str:
    """Which code does not exist, and which ones are similar."""
    parts = [part.strip() for part in TYPED_SEPARATOR.split(text)]
    if len(parts) != len(dimensions):
        example = LABEL_SEPARATOR.join(hierarchy.total for hierarchy in dimensions)
        return f"Write one code for each of the {len(dimensions)} dimensions, such as {example!r}."
    part, hierarchy = next((one, h) for one, h in zip(parts, dimensions, strict=True) if one not in h)
    similar = get_close_matches(part, hierarchy.codes[:MAX_SIMILAR_SOUGHT], n=1)
    hint = f"Did you mean {similar[0]!r}?" if similar else f"Codes are {some(hierarchy.codes)}."
    return f"{part!r} is not a code of {hierarchy.total!r}. {hint}"
