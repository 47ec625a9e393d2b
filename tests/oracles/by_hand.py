"""Releases made by hand: records and a pattern of suppressed cells, written as the files that the judge reads."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.oracles.draw_jobs import Draw
from tests.oracles.records import Codes, read_survey
from tests.oracles.trees import Tree


def write_release(
    folder: Path,
    records: list[dict[str, Any]],
    dimensions: Iterable[str],
    rules: dict[str, Any],
    *,
    suppressed: Iterable[Codes] = (),
    told: Mapping[Codes, tuple[Any, Any, Any]] | None = None,
    **settings: dict[str, Any],
) -> Path:
    """A job with its records, and the release that publishes every cell with records as it is.

    ``suppressed`` are the cells that it does not publish. ``told`` are value, lower and upper end as written, for cells where the
    release says something else; all others then have their value as both ends.
    """
    trees = {name: Tree.flat((row[name] for row in records), "Total") for name in dimensions}
    drawn = Draw(0, "kelly", "by hand", trees, dict.fromkeys(trees, False), records, rules=rules)
    drawn.output = {"folder": "out", "formats": ["csv"]}
    for section, entries in settings.items():
        getattr(drawn, section).update(entries)
    drawn.method = drawn.protect.pop("method", "kelly")
    job = drawn.write(folder)
    survey, gone = read_survey(job), set(suppressed)
    rows: list[list[Any]] = []
    for place, cell in survey.cells.items():
        value = int(cell.value) if cell.value.denominator == 1 else float(cell.value)
        row = [*place, "×" if place in gone else value]
        if told is not None:
            row = [*place, *told[place]] if place in told else [*row, value, value]
        rows.append(row)
    (folder / "out").mkdir(exist_ok=True)
    with (folder / "out" / "release.csv").open("w", newline="", encoding="utf-8") as file:
        ends = [] if told is None else ["value lower", "value upper"]
        csv.writer(file).writerows([[*trees, "value", *ends], *rows])
    return job


def records_of(cells: Mapping[str, Iterable[float]], **names: str) -> list[dict[str, Any]]:
    """One record for each contribution to a cell, such as ``"A I": [155, 4, 1]``; all by different firms unless named."""
    found = []
    for label, amounts in cells.items():
        codes = dict(zip("abc", label.split(), strict=False))
        for k, amount in enumerate(amounts):
            firm = f"{k + 1} of {label}"
            found.append(codes | {"firm": names.get(firm, firm), "value": amount})
    return found
