"""Tables as τ-ARGUS writes them: CSV, pivot, code and value, SBS, intermediate, and cell key.

The layouts are those of ``<WRITETABLE>``. All cells are listed, empty ones included unless they are left out, in the order of the
hierarchies with totals first; the last dimension changes fastest.

Source: τ-ARGUS version 4.1, User's Manual, sections 4.6.1 and 5.7; details of the layouts: its program, version 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.hierarchy import Hierarchy
from discreet.errors import InputError
from discreet.io.argus.statuses import ArgusStatus, flag

SYMBOL_OF_SUPPRESSED = "x"
SYMBOL_OF_EMPTY = "-"
MAX_CELLS = 20_000_000  # of a full cross-classification: more take gigabytes of text


@dataclass(frozen=True)
class WriteOptions:
    """The options of ``<WRITETABLE>``, by their two letters."""

    HL: bool = False  # levels of codes in SBS files
    SO: bool = False  # intermediate tables without shadow variable and largest contributions
    AR: bool = False  # audit intervals in intermediate tables
    HI: bool = False  # counts and largest contributions of holdings in intermediate tables
    AS: bool = False  # values and statuses instead of a symbol
    SE: bool = False  # empty cells are left out
    FL: bool = False  # names of columns in the first line
    QU: bool = True  # codes in quotes
    TR: bool = False  # JJ files without trivial levels
    AO: bool = False  # true values beside perturbed ones
    AD: bool = False  # differences beside perturbed values
    AC: bool = False  # cell keys beside perturbed values


@dataclass(frozen=True)
class ArgusTable:
    """The columns of a table for writing, one entry per stored cell; cells that are not stored are empty."""

    dimensions: Mapping[str, Hierarchy]
    codes: IntArray  # (dimension, cell)
    response: str
    decimals: int
    value: FloatArray
    status: IntArray
    count: IntArray
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    shadow: FloatArray
    largest: FloatArray  # (cell, rank)
    is_count: bool = False
    treatment: str = ""  # "Round", "CTA" or "CKM": values are published instead of symbols
    published: FloatArray | None = None  # NaN: suppressed
    audit: tuple[FloatArray, FloatArray] | None = None  # lower and upper ends of audit intervals
    holding_count: IntArray | None = None
    holding_largest: FloatArray | None = None
    keys: FloatArray | None = None  # of cells
    key_decimals: int = 0
    percent_rule: bool = False
    zeros_for_empty: bool = False  # empty cells are shown as 0

    @cached_property
    def place(self) -> dict[tuple[int, ...], int]:
        """The index of each stored cell by its codes."""
        return {code: i for i, code in enumerate(map(tuple, self.codes.T.tolist()))}

    def cells(self, *, empty: bool = True) -> Iterator[tuple[tuple[int, ...], int]]:
        """The codes of each cell and its index, −1 for one that is not stored."""
        orders = [hierarchy.order().tolist() for hierarchy in self.dimensions.values()]
        if math.prod(map(len, orders)) > MAX_CELLS:
            raise InputError(
                f"The table has {math.prod(map(len, orders)):,} cells with the empty ones, more than {MAX_CELLS:,}. Leave the "
                "empty ones out, or write another type of output."
            )
        for codes in product(*orders):
            i = self.place.get(codes, -1)
            if empty or (i >= 0 and not ArgusStatus(int(self.status[i])).is_empty):
                yield codes, i

    def only(self, cells: BoolArray) -> ArgusTable:
        """The table of some cells; the others are as empty ones."""
        columns: dict[str, Any] = {
            each.name: column[cells]
            for each in fields(self)
            if isinstance(column := getattr(self, each.name), np.ndarray) and each.name != "codes"
        }
        audit = None if self.audit is None else (self.audit[0][cells], self.audit[1][cells])
        return replace(self, codes=self.codes[:, cells], audit=audit, **columns)

    def status_of(self, i: int) -> ArgusStatus:
        return ArgusStatus.EMPTY if i < 0 else ArgusStatus(int(self.status[i]))

    def number(self, column: FloatArray, i: int) -> str:
        """A number with the decimals of the response; zero for a cell that is not stored."""
        return decimal_text(0.0 if i < 0 else float(column[i]), self.decimals)

    def shown(self, i: int, *, full: bool = False) -> str:
        """The value as published: a symbol if it is suppressed or empty, unless ``full``."""
        status = self.status_of(i)
        if status is ArgusStatus.EMPTY:
            return self.number(self.value, -1) if self.zeros_for_empty else SYMBOL_OF_EMPTY
        if self.published is not None:
            return SYMBOL_OF_SUPPRESSED if np.isnan(self.published[i]) else self.number(self.published, i)
        return SYMBOL_OF_SUPPRESSED if status.is_suppressed and not full else self.number(self.value, i)


def decimal_text(value: float, decimals: int) -> str:
    """A number with a fixed number of decimals; never −0."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _code(hierarchy: Hierarchy, code: int, quoted: bool) -> str:
    text = _bare(hierarchy.codes[code])
    return f'"{text}"' if quoted else text


def _bare(text: str) -> str:
    """A text without double quotes, as the program writes it."""
    return text.replace('"', "'")


def _codes(table: ArgusTable, codes: tuple[int, ...], options: WriteOptions) -> list[str]:
    return [_code(h, c, options.QU) for h, c in zip(table.dimensions.values(), codes, strict=True)]


# -- tables to look at ------------------------------------------------------------------------------------------


def csv_text(table: ArgusTable, options: WriteOptions) -> str:
    """Type 1: the last dimension across, the one before it down, and a block for each combination of the others."""
    hierarchies = list(table.dimensions.values())
    across, layers = hierarchies[-1], hierarchies[:-1]
    down = layers.pop() if layers else None
    header = "," + ",".join(_code(across, c, options.QU) for c in across.order().tolist())
    lines: list[str] = []
    for outer in product(*(layer.order().tolist() for layer in layers)):
        if layers:
            named = (
                f"Var {d},{_code(layer, c, options.QU)}"
                for d, (layer, c) in enumerate(zip(layers, outer, strict=True), 1)
            )
            lines.append(", ".join(named))
        lines.append(header)
        rows = [((), "")] if down is None else [((c,), _code(down, c, options.QU)) for c in down.order().tolist()]
        for inner, name in rows:
            cells = [table.place.get((*outer, *inner, c), -1) for c in across.order().tolist()]
            lines.append(",".join([name, *(table.shown(i) for i in cells)]))
        lines.append("")
    return "".join(line + "\n" for line in lines)


def _first_line(table: ArgusTable, options: WriteOptions) -> str:
    names = [*table.dimensions, "Freq" if table.is_count else table.response]
    names[-1] += f"_{table.treatment}" if table.treatment in ("Round", "CTA") else ""
    if options.AS:
        names += [f"{table.response}_Orig"] if table.treatment in ("Round", "CTA") else []
        names += ["Status"] if table.treatment in ("", "CTA") else []
    return ",".join(f'"{_bare(name)}"' if options.QU else _bare(name) for name in names)


def code_value_text(table: ArgusTable, options: WriteOptions, *, header: bool) -> str:
    """Types 2 and 3: one line per cell, ``codes,value``, with ``AS`` also the status, or the true value of a changed one."""
    lines = [_first_line(table, options)] if header else []
    for codes, i in table.cells(empty=not options.SE):
        row = [*_codes(table, codes, options), table.shown(i, full=options.AS)]
        if options.AS:
            original = SYMBOL_OF_EMPTY if table.status_of(i) is ArgusStatus.EMPTY else table.number(table.value, i)
            row += [original] if table.treatment in ("Round", "CTA") else []
            row += [str(int(table.status_of(i)))] if table.treatment in ("", "CTA") else []
        lines.append(",".join(row))
    return "".join(line + "\n" for line in lines)


# -- tables for other programs --------------------------------------------------------------------------------------


def sbs_text(table: ArgusTable, options: WriteOptions) -> str:
    """Type 4: codes, with ``HL`` each followed by its level, value, frequency, flag, and shares of the largest contributions."""
    lines = []
    ranks = table.largest.shape[1]
    for codes, i in table.cells(empty=False):
        row = []
        for (_, h), c, text in zip(table.dimensions.items(), codes, _codes(table, codes, options), strict=True):
            deep = int(h.depth[c]) if h.depth.max() > 1 else 0
            row += [text, str(deep)] if options.HL else [text]
        status = table.status_of(i)
        count = table.count if table.holding_count is None else table.holding_count
        row += [table.shown(i, full=True), str(int(count[i]))]
        row.append(flag(status, percent_rule=table.percent_rule, two_largest=ranks > 1))
        if status.is_primary and status is not ArgusStatus.UNSAFE_FREQUENCY:
            row += [decimal_text(share, 1) for share in _shares(table, i)]
        lines.append(",".join(row))
    return "".join(line + "\n" for line in lines)


def _shares(table: ArgusTable, i: int) -> list[float]:
    """The largest contribution in percent, and the second beside it (p% rule) or added to it (dominance)."""
    top = table.largest if table.holding_largest is None else table.holding_largest
    total = float(table.shadow[i])
    first = float(top[i, 0]) if top.shape[1] else 0.0
    second = float(top[i, 1]) if top.shape[1] > 1 else 0.0
    amounts = [first, second] if table.percent_rule else [first + second]
    return [100 * amount / total if total else 0.0 for amount in amounts]


def intermediate_text(table: ArgusTable, options: WriteOptions) -> str:
    """Type 5: codes;value;frequency;shadow;cost;largest contributions;status;lower;upper, and with ``AR`` audit intervals.

    ``SO`` leaves out the shadow variable and the largest contributions, and tables of counts have neither.
    """
    lines = []
    holdings = options.HI and table.holding_count is not None
    count = table.holding_count if holdings and table.holding_count is not None else table.count
    top = table.holding_largest if holdings and table.holding_largest is not None else table.largest
    shown = table.value
    if table.treatment == "Round" and table.published is not None:
        shown = np.where(np.isnan(table.published), table.value, table.published)
    for codes, i in table.cells(empty=not options.SE):
        row = [*_codes(table, codes, options), table.number(shown, i)]
        if not table.is_count:
            row.append("0" if i < 0 else str(int(count[i])))
            row += [] if options.SO else [table.number(table.shadow, i)]
        row.append(table.number(table.cost, i))
        if not options.SO and not table.is_count:
            row += [decimal_text(0.0 if i < 0 else float(top[i, k]), table.decimals) for k in range(top.shape[1])]
        row += [table.status_of(i).letter, table.number(table.lower, i), table.number(table.upper, i)]
        row += _audit_fields(table, i) if options.AR else []
        lines.append(";".join(row))
    return "".join(line + "\n" for line in lines)


def _audit_fields(table: ArgusTable, i: int) -> list[str]:
    """The ends and the width of the audit interval, then their distances from the value and the width in percent of it."""
    status, value = table.status_of(i), 0.0 if i < 0 else float(table.value[i])
    if table.audit is None or not status.is_suppressed:
        low = high = 0.0
    else:
        low, high = (float(end[i]) for end in table.audit)
    if not (math.isfinite(low) and math.isfinite(high)):
        return [_end(low, table.decimals), _end(high, table.decimals), "", "", "", ""]
    fields = [decimal_text(number, table.decimals) for number in (low, high, high - low)]
    if value == 0 or not status.is_suppressed:
        return [*fields, "0", "0", "0"]
    return [*fields, *(decimal_text(100 * part / value, 2) for part in (value - low, high - value, high - low))]


def _end(number: float, decimals: int) -> str:
    return decimal_text(number, decimals) if math.isfinite(number) else ""


def cell_key_text(table: ArgusTable, options: WriteOptions) -> str:
    """Type 7: codes;perturbed value, with ``AO`` the true value, with ``AD`` the difference, with ``AC`` the key of the cell."""
    published = table.value if table.published is None else table.published
    lines = []
    for codes, i in table.cells(empty=not options.SE):
        suppressed = i >= 0 and np.isnan(published[i])
        row = [*_codes(table, codes, options), SYMBOL_OF_SUPPRESSED if suppressed else table.number(published, i)]
        row += [table.number(table.value, i)] if options.AO else []
        row += [SYMBOL_OF_SUPPRESSED if suppressed else table.number(published - table.value, i)] if options.AD else []
        if options.AC and table.keys is not None:
            row.append(decimal_text(0.0 if i < 0 else float(table.keys[i]), table.key_decimals))
        lines.append(";".join(row))
    return "".join(line + "\n" for line in lines)


TEXTS: Mapping[int, Callable[[ArgusTable, WriteOptions], str]] = {
    1: csv_text,
    2: lambda table, options: code_value_text(table, options, header=True),
    3: lambda table, options: code_value_text(table, options, header=options.FL),
    4: sbs_text,
    5: intermediate_text,
    7: cell_key_text,
}
