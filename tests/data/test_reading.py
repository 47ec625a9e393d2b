"""The settings of a file, from job files and the command line."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from discreet.cli.common import reading_options
from discreet.data.reading import Reading
from discreet.errors import InputError
from discreet.jobs.job_file import examine_job

JOB = """[data]
file = "d.csv"
response = "x"
{entries}
[dimensions.region]
[rules]
sensitive = ["FREQ(3)"]
"""


def job(folder, entries):
    (folder / "d.csv").touch()
    (folder / "job.toml").write_text(JOB.format(entries=entries), encoding="utf-8")
    return examine_job(folder / "job.toml")


def test_entries_of_a_job_file_are_settings(tmp_path):
    found, errors = job(
        tmp_path, 'decimal = ","\nthousands = "."\nmissing = ["NA", "."]\nheader_row = 3\nskip_blank = false'
    )
    assert errors == []
    assert (found.source.decimal, found.source.thousands, found.source.missing) == (",", ".", ("NA", "."))
    assert (found.source.header_row, found.source.skip_blank, found.source.encoding) == (3, False, None)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('encoding = "ebcdic-7"', "encoding 'ebcdic-7' is not known"),
        ('encoding = "hex"', "encoding 'hex' is not known"),
        ('delimiter = "/"', 'delimiter is "," ";"'),
        ('decimal = "·"', 'decimal is "." or ","'),
        ("decimal = 3", "data.decimal must be text in quotes"),
        ('thousands = "_"', "thousands is one character"),
        ('decimal = "."\nthousands = "."', "decimal and thousands are both '.'"),
        ('parentheses = "yes"', 'parentheses is "negative"'),
        ('no_value = "skip"', "no_value is 'error' or 'drop' or 'zero', not 'skip'"),
        ("header_row = 0", "header_row is the number of a line, 1 or more"),
        ('missing = "NA"', "data.missing must be a list"),
    ],
)
def test_wrong_settings_are_errors_of_the_job(tmp_path, entry, message):
    _, errors = job(tmp_path, entry)
    assert len(errors) == 1
    assert message in str(errors[0])


def test_wrong_settings_in_python():
    with pytest.raises(InputError, match="decimal and thousands"):
        Reading(decimal=",", thousands=",").check()


def test_options_become_one_argument():
    read = []

    @click.command()
    @reading_options
    def command(reading):
        read.append(reading)

    arguments = ["--delimiter", "tab", "--decimal", ",", "--missing", "NA", "--missing", ".", "--no-skip-blank"]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    assert read == [Reading(delimiter="\t", decimal=",", missing=("NA", "."), skip_blank=False)]
