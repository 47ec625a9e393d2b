"""Names of contributors and holdings that differ in nothing but their spelling.

Two spellings of one respondent are two respondents for every rule, so that a sensitive cell may look safe. Names are
confidential: messages have their number and the places of records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import ibis
from ibis import _

from discreet.data.columns import Columns
from discreet.data.numerals import Expr
from discreet.data.records import as_text, recoded
from discreet.data.spelling import Names, name_key
from discreet.errors import InputError, plural


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def nfc_normalize(text: str) -> str:  # type: ignore[empty-body]
    """The composed form of Unicode, in DuckDB."""


def with_one_spelling(source: Expr, columns: Columns, names: Names | None, *, local: bool) -> Expr:
    """The records with one spelling of each respondent if ``names`` are merged; raises if that is not stated and matters.

    ``local`` records are those in the embedded DuckDB.
    """
    for column in (columns.contributor, columns.holding):
        if column is None or names == "exact" or not source[column].type().is_string():
            continue
        named = source.select(name=as_text(source[column])).filter(_.name.notnull()).distinct()
        named = named.mutate(key=_key(named.name, local))
        several = named.group_by("key").agg(first=_.name.min(), n=_.count()).filter(_.n > 1).to_pandas()
        if not len(several):
            continue
        if names is None:
            places = _places(source, column, several.key[0]) if local else []
            raise InputError(_question(column, len(several), places, "data"))
        spelled = named.inner_join(ibis.memtable(several[["key", "first"]]), "key").to_pandas()
        source = recoded(source, {column: dict(zip(spelled.name, spelled["first"], strict=True))})
    return source


def _key(name: Expr, local: bool) -> Expr:
    """The expression of :func:`discreet.data.spelling.name_key`."""
    key = (nfc_normalize(name) if local else name).lower().replace("\u00a0", " ").re_replace(r"\s+", " ").strip()
    return ibis.ifelse(key.re_search("^[0-9]+$"), key.re_replace("^0+([0-9])", r"\1"), key)


def _places(source: Expr, column: str, key: str) -> list[int]:
    """The first records of two spellings, counted from 1."""
    numbered = source.select(name=as_text(source[column])).mutate(row=ibis.row_number() + 1)
    found = numbered.filter(_key(numbered.name, True) == key).group_by("name").agg(row=_.row.min())
    return sorted(found.to_pandas().row.tolist())[:2]


def merged_names(column: str, names: Sequence[Iterable[str]], how: Names | None) -> dict[str, str]:
    """The spelling that replaces each name of a finished table; raises if it is not stated whether spellings matter."""
    spellings: dict[str, set[str]] = defaultdict(set)
    for name in {name for several in names for name in several}:
        spellings[name_key(name)].add(name)
    several = [group for group in spellings.values() if len(group) > 1]
    if several and how is None:
        raise InputError(_question(column, len(several), [], "table"))
    return {name: min(group) for group in several for name in group} if how == "merged" else {}


def _question(column: str, n: int, places: Sequence[int], section: str) -> str:
    where = f", e.g. in records {places[0]:,} and {places[1]:,}" if len(places) > 1 else ""
    return (
        f"{plural(n, 'name')} in column {column!r} {'has' if n == 1 else 'have'} several spellings, which differ only in blanks, "
        f'capitals or leading zeros{where}. Write names = "merged" under [{section}] if each is one respondent, and '
        'names = "exact" if its spellings are different respondents (in Python: names=).'
    )
