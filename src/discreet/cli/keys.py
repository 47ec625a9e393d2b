"""The commands secret and keys: a new secret, and the keys of records."""

from __future__ import annotations

import os
from pathlib import Path

import click

from discreet.cli.common import ExistingFile, NewFile, check_distinct, console
from discreet.data.records import PARQUET_SUFFIXES, RECORD_SUFFIXES
from discreet.errors import InputError
from discreet.io import writing
from discreet.io.record_keys import add_keys
from discreet.secret import Secret


@click.command("keys")
@click.argument("data", type=ExistingFile)
@click.option("--id", "identifier", required=True, help="Column that identifies a record, always in the same way.")
@click.option(
    "--secret",
    type=ExistingFile,
    required=True,
    help="File with the secret that determines the keys; keep it. See `discreet secret`.",
)
@click.option("--name", default="key", show_default=True, help="Name of the new column.")
@click.option(
    "--out", type=NewFile(*RECORD_SUFFIXES), required=True, help="Records to write, in the format of those read."
)
def keys_command(data: Path, identifier: str, secret: Path, name: str, out: Path) -> None:
    """Give every record a key, for cell-key perturbation."""
    check_distinct(data, secret, out)
    if data.name.lower().endswith(PARQUET_SUFFIXES) != out.name.lower().endswith(PARQUET_SUFFIXES):
        raise InputError(f"{out} should be in the same format as {data}: both CSV, or both Parquet.")
    with writing(out) as draft:
        n_records = add_keys(data, draft, identifier, secret=Secret.read(secret), name=name)
    console.print(f"{n_records:,} records have a key each in the column {name!r}", markup=False)


@click.command("secret")
@click.argument("file", type=NewFile())
def secret_command(file: Path) -> None:
    """Draw a secret for randomness that protects, and write it into a file that only you can read."""
    if file.exists():
        raise InputError(f"{file} exists already, and its secret may be needed again. Choose another name.")
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as opened:
            opened.write(Secret.drawn().digits + "\n")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}.") from None
    console.print(f"Written {file}. Confidential: keep it secret.", markup=False)
