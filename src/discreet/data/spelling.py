"""Spellings of codes: which codes differ in nothing but their spelling."""

from __future__ import annotations

import unicodedata

INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"))


def without_stray_blanks(code: str) -> str:
    """The code without blanks around it, double blanks and invisible characters, in the composed form of Unicode."""
    return " ".join(unicodedata.normalize("NFC", code).translate(INVISIBLE).split())
