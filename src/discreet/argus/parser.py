"""Reads batch files of τ-ARGUS (``.arb``) into commands, and checks that they are complete and in order.

Source: τ-ARGUS version 4.1, User's Manual, section 5.7; parameters of later versions and the order of commands: its program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields as fields_of
from pathlib import Path

from discreet.argus.commands import (
    Apriori,
    Clear,
    Command,
    Logbook,
    OpenData,
    OpenMetadata,
    ReadMicrodata,
    ReadTable,
    Recode,
    RuleCall,
    SafetyRule,
    Skipped,
    SpecifyTable,
    Suppress,
    VersionInfo,
    WriteTable,
)
from discreet.argus.order import check_order
from discreet.errors import FormatError, placing, some
from discreet.io.argus.output import WriteOptions
from discreet.io.argus.text import nearest, numbered_lines

OPTIONS = tuple(one.name for one in fields_of(WriteOptions))
WRITE_TYPES = range(1, 8)
# The parameters of each rule, and how many of them are required.
BATCH_RULES: Mapping[str, tuple[tuple[str, ...], int]] = {
    "P": (("p", "q", "n"), 1),
    "NK": (("n", "k"), 2),
    "FREQ": (("minimum", "range"), 2),
    "ZERO": (("range",), 1),
    "REQ": (("percent1", "percent2", "minimum", "margin"), 4),
    "WGT": (("0 or 1",), 1),
    "MIS": (("0 or 1",), 1),
    "MAN": (("margin",), 1),
}
SWITCHES = ("WGT", "MIS")
MAX_CALLS = {"P": 4, "NK": 4, "FREQ": 2, "REQ": 2}  # other rules stand once
# The parameters of each method after the number of the table; required ones first.
BATCH_METHODS: Mapping[str, tuple[tuple[str, ...], int]] = {
    "GH": (("percent", "size", "singleton"), 0),
    "MOD": (
        ("minutes", "single_single", "single_multiple", "min_frequency", "max_cost", "lower_margin", "upper_margin"),
        0,
    ),
    "OPT": (("minutes",), 0),
    "NET": ((), 0),
    "RND": (("base", "steps", "minutes", "partitions", "stop", "unit_cost"), 1),
    "CTA": ((), 0),
    "CKM": ((), 0),
}
LINKED = ("GH", "MOD")  # methods that protect all tables together


def read_batch(path: str | Path) -> list[Command]:
    """The commands of a batch file."""
    commands: list[Command] = []
    for number, line in numbered_lines(path):
        text = _without_comment(line)
        if not text or text.startswith("\\\\"):
            continue
        with placing(f"{path}, line {number}"):
            commands.append(_command(number, text))
    if not commands:
        raise FormatError(f"{path} has no commands.")
    check_order(Path(path), commands)
    return commands


def _without_comment(line: str) -> str:
    """The line up to ``//``, which may stand within quotes."""
    quoted = False
    for k, sign in enumerate(line):
        quoted ^= sign == '"'
        if not quoted and line.startswith("//", k):
            return line[:k].strip()
    return line


def _command(line: int, text: str) -> Command:
    found = re.match(r"<\s*(\w+)\s*>\s*(.*)$", text)
    if found is None:
        raise FormatError(f"a command begins with a keyword such as <SUPPRESS>, found {text.split()[0]!r}.")
    keyword, rest = found[1].upper(), found[2].strip()
    if keyword not in BATCH_COMMANDS:
        known = [f"<{name}>" for name in BATCH_COMMANDS]
        raise FormatError(f"there is no command <{keyword}>.{nearest(f'<{keyword}>', known)}", [keyword])
    return BATCH_COMMANDS[keyword](line, rest)


# -- parts of commands ---------------------------------------------------------------------------------------------


def _file(text: str) -> str:
    """A name of a file, with or without quotes."""
    name = text.strip().strip('"').strip()
    if not name:
        raise FormatError("the name of a file is missing.")
    if "\0" in name:
        raise FormatError("the name of a file has a character that names cannot have.")
    return name


def _nothing(rest: str) -> None:
    if rest:
        raise FormatError(f"nothing is expected after the command, found {rest!r}.", [rest])


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise FormatError(f"{what} is a number, not {text!r}.", [text])
    return number


def _table(text: str, *, linked: bool = False) -> int:
    if not re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII) or (int(text) == 0 and not linked):
        raise FormatError(f"the number of a table is 1 or more, not {text.strip()!r}.", [text])
    return int(text)


def _switch(text: str, what: str) -> bool:
    if text.strip() not in ("0", "1"):
        raise FormatError(f"{what} is 0 or 1, not {text.strip()!r}.", [text])
    return text.strip() == "1"


def _call(text: str) -> tuple[str, list[str], str]:
    """The name, the arguments and the rest of ``NAME(a,b) rest``."""
    found = re.match(r"\s*(\w+)\s*\(([^()]*)\)\s*(.*)$", text)
    if found is None:
        raise FormatError(
            f"expected a name and parameters in brackets, such as MOD(1), found {text.strip()!r}.", [text]
        )
    arguments = [part.strip() for part in found[2].split(",")] if found[2].strip() else []
    return found[1].upper(), arguments, found[3]


def _counted(name: str, given: Sequence[str], listed: Sequence[str], required: int) -> None:
    if not required <= len(given) <= len(listed):
        written = ",".join(listed[:required]) + "".join(f"[,{one}]" for one in listed[required:])
        raise FormatError(f"{name} takes {name}({written.lstrip(',')}), and was given {len(given)} parameters.", [name])


# -- commands ------------------------------------------------------------------------------------------------------


def _specify(line: int, rest: str) -> Command:
    parts = _parts(rest)
    names = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|([^\s"]+)', parts[0])]
    if not names or len(parts) < 2 or not parts[1].strip(' "'):
        raise FormatError('expected "variable""variable"|"response", found something else.')
    response, *more = (part.strip().strip('"').strip() for part in parts[1:])
    shadow = more[0] if more else ""
    cost, _, power = more[1].partition(",") if len(more) > 1 else ("", "", "")
    if len(more) > 2:
        power = more[2]
    if len(more) > 3:
        raise FormatError("expected no more than variables, response, shadow variable, cost variable and lambda.")
    exponent = _number(power, "lambda") if power.strip(' "') else 1.0
    if not 0 <= exponent <= 1:
        raise FormatError("lambda is a number from 0 to 1.")
    twice = [name for name in names if [one.upper() for one in names].count(name.upper()) > 1]
    if twice:
        raise FormatError(f"variable {twice[0]!r} spans the table twice.", twice)
    return SpecifyTable(line, tuple(names), response, shadow, cost.strip().strip('"').strip(), exponent)


def _parts(text: str) -> list[str]:
    """The parts between ``|`` outside quotes, with their quotes."""
    return re.split(r"\|(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", text)


def _rules(line: int, rest: str) -> Command:
    calls = []
    for part in rest.split("|") if rest else []:
        if not part.strip():
            continue
        name, given, after = _call(part)
        _nothing(after)
        if name not in BATCH_RULES:
            raise FormatError(
                f"there is no rule {name}.{nearest(name, list(BATCH_RULES))} The rules are {some(list(BATCH_RULES), 9)}.",
                [name],
            )
        listed, required = BATCH_RULES[name]
        _counted(name, given, listed, required)
        numbers = tuple(_number(number, f"a parameter of {name}") for number in given)
        if any(number < 0 for number in numbers) or (name in SWITCHES and numbers[0] not in (0, 1)):
            raise FormatError(f"{name} takes {'0 or 1' if name in SWITCHES else 'numbers of 0 or more'}.", [name])
        whole = {"P": 2 if len(numbers) == 3 else 1, "NK": 0}.get(
            name, len(numbers)
        )  # place of a number of contributors
        if any(number != int(number) for number in numbers[whole : whole + 1]):
            raise FormatError(f"n of {name} is an integer, not {numbers[whole]:g}.", [name])
        calls.append(RuleCall(name, numbers))
    for name in BATCH_RULES:
        most = MAX_CALLS.get(name, 1)
        if [call.name for call in calls].count(name) > most:
            raise FormatError(f"{name} stands {most} times at most.", [name])
    return SafetyRule(line, tuple(calls))


def _read_table(line: int, rest: str) -> Command:
    found = re.fullmatch(r"([012]?)\s*([TtFf]?)", rest)
    if found is None or (found[2] and found[1] != "1"):
        raise FormatError(f"<READTABLE> takes 0, 1, 1T or 2, not {rest!r}.", [rest])
    return ReadTable(line, found[1] == "1", found[2].upper() == "T", found[1] == "2")


def _apriori(line: int, rest: str) -> Command:
    given = [part.strip() for part in re.split(r",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", rest)]
    if not 3 <= len(given) <= 5:
        raise FormatError('<APRIORI> takes "file",table,"separator"[,ignore errors][,expand trivial levels].')
    separator = given[2].strip('"')
    if not separator:
        raise FormatError(
            'the separator of the a priori file is missing: write it in quotes after the number of the table, such as ";".'
        )
    switches = [
        _switch(text, what) if text else default
        for text, what, default in zip(
            [*given[3:], "", ""], ("ignore errors", "expand trivial levels"), (True, False), strict=False
        )
    ]
    return Apriori(line, _file(given[0]), _table(given[1]), separator, *switches)


def _recode(line: int, rest: str) -> Command:
    table, _, more = rest.partition(",")
    variable, _, how = more.partition(",")
    name, how = variable.strip().strip('"').strip(), how.strip().strip('"').strip()
    if not name or not how:
        raise FormatError('<RECODE> takes table,variable,"file" or table,variable,level.')
    if re.fullmatch(r"[1-9]", how):
        return Recode(line, _table(table), name, level=int(how))
    return Recode(line, _table(table), name, how)


def _suppress(line: int, rest: str) -> Command:
    name, given, after = _call(rest)
    if name not in BATCH_METHODS:
        raise FormatError(
            f"there is no method {name}.{nearest(name, list(BATCH_METHODS))} Methods are {some(list(BATCH_METHODS), 9)}.",
            [name],
        )
    if not given:
        raise FormatError(f"{name} needs the number of a table.", [name])
    listed, required = BATCH_METHODS[name]
    _counted(name, given, ("table", *listed), required + 1)
    arguments = {
        what: _number(number, f"{what} of {name}") for what, number in zip(listed, given[1:], strict=False) if number
    }
    _check_arguments(name, arguments)
    files: tuple[str, ...] = ()
    if name == "CKM":
        files = tuple(part.strip().strip('"').strip() for part in after.split("|")) if after else ()
    else:
        _nothing(after)
    return Suppress(line, name, _table(given[0], linked=name in LINKED), arguments, files)


def _check_arguments(name: str, given: Mapping[str, float]) -> None:
    """Raise if a parameter has a value that it cannot have."""
    switches = ("singleton", "single_single", "single_multiple", "min_frequency", "partitions", "unit_cost")
    for what, number in given.items():
        if what == "steps" and number != int(number):
            raise FormatError(f"{what} of {name} is an integer, not {number:g}.", [what])
        known: tuple[float, ...] = (0, 1) if what in switches else (1, 2, 3) if what == "stop" else ()
        if number < 0 or (known and number not in known) or (what in ("base", "minutes") and number == 0):
            limits = " or ".join(f"{one:g}" for one in known) or (
                "a number above 0" if what in ("base", "minutes") else "0 or more"
            )
            raise FormatError(f"{what} of {name} is {limits}, not {number:g}.", [what])


def _write(line: int, rest: str) -> Command:
    found = re.fullmatch(r"\(\s*(\d*)\s*,\s*(\d*)\s*,([^\",]*),(.*)\)", rest)
    if found is None:
        raise FormatError('<WRITETABLE> takes (table,type,options,"file"), with options such as AS+SE-, or none.')
    if not found[2] or int(found[2]) not in WRITE_TYPES:
        raise FormatError(f"types of output are 1 to {WRITE_TYPES[-1]}, not {found[2]!r}.", [found[2]])
    kind = int(found[2])
    given: dict[str, bool] = {"FL": kind == 2}
    text = found[3].upper().replace(" ", "")
    while text:
        name, sign = text[:2], text[2:3]
        if name not in OPTIONS:
            raise FormatError(
                f"there is no option {name}.{nearest(name, list(OPTIONS))} Options are {some(OPTIONS, 20)}.", [name]
            )
        if sign not in ("+", "-"):
            raise FormatError(f"option {name} is followed by + or -.", [name])
        given[name], text = sign == "+", text[3:]
    return WriteTable(line, _table(found[1]), kind, WriteOptions(**given), _file(found[4]))


def _solver(line: int, rest: str) -> Command:
    name, _, licence = rest.partition(",")
    name = name.strip().upper()
    if name not in ("FREE", "CPLEX", "XPRESS"):
        raise FormatError(f"there is no solver {name!r}.{nearest(name, ['FREE', 'CPLEX', 'XPRESS'])}", [name])
    more = " and its licence file" if licence.strip() else ""
    return Skipped(line, "SOLVER", f"the solver {name}{more} is not used: methods here use HiGHS.")


def _skipped(keyword: str, sentence: str) -> Callable[[int, str], Command]:
    return lambda line, rest: Skipped(line, keyword, sentence)


def _alone(kind: type[Command]) -> Callable[[int, str], Command]:
    def made(line: int, rest: str) -> Command:
        _nothing(rest)
        return kind(line)

    return made


BATCH_COMMANDS: Mapping[str, Callable[[int, str], Command]] = {
    "COMMENT": _skipped("COMMENT", ""),
    "OPENMICRODATA": lambda line, rest: OpenData(line, _file(rest), tabulated=False),
    "OPENTABLEDATA": lambda line, rest: OpenData(line, _file(rest), tabulated=True),
    "OPENMETADATA": lambda line, rest: OpenMetadata(line, _file(rest)),
    "SPECIFYTABLE": _specify,
    "SAFETYRULE": _rules,
    "READMICRODATA": _alone(ReadMicrodata),
    "READTABLE": _read_table,
    "APRIORI": _apriori,
    "APRIORY": _apriori,
    "RECODE": _recode,
    "SUPPRESS": _suppress,
    "WRITETABLE": _write,
    "LOGBOOK": lambda line, rest: Logbook(line, _file(rest)),
    "VERSIONINFO": lambda line, rest: VersionInfo(line, _file(rest)),
    "CLEAR": _alone(Clear),
    "SOLVER": _solver,
    "GOINTERACTIVE": _skipped("GOINTERACTIVE", "there is no window to go on in."),
    "SILENT": _skipped("SILENT", "no windows are opened in any case."),
    "COVER": _skipped("COVER", "linked tables are protected by their shared cells, without a cover table."),
    "ANCO": _skipped("ANCO", "it is a switch for the developers of τ-ARGUS."),
    "JJ": _skipped("JJ", "τ-ARGUS skips it, too; see `discreet protect` for JJ files."),
}
