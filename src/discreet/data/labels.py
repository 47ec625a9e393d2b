"""Labels: what readers see in place of codes, in several languages, and the code lists that give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from discreet.data.side_files import read_side_file, side_lines
from discreet.errors import FormatError, some

LABEL = "label"  # the column of labels in no particular language; ``label:de`` has German ones

Labels: TypeAlias = Mapping[str, Mapping[str, str]]  # language, or "" for none in particular → code → label


def merged_labels(*several: Labels) -> dict[str, dict[str, str]]:
    """All labels; of several for the same code and language the last."""
    merged: dict[str, dict[str, str]] = {}
    for labels in several:
        for lang, of in labels.items():
            merged.setdefault(lang, {}).update(of)
    return {lang: of for lang, of in merged.items() if of}


@dataclass(frozen=True)
class CodeList:
    """Codes in the order in which they are shown, and their labels."""

    codes: tuple[str, ...]
    labels: Labels

    @classmethod
    def from_csv(cls, path: str | Path) -> CodeList:
        """From a CSV file with the column ``code``, and ``label``, ``label:de`` … with the names of codes."""
        rows, labels = code_list_rows(path, ["code"])
        codes = tuple(row["code"] for row in rows)
        if not codes:
            raise FormatError(f"{path} holds no codes.")
        twice = sorted({code for code in codes if codes.count(code) > 1}) if len(set(codes)) < len(codes) else []
        if twice:
            raise FormatError(f"{path}: codes are listed more than once: {some(twice)}. Leave one line of each.", twice)
        return cls(codes, labels)


def code_list_rows(path: str | Path, required: list[str]) -> tuple[list[dict[str, str]], dict[str, dict[str, str]]]:
    """The rows of a file of codes without blanks around them, and its labels by language."""
    header = next((fields for _, fields in side_lines(path)), [])
    columns = {name.strip(): language_of(name) for name in header}
    named = {name: lang for name, lang in columns.items() if lang is not None}
    read = read_side_file(path, required, list(named), others=True)
    rows = [{name: text.strip() for name, text in row.items()} for _, row in read]
    labels = {lang: {row["code"]: row[name] for row in rows if row[name]} for name, lang in named.items()}
    return rows, {lang: of for lang, of in labels.items() if of}


def language_of(column: str) -> str | None:
    """The language of a column of labels, "" if it has none; None for other columns."""
    name, colon, lang = column.strip().partition(":")
    if name.strip().lower() != LABEL or (colon and not lang.strip()):
        return None
    return lang.strip().lower()
