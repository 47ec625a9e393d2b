"""The command line. Exit codes: 0 done and safe, 1 exposed cells or no safe pattern, 2 bad input."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

import click

from discreet import __version__
from discreet.cli import print_message
from discreet.errors import DiscreetError
from discreet.printable import printable_lines

_LOGGER = logging.getLogger("discreet")

# The module of each command in this package and the beginning of its help. Modules are imported when their command is used, so
# that the list of commands is fast.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("run", "Run the whole job on a built-in synthetic survey."),
    "init": ("init", "Look at a file of records or a finished table, and write a job file for it, with comments."),
    "check": ("check", "Check a job file, and say what it would do; nothing is protected or written."),
    "run": ("run", "Run a job file: from records to release, reproducibly."),
    "tabulate": ("tabulate", "Tabulate records into cells with all their totals."),
    "assess": ("tabulate", "Find the sensitive cells of a tabulated table."),
    "protect": ("protect", "Protect the sensitive cells, and audit the result."),
    "publish": ("publish", "Write the release, if the pattern passes the audit and withstands the quick attacks."),
    "view": ("view", "Show a release (.csv, .parquet), a problem or a table in the terminal."),
    "convert": ("view", "Convert a problem between formats, e.g. problem.discreet to problem.jj.gz."),
    "rules": ("lists", "List the rules, costs and their notation."),
    "methods": ("lists", "List the methods with their options, and the file formats."),
    "audit": ("audit", "Check whether a pattern is safe."),
    "bound": ("bound", "Prove that no safe pattern costs less than a bound."),
    "verify": ("audit", "Check a certificate in exact arithmetic, without a solver."),
    "attack": ("attack", "Attack a pattern as a reader would."),
    "keys": ("keys", "Give every record a key, for cell-key perturbation."),
    "secret": ("keys", "Draw a secret for randomness that protects, and write it into a file that only you can read."),
    "edit": ("edit", "Edit records before they are tabulated."),
    "advise": ("advise", "Advise which categories to combine, so that fewer cells of a job's table are sensitive."),
    "compare": ("compare", "Compare methods on the table of a JOB (.toml) or on a problem (.discreet, .jj)."),
    "calibrate": ("calibrate", "Compare rules P, PQ, NK(1,k) and NK(2,k)."),
    "argus": ("argus", "Run a job of τ-ARGUS (.arb) and audit it, convert it into a job file, or compare results."),
    "report": ("publish", "Audit a pattern and write the report."),
}

HELP_OPTIONS = ["-h", "--help"]


def main() -> None:
    """Entry point: an error becomes one message and an exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a question mark for a character that the terminal cannot show
    if sys.stderr.isatty():
        _show_log()
    try:
        sys.exit(cli.main(prog_name="discreet", standalone_mode=False) or 0)
    except DiscreetError as error:
        print_message(str(error))
        sys.exit(error.exit_code)
    except OSError as error:  # such as a full disk, or a file removed in the meantime
        print_message(f"{error.filename or 'Reading or writing'}: {error.strerror or 'failed'}.")
        sys.exit(2)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo(printable_lines(shown.getvalue()), err=True, nl=False)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _stop()
    except BrokenExecutor:
        print_message("a worker process ended too early, perhaps because memory ran out. Use fewer workers.")
        sys.exit(2)
    except MemoryError:
        print_message("there is not enough memory. Use less data, fewer dimensions or fewer workers.")
        sys.exit(2)
    except (RuntimeError, SystemError) as error:
        # After Ctrl-C DuckDB raises "Query interrupted", and compiled code an error that KeyboardInterrupt is a cause of.
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__
        if str(error) != "Query interrupted" and cause is None:
            raise
        _stop()


def _show_log() -> None:
    """Lines that the library logs, such as that something is compiled first."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("discreet: %(message)s"))
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.INFO)


def _stop() -> NoReturn:
    print_message("stopped; no result was written.")
    sys.exit(1)


def load(arguments: Sequence[str]) -> None:
    """Import the module of the command that the arguments name."""
    named = next((word for word in arguments if not word.startswith("-")), "")
    if named in COMMANDS:
        command(named)


def command(name: str) -> click.Command:
    """The command of this name."""
    module, _ = COMMANDS[name]
    found: click.Command = getattr(import_module(f"discreet.cli.{module}"), f"{name}_command")
    found.context_settings.setdefault("help_option_names", HELP_OPTIONS)  # also if it is called by itself
    return found


class _Commands(click.Group):
    """The group of commands, each imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return command(name) if name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        similar = get_close_matches(args[0], COMMANDS, n=1)
        if args[0] not in COMMANDS and similar:
            raise click.UsageError(f"There is no command {args[0]!r}. Did you mean {similar[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(cls=_Commands, context_settings={"help_option_names": HELP_OPTIONS})
@click.version_option(__version__, prog_name="discreet")
def cli() -> None:
    """Publish tables without publishing anyone."""
