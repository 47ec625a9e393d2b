"""The files to publish of a job of τ-ARGUS, read as a reader would: what each cell shows, and what is odd about the file."""

from __future__ import annotations

import csv
from itertools import product

from tests.oracles.argus.folders import CODES, MISSING, TOTALS, TREE, Cell, Record, Spec


def listed_codes(spec: Spec, name: str, records: list[Record]) -> list[str]:
    """All codes of a dimension in the order of files: those of hierarchies as listed, others sorted, missing ones last."""
    total = TOTALS.get(name, "Total")
    if name == "Region":
        return (
            list(dict.fromkeys(code for leaf in CODES[name] for code in spec.lineage(name, leaf)))
            if spec.closed.get(name) != 1
            else [total, *TREE]
        )
    seen = sorted({r.codes[name] for r in records})
    given = [code for code in seen if name != "Year" or code != MISSING]
    missing = [code for code in seen if code not in given]
    if name == "Industry":
        return list(dict.fromkeys([total, *(code for leaf in given for code in spec.lineage(name, leaf))]))
    return [
        total,
        *sorted({spec.lineage(name, code)[-1] for code in given}, key=lambda code: (code.rjust(2), code)),
        *missing,
    ]


def is_confidential(kind: int, options: str) -> bool:
    return (
        kind in (4, 5, 6) or "AS+" in options or (kind == 7 and any(f"{one}+" in options for one in ("AO", "AD", "AC")))
    )


def shown(kind: int, options: str, text: str, spec: Spec, records: list[Record]) -> tuple[dict[Cell, str], list[str]]:
    """What each cell shows, and the faults of the layout."""
    codes = [listed_codes(spec, name, records) for name in spec.by]
    found, faults = _crossed(text, codes) if kind == 1 else _listed(kind, options, text, spec, codes)
    if kind == 1 or "SE+" not in options:
        faults += [] if set(found) == set(product(*codes)) else ["not all cells are listed"]
    return found, faults


def _crossed(text: str, codes: list[list[str]]) -> tuple[dict[Cell, str], list[str]]:
    found: dict[Cell, str] = {}
    faults, rows = [], iter(list(csv.reader(text.splitlines())))
    layers, down, across = codes[:-2], (codes[-2] if len(codes) > 1 else [""]), codes[-1]
    for outer in product(*layers):
        if outer:
            named = [text.strip().strip('"') for text in next(rows)][1::2]
            faults += [] if named == list(outer) else [f"block {named}"]
        faults += [] if next(rows) == ["", *across] else ["heading"]
        for code in down:
            name, *values = next(rows)
            faults += [] if name == code and len(values) == len(across) else [f"line {name}"]
            found |= {
                (*outer, *([code] if len(codes) > 1 else []), to): v for to, v in zip(across, values, strict=False)
            }
        faults += [] if next(rows) == [] else ["no blank line"]
    return found, faults + (["more lines"] if list(rows) else [])


def _listed(
    kind: int, options: str, text: str, spec: Spec, codes: list[list[str]]
) -> tuple[dict[Cell, str], list[str]]:
    rows = list(csv.reader(text.splitlines(), delimiter=";" if kind == 7 else ","))
    faults = []
    if (kind == 2 and "FL-" not in options) or (kind == 3 and "FL+" in options):
        faults += [] if rows[0][: len(spec.by)] == list(spec.by) else ["names of columns"]
        rows = rows[1:]
    faults += [f"columns of {row}" for row in rows if len(row) != len(spec.by) + 1]
    found = {tuple(row[: len(spec.by)]): row[len(spec.by)] for row in rows}
    in_order = [cell for cell in product(*codes) if cell in found]
    return found, faults + ([] if list(found) == in_order else ["order of lines"])
