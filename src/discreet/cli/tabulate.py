"""The commands tabulate and assess, which make a table from records, and a problem from a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import click

from discreet.assess import MissingCodes, Zeros, assess
from discreet.cli.common import (
    PROBLEM_SUFFIXES,
    ExistingFile,
    NewFile,
    Number,
    boundary_option,
    console,
    reading_options,
    show_conditions,
    write_new_problem,
)
from discreet.data.hierarchy import Hierarchy
from discreet.data.labels import CodeList
from discreet.data.reading import Reading
from discreet.data.records import distinct_codes
from discreet.data.spelling import Names, Spelling
from discreet.data.table import Weights
from discreet.data.tabulate import tabulate
from discreet.errors import InputError, placing, some
from discreet.io import bundle, writing
from discreet.io.decisions import read_statuses, read_waivers
from discreet.jobs.hierarchies import hierarchy_file
from discreet.promise import conditions


@click.command("tabulate")
@click.argument("data", type=ExistingFile)
@click.option(
    "--by",
    "dimensions",
    multiple=True,
    required=True,
    metavar="COLUMN[=HIERARCHY]",
    help="A dimension, with a .hrc or .csv file or digits:3,1,1; repeat for more.",
)
@click.option(
    "--codes",
    multiple=True,
    metavar="COLUMN=FILE",
    help="Code list of a dimension, which orders and names its codes: CSV code,label,label:de …; repeat for more.",
)
@click.option("--response", help="Column to add up; leave out to count.")
@click.option("--contributor", help="Column with the contributor of each record.")
@click.option("--holding", help="Column with the holding of each contributor.")
@click.option("--weight", help="Column with sampling weights.")
@click.option(
    "--weights",
    type=click.Choice(get_args(Weights)),
    default="known",
    show_default=True,
    help="Whether readers may know the sampling weights; then weighted contributions are protected.",
)
@click.option("--request", help="Column that marks contributors who requested protection.")
@click.option(
    "--requests",
    multiple=True,
    metavar="ENTRY",
    help="Entry of --request that marks a request; repeat for a second kind of request … Default: any but 0 and false.",
)
@click.option(
    "--missing-code",
    "missing_codes",
    multiple=True,
    metavar="COLUMN=CODE",
    help="Code that means missing, below the total; repeat for more.",
)
@click.option("--extra", multiple=True, help="Further column to add up, for costs or as keys; repeat for more.")
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="Largest contributions to store.")
@click.option(
    "--contributions/--no-contributions",
    default=None,
    help="Store all contributions to the finest cells, to protect every respondent. Default: if contributors or holdings "
    "are named.",
)
@click.option("--ignore-zeros", is_flag=True, help="Contributors of zero are not counted.")
@click.option("--store-empty", is_flag=True, help="Store empty cells, so that zeros may be suppressed.")
@click.option(
    "--unknown",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="What to do with records whose code is not in the hierarchy.",
)
@click.option(
    "--strip", multiple=True, metavar="COLUMN", help="Blanks around and within codes are stray; repeat for more."
)
@click.option(
    "--merge",
    multiple=True,
    metavar="COLUMN:CODE=CODE",
    help="The first code is the second, written differently; twice the same: a code of its own. Repeat for more.",
)
@click.option(
    "--names", type=click.Choice(get_args(Names)), help="Whether other blanks and capitals make another contributor."
)
@reading_options
@click.option("--out", type=NewFile(".discreet"), required=True, help="Bundle to write (.discreet).")
def tabulate_command(
    data: Path,
    dimensions: tuple[str, ...],
    codes: tuple[str, ...],
    extra: tuple[str, ...],
    ignore_zeros: bool,
    strip: tuple[str, ...],
    merge: tuple[str, ...],
    missing_codes: tuple[str, ...],
    out: Path,
    reading: Reading,
    **options: Any,
) -> None:
    """Tabulate records into cells with all their totals."""
    columns = [text.partition("=")[0] for text in dimensions]
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise InputError(f"--by names column {twice[0]!r} twice. Leave one out.", twice)
    spelling = _spelling(columns, strip, merge)
    missing = _missing(columns, missing_codes)
    hierarchies = dict(_dimension(data, text, reading, spelling, missing) for text in dimensions)
    _name_codes(data, hierarchies, codes, reading, spelling)
    table = tabulate(
        data,
        hierarchies,
        extra=list(extra),
        count_zeros=not ignore_zeros,
        reading=reading,
        spelling=spelling,
        **options,
    )
    with writing(out) as draft:
        bundle.write_table(table, draft)
    console.print(f"{table!r}, {table.n_empty:,} empty", markup=False)
    show_conditions(conditions(table))


def _spelling(columns: Sequence[str], strip: Sequence[str], merge: Sequence[str]) -> dict[str, Spelling]:
    """The settings in the values of --strip and --merge."""
    merged: dict[str, dict[str, str]] = {column: {} for column in columns}
    for text in merge:
        column, _, pair = text.partition(":")
        code, equals, into = pair.partition("=")
        if column not in merged or not equals:
            raise InputError(f"--merge {text}: write COLUMN:CODE=CODE, with a column that --by names.", [text])
        merged[column][code] = into
    unknown = [column for column in strip if column not in merged]
    if unknown:
        raise InputError(f"--strip {unknown[0]}: --by names no such column. Name one of {some(columns)}.", unknown)
    return {column: Spelling(True if column in strip else None, into) for column, into in merged.items()}


def _missing(columns: Sequence[str], given: Sequence[str]) -> dict[str, list[str]]:
    """The codes that mean missing, by column: the values of --missing-code."""
    found: dict[str, list[str]] = {column: [] for column in columns}
    for text in given:
        column, equals, code = text.partition("=")
        if column not in found or not equals:
            raise InputError(f"--missing-code {text}: write COLUMN=CODE, with a column that --by names.", [text])
        found[column].append(code)
    return found


def _name_codes(
    data: Path,
    hierarchies: dict[str, Hierarchy | None],
    codes: Sequence[str],
    reading: Reading,
    spelling: Mapping[str, Spelling],
) -> None:
    """Give the hierarchies the order and the labels of code lists, the values of --codes."""
    for text in codes:
        column, equals, file = text.partition("=")
        if column not in hierarchies or not equals:
            raise InputError(f"--codes {text}: write COLUMN=FILE, with a column that --by names.", [text])
        hierarchy = hierarchies[column]
        if hierarchy is None:
            found = distinct_codes(data, [column], reading, spelling[column], "Total")[column]
            hierarchy = Hierarchy.flat(found)
        with placing(f"--codes {text}"):
            hierarchies[column] = hierarchy.with_code_list(CodeList.from_csv(file))


def _dimension(
    data: Path,
    text: str,
    reading: Reading,
    spelling: Mapping[str, Spelling],
    missing: Mapping[str, Sequence[str]],
) -> tuple[str, Hierarchy | None]:
    """The column and the hierarchy in a value of --by."""
    column, equals, source = text.partition("=")
    digits = source.startswith("digits:")
    if not equals and not missing[column]:
        return column, None
    codes: list[str] = []
    if not equals or digits or missing[column]:
        codes = distinct_codes(data, [column], reading, spelling[column], "Total")[column].tolist()
    given = [code for code in codes if code not in missing[column]]
    if digits:
        try:
            widths = [int(width) for width in source.removeprefix("digits:").split(",")]
        except ValueError:
            raise InputError(f"--by {text}: write the widths of the levels as digits:3,1,1.") from None
        found = Hierarchy.from_levels(sorted(given), widths)
    else:
        found = hierarchy_file(Path(source)) if equals else Hierarchy.flat(given)
    return column, found.with_missing(code for code in missing[column] if code in codes)


@click.command("assess")
@click.argument("table", type=ExistingFile)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="E.g. P(10); repeat for more.")
@click.option("--cost", default="value", show_default=True, help="Cost of suppressing a cell; see `discreet rules`.")
@boundary_option
@click.option(
    "--prior",
    type=Number(0, 100, min_open=True),
    metavar="PERCENT",
    help="Every reader knows each value of the tables to within this; default: only that it is not negative.",
)
@click.option(
    "--margin",
    type=Number(0),
    default=20.0,
    show_default=True,
    help="Protection of cells made primary by hand, in percent.",
)
@click.option(
    "--least-level",
    type=Number(0),
    default=0.0,
    metavar="NUMBER",
    help="No protection level is below this, in units of the response. Default: 0.",
)
@click.option(
    "--statuses", type=ExistingFile, help="CSV cell,status[,reason]: primary, free, published or suppressed by hand."
)
@click.option("--waivers", type=ExistingFile, help="CSV respondent or respondent,cell: consents to publication.")
@click.option(
    "--zeros",
    type=click.Choice(get_args(Zeros)),
    help="Whether zeros stay published, or may be suppressed to protect others.",
)
@click.option(
    "--missing-codes",
    type=click.Choice(get_args(MissingCodes)),
    default="judged",
    show_default=True,
    help="Whether sensitive cells with a missing code may be published.",
)
@click.option(
    "--out", type=NewFile(*PROBLEM_SUFFIXES), required=True, help="Problem to write (.discreet, .jj or .jj.gz)."
)
def assess_command(
    table: Path,
    rules: tuple[str, ...],
    statuses: Path | None,
    waivers: Path | None,
    out: Path,
    **options: Any,
) -> None:
    """Find the sensitive cells of a tabulated table."""
    if not rules and not statuses:
        raise click.UsageError("No cell would be sensitive: give --rule, --statuses or both.")
    read = bundle.read_table(table)
    problem = assess(
        read,
        rules,
        statuses=read_statuses(statuses, list(read.dimensions)) if statuses else None,
        waivers=read_waivers(waivers, list(read.dimensions)) if waivers else (),
        **options,
    )
    write_new_problem(problem, out)
    console.print(f"{len(problem.primaries):,} of {problem.table.n_listed:,} cells are sensitive")
    show_conditions(conditions(problem))
