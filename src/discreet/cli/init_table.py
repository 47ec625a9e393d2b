"""What the command init shows of a finished table, and what it asks about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from discreet.cli.common import console
from discreet.cli.questions import ask, ask_yes
from discreet.data.cross_layout import ranges
from discreet.data.reading import Reading
from discreet.data.sheet_grid import column_letters
from discreet.errors import InputError, plural, some
from discreet.jobs.roles import NO_COLUMN
from discreet.jobs.sheet_levels import USUAL_NAMES
from discreet.jobs.table_proposal import TableProposal

MAX_SHOWN_LABELS = 3  # places of marks, and codes


def table_rules(found: TableProposal) -> tuple[str, ...]:
    """The rules that can be applied to the table. Their parameters are examples: each office sets its own."""
    by_size = ("P(10)",) if len(found.top) > 1 else ()
    return (*by_size, "FREQ(3)") if found.count else by_size


def show_table(found: TableProposal) -> None:
    """Print where the table is, and what its labels are."""
    rows, columns = found.layout.rows, found.layout.columns
    header = found.layout.header_rows
    console.print(
        f"{found.layout.grid.name}: a finished table. Numbers in {ranges(columns.positions, column_letters)}, rows "
        f"{ranges(rows.positions)}; header in {'row' if len(header) == 1 else 'rows'} {ranges(header)}.",
        markup=False,
    )
    for name, codes in found.codes.items():
        console.print(f"  {name}: {plural(len(codes), 'label')}, {some(codes, MAX_SHOWN_LABELS)}", markup=False)
    if found.has_measures:
        console.print(f"  kinds of numbers: {some(found.labels_of_measures, 12)}", markup=False)
    if found.without_total:
        console.print(f"! It has no totals of {some(found.without_total)}.", markup=False)
    if not found.adds_up:
        console.print("  Its totals are not the sums of their parts as it is read here; see below.", markup=False)
    if found.is_count:
        console.print(
            "! The numbers are taken for counts in which each contributor counts one. If they are sums of contributions, such as "
            "employees of firms, give --count -.",
            markup=False,
        )
    if not USUAL_NAMES.isdisjoint(found.dimensions):
        console.print("  The sheet does not name all dimensions. Name them, those of rows first: --by NAME --by NAME.")
    if found.others:
        console.print(f"! Other sheets are not part of the job: {some(found.others, 12)}.", markup=False)


def chosen_table(found: TableProposal, by: Sequence[str], given: Mapping[str, str]) -> TableProposal:
    """The proposed table with what the user chose: names of dimensions, of the values and of the counts."""
    if by:
        found = _with_names(found, by)
    if "response" in given:
        found = _with_value(found, given["response"])
    return _with_count(found, given["count"]) if "count" in given else found


def _with_names(found: TableProposal, names: Sequence[str]) -> TableProposal:
    if len(names) != len(found.dimensions):
        raise InputError(
            f"The table has {plural(len(found.dimensions), 'dimension')}: {some(found.dimensions, 12)}. Give as many names.",
            names,
        )
    taken = {name.casefold() for name in names}
    if len(taken) < len(names) or found.value.casefold() in taken:
        raise InputError("Give each dimension a name of its own, and another one than that of the numbers.", names)
    return found.renamed(dict(zip(found.dimensions, names, strict=True)))


def _with_value(found: TableProposal, name: str) -> TableProposal:
    labels = found.labels_of_measures
    if labels and name not in labels:
        raise InputError(f"No label says {name!r}. There are {some(labels, 12)}.", [name])
    if name in found.dimensions or not name or name == NO_COLUMN:
        raise InputError("The numbers need a name of their own, such as turnover.", [name])
    count = name if found.is_count else None if found.count == name else found.count
    return replace(found, value=name, count=count, top=tuple(other for other in found.top if other != name))


def _with_count(found: TableProposal, name: str) -> TableProposal:
    if name == NO_COLUMN:
        return replace(found, count=None)
    known = found.labels_of_measures if found.has_measures else [found.value, *found.sheets]
    if name not in known:
        raise InputError(f"There is no {name!r} with numbers of contributors. Choose from {some(known, 12)}.", [name])
    others = tuple(sheet for sheet in found.others if sheet != name)
    return replace(found, count=name, others=others)


def asked_table(found: TableProposal, reading: Reading) -> tuple[TableProposal, Reading]:
    """The table after questions to the user, and how its cells without a number are to be read."""
    console.print(f"\nPress Enter to accept what is in brackets; {NO_COLUMN} means none.\n")
    found = ask(
        "Names of the dimensions, separated by commas",
        ", ".join(found.dimensions),
        lambda answer: _with_names(found, [name.strip() for name in answer.split(",")]),
    )
    question = (
        f"What is to be published: {some(found.labels_of_measures, 12)}"
        if found.has_measures
        else "What the numbers are"
    )
    found = ask(question, found.value, lambda answer: _with_value(found, answer))
    if ask_yes(
        f"Does {found.value} count contributors, such as persons or firms, so that each counts one?",
        default=found.is_count,
    ):
        found = replace(found, count=found.value, top=())
    else:
        proposed = NO_COLUMN if found.is_count or found.count is None else found.count
        found = replace(found, count=None) if found.is_count else found
        if found.has_measures or found.sheets:
            where = "Column" if found.has_measures else "Sheet"
            found = ask(
                f"{where} with the numbers of contributors", proposed, lambda answer: _with_count(found, answer)
            )
    if found.without_total:
        names = some(found.without_total)
        question = f"There are no totals of {names} in the sheet. Is it certain that they are not published anywhere?"
        found = replace(found, unpublished_totals=ask_yes(question, default=False))
    return found, _asked_marks(found, reading)


def _asked_marks(found: TableProposal, reading: Reading) -> Reading:
    """How cells without a number are to be read."""
    marks = {mark: places for mark, places in found.marks.items() if mark not in reading.missing}
    if not marks or reading.no_value != "error":
        return reading
    shown = ", ".join(f"{mark!r}" if mark else "nothing" for mark in marks)
    places = [place for listed in marks.values() for place in listed]
    where = f"{plural(len(places), 'cell')} without a number ({shown}), e.g. {', '.join(places[:MAX_SHOWN_LABELS])}"
    if ask_yes(f"{where}: do all of them mean zero?", default=found.adds_up):
        return replace(reading, missing=(*reading.missing, *filter(None, marks)), no_value="zero")
    console.print(
        "  A table with values that are suppressed or not known cannot be protected: use it as it was before."
    )
    return reading
