"""Maps of a table: one square per cell, coloured by its status, and one map per code of further dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray
from discreet.data.hierarchy import ROOT, Hierarchy
from discreet.languages import Language, language
from discreet.report import words
from discreet.report.templates import Row

Describe = Callable[[int], tuple[str, str]]

MAX_ROWS, MAX_COLUMNS = 400, 80  # of a map; more columns would not fit on a page
MAX_SQUARES = 30_000  # of all maps together, so that the file has a few megabytes
MAX_OPEN_ROWS = 200  # in maps with more rows the groups are closed at first


def maps(
    dimensions: Mapping[str, Hierarchy],
    codes: NDArray[np.integer],
    describe: Describe,
    suppressed: BoolArray,
    *,
    empty: str,
    response: str,
    said_in: Language | None = None,
) -> Row | None:
    """Maps of cells with the given codes (dimension × cell); None if there are no dimensions.

    ``describe`` returns the class of the square of a cell and its description, ``empty`` is the description of missing cells.
    The maps are in English by default.
    """
    said_in = said_in or language("en")
    if not dimensions or not codes.shape[1]:
        return None
    # A further dimension with a single code is the only column of a table of one dimension.
    names, trees = [*dimensions, response], [*dimensions.values(), Hierarchy((response,), np.array([ROOT]))]
    codes = np.vstack([codes, np.zeros(codes.shape[1], codes.dtype)])
    axes = [0, 1]
    if len(dimensions) > 1 and len(trees[0]) < len(trees[1]) and len(trees[1]) > MAX_COLUMNS:
        axes = [1, 0]  # the longer dimension is vertical
    others = list(range(2, len(dimensions)))
    slices, squares, left = [], 0, 0
    for picked in _slices(trees, codes, others):
        if squares >= MAX_SQUARES:
            left += 1
            continue
        cells = np.flatnonzero((codes[others] == np.array(picked, dtype=int)[:, None]).all(axis=0))
        title = ", ".join(f"{names[d]} {trees[d].name(c, said_in.code)}" for d, c in zip(others, picked, strict=True))
        drawn = _grid([trees[d] for d in axes], codes[axes][:, cells], cells, describe, suppressed, empty, said_in)
        squares += len(drawn["columns"]) * sum(len(group["rows"]) for group in drawn["groups"])
        slices.append({"title": title, "cells": len(cells), "suppressed": int(suppressed[cells].sum()), **drawn})
    return {
        "down": names[axes[0]],
        "across": names[axes[1]],
        "slices": slices,
        "left": left,
        "folds": any(len(group["rows"]) > 1 for drawn in slices for group in drawn["groups"]),
        "others": words.listed([names[d] for d in others], said_in=said_in),
    }


def _slices(trees: Sequence[Hierarchy], codes: NDArray[np.integer], others: Sequence[int]) -> list[tuple[int, ...]]:
    """The combinations of codes of the further dimensions that occur, totals first."""
    found = np.unique(codes[others], axis=1).T.tolist() if others else [()]
    place = [np.argsort(trees[d].order()).tolist() for d in others]
    return sorted(map(tuple, found), key=lambda picked: [rank[c] for rank, c in zip(place, picked, strict=True)])


def _grid(
    trees: Sequence[Hierarchy],
    codes: NDArray[np.integer],
    cells: NDArray[np.integer],
    describe: Describe,
    suppressed: BoolArray,
    empty: str,
    said_in: Language,
) -> Row:
    """The squares of a map, with rows in groups: a code right below the total and the codes below it."""
    down, across = trees
    at = {(r, c): i for r, c, i in zip(*codes.tolist(), cells.tolist(), strict=True)}
    rows, columns = (h.order()[np.isin(h.order(), codes[d])].tolist() for d, h in enumerate(trees))
    notes = []
    if len(rows) > MAX_ROWS:
        notes.append(said_in.say("The first {n} of {m} rows are shown.", m=len(rows), n=MAX_ROWS))
    if len(columns) > MAX_COLUMNS:
        notes.append(said_in.say("The first {n} of {m} columns are shown.", m=len(columns), n=MAX_COLUMNS))
    rows, columns = rows[:MAX_ROWS], columns[:MAX_COLUMNS]

    def square(row: int, column: int) -> tuple[str, str]:
        cell = at.get((row, column))
        mark, description = ("e", empty) if cell is None else describe(cell)
        return mark, f"{down.codes[row]} × {across.codes[column]}: {description}"

    groups: list[Row] = []
    for row in rows:
        if not groups or down.depth[row] <= 1:
            groups.append({"rows": [], "suppressed": 0})
        squares = [square(row, column) for column in columns]
        groups[-1]["suppressed"] += sum(bool(suppressed[at[row, c]]) for c in columns if (row, c) in at)
        name = down.name(row, said_in.code)
        groups[-1]["rows"].append((name, int(down.depth[row]), not down.is_leaf[row], squares))
    return {
        "columns": [(across.name(c, said_in.code), not across.is_leaf[c]) for c in columns],
        "groups": groups,
        "open": len(rows) <= MAX_OPEN_ROWS,
        "head": min(30, max(len(down.name(r, said_in.code)) + 2 * int(down.depth[r]) for r in rows) + 4),  # characters
        "notes": notes,
    }
