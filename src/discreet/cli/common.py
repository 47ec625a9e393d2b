"""What the commands share: the console, kinds of arguments, and words."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.text import Text

from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.errors import InputError, plural
from discreet.io import FORMATS, read_problem, write_problem
from discreet.io.attackers import with_attackers
from discreet.jobs.job_file import Job
from discreet.level import SAFETY_LEVELS, LevelInForce
from discreet.printable import printable_lines
from discreet.problem import Problem
from discreet.promise import promise, safe
from discreet.protection import Protection


class _Output(Console):
    """Standard output. A reader who has seen enough (``| head``) does not end the work, nor change its exit code."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def render_str(self, text: str, **style: Any) -> Text:
        """Codes and names come from data: what they hold is shown, and never obeyed by a terminal."""
        return super().render_str(printable_lines(text), **style)


PROBLEMS = tuple(suffix for suffix, module in FORMATS.items() if hasattr(module, "write_problem"))
RELEASES = tuple(suffix for suffix, module in FORMATS.items() if hasattr(module, "write_release"))

console = _Output(highlight=False, soft_wrap=True, emoji=False)


class NewFile(click.Path):
    """A file to write: where it cannot be is said before any work is done, not after."""

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


class SecretNumber(click.IntRange):
    """A whole number from 0 that no message repeats."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail("it must be a whole number, 0 or more.", param, ctx)


quiet_option = click.option("--quiet", is_flag=True, help="No progress bars.")
problem_argument = click.argument("problem", type=ExistingFile)
pattern_option = click.option(
    "--pattern", type=ExistingFile, required=True, help="The pattern: cell,status with one line a cell."
)
attackers_option = click.option(
    "--attackers",
    type=ExistingFile,
    help="Further attackers: CSV attacker,cell,lower,upper with levels if they differ.",
)
level_option = click.option(
    "--level",
    type=click.Choice(SAFETY_LEVELS),
    help="What is to be safe: every single respondent's contributions, or only the values of sensitive cells. "
    "Default: contributions wherever contributors are named and a rule is about them.",
)
secret_option = click.option(
    "--secret",
    type=ExistingFile,
    help="File with a secret for randomness that protects, to repeat a run; default: a new one. See `discreet secret`.",
)
accept_symmetric_option = click.option(
    "--accept-symmetric",
    is_flag=True,
    help="Publish intervals as narrow as levels allow all the same, though values are in their middles.",
)
workers_option = click.option(
    "--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes to spread the work over."
)


def problem_against(problem: Path, attackers: Path | None) -> Problem:
    """A problem, with the attackers of another file if there is one."""
    given = read_problem(problem)
    return with_attackers(given, attackers) if attackers else given


class Number(click.FloatRange):
    """A number in a range, which ``nan`` is not, though no end of the range says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if np.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


def keep_job(job: Job, *written: Path | None) -> None:
    """Refuse to write over a job or what it reads."""
    for file in (job.path, *map(job.resolve, job.reads())):
        keep_apart(file, *written)


def keep_apart(*files: Path | None) -> None:
    """Refuse to write two files into one, or over what is read."""
    places = [file.resolve() for file in files if file]
    twice = [place for place in places if places.count(place) > 1]
    if twice:
        raise InputError(f"{twice[0]} is given twice: write each file to a place of its own.")


def verdict(checked: Audit, protection: Protection) -> str:
    """An audit in one line."""
    cells = len(np.unique(checked.cell))
    if checked.passed:
        return f"{safe(protection)}: {cells:,} cells keep their protection"
    close, computable = len(np.unique(checked.cell[~checked.safe])), len(checked.computable)
    found = [f"{close:,} of {cells:,} cells can be inferred too closely"] if close or not computable else []
    if computable:
        found.append(f"{plural(computable, 'other suppressed cell')} can be computed exactly")
    return f"exposed: {', and '.join(found)}"


def respondents_verdict(seen: RespondentAudit, protection: Protection) -> str:
    """The same at the level of contributions."""
    if seen.passed:
        return f"{safe(protection)}: {seen.targets:,} respondents keep their protection"
    return f"exposed: {len(seen.respondents):,} of {seen.targets:,} respondents can be estimated too closely"


def show_promise(protection: Protection, level: LevelInForce, respondents: RespondentAudit | None = None) -> None:
    """What the verdict promises and what it does not."""
    for sentence in promise(protection, respondents, level):
        console.print(f"  {sentence}", markup=False)


def write_new_problem(problem: Problem, path: Path) -> None:
    """Write a problem, and what its file does not say to the terminal."""
    with warnings.catch_warnings(record=True) as unsaid:
        warnings.simplefilter("always")
        write_problem(problem, path)
    for warning in unsaid:
        console.print(str(warning.message), markup=False)
