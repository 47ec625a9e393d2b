"""The folder of a session: ``results.json``, one CSV file per output, ``config.json`` and checksums.

The form is that of ACRO, which its loader and the SACRO viewer read: https://github.com/AI-SDC/ACRO.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import discreet
from discreet.analysis.combination import Verdict
from discreet.analysis.protected_table import ProtectedTable
from discreet.errors import FormatError, plural
from discreet.io.csv import guarded

ACRO_FORM = (
    "1.0.2"  # the version of ACRO that wrote this form first; its loader compares it, the viewer wants 0.4 or later
)
COUNTED_REASONS = ("threshold", "p-ratio", "nk-rule", "secondary")  # reasons that are always counted


@dataclass(frozen=True, eq=False, repr=False)
class CollectedOutput:
    """A protected table of a session, with what its author says about it."""

    table: ProtectedTable
    timestamp: str
    comments: list[str] = field(default_factory=list)
    exception: str = ""


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything: files of another session would be taken for those of this one."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FormatError(f"{folder} exists and is not empty. Name a new folder for this session, or remove it.")


def write_results(folder: Path, outputs: Mapping[str, CollectedOutput], verdicts: Mapping[str, Verdict]) -> Path:
    """Write all files, or none if that fails; returns the path of ``results.json``."""
    from discreet.jobs.job import write_together  # not needed before: it imports reports and attacks

    texts = {f"{name}_0.csv": _csv(output.table) for name, output in outputs.items()}
    entries = {name: _entry(name, output, verdicts[name]) for name, output in outputs.items()}
    tool = {"@type": "SoftwareApplication", "name": "discreet", "version": discreet.__version__}
    # Escaped to ASCII, as the viewer reads the file in the encoding of its machine.
    texts["results.json"] = json.dumps({"version": ACRO_FORM, "tool": tool, "results": entries}, indent=4)
    texts["config.json"] = json.dumps({name: _settings(one.table) for name, one in outputs.items()}, indent=4)
    files = {folder / name: text.encode() for name, text in texts.items()}
    sums = {folder / "checksums" / f"{path.name}.txt": hashlib.sha256(text).hexdigest() for path, text in files.items()}
    contents = files | {path: text.encode() for path, text in sums.items()}
    (folder / "checksums").mkdir(parents=True, exist_ok=True)
    write_together({path: partial(_write, text) for path, text in contents.items()}, public=contents)
    return folder / "results.json"


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _csv(table: ProtectedTable) -> str:
    """The table as CSV with one header line and one column of labels, so that positions are those of ``sdc``."""
    frame = table.flat()
    frame.index = frame.index.map(guarded)
    frame.columns = frame.columns.map(guarded)
    return str(frame.to_csv(lineterminator="\n"))


def _entry(name: str, output: CollectedOutput, verdict: Verdict) -> dict[str, Any]:
    table = output.table
    return {
        "uid": name,
        "status": verdict.status,
        "type": "table",
        "properties": {"method": table.command.partition("(")[0], "mitigation": _method(table)},
        "files": [{"name": f"{name}_0.csv", "sdc": _sdc(table)}],
        "outcome": _outcome(table),
        "command": table.command,
        "summary": _summary(table, verdict),
        "timestamp": output.timestamp,
        "comments": output.comments,
        "exception": output.exception,
        "fair": {},
    }


def _sdc(table: ProtectedTable) -> dict[str, Any]:
    """The suppressed cells by reason: their numbers, and their positions as row and column."""
    names = list(dict.fromkeys([*COUNTED_REASONS, *table.reasons]))
    cells = {name: [list(position) for position in table.reasons.get(name, [])] for name in names}
    summary: dict[str, Any] = {"suppressed": bool(table.content.terms)}
    return {"summary": summary | {name: len(found) for name, found in cells.items()}, "cells": cells}


def _outcome(table: ProtectedTable) -> dict[str, dict[str, str]]:
    """For each cell ``ok``, or the reasons why it is suppressed, by column and row."""
    reasons: dict[tuple[int, int], str] = {}
    for name, positions in table.reasons.items():
        for position in positions:
            reasons[position] = reasons.get(position, "") + f"{name}; "
    frame = table.flat()
    return {
        column: {row: reasons.get((r, c), "ok") for r, row in enumerate(frame.index)}
        for c, column in enumerate(frame.columns)
    }


def _summary(table: ProtectedTable, verdict: Verdict) -> str:
    """The status, how many cells are suppressed for which reason, and doubts, separated as the viewer expects."""
    counts = [f"{name}: {plural(len(cells), 'cell')} suppressed" for name, cells in table.reasons.items()]
    return "; ".join([verdict.status, *counts, *(reason.replace("; ", ", ") for reason in verdict.reasons)]) + "; "


def _settings(table: ProtectedTable) -> dict[str, Any]:
    """What a checker needs to judge the output: rules, method, and the conditions of the verdict. Confidential."""
    rules = [str(rule) for rule in table.options.rules]
    return {"rules": rules, "method": str(table.options.method), "conditions": table.promise}


def _method(table: ProtectedTable) -> str:
    """How cells are protected: ``suppress``, as in ACRO, or the name of another method."""
    method = table.options.method
    return "suppress" if table.options.suppresses else method if isinstance(method, str) else method.name
