"""Which rule, and with which numbers: rules compared with each other, and on the cells of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

from discreet.data.table import Table
from discreet.errors import InputError, RuleError
from discreet.report.triangle import draw, page
from discreet.rules import Boundary, Rule, combine
from discreet.rules.regions import Region, neighbours

RuleLike = str | Rule | Sequence[str | Rule]


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Regions of the triangle of the two largest shares, and a table's cells in it if there is one. Confidential."""

    regions: tuple[Region, ...]
    cells: pd.DataFrame | None = None  # cell, z1, z2, and a column of true and false a region

    def __repr__(self) -> str:
        of = "" if self.cells is None else f" and {len(self.cells):,} cells"
        return f"Calibration({len(self.regions)} rules{of})"

    def covers(self) -> list[tuple[str, str]]:
        """Pairs: the first calls sensitive whatever the second does. Of two that say the same, both pairs."""
        return [(str(a), str(b)) for a, b in permutations(self.regions, 2) if a.covers(b)]

    def sensitive(self) -> dict[str, int]:
        """How many cells of the table each calls sensitive."""
        if self.cells is None:
            return {}
        return {str(region): int(self.cells[str(region)].sum()) for region in self.regions}

    def frame(self) -> pd.DataFrame:
        """One row a rule: its neighbours among the other kinds, and how much it calls sensitive."""
        counted = self.sensitive()
        rows = []
        for region in self.regions:
            alone = neighbours(region.rules[0]) if len(region.rules) == 1 else {}
            row = {"rule": str(region), "covers": alone.get("covers", ""), "covered by": alone.get("covered by", "")}
            row["notes"] = "; ".join(f"{k} {v}" for k, v in alone.items() if not k.startswith("cover"))
            rows.append(row | ({"sensitive cells": counted[str(region)]} if counted else {}))
        return pd.DataFrame(rows)

    def svg(self, title: str = "") -> str:
        """The triangle as a drawing that needs nothing else."""
        return draw(self.regions, self._dots(), title)

    def html(self, title: str = "Rules compared") -> str:
        """The triangle with the tables below it, as one page."""
        return page(title, self.svg(), self.frame(), self.covers(), self.cells is not None)

    def write(self, path: str | Path, title: str = "") -> None:
        """The drawing to ``.svg``, or the page to ``.html``."""
        path = Path(path)
        if path.suffix.lower() not in (".svg", ".html"):
            raise InputError(f"{path}: a drawing of rules ends in .svg or .html.")
        whole = self.svg(title) if path.suffix.lower() == ".svg" else self.html(title or "Rules compared")
        path.write_text(whole, encoding="utf-8")

    def _dots(self) -> list[tuple[float, float, bool, int, str]]:
        """Cells at (nearly) the same place are one dot: where, whether any rule calls them sensitive, how many, one's label."""
        if self.cells is None:
            return []
        marked = self.cells[[str(region) for region in self.regions]].any(axis=1)
        at = pd.DataFrame({"x": (self.cells.z1 * 2).round() / 2, "y": (self.cells.z2 * 2).round() / 2, "hit": marked})
        grouped = at.assign(cell=self.cells.cell).groupby(["x", "y", "hit"]).cell.agg(["size", "first"])
        return [(float(x), float(y), bool(hit), int(n), str(label)) for (x, y, hit), n, label in grouped.itertuples()]


def calibrate(rules: Sequence[RuleLike], table: Table | None = None, *, boundary: Boundary = "strict") -> Calibration:
    """Compare rules ``P``, ``PQ``, ``NK(1,…)`` and ``NK(2,…)``; ``"NK(1,75)|NK(2,85)"`` is one rule made of two.

    With a table that stores the two largest contributions, its cells are judged and drawn as well. Confidential.
    """
    regions = tuple(Region.of(rule, boundary) for rule in ([rules] if isinstance(rules, str | Rule) else rules))
    names = [str(region) for region in regions]
    if not regions or len(set(names)) < len(names):
        raise RuleError("Give one or more rules to compare, each of them once.")
    return Calibration(regions, None if table is None else _judged(table, regions))


def _judged(table: Table, regions: Sequence[Region]) -> pd.DataFrame:
    """The shares of cells that have contributors, and every region's verdict by the rules themselves."""
    if table.top is None or table.top.shape[1] < 2:
        raise InputError(
            "The table does not store the two largest contributions to each cell. Tabulate it with top = 2 or more."
        )
    there = np.flatnonzero(table.magnitude > 0)
    shares = 100 * np.abs(table.top[there, :2]) / table.magnitude[there, None]
    columns = {"cell": table.labels(there), "z1": shares[:, 0], "z2": shares[:, 1]}
    for region in regions:
        columns[str(region)] = combine([rule(table) for rule in region.rules]).sensitive[there]
    return pd.DataFrame(columns)
