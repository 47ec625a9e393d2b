"""The order in which commands may stand: data, metadata, tables with their rules, then what is done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.argus.commands import (
    Apriori,
    Clear,
    Command,
    OpenData,
    OpenMetadata,
    ReadMicrodata,
    ReadTable,
    Recode,
    SafetyRule,
    SpecifyTable,
    Suppress,
    WriteTable,
)
from discreet.errors import FormatError

# What must come before a command: the states of the reader in which it may stand, and the state after it.
_START, _DATA, _META, _TABLE, _RULES = range(5)
_ORDER: Mapping[type[Command], tuple[tuple[int, ...], int | None, str]] = {
    OpenMetadata: ((_DATA,), _META, "<OPENMICRODATA> or <OPENTABLEDATA> comes first"),
    SpecifyTable: ((_META, _RULES, _TABLE), _TABLE, "<OPENMETADATA> comes first"),
    SafetyRule: ((_TABLE,), _RULES, "<SPECIFYTABLE> comes first"),
    ReadMicrodata: ((_RULES,), None, "<SPECIFYTABLE> and <SAFETYRULE> come first"),
    ReadTable: ((_RULES, _TABLE), _RULES, "<SPECIFYTABLE> comes first"),
}


def check_order(path: Path, commands: Sequence[Command]) -> None:
    """Raise at the first command that the commands before do not prepare, as τ-ARGUS does."""
    state, tables, were_read, tabulated = _START, 0, 0, False
    for command in commands:
        fault = ""
        if isinstance(command, OpenData):
            again = command.tabulated and tabulated and state == _RULES
            fault = "" if state == _START or again else "data are open: <CLEAR> comes first"
            state, tabulated = _DATA, command.tabulated
        elif type(command) in _ORDER:
            allowed, after, fault_text = _ORDER[type(command)]
            fault = "" if state in allowed else fault_text
            state = state if after is None else after
            tables += isinstance(command, SpecifyTable)
            if isinstance(command, ReadMicrodata | ReadTable):
                if isinstance(command, ReadMicrodata) == tabulated:
                    fault = fault or (
                        "the data are a table: use <READTABLE>"
                        if tabulated
                        else "the data are records: use <READMICRODATA>"
                    )
                were_read = tables
        elif isinstance(command, Clear):
            state, tables, were_read = _START, 0, 0
        elif isinstance(command, Apriori | Recode | Suppress | WriteTable):
            if not were_read:
                fault = "<READMICRODATA> or <READTABLE> comes first"
            elif command.table > were_read:
                fault = f"there is no table {command.table}: {were_read} are specified and read"
        if fault:
            raise FormatError(f"{path}, line {command.line}: {fault}.")
