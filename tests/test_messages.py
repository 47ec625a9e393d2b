"""Messages that nothing else here shows: what is wrong, where, and what to do. ``make messages`` lists those without a test."""

from __future__ import annotations

import builtins
import errno
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from tests.helpers.fixed import secret

from discreet.assess import assess
from discreet.audit import audit
from discreet.cli import attack as attack_command
from discreet.cli.main import cli
from discreet.data import cells_behind_values
from discreet.data.hierarchy import ABSENT, ROOT, Hierarchy
from discreet.data.reading import Reading
from discreet.data.record_keys import record_keys
from discreet.data.records import read_records
from discreet.data.sheet_grid import SheetFile
from discreet.data.tabulate import tabulate
from discreet.errors import FormatError, HierarchyError, InputError, NotSafeError, RuleError, TableError
from discreet.io import cube, cube_check, write_release, writing
from discreet.io.argus import output
from discreet.io.argus.results import read_result
from discreet.io.pattern import read_pattern
from discreet.io.record_keys import add_keys
from discreet.jobs.advise import _Assessed
from discreet.jobs.job import run_job
from discreet.jobs.job_file import examine_job, read_job
from discreet.methods import protect
from discreet.release import publish
from discreet.solvers import check_solver
from discreet.testing import cross_table, pose

RECORDS = pd.DataFrame({"region": list("aabb"), "size": list("stst"), "firm": list("pqrs"), "x": [1.0, 2, 3, 4]})
SECRET = secret()


def problem(levels=None):
    return pose(cross_table("abc", "xyz", [[20, 50, 10], [8, 19, 22], [17, 32, 12]]), levels or {"a × x": 4.0})


def discreet(*arguments: object) -> str:
    return str(CliRunner().invoke(cli, [str(each) for each in arguments], standalone_mode=False).exception)


# -- data ----------------------------------------------------------------------------------------------------------


def test_codes_above_each_other_in_different_trees():
    tree = Hierarchy(("T", "a", "b", "c"), np.array([[ROOT, 0, 1, 2], [ROOT, 2, 0, 0]]))
    with pytest.raises(
        HierarchyError, match=r"Codes are above each other in different trees: .*Give each of them one place"
    ):
        _ = tree.ancestors
    assert ABSENT != ROOT


def test_keys_of_records():
    with pytest.raises(InputError, match=r"Keys need a secret. Keep it"):
        record_keys(["a"], secret=None)
    with pytest.raises(InputError, match=r"1 records have no identifier. Give every record one of its own"):
        record_keys(["a", None], secret=SECRET)
    with pytest.raises(InputError, match=r"1 records have the identifier of another one. Give every record one"):
        record_keys(["a", "a"], secret=SECRET)


def test_keys_of_a_file(tmp_path):
    (tmp_path / "d.csv").write_text("id,key\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"has a column 'key' already. Choose another name for the keys"):
        add_keys(tmp_path / "d.csv", tmp_path / "e.csv", "id", secret=SECRET)
    (tmp_path / "d.csv").write_text("id,a\n1,2\n2,3,4\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"record 2: expected 2 fields, found 3. Correct the record"):
        add_keys(tmp_path / "d.csv", tmp_path / "e.csv", "id", secret=SECRET)


def test_commands_that_write_secrets_and_keys(tmp_path, monkeypatch):
    (tmp_path / "d.csv").write_text("id\n1\n", encoding="utf-8")
    (tmp_path / "s.txt").write_text("1" * 64 + "\n", encoding="utf-8")
    options = ["--id", "id", "--secret", tmp_path / "s.txt", "--out", tmp_path / "e.parquet"]
    assert "e.parquet should be in the same format as" in discreet("keys", tmp_path / "d.csv", *options)

    def full(*_given, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("discreet.cli.keys.os.open", full)
    assert "new.txt cannot be written: No space left on device." in discreet("secret", tmp_path / "new.txt")


def test_too_little_memory(tmp_path, monkeypatch):
    (tmp_path / "d.csv").write_text("a\n1\n", encoding="utf-8")

    def full(*_given, **_options):
        raise duckdb.OutOfMemoryException("SECRET")

    monkeypatch.setattr("discreet.data.records._texts", full)
    with pytest.raises(InputError, match=r"not enough memory.* to tabulate it. Use fewer dimensions"):
        read_records(tmp_path / "d.csv")


def test_text_that_cannot_be_split_or_decoded(tmp_path):
    (tmp_path / "t.csv").write_text('"a,b\nc', encoding="utf-8")
    with pytest.raises(FormatError, match="cannot be read: quotes are not closed, or stand within a field"):
        SheetFile.of(tmp_path / "t.csv", Reading()).grid(None)
    (tmp_path / "d.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"there is no line 9, which would have the names.*Correct header_row"):
        tabulate(tmp_path / "d.csv", ["a"], "b", reading=Reading(header_row=9))


def test_workbooks_that_are_missing_or_empty(tmp_path):
    with pytest.raises(FormatError, match=r"none\.xlsx does not exist"):
        tabulate(tmp_path / "none.xlsx", ["a"], "b")
    pd.DataFrame().to_excel(tmp_path / "empty.xlsx", header=False, index=False)
    with pytest.raises(FormatError, match=r"empty\.xlsx is empty: its first row must name the columns"):
        tabulate(tmp_path / "empty.xlsx", ["a"], "b")


def test_cells_behind_come_last():
    table = problem().table
    with pytest.raises(
        TableError, match=r"come after all others, and there is at least one: otherwise leave behind= out"
    ):
        table.with_columns(behind=np.arange(len(table)) == 0)


@pytest.mark.parametrize(
    ("status", "integers", "message"), [(1, True, "No table behind"), (0, False, "No table of integers")]
)
def test_no_table_behind_linked_tables(monkeypatch, status, integers, message):
    """The solver fails, or finds no integers in time."""
    halves = SimpleNamespace(status=status, x=np.array([0.5, 0.5]))
    monkeypatch.setattr(cells_behind_values, "linprog", lambda *_, **__: halves)
    monkeypatch.setattr(cells_behind_values, "milp", lambda *_, **__: SimpleNamespace(x=None))
    relations = sparse.csr_array(np.array([[-1.0, 1.0, 1.0]]))
    with pytest.raises(InputError, match=f"{message}.*: give the true one with behind="):
        cells_behind_values.congruent_values(relations, np.array([1.0]), np.zeros(2), counts=True)


# -- files ---------------------------------------------------------------------------------------------------------


def test_a_folder_without_space(tmp_path, monkeypatch):
    def full(*_given, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("discreet.io.draft_file", full)
    with (
        pytest.raises(FormatError, match=r"Cannot write .*x\.csv: No space left on device"),
        writing(tmp_path / "x.csv"),
    ):
        pass


def test_results_of_tau_argus_without_a_value(tmp_path):
    (tmp_path / "x.tab").write_text('"A";"s";1;S\n"A";"s"\n', encoding="utf-8")
    listed = {"a": Hierarchy.flat(["A"]), "b": Hierarchy.flat(["s"])}
    with pytest.raises(FormatError, match=r"line 2: expected 2 codes and a value. Correct the line"):
        read_result(tmp_path / "x.tab", listed)


def test_tables_that_are_too_large_for_a_format(monkeypatch):
    posed = problem()
    protection = protect(posed, "kelly")
    release = publish(posed, protection, audit(posed, protection), level="cells")
    monkeypatch.setattr(cube, "MAX_CUBE_CELLS", 3)
    with pytest.raises(
        FormatError, match="All combinations of codes are 16 entries, more than 3: write CSV or Parquet"
    ):
        cube.Cube.of(release)
    monkeypatch.setattr(output, "MAX_CELLS", 3)
    written = SimpleNamespace(dimensions=posed.table.dimensions)
    with pytest.raises(InputError, match=r"16 cells with the empty ones, more than 3. Leave the empty ones out"):
        next(output.ArgusTable.cells(written))


def test_a_pattern_with_one_column_of_intervals(tmp_path):
    (tmp_path / "p.csv").write_text("cell,status,value\na × x,primary,3\n", encoding="utf-8")
    with pytest.raises(FormatError, match="a pattern has either all or none of the columns 'value', 'lower', 'upper'"):
        read_pattern(problem(), tmp_path / "p.csv")


def test_sdmx_ml_without_its_package(monkeypatch):
    from discreet.io.sdmx import ml

    original = builtins.__import__

    def missing(name, *given, **options):
        if name.startswith("pysdmx"):
            raise ImportError(name)
        return original(name, *given, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=r"SDMX-ML needs pysdmx: pip install 'discreet\[sdmx\]'. SDMX-CSV does not"):
        ml._pysdmx()


# -- jobs and commands ---------------------------------------------------------------------------------------------

JOB = """
[data]
file = "d.csv"
response = "x"
contributor = "firm"
[dimensions.region]
[dimensions.size]
[rules]
sensitive = ["P(10)"]
"""


@pytest.fixture
def folder(tmp_path):
    RECORDS.to_csv(tmp_path / "d.csv", index=False)
    return tmp_path


def faults(folder: Path, text: str) -> str:
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return "\n".join(map(str, examine_job(folder / "job.toml")[1]))


def test_entries_that_do_not_fit_together(folder):
    assert "a rule uses more than 100 contributions to a cell. Write a smaller" in faults(
        folder, JOB.replace("P(10)", "NK(200,85)")
    )
    intervals = JOB + '[protect]\nmethod = "intervals"\nlevel = "contributions"\n'
    assert "level is for suppression; the method 'intervals' suppresses no cells. Leave it out" in faults(
        folder, intervals
    )
    cross = JOB.replace("[data]", '[table]\nlayout = "cross"\nrows = ["region"]\ncolumns = ["size"]\nflags = "f"')
    cross = cross.replace("response", "value").replace('contributor = "firm"\n', "")
    assert "which a cross-table has not: leave it out" in faults(folder, cross)


def test_totals_of_several_names(folder):
    table = "region,size,x\nAll,Total,3\nAll,s,3\na,Total,3\na,s,3\n"
    (folder / "t.csv").write_text(table, encoding="utf-8")
    text = '[table]\nfile = "t.csv"\nvalue = "x"\n[dimensions.region]\ntotal = "All"\n[dimensions.size]\n'
    (folder / "s.csv").write_text("cell,status\na × s,primary\n", encoding="utf-8")
    assert faults(folder, text + '[rules]\nsensitive = []\nstatuses = "s.csv"\n') == ""
    with pytest.raises(
        InputError, match=r"call their totals differently: 'All', 'Total'. Write one name into the file"
    ):
        run_job(read_job(folder / "job.toml"))


def test_a_code_list_for_a_column_that_is_no_dimension(folder):
    said = discreet(
        "tabulate", folder / "d.csv", "--by", "region", "--codes", "size=c.csv", "--out", folder / "t.discreet"
    )
    assert "--codes size=c.csv: write COLUMN=FILE, with a column that --by names" in said


def test_attacks_that_compromise_cells_end_publication(monkeypatch):
    posed = problem()
    protection = protect(posed, "kelly")
    compromised = SimpleNamespace(passed=False, compromised=["a × x"])
    monkeypatch.setattr(attack_command, "run", lambda *_, **__: compromised)
    with pytest.raises(
        NotSafeError, match=r"attacks compromise 1 sensitive cell, e.g. 'a × x'. Protect the table by another"
    ):
        attack_command.run_quick_attacks(protection, None, False, 1.0, None)


def test_advice_needs_numbers_of_contributors():
    with pytest.raises(InputError, match="no numbers of contributors: tabulate it from records"):
        _Assessed(problem().table, np.zeros(16, dtype=bool))


def test_cells_that_decisions_name():
    table = tabulate(RECORDS, ["region", "size"], "x", contributor="firm")
    with pytest.raises(TableError, match=r"statuses by hand: There is no cell 'a × u'. 'u' is not a code"):
        assess(table, "FREQ(1)", statuses={"a × u": "primary"})
    with pytest.raises(TableError, match=r"waivers: There is no cell 'c × s'. 'c' is not a code"):
        assess(table, "P(10)", waivers=[("p", "c × s")])


def test_releases_of_linked_tables_name_dimensions():
    table = tabulate(RECORDS, ["region", "size"], "x", contributor="firm")
    posed = assess(table, "FREQ(1)")
    protection = protect(posed, "kelly")
    with pytest.raises(InputError, match=r"tables= names 'year'; the table has 'region', 'size'. Name those"):
        publish(posed, protection, audit(posed, protection), tables=[["year"]])


def test_solvers_are_listed():
    with pytest.raises(RuleError, match=r"There is no solver 'glpk'. Choose from highs, scip"):
        check_solver("glpk")


def test_a_cube_that_lacks_cells(tmp_path, monkeypatch):
    """A cell of zero is one that is not listed, so that its value is no evidence."""
    posed = pose(cross_table("ab", "xy", [[0, 5], [8, 9]]), {"a × y": 2.0})
    protection = protect(posed, "kelly")
    release = publish(posed, protection, audit(posed, protection), level="cells")
    place = cube_check._place
    monkeypatch.setattr(cube_check, "_place", lambda of: {k: i for k, i in place(of).items() if k != ("a", "x")})
    with pytest.raises(NotSafeError, match=r"the release leaves out cells. This is a fault of the program"):
        write_release(release, tmp_path / "r.json")
