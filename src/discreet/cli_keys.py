"""The command that gives records their keys."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli_common import ExistingFile, NewFile, SecretNumber, console, keep_apart
from discreet.errors import InputError
from discreet.io import writing
from discreet.io.keys import RECORDS, add_keys
from discreet.microdata import PARQUET


@click.command("keys")
@click.argument("data", type=ExistingFile)
@click.option("--id", "identifier", required=True, help="Column that identifies a record, always in the same way.")
@click.option("--seed", type=SecretNumber(0), required=True, envvar="DISCREET_KEYS_SEED", help="Confidential.")
@click.option("--name", default="key", show_default=True, help="What the new column is called.")
@click.option("--out", type=NewFile(*RECORDS), required=True, help="Records to write, in the format of those read.")
def keys_command(data: Path, identifier: str, seed: int, name: str, out: Path) -> None:
    """Give every record a key, for cell-key perturbation."""
    keep_apart(data, out)
    if data.name.lower().endswith(PARQUET) != out.name.lower().endswith(PARQUET):
        raise InputError(f"{out} should be in the same format as {data}: both CSV, or both Parquet.")
    with writing(out) as draft:
        many = add_keys(data, draft, identifier, seed=seed, name=name)
    console.print(f"{many:,} records have a key each in the column {name!r}", markup=False)
