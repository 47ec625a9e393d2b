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


def run(job: Path) -> Outcome:
    """``discreet run job.toml``, in this process."""
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            code = cli.main(["run", str(job), "--quiet"], prog_name="discreet", standalone_mode=False)
    except DiscreetError as error:
        return Outcome(error.exit_code, str(error))
    except click.ClickException as error:
        return Outcome(2, error.format_message())
    except Exception as error:
        return Outcome(-1, repr(error), traceback.format_exc())
    return Outcome(int(code or 0), said.getvalue())
