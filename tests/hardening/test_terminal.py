"""What data hold is shown by a terminal, never obeyed; and what is secret is not shown at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest
from tests.helpers.fixed import secret

from discreet import tabulate
from discreet.cli import common as cli_common
from discreet.cli.main import main
from discreet.io.bundle import write_table
from discreet.printable import printable, printable_lines

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x08\x7f\u202egnp\u2028x"


def ran(monkeypatch, capsys, *words: object) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    return ended.value.code, shown.out + shown.err


def is_clean(text: str) -> bool:
    return not any(sign in text for sign in EVIL if not sign.isalnum() and sign not in "];[")


@pytest.fixture(autouse=True)
def where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_control_characters_are_written_out():
    assert printable("a\x1b[2Jb\n\t\x9b\u202e×é‌") == "a\\x1b[2Jb\\n\\t\\x9b\\u202e×é‌"
    assert printable_lines("a\nb\r") == "a\nb\\r"
    assert is_clean(printable(EVIL))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_view(monkeypatch, capsys, suffix, dimensions):
    frame = pd.DataFrame({f"{EVIL}{d}": [f"{EVIL}a", f"b\nSafe: all is well{d}"] for d in range(dimensions)})
    frame[f"v{EVIL}"] = [EVIL, "5"]
    path = Path(f"r{suffix}")
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    code, shown = ran(monkeypatch, capsys, "view", path)
    assert code == 0
    assert is_clean(shown)
    assert "\\x1b" in shown
    assert not any(line.startswith("Safe") for line in shown.splitlines())


def test_view_on_a_terminal_keeps_its_own_style(monkeypatch, capsys):
    Path("r.csv").write_text(f"{EVIL}g,v\na,1\n")
    monkeypatch.setattr(cli_common.console, "_force_terminal", True)
    monkeypatch.setattr(cli_common.console, "_color_system", cli_common.console._color_system)
    _, shown = ran(monkeypatch, capsys, "view", "r.csv")
    assert "\x1b]0" not in shown
    assert "\x1b[2J" not in shown


def test_codes_in_messages(monkeypatch, capsys):
    """Names of columns, codes and files, in errors and in what is said on the way."""
    Path("d.csv").write_text(f"g,v{EVIL}\na{EVIL},1\nb,x{EVIL}\n")
    for words in (
        ("tabulate", "d.csv", "--by", "h", "--out", "t.discreet"),
        ("tabulate", "d.csv", "--by", "g", "--response", f"v{EVIL}", "--out", "t.discreet"),
        ("tabulate", f"no{EVIL}.csv", "--by", "g", "--out", "t.discreet"),
        ("tabulate", "d.csv", f"--{EVIL}", "--out", "t.discreet"),
        ("tabulate", "d.csv", "--by", "g", "--out", f"no{EVIL}/t.discreet"),
        (f"co{EVIL}",),
    ):
        code, shown = ran(monkeypatch, capsys, *words)
        assert code == 2
        assert is_clean(shown), words


def test_names_in_what_is_printed(monkeypatch, capsys):
    frame = pd.DataFrame({f"g{EVIL}": ["a", "b"], f"v{EVIL}": [1, 2]})
    write_table(tabulate(frame, f"g{EVIL}", f"v{EVIL}"), f"t{EVIL}.discreet".replace("/", ""))
    code, shown = ran(monkeypatch, capsys, "view", f"t{EVIL}.discreet")
    assert code == 0
    assert "cells" in shown
    assert is_clean(shown)


def test_a_job_with_evil_codes(monkeypatch, capsys):
    rows = "".join(f"{code},{v}\n" for code in (f"a{EVIL}", "b", "c", "d") for v in (5, 6, 7, 8))
    Path("d.csv").write_text(f"g{EVIL},v\n{rows}")
    name = f"g{EVIL}".encode("unicode_escape").decode().replace("\\x", "\\u00")
    Path("job.toml").write_text(
        f'title = "t"\n[data]\nfile = "d.csv"\nresponse = "v"\n[dimensions."{name}"]\n[rules]\nsensitive = ["FREQ(3)"]\n'
    )
    code, shown = ran(monkeypatch, capsys, "run", "job.toml")
    assert code == 0, shown
    assert is_clean(shown)


# -- secrets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", ["98765", "98765x" * 10, "-" + "98765" * 8, "98765" * 5000, "98765 " * 8])
def test_a_secret_is_never_repeated(monkeypatch, capsys, digits):
    Path("d.csv").write_text("id,v\na,1\n")
    Path("s").write_text(digits)
    code, shown = ran(monkeypatch, capsys, "keys", "d.csv", "--id", "id", "--secret", "s", "--out", "o.csv")
    assert code == 2
    assert "98765" not in shown
    assert "secret" in shown


def test_nor_where_all_goes_well(monkeypatch, capsys):
    Path("d.csv").write_text("id,v\na,1\n")
    Path("s").write_text(secret())
    code, shown = ran(monkeypatch, capsys, "keys", "d.csv", "--id", "id", "--secret", "s", "--out", "o.csv")
    assert code == 0
    assert secret()[:10] not in shown
