"""What stands around the table of a sheet: its title, unit and source, and the names of its dimensions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

from discreet.data.cross_layout import CrossLayout, cleaned_label
from discreet.data.spelling import TOTAL_WORDS

# "Table 4: Investment by region" begins with the number of the table, and goes on with what the numbers are.
TABLE_NUMBER = re.compile(r"^(?:table|tabelle|tab\.|tableau|tabla|cuadro|tabel)\s*[\w.\-]*\s*[:.–-]?\s+", re.IGNORECASE)
BY = re.compile(r"\s+(?:by|nach|per|par|selon|por|según|naar)\s+", re.IGNORECASE)
UNIT = re.compile(
    r"[€$£%]|\b(?:euros?|eur|usd|gbp|chf|mio|mill?|tsd|millions?|millionen|thousands?|tausend|milliers|miles|duizend|1[ .,]?000|"
    r"anzahl|number|nombre|número|aantal|personen|persons|tonn?e[ns]?|hectares?|hektar|percent|prozent)\b",
    re.IGNORECASE,
)
NUMBER_OF = re.compile(r"\b(?:numbers?|counts?|anzahl|zahl|nombre|effectifs?|número|aantal)\b", re.IGNORECASE)
SOURCE = re.compile(r"^(?:sources?|quellen?|fuentes?|bron(?:nen)?)\s*:\s*(.+)", re.IGNORECASE)
BETWEEN_NAMES = re.compile(r"\s*[\\/|×]\s*")  # in the corner of a table: Branch / Region
BETWEEN_LAST = re.compile(
    r"\s*,\s*(?:and\s+|und\s+)?|\s+(?:and|und|et|y|en)\s+", re.IGNORECASE
)  # between the names of dimensions
YEARS = re.compile(r"[\s,(]*\b(?:in\s+)?(?:19|20)\d\d\b.*$")  # the period at the end of a title
MAX_DIMENSION_LETTERS = 40  # of a dimension; longer texts in the corner are explanations


@dataclass(frozen=True)
class SheetTexts:
    """What readers of a table learn from the texts around it; empty where there is none."""

    title: str = ""
    unit: str = ""
    source: str = ""

    @property
    def response(self) -> str:
        """What the numbers are, by the title."""
        named = BY.split(TABLE_NUMBER.sub("", self.title), maxsplit=1)
        return named[0] if len(named) > 1 and len(named[0]) <= MAX_DIMENSION_LETTERS else ""

    @property
    def about(self) -> dict[str, str]:
        """Unit and source."""
        return {"unit": self.unit, "source": self.source}

    @property
    def are_counts(self) -> bool:
        """Whether the unit, or what the title says before the dimensions, says that the numbers are counts."""
        return NUMBER_OF.search(f"{self.unit} {self.response}") is not None


def texts_around(layout: CrossLayout) -> SheetTexts:
    """The texts above the header and below the body."""
    above = [text for row in layout.ignored_rows if row < layout.header_rows[0] and (text := _text_of_row(layout, row))]
    below = [
        text for row in layout.ignored_rows if row > layout.rows.positions[-1] and (text := _text_of_row(layout, row))
    ]
    sources = [found[1] for text in below if (found := SOURCE.match(text))]
    return SheetTexts(
        above[0] if above else "",
        next((text for text in above[1:] if UNIT.search(text)), ""),
        sources[0] if sources else "",
    )


def _text_of_row(layout: CrossLayout, row: int) -> str:
    """The text of a row that has a single one, at the left or merged from there on."""
    texts = dict.fromkeys(layout.grid.text(row, column) for column in layout.grid.rows[row])
    first = layout.grid.merged.get((row, layout.grid.rows[row][0]), (row, layout.grid.rows[row][0]))
    return next(iter(texts)) if len(texts) == 1 and first[1] < layout.columns.positions[0] else ""


def unit_in_name(name: str) -> str:
    """The unit in the name of a column, such as "Turnover in EUR" and "Turnover (EUR)"; empty if there is none."""
    found = re.search(r"\s(?:in|en)\s+(.+)$|[(\[]([^()\[\]]+)[)\]]\s*$", name)
    unit = (found[1] or found[2]).strip() if found else ""
    return unit if UNIT.search(unit) else ""


def names_of_labels(layout: CrossLayout, stub: Iterable[int]) -> tuple[list[str], list[str]]:
    """The names that the sheet gives to its columns of labels, and to its header rows; empty where there is none."""
    stub = list(stub)
    below = [row for row in layout.ignored_rows if layout.header_rows[-1] < row < layout.rows.positions[0]]
    # Where the names of the rows have a line of their own, the corner names the columns, as in pivot tables of pandas.
    line = next((row for row in below if layout.grid.text(row, stub[0])), None)
    lines = [line] if line is not None else _rows_of_names(layout, stub)
    rows = [_name_above(layout, column, lines) for column in stub]
    columns = [_named_by(layout, header, rows, at_left=line is not None) for header in layout.header_rows]
    if len(rows) == 1 and not any(columns):
        parts = BETWEEN_NAMES.split(rows[0])
        if len(parts) == 2 and all(parts):
            rows, columns[-1] = [parts[0]], parts[1]
    return rows, columns


def names_in_title(title: str, known: Iterable[str]) -> list[str]:
    """The names of dimensions that a title lists after "by", without those that are known."""
    listed = BY.split(title, maxsplit=1)
    if len(listed) < 2:
        return []
    taken = [name.casefold() for name in known if name]
    names = [_as_name(name) for name in BETWEEN_LAST.split(YEARS.sub("", listed[1]))]
    return [name for name in names if name and not any(other in name.casefold() for other in taken)]


def _rows_of_names(layout: CrossLayout, stub: Sequence[int]) -> list[int]:
    """The rows that may name the columns of labels: those of the header, and the row above it unless it is a title."""
    row = layout.header_rows[0] - 1
    filled = layout.grid.rows.get(row, [])
    is_title = len({layout.grid.text(row, column) for column in filled}) < 2 and len(stub) < 2
    return [*([] if is_title or not filled else [row]), *layout.header_rows]


def _name_above(layout: CrossLayout, column: int, rows: Iterable[int]) -> str:
    """The lowest text above a column of labels that stands above no other column."""
    for row in sorted(rows, reverse=True):
        if layout.grid.merged.get((row, column), (row, column))[1] == column:
            name = _as_name(layout.grid.text(row, column))
            if name:
                return name
    return ""


def _named_by(layout: CrossLayout, header: int, rows: list[str], *, at_left: bool) -> str:
    """The name of a header row: the only label in the row above it, or a text in the corner that names no column of labels."""
    above = [row for row in layout.ignored_rows if row == header - 1]
    for row in above:
        labels = {layout.grid.text(row, column) for column in layout.columns.positions} - {""}
        if len(labels) == 1:
            return _as_name(labels.pop())
    stub = [column for column in layout.grid.rows.get(header, []) if column < layout.columns.positions[0]]
    corner = [_as_name(layout.grid.text(header, column)) for column in stub]
    return next((name for name in corner if name and (at_left or name not in rows)), "")


def _as_name(text: str) -> str:
    """A text as the name of a dimension; empty if it cannot be one."""
    name = cleaned_label(text).rstrip(":").strip() if text else ""
    return name if len(name) <= MAX_DIMENSION_LETTERS and name.casefold() not in TOTAL_WORDS else ""


def distinct(names: Iterable[str], taken: Iterable[str]) -> Iterator[str]:
    """The names, with a number after those that are taken or occur before; capitals do not count."""
    used = {name.casefold() for name in taken}
    for name in names:
        numbered = (f"{name} {n}" for n in count(2))
        new = next(one for one in chain([name], numbered) if one.casefold() not in used)
        used.add(new.casefold())
        yield new
