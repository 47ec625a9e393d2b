"""Jobs and records as the judge reads them: settings, hierarchies, and who contributes what to which cell."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from tests.oracles.trees import Tree

Codes = tuple[str, ...]


@dataclass
class Cell:
    """A cell with records: what each respondent contributes, weighted and as reported, and its smallest weight."""

    weighted: dict[str, Fraction] = field(default_factory=dict)
    reported: dict[str, Fraction] = field(default_factory=dict)
    weights: dict[str, Fraction] = field(default_factory=dict)

    @property
    def value(self) -> Fraction:
        return sum(self.weighted.values(), Fraction(0))

    @property
    def magnitude(self) -> Fraction:
        return sum(map(abs, self.weighted.values()), Fraction(0))


@dataclass(frozen=True)
class Survey:
    """A job and its records. ``cells`` are all cells with records of all its tables, ``behind`` those of the full cross."""

    settings: dict[str, Any]
    folder: Path
    trees: dict[str, Tree]
    tables: list[list[str]]
    cells: dict[Codes, Cell]
    behind: dict[Codes, Cell]
    is_count: bool
    is_weighted: bool

    @property
    def rules(self) -> dict[str, Any]:
        return self.settings["rules"]

    @property
    def protect(self) -> dict[str, Any]:
        return self.settings.get("protect", {})

    @property
    def output(self) -> dict[str, Any]:
        return self.settings.get("output", {})

    @property
    def method(self) -> str:
        return self.protect.get("method", "kelly")

    @property
    def options(self) -> dict[str, Any]:
        return self.protect.get("options", {})

    @property
    def out(self) -> Path:
        return self.folder / self.output.get("folder", "output")

    @cached_property
    def signed(self) -> bool:
        """Whether contributions have both signs, so that nobody knows the sign of a cell."""
        return any(amount < 0 for cell in self.behind.values() for amount in cell.weighted.values())

    @cached_property
    def whole(self) -> bool:
        return all(cell.value.denominator == 1 for cell in self.cells.values())

    def combinations(self) -> list[Codes]:
        """All combinations of codes that some table has a place for, whether they have records or not."""
        places = [
            product(*(tree.codes if name in names else [tree.total] for name, tree in self.trees.items()))
            for names in self.tables
        ]
        return list(dict.fromkeys(place for table in places for place in table))

    def finest(self) -> list[Codes]:
        return list(product(*(tree.leaves for tree in self.trees.values())))

    def below(self, place: Codes) -> list[Codes]:
        """The finest combinations of all dimensions that a cell consists of."""
        return list(product(*(tree.below[code] for tree, code in zip(self.trees.values(), place, strict=True))))


def read_survey(job: Path) -> Survey:
    """A job file and its records."""
    settings = tomllib.loads(job.read_text(encoding="utf-8"))
    data, folder = settings["data"], job.parent
    with (folder / data["file"]).open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    trees = {}
    for name, given in settings["dimensions"].items():
        total = given.get("total", "Total")
        path = given.get("hierarchy")
        trees[name] = Tree.read(folder / path, total) if path else Tree.flat((row[name] for row in rows), total)
    tables = settings.get("tables") or [list(trees)]
    behind: dict[Codes, Cell] = {}
    shown: dict[Codes, Cell] = {}
    places = {
        tuple(place)
        for names in tables
        for place in product(*([True, False] if name in names else [False] for name in trees))
    }
    response, weight = data.get("response"), data.get("weight")
    for number, row in enumerate(rows):
        who = row.get(data.get("holding") or "") or row.get(data.get("contributor") or "") or f"record {number}"
        reported = Fraction(row[response]) if response else Fraction(1)
        times = Fraction(row[weight]) if weight else Fraction(1)
        at = tuple(row[name] for name in trees)
        _contribute(behind.setdefault(at, Cell()), who, reported, times)
        chains = [tree.above(code) for tree, code in zip(trees.values(), at, strict=True)]
        for place in product(*chains):
            tabulated = tuple(code != tree.total for code, tree in zip(place, trees.values(), strict=True)) in places
            if tabulated:
                _contribute(shown.setdefault(place, Cell()), who, reported, times)
    return Survey(settings, folder, trees, tables, shown, behind, response is None, weight is not None)


def _contribute(cell: Cell, who: str, reported: Fraction, weight: Fraction) -> None:
    cell.weighted[who] = cell.weighted.get(who, Fraction(0)) + weight * reported
    cell.reported[who] = cell.reported.get(who, Fraction(0)) + reported
    cell.weights[who] = min(cell.weights.get(who, weight), weight)
