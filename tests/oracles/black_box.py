"""The package as a black box: the only module here that imports it, and only its command line."""

from __future__ import annotations

import io
import traceback
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import click

from discreet.cli.main import cli
from discreet.errors import DiscreetError


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its exit code and message; ``crash`` is the traceback of an error that was not foreseen."""

    code: int
    message: str
    crash: str = ""
    is_error: bool = False


def run(job: Path) -> Outcome:
    """``discreet run job.toml``, in this process."""
    return _called(["run", str(job), "--quiet"])


def run_argus(job: Path) -> Outcome:
    """``discreet argus job.arb``, in this process."""
    return _called(["argus", str(job), "--quiet"])


def _called(words: list[str]) -> Outcome:
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            code = cli.main(words, prog_name="discreet", standalone_mode=False)
    except DiscreetError as error:
        return Outcome(error.exit_code, str(error), is_error=True)
    except click.ClickException as error:
        return Outcome(2, error.format_message(), is_error=True)
    except Exception as error:
        return Outcome(-1, repr(error), traceback.format_exc())
    return Outcome(int(code or 0), said.getvalue())
