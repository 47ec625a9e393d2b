"""The console, options, argument types and messages that the commands share."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

from discreet.audit import Audit
from discreet.data.reading import DECIMAL_SEPARATORS, THOUSANDS_SEPARATORS, NoValue, Reading
from discreet.errors import InputError, plural
from discreet.io import FORMATS, read_problem, write_problem
from discreet.io.attackers import with_attackers
from discreet.jobs.job_file import Job
from discreet.level import SAFETY_LEVELS
from discreet.printable import printable_lines
from discreet.problem import Problem
from discreet.promise import Condition, safe
from discreet.protection import Protection


class _Output(Console):
    """Standard output. If the program that reads it ends early (``| head``), the work goes on with the same exit code."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def render_str(self, text: str, **style: Any) -> Text:
        """Text without control characters, because codes and names come from data."""
        return super().render_str(printable_lines(text), **style)


PROBLEM_SUFFIXES = tuple(suffix for suffix, module in FORMATS.items() if hasattr(module, "write_problem"))
RELEASE_SUFFIXES = tuple(suffix for suffix, module in FORMATS.items() if hasattr(module, "write_release"))

console = _Output(highlight=False, soft_wrap=True, emoji=False)


class NewFile(click.Path):
    """A file to write. Its suffix and its folder are checked before any work is done."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if self.suffixes and not path.name.lower().endswith(self.suffixes):
            self.fail(f"the name of {str(path)!r} must end in {' or '.join(self.suffixes)}.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"the folder {str(path.parent)!r} does not exist.", param, ctx)
        return path


class Setting(click.ParamType[tuple[str, str]]):
    """``name=value``."""

    name = "setting"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, equals, text = value.partition("=")
        if not (name and equals):
            self.fail(f"write {value!r} as name=value.", param, ctx)
        return name.replace("-", "_"), text


ExistingFile = click.Path(exists=True, dir_okay=False, path_type=Path)


quiet_option = click.option("--quiet", is_flag=True, help="No progress bars or lines.")
problem_argument = click.argument("problem", type=ExistingFile)
pattern_option = click.option(
    "--pattern", type=ExistingFile, required=True, help="The pattern: cell,status with one line per cell."
)
attackers_option = click.option(
    "--attackers",
    type=ExistingFile,
    help="Further attackers: CSV attacker,cell,lower,upper with levels if they differ.",
)
level_option = click.option(
    "--level",
    type=click.Choice(SAFETY_LEVELS),
    help="What is protected: the contributions of every respondent, or only the values of sensitive cells. "
    "Default: contributions if contributors are named and a rule is about contributions.",
)
boundary_option = click.option(
    "--boundary",
    type=click.Choice(["strict", "inclusive"]),
    default="strict",
    show_default=True,
    help="Whether a cell exactly on the boundary of a rule is safe (strict) or sensitive (inclusive).",
)
secret_option = click.option(
    "--secret",
    type=ExistingFile,
    help="File with a secret for randomness that protects, to repeat a run; default: a new one. See `discreet secret`.",
)
accept_symmetric_option = click.option(
    "--accept-symmetric",
    is_flag=True,
    help="Publish also the narrowest safe intervals, which have the values in their middles.",
)
workers_option = click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")


READING_OPTIONS = (
    click.option(
        "--encoding", help="Encoding of the text, e.g. windows-1252. Default: as found, UTF-8 without a mark."
    ),
    click.option(
        "--delimiter", type=click.Choice([",", ";", "|", "tab"]), help="Sign between fields. Default: as found."
    ),
    click.option("--decimal", type=click.Choice(DECIMAL_SEPARATORS), help="Decimal separator. Default: as found."),
    click.option(
        "--thousands",
        type=click.Choice(THOUSANDS_SEPARATORS),
        help="Sign between thousands; a space stands for all spaces. Default: as found.",
    ),
    click.option(
        "--parentheses", type=click.Choice(["negative"]), help="Numbers in parentheses are negative. Default: an error."
    ),
    click.option(
        "--missing", multiple=True, metavar="TEXT", help="Text that means no value, e.g. NA; repeat for more."
    ),
    click.option(
        "--no-value",
        type=click.Choice(get_args(NoValue)),
        default="error",
        show_default=True,
        help="What to do with records without a number: left out, or counted as zero.",
    ),
    click.option("--skip-blank/--no-skip-blank", default=True, help="Blank lines are skipped (default) or refused."),
    click.option("--sheet", help="Sheet of a workbook. Default: the one with the columns."),
    click.option("--header-row", type=click.IntRange(1), help="Line with the names of columns. Default: the first."),
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say how a file is to be read; the command gets them as one argument ``reading``."""

    @wraps(command)
    def with_reading(**options: Any) -> Any:
        settings = {field.name: options.pop(field.name) for field in fields(Reading)}
        settings["delimiter"] = "\t" if settings["delimiter"] == "tab" else settings["delimiter"]
        return command(**options, reading=Reading(**settings))

    for option in reversed(READING_OPTIONS):
        option(with_reading)
    return with_reading


def problem_with_attackers(path: Path, attackers: Path | None) -> Problem:
    """The problem of a file, with the attackers of another file if there is one."""
    problem = read_problem(path)
    return with_attackers(problem, attackers) if attackers else problem


class Number(click.FloatRange):
    """A number in a range. ``nan`` is refused; comparisons with the ends of the range would accept it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if np.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


def check_job_is_kept(job: Job, *written: Path | None) -> None:
    """Refuse to overwrite a job file or a file that the job reads."""
    for file in (job.path, *map(job.resolve, job.reads())):
        check_distinct(file, *written)


def check_distinct(*files: Path | None) -> None:
    """Refuse a file that is named twice, as two outputs or as input and output."""
    paths = [file.resolve() for file in files if file]
    twice = [path for path in paths if paths.count(path) > 1]
    if twice:
        raise InputError(f"{twice[0]} is given twice: write each file to a path of its own.")


def verdict(checked: Audit, protection: Protection) -> str:
    """The verdict of an audit in one line."""
    cells = len(np.unique(checked.cell))
    if checked.passed:
        return f"{safe(protection)}: {cells:,} cells keep their protection"
    exposed, computable = len(np.unique(checked.cell[~checked.safe])), len(checked.computable)
    reasons = [f"{exposed:,} of {cells:,} cells can be inferred too closely"] if exposed or not computable else []
    if computable:
        reasons.append(f"{plural(computable, 'other suppressed cell')} can be computed exactly")
    return f"exposed: {', and '.join(reasons)}"


def show_conditions(found: Iterable[Condition]) -> None:
    """Print the conditions of a verdict; those that weaken it are marked."""
    for condition in found:
        style = "yellow" if condition.weakens else None
        console.print(f"{'!' if condition.weakens else ' '} {condition}", markup=False, style=style)


def show_written(files: Iterable[Path], is_public: Callable[[Path], bool] = lambda _: False) -> None:
    """Print the names of the files written, and which of them are confidential."""
    console.print("Written:")
    for file in files:
        console.print(f"  {escape(str(file))}{'' if is_public(file) else '  [dim]confidential[/]'}")


def figures_grid() -> Grid:
    """A grid of figures and their meanings."""
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column(justify="right")
    grid.add_column()
    return grid


def write_new_problem(problem: Problem, path: Path) -> None:
    """Write a problem, and print warnings about what its file cannot store."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_problem(problem, path)
    for warning in caught:
        console.print(str(warning.message), markup=False)
