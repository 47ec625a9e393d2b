"""JSON-stat 2.0, for web pages and programs.

Source: JSON-stat full format, version 2.0 (json-stat.org/full).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import reading
from discreet.io.cube import SUPPRESSED, Cube, CubeAxis, cube_legend, table_title, unused
from discreet.release import Release

NO_FIGURE_STATUS, OTHER_STATUS = ":", ".."  # of entries without a figure that are not suppressed; if ":" is the symbol


def write_release(release: Release, path: str | Path) -> None:
    """A dataset; linked tables are a collection of datasets. Values of suppressed cells are null, their status the symbol."""
    text = json.dumps(response(release), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def response(release: Release) -> dict[str, Any]:
    """The content of the file."""
    if not release.tables:
        return dataset(release)
    parts = [release.part(number) for number in range(1, len(release.tables) + 1)]
    return {
        "version": "2.0",
        "class": "collection",
        "label": table_title(release),
        "updated": release.presentation.metadata.date,
        "link": {"item": [dataset(part) for part in parts]},
    }


def dataset(release: Release) -> dict[str, Any]:
    """A table, with the response and the ends of intervals as the categories of its last dimension."""
    cube, about = Cube.of(release), release.presentation.metadata
    measure = unused("measure", [axis.column for axis in cube.axes])
    values = np.column_stack([cube.values(name) for name in cube.measures])
    is_integer = [bool(np.all(column[~np.isnan(column)] == np.round(column[~np.isnan(column)]))) for column in values.T]
    numbers: list[Any] = [
        None if value != value else int(value) if whole and abs(value) < 2**53 else value
        for row in values.tolist()
        for value, whole in zip(row, is_integer, strict=True)
    ]
    kinds = np.repeat(cube.kinds, len(cube.measures)).tolist()
    signs = {SUPPRESSED: release.symbol}
    no_figure = OTHER_STATUS if release.symbol == NO_FIGURE_STATUS else NO_FIGURE_STATUS
    status = {str(i): signs.get(kinds[i], no_figure) for i, number in enumerate(numbers) if number is None}
    legend = {mark: meaning for mark, meaning in cube_legend(cube, no_figure) if mark in status.values()}
    found: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": table_title(release, cube.axes),
        "source": about.source,
        "updated": about.date,
        "note": [text for text in (about.subtitle, *about.notes) if text],
        "id": [*(axis.column for axis in cube.axes), measure],
        "size": [*cube.shape, len(cube.measures)],
        "role": {"metric": [measure]},
        "dimension": {axis.column: _dimension(axis) for axis in cube.axes} | {measure: _measures(cube)},
        "value": numbers,
        "status": status,
        "extension": {"lang": release.lang, "status": {"label": legend}, "contact": about.contact},
    }
    optional = ("source", "note", "status")
    found["extension"] = {name: part for name, part in found["extension"].items() if part and part != {"label": {}}}
    return {name: part for name, part in found.items() if part or name not in optional}


def _dimension(axis: CubeAxis) -> dict[str, Any]:
    category: dict[str, Any] = {
        "index": list(axis.codes),
        "label": dict(zip(axis.codes, axis.labels, strict=True)),
    }
    if axis.children:
        category["child"] = axis.children
    return {"label": axis.title, "category": category}


def _measures(cube: Cube) -> dict[str, Any]:
    release, unit = cube.release, cube.release.presentation.metadata.unit
    title, say = release.title(release.response), release.language.say
    labels = [title, *(f"{title} {side}" for side in release.in_words().sides)][: len(cube.measures)]
    units = {"label": unit, "decimals": cube.decimals} if unit else {"decimals": cube.decimals}
    return {
        "label": say("measure"),
        "category": {
            "index": list(cube.measures),
            "label": dict(zip(cube.measures, labels, strict=True)),
            "unit": {name: units for name in cube.measures},
        },
    }


def read_jsonstat(path: str | Path) -> list[dict[str, Any]]:
    """The datasets of a file."""
    with reading(path, f"{path} is not a JSON-stat file, or it is damaged.", ValueError, OSError, KeyError):
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        return [found] if found["class"] == "dataset" else list(found["link"]["item"])
