"""Messages on standard error."""

from __future__ import annotations

import click

from discreet.printable import printable_lines


def tell(message: str) -> None:
    """One message, with the name of the program."""
    click.echo(f"discreet: {printable_lines(message)}", err=True)
