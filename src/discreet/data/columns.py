"""The columns of records that are used, by role."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from discreet.errors import InputError, some


@dataclass(frozen=True)
class Columns:
    """The names of the columns to use, by role."""

    by: tuple[str, ...]
    response: str | None
    weight: str | None
    extra: tuple[str, ...]
    contributor: str | None
    holding: str | None
    request: str | None
    top: tuple[str, ...] = ()  # of finished tables: the largest contributions; those that are empty are zero

    @property
    def roles(self) -> list[tuple[str, str]]:
        """Pairs of a role and a column."""
        given = [(role, names) for role, names in vars(self).items() if names is not None]
        return [(role, name) for role, names in given for name in (names if isinstance(names, tuple) else (names,))]

    @property
    def numbers(self) -> list[str]:
        """The columns that hold numbers."""
        found = (name for role, name in self.roles if role in ("response", "weight", "extra", "top"))
        return list(dict.fromkeys(found))

    def check(self) -> None:
        if not self.by:
            raise InputError("Name at least one column to tabulate by.")
        role_of: dict[str, str] = {}
        for role, name in self.roles:
            if not isinstance(name, str):
                raise InputError(f"{role}= takes names of columns, not {type(name).__name__}.")
            if name in role_of:
                raise InputError(f"Column {name!r} is given twice, as {role_of[name]}= and as {role}=.", [name])
            if name.lower() in map(str.lower, role_of):
                raise InputError(
                    f"Column {name!r} and another one differ in capitals alone: rename one of them.", [name]
                )
            role_of[name] = role

    def find(self, present: Sequence[Any], place: str) -> list[str]:
        """The columns to use; raises unless each occurs once in ``present``."""
        used = list(dict.fromkeys(name for _role, name in self.roles))
        missing = [name for name in used if list(present).count(name) != 1]
        if missing and missing[0] in present:
            raise InputError(f"{place} has several columns called {missing[0]!r}. Rename all but one.", missing)
        if missing:
            similar = get_close_matches(missing[0], [str(name) for name in present], cutoff=0.5)
            # Without a header the first record takes its place: a message must not repeat anything that looks like a value.
            words = [name for name in present if not any(sign.isdigit() for sign in str(name))]
            hint = f"Did you mean {' or '.join(map(repr, similar))}?" if similar else f"It has {some(words, 8)}."
            raise InputError(f"{place} has no column {some(missing)}. {hint}", missing)
        return used


def same_names(named: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """A name that two entries share but for capitals, and what is wrong, from pairs of an entry and its name."""
    seen: dict[str, tuple[str, str]] = {}
    for entry, name in named:
        other, before = seen.setdefault(name.lower(), (entry, name))
        if (other, before) == (entry, name):
            continue
        if before == name:
            return name, f"{other} and {entry} are both called {name!r}."
        return name, f"{other} is called {before!r} and {entry} {name!r}: names must differ in more than capitals."
    return None
