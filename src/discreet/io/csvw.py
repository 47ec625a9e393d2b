"""CSV on the Web: metadata in JSON about the release as CSV, which stands beside it.

Source: Metadata Vocabulary for Tabular Data, W3C Recommendation of 17 December 2015.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discreet.errors import reading
from discreet.io.csv import FORMULA_STARTS, guarded
from discreet.io.cube import CubeAxis, axes_of, table_title
from discreet.release import Release

SUFFIX = "-metadata.json"  # after the name of the CSV file, where readers look for it


def write_release(release: Release, path: str | Path, name: str = "") -> None:
    """Metadata for the CSV file whose name is that of this file, or ``name``, without ``-metadata.json``."""
    content = json.dumps(description(release, described(name or Path(path).name)), ensure_ascii=False, indent=2)
    Path(path).write_text(content + "\n", encoding="utf-8")


def described(name: str) -> str:
    """The name of the CSV file that a file of metadata is about."""
    return name.removesuffix(SUFFIX)


def description(release: Release, csv: str) -> dict[str, Any]:
    """The content of the file. Suppressed cells are null: the suppression symbol stands for no value."""
    about, lang = release.presentation.metadata, release.lang
    symbol = release.symbol if release.symbol in FORMULA_STARTS else guarded(release.symbol)
    columns: list[dict[str, Any]] = []
    for i, axis in enumerate(axes_of(release)):
        columns.append(
            {
                "name": f"d{i + 1}",
                "titles": guarded(axis.column),
                "datatype": "string",
                "required": True,
                "dc:title": _in(lang, axis.title),
                "skos:member": [_concept(release, axis, code, lang) for code in axis.codes],
            }
        )
    for k, name in enumerate((release.response, *release.ends)):
        columns.append(
            {
                "name": ("value", "lower", "upper")[k],
                "titles": guarded(name),
                "datatype": "decimal",
                "null": [symbol] if k == 0 else [""],
                "dc:title": _in(lang, release.title(name)),
            }
        )
    notes = [text for text in (about.subtitle, *about.notes) if text]
    notes += [f"{mark}: {meaning}" for mark, meaning in release.legend()]
    found: dict[str, Any] = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": lang}],
        "url": quote(csv),
        "dc:title": table_title(release),
        "dc:creator": about.contact,
        "dc:source": about.source,
        "dc:modified": {"@value": about.date, "@type": "xsd:date"},
        "schema:unitText": about.unit,
        "notes": [{"@type": "oa:Annotation", "oa:hasBody": text} for text in notes],
        "dialect": {"encoding": "utf-8", "delimiter": ",", "quoteChar": '"', "doubleQuote": True, "header": True},
        "tableSchema": {"columns": columns},
    }
    return {name: part for name, part in found.items() if part}


def _concept(release: Release, axis: CubeAxis, code: str, lang: str) -> dict[str, Any]:
    """A code as it is written, its labels in all languages, and the code above it."""
    i = axis.index[code]
    labels = [_in(lang, axis.labels[i])]
    hierarchy = release.hierarchies.get(axis.column)
    if hierarchy is not None:
        labels += [
            _in(other, of[code]) for other, of in hierarchy.labels.items() if other not in ("", lang) and code in of
        ]
    found: dict[str, Any] = {"skos:notation": guarded(code), "skos:prefLabel": labels}
    return found if axis.parents[i] < 0 else found | {"skos:broader": guarded(axis.codes[axis.parents[i]])}


def _in(lang: str, text: str) -> dict[str, str]:
    return {"@value": text, "@language": lang}


def read_metadata(path: str | Path) -> dict[str, Any]:
    """The content of a file of metadata."""
    with reading(path, f"{path} is not metadata of CSV on the Web, or it is damaged.", ValueError, OSError):
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("not an object")
        return found
