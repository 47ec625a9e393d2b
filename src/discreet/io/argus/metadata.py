"""Metadata of τ-ARGUS (``.rda``): the variables of records or of a table, and their roles.

A variable begins with a line ``name start width [missing codes]``; in files with separators the start is left out, and in
metadata of tables the width, too. Lines that begin with a keyword, such as ``<NUMERIC>``, describe the variable above them.

Source: τ-ARGUS version 4.1, User's Manual, section 5.1; the keywords of the cell key method: its program, version 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from discreet.errors import FormatError
from discreet.io.argus.text import nearest, numbered_lines, words

Kind = Literal["records", "table"]
Role = Literal["", "shadow", "cost", "lower", "upper", "frequency", "largest", "status"]
MAX_DISTANCES = 5  # costs by number of steps from a primary cell

# Keywords of the cell key method for magnitudes, and of the program itself, that say nothing about the data.
NOTED = (
    "<TRUNCABLE>",
    "<CKM>",
    "<INCLUDEZEROS>",
    "<PARITY>",
    "<SEPARATION>",
    "<SCALING>",
    "<PFILE_CONT>",
    "<PFILE_SEP>",
)


@dataclass(frozen=True)
class Variable:
    """A column of a data file, and what it is used for."""

    name: str
    line: int
    start: int = 0  # of fixed-width records, from 0
    width: int = 0  # 0: not stated
    missing: tuple[str, ...] = ()
    categorical: bool = False
    numeric: bool = False
    weight: bool = False
    holding: bool = False
    record_key: bool = False
    request: tuple[str, ...] = ()  # codes of those who requested protection, for the two percentages of REQ
    decimals: int = 0
    total: str = "Total"
    codelist: str = ""
    hierarchical: bool = False
    hierarchy: str = ""  # file with the hierarchy
    leader: str = "@"
    levels: tuple[int, ...] = ()
    distances: tuple[int, ...] = ()
    probabilities: str = ""  # file with the perturbation table of counts
    role: Role = ""  # in tables
    noted: tuple[tuple[int, str], ...] = ()  # lines and keywords that are not used


@dataclass(frozen=True)
class Metadata:
    """The variables of a data file, in its order."""

    path: Path
    kind: Kind
    variables: tuple[Variable, ...]
    separator: str = ""  # empty: fixed-width records
    safe: str = "S"
    unsafe: str = "U"
    protect: str = "P"

    def find(self, name: str) -> Variable | None:
        """The variable with this name, in any capitals."""
        return next((one for one in self.variables if one.name.upper() == name.upper()), None)

    def single(self, attribute: str) -> Variable | None:
        """The variable that is the weight, the holding …"""
        return next((one for one in self.variables if getattr(one, attribute)), None)

    def with_role(self, role: Role) -> list[Variable]:
        return [one for one in self.variables if one.role == role]


@dataclass
class _Draft:
    """What has been read so far."""

    path: Path
    kind: Kind
    variables: list[Variable] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    line: int = 0

    def fault(self, message: str, *offenders: str) -> FormatError:
        return FormatError(f"{self.path}, line {self.line}: {message}", offenders)

    def change(self, **columns: Any) -> None:
        if not self.variables:
            raise self.fault("an option before the first variable.")
        self.variables[-1] = replace(self.variables[-1], **columns)


def read_metadata(path: str | Path, kind: Kind) -> Metadata:
    """The metadata in an ``.rda`` file for records or for a table."""
    draft = _Draft(Path(path), kind)
    for draft.line, text in numbered_lines(path):
        found = words(text)
        while found:
            if not found[0].startswith("<"):
                if text.startswith("<"):
                    raise draft.fault(f"{found[0]!r} is not expected here.", found[0])
                _variable(draft, found)
                break
            found = _option(draft, found[0].upper(), found[1:])
    if not draft.variables:
        raise FormatError(f"{path} lists no variables.")
    return Metadata(Path(path), kind, tuple(draft.variables), **draft.facts)


def _variable(draft: _Draft, found: list[str]) -> None:
    name, *rest = found
    n_numbers = 0 if draft.kind == "table" else 1 if "separator" in draft.facts else 2
    shape = ("name start width", "name width", "name")[2 - n_numbers]
    numbers = rest[:n_numbers]
    if len(numbers) < n_numbers or not all(len(word) < 10 and word.isdecimal() and int(word) for word in numbers):
        raise draft.fault(f"a variable reads '{shape} [missing codes]'.")
    if name.upper() in (one.name.upper() for one in draft.variables):
        raise draft.fault(f"variable {name!r} occurs a second time.", name)
    width = int(numbers[-1]) if numbers else 0
    start = int(numbers[0]) - 1 if n_numbers == 2 else 0
    missing = tuple(code.strip() for code in rest[n_numbers:] if code.strip())
    draft.variables.append(Variable(name, draft.line, start, width, missing))


def _option(draft: _Draft, keyword: str, rest: list[str]) -> list[str]:
    """Take in an option with its words; returns the words of the options after it."""
    known = {**_OPTIONS, **(_RECORD_OPTIONS if draft.kind == "records" else _TABLE_OPTIONS)}
    if keyword not in known:
        raise draft.fault(f"there is no keyword {keyword}.{nearest(keyword, list(known))}", keyword)
    after = next((k for k, word in enumerate(rest) if word.upper() in known), len(rest))
    known[keyword](draft, rest[:after])
    return rest[after:]


# -- options ---------------------------------------------------------------------------------------------------

Option = Callable[[_Draft, list[str]], None]


def _fact(name: str) -> Option:
    def take(draft: _Draft, given: list[str]) -> None:
        draft.facts[name] = _one(draft, given)

    return take


def _is(**columns: Any) -> Option:
    def take(draft: _Draft, given: list[str]) -> None:
        if given:
            raise draft.fault(f"{given[0]!r} is not expected here.", given[0])
        draft.change(**columns)

    return take


def _text(name: str) -> Option:
    return lambda draft, given: draft.change(**{name: _one(draft, given)})


def _one(draft: _Draft, given: list[str]) -> str:
    if len(given) != 1 or not given[0]:
        raise draft.fault(f"one value is expected here, found {len(given)}.")
    return given[0]


def _integers(draft: _Draft, given: list[str]) -> tuple[int, ...]:
    if not given or not all(len(word) < 10 and word.isdecimal() for word in given):
        raise draft.fault("integers are expected here.")
    return tuple(map(int, given))


def _levels(draft: _Draft, given: list[str]) -> None:
    widths = _integers(draft, given)
    known = draft.variables[-1].width if draft.variables else 0
    if known and sum(widths) != known:
        raise draft.fault(f"the levels have {sum(widths)} characters together, and the variable {known}.")
    draft.change(levels=tuple(width for width in widths if width))


def _distance(draft: _Draft, given: list[str]) -> None:
    steps = _integers(draft, given)[:MAX_DISTANCES]
    draft.change(distances=steps + steps[-1:] * (MAX_DISTANCES - len(steps)))


def _decimals(draft: _Draft, given: list[str]) -> None:
    draft.change(decimals=_integers(draft, [_one(draft, given)])[0])


def _request(draft: _Draft, given: list[str]) -> None:
    codes = tuple(code.strip() for code in given if code.strip())
    if not 1 <= len(codes) <= 2:
        raise draft.fault("one or two codes of those who request protection are expected here.")
    draft.change(request=codes)


def _separator(draft: _Draft, given: list[str]) -> None:
    if draft.variables:
        raise draft.fault("<SEPARATOR> comes before the first variable.")
    signs = {"TAB": "\t", "\\T": "\t", "": " "}
    sign = given[0] if given else ""
    draft.facts["separator"] = signs.get(sign.upper(), sign)


def _spss(draft: _Draft, given: list[str]) -> None:
    raise draft.fault("system files of SPSS are not read. In SPSS save the data as text, and describe that file here.")


def _noted(keyword: str) -> Option:
    def take(draft: _Draft, given: list[str]) -> None:
        noted = draft.variables[-1].noted if draft.variables else ()
        draft.change(noted=(*noted, (draft.line, keyword)))

    return take


_OPTIONS: dict[str, Option] = {
    "<SEPARATOR>": _separator,
    "<RECODEABLE>": _is(categorical=True),
    "<RECODABLE>": _is(categorical=True),
    "<NUMERIC>": _is(numeric=True),
    "<DECIMALS>": _decimals,
    "<TOTCODE>": _text("total"),
    "<CODELIST>": _text("codelist"),
    "<HIERARCHICAL>": _is(hierarchical=True),
    "<HIERLEVELS>": _levels,
    "<HIERCODELIST>": _text("hierarchy"),
    "<HIERLEADSTRING>": _text("leader"),
    "<DISTANCE>": _distance,
}
_RECORD_OPTIONS: dict[str, Option] = {
    "<SPSS>": _spss,
    "<WEIGHT>": _is(weight=True, numeric=True),
    "<HOLDING>": _is(holding=True),
    "<REQUEST>": _request,
    "<RECORDKEY>": _is(record_key=True, numeric=True),
    "<PFILE>": _text("probabilities"),
    "<PFILE_FREQ>": _text("probabilities"),
    **{keyword: _noted(keyword) for keyword in NOTED},
}
_TABLE_OPTIONS: dict[str, Option] = {
    "<SAFE>": _fact("safe"),
    "<UNSAFE>": _fact("unsafe"),
    "<PROTECT>": _fact("protect"),
    "<SHADOW>": _is(role="shadow", numeric=True),
    "<COST>": _is(role="cost", numeric=True),
    "<COSTVAR>": _is(role="cost", numeric=True),
    "<LOWERPL>": _is(role="lower", numeric=True),
    "<UPPERPL>": _is(role="upper", numeric=True),
    "<FREQUENCY>": _is(role="frequency", numeric=True),
    "<MAXSCORE>": _is(role="largest", numeric=True),
    "<STATUS>": _is(role="status"),
}


# -- writing ---------------------------------------------------------------------------------------------------


def metadata_text(metadata: Metadata) -> str:
    """The text of the metadata of a table."""
    lines = [f'<SEPARATOR> "{metadata.separator}"']
    for option, code in (("SAFE", metadata.safe), ("UNSAFE", metadata.unsafe), ("PROTECT", metadata.protect)):
        lines.append(f'<{option}> "{code}"')
    for one in metadata.variables:
        lines.append(f'"{one.name}"')
        if one.categorical:
            lines += ["    <RECODEABLE>", f'    <TOTCODE> "{one.total}"']
        if one.codelist:
            lines.append(f'    <CODELIST> "{one.codelist}"')
        if one.hierarchy:
            lines += [
                "    <HIERARCHICAL>",
                f'    <HIERCODELIST> "{one.hierarchy}"',
                f'    <HIERLEADSTRING> "{one.leader}"',
            ]
        if one.levels:
            lines += ["    <HIERARCHICAL>", f"    <HIERLEVELS> {' '.join(map(str, one.levels))}"]
        if one.distances:
            lines.append(f"    <DISTANCE> {' '.join(map(str, one.distances))}")
        keyword = {"": "NUMERIC", "largest": "MAXSCORE", "frequency": "FREQUENCY", "status": "STATUS"}
        more = {"shadow": "SHADOW", "cost": "COSTVAR", "lower": "LOWERPL", "upper": "UPPERPL"}
        if one.role in more:
            lines.append(f"    <NUMERIC> <{more[one.role]}>")
        elif one.role or one.numeric:
            lines.append(f"    <{keyword[one.role]}>")
        if one.decimals:
            lines.append(f"    <DECIMALS> {one.decimals}")
    return "".join(line + "\n" for line in lines)
