"""Where figures go: CSV files that say when, where and at which commit they were measured, and tables to read."""

from __future__ import annotations

import csv
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, str]:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        check=False,
    )
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    }


def write_csv(path: Path, records: Sequence[dict[str, Any]], here: dict[str, str]) -> None:
    """One line a record, with the machine (as it was when measuring began); what was not measured stays empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=[*records[0], *here])
        writer.writeheader()
        writer.writerows(record | here for record in records)


def update_csv(path: Path, record: dict[str, Any], key: Sequence[str]) -> None:
    """Add a line, in place of an earlier one with the same ``key``."""
    same = [str(record[name]) for name in key]
    kept = [line for line in read_csv(path) if [line[name] for name in key] != same]
    names = list(dict.fromkeys(name for line in (record, *kept) for name in line))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=names)
        writer.writeheader()
        writer.writerows([*kept, record])


def read_csv(path: Path) -> list[dict[str, str]]:
    """The lines of a file; none if there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def markdown(rows: Sequence[dict[str, str]]) -> str:
    """Rows as a table that reads well on a terminal and on a page; all columns but the first are figures."""
    names = list(rows[0])
    width = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    lines = [[name.ljust(width[name]) for name in names]]
    lines += [["-" * width[names[0]], *("-" * (width[name] - 1) + ":" for name in names[1:])]]
    lines += [
        [row[names[0]].ljust(width[names[0]]), *(row[name].rjust(width[name]) for name in names[1:])] for row in rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
