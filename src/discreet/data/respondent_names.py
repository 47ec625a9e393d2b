"""Names of contributors and holdings that differ in nothing but their spelling.

Two spellings of one respondent are two respondents for every rule, so that a sensitive cell may look safe. Names are
confidential: messages have their number and the places of records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import ibis
from ibis import _

from discreet.data.numerals import Expr
from discreet.data.spelling import Names, name_key
from discreet.errors import InputError, plural


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def nfc_normalize(text: str) -> str:  # type: ignore[empty-body]
    """The composed form of Unicode, in DuckDB."""


def one_spelling(names: Expr, column: str, how: Names | None, *, local: bool) -> dict[str, str]:
    """The spelling that replaces each name of records; raises if it is not stated whether spellings matter, and they do.

    ``local`` records are those in the embedded DuckDB.
    """
    named = names.name("name").as_table().filter(_.name.notnull()).distinct()
    named = named.mutate(key=_key(named.name, local))
    several = named.group_by("key").agg(first=_.name.min(), n=_.count()).filter(_.n > 1).to_pandas()
    if len(several) and how is None:
        places = _places(names, several.key[0]) if local else []
        raise InputError(_question(column, len(several), places, "data"))
    if not len(several):
        return {}
    spelled = named.inner_join(ibis.memtable(several[["key", "first"]]), "key").to_pandas()
    return dict(zip(spelled.name, spelled["first"], strict=True))


def one_spelling_in_memory(names: Sequence[str | None], column: str, how: Names | None) -> dict[str, str]:
    """The same for the names of records in memory."""
    several = _spellings(name for name in names if name is not None)
    if several and how is None:
        places = sorted(names.index(name) + 1 for name in several[0])[:2]
        raise InputError(_question(column, len(several), places, "data"))
    return {name: min(group) for group in several for name in group}


def _key(name: Expr, local: bool) -> Expr:
    """The expression of :func:`discreet.data.spelling.name_key`."""
    key = (nfc_normalize(name) if local else name).lower().replace("\u00a0", " ").re_replace(r"\s+", " ").strip()
    return ibis.ifelse(key.re_search("^[0-9]+$"), key.re_replace("^0+([0-9])", r"\1"), key)


def _places(names: Expr, key: str) -> list[int]:
    """The first records of two spellings, counted from 1."""
    numbered = names.name("name").as_table().mutate(row=ibis.row_number() + 1)
    found = numbered.filter(_key(numbered.name, True) == key).group_by("name").agg(row=_.row.min())
    return sorted(found.to_pandas().row.tolist())[:2]


def merged_names(column: str, names: Sequence[Iterable[str]], how: Names | None) -> dict[str, str]:
    """The spelling that replaces each name of a finished table; raises if it is not stated whether spellings matter."""
    several = _spellings(name for each in names for name in each)
    if several and how is None:
        raise InputError(_question(column, len(several), [], "table"))
    return {name: min(group) for group in several for name in group} if how == "merged" else {}


def _spellings(names: Iterable[str]) -> list[set[str]]:
    """The names with several spellings."""
    spellings: dict[str, set[str]] = defaultdict(set)
    for name in dict.fromkeys(names):
        spellings[name_key(name)].add(name)
    return [group for group in spellings.values() if len(group) > 1]


def _question(column: str, n: int, places: Sequence[int], section: str) -> str:
    where = f", e.g. in records {places[0]:,} and {places[1]:,}" if len(places) > 1 else ""
    return (
        f"{plural(n, 'name')} in column {column!r} {'has' if n == 1 else 'have'} several spellings, which differ only in blanks, "
        f'capitals or leading zeros{where}. Write names = "merged" under [{section}] if each is one respondent, and '
        'names = "exact" if its spellings are different respondents (in Python: names=).'
    )
