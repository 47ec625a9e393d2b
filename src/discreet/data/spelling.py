"""Spellings of codes: which codes differ in nothing but their spelling, and the settings that say whether they are the same.

Two spellings of one code split its cell in two. Both parts may be suppressed and protect each other, so that readers can compute
their sum, the sensitive cell. Only users know whether ``West`` and ``WEST`` are the same, so an error asks.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from discreet.data.hierarchy import Hierarchy
from discreet.errors import InputError, dimension_section, some

Names = Literal["exact", "merged"]  # whether blanks, capitals and leading zeros distinguish respondents

MAX_SHOWN = 5  # groups of spellings that a message shows
MAX_SETTINGS = 50  # codes in the setting that a message proposes; after these the next run asks for more

# Labels of totals in tables of statistical offices and pivot tables, in lower case. Another one is named with total.
TOTAL_WORDS = frozenset((
    *("total", "totals", "grand total", "total result", "all", "overall", "sum", "insgesamt", "gesamt", "gesamtsumme"),
    *("gesamtergebnis", "ergebnis", "summe", "zusammen", "ensemble", "total général", "totaal", "totale", "totaux", "suma"),
    *("razem", "ogółem", "celkem", "yhteensä", "i alt", "totalt"),
))  # fmt: skip
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"))
# Cyrillic and Greek letters, dashes and quotes, and the letters that look like digits.
LOOK_ALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеіјорсухѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧον‐‑‒–—−’‘`´“”„OolI|",
    "ABES1JKMH0PCTYXaeij0pcyxsABEZH1KMN0PTYX0v------''''\"\"\"00111",
)
MIN_NAME_LETTERS = 4  # of names in which ä, ae and a are compared; in shorter codes they distinguish
# Letters as they are written without them on the keyboard, and letters that Unicode does not split into a letter and a mark.
TRANSCRIBED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "æ": "ae", "œ": "oe", "å": "aa"})
UNMARKED = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i"})
COMBINING_MARKS = dict.fromkeys(range(0x300, 0x370))
WRITTEN_NUMBER = re.compile(r"0*(\d+(?:\.\d*[1-9])?)(?:\.0)?", re.ASCII)  # without leading zeros, and 7 for 7.0


def without_stray_blanks(code: str) -> str:
    """The code without blanks around it, double blanks and invisible characters, in the composed form of Unicode."""
    if not code.isascii():
        code = unicodedata.normalize("NFC", code).translate(INVISIBLE)
    return " ".join(code.split())


def name_key(name: str) -> str:
    """Equal for names of respondents that differ in blanks, capitals or leading zeros only."""
    key = without_stray_blanks(name).lower()
    return key.lstrip("0") or "0" if key.isdecimal() else key


def _plain(code: str) -> str:
    return without_stray_blanks(unicodedata.normalize("NFKC", code))


def _transcribed(code: str) -> str:
    """The code with ae for ä, whether in capitals or not."""
    plain = _plain(code).casefold()
    return plain if len(plain) < MIN_NAME_LETTERS else plain.translate(TRANSCRIBED)


def _unmarked(code: str) -> str:
    """The code with a for ä, whether in capitals or not."""
    plain = _plain(code).casefold()
    if plain.isascii() or len(plain) < MIN_NAME_LETTERS:
        return plain
    return unicodedata.normalize("NFD", plain.translate(UNMARKED)).translate(COMBINING_MARKS)


def _number(code: str) -> str:
    found = WRITTEN_NUMBER.fullmatch(code)
    return found[1] if found else code


# What codes may differ in, in the order in which a question names it.
DIFFERENCES: Mapping[str, Callable[[str], str]] = {
    "the way accents are stored": lambda code: unicodedata.normalize("NFC", code),
    "blanks or invisible characters": without_stray_blanks,
    "forms of a character": _plain,
    "capitals": lambda code: _plain(code).casefold(),
    "umlauts written as two letters": _transcribed,
    "umlauts or accents": _unmarked,
    "the way a number is written": lambda code: _number(_plain(code)),
    "characters that look alike": lambda code: _plain(code).translate(LOOK_ALIKES),
}
STORED_KIND, BLANKS_KIND, *_, LAST_KIND = DIFFERENCES
STRIPPED_KINDS = (STORED_KIND, BLANKS_KIND)  # which strip removes


@dataclass(frozen=True)
class Spelling:
    """Settings of a column: with ``strip``, stray blanks are removed; ``merge`` gives for a code the one that replaces it.

    A code that ``merge`` maps to itself, or to an empty text, is a code of its own. What it gives for an empty text is the code
    of records that have none. If codes differ in blanks only, ``strip`` None is an error that asks for the setting.
    """

    strip: bool | None = None
    merge: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        again = [code for code, into in self.merge.items() if into not in ("", code) and self.spelled(into) != into]
        if again:
            into = self.merge[again[0]]
            raise InputError(
                f"merge replaces {again[0]!r} by {into!r}, which is replaced itself. Name the code that replaces both.",
                again,
            )

    def spelled(self, code: str) -> str:
        """The code as it is tabulated."""
        tidy = without_stray_blanks(code) if self.strip else code
        return self.merge.get(code) or self.merge.get(tidy) or tidy

    @property
    def no_code(self) -> str | None:
        """The code of records that have none."""
        return self.merge.get("") or None

    def recode(self, codes: Iterable[str]) -> dict[str, str]:
        """The codes that are replaced, and their replacements."""
        return {code: into for code in codes if (into := self.spelled(code)) != code}

    def is_settled(self, code: str) -> bool:
        """Whether the code is stated to be one of its own."""
        return self.merge.get(code) in ("", code)


AS_WRITTEN = Spelling()


def spellings(codes: Iterable[str], family: Callable[[str], object] = lambda code: None) -> Iterator[list[str]]:
    """The groups of two or more codes of one family that differ in nothing but their spelling, in the order of the codes."""
    alike: dict[Hashable, list[str]] = defaultdict(list)
    for code in dict.fromkeys(codes):
        alike[_coarse(code), family(code)].append(code)
    for suspects in alike.values():
        if len(suspects) > 1:
            same = dict.fromkeys(tuple(one for one in suspects if _kind(code, one)) for code in suspects)
            yield from (list(group) for group in same if len(group) > 1 and not any(set(group) < set(o) for o in same))


def differ_in_blanks(code: str, other: str) -> bool:
    """Whether two codes differ in nothing but stray blanks, or the way accents are stored."""
    return without_stray_blanks(code) == without_stray_blanks(other)


def _coarse(code: str) -> str:
    """Equal for all codes that differ in nothing but their spelling, and for some others."""
    alike = _plain(code).translate(LOOK_ALIKES).casefold()
    if not alike.isascii():
        alike = unicodedata.normalize("NFD", alike.translate(UNMARKED)).translate(COMBINING_MARKS)
    alike = alike.translate(LOOK_ALIKES).replace("i", "1")
    return _number(re.sub("(?<=[a0u])e|(?<=a)a", "", alike))


def _kind(code: str, other: str) -> str | None:
    """What two codes differ in if they differ in their spelling only."""
    return next((kind for kind, key in DIFFERENCES.items() if key(code) == key(other)), None)


def check_codes(
    column: str,
    observed: Sequence[str],
    hierarchy: Hierarchy,
    given: Spelling = AS_WRITTEN,
    known: Iterable[str] = (),
    total: str | None = None,
) -> None:
    """Raise an error that asks about observed codes that differ in spelling only from each other or from other known codes."""
    unknown = [code for code in observed if code not in hierarchy]
    check_spellings(column, unknown, given, total=total, known=[*hierarchy.codes, *known])
    siblings = [code for code in observed if code in hierarchy and code != total]
    # Codes that a hierarchy lists under different parents are different.
    check_spellings(column, siblings, given, family=lambda code: hierarchy.parents[:, hierarchy.index(code)].tobytes())


def check_spellings(
    column: str,
    codes: Sequence[str],
    given: Spelling = AS_WRITTEN,
    *,
    total: str | None = None,
    known: Collection[str] = (),
    family: Callable[[str], object] = lambda code: None,
) -> None:
    """Raise an error that asks about codes that differ in nothing but their spelling from each other or from ``known`` codes.

    The proposed replacement is the first of such codes, or the known one among them. Known codes are not compared with each
    other. Codes of different ``family`` are different.
    """
    if not codes:
        return
    if total is not None:
        taken = {_coarse(code) for code in (total, *known)}
        named = [
            code for code in codes if _is_total(code) and not given.is_settled(code) and _coarse(code) not in taken
        ]
        if named:
            raise InputError(_about_totals(column, total, named), named)
    listed = dict.fromkeys([*([] if total is None else [total]), *known])
    questions: list[tuple[str, str, str]] = []
    for group in spellings([*listed, *codes] if listed else codes, family):
        open_ = [code for code in group if not given.is_settled(code)]
        right, *others = sorted(open_, key=lambda code: (code != total, code not in listed)) or [""]
        for code in others:
            kind = _kind(right, code) or _kind(code, right) or LAST_KIND
            if code not in listed and not (kind in STRIPPED_KINDS and given.strip is False):
                questions.append((right, code, kind))
    if questions:
        raise InputError(_question(column, questions, total), [code for _, code, _ in questions])


def _question(column: str, questions: Sequence[tuple[str, str, str]], total: str | None) -> str:
    shown = [f"{_shown(right, kind)} and {_shown(code, kind)} differ only in {kind}" for right, code, kind in questions]
    more = f"; and {len(shown) - MAX_SHOWN:,} more" if len(shown) > MAX_SHOWN else ""
    stray = [code for _, code, kind in questions if kind in STRIPPED_KINDS]
    merged = {
        code: right for right, code, kind in questions[:MAX_SETTINGS] if kind not in STRIPPED_KINDS and right != total
    }
    totals = [code for right, code, _ in questions if right == total]
    advice = []
    if stray:
        advice.append("strip = true if blanks do not distinguish codes, otherwise strip = false")
    if merged:
        code = next(iter(merged))
        pairs = ", ".join(f"{_toml(code)} = {_toml(right)}" for code, right in merged.items())
        advice.append(
            f"merge = {{{pairs}}} for those that are the same; for one that is another code, {_toml(code)} = {_toml(code)}"
        )
    words = [f"Column {column!r} has codes that may be the same: {'; '.join(shown[:MAX_SHOWN])}{more}."]
    if advice:
        words.append(
            f"Correct the data, or write under {dimension_section(column)} {', and '.join(advice)} (in Python: Spelling)."
        )
    if totals:
        words.append(f"{total!r} is the total: leave records of totals out. {_otherwise(column, totals[0])}")
    return " ".join(words)


def _is_total(code: str) -> bool:
    return _plain(code).casefold().rstrip(":") in TOTAL_WORDS


def _about_totals(column: str, total: str, codes: Sequence[str]) -> str:
    return (
        f"Column {column!r} has {'the code' if len(codes) == 1 else 'the codes'} {some(codes)}, a usual name of totals, which "
        f"would be added up again. The total {total!r} is computed: delete records of totals. {_otherwise(column, codes[0])}"
    )


def _otherwise(column: str, code: str) -> str:
    setting = f"merge = {{{_toml(code)} = {_toml(code)}}}"
    return f"If {_shown(code, LAST_KIND)} is another code, write {setting} under {dimension_section(column)}."


def _shown(code: str, kind: str) -> str:
    """The code in quotes, with escapes in place of characters that look like others."""
    return ascii(code) if kind in (BLANKS_KIND, LAST_KIND) else repr(code)


def _toml(code: str) -> str:
    """The code as text of a job file, in ASCII if letters of other scripts or signs in it look like others."""
    return json.dumps(code, ensure_ascii=any(ord(character) in LOOK_ALIKES for character in code if character > "~"))
