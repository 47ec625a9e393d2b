"""The command line, one command or a few related ones per module."""

from __future__ import annotations

import click

from discreet.printable import printable_lines


def print_message(message: str) -> None:
    """Print a message after the name of the program on standard error."""
    click.echo(f"discreet: {printable_lines(message)}", err=True)
