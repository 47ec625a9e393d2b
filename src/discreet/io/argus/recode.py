"""Global recodes of τ-ARGUS (``.grc``): lines ``new: old, old, low-high``, or codes of a hierarchy below which it ends.

Source: τ-ARGUS version 4.1, User's Manual, section 5.4; the keywords ``<MISSING>``, ``<CODELIST>`` and ``<TREERECODE>``: its
program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import FormatError
from discreet.io.argus.text import nearest, numbered_lines, words

KEYWORDS = ("<MISSING>", "<CODELIST>", "<TREERECODE>")


@dataclass(frozen=True)
class RecodeLine:
    """A new code, and the codes or ranges of codes that become it; an open end of a range is empty."""

    number: int
    new: str
    parts: tuple[tuple[str, str], ...]  # a single code is a pair of itself


@dataclass(frozen=True)
class RecodeFile:
    """The recode in a file."""

    path: Path
    lines: tuple[RecodeLine, ...] = ()
    missing: tuple[str, ...] = ()  # new missing codes
    codelist: str = ""
    closed: Mapping[str, int] = field(
        default_factory=dict
    )  # codes of a hierarchy that become the finest, with their lines
    is_tree: bool = False

    def absent(self, codes: Iterable[str]) -> list[str]:
        """The single codes to recode that are none of these."""
        listed = {low for line in self.lines for low, high in line.parts if low == high}
        return sorted(listed - set(codes))

    def of(self, codes: Iterable[str]) -> dict[str, str]:
        """The new code of each of these codes that is recoded. Others keep theirs.

        Codes in ranges are compared as texts of the same length, with blanks before the shorter ones, as in τ-ARGUS.
        """
        listed = list(codes)
        width = max(
            [len(code) for code in listed] + [len(end) for line in self.lines for part in line.parts for end in part]
        )
        new: dict[str, str] = {}
        for line in self.lines:
            for low, high in line.parts:
                if low == high and low not in listed:
                    continue  # a code without records
                for code in listed:
                    if code == low == high or (low != high and _between(code, low, high, width)):
                        if new.get(code, line.new) != line.new:
                            raise FormatError(
                                f"{self.path}, line {line.number}: code {code!r} is recoded to {new[code]!r} already.",
                                [code],
                            )
                        new[code] = line.new
        return {code: into for code, into in new.items() if into != code}


def _between(code: str, low: str, high: str, width: int) -> bool:
    padded = code.rjust(width)
    return (not low or low.rjust(width) <= padded) and (not high or padded <= high.rjust(width))


def read_recode(path: str | Path) -> RecodeFile:
    """The recode in a ``.grc`` file."""
    path, lines, closed, is_tree = Path(path), [], {}, False
    missing: tuple[str, ...] = ()
    codelist = ""
    for number, text in numbered_lines(path):
        keyword, *rest = words(text)
        if text.startswith("<"):
            match keyword.upper():
                case "<TREERECODE>":
                    is_tree = True
                case "<MISSING>":
                    missing = tuple(rest)
                case "<CODELIST>":
                    codelist = rest[0] if rest else ""
                case unknown:
                    raise FormatError(
                        f"{path}, line {number}: there is no keyword {keyword}.{nearest(unknown, list(KEYWORDS))}",
                        [keyword],
                    )
        elif is_tree:
            closed[text.strip('"').strip()] = number
        else:
            lines.append(_line(path, number, text))
    if not lines and not closed and not is_tree:
        raise FormatError(f"{path} holds no recodes.")
    return RecodeFile(path, tuple(lines), missing, codelist, closed, is_tree)


def _line(path: Path, number: int, text: str) -> RecodeLine:
    new, colon, old = text.partition(":")
    if not colon or not new.strip() or not old.strip():
        raise FormatError(f"{path}, line {number}: a recode reads 'new: old, old, low-high'.")
    parts = []
    for part in re.split(r",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", old):
        quoted = re.fullmatch(r'\s*"([^"]*)"\s*', part)
        ends = [quoted[1]] if quoted else [end.strip().strip('"').strip() for end in re.split(r"[-–]", part)]
        if len(ends) > 2 or not any(ends):
            raise FormatError(f"{path}, line {number}: {part.strip()!r} is neither a code nor a range of two codes.")
        low, high = ends[0], ends[-1]
        if len(ends) == 2 and low and low == high:
            raise FormatError(f"{path}, line {number}: the range {part.strip()!r} begins and ends at the same code.")
        parts.append((low, high))
    return RecodeLine(number, new.strip().strip('"').strip(), tuple(parts))
