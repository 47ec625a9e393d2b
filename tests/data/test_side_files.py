"""Side files as programs and people write them, and how cells are named in them."""

from __future__ import annotations

import pytest

from discreet.data.hierarchy import Hierarchy
from discreet.data.side_files import read_side_file
from discreet.data.table import Table
from discreet.errors import InputError, TableError
from discreet.io.attackers import read_attackers
from discreet.io.decisions import read_recode, read_statuses, read_waivers
from discreet.io.pattern import read_pattern, write_pattern
from discreet.methods import protect
from discreet.testing import cross_table, pose

STATUSES = {"Süd × x": ("free", "no, never"), "Total × y": ("suppressed", "")}
QUOTED = 'cell,status,reason\nSüd × x,free,"no, never"\nTotal × y,suppressed,\n'


@pytest.mark.parametrize(
    "content",
    [
        QUOTED.encode(),
        QUOTED.encode("windows-1252"),
        QUOTED.encode("utf-8-sig"),
        QUOTED.encode("utf-16"),
        QUOTED.replace("\n", "\r\n").encode(),
        QUOTED.replace("\n", "\r").encode(),
        b"\r\n" + QUOTED.replace("\n", "\n\n").encode(),
        "cell;status;reason\nSüd × x;free;no, never\nTotal × y;suppressed;\n;;\n".encode(),
        "sep=;\ncell;status;reason\nSüd × x;free;no, never\nTotal × y;suppressed;\n".encode(),
        "Cell\tSTATUS\tReason \nSüd × x\tfree\tno, never\nTotal × y\tsuppressed\t\n".encode(),
        "status|reason|cell\nFree|no, never|Süd × x\nsuppressed||Total × y\n".encode(),
        "cell;status;reason;;\nSüd × x;free;no, never;;\nTotal × y;suppressed;;;\n".encode(),
        "region,letter,status,reason\nSüd,x,free,'\nTotal,y,suppressed,\n".replace("'", '"no, never"').encode(),
        "letter;status;reason;Region\nx;free;no, never;Süd\ny;suppressed;;Total\n".encode(),
    ],
)
def test_one_file_in_many_forms(tmp_path, content):
    (tmp_path / "s.csv").write_bytes(content)
    assert read_statuses(tmp_path / "s.csv", ["region", "letter"]) == STATUSES


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "cell;stat\n",
            "first line must name the columns 'cell', 'status', and may name 'reason'; 'status' is missing",
        ),
        ("cell,status,reson\n", "line 1: there is no column 'reson' in such a file. Did you mean 'reason'?"),
        ("cell,status,7\n", "there is no column '7' in such a file. Columns are 'cell', 'status', 'reason'"),
        ("cell,status,Status\n", "'status' occurs twice"),
        ("region,status\nSüd,free\n", "'letter' is missing"),
        (
            "region,letter,status\nSüd,,free\n",
            "line 2: there is no code in column 'letter'. For a total write its code",
        ),
        ('cell,status\n"Süd × x,free\n', "cannot be read as CSV"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, text, says):
    (tmp_path / "s.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says.replace("?", r"\?")):
        read_statuses(tmp_path / "s.csv", ["region", "letter"])


def test_waivers_and_recodes_in_other_forms(tmp_path):
    (tmp_path / "w.csv").write_bytes("region;letter;Respondent\n;;Müller, Söhne\nSüd;x;F2\n".encode("windows-1252"))
    assert read_waivers(tmp_path / "w.csv", ["region", "letter"]) == ["Müller, Söhne", ("F2", "Süd × x")]
    (tmp_path / "r.csv").write_text("into;code\nB;A\n", encoding="utf-8")
    assert read_recode(tmp_path / "r.csv") == {"A": "B"}


def test_hierarchies_in_other_forms(tmp_path):
    (tmp_path / "h.csv").write_bytes("PARENT;Label;Code\n;Süden;Süd\nSüd;;Süd 1\n".encode("windows-1252"))
    (tmp_path / "h.hrc").write_bytes("Süd 1\n".encode("utf-16"))
    assert Hierarchy.from_csv(tmp_path / "h.csv").codes == ("Süd", "Süd 1")
    assert Hierarchy.from_hrc(tmp_path / "h.hrc").codes == ("Total", "Süd 1")


def test_other_columns_are_left_out_only_where_they_may_occur(tmp_path):
    (tmp_path / "h.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert read_side_file(tmp_path / "h.csv", ["a"], others=True) == [(2, {"a": "1"})]


def square() -> Table:
    return cross_table(["Süd", "x"], ["x", "a x b"], [[5, 3], [3, 5]])


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Süd x x", "Süd × x"),
        ("Süd * x", "Süd × x"),
        ("Süd*x", "Süd × x"),
        ("Süd×x", "Süd × x"),
        ("  Süd  X  x ", "Süd × x"),
        ("x x x", "x × x"),
        ("x x a x b", "x × a x b"),
        ("Su\u0308d ×\u00a0a x  b", "Süd × a x b"),
        ("Total x Total", "Total × Total"),
    ],
)
def test_cells_are_named_as_they_are_typed(text, label):
    table = square()
    assert table.label(table.index(text)) == label


def test_a_code_with_an_x_is_never_torn_apart_by_guess():
    table = cross_table(["a", "a x b"], ["c", "b x c"], [[5, 3], [3, 5]])
    with pytest.raises(TableError, match=r"may be any of the cells 'a x b × c', 'a × b x c'\. Write ×"):
        table.index("a x b x c")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Sud × x", "'Sud' is not a code of 'Total'. Did you mean 'Süd'?"),
        ("Süd × 9", "'9' is not a code of 'Total'. Codes are 'Total', 'x', 'a x b'"),
        ("Süd", "Write one code for each of the 2 dimensions, such as 'Total × Total'"),
        ("Süd,x", "Write one code for each of the 2 dimensions"),
    ],
)
def test_the_code_that_does_not_exist_is_named(text, says):
    with pytest.raises(TableError) as error:
        square().index(text)
    assert says in str(error.value)


def test_empty_cells_have_codes_and_are_not_stored():
    table = square().only([0, 1, 2])
    with pytest.raises(TableError, match="It is empty: its codes exist"):
        table.index("x x x")


def test_attackers_and_patterns_by_codes_with_semicolons(tmp_path):
    problem = pose(cross_table(["Süd", "N"], ["x", "y"], [[5, 3], [3, 5]]), {"Süd × x": 1.0})
    (rows, columns) = problem.table.dimensions
    (tmp_path / "a.csv").write_text(f"{rows};{columns};upper;lower;attacker\nSüd;x;9;1;B\n", encoding="utf-8")
    (attacker,) = read_attackers(problem, tmp_path / "a.csv")
    assert attacker.upper[problem.table.index("Süd × x")] == 9
    protection = protect(problem, "kelly")
    write_pattern(protection, tmp_path / "p.csv")
    text = (tmp_path / "p.csv").read_text(encoding="utf-8")
    by_codes = text.replace("cell", f"{rows};{columns}").replace(" × ", ";").replace(",", ";")
    (tmp_path / "q.csv").write_bytes(by_codes.encode("windows-1252"))
    assert read_pattern(problem, tmp_path / "q.csv").digest == read_pattern(problem, tmp_path / "p.csv").digest
