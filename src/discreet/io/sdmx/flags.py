"""Given flags: the CONF_STATUS of the cells of a finished table as statuses by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.data.hierarchy import LABEL_SEPARATOR
from discreet.data.side_files import side_lines
from discreet.errors import FormatError, some
from discreet.presentation import GivenSecondaries

FREE_FLAGS = frozenset(["F", ""])
PRIMARY_FLAGS = frozenset("CAOTGM")
SECONDARY_FLAGS = frozenset("DS")
DECISION_FLAGS = frozenset("NEX")  # not for publication, embargo, military: suppressed without levels of their own
STRUCTURE_COLUMNS = ("DATAFLOW", "STRUCTURE_ID")
DELETE = "D"  # the action of an SDMX-CSV file that removes observations


def read_flags(
    path: str | Path, dimensions: Sequence[str], column: str = "CONF_STATUS", secondary: GivenSecondaries = "suppressed"
) -> dict[str, tuple[str, str]]:
    """Status and reason of each flagged cell of a CSV file, such as SDMX-CSV. Cells are labels such as ``A × North``.

    Cells flagged as sensitive are primary, secondaries have the status ``secondary``, and all others that may not be published
    are suppressed.
    """
    lines = side_lines(path)
    number, header = next(lines, (1, []))
    names = [name.strip() for name in header]
    missing = [name for name in (*dimensions, column) if name not in names]
    if missing:
        raise FormatError(
            f"{path}, line {number}: there is no column {some(missing)}. Columns are {some(names, 12)}.", missing
        )
    places = [names.index(name) for name in dimensions]
    flow = next((names.index(name) for name in STRUCTURE_COLUMNS if name in names), None)
    action = names.index("ACTION") if "ACTION" in names and "STRUCTURE_ID" in names else None
    flows: set[str] = set()
    statuses: dict[str, tuple[str, str]] = {}
    for number, fields in lines:
        padded = [field.strip() for field in fields] + [""] * (len(names) - len(fields))
        if flow is not None:
            flows.add(padded[flow])
        if len(flows) > 1:
            raise FormatError(f"{path}, line {number}: a second dataflow, {padded[flow or 0]!r}. Use a file with one.")
        if action is not None and padded[action] == DELETE:
            raise FormatError(f"{path}, line {number}: an observation to be deleted. Use a file with all observations.")
        status = _status(padded[names.index(column)], secondary)
        if status is None:
            raise FormatError(
                f"{path}, line {number}: {column} has no code {padded[names.index(column)]!r}. "
                f"Codes are {some(sorted((FREE_FLAGS | PRIMARY_FLAGS | SECONDARY_FLAGS | DECISION_FLAGS) - {''}), 20)}.",
            )
        if status:
            statuses[LABEL_SEPARATOR.join(padded[i] for i in places)] = (
                status,
                f"{column} {padded[names.index(column)]}",
            )
    return statuses


def _status(flag: str, secondary: GivenSecondaries) -> str | None:
    """The status by hand of a flag: empty for cells that may be published, None for an unknown flag."""
    if flag in FREE_FLAGS:
        return ""
    if flag in PRIMARY_FLAGS:
        return "primary"
    if flag in SECONDARY_FLAGS:
        return "suppressed" if secondary == "suppressed" else ""
    return "suppressed" if flag in DECISION_FLAGS else None
