"""The languages of releases and shareable reports.

A text is written in English where it is used, as ``language.say("…")``, and the catalogue of every other language translates it.
Each language has one file beside this module, with its catalogue, its symbol of suppressed cells, and how it writes numbers and
dates. No text has a word that depends on a number, so that none needs plural forms.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

Lang = Literal["en", "de", "fr", "es", "nl"]
LANGUAGES: tuple[Lang, ...] = get_args(Lang)


@dataclass(frozen=True)
class Language:
    """The words, signs and dates of a language; ``texts`` translates from English."""

    code: Lang
    symbol: str  # of suppressed cells
    decimal: str
    thousands: str
    percent: str
    date: str
    months: list[str]
    texts: Mapping[str, str] = field(default_factory=dict)

    def say(self, text: str, **values: str | int) -> str:
        """An English text in this language, with values in place of names in braces."""
        shown = {name: self.number(f"{value:,}") if isinstance(value, int) else value for name, value in values.items()}
        return (text if self.code == "en" else self.texts[text]).format(**shown)

    def number(self, text: str) -> str:
        """A number or percentage in English notation, such as ``1,234.5 %``, as this language writes it."""
        signs = {ord(","): self.thousands, ord("."): self.decimal}
        return text.translate(signs).replace(" %", self.percent)

    def moment(self, time: datetime) -> str:
        """Date and time, with the offset from UTC."""
        return self.date.format(
            day=time.day, month=self.months[time.month - 1], year=time.year, time=f"{time:%H:%M}", zone=f"UTC{time:%z}"
        )


@cache
def language(code: Lang) -> Language:
    """The language with this code."""
    return Language(code, **tomllib.loads((files(__name__) / f"{code}.toml").read_text(encoding="utf-8")))
