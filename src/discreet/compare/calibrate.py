"""Comparison of rules with each other, and on the cells of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

from discreet.data.table import Table
from discreet.errors import InputError, RuleError
from discreet.report.templates import render
from discreet.report.triangle import Dot, draw
from discreet.rules import Boundary, Rule, combine
from discreet.rules.regions import Region, neighbours

RuleLike = str | Rule | Sequence[str | Rule]


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Rules as regions of the triangle of the two largest shares, with the cells of a table, if given. Confidential."""

    regions: tuple[Region, ...]
    cells: pd.DataFrame | None = None  # cell, z1, z2, and per region a column of true and false

    def __repr__(self) -> str:
        cells = "" if self.cells is None else f" and {len(self.cells):,} cells"
        return f"Calibration({len(self.regions)} rules{cells})"

    def covers(self) -> list[tuple[str, str]]:
        """Pairs of rules of which the first covers the second: every cell sensitive by the second is sensitive by the first."""
        return [(str(a), str(b)) for a, b in permutations(self.regions, 2) if a.covers(b)]

    def sensitive(self) -> dict[str, int]:
        """The number of cells of the table that are sensitive by each rule."""
        if self.cells is None:
            return {}
        return {str(region): int(self.cells[str(region)].sum()) for region in self.regions}

    def frame(self) -> pd.DataFrame:
        """One row per rule: its neighbours among the other kinds of rules, and its number of sensitive cells."""
        counted = self.sensitive()
        rows = []
        for region in self.regions:
            related = neighbours(region.rules[0]) if len(region.rules) == 1 else {}
            row = {"rule": str(region), **{name: related.get(name, "") for name in ("covers", "covered by")}}
            row["notes"] = "; ".join(f"{k} {v}" for k, v in related.items() if not k.startswith("cover"))
            rows.append(row | ({"sensitive cells": counted[str(region)]} if counted else {}))
        return pd.DataFrame(rows)

    def svg(self, title: str = "") -> str:
        """The triangle as a self-contained drawing."""
        return draw(self.regions, self._dots(), title)

    def html(self, title: str = "Rules compared") -> str:
        """The triangle and tables of the rules as one page."""
        return render(
            "calibrate.html.j2",
            room="compare",
            title=title,
            svg=self.svg(),
            covers=self.covers(),
            rows=self.frame().to_dict("records"),
            cells=self.cells is not None,
        )

    def write(self, path: str | Path, title: str = "") -> None:
        """Write the drawing (``.svg``) or the page (``.html``)."""
        path = Path(path)
        if path.suffix.lower() not in (".svg", ".html"):
            raise InputError(f"{path}: a drawing of rules ends in .svg or .html.")
        text = self.svg(title) if path.suffix.lower() == ".svg" else self.html(title or "Rules compared")
        path.write_text(text, encoding="utf-8")

    def _dots(self) -> list[Dot]:
        """One dot for all cells with nearly the same shares and the same verdict, with the label of one of them."""
        if self.cells is None:
            return []
        hit = self.cells[[str(region) for region in self.regions]].any(axis=1)
        x, y = ((self.cells[share] * 2).round() / 2 for share in ("z1", "z2"))
        grouped = pd.DataFrame({"x": x, "y": y, "hit": hit, "cell": self.cells.cell}).groupby(["x", "y", "hit"])
        dots = grouped.cell.agg(["size", "first"]).itertuples()
        return [(float(x), float(y), bool(hit), int(n), str(label)) for (x, y, hit), n, label in dots]


def calibrate(rules: Sequence[RuleLike], table: Table | None = None, *, boundary: Boundary = "strict") -> Calibration:
    """Compare rules ``P``, ``PQ``, ``NK(1,…)`` and ``NK(2,…)``; ``"NK(1,75)|NK(2,85)"`` is one rule made of two.

    With a table that stores the two largest contributions, the rules are also applied to its cells. Confidential.
    """
    regions = tuple(Region.of(rule, boundary) for rule in ([rules] if isinstance(rules, str | Rule) else rules))
    names = [str(region) for region in regions]
    if not regions or len(set(names)) < len(names):
        raise RuleError("Give one or more rules to compare, each of them once.")
    return Calibration(regions, None if table is None else _assessed(table, regions))


def _assessed(table: Table, regions: Sequence[Region]) -> pd.DataFrame:
    """The two largest shares of each cell that is not zero, and whether it is sensitive by each rule."""
    if table.top is None or table.top.shape[1] < 2:
        raise InputError(
            "The table does not store the two largest contributions to each cell. Tabulate it with top = 2 or more."
        )
    cells = np.flatnonzero(table.magnitude > 0)
    shares = 100 * np.abs(table.top[cells, :2]) / table.magnitude[cells, None]
    columns = {"cell": table.labels(cells), "z1": shares[:, 0], "z2": shares[:, 1]}
    for region in regions:
        columns[str(region)] = combine([rule(table) for rule in region.rules]).sensitive[cells]
    return pd.DataFrame(columns)
