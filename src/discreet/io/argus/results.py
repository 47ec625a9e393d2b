"""Protected tables as τ-ARGUS writes them, read again: the value and the status of each cell.

The layout follows from the file: CSV, pivot, code and value, SBS or intermediate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from discreet.data.hierarchy import Hierarchy
from discreet.errors import FormatError
from discreet.io.argus.output import SYMBOL_OF_EMPTY, SYMBOL_OF_SUPPRESSED
from discreet.io.argus.statuses import OF_FLAG, OF_LETTER, ArgusStatus
from discreet.io.argus.text import data_lines, fields

MAX_CODES_SOUGHT = 5_000  # similar codes are looked for among so many


@dataclass(frozen=True)
class ResultCell:
    """A cell of a result. The value is None if a symbol stands for it; without a status nothing is said about why."""

    line: int
    codes: tuple[str, ...]
    value: float | None
    status: ArgusStatus | None
    suppressed: bool
    rest: tuple[str, ...] = ()  # further fields of intermediate tables: those between value and status, then levels


def read_result(
    path: str | Path, dimensions: Mapping[str, Hierarchy], missing: Mapping[str, Collection[str]] | None = None
) -> list[ResultCell]:
    """The cells in a file; refuses codes that are not in the dimensions, and cells that occur twice.

    ``missing`` has by dimension the codes for missing, which files may list although no record has them.
    """
    path = Path(path)
    lines = [(n, line) for n, line in enumerate(data_lines(path), start=1) if line.strip()]
    if not lines:
        raise FormatError(f"{path} is empty.")
    first = lines[0][1].strip()
    read = _crossed if first.startswith((",", "Var ")) else _intermediate if ";" in first else _listed
    known = {name: {*h.codes, *(missing or {}).get(name, ())} for name, h in dimensions.items()}
    found: dict[tuple[str, ...], ResultCell] = {}
    for cell in read(path, lines, known):
        if cell.codes in found:
            raise FormatError(
                f"{path}, line {cell.line}: cell {' × '.join(cell.codes)!r} occurs a second time, first in line "
                f"{found[cell.codes].line}.",
                [" × ".join(cell.codes)],
            )
        found[cell.codes] = cell
    return list(found.values())


Lines = Sequence[tuple[int, str]]
KnownCodes = Mapping[str, Collection[str]]


def _known(path: Path, line: int, codes: Sequence[str], dimensions: KnownCodes) -> tuple[str, ...]:
    """The codes of a line; refuses those that the dimensions do not have."""
    for code, (name, known) in zip(codes, dimensions.items(), strict=True):
        if code not in known:
            similar = get_close_matches(code, sorted(known)[:MAX_CODES_SOUGHT], n=1, cutoff=0.4)
            hint = f" Did you mean {similar[0]!r}?" if similar else ""
            raise FormatError(f"{path}, line {line}: variable {name!r} has no code {code!r}.{hint}", [code])
    return tuple(codes)


def _cell(path: Path, line: int, codes: tuple[str, ...], text: str, status: ArgusStatus | None) -> ResultCell:
    if text == SYMBOL_OF_SUPPRESSED:
        return ResultCell(line, codes, None, status, suppressed=True)
    if text == SYMBOL_OF_EMPTY:
        return ResultCell(line, codes, None, status or ArgusStatus.EMPTY, suppressed=False)
    suppressed = status is not None and status.is_suppressed
    return ResultCell(line, codes, _number(path, line, text), status, suppressed)


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise FormatError(f"{path}, line {line}: expected a value or one of the symbols x and -.") from None


def _crossed(path: Path, lines: Lines, dimensions: KnownCodes) -> Iterator[ResultCell]:
    """Type 1: blocks with a line of codes, and lines that begin with a code."""
    names = list(dimensions)
    outer: list[str] = []
    across: list[str] = []
    for number, line in lines:
        row = fields(line, ",")
        if row[0].startswith("Var "):
            outer = row[1::2]
        elif row[0] == "" and not (len(names) == 1 and across):
            across = row[1:]
        else:
            down = [] if len(names) == 1 else [row[0]]
            if len(row) - 1 != len(across) or len(outer) + len(down) + 1 != len(names):
                raise FormatError(
                    f"{path}, line {number}: the line does not fit the codes above, or the dimensions {names}."
                )
            for code, text in zip(across, row[1:], strict=True):
                codes = _known(path, number, [*outer, *down, code], dimensions)
                yield _cell(path, number, codes, text, None)


def _listed(path: Path, lines: Lines, dimensions: KnownCodes) -> Iterator[ResultCell]:
    """Types 2, 3 and 4: one line per cell with commas."""
    n = len(dimensions)
    rows = [(number, fields(line, ",")) for number, line in lines]
    if [name.upper() for name in rows[0][1][:n]] == [name.upper() for name in dimensions]:
        rows = rows[1:]
    hierarchies = list(dimensions.values())
    with_levels = (
        bool(rows)
        and len(rows[0][1]) > 2 * n
        and all(
            code in h and level.isdecimal()
            for h, code, level in zip(hierarchies, rows[0][1][: 2 * n : 2], rows[0][1][1 : 2 * n : 2], strict=True)
        )
        and any(code not in h for h, code in zip(hierarchies, rows[0][1][:n], strict=True))
    )
    for number, row in rows:
        codes, rest = (row[: 2 * n : 2], row[2 * n :]) if with_levels else (row[:n], row[n:])
        if len(codes) < n or not rest:
            raise FormatError(
                f"{path}, line {number}: expected {n} codes and a value. Correct the line, or write the file again."
            )
        status = None
        if len(rest) > 2 and rest[2] in OF_FLAG:
            status = OF_FLAG[rest[2]]
        elif len(rest) > 1:
            status = _status(path, number, rest[-1])
        yield _cell(path, number, _known(path, number, codes, dimensions), rest[0], status)


def _status(path: Path, line: int, text: str) -> ArgusStatus | None:
    """The status with a number; None for the true value of a rounded cell, which a line may end with."""
    if not text.isdecimal():
        return None
    if not 1 <= int(text) <= len(ArgusStatus):
        raise FormatError(f"{path}, line {line}: there is no status {text}; they are 1 to {len(ArgusStatus)}.", [text])
    return ArgusStatus(int(text))


def _intermediate(path: Path, lines: Lines, dimensions: KnownCodes) -> Iterator[ResultCell]:
    """Type 5, with or without the fields that it may have, or type 7, which has no statuses."""
    n = len(dimensions)
    for number, line in lines:
        row = fields(line, ";")
        codes = _known(path, number, row[:n], dimensions)
        if len(row) <= n:
            raise FormatError(
                f"{path}, line {number}: expected {n} codes and a value. Correct the line, or write the file again."
            )
        at = next((k for k in range(n + 1, len(row)) if row[k] in OF_LETTER), None)
        status = None if at is None else OF_LETTER[row[at]]
        rest = tuple(row[n + 1 :] if at is None else (*row[n + 1 : at], *row[at + 1 :]))
        value = _number(path, number, row[n])
        yield ResultCell(number, codes, value, status, status is not None and status.is_suppressed, rest)
