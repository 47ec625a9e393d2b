"""Messages on standard error."""

from __future__ import annotations

import click

from discreet.printable import printable_lines


def print_message(message: str) -> None:
    """Print a message after the name of the program."""
    click.echo(f"discreet: {printable_lines(message)}", err=True)
