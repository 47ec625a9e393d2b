"""The fields that are taken from records: codes, numbers and names, in a database engine or in memory.

A query takes longer to plan than a small number of records to work on, so that for these only one query reads the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import ibis
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from ibis import _

from discreet.data.columns import Columns
from discreet.data.numerals import Expr
from discreet.data.opened_records import OpenedRecords
from discreet.data.records import as_text, marks, recoded
from discreet.data.respondent_names import one_spelling, one_spelling_in_memory
from discreet.data.spelling import Names
from discreet.errors import InputError


class Fields(Protocol):
    """One row per record: codes as texts ``d0``, ``d1`` …, numbers ``n0`` … and whether they are given, ``given0`` …

    ``unit`` is the contributor and ``holding`` the holding, as texts; ``requested0``, ``requested1`` … whether protection of each
    kind was requested.
    """

    @property
    def rows(self) -> Expr:
        """The fields as a table of Ibis."""
        ...

    def survey(self, columns: Columns) -> pd.DataFrame:
        """One row per combination of codes: the number of records, those with faults, and the largest absolute numbers."""
        ...

    def with_one_spelling(self, columns: Mapping[str, str], names: Names | None) -> Fields:
        """The fields with one spelling of each respondent; raises if it is not stated that spellings mean the same, and matters.

        ``columns`` has the columns of the records that the fields with names are from.
        """
        ...


@dataclass(frozen=True)
class EngineFields:
    """Fields as queries; ``local`` is true in the embedded engine, and false in a database of the caller."""

    rows: Expr
    local: bool

    @classmethod
    def of(
        cls, source: Expr, columns: Columns, opened: OpenedRecords, requests: Sequence[str], *, local: bool
    ) -> EngineFields:
        """The fields of the records, of which ``source`` is the table with codes replaced.

        ``requests`` are the entries that mark requests of each kind; without them there is one kind.
        """
        fields: dict[str, Expr] = {f"d{d}": as_text(source[name]) for d, name in enumerate(columns.by)}
        for i, name in enumerate(columns.numbers):
            kind = source[name].type()
            if not (kind.is_numeric() or kind.is_string() or kind.is_boolean()):
                raise InputError(
                    f"Column {name!r} holds {kind}, not numbers. Convert it or choose another column.", [name]
                )
            fields |= {f"n{i}": opened.number(source, name), f"given{i}": opened.is_given(source, name)}
        for field, column in (("unit", columns.contributor), ("holding", columns.holding)):
            fields[field] = as_text(source[column]) if column else ibis.null("string")
        marked = marks(source[columns.request], requests) if columns.request else [ibis.literal(False)]
        fields |= {f"requested{kind}": each for kind, each in enumerate(marked)}
        return cls(source.select(**fields), local)

    def survey(self, columns: Columns) -> pd.DataFrame:
        found: dict[str, Expr] = {"records": _.count()}
        for i in range(len(columns.numbers)):
            x, given = _[f"n{i}"], _[f"given{i}"]
            infinite = (x.isnan() | x.isinf()).fill_null(False)
            found[f"missing{i}"] = (~given).sum()
            found[f"text{i}"] = (x.isnull() & given).sum()
            found[f"infinite{i}"] = infinite.sum()
            found[f"negative{i}"] = (x < 0).sum()
            found[f"largest{i}"] = x.abs().max(where=~infinite)
        if columns.contributor is not None:
            found["nameless"] = _.unit.isnull().sum()
        by = [f"d{d}" for d in range(len(columns.by))]
        survey: pd.DataFrame = self.rows.group_by(by).agg(**found).to_pandas()
        return survey.fillna(dict.fromkeys(found, 0)).sort_values(by, ignore_index=True)

    def with_one_spelling(self, columns: Mapping[str, str], names: Names | None) -> EngineFields:
        rows = self.rows
        for field, column in columns.items():
            rows = recoded(rows, {field: one_spelling(rows[field], column, names, local=self.local)})
        return EngineFields(rows, self.local)


@dataclass(frozen=True, repr=False)
class MemoryFields:
    """Fields in memory, and the embedded engine."""

    table: pa.Table
    engine: Any

    @property
    def rows(self) -> Expr:
        self.engine.con.register("fields", self.table)
        return self.engine.table("fields")

    def survey(self, columns: Columns) -> pd.DataFrame:
        by = [f"d{d}" for d in range(len(columns.by))]
        found = {"records": pa.repeat(1, len(self.table))}
        for i in range(len(columns.numbers)):
            x, given = self.table[f"n{i}"], self.table[f"given{i}"]
            finite = pc.is_finite(x)
            found[f"missing{i}"] = pc.invert(given)
            found[f"text{i}"] = pc.and_(pc.is_null(x), given)
            found[f"infinite{i}"] = pc.invert(finite)
            found[f"negative{i}"] = pc.less(x, 0)
            found[f"largest{i}"] = pc.if_else(finite, pc.abs(x), None)
        if columns.contributor is not None:
            found["nameless"] = pc.is_null(self.table["unit"])
        rows = pa.table({name: self.table[name] for name in by} | found)
        how = [(name, "max" if name.startswith("largest") else "sum") for name in found]
        survey = rows.group_by(by).aggregate(how).rename_columns([*by, *found]).to_pandas()
        return survey.fillna(dict.fromkeys(found, 0)).sort_values(by, ignore_index=True)

    def with_one_spelling(self, columns: Mapping[str, str], names: Names | None) -> MemoryFields:
        table = self.table
        for field, column in columns.items():
            found = table[field].to_pylist()
            into = one_spelling_in_memory(found, column, names)
            spelled = pa.array([into.get(name, name) for name in found], "string")
            table = table.set_column(table.column_names.index(field), field, spelled)
        return MemoryFields(table, self.engine)
