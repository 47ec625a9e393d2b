"""A priori files of τ-ARGUS (``.hst``): decisions on single cells, one per line.

A line has the codes of a cell, then ``S``, ``U``, ``P``, ``M`` or ``ML`` for a status; ``C`` or ``W`` and a cost; or ``PL`` with
the lower and the upper protection level.

Source: τ-ARGUS version 4.1, User's Manual, section 5.6; ``M``, ``ML`` and ``W``: its program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import FormatError
from discreet.io.argus.text import data_lines, fields, nearest

STATUS_OF_APRIORI = {"S": "safe", "U": "unsafe", "P": "protected", "M": "suppressed", "ML": "suppressed"}
COST_WORDS = ("C", "W")
LEVEL_WORD = "PL"
APRIORI_WORDS = (*STATUS_OF_APRIORI, *COST_WORDS, LEVEL_WORD)


@dataclass(frozen=True)
class AprioriEntry:
    """A decision: the codes of a cell, the word, and its numbers."""

    line: int
    codes: tuple[str, ...]
    word: str
    numbers: tuple[float, ...] = ()


def read_apriori(
    path: str | Path, n_codes: int, separator: str, *, skip_faults: bool
) -> tuple[list[AprioriEntry], list[str]]:
    """The entries for cells with so many codes, and with ``skip_faults`` a sentence on each line that is left out."""
    entries, skipped = [], []
    given = [(n, line) for n, line in enumerate(data_lines(Path(path)), start=1) if line.strip()]
    given = [(n, line) for n, line in given if not line.lstrip().startswith("//")]
    if given and separator not in given[0][1]:
        raise FormatError(f"{path}, line {given[0][0]}: the separator {separator!r} does not occur in it.")
    for number, line in given:
        try:
            entries.append(_entry(number, fields(line, separator), n_codes))
        except FormatError as error:
            if not skip_faults:
                raise FormatError(f"{path}, line {number}: {error}", error.offenders) from None
            skipped.append(f"line {number}: {error}")
    return entries, skipped


def _entry(number: int, row: Sequence[str], n_codes: int) -> AprioriEntry:
    while len(row) > n_codes + 1 and not row[-1]:
        row = row[:-1]
    codes, word, numbers = tuple(row[:n_codes]), row[n_codes].upper() if len(row) > n_codes else "", row[n_codes + 1 :]
    if not word:
        raise FormatError(f"expected {n_codes} codes and what changes, found {len(row)} fields.")
    if word == "AB":
        raise FormatError("prior bounds (AB) cannot be set, as in τ-ARGUS.", [word])
    if word not in APRIORI_WORDS:
        raise FormatError(
            f"{word!r} is none of {', '.join(APRIORI_WORDS)}.{nearest(word, list(APRIORI_WORDS))}", [word]
        )
    wanted = 0 if word in STATUS_OF_APRIORI else 2 if word == LEVEL_WORD else 1
    if wanted == 2 and len(numbers) == 1:
        numbers = [*numbers, *numbers]  # one protection level is both
    if len(numbers) != wanted:
        raise FormatError(f"{word} has {wanted} numbers after it, found {len(numbers)}.", [word])
    return AprioriEntry(number, codes, word, tuple(_number(word, text) for text in numbers))


def _number(word: str, text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise FormatError(f"{word} takes numbers of 0 or more.", [word])
    return number
