"""Opened records: their columns of numbers, how these are written, and where there are faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from typing import Any, Literal

import ibis
from ibis import _

from discreet.data.columns import Columns
from discreet.data.numerals import GIVEN, Expr, NumberFormat, evidence, evidence_of, formats
from discreet.data.reading import Reading
from discreet.errors import InputError, dimension_section, numbers_of_lines, some

Numbered = Callable[[], Iterable[tuple[int, Mapping[str, Any]]]]  # records with the numbers of their lines
Kind = Literal["text", "missing", "infinite", "negative"]

MAX_SCANNED = 5_000_000  # records in which lines with faults are looked for, so that a message does not take minutes
MAX_LISTED = 100  # lines with a fault that are looked for
# Of statistical programs and spreadsheets. A message quotes no other text of a column of numbers: it could be confidential.
USUAL_MARKS = frozenset(
    [
        "na",
        "n/a",
        "#n/a",
        "#nv",
        "n.a.",
        "k.a.",
        "nan",
        "null",
        "none",
        "nil",
        "missing",
        ".",
        "..",
        "...",
        "…",
        "-",
        "–",
        "—",
        ":",
        "*",
        "?",
        "x",
        "×",
        "c",
        "s",
        "/",
        "•",
        "#value!",
        "#wert!",
        "#div/0!",
        "#ref!",
    ]
)
# Those of them that are hardly codes of a classification.
MARKS_FOR_CODES = USUAL_MARKS - {"c", "s", "x", "×", "*", "/", ":", "•"}
CURRENCY = re.compile(r"[€$£¥]|\b(?:EUR|USD|GBP|CHF|JPY|DKK|SEK|NOK|PLN|CZK|HUF|Kč|zł|kr|Fr)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Fault:
    """A number of records with a fault in a column; ``cell`` is one of their cells."""

    kind: Kind
    column: str
    count: int
    cell: str | None = None


@dataclass(frozen=True)
class OpenedRecords:
    """Records as an Ibis table, with the format of their numbers.

    In ``rows`` texts that mean no value are null, and records without a number are left out if that is the setting.
    """

    rows: Expr
    columns: Columns
    reading: Reading
    place: str
    unit: str  # what the numbers of records are of: "line", "row" or "record"
    numbered: Numbered | None = None  # None: records have no order
    engine: Any = None  # the embedded one; None: the records are in a database of the caller
    formats: Mapping[str, NumberFormat] = field(default_factory=dict)  # of columns of texts
    records: int = 0  # that are not left out
    left_out: int = 0  # records without a number that are left out
    zeros: int = 0  # records without a number that count as zero
    blank: int = 0  # records without any entry

    def examined(self) -> OpenedRecords:
        """The records with the formats of their numbers; raises, for all columns at once, where there are two readings."""
        rows = self.rows
        texts = [name for name in rows.columns if rows[name].type().is_string()]
        if self.reading.missing:
            rows = rows.mutate(
                **{name: ibis.ifelse(rows[name].strip().isin(self.reading.missing), None, rows[name]) for name in texts}
            )
        allowed = formats(self.reading)
        looked_at = [name for name in self.columns.numbers if name in texts and len(allowed) > 1]
        setting = self.reading.no_value
        names = [name for name in self.columns.numbers if setting == "drop" or self._is_zero(name)]
        names = [name for name in names if name not in self.columns.top]
        no_value = self._any(rows, names, lambda name: ~_given(rows[name]))
        blank = ~self._any(rows, list(rows.columns), lambda name: rows[name].notnull())
        found = rows.select(
            no_value=no_value,
            blank=blank,
            **{f"e{i}": evidence(rows[name], *allowed) for i, name in enumerate(looked_at)},
        )
        kinds = ("point", "comma", "either")
        sums = {f"{kind}{i}": (_[f"e{i}"] == kind).sum() for i in range(len(looked_at)) for kind in kinds}
        counted = found.agg(records=_.count(), no_value=_.no_value.sum(), blank=_.blank.sum(), **sums).to_pyarrow()
        counts = {name: int(number or 0) for name, number in counted.to_pylist()[0].items()}
        of_columns = {name: [counts[f"{kind}{i}"] for kind in kinds] for i, name in enumerate(looked_at)}
        self._ask(of_columns, counts["records"])
        chosen = {name: allowed[0] for name in self.columns.numbers if name in texts}
        chosen |= {name: allowed[1] for name, (_point, comma, _either) in of_columns.items() if comma}
        drops = setting == "drop" and counts["no_value"]
        return OpenedRecords(
            rows.filter(~no_value) if drops else rows,
            *(self.columns, self.reading, self.place, self.unit, self.numbered, self.engine, chosen),
            records=counts["records"] - (counts["no_value"] if drops else 0),
            left_out=counts["no_value"] if drops else 0,
            zeros=counts["no_value"] if setting == "zero" else 0,
            blank=counts["blank"],
        )

    def _is_zero(self, name: str) -> bool:
        """Whether a missing number counts as zero."""
        return name in self.columns.top or (self.reading.no_value == "zero" and name != self.columns.weight)

    def _any(self, rows: Expr, names: Sequence[str], holds: Callable[[str], Expr]) -> Expr:
        return reduce(lambda one, other: one | other, map(holds, names), ibis.literal(False))

    def number(self, source: Expr, name: str) -> Expr:
        """The numbers of a column of the records, or of a table made from them; null for other texts."""
        column = source[name]
        number = self.formats[name].number(column) if column.type().is_string() else column.cast("float64")
        return ibis.ifelse(_given(column), number, 0.0) if self._is_zero(name) else number

    def is_given(self, source: Expr, name: str) -> Expr:
        """Whether there is a number or another text, or the lack of one counts as zero."""
        return ibis.literal(True) if self._is_zero(name) else _given(source[name])

    # -- faults -------------------------------------------------------------------------------------------------

    def without_entry(self, names: Sequence[str], count: int, records: int, role: str, advice: str) -> InputError:
        """An error about records that have no entry in any of these columns, with their lines; ``advice`` is on other records."""
        found: list[int] = []
        last = 0
        for last, record in islice(self.numbered() if self.numbered else (), MAX_SCANNED):
            if len(found) < MAX_LISTED and all(self._value(record[name]) is None for name in names):
                found.append(last)
        is_last = count == 1 and found == [last]
        totals = (
            f"It is the last {self.unit}, where spreadsheets have sums: delete it"
            if is_last
            else "Delete records of totals"
        )
        at = f" ({numbers_of_lines(self.unit, found, count)})" if found else ""
        columns = f"column {names[0]!r}" if len(names) == 1 else f"any of the columns {some(names, 12)}"
        return InputError(
            f"{self.place}: {count:,} of {records:,} records have no {role} in {columns}{at}. {totals}{advice}", names
        )

    def _ask(self, counts: Mapping[str, Sequence[int]], records: int) -> None:
        """Raise for columns that can be read in two ways, and for columns with numbers of both."""
        messages = []
        for name, (point, comma, either) in counts.items():
            if point and comma:
                both = " and ".join(
                    f"{n:,} with a decimal {kind}{self._lines(name, (kind,), n)}"
                    for kind, n in (("point", point), ("comma", comma))
                )
                messages.append(f"Column {name!r} has numbers of two kinds: {both}. Write them in one way.")
            elif either and not (point or comma):
                messages.append(self._question(name, either, records))
        if messages:
            raise InputError("\n".join(f"{self.place}: {message}" for message in messages), list(counts))

    def _question(self, name: str, either: int, records: int) -> str:
        found = next((text for _, text in self._with_evidence(name, ("either",))), ".")
        sign, other = (".", ",") if "." in found else (",", ".")
        return (
            f"Column {name!r} can be read in two ways: {either:,} of {records:,} records have numbers like 1{sign}234 "
            f'(not from the file){self._lines(name, ("either",), either)}. Add decimal = "{other}" if that means 1234, and '
            f'decimal = "{sign}" if it means a number between 1 and 2.'
        )

    def _with_evidence(self, name: str, kinds: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The numbers and texts of records that say this about the decimal separator."""
        if self.numbered is None:
            return
        point, comma = formats(self.reading)
        for number, record in islice(self.numbered(), MAX_SCANNED):
            text = self._value(record[name])
            if isinstance(text, str) and evidence_of(text, point, comma) in kinds:
                yield number, text

    def _lines(self, name: str, kinds: Sequence[str], count: int) -> str:
        found = [number for number, _ in islice(self._with_evidence(name, kinds), MAX_LISTED)]
        return f" ({numbers_of_lines(self.unit, found, count)})" if found else ""

    def _value(self, value: Any) -> Any:
        """The entry of a record; None if it means no value."""
        if not isinstance(value, str):
            return None if value is None or value != value else value
        return None if value.strip(" ") in self.reading.missing or not re.search(GIVEN, value) else value

    def refuse(self, faults: Sequence[Fault], records: int) -> None:
        """Raise one error for all faults, with the lines that have them."""
        if not faults:
            return
        found = self._found(faults)
        messages = []
        for fault in faults:
            entries = found[fault.kind, fault.column]
            cell = "" if fault.cell is None else f", e.g. in cell {fault.cell!r}"
            lines = [number for number, _ in entries]
            at = f" ({numbers_of_lines(self.unit, lines, fault.count)})" if lines else ""
            share = f"{fault.count:,} of {records:,} records"
            remedy = self._remedy(fault, {value for _, value in entries if isinstance(value, str)})
            messages.append(f"{share} have {DESCRIPTIONS[fault.kind]} in column {fault.column!r}{cell}{at}. {remedy}")
        raise InputError(
            "\n".join(f"{self.place}: {message}" for message in messages), [fault.cell for fault in faults]
        )

    def _found(self, faults: Sequence[Fault]) -> dict[tuple[str, str], list[tuple[int, Any]]]:
        """The first records with each fault."""
        found: dict[tuple[str, str], list[tuple[int, Any]]] = {(one.kind, one.column): [] for one in faults}
        for number, record in islice(self.numbered() if self.numbered else (), MAX_SCANNED):
            for (kind, name), entries in found.items():
                value = self._value(record[name])
                if len(entries) < MAX_LISTED and self._has(kind, name, value):
                    entries.append((number, value))
            if all(len(entries) == MAX_LISTED for entries in found.values()):
                break
        return found

    def _has(self, kind: str, name: str, value: Any) -> bool:
        """Whether a value has a fault."""
        if value is None or kind == "missing":
            return value is None and kind == "missing"
        number = self.formats[name].number_of(value) if isinstance(value, str) else float(value)
        if number is None or kind == "text":
            return number is None and kind == "text"
        return number < 0 if kind == "negative" else number - number != 0

    def _remedy(self, fault: Fault, texts: set[str]) -> str:
        if fault.kind != "text":
            return REMEDIES[fault.kind]
        return " ".join(hints(texts, self.formats[fault.column])) if fault.column in self.formats else REMEDIES["text"]


def missing_code_advice(column: str) -> str:
    """What to do about records without a code."""
    return (
        '. If a record has no code, fill it in, or write merge = {"" = "unknown"} '
        f"under {dimension_section(column)} (in Python: Spelling), which gives it the code 'unknown'."
    )


DESCRIPTIONS: dict[str, str] = {
    "text": "text instead of a number",
    "missing": "no number",
    "infinite": "an infinite or undefined number",
    "negative": "a negative weight",
}
REMEDIES: dict[str, str] = {
    "text": "Write numbers with digits and a decimal separator.",
    "missing": 'Fill it in, or add no_value = "drop" to leave these records out, or "zero" if zero is meant.',
    "infinite": "Correct it, or leave these records out.",
    "negative": "Weights are zero or more.",
}


def hints(texts: set[str], written: NumberFormat) -> Iterator[str]:
    """What to do about texts that are not numbers. Texts are quoted only if they are usual marks of missing values."""
    marks = sorted({text.strip() for text in texts if text.strip().casefold() in USUAL_MARKS})
    if marks:
        quoted = ", ".join(f'"{mark}"' for mark in marks)
        yield (
            f"If {quoted} means no value, add missing = [{quoted}], and "
            'no_value = "drop" to leave these records out, or "zero" if zero is meant.'
        )
    others = {text for text in texts if text.strip().casefold() not in USUAL_MARKS}
    kinds = {
        'If a number in parentheses is negative, add parentheses = "negative".': re.compile(r"\(").search,
        "Remove percent signs: 5 % may be 5 or 0.05.": re.compile("[%‰]").search,
        "Remove currencies.": CURRENCY.search,
    }
    found = [advice for advice, applies in kinds.items() if any(applies(text) for text in others)]
    yield from found
    if not marks and not found:
        sign = {".": "point", ",": "comma"}[written.decimal]
        between = "" if written.thousands is None else f" and {written.thousands!r} between thousands"
        yield f"Write numbers with digits, a decimal {sign}{between}, and nothing else."


def _given(column: Expr) -> Expr:
    """Whether there is an entry."""
    return column.re_search(GIVEN).fill_null(False) if column.type().is_string() else column.notnull()
