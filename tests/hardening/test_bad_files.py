"""Bad files end in a message that says what, where and what to do, and in exit code 2: never in a traceback."""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

import pytest
from tests.helpers.fixed import secret

from discreet import Hierarchy, InputError, tabulate
from discreet.cli.main import main
from discreet.errors import DiscreetError, FormatError
from discreet.io import writing

LONG = 33 << 20  # longer than the engine's buffer

JOB = """\
[data]
file = "d.csv"
response = "v"
[dimensions.g]
[rules]
sensitive = ["FREQ(3)"]
"""
DATA = "g,v\n" + "".join(f"{code},{v}\n" for code in "abc" for v in (5, 6, 7, 8))


def discreet(monkeypatch, capsys, *words: object) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return ended.value.code, shown.err


TABULATE = ("tabulate", "d.csv", "--by", "g", "--response", "v", "--out", "t.discreet")

RECORDS = {
    "one line that ends in CR": (b"g,v\r", "no records"),
    "a header over 131,072 letters": (b"g,v," + b"x" * 131_073 + b"\na,1,2\n", "line 1: cannot be read as names"),
    "a header of 3 MB": (b"g,v," + b"x" * 3_000_000 + b"\na,1,2\n", "line 1: cannot be read as names"),
    "a quote in the header that never ends": (b'"g,v\na,1\n', "line 1: cannot be read as names"),
    "a quote that never ends": (b'g,v\n"a,1\n', "line 2: cannot be read"),
    "a last line over 32 MB": (b"g,v,w\na,1,x\nb,2," + b"y" * LONG, "a line of more than 2,000,000 bytes"),
    "the same, ended": (b"g,v,w\na,1,x\nb,2," + b"y" * LONG + b"\n\n\r\n", "a line of more than 2,000,000 bytes"),
    "the only record over 32 MB": (b"g,v,w\nb,2," + b"y" * LONG + b"\n", "a line of more than 2,000,000 bytes"),
    "a quoted last record over 32 MB": (
        b'g,v,w\na,1,x\nb,2,"' + b"y" * (LONG // 2) + b"\n" + b"y" * (LONG // 2) + b'"\n',
        "a line of more than 2,000,000 bytes|cannot be read",
    ),
    "a line over 32 MB in the middle": (b"g,v,w\nb,2," + b"y" * LONG + b"\nc,3,z\n", "2,000,000 bytes"),
    "a line of 3 MB": (b"g,v,w\nb,2," + b"y" * 3_000_000 + b"\nc,3,z\n", "line 2: .*more than 131,072 letters"),
    "other fields": (b"g,v\na,1\nb\n", "line 3: more or fewer than the 2 fields"),
    "no UTF-8": (b"g,v\n\xe4,1\n", 'line 2: not in UTF-8.*encoding = "windows-1252"'),
    "nothing": (b"", "is empty"),
    "blank lines": (b"\n\n\n", "is empty"),
    "zeros": (b"\0" * 1000, "NUL bytes. If it is UTF-16, add encoding"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_records(tmp_path, monkeypatch, capsys, name):
    content, message = RECORDS[name]
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_bytes(content)
    code, said = discreet(monkeypatch, capsys, *TABULATE)
    assert code == 2
    assert re.search(message, said, re.DOTALL), said
    assert len(said) < 600
    assert not Path("t.discreet").exists()


def test_a_compressed_last_line_over_32_mb(tmp_path):
    path = tmp_path / "d.csv.gz"
    path.write_bytes(gzip.compress(b"g,v,w\na,1,x\nb,2," + b"y" * LONG + b"\n"))
    with pytest.raises(InputError, match="more than 2,000,000 bytes"):
        tabulate(path, "g", "v")


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b", gzip.compress(b"g,v\na,1\n" * 1000)[:-12], b"g,v\na,1\n"],
    ids=["empty", "begun", "cut off", "plain"],
)
def test_damaged_compressed_records(tmp_path, content):
    path = tmp_path / "d.csv.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read|is empty"):
        tabulate(path, "g", "v")


def test_a_header_with_a_line_end_in_quotes(tmp_path):
    (tmp_path / "d.csv").write_text('"g\nroup";v\na;1\n')
    assert tabulate(tmp_path / "d.csv", "g\nroup", "v").labels() == ["Total", "a"]


# -- job files ----------------------------------------------------------------------------------------------------

JOBS = {
    "nested 200,000 deep": ("x = " + "[" * 200_000, "nested too deeply"),
    "tables nested 200,000 deep": ("x = " + "{a=" * 200_000, "nested too deeply"),
    "an integer of 5,000 digits": ("x = " + "9" * 5_000, "thousands of digits"),
    "a number of 400 digits": (JOB + "[protect]\ntime_limit = " + "9" * 400, "too large a number"),
    "a seed of 400 digits": (JOB + "[protect]\nseed = " + "9" * 400, "too large a number"),
    "NUL in the folder": (JOB + '[output]\nfolder = "a\\u0000b"', "output.folder has a NUL character"),
    "NUL in the checkpoint": (JOB + '[protect]\ncheckpoint = "a\\u0000b"', "protect.checkpoint has a NUL character"),
    "NUL in the data": (JOB.replace("d.csv", "d\\u0000.csv"), "data.file has a NUL character"),
    "NUL in a hierarchy": (
        JOB.replace("[dimensions.g]", '[dimensions.g]\nhierarchy = "\\u0000"'),
        "hierarchy has a NUL",
    ),
    "NUL itself": (JOB + "\0", "not a TOML file"),
    "no UTF-8": (b"title = '\xe4'", "line 1: the text is not in UTF-8"),
}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("command", [("run",), ("advise",), ("compare", "--out", "c.html")])
def test_job_files(tmp_path, monkeypatch, capsys, name, command):
    text, message = JOBS[name]
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(DATA)
    Path("job.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    code, said = discreet(monkeypatch, capsys, command[0], "job.toml", *command[1:])
    assert code == 2
    assert message in said
    assert "job.toml" in said


# -- the other files ----------------------------------------------------------------------------------------------

TEXTS = {
    "nothing": b"",
    "zeros": b"\0" * 5000,
    "CR": b"cell,status\rnone,primary\r",
    "a long field": b"cell,status\n" + b"x" * 200_000 + b",primary\n",
    "no UTF-8": b"cell,status\n\xe4,primary\n",
    "a quote": b'cell,status\n"a,primary\n',
    "JSON nested deeply": b"[" * 200_000,
    "JSON with a long number": b'{"format": ' + b"9" * 5000 + b"}",
    "gzip": gzip.compress(b"cell,status\n"),
}
COMMANDS = {
    "pattern": ("audit", "p.jj", "--pattern", "bad"),
    "attackers": ("protect", "p.jj", "--attackers", "bad", "--out", "o.csv"),
    "checkpoint": ("protect", "p.jj", "--checkpoint", "bad", "--out", "o.csv"),
    "certificate": ("verify", "bad.json", "--problem", "p.jj", "--pattern", "p.csv"),
    "certificate.gz": ("verify", "bad.json.gz", "--problem", "p.jj", "--pattern", "p.csv"),
    "problem": ("protect", "bad.jj", "--out", "o.csv"),
    "problem.gz": ("protect", "bad.jj.gz", "--out", "o.csv"),
    "bundle": ("protect", "bad.discreet", "--out", "o.csv"),
    "table": ("assess", "bad.discreet", "--rule", "P(10)", "--out", "o.discreet"),
    "statuses": ("assess", "t.discreet", "--statuses", "bad", "--out", "o.discreet"),
    "waivers": ("assess", "t.discreet", "--rule", "FREQ(3)", "--waivers", "bad", "--out", "o.discreet"),
    "hierarchy.hrc": ("tabulate", "d.csv", "--by", "g=bad.hrc", "--out", "o.discreet"),
    "hierarchy.csv": ("tabulate", "d.csv", "--by", "g=bad.csv", "--out", "o.discreet"),
    "keys": ("keys", "bad.csv", "--id", "i", "--secret", "secret", "--out", "o.csv"),
    "keys.gz": ("keys", "bad.csv.gz", "--id", "i", "--secret", "secret", "--out", "o.csv.gz"),
    "keys.parquet": ("keys", "bad.parquet", "--id", "i", "--secret", "secret", "--out", "o.parquet"),
    "edit": ("edit", "bad.csv", "--area", "a", "--key", "k", "--out", "o.csv"),
    "edit.parquet": ("edit", "bad.parquet", "--area", "a", "--key", "k", "--out", "o.csv"),
    "view.parquet": ("view", "bad.parquet"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A problem, a pattern, a table and records to go with the bad file."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "d.csv").write_text(DATA)
    (folder / "secret").write_text(secret())
    (folder / "p.jj").write_text(
        "0\n3\nT 9 9 z 0 99 0 0 0\na 4 4 u 0 99 1 1 0\nb 5 5 s 0 99 0 0 0\n1\n0 3 : T (-1) a (1) b (1)\n"
    )
    (folder / "p.csv").write_text("cell,status\nT,published\na,primary\nb,secondary\n")
    from discreet.io.bundle import write_table

    write_table(tabulate(folder / "d.csv", "g", "v"), folder / "t.discreet")
    return folder


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_file_of_every_command(place, monkeypatch, capsys, name, command):
    monkeypatch.chdir(place)
    words = COMMANDS[command]
    bad = next(Path(word.partition("=")[2] or word) for word in words if "bad" in word)
    bad.write_bytes(TEXTS[name])
    code, said = discreet(monkeypatch, capsys, *words)
    assert code == 2
    assert said.startswith("discreet: ")
    assert len(said) < 1000
    assert not [file for file in Path().iterdir() if file.name.startswith(("o.", ".discreet"))]


@pytest.mark.parametrize("name", ["a\0b.csv", "a\0/b.csv"])
def test_nul_in_names_of_files_to_write_and_read(tmp_path, name):
    with pytest.raises(FormatError, match="NUL"), writing(tmp_path / name):
        pass
    with pytest.raises(FormatError):
        Hierarchy.from_hrc(tmp_path / name)
    from discreet import read_problem

    for suffix in (".jj", ".jj.gz", ".discreet"):
        with pytest.raises(DiscreetError):
            read_problem(str(tmp_path / name) + suffix)
